package value

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"wideleaf/pgerr"
)

// MaxBytes is the longest that a value of a type of varying length may be, in the bytes that it is held as: 64 MiB.
const MaxBytes = 64 << 20

// Check reports whether all values are values of the vector's type, as those made by this package's functions are, except
// where they say so. If not, the error is about the value of row; it has the SQLSTATE 22021 for text that is no UTF-8
// or has a zero byte, 22003 or 22008 for a code that stands for no value, 54000 for a value over MaxBytes.
func (v *Vector) Check() (row int, err error) {
	switch v.Type {
	case Bool:
		for i, c := range v.U32 {
			if c > 1 {
				return i, badCode(pgerr.NumericValueOutOfRange, "boolean", uint64(c))
			}
		}
	case Date:
		for i, c := range v.U32 {
			if c-dateCodes.lo > dateCodes.span && c != 0 && c != math.MaxUint32 {
				return i, badCode(pgerr.DatetimeFieldOverflow, "date", uint64(c))
			}
		}
	case Timestamptz:
		for i, c := range v.U64 {
			if c-timeCodes.lo > timeCodes.span && c != 0 && c != math.MaxUint64 {
				return i, badCode(pgerr.DatetimeFieldOverflow, "timestamp with time zone", c)
			}
		}
	case Text:
		for i, s := range v.Str {
			if err := CheckText(s); err != nil {
				return i, err
			}
		}
		return v.checkLengths()
	case Int8Array, TextArray:
		for i, s := range v.Str {
			if err := checkArray(v.Type, s); err != nil {
				return i, err
			}
		}
		return v.checkLengths()
	case Bytea:
		return v.checkLengths()
	}
	return 0, nil
}

// The codes of finite dates and times: those from lo on, and span more.
var (
	dateCodes = struct{ lo, span uint32 }{Int4Code(minDays), maxDays - minDays}
	timeCodes = struct{ lo, span uint64 }{Int8Code(minMicros), maxMicros - minMicros}
)

func (v *Vector) checkLengths() (row int, err error) {
	for i, s := range v.Str {
		if len(s) > MaxBytes {
			return i, pgerr.New(pgerr.ErrInvalid, pgerr.ProgramLimitExceeded, "a value has %d bytes, the maximum is %d", len(s), MaxBytes)
		}
	}
	return 0, nil
}

func badCode(state, name string, c uint64) error {
	return pgerr.New(pgerr.ErrInvalid, state, "%s out of range: there is none of code %d", name, c)
}

func checkArray(t Type, s string) error {
	it := ItemsOf(t, s)
	for it.Next() {
		if t == TextArray {
			if err := CheckText(it.Text); err != nil {
				return err
			}
		}
	}
	switch {
	case !it.Wrong():
		return nil
	case t == TextArray: // most likely by AppendTextItem
		return badText("\x00")
	}
	return pgerr.New(pgerr.ErrInvalid, pgerr.InvalidTextRepresentation, "malformed array of type %s", t.SQLName())
}

// CheckText reports whether s can be text: valid UTF-8 without the zero byte. If not, the error is PostgreSQL's (22021).
func CheckText(s string) error {
	ascii := true
	for i := range len(s) {
		if s[i] == 0 {
			return textError(s)
		}
		ascii = ascii && s[i] < utf8.RuneSelf
	}
	if ascii || utf8.ValidString(s) {
		return nil
	}
	return textError(s)
}

// textError returns the error of a string that can't be text.
func textError(s string) error {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if s[i] == 0 || r == utf8.RuneError && n == 1 {
			return badText(s[i:])
		}
		i += n
	}
	return nil
}

// badText returns the error of a string whose first character is none. PostgreSQL shows as many bytes as that should have.
func badText(s string) error {
	n := 1
	switch c := s[0]; {
	case c&0xE0 == 0xC0:
		n = 2
	case c&0xF0 == 0xE0:
		n = 3
	case c&0xF8 == 0xF0:
		n = 4
	}
	var b strings.Builder
	for i := range min(n, len(s)) {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "0x%02x", s[i])
	}
	return pgerr.New(pgerr.ErrInvalid, pgerr.CharacterNotInRepertoire, "invalid byte sequence for encoding \"UTF8\": %s", &b)
}
