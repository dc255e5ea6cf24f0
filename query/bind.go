package query

import (
	"fmt"
	"strings"

	"wideleaf/catalog"
	"wideleaf/pgerr"
	"wideleaf/query/sql"
	"wideleaf/value"
)

// Bind resolves the names and types of a condition on the rows of t. The result holds exactly for the rows for which
// the condition is TRUE; types, comparisons, NULLs and errors are PostgreSQL's.
//
// There are three truth values and a Pred has two. So binding asks of each part either "where is it true?" or "where
// is it false?"; NOT turns the question round, and rows for which a part is NULL answer neither.
func Bind(e sql.Expr, t *catalog.Table) (*Pred, error) { return DefaultSettings.Bind(e, t) }

// Settings are what the meaning of a query depends on besides its text.
type Settings struct {
	Similarity value.Like // of arrays, by % and <=>
}

// DefaultSettings are RUM's.
var DefaultSettings = Settings{Similarity: value.Like{Function: value.Cosine, Threshold: 0.5}}

func (s Settings) binder(t *catalog.Table) binder {
	return binder{settings: s, table: t, questions: maxQuestions}
}

// Bind is the function Bind under these settings.
func (s Settings) Bind(e sql.Expr, t *catalog.Table) (*Pred, error) {
	b := s.binder(t)
	p, err := b.condition(e, true, "WHERE")
	if err == nil {
		err = b.late
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// maxQuestions limits the work of binding. A condition is visited once, except that comparing conditions with each
// other, as in (a = b) = (c = d), asks several questions of each side and, nested, exponentially many.
const maxQuestions = 1 << 16

type binder struct {
	settings  Settings
	table     *catalog.Table
	depth     int
	questions int // that may still be asked of compared conditions
	late      error
}

// later keeps an error that comes from evaluating a constant, not from what the condition says: PostgreSQL evaluates
// when all names and types are known to fit. Other errors it returns.
func (b *binder) later(err error) error {
	if e, ok := err.(*pgerr.Error); !ok || !strings.HasPrefix(e.Code, "22") {
		return err
	}
	if b.late == nil {
		b.late = err
	}
	return nil
}

// enter begins the visit of an expression; leave must follow. Trees built in Go can be deeper than the parser's.
func (b *binder) enter(e sql.Expr) error {
	if b.depth++; b.depth > 2*sql.MaxDepth {
		return tooComplex(e)
	}
	return nil
}

func tooComplex(e sql.Expr) error {
	return &pgerr.Error{Kind: pgerr.ErrInvalid, Code: pgerr.StatementTooComplex, Position: e.Pos(),
		Message: "stack depth limit exceeded", Detail: "The condition is too complex."}
}

// ask asks where a condition that is compared is true or false.
func (b *binder) ask(e sql.Expr, want bool) (*Pred, error) {
	if b.questions--; b.questions < 0 {
		return nil, tooComplex(e)
	}
	return b.condition(e, want, "")
}

func (b *binder) leave() { b.depth-- }

// condition returns where e, an argument of a clause, is true (want) or false (not want).
func (b *binder) condition(e sql.Expr, want bool, clause string) (*Pred, error) {
	if err := b.enter(e); err != nil {
		return nil, err
	}
	defer b.leave()
	switch e := e.(type) {
	case *sql.Logic:
		return b.logic(e, want)
	case *sql.Binary:
		if isComparison(e.Op) {
			return b.comparison(e.Op, e.Left, e.Right, e.At, want)
		}
		if isLike(e.Op) {
			return b.like(e, want)
		}
		if op, ok := arrayOps[e.Op]; ok && (op != value.Similar || b.ofArrays(e)) {
			return b.arrays(op, e, want)
		}
	case *sql.Quantified:
		return b.quantified(e, want)
	case *sql.Between:
		return b.between(e, want)
	case *sql.In:
		return b.in(e, want)
	case *sql.Is:
		return b.is(e, want)
	case *sql.Distinct:
		return b.distinct(e, want)
	}
	o, err := b.operand(e)
	if err != nil {
		return nil, err
	}
	if o.con != nil && o.con.typ == unknownType {
		if o.con, err = o.con.cast(boolType, e.Pos()); err != nil {
			return nil, err
		}
		o.typ = boolType
	}
	if o.typ != boolType {
		return nil, pgerr.New(pgerr.ErrInvalid, pgerr.DatatypeMismatch, "argument of %s must be type boolean, not type %s",
			clause, o.typ).At(e.Pos())
	}
	return b.truth(o, want)
}

func (b *binder) logic(e *sql.Logic, want bool) (*Pred, error) {
	switch {
	case len(e.Args) == 0:
		return nil, pgerr.New(pgerr.ErrInvalid, pgerr.SyntaxError, "AND, OR and NOT need arguments")
	case e.Op == sql.NotOp:
		return b.condition(e.Args[0], !want, "NOT")
	}
	kind, clause := And, "AND"
	if e.Op == sql.OrOp {
		kind, clause = Or, "OR"
	}
	args := make([]*Pred, len(e.Args))
	for i, a := range e.Args {
		p, err := b.condition(a, want, clause)
		if err != nil {
			return nil, err
		}
		args[i] = p
	}
	if !want { // an AND is false where one of its arguments is
		kind = And + Or - kind
	}
	return join(kind, args...), nil
}

// operand is one side of a comparison: a column, a constant, or a condition.
type operand struct {
	typ  typ
	col  *catalog.Column
	con  *constant
	expr sql.Expr // the condition
}

func (b *binder) operand(e sql.Expr) (operand, error) {
	if err := b.enter(e); err != nil {
		return operand{}, err
	}
	defer b.leave()
	switch e := e.(type) {
	case *sql.Column:
		i, err := findColumn(e, b.table)
		if err != nil {
			return operand{}, err
		}
		c := &b.table.Columns[i]
		return operand{typ: typeOf(c.Type), col: c}, nil
	case *sql.Logic, *sql.Between, *sql.In, *sql.Is, *sql.Distinct, *sql.Quantified:
		return operand{typ: boolType, expr: e}, nil
	case *sql.Binary:
		op, array := arrayOps[e.Op]
		if array && (op != value.Similar || b.ofArrays(e)) || isComparison(e.Op) || isLike(e.Op) {
			return operand{typ: boolType, expr: e}, nil
		}
		return b.operator(e)
	case *sql.Call:
		return operand{}, b.call(e)
	}
	c, err := b.constant(e)
	if err != nil {
		return operand{}, err
	}
	return operand{typ: c.typ, con: c}, nil
}

// operator evaluates an operator between constants. With columns, and others than those of arithmetic, it has no place in
// conditions.
func (b *binder) operator(e *sql.Binary) (operand, error) {
	l, r, err := b.operands(e.Left, e.Right)
	switch {
	case err != nil:
		return operand{}, err
	case isArithmetic(e.Op):
		return b.arithmetic(e, l, r)
	case e.Op == "^":
		return operand{}, pgerr.New(pgerr.ErrInvalid, pgerr.FeatureNotSupported, "operator %s is not supported in conditions", e.Op).At(e.At)
	}
	return operand{}, noOperator(e.Op, l.typ, r.typ, e.At)
}

// call returns the error for a function call.
func (b *binder) call(e *sql.Call) error {
	if sql.IsAggregate(e.Name) {
		return pgerr.New(pgerr.ErrInvalid, pgerr.GroupingError, "aggregate functions are not allowed in WHERE").At(e.At)
	}
	types := ""
	for i, a := range e.Args {
		o, err := b.operand(a)
		if err != nil {
			return err
		}
		if i > 0 {
			types += ", "
		}
		types += o.typ.String()
	}
	return &pgerr.Error{Kind: pgerr.ErrInvalid, Code: pgerr.UndefinedFunction, Object: e.Name, Position: e.At,
		Message: fmt.Sprintf("function %s(%s) does not exist", e.Name, types),
		Hint:    "No function matches the given name and argument types. You might need to add explicit type casts."}
}

func noOperator(op string, l, r typ, at int) error {
	return &pgerr.Error{Kind: pgerr.ErrInvalid, Code: pgerr.UndefinedFunction, Position: at,
		Message: fmt.Sprintf("operator does not exist: %s %s %s", l, op, r),
		Hint:    "No operator matches the given name and argument types. You might need to add explicit type casts."}
}

// truth returns where a boolean operand is true or false.
func (b *binder) truth(o operand, want bool) (*Pred, error) {
	switch {
	case o.expr != nil:
		return b.ask(o.expr, want)
	case o.col != nil:
		code := value.OfBool(want).Code()
		return column(o.col, value.OfIntervals(value.Interval{Lo: code, Hi: code})), nil
	}
	return constantPred(!o.con.null && o.con.b == want), nil
}

// null returns where an operand is NULL.
func (b *binder) null(o operand) (*Pred, error) {
	switch {
	case o.col != nil:
		return column(o.col, value.Ranges{Nulls: true}), nil
	case o.con != nil:
		return constantPred(o.con.null), nil
	}
	yes, err := b.ask(o.expr, true)
	if err != nil {
		return nil, err
	}
	switch o.expr.(type) {
	case *sql.Is, *sql.Distinct: // never NULL
		return constantPred(false), nil
	}
	no, err := b.ask(o.expr, false)
	if err != nil {
		return nil, err
	}
	return negate(join(Or, yes, no)), nil
}

var testNames = [...]string{sql.IsNull: "NULL", sql.IsTrue: "TRUE", sql.IsFalse: "FALSE", sql.IsUnknown: "UNKNOWN"}

func (b *binder) is(e *sql.Is, want bool) (*Pred, error) {
	var p *Pred
	var err error
	clause := "IS " + testNames[e.Test]
	if e.Not {
		clause = "IS NOT " + testNames[e.Test]
	}
	switch e.Test {
	case sql.IsTrue, sql.IsFalse:
		p, err = b.condition(e.Arg, e.Test == sql.IsTrue, clause)
	default:
		var o operand
		if o, err = b.operand(e.Arg); err != nil {
			return nil, err
		}
		if e.Test == sql.IsUnknown && o.expr == nil { // for its errors
			if _, err := b.condition(e.Arg, true, clause); err != nil {
				return nil, err
			}
		}
		p, err = b.null(o)
	}
	if err != nil {
		return nil, err
	}
	if e.Not == want {
		p = negate(p)
	}
	return p, nil
}

func (b *binder) distinct(e *sql.Distinct, want bool) (*Pred, error) {
	l, r, err := b.operands(e.Left, e.Right)
	if err != nil {
		return nil, err
	}
	equal, err := b.compare("=", l, r, e.At, true)
	if err != nil {
		return nil, err
	}
	lnull, err := b.null(l)
	if err != nil {
		return nil, err
	}
	rnull, err := b.null(r)
	if err != nil {
		return nil, err
	}
	p := join(Or, equal, join(And, lnull, rnull))
	if e.Not != want {
		p = negate(p)
	}
	return p, nil
}
