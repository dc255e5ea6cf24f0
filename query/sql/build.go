package sql

import (
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"time"

	"wideleaf/value"
)

// Col names a column, exactly.
func Col(name string) *Column { return &Column{Name: name, Quoted: true} }

// And holds where all of es hold. With none it is true, with one it is that one.
func And(es ...Expr) Expr { return join(AndOp, es, "true") }

// Or holds where one of es holds. With none it is false, with one it is that one.
func Or(es ...Expr) Expr { return join(OrOp, es, "false") }

// Not holds where e is false.
func Not(e Expr) Expr { return &Logic{Op: NotOp, Args: []Expr{e}} }

func join(op BoolOp, es []Expr, empty string) Expr {
	switch len(es) {
	case 0:
		return &Literal{Kind: Bool, Text: empty}
	case 1:
		return es[0]
	}
	return &Logic{Op: op, Args: append([]Expr(nil), es...)}
}

// Lit returns the constant for a Go value: nil, a bool, any integer, float, string, []byte, time.Time, []int64, []string or
// value.Value, or an Expr, which is returned as it is. Numbers are exact: a float is the number it holds, not its shortest
// decimal. A string takes the type of what it is compared with, as in SQL, and so does what is not a bool or number.
// Binding refuses values of other types.
func Lit(v any) Expr {
	switch v := v.(type) {
	case nil:
		return &Literal{}
	case Expr:
		return v
	case value.Value:
		switch {
		case v.IsNull():
			return &Literal{}
		case v.Type() > value.Text: // or it would be a time in Go, and lose its type's infinities
			return &Literal{Kind: String, Text: v.String()}
		}
		return Lit(v.Any())
	case []byte:
		return Lit(value.OfBytea(v))
	case []int64:
		return Lit(value.OfInt8Array(v))
	case []string:
		return Lit(value.OfTextArray(v))
	case time.Time:
		return &Literal{Kind: String, Text: value.FormatTime(v)}
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Bool:
		return &Literal{Kind: Bool, Text: strconv.FormatBool(r.Bool())}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return &Literal{Kind: Number, Text: strconv.FormatInt(r.Int(), 10)}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return &Literal{Kind: Number, Text: strconv.FormatUint(r.Uint(), 10)}
	case reflect.Float32, reflect.Float64:
		f := r.Float()
		if f != f || math.IsInf(f, 0) {
			return &Cast{Arg: &Literal{Kind: String, Text: value.FormatFloat8(f)}, Type: "float8"}
		}
		if f == math.Trunc(f) {
			return &Literal{Kind: Number, Text: new(big.Float).SetFloat64(f).Text('f', 0)}
		}
		return &Literal{Kind: Number, Text: strconv.FormatFloat(f, 'g', -1, 64)}
	case reflect.String:
		return &Literal{Kind: String, Text: r.String()}
	}
	return &GoValue{Type: fmt.Sprintf("%T", v)}
}

func lits(vs []any) []Expr {
	es := make([]Expr, len(vs))
	for i, v := range vs {
		es[i] = Lit(v)
	}
	return es
}

func (e *Column) compare(op string, v any) Expr { return &Binary{Op: op, Left: e, Right: Lit(v)} }

// Eq is column = v. As in SQL, no comparison holds with NULL: see IsNull.
func (e *Column) Eq(v any) Expr { return e.compare("=", v) }

// Ne is column <> v.
func (e *Column) Ne(v any) Expr { return e.compare("<>", v) }

// Lt is column < v.
func (e *Column) Lt(v any) Expr { return e.compare("<", v) }

// Le is column <= v.
func (e *Column) Le(v any) Expr { return e.compare("<=", v) }

// Gt is column > v.
func (e *Column) Gt(v any) Expr { return e.compare(">", v) }

// Ge is column >= v.
func (e *Column) Ge(v any) Expr { return e.compare(">=", v) }

// Between is column BETWEEN low AND high; both ends are included.
func (e *Column) Between(low, high any) Expr { return &Between{Arg: e, Low: Lit(low), High: Lit(high)} }

// In is column IN (vs); no row satisfies it without vs.
func (e *Column) In(vs ...any) Expr { return &In{Arg: e, List: lits(vs)} }

// NotIn is column NOT IN (vs): with a NULL among vs no row satisfies it.
func (e *Column) NotIn(vs ...any) Expr { return &In{Arg: e, List: lits(vs), Not: true} }

// IsNull is column IS NULL.
func (e *Column) IsNull() Expr { return &Is{Arg: e} }

// IsNotNull is column IS NOT NULL.
func (e *Column) IsNotNull() Expr { return &Is{Arg: e, Not: true} }
