package query

import (
	"math"
	"math/bits"
	"strconv"

	"wideleaf/pgerr"
	"wideleaf/query/sql"
)

func isArithmetic(op string) bool {
	switch op {
	case "+", "-", "*", "/", "%":
		return true
	}
	return false
}

// arithmetic evaluates an operator between two constants, as PostgreSQL does in the wider of their types.
func (b *binder) arithmetic(e *sql.Binary, l, r operand) (operand, error) {
	if l.typ == unknownType && r.typ == unknownType {
		return operand{}, &pgerr.Error{Kind: pgerr.ErrInvalid, Code: pgerr.AmbiguousFunction, Position: e.At,
			Message: "operator is not unique: unknown " + e.Op + " unknown",
			Hint:    "Could not choose a best candidate operator. You might need to add explicit type casts."}
	}
	if l.typ.family() == int4Type || r.typ.family() == int4Type {
		var err error
		if l, r, err = b.unify(e.Op, l, r, e.At); err != nil {
			return operand{}, err
		}
	}
	t := max(l.typ, r.typ)
	if t < int4Type || t == float8Type && e.Op == "%" {
		return operand{}, noOperator(e.Op, l.typ, r.typ, e.At)
	}
	if l.con == nil || r.con == nil {
		return operand{}, pgerr.New(pgerr.ErrInvalid, pgerr.FeatureNotSupported, "operator %s is not supported in conditions", e.Op).At(e.At)
	}
	out := &constant{typ: t, null: l.con.null || r.con.null, at: e.Pos()}
	if out.null {
		return operand{typ: t, con: out}, nil
	}
	var err error
	switch t {
	case float8Type:
		var x, y float64
		if x, err = l.con.float(); err == nil {
			if y, err = r.con.float(); err == nil {
				out.f, err = floatArithmetic(e.Op, x, y)
			}
		}
	case numericType:
		err = pgerr.New(pgerr.ErrInvalid, pgerr.FeatureNotSupported, "operator %s is not supported for numeric constants", e.Op).At(e.At)
	default:
		x, _, _ := l.con.num.floor()
		y, _, _ := r.con.num.floor()
		var v int64
		if v, err = intArithmetic(t, e.Op, x, y); err == nil {
			out.s = strconv.FormatInt(v, 10)
			out.num, _ = parseDecimal(out.s)
		}
	}
	if err != nil {
		out.null = true
	}
	return operand{typ: t, con: out}, b.later(err)
}

func divisionByZero() error {
	return pgerr.New(pgerr.ErrInvalid, pgerr.DivisionByZero, "division by zero")
}

// intArithmetic evaluates an operator of integers of type t.
func intArithmetic(t typ, op string, x, y int64) (v int64, err error) {
	ok := true
	switch op {
	case "+":
		v = x + y
		ok = (x < 0) != (y < 0) || (v < 0) == (x < 0)
	case "-":
		v = x - y
		ok = (x < 0) == (y < 0) || (v < 0) == (x < 0)
	case "*":
		hi, lo := bits.Mul64(magnitude(x), magnitude(y))
		neg := (x < 0) != (y < 0)
		if v = int64(lo); neg {
			v = -v
		}
		ok = hi == 0 && (lo < 1<<63 || lo == 1<<63 && neg)
	default:
		switch {
		case y == 0:
			return 0, divisionByZero()
		case op == "%":
			if y != -1 {
				v = x % y
			}
		default:
			v = x / y
			ok = x != math.MinInt64 || y != -1
		}
	}
	if !ok || t == int4Type && v != int64(int32(v)) {
		return 0, outOfRange(t)
	}
	return v, nil
}

func magnitude(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

// floatArithmetic evaluates an operator of float8.
func floatArithmetic(op string, x, y float64) (v float64, err error) {
	zero := false // whether the exact result may be
	switch op {
	case "+":
		v, zero = x+y, true
	case "-":
		v, zero = x-y, true
	case "*":
		v, zero = x*y, x == 0 || y == 0
	default:
		if y == 0 && x == x {
			return 0, divisionByZero()
		}
		v, zero = x/y, x == 0 || math.IsInf(y, 0)
	}
	switch {
	case math.IsInf(v, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0):
		return 0, pgerr.New(pgerr.ErrInvalid, pgerr.NumericValueOutOfRange, "value out of range: overflow")
	case v == 0 && !zero:
		return 0, pgerr.New(pgerr.ErrInvalid, pgerr.NumericValueOutOfRange, "value out of range: underflow")
	}
	return v, nil
}
