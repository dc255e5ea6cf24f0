// Package sql turns text in PostgreSQL's dialect into expression trees: conditions, ORDER BY lists and select lists.
//
// Words used here: the lexer cuts a text into tokens as PostgreSQL's does; an Expr is a tree as written, its names and
// types unresolved (package query binds them). The trees can also be built in Go with Col, And, Or, Not and Lit.
//
// Everything here may be called concurrently; a tree is not changed once made and may be shared. No text, however
// long or deep, makes the parser crash: nesting is limited by MaxDepth, AND and OR chains and lists by memory only.
package sql

// Expr is an expression as written. Its String method returns text that parses to an equal expression.
type Expr interface {
	// Pos returns the character of the text, from 1, to which errors about the expression point; 0 if built in Go.
	Pos() int
	String() string
}

// Column is a column's name.
type Column struct {
	Table  string // of table.column; usually empty
	Name   string
	Quoted bool // the name is exactly this; unquoted names may match in another case
	At     int
}

// LiteralKind is the kind of a literal.
type LiteralKind uint8

// The kinds of literals.
const (
	Null   LiteralKind = iota
	Bool               // Text is "true" or "false"
	Number             // Text is the number as written, perhaps with a sign
	String             // Text is the string; like PostgreSQL's it has no type until it meets one
)

// Literal is a constant as written.
type Literal struct {
	Kind LiteralKind
	Text string
	At   int
}

// Param is a parameter, $1.
type Param struct{ N, At int }

// Cast is Arg::Type.
type Cast struct {
	Arg  Expr
	Type string // in lower case unless quoted
	At   int    // of :: or CAST

	TypeAt int // of the type's name
}

// Binary is an operator between two expressions. Op is PostgreSQL's name of the operator, with <> for != and ~~, !~~,
// ~~*, !~~* for [NOT] LIKE and [NOT] ILIKE.
type Binary struct {
	Op          string
	Left, Right Expr
	At          int // of the operator
}

// Unary is a prefix operator.
type Unary struct {
	Op  string
	Arg Expr
	At  int
}

// Quantified is Left Op ANY (Right), or ALL.
type Quantified struct {
	Op          string
	Left, Right Expr
	All         bool
	At          int // of the operator
}

// Distinct is Left IS [NOT] DISTINCT FROM Right.
type Distinct struct {
	Left, Right Expr
	Not         bool
	At          int
}

// Between is Arg [NOT] BETWEEN [SYMMETRIC] Low AND High.
type Between struct {
	Arg, Low, High Expr
	Not, Symmetric bool
	At             int
}

// In is Arg [NOT] IN (List).
type In struct {
	Arg  Expr
	List []Expr
	Not  bool
	At   int
}

// Test is what IS asks for.
type Test uint8

// The tests.
const (
	IsNull Test = iota
	IsTrue
	IsFalse
	IsUnknown
)

// Is is Arg IS [NOT] NULL, TRUE, FALSE or UNKNOWN.
type Is struct {
	Arg  Expr
	Test Test
	Not  bool
	At   int
}

// BoolOp is AND, OR or NOT.
type BoolOp uint8

// The logical operators.
const (
	AndOp BoolOp = iota
	OrOp
	NotOp
)

// Logic is Args joined by AND or OR, at least two and in the order written, or NOT of one.
type Logic struct {
	Op   BoolOp
	Args []Expr
	At   int // of the first operator
}

// Call is a function call.
type Call struct {
	Name     string // in lower case unless quoted
	Args     []Expr
	Star     bool // count(*)
	Distinct bool
	At       int
}

// GoValue stands for a Go value, given to Lit, that has no counterpart in SQL; binding refuses it.
type GoValue struct{ Type string }

// Pos returns where errors about the expression point.
func (e *Column) Pos() int     { return e.At }
func (e *Literal) Pos() int    { return e.At }
func (e *Param) Pos() int      { return e.At }
func (e *Cast) Pos() int       { return e.Arg.Pos() }
func (e *Binary) Pos() int     { return e.At }
func (e *Unary) Pos() int      { return e.At }
func (e *Quantified) Pos() int { return e.At }
func (e *Distinct) Pos() int   { return e.At }
func (e *Between) Pos() int    { return e.At }
func (e *In) Pos() int         { return e.At }
func (e *Is) Pos() int         { return e.At }
func (e *Logic) Pos() int      { return e.At }
func (e *Call) Pos() int       { return e.At }
func (e *GoValue) Pos() int    { return 0 }

// SortKey is an item of an ORDER BY list.
type SortKey struct {
	Expr       Expr
	Desc       bool
	NullsFirst bool // the default is PostgreSQL's: last if ascending, first if descending
}

// SelectItem is an item of a select list.
type SelectItem struct {
	Star  bool // *: all columns; Expr is nil
	Expr  Expr
	Alias string // AS alias; empty if none
	At    int
}

// Aggregate is a call of an aggregate function: count, sum, avg, min, max, percentile or median.
type Aggregate struct {
	Func     string
	Star     bool // count(*): Arg is nil
	Distinct bool
	Arg      Expr
	Fraction float64 // of a percentile; 0.5 of a median
	Alias    string
	At       int
}
