package query

import (
	"context"
	"fmt"
	"strings"

	"wideleaf/catalog"
	"wideleaf/pgerr"
	"wideleaf/query/sql"
	"wideleaf/value"
)

// Assignment computes a column's new values in an UPDATE.
type Assignment struct {
	Attno int
	expr  *scalar
}

// BindAssignments gives the names and types of a SET list their meaning in a table.
func BindAssignments(list []sql.Assignment, t *catalog.Table) ([]Assignment, error) {
	return bindAssignments(list, t, false)
}

// BindConflictAssignments is BindAssignments for ON CONFLICT DO UPDATE: excluded.name is a column of the row that was to be
// inserted. Values asks for it by its attno, negated.
func BindConflictAssignments(list []sql.Assignment, t *catalog.Table) ([]Assignment, error) {
	return bindAssignments(list, t, true)
}

func bindAssignments(list []sql.Assignment, t *catalog.Table, excluded bool) ([]Assignment, error) {
	out := make([]Assignment, len(list))
	seen := map[int]bool{}
	for i, a := range list {
		at, err := findColumn(a.Column, t)
		if err != nil {
			if e, ok := err.(*pgerr.Error); ok && e.Code == pgerr.UndefinedColumn {
				e.Message = fmt.Sprintf(`column "%s" of relation "%s" does not exist`, a.Column.Name, t.Name)
			}
			return nil, err
		}
		c := &t.Columns[at]
		if seen[c.Attno] {
			return nil, pgerr.New(pgerr.ErrInvalid, pgerr.SyntaxError, `multiple assignments to same column "%s"`, c.Name).At(a.Column.At)
		}
		seen[c.Attno] = true
		e := &scalar{typ: c.Type, val: c.Default}
		if a.Expr != nil {
			b := &scalarBinder{binder: DefaultSettings.binder(t), excluded: excluded}
			if e, err = b.bind(a.Expr); err != nil {
				return nil, err
			}
			if e, err = b.assign(e, c, a.At); err != nil {
				return nil, err
			}
			if b.late != nil {
				return nil, b.late
			}
		}
		out[i] = Assignment{c.Attno, e}
	}
	return out, nil
}

// evaluatedRows is how many rows an expression is evaluated for at a time: contexts are looked at in between, and what is
// computed for a row stays in the processor's caches.
const evaluatedRows = 1 << 14

// Values returns the column's new values for n rows, whose old values column returns.
func (a Assignment) Values(ctx context.Context, n int, column func(attno int) *value.Vector) (*value.Vector, error) {
	if a.expr.attno != 0 {
		return column(a.expr.attno), nil
	}
	out := new(value.Vector)
	out.Reset(a.expr.typ)
	out.Grow(n)
	for from := 0; from < n; from += evaluatedRows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rows := min(evaluatedRows, n-from)
		v, err := a.expr.values(rows, func(attno int) *value.Vector { return column(attno).Part(from, rows) })
		if err != nil {
			return nil, err
		}
		out.AppendAll(v)
	}
	return out, nil
}

// scalar is a bound expression with a value for each row: a constant, a column, or an operator or a cast of others.
type scalar struct {
	typ   value.Type // Unknown: of a string constant without a type, or NULL
	con   *constant  // a constant that has still to take its type
	val   value.Value
	attno int
	op    string // "cast": of left to typ
	left  *scalar
	right *scalar
}

type scalarBinder struct {
	binder
	excluded bool // there is a second row, called excluded
}

func (s *scalar) isConstant() bool { return s.attno == 0 && s.op == "" }

// bind binds an expression of columns, constants, + - * / %, || and casts.
func (b *scalarBinder) bind(e sql.Expr) (*scalar, error) {
	if err := b.enter(e); err != nil {
		return nil, err
	}
	defer b.leave()
	switch e := e.(type) {
	case *sql.Column:
		if b.excluded && strings.EqualFold(e.Table, "excluded") {
			own := *e
			own.Table = ""
			i, err := findColumn(&own, b.table)
			if err != nil {
				return nil, err
			}
			c := &b.table.Columns[i]
			return &scalar{typ: c.Type, attno: -c.Attno}, nil
		}
		i, err := findColumn(e, b.table)
		if err != nil {
			return nil, err
		}
		c := &b.table.Columns[i]
		return &scalar{typ: c.Type, attno: c.Attno}, nil
	case *sql.Binary:
		if isArithmetic(e.Op) || e.Op == "||" {
			l, err := b.bind(e.Left)
			if err != nil {
				return nil, err
			}
			r, err := b.bind(e.Right)
			if err != nil {
				return nil, err
			}
			return b.operatorOf(e, l, r)
		}
	case *sql.Unary:
		arg, err := b.bind(e.Arg)
		if err != nil {
			return nil, err
		}
		if arg.con == nil && (e.Op == "-" || e.Op == "+") {
			switch arg.typ {
			case value.Int4, value.Int8, value.Float8:
				if e.Op == "+" {
					return arg, nil
				}
				return &scalar{typ: arg.typ, op: "neg", left: arg}, nil
			}
			return nil, noOperator(e.Op, unknownType, typeOf(arg.typ), e.At)
		}
	case *sql.Cast:
		t, err := parseType(e.Type)
		if err != nil {
			return nil, atPosition(err, e.TypeAt)
		}
		arg, err := b.bind(e.Arg)
		if err != nil {
			return nil, err
		}
		if arg.con == nil {
			return b.cast(arg, t, e.At)
		}
	case *sql.Call:
		return nil, b.call(e)
	case *sql.Logic, *sql.Between, *sql.In, *sql.Is, *sql.Distinct:
		return nil, pgerr.New(pgerr.ErrInvalid, pgerr.FeatureNotSupported, "conditions are not supported in SET").At(e.Pos())
	}
	c, err := b.constant(e)
	if err != nil {
		return nil, err
	}
	return constantOf(c)
}

// constantOf returns a constant as an expression; numeric ones, and strings without a type, wait for what they meet.
func constantOf(c *constant) (*scalar, error) {
	switch c.typ {
	case unknownType, numericType:
		return &scalar{con: c}, nil
	}
	s := &scalar{typ: columnType(c.typ), con: c}
	s.val = c.value(s.typ)
	return s, nil
}

// columnType returns the type of columns that hold values of t.
func columnType(t typ) value.Type {
	for v := value.Type(1); v.Valid(); v++ {
		if typeOf(v) == t {
			return v
		}
	}
	return value.Unknown
}

// value returns a constant of a column's type as a value.
func (c *constant) value(t value.Type) value.Value {
	if c.null {
		return value.Null(t)
	}
	switch t {
	case value.Bool:
		return value.OfBool(c.b)
	case value.Int4, value.Int8:
		v, _, _ := c.num.floor()
		if t == value.Int4 {
			return value.OfInt4(int32(v))
		}
		return value.OfInt8(v)
	case value.Float8:
		return value.OfFloat8(c.f)
	case value.Text:
		return value.OfText(c.s)
	}
	return c.val
}

// kind is the type of an expression for messages and for choosing an operator.
func (s *scalar) kind() typ {
	if s.con != nil {
		return s.con.typ
	}
	return typeOf(s.typ)
}

// operatorOf binds an operator, whose operands PostgreSQL converts to the wider of their types.
func (b *scalarBinder) operatorOf(e *sql.Binary, l, r *scalar) (*scalar, error) {
	if l.con != nil && r.con != nil && e.Op != "||" {
		c, err := b.arithmetic(e, operand{typ: l.con.typ, con: l.con}, operand{typ: r.con.typ, con: r.con})
		if err != nil {
			return nil, err
		}
		return constantOf(c.con)
	}
	if e.Op == "||" {
		return b.concat(e, l, r)
	}
	lt, rt := l.kind(), r.kind()
	if lt == unknownType {
		lt = rt
	}
	if rt == unknownType {
		rt = lt
	}
	t := max(lt, rt)
	switch {
	case lt.family() != int4Type || rt.family() != int4Type || t == float8Type && e.Op == "%":
		return nil, noOperator(e.Op, lt, rt, e.At)
	case t == numericType:
		return nil, &pgerr.Error{Kind: pgerr.ErrInvalid, Code: pgerr.FeatureNotSupported, Position: e.At,
			Message: fmt.Sprintf("operator %s of a column and a numeric constant is not supported", e.Op),
			Hint:    "Cast the constant to double precision."}
	}
	var err error
	if l, err = b.cast(l, t, e.At); err != nil {
		return nil, err
	}
	if r, err = b.cast(r, t, e.At); err != nil {
		return nil, err
	}
	return &scalar{typ: columnType(t), op: e.Op, left: l, right: r}, nil
}

// concat binds ||, one of whose operands must be text, or a string without a type.
func (b *scalarBinder) concat(e *sql.Binary, l, r *scalar) (*scalar, error) {
	lt, rt := l.kind(), r.kind()
	if lt != textType && rt != textType && lt != unknownType && rt != unknownType {
		return nil, noOperator(e.Op, lt, rt, e.At)
	}
	var err error
	if l, err = b.cast(l, textType, e.At); err != nil {
		return nil, err
	}
	if r, err = b.cast(r, textType, e.At); err != nil {
		return nil, err
	}
	return &scalar{typ: value.Text, op: e.Op, left: l, right: r}, nil
}

// cast converts an expression to a type, as an explicit cast does.
func (b *scalarBinder) cast(s *scalar, t typ, at int) (*scalar, error) {
	if s.con != nil {
		c, err := s.con.cast(t, at)
		if err != nil {
			return nil, err
		}
		return constantOf(c)
	}
	to := columnType(t)
	switch {
	case to == s.typ:
		return s, nil
	case to == value.Unknown:
		return nil, pgerr.New(pgerr.ErrInvalid, pgerr.FeatureNotSupported, "cast of a column to %s is not supported", t).At(at)
	case to == value.Text, isNumber(s.typ) && isNumber(to), s.typ == value.Text && to != value.Text,
		s.typ == value.Bool && to == value.Int4, s.typ == value.Int4 && to == value.Bool:
		return &scalar{typ: to, op: "cast", left: s}, nil
	}
	return nil, pgerr.New(pgerr.ErrInvalid, pgerr.CannotCoerce, "cannot cast type %s to %s", s.kind(), t).At(at)
}

func isNumber(t value.Type) bool { return t == value.Int4 || t == value.Int8 || t == value.Float8 }

// assign converts an expression to a column's type, where an assignment may.
func (b *scalarBinder) assign(s *scalar, c *catalog.Column, at int) (*scalar, error) {
	from, to := s.kind(), typeOf(c.Type)
	if from != to && from != unknownType && to != textType && (from.family() != int4Type || to.family() != int4Type) {
		return nil, &pgerr.Error{Kind: pgerr.ErrInvalid, Code: pgerr.DatatypeMismatch, Position: at, Object: c.Name,
			Message: fmt.Sprintf(`column "%s" is of type %s but expression is of type %s`, c.Name, to, from),
			Hint:    "You will need to rewrite or cast the expression."}
	}
	return b.cast(s, to, at)
}
