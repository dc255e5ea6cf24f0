package value

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// FormatFloat8 prints a float8 as PostgreSQL does: the shortest digits that read back, with NaN, Infinity and
// -Infinity, and an exponent below 1e-4 and from 1e15 on.
func FormatFloat8(f float64) string {
	switch {
	case f != f:
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	case f == 0:
		if math.Signbit(f) {
			return "-0"
		}
		return "0"
	}
	if a := math.Abs(f); a < 1e-4 || a >= 1e15 {
		s := strconv.FormatFloat(f, 'e', -1, 64)
		if a > 1<<54 && a < 1e40 && tied(s, f) {
			return untied(s, f)
		}
		return s
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// tied reports whether a decimal lies half way from f to a neighbour, so that it reads back as f only because ties go
// to even. Go prints such digits, PostgreSQL does not trust readers so far: its 1e23, which is a little less, is
// 9.999999999999999e+22. A 54-bit odd number is a short decimal only if its factors are mostly 5s, which bounds the
// values for which this happens.
func tied(s string, f float64) bool {
	d, _ := new(big.Rat).SetString(s)
	x := new(big.Rat).SetFloat64(f)
	side := d.Cmp(x)
	if side == 0 {
		return false
	}
	next := new(big.Rat).SetFloat64(math.Nextafter(f, math.Inf(side)))
	return d.Add(d, d).Cmp(x.Add(x, next)) == 0
}

// untied returns the decimal nearest to f of as few digits, beyond those of s, as read back without a tie.
func untied(s string, f float64) string {
	mantissa, _, _ := strings.Cut(strings.TrimPrefix(s, "-"), "e")
	for n := max(len(mantissa)-1, 1); n < 16; n++ { // digits after the point
		s := strconv.FormatFloat(f, 'e', n, 64)
		if g, err := strconv.ParseFloat(s, 64); err == nil && g == f && !tied(s, f) {
			return s
		}
	}
	return strconv.FormatFloat(f, 'e', 16, 64)
}
