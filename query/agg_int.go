package query

import (
	"math/big"
	"math/bits"

	"wideleaf/pgerr"
	"wideleaf/value"
)

// intSum adds integers exactly. It adds codes, which are the values plus a constant (2^31 or 2^63) and never
// negative, to an unsigned 128-bit number that no table can overflow, and takes the constants off at the end. The code
// of a NULL is 0.
type intSum struct {
	typ    value.Type
	mean   bool
	n      int64
	hi, lo uint64
}

func (s *intSum) add(v *value.Vector) {
	s.n += int64(v.N - countNulls(v))
	if s.typ == value.Int4 {
		// A vector has at most 2^16 values of 32 bits.
		part := uint64(0)
		for _, c := range v.U32[:v.N] {
			part += uint64(c)
		}
		s.addWord(part)
		return
	}
	for _, c := range v.U64[:v.N] {
		s.addWord(c)
	}
}

func (s *intSum) addWord(c uint64) {
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, c, 0)
	s.hi += carry
}

func (s *intSum) result() (value.Value, error) {
	typ, _ := s.function().Result(s.typ)
	if s.n == 0 {
		return value.Null(typ), nil
	}
	bias := uint(63)
	if s.typ == value.Int4 {
		bias = 31
	}
	sum := new(big.Int).SetUint64(s.hi)
	sum.Lsh(sum, 64).Add(sum, new(big.Int).SetUint64(s.lo))
	sum.Sub(sum, new(big.Int).Lsh(big.NewInt(s.n), bias))
	switch {
	case s.mean:
		return value.OfNumeric(mean(sum, s.n)), nil
	case typ == value.Numeric:
		return value.OfNumeric(sum.String()), nil
	case !sum.IsInt64():
		return value.Value{}, &pgerr.Error{Kind: pgerr.ErrInvalid, Code: pgerr.NumericValueOutOfRange,
			Message: "bigint out of range"}
	}
	return value.OfInt8(sum.Int64()), nil
}

func (s *intSum) function() Func {
	if s.mean {
		return Avg
	}
	return Sum
}

// mean returns sum / n as PostgreSQL's numeric division prints it: rounded half away from zero at a scale that gives
// at least 16 significant digits. PostgreSQL counts digits in groups of four and supposes, when it can't tell, that the
// quotient has the fewer.
func mean(sum *big.Int, n int64) string {
	weight1, first1 := leadingGroup(new(big.Int).Abs(sum))
	weight2, first2 := leadingGroup(big.NewInt(n))
	weight := weight1 - weight2
	if first1 <= first2 {
		weight--
	}
	scale := max(16-4*weight, 0)

	q := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)
	q.Mul(q, new(big.Int).Abs(sum))
	rest := new(big.Int)
	q.QuoRem(q, big.NewInt(n), rest)
	if rest.Lsh(rest, 1).Cmp(big.NewInt(n)) >= 0 {
		q.Add(q, big.NewInt(1))
	}
	digits := q.String()
	for len(digits) <= scale {
		digits = "0" + digits
	}
	text := digits[:len(digits)-scale]
	if scale > 0 {
		text += "." + digits[len(digits)-scale:]
	}
	if sum.Sign() < 0 && q.Sign() != 0 {
		text = "-" + text
	}
	return text
}

// leadingGroup returns the number of four-digit groups after the first of x, and the first; 0 and 0 for zero.
func leadingGroup(x *big.Int) (weight, first int) {
	if x.Sign() == 0 {
		return 0, 0
	}
	s := x.String()
	weight = (len(s) - 1) / 4
	for _, d := range s[:len(s)-4*weight] {
		first = first*10 + int(d-'0')
	}
	return weight, first
}

func countNulls(v *value.Vector) int {
	n := 0
	for _, w := range v.Nulls {
		n += bits.OnesCount64(w)
	}
	return n
}
