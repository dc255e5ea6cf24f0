package sql

import (
	"strconv"
	"strings"
)

// writer prints expressions. Every operand that is not a plain name, constant or call gets parentheses, so that
// nobody needs to know the binding powers.
type writer struct{ strings.Builder }

func text(e interface{ write(*writer) }) string {
	var w writer
	e.write(&w)
	return w.String()
}

func (e *Column) String() string     { return text(e) }
func (e *Literal) String() string    { return text(e) }
func (e *Param) String() string      { return text(e) }
func (e *Cast) String() string       { return text(e) }
func (e *Binary) String() string     { return text(e) }
func (e *Unary) String() string      { return text(e) }
func (e *Quantified) String() string { return text(e) }
func (e *Distinct) String() string   { return text(e) }
func (e *Between) String() string    { return text(e) }
func (e *In) String() string         { return text(e) }
func (e *Is) String() string         { return text(e) }
func (e *Logic) String() string      { return text(e) }
func (e *Call) String() string       { return text(e) }
func (e *GoValue) String() string    { return "<" + e.Type + ">" }

// operand writes a part of an expression.
func (w *writer) operand(e Expr) {
	switch e := e.(type) {
	case *Column:
		e.write(w)
	case *Param:
		e.write(w)
	case *Call:
		e.write(w)
	case *Literal:
		if !strings.HasPrefix(e.Text, "-") || e.Kind != Number {
			e.write(w)
			return
		}
		w.group(e)
	default:
		w.group(e)
	}
}

func (w *writer) group(e Expr) {
	w.WriteByte('(')
	w.bare(e)
	w.WriteByte(')')
}

// bare writes an expression without parentheses.
func (w *writer) bare(e Expr) {
	if e, ok := e.(interface{ write(*writer) }); ok {
		e.write(w)
		return
	}
	w.WriteString(e.String())
}

func (w *writer) list(es []Expr) {
	for i, e := range es {
		if i > 0 {
			w.WriteString(", ")
		}
		w.bare(e)
	}
}

// quote writes a name in quotes.
func (w *writer) quote(name string) {
	w.WriteByte('"')
	w.WriteString(strings.ReplaceAll(name, `"`, `""`))
	w.WriteByte('"')
}

func (w *writer) not(not bool) {
	if not {
		w.WriteString("NOT ")
	}
}

func (e *Column) write(w *writer) {
	if e.Table != "" {
		w.quote(e.Table)
		w.WriteByte('.')
	}
	if e.Quoted {
		w.quote(e.Name)
	} else {
		w.WriteString(e.Name)
	}
}

func (e *Literal) write(w *writer) {
	switch e.Kind {
	case Null:
		w.WriteString("NULL")
	case String:
		w.WriteByte('\'')
		w.WriteString(strings.ReplaceAll(e.Text, "'", "''"))
		w.WriteByte('\'')
	default:
		w.WriteString(e.Text)
	}
}

func (e *Param) write(w *writer) { w.WriteString("$" + strconv.Itoa(e.N)) }

func (e *Cast) write(w *writer) {
	w.operand(e.Arg)
	w.WriteString("::")
	item, array := strings.CutSuffix(e.Type, "[]")
	switch item {
	case "double precision", "character varying", timestampWithTimeZone:
		w.WriteString(item)
	default:
		w.quote(item)
	}
	if array {
		w.WriteString("[]")
	}
}

func (e *Binary) write(w *writer) {
	w.operand(e.Left)
	switch e.Op {
	case "~~":
		w.WriteString(" LIKE ")
	case "!~~":
		w.WriteString(" NOT LIKE ")
	case "~~*":
		w.WriteString(" ILIKE ")
	case "!~~*":
		w.WriteString(" NOT ILIKE ")
	default:
		w.WriteString(" " + e.Op + " ")
	}
	w.operand(e.Right)
}

func (e *Unary) write(w *writer) {
	w.WriteString(e.Op + " ")
	if l, ok := e.Arg.(*Literal); ok && l.Kind == Number {
		w.group(e.Arg)
		return
	}
	w.operand(e.Arg)
}

func (e *Quantified) write(w *writer) {
	w.operand(e.Left)
	w.WriteString(" " + e.Op)
	if e.All {
		w.WriteString(" ALL ")
	} else {
		w.WriteString(" ANY ")
	}
	w.group(e.Right)
}

func (e *Distinct) write(w *writer) {
	w.operand(e.Left)
	w.WriteString(" IS ")
	w.not(e.Not)
	w.WriteString("DISTINCT FROM ")
	w.operand(e.Right)
}

func (e *Between) write(w *writer) {
	w.operand(e.Arg)
	w.WriteByte(' ')
	w.not(e.Not)
	w.WriteString("BETWEEN ")
	if e.Symmetric {
		w.WriteString("SYMMETRIC ")
	}
	w.operand(e.Low)
	w.WriteString(" AND ")
	w.operand(e.High)
}

func (e *In) write(w *writer) {
	w.operand(e.Arg)
	w.WriteByte(' ')
	w.not(e.Not)
	w.WriteString("IN (")
	w.list(e.List)
	w.WriteByte(')')
}

func (e *Is) write(w *writer) {
	w.operand(e.Arg)
	w.WriteString(" IS ")
	w.not(e.Not)
	w.WriteString([...]string{"NULL", "TRUE", "FALSE", "UNKNOWN"}[e.Test])
}

func (e *Logic) write(w *writer) {
	if e.Op == NotOp {
		w.WriteString("NOT ")
		w.operand(e.Args[0])
		return
	}
	for i, a := range e.Args {
		if i > 0 && e.Op == AndOp {
			w.WriteString(" AND ")
		} else if i > 0 {
			w.WriteString(" OR ")
		}
		w.operand(a)
	}
}

func (e *Call) write(w *writer) {
	w.quote(e.Name)
	w.WriteByte('(')
	if e.Star {
		w.WriteByte('*')
	}
	if e.Distinct {
		w.WriteString("DISTINCT ")
	}
	w.list(e.Args)
	w.WriteByte(')')
}
