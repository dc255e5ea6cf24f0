package query

import (
	"math"

	"wideleaf/pgerr"
	"wideleaf/value"
)

// values evaluates an expression for n rows, whose columns' values column returns. What it returns may be such a column,
// and is not to be changed.
func (s *scalar) values(n int, column func(attno int) *value.Vector) (*value.Vector, error) {
	switch {
	case s.attno != 0:
		return column(s.attno), nil
	case s.op == "":
		return repeated(s.typ, s.val, n), nil
	}
	l, err := s.left.values(n, column)
	if err != nil {
		return nil, err
	}
	out := new(value.Vector)
	out.Reset(s.typ)
	out.Grow(n)
	switch s.op {
	case "cast":
		return out, castAll(out, l)
	case "neg":
		return out, arithmeticAll(out, "-", repeated(s.typ, zeroOf(s.typ), n), l)
	}
	r, err := s.right.values(n, column)
	if err != nil {
		return nil, err
	}
	if s.op == "||" {
		for i := range n {
			if l.IsNull(i) || r.IsNull(i) {
				out.AppendNull()
			} else {
				out.Append(value.OfText(l.Str[i] + r.Str[i]))
			}
		}
		return out, nil
	}
	return out, arithmeticAll(out, s.op, l, r)
}

// zeroOf returns what a number is taken from to negate it: -0 for float8, so that 0 becomes -0.
func zeroOf(t value.Type) value.Value {
	switch t {
	case value.Int4:
		return value.OfInt4(0)
	case value.Int8:
		return value.OfInt8(0)
	}
	return value.OfFloat8(math.Copysign(0, -1))
}

func repeated(t value.Type, x value.Value, n int) *value.Vector {
	v := new(value.Vector)
	v.Reset(t)
	v.Grow(n)
	for range n {
		v.Append(x)
	}
	return v
}

// arithmeticAll appends l op r, both of out's type, to out.
func arithmeticAll(out *value.Vector, op string, l, r *value.Vector) error {
	for i := range l.N {
		if l.IsNull(i) || r.IsNull(i) {
			out.AppendNull()
			continue
		}
		switch out.Type {
		case value.Int4:
			v, err := intArithmetic(int4Type, op, int64(value.CodeInt4(l.U32[i])), int64(value.CodeInt4(r.U32[i])))
			if err != nil {
				return err
			}
			out.AppendCode(uint64(value.Int4Code(int32(v))))
		case value.Int8:
			v, err := intArithmetic(int8Type, op, value.CodeInt8(l.U64[i]), value.CodeInt8(r.U64[i]))
			if err != nil {
				return err
			}
			out.AppendCode(value.Int8Code(v))
		default:
			v, err := floatArithmetic(op, value.CodeFloat8(l.U64[i]), value.CodeFloat8(r.U64[i]))
			if err != nil {
				return err
			}
			out.AppendCode(value.Float8Code(v))
		}
	}
	return nil
}

// castAll appends the values of v, converted to out's type, to out.
func castAll(out, v *value.Vector) error {
	for i := range v.N {
		if v.IsNull(i) {
			out.AppendNull()
			continue
		}
		x, err := castValue(v.Value(i), out.Type)
		if err != nil {
			return err
		}
		out.Append(x)
	}
	return nil
}

// castValue converts a value that is not NULL.
func castValue(x value.Value, t value.Type) (value.Value, error) {
	from := x.Type()
	switch {
	case from == value.Text:
		c := &constant{typ: textType, s: x.Str()}
		c, err := c.cast(typeOf(t), 0)
		if err != nil {
			return x, err
		}
		return c.value(t), nil
	case t == value.Text && from == value.Bool:
		if x.Bool() {
			return value.OfText("true"), nil
		}
		return value.OfText("false"), nil
	case t == value.Text:
		return value.OfText(x.String()), nil
	case from == value.Bool:
		return value.OfInt4(int32(x.Code())), nil
	case t == value.Bool:
		return value.OfBool(x.Int() != 0), nil
	case t == value.Float8:
		return value.OfFloat8(float64(x.Int())), nil
	}
	v := x.Int()
	if from == value.Float8 {
		f := math.RoundToEven(x.Float())
		if !(f >= math.MinInt64 && f < -math.MinInt64) {
			return x, outOfRange(typeOf(t))
		}
		v = int64(f)
	}
	if t == value.Int4 {
		if v != int64(int32(v)) {
			return x, outOfRange(int4Type)
		}
		return value.OfInt4(int32(v)), nil
	}
	return value.OfInt8(v), nil
}

func outOfRange(t typ) error {
	return pgerr.New(pgerr.ErrInvalid, pgerr.NumericValueOutOfRange, "%s out of range", t)
}
