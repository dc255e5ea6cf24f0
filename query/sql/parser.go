package sql

import (
	"strconv"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"

	"wideleaf/pgerr"
)

// MaxDepth is how deep expressions may be nested, by parentheses, NOT, casts or operators without them. Walks over a
// tree recurse once a level; 5,000 levels take a few megabytes of stack. AND, OR and lists are flat at any length.
const MaxDepth = 5000

// Binding powers, PostgreSQL's, from weak to strong.
const (
	precOr = iota + 1
	precAnd
	precNot
	precIs
	precCompare // not associative
	precMember  // BETWEEN, IN, LIKE: not associative
	precOther   // all other operators
	precAdd
	precMul
	precPower
	precSign
	precCast
)

// ParseCondition parses the condition of a WHERE clause.
func ParseCondition(text string) (Expr, error) {
	lex, err := tokens(text)
	if err != nil {
		return nil, err
	}
	e, err := parseExpr(lex)
	if err != nil {
		return nil, err
	}
	if t := lex.Peek(); !t.EOF() {
		return nil, syntaxError(t)
	}
	return e, nil
}

// parseExpr parses one expression and leaves lex at the token after it: the production that list grammars embed. It
// is written by hand, as precedence climbing, so that chains and lists of any length cost a loop and not a stack.
func parseExpr(lex *lexer.PeekingLexer) (Expr, error) {
	p := parser{lex: lex}
	return p.expr(precOr)
}

type parser struct {
	lex    *lexer.PeekingLexer
	depth  int // of the recursion
	height int // of the tree that was parsed last
}

// expr parses operators that bind at least as strongly as min.
func (p *parser) expr(min int) (Expr, error) {
	if p.depth++; p.depth > MaxDepth {
		return nil, tooDeep(p.lex.Peek().Pos.Column)
	}
	defer func() { p.depth-- }()
	left, err := p.prefix()
	if err != nil {
		return nil, err
	}
	height := p.height
	last := 0 // binding power of an operator that must not follow itself
	for {
		in := p.infix()
		if in.prec == 0 || in.prec < min {
			p.height = height
			return left, nil
		}
		if in.prec == last {
			return nil, syntaxError(p.lex.Peek())
		}
		p.height = 0
		at := p.lex.Peek().Pos.Column
		for range in.tokens {
			p.lex.Next()
		}
		if left, err = p.finish(left, in, at); err != nil {
			return nil, err
		}
		if l, ok := left.(*Logic); ok && l.Op != NotOp {
			height = max(height, p.height+1) // a chain is flat
		} else {
			height = max(height, p.height) + 1
		}
		if height > MaxDepth {
			return nil, tooDeep(at)
		}
		last = 0
		if in.prec == precCompare || in.prec == precMember && in.op != "IN" {
			last = in.prec
		}
	}
}

// infix describes what may follow an operand.
type infix struct {
	prec   int // 0: nothing
	op     string
	not    bool
	tokens int // number of tokens that op takes
}

// infix looks at what follows an operand and takes nothing.
func (p *parser) infix() infix {
	t := p.lex.Peek()
	switch t.Type {
	case tokOp:
		op := t.Value
		if op == "!=" {
			op = "<>"
		}
		return infix{prec: opPrec(op), op: op, tokens: 1}
	case tokPunct:
		if t.Value == "::" {
			return infix{prec: precCast, op: "::", tokens: 1}
		}
	case tokIdent:
		in := infix{op: strings.ToUpper(t.Value), tokens: 1}
		switch in.op {
		case "OR":
			in.prec = precOr
		case "AND":
			in.prec = precAnd
		case "IS", "ISNULL", "NOTNULL":
			in.prec = precIs
		case "BETWEEN", "IN", "LIKE", "ILIKE":
			in.prec = precMember
		case "NOT":
			mark := p.lex.MakeCheckpoint()
			p.lex.Next()
			next := p.lex.Peek()
			p.lex.LoadCheckpoint(mark)
			if next.Type != tokIdent {
				break
			}
			switch op := strings.ToUpper(next.Value); op {
			case "BETWEEN", "IN", "LIKE", "ILIKE":
				return infix{prec: precMember, op: op, not: true, tokens: 2}
			}
		}
		return in
	}
	return infix{}
}

func isQuantifier(word string) bool {
	return strings.EqualFold(word, "ANY") || strings.EqualFold(word, "SOME") || strings.EqualFold(word, "ALL")
}

func opPrec(op string) int {
	switch op {
	case "=", "<>", "<", "<=", ">", ">=":
		return precCompare
	case "+", "-":
		return precAdd
	case "*", "/", "%":
		return precMul
	case "^":
		return precPower
	}
	return precOther
}

// finish parses what follows an infix operator, whose tokens are taken, and joins it with the left operand.
func (p *parser) finish(left Expr, in infix, at int) (Expr, error) {
	switch in.op {
	case "AND", "OR":
		right, err := p.expr(in.prec + 1)
		if err != nil {
			return nil, err
		}
		op := AndOp
		if in.op == "OR" {
			op = OrOp
		}
		if l, ok := left.(*Logic); ok && l.Op == op {
			l.Args = append(l.Args, right)
			return l, nil
		}
		return &Logic{Op: op, Args: []Expr{left, right}, At: at}, nil
	case "ISNULL":
		return &Is{Arg: left, At: at}, nil
	case "NOTNULL":
		return &Is{Arg: left, Not: true, At: at}, nil
	case "IS":
		return p.is(left, at)
	case "BETWEEN":
		b := &Between{Arg: left, Not: in.not, At: at}
		if b.Symmetric = p.accept("SYMMETRIC"); !b.Symmetric {
			p.accept("ASYMMETRIC")
		}
		var err error
		if b.Low, err = p.expr(precMember + 1); err != nil {
			return nil, err
		}
		height := p.height
		if op := p.infix(); op.prec == precCompare { // only the lower bound may be a comparison
			c := &Binary{Op: op.op, Left: b.Low, At: p.lex.Next().Pos.Column}
			if c.Right, err = p.expr(precMember + 1); err != nil {
				return nil, err
			}
			b.Low = c
			height = max(height, p.height) + 1
		}
		if err = p.expect("AND"); err != nil {
			return nil, err
		}
		if b.High, err = p.expr(precMember + 1); err != nil {
			return nil, err
		}
		p.height = max(height, p.height)
		return b, nil
	case "IN":
		if err := p.expect("("); err != nil {
			return nil, err
		}
		list, err := p.list()
		if err != nil {
			return nil, err
		}
		return &In{Arg: left, List: list, Not: in.not, At: at}, nil
	case "LIKE", "ILIKE":
		op := "~~"
		if in.op == "ILIKE" {
			op = "~~*"
		}
		if in.not {
			op = "!" + op
		}
		in.op = op
	case "::":
		typeAt := p.lex.Peek().Pos.Column
		typ, err := p.typeName()
		if err != nil {
			return nil, err
		}
		return &Cast{Arg: left, Type: typ, At: at, TypeAt: typeAt}, nil
	}
	if t := p.lex.Peek(); t.Type == tokIdent && isQuantifier(t.Value) {
		p.lex.Next()
		if err := p.expect("("); err != nil {
			return nil, err
		}
		right, err := p.expr(precOr)
		if err != nil {
			return nil, err
		}
		return &Quantified{Op: in.op, Left: left, Right: right, All: strings.EqualFold(t.Value, "ALL"), At: at}, p.expect(")")
	}
	right, err := p.expr(in.prec + 1)
	if err != nil {
		return nil, err
	}
	return &Binary{Op: in.op, Left: left, Right: right, At: at}, nil
}

// is parses what follows IS.
func (p *parser) is(left Expr, at int) (Expr, error) {
	not := p.accept("NOT")
	for i, word := range [...]string{"NULL", "TRUE", "FALSE", "UNKNOWN"} {
		if p.accept(word) {
			return &Is{Arg: left, Test: Test(i), Not: not, At: at}, nil
		}
	}
	if !p.accept("DISTINCT") {
		return nil, syntaxError(p.lex.Peek())
	}
	if err := p.expect("FROM"); err != nil {
		return nil, err
	}
	right, err := p.expr(precIs + 1)
	if err != nil {
		return nil, err
	}
	return &Distinct{Left: left, Right: right, Not: not, At: at}, nil
}

// prefix parses an operand with the operators before it.
func (p *parser) prefix() (Expr, error) {
	t := p.lex.Peek()
	at := t.Pos.Column
	switch {
	case t.Type == tokIdent && strings.EqualFold(t.Value, "NOT"):
		p.lex.Next()
		arg, err := p.expr(precNot)
		p.height++
		return &Logic{Op: NotOp, Args: []Expr{arg}, At: at}, err
	case t.Type == tokOp:
		power := precOther + 1
		if t.Value == "+" || t.Value == "-" {
			power = precSign
		} else if opPrec(t.Value) != precOther {
			return nil, syntaxError(t)
		}
		p.lex.Next()
		arg, err := p.expr(power)
		if err != nil {
			return nil, err
		}
		if n, ok := arg.(*Literal); ok && n.Kind == Number && power == precSign {
			text := n.Text
			if t.Value == "-" {
				if positive, negative := strings.CutPrefix(text, "-"); negative {
					text = positive
				} else {
					text = "-" + text
				}
			}
			return &Literal{Kind: Number, Text: text, At: at}, nil
		}
		p.height++
		return &Unary{Op: t.Value, Arg: arg, At: at}, nil
	}
	return p.primary()
}

// primary parses an operand without operators.
func (p *parser) primary() (Expr, error) {
	t := p.lex.Peek()
	at := t.Pos.Column
	p.height = 1
	switch t.Type {
	case tokNumber:
		p.lex.Next()
		return &Literal{Kind: Number, Text: t.Value, At: at}, nil
	case tokString:
		p.lex.Next()
		s, err := stringValue(t)
		return &Literal{Kind: String, Text: s, At: at}, err
	case tokParam:
		p.lex.Next()
		n, err := strconv.ParseInt(t.Value[1:], 10, 32)
		if err != nil {
			return nil, pgerr.New(pgerr.ErrInvalid, pgerr.UndefinedParameter, "there is no parameter %s", t.Value).At(at)
		}
		return &Param{N: int(n), At: at}, nil
	case tokPunct:
		if t.Value != "(" {
			break
		}
		p.lex.Next()
		e, err := p.expr(precOr)
		if err != nil {
			return nil, err
		}
		return e, p.expect(")")
	case tokIdent, tokQuoted:
		return p.named()
	}
	return nil, syntaxError(t)
}

// named parses an operand that begins with a name or a keyword.
func (p *parser) named() (Expr, error) {
	t := p.lex.Peek()
	at := t.Pos.Column
	if t.Type == tokIdent {
		switch word := strings.ToLower(t.Value); {
		case word == "null":
			p.lex.Next()
			return &Literal{Kind: Null, At: at}, nil
		case word == "true", word == "false":
			p.lex.Next()
			return &Literal{Kind: Bool, Text: word, At: at}, nil
		case word == "cast":
			p.lex.Next()
			return p.cast(at)
		case reserved[word]:
			return nil, syntaxError(t)
		}
	}
	p.lex.Next()
	switch next := p.lex.Peek(); {
	case next.Value == "(":
		p.lex.Next()
		return p.call(t)
	case next.Value == ".":
		p.lex.Next()
		name := p.lex.Next()
		if name.Type != tokIdent && name.Type != tokQuoted {
			return nil, syntaxError(name)
		}
		c := column(name)
		c.Table, c.At = column(t).Name, at
		return c, nil
	case t.Type == tokIdent && (next.Type == tokString || twoWords(t, next) != ""):
		typ := strings.ToLower(t.Value) // type 'literal'
		if words := twoWords(t, next); words != "" {
			typ = words
			p.lex.Next()
			if next = p.lex.Peek(); next.Type != tokString {
				return nil, syntaxError(next)
			}
		}
		p.lex.Next()
		s, err := stringValue(next)
		p.height = 2
		return &Cast{Arg: &Literal{Kind: String, Text: s, At: next.Pos.Column}, Type: typ, At: at, TypeAt: at}, err
	}
	return column(t), nil
}

// column returns the column that a name token names.
func column(t *lexer.Token) *Column {
	if t.Type == tokQuoted {
		return &Column{Name: unquote(t.Value), Quoted: true, At: t.Pos.Column}
	}
	return &Column{Name: t.Value, At: t.Pos.Column}
}

// cast parses what follows CAST.
func (p *parser) cast(at int) (Expr, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	arg, err := p.expr(precOr)
	if err != nil {
		return nil, err
	}
	height := p.height
	if err := p.expect("AS"); err != nil {
		return nil, err
	}
	typeAt := p.lex.Peek().Pos.Column
	typ, err := p.typeName()
	if err != nil {
		return nil, err
	}
	p.height = height + 1
	return &Cast{Arg: arg, Type: typ, At: at, TypeAt: typeAt}, p.expect(")")
}

// call parses what follows a function's name and the parenthesis after it.
func (p *parser) call(name *lexer.Token) (Expr, error) {
	c := &Call{Name: strings.ToLower(name.Value), At: name.Pos.Column}
	if name.Type == tokQuoted {
		c.Name = unquote(name.Value)
	}
	if t := p.lex.Peek(); t.Type == tokOp && t.Value == "*" {
		p.lex.Next()
		c.Star = true
		return c, p.expect(")")
	}
	if t := p.lex.Peek(); t.Value == ")" {
		p.lex.Next()
		return c, nil
	}
	if c.Distinct = p.accept("DISTINCT"); !c.Distinct {
		p.accept("ALL")
	}
	var err error
	c.Args, err = p.list()
	p.height++
	return c, err
}

// list parses expressions up to a closing parenthesis.
func (p *parser) list() ([]Expr, error) {
	var list []Expr
	height := 0
	for {
		e, err := p.expr(precOr)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
		height = max(height, p.height)
		switch t := p.lex.Next(); t.Value {
		case ",":
		case ")":
			p.height = height
			return list, nil
		default:
			return nil, syntaxError(t)
		}
	}
}

// typeName parses a type's name.
func (p *parser) typeName() (string, error) {
	t := p.lex.Next()
	if t.Type == tokQuoted {
		return p.maybeArray(unquote(t.Value))
	}
	if t.Type != tokIdent || reserved[strings.ToLower(t.Value)] {
		return "", syntaxError(t)
	}
	name := strings.ToLower(t.Value)
	if words := twoWords(t, p.lex.Peek()); words != "" {
		p.lex.Next()
		name = words
	} else if name == "timestamp" && p.accept("with") {
		for _, word := range [...]string{"time", "zone"} {
			if err := p.expect(word); err != nil {
				return "", err
			}
		}
		name = timestampWithTimeZone
	}
	return p.maybeArray(name)
}

// maybeArray returns a type's name, or that of its arrays if brackets follow.
func (p *parser) maybeArray(name string) (string, error) {
	if t := p.lex.Peek(); t.Type == tokPunct && t.Value == "[" {
		p.lex.Next()
		return name + "[]", p.expect("]")
	}
	return name, nil
}

const timestampWithTimeZone = "timestamp with time zone"

// twoWords returns the name of a type whose name is two words, if the tokens are one.
func twoWords(a, b *lexer.Token) string {
	if a.Type != tokIdent || b.Type != tokIdent {
		return ""
	}
	switch words := strings.ToLower(a.Value + " " + b.Value); words {
	case "double precision", "character varying":
		return words
	}
	return ""
}

// accept takes the next token if it is the word.
func (p *parser) accept(word string) bool {
	if t := p.lex.Peek(); t.Type == tokIdent && strings.EqualFold(t.Value, word) {
		p.lex.Next()
		return true
	}
	return false
}

// expect takes the next token, which must be the word or punctuation.
func (p *parser) expect(word string) error {
	t := p.lex.Peek()
	if (t.Type == tokIdent || t.Type == tokPunct) && strings.EqualFold(t.Value, word) {
		p.lex.Next()
		return nil
	}
	return syntaxError(t)
}

// reserved holds PostgreSQL's keywords that cannot be column names unless quoted.
var reserved = words(`all analyse analyze and any array as asc asymmetric authorization binary both case cast check
	collate collation column concurrently constraint create cross current_catalog current_date current_role
	current_schema current_time current_timestamp current_user default deferrable desc distinct do else end except
	false fetch for foreign freeze from full grant group having ilike in initially inner intersect into is isnull join
	lateral leading left like limit localtime localtimestamp natural not notnull null offset on only or order outer
	overlaps placing primary references returning right select session_user similar some symmetric table tablesample
	then to trailing true union unique user using variadic verbose when where window with`)

func words(list string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(list) {
		m[w] = true
	}
	return m
}
