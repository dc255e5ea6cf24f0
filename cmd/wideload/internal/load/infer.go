package load

import (
	"bytes"
	"math"
	"strconv"

	"wideleaf"
	"wideleaf/value"
)

// preference is the order in which types are tried: a column gets the first that every cell of it has.
var preference = []wideleaf.Type{wideleaf.Bool, wideleaf.Int4, wideleaf.Int8, wideleaf.Float8, value.Date, value.Timestamptz}

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
	dateFit  = textOnly | bit(value.Date)
	timeFit  = textOnly | bit(value.Timestamptz)
)

// inference gathers what the cells of one column can be. Its zero value has seen none.
type inference struct {
	seen    bool
	fits    fit
	numbers bool // a cell is a number, not only NaN or Infinity
}

// add looks at a cell that is not NULL. ok tells that it has the form of a type other than text, and so is valid text.
func (f *inference) add(cell []byte) (ok bool) {
	if !f.seen {
		f.seen, f.fits = true, anyType
	}
	if f.fits == textOnly {
		return false
	}
	fits, number := fitOf(cell)
	f.fits &= fits
	f.numbers = f.numbers || number
	return fits != textOnly
}

// merge adds what other cells can be.
func (f *inference) merge(o *inference) {
	switch {
	case !o.seen:
	case !f.seen:
		*f = *o
	default:
		f.fits &= o.fits
		f.numbers = f.numbers || o.numbers
	}
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

// listType returns the type of a column whose items were added.
func (f *inference) listType() wideleaf.Type {
	if f.seen && f.fits&bit(wideleaf.Int8) != 0 {
		return value.Int8Array
	}
	return value.TextArray
}

// fitOf returns the types that hold a cell without changing its value, and whether it is a number.
//
// Identifiers must survive: a number with leading zeros or a plus sign is text. 0 and 1 are integers, never bool. An
// integer is float8 (as it may be in a column of decimals) only if exact, and so is text when it is beyond int8 and not
// exact. A decimal is float8 if the float8 has all the digits that are written: 0.1, and 0.10000000000000001, but not
// 0.12345678901234567890.
func fitOf(cell []byte) (fits fit, number bool) {
	if len(cell) == 0 {
		return textOnly, false
	}
	if c := cell[0]; c > '9' || c < '-' || c == '/' { // no digit, point or minus
		switch string(cell) {
		case "t", "f", "true", "false":
			return boolFit, false
		case "NaN", "Infinity":
			return floatFit, false
		}
		return textOnly, false
	}
	n, ok := scanNumber(cell)
	switch {
	case !ok && string(cell) == "-Infinity":
		return floatFit, false
	case !ok && isDate(cell):
		return dateFit, false
	case !ok && isTimestamp(cell):
		return timeFit, false
	case !ok:
		return textOnly, false
	case n.leadingZeros:
		return textOnly, false
	case n.integer && !n.negativeZero:
		if i, ok := parseInt(cell); ok {
			switch {
			case i == int64(int32(i)):
				return int4Fit, true
			case i >= -1<<53 && i <= 1<<53:
				return int8Fit | floatFit, true
			}
			fits = int8Fit
		}
	}
	if n.exact(cell) {
		fits |= floatFit
	}
	return fits | textOnly, true
}

// number is the form of a number.
type number struct {
	integer      bool   // digits only
	leadingZeros bool   // 007, 00.5
	negativeZero bool   // -0, -0.0: float8 has it, the integers don't
	digits       int    // from the first that is not 0 to the last one written
	first        int    // where that stands in the cell
	exponent     int    // its power of ten
	mantissa     uint64 // the digits as an integer, if they are at most wordDigits
	negative     bool
}

// scanNumber takes numbers apart: a minus sign or none, digits with or without a point, an exponent or none.
func scanNumber(s []byte) (n number, ok bool) {
	i := 0
	n.negative = len(s) > 0 && s[0] == '-'
	if n.negative {
		i++
	}
	begin, point := i, -1
	for ; i < len(s); i++ {
		if d := s[i] - '0'; d <= 9 {
			if n.digits > 0 {
				n.digits++
			} else if d > 0 {
				n.digits, n.first = 1, i
			}
			n.mantissa = n.mantissa*10 + uint64(d)
		} else if s[i] == '.' && point < 0 {
			point = i
		} else {
			break
		}
	}
	end := i // of the digits
	n.integer = point < 0
	whole := end - begin // digits before the point
	if !n.integer {
		whole = point - begin
		if end-begin == 1 {
			return n, false // only a point
		}
	}
	if end == begin {
		return n, false
	}
	n.leadingZeros = whole > 1 && s[begin] == '0'
	if i < len(s) {
		if s[i] != 'e' && s[i] != 'E' {
			return n, false
		}
		n.integer = false
		i++
		minus := i < len(s) && s[i] == '-'
		if minus || i < len(s) && s[i] == '+' {
			i++
		}
		if i == len(s) {
			return n, false
		}
		for ; i < len(s); i++ {
			if s[i] < '0' || s[i] > '9' {
				return n, false
			}
			n.exponent = min(n.exponent*10+int(s[i]-'0'), maxExponent)
		}
		if minus {
			n.exponent = -n.exponent
		}
	}
	if n.digits == 0 {
		n.negativeZero, n.exponent = n.negative, 0
		return n, true
	}
	if n.first < begin+whole {
		n.exponent += begin + whole - 1 - n.first
	} else {
		n.exponent -= n.first - point
	}
	return n, true
}

// float returns the nearest float8 when it takes one operation on two float8 that are exact, and so is rounded right.
func (n number) float() (f float64, ok bool) {
	const mostExact = 1 << 53
	if n.digits > wordDigits || n.mantissa > mostExact {
		return 0, false
	}
	f = float64(n.mantissa)
	if n.negative {
		f = -f
	}
	// The power of ten of the last digit, not the first.
	switch e := n.exponent - n.digits + 1; {
	case n.digits == 0 || e == 0:
	case e > 0 && e < len(powersOfTen):
		f *= powersOfTen[e]
	case e < 0 && -e < len(powersOfTen):
		f /= powersOfTen[-e]
	default:
		return 0, false
	}
	return f, true
}

// wordDigits is how many digits a uint64 holds, whatever they are.
const wordDigits = 19

// powersOfTen are those that a float8 has exactly.
var powersOfTen = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
	1e20, 1e21, 1e22}

const (
	// maxExponent bounds what is made of an exponent; a float8 has at most 308.
	maxExponent = 1 << 20
	// maxDigits bounds the digits of a number: no float8 has more than 767 that count.
	maxDigits = 800
	// A decimal of up to safeDigits digits is one that its float8 prints again, if it is far from the ends of the range.
	safeDigits   = 15
	safeExponent = 290
)

// exact reports whether the float8 nearest to a number has all its digits: printed with as many, it is the same number.
func (n number) exact(cell []byte) bool {
	switch {
	case n.digits == 0:
		return true
	case n.digits <= safeDigits && n.exponent > -safeExponent && n.exponent < safeExponent:
		return true
	case n.digits > maxDigits:
		return false
	}
	f, err := strconv.ParseFloat(string(cell), 64)
	if err != nil || f == 0 { // beyond the range
		return false
	}
	var buf [32]byte
	printed := strconv.AppendFloat(buf[:0], math.Abs(f), 'e', n.digits-1, 64) // d.ddde+xx
	mantissa, exponent, _ := bytes.Cut(printed, []byte("e"))
	if e, err := strconv.Atoi(string(exponent)); err != nil || e != n.exponent {
		return false
	}
	for i := n.first; len(mantissa) > 0; i++ {
		if cell[i] == '.' {
			continue
		}
		if mantissa[0] == '.' {
			mantissa = mantissa[1:]
		}
		if cell[i] != mantissa[0] {
			return false
		}
		mantissa = mantissa[1:]
	}
	return true
}
