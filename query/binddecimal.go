package query

import (
	"cmp"
	"math"
	"strconv"
	"strings"
)

// decimal is an exact number, 0.digits * 10^exp with a sign. digits neither begins nor ends with a zero; it is empty
// for zero, which has no sign. A condition's numbers are only compared and rounded, which needs no arithmetic.
type decimal struct {
	neg     bool
	digits  string
	exp     int
	special special
}

// special tells numeric's values that are no numbers, in their order.
type special int8

const (
	isNegInf special = iota - 1
	isFinite
	isInf
	isNaN
)

// Limits of PostgreSQL's numeric: digits before and after the point.
const (
	maxNumericExp   = 131072
	maxNumericScale = 16383
)

// parseDecimal reads [+-]12.34e[+-]56. An exponent too large to matter comes back as one that does not fit.
func parseDecimal(s string) (d decimal, ok bool) {
	if s != "" && (s[0] == '+' || s[0] == '-') {
		d.neg = s[0] == '-'
		s = s[1:]
	}
	exp := 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		e := s[i+1:]
		s = s[:i]
		unsigned := strings.TrimPrefix(e, "-")
		if unsigned == e {
			unsigned = strings.TrimPrefix(e, "+")
		}
		if unsigned == "" || !allDigits(unsigned) {
			return decimal{}, false
		}
		v, _ := strconv.Atoi(e) // the nearest int if out of range
		exp = max(min(v, 1<<30), -1<<30)
	}
	whole, fraction, _ := strings.Cut(s, ".")
	if whole == "" && fraction == "" || !allDigits(whole) || !allDigits(fraction) {
		return decimal{}, false
	}
	d.digits = whole
	if fraction != "" {
		d.digits += fraction
	}
	d.exp = len(whole) + exp
	n := len(d.digits)
	d.digits = strings.TrimLeft(d.digits, "0")
	d.exp -= n - len(d.digits)
	d.digits = strings.TrimRight(d.digits, "0")
	if d.digits == "" {
		return decimal{}, true
	}
	return d, true
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// fits reports whether PostgreSQL's numeric can hold the number.
func (d decimal) fits() bool { return d.exp <= maxNumericExp && len(d.digits)-d.exp <= maxNumericScale }

func (d decimal) zero() bool { return d.digits == "" && d.special == isFinite }

func (d decimal) negated() decimal {
	d.neg = !d.neg && d.digits != ""
	if d.special != isNaN {
		d.special = -d.special
	}
	return d
}

// split returns the whole part of the absolute value, and the digits after the point. ok is false for whole parts of
// 20 digits and more, which no int8 has.
func (d decimal) split() (whole uint64, fraction string, ok bool) {
	switch {
	case d.exp > 19:
		return 0, "", false
	case d.exp <= 0:
		return 0, strings.Repeat("0", min(-d.exp, 1)) + d.digits, true // one zero will do
	}
	n := min(d.exp, len(d.digits))
	for i := range d.exp {
		whole *= 10
		if i < n {
			whole += uint64(d.digits[i] - '0')
		}
	}
	return whole, d.digits[n:], true
}

// floor returns the largest integer not above d and whether d has a fraction. side is 1 or -1 if d lies above or below
// all of int8, and 0 if not.
func (d decimal) floor() (v int64, fraction bool, side int) {
	if d.special != isFinite {
		return 0, false, sign(d.special < 0)
	}
	whole, rest, ok := d.split()
	fraction = rest != ""
	if d.neg && fraction {
		whole++ // at most 10^19
	}
	switch {
	case !ok, !d.neg && whole > math.MaxInt64, d.neg && whole > 1<<63:
		return 0, false, sign(d.neg)
	case d.neg:
		return int64(-whole), fraction, 0
	}
	return int64(whole), fraction, 0
}

func sign(neg bool) int {
	if neg {
		return -1
	}
	return 1
}

// round returns the nearest integer, halves away from zero; ok is false if it is not an int8.
func (d decimal) round() (v int64, ok bool) {
	whole, rest, ok := d.split()
	if !ok || d.special != isFinite {
		return 0, false
	}
	if rest != "" && rest[0] >= '5' {
		whole++
	}
	if d.neg {
		return int64(-whole), whole <= 1<<63
	}
	return int64(whole), whole <= math.MaxInt64
}

// float returns the nearest float64.
func (d decimal) float() float64 {
	switch d.special {
	case isNaN:
		return math.NaN()
	case isInf, isNegInf:
		return math.Inf(int(d.special))
	}
	if d.digits == "" {
		return 0
	}
	f, _ := strconv.ParseFloat("0."+d.digits+"e"+strconv.Itoa(d.exp), 64)
	if d.neg {
		return -f
	}
	return f
}

// compare orders two numbers, NaN above all.
func (d decimal) compare(o decimal) int {
	switch {
	case d.special != isFinite || o.special != isFinite:
		return cmp.Compare(d.special, o.special)
	case d.neg != o.neg:
		return sign(d.neg)
	case d.digits == "" || o.digits == "":
		return cmp.Compare(len(d.digits), len(o.digits)) * sign(d.neg || o.neg)
	}
	c := cmp.Compare(d.exp, o.exp)
	if c == 0 {
		c = cmp.Compare(d.digits, o.digits)
	}
	return c * sign(d.neg)
}
