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
		err = out.floatArithmetic(e.Op, l.con, r.con)
	case numericType:
		err = pgerr.New(pgerr.ErrInvalid, pgerr.FeatureNotSupported, "operator %s is not supported for numeric constants", e.Op).At(e.At)
	default:
		x, _, _ := l.con.num.floor()
		y, _, _ := r.con.num.floor()
		err = out.intArithmetic(e.Op, x, y)
	}
	return operand{typ: t, con: out}, err
}

func divisionByZero() error {
	return pgerr.New(pgerr.ErrInvalid, pgerr.DivisionByZero, "division by zero")
}

func (c *constant) intArithmetic(op string, x, y int64) error {
	var v int64
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
			return divisionByZero()
		case op == "%":
			if y != -1 {
				v = x % y
			}
		default:
			v = x / y
			ok = x != math.MinInt64 || y != -1
		}
	}
	if !ok || c.typ == int4Type && v != int64(int32(v)) {
		return pgerr.New(pgerr.ErrInvalid, pgerr.NumericValueOutOfRange, "%s out of range", c.typ)
	}
	c.s = strconv.FormatInt(v, 10)
	c.num, _ = parseDecimal(c.s)
	return nil
}

func magnitude(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

func (c *constant) floatArithmetic(op string, l, r *constant) error {
	x, err := l.float()
	if err != nil {
		return err
	}
	y, err := r.float()
	if err != nil {
		return err
	}
	zero := false // whether the exact result may be
	switch op {
	case "+":
		c.f, zero = x+y, true
	case "-":
		c.f, zero = x-y, true
	case "*":
		c.f, zero = x*y, x == 0 || y == 0
	default:
		if y == 0 && x == x {
			return divisionByZero()
		}
		c.f, zero = x/y, x == 0 || math.IsInf(y, 0)
	}
	switch {
	case math.IsInf(c.f, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0):
		return pgerr.New(pgerr.ErrInvalid, pgerr.NumericValueOutOfRange, "value out of range: overflow")
	case c.f == 0 && !zero:
		return pgerr.New(pgerr.ErrInvalid, pgerr.NumericValueOutOfRange, "value out of range: underflow")
	}
	return nil
}
