package load

import (
	"math"
	"math/big"
	"strconv"

	"wideleaf"
)

// preference is the order in which types are tried: a column gets the first that every cell of it has.
var preference = []wideleaf.Type{wideleaf.Bool, wideleaf.Int4, wideleaf.Int8, wideleaf.Float8}

// fit is the set of types, bit 1<<type, that hold a cell without changing it. Text always does.
type fit uint32

func bit(t wideleaf.Type) fit { return 1 << t }

var (
	anyType  = ^fit(0)
	textOnly = bit(wideleaf.Text)
	boolFit  = textOnly | bit(wideleaf.Bool)
	int4Fit  = textOnly | bit(wideleaf.Int4) | bit(wideleaf.Int8) | bit(wideleaf.Float8)
	int8Fit  = textOnly | bit(wideleaf.Int8)
	floatFit = textOnly | bit(wideleaf.Float8)
)

// inference gathers what the cells of one column can be. Its zero value has seen none.
type inference struct {
	seen    bool
	fits    fit
	numbers bool // a cell is a number, not only NaN or Infinity
}

// add looks at a cell that is not NULL.
func (f *inference) add(cell []byte) {
	if !f.seen {
		f.seen, f.fits = true, anyType
	}
	if f.fits == textOnly {
		return
	}
	fits, number := fitOf(cell)
	f.fits &= fits
	f.numbers = f.numbers || number
}

// typ returns the column's type. A column of NULLs only is text, and so is one of NaN and Infinity only: these are words
// as well.
func (f *inference) typ() wideleaf.Type {
	if f.seen {
		for _, t := range preference {
			if f.fits&bit(t) != 0 && (t != wideleaf.Float8 || f.numbers) {
				return t
			}
		}
	}
	return wideleaf.Text
}

// fitOf returns the types that hold a cell without changing its value, and whether it is a number.
//
// Identifiers must survive: a number with leading zeros or a plus sign is text. 0 and 1 are integers, never bool. An
// integer is float8 (as it may be in a column of decimals) only if exact, and so is text when it is beyond int8 and not
// exact. A decimal is float8 if the float8 has all the digits that are written: 0.1, and 0.10000000000000001, but not
// 0.12345678901234567890.
func fitOf(cell []byte) (fits fit, number bool) {
	switch string(cell) {
	case "t", "f", "true", "false":
		return boolFit, false
	case "NaN", "Infinity", "-Infinity":
		return floatFit, false
	}
	n, ok := scanNumber(cell)
	switch {
	case !ok || n.leadingZeros:
		return textOnly, false
	case n.integer && !n.negativeZero:
		if i, err := strconv.ParseInt(string(cell), 10, 64); err == nil {
			fits = int8Fit
			if i == int64(int32(i)) {
				return int4Fit, true
			}
			if i >= -1<<53 && i <= 1<<53 {
				return fits | floatFit, true
			}
		}
	}
	if fits == 0 {
		fits = textOnly
	}
	if exact(cell, n) {
		fits |= floatFit
	}
	return fits, true
}

// number is the form of a number.
type number struct {
	integer      bool // digits only
	leadingZeros bool // 007, 00.5
	negativeZero bool // -0, -0.0: float8 has it, the integers don't
	digits       int  // from the first that is not 0 to the last one written
}

// scanNumber takes numbers apart: a minus sign or none, digits with or without a point, an exponent or none.
func scanNumber(s []byte) (n number, ok bool) {
	i := 0
	negative := false
	if i < len(s) && s[i] == '-' {
		negative = true
		i++
	}
	whole := digitsFrom(s, i)
	n.leadingZeros = whole > 1 && s[i] == '0'
	mantissa := s[i : i+whole]
	i += whole
	n.integer = true
	fraction := 0
	if i < len(s) && s[i] == '.' {
		n.integer = false
		i++
		fraction = digitsFrom(s, i)
		mantissa = append(mantissa[:len(mantissa):len(mantissa)], s[i:i+fraction]...)
		i += fraction
	}
	if whole+fraction == 0 {
		return n, false
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		n.integer = false
		i++
		if i < len(s) && (s[i] == '-' || s[i] == '+') {
			i++
		}
		exp := digitsFrom(s, i)
		if exp == 0 {
			return n, false
		}
		i += exp
	}
	for n.digits = len(mantissa); n.digits > 0 && mantissa[len(mantissa)-n.digits] == '0'; n.digits-- {
	}
	n.negativeZero = negative && n.digits == 0
	return n, i == len(s)
}

// digitsFrom counts the digits from s[i] on.
func digitsFrom(s []byte, i int) int {
	n := 0
	for i+n < len(s) && s[i+n] >= '0' && s[i+n] <= '9' {
		n++
	}
	return n
}

// Below these a decimal is always one that its float8 prints again: 15 digits are, far from the ends of the range.
const (
	safeDigits = 15
	safeLow    = 1e-290
	safeHigh   = 1e290
)

// maxDigits bounds the digits of a number: no float8 has more than 767 that count.
const maxDigits = 800

// exact reports whether the float8 nearest to a number has all its digits.
func exact(cell []byte, n number) bool {
	f, err := strconv.ParseFloat(string(cell), 64)
	switch a := math.Abs(f); {
	case err != nil: // beyond the range
		return false
	case n.digits == 0:
		return true
	case n.digits > maxDigits || f == 0:
		return false
	case n.digits <= safeDigits && a > safeLow && a < safeHigh:
		return true
	}
	printed, ok := new(big.Rat).SetString(strconv.FormatFloat(f, 'e', n.digits-1, 64))
	written, ok2 := new(big.Rat).SetString(string(cell))
	return ok && ok2 && printed.Cmp(written) == 0
}
