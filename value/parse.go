package value

import (
	"encoding/hex"
	"errors"
	"math"
	"strconv"
	"strings"

	"wideleaf/pgerr"
)

// spaces are the characters that may stand around a value.
const spaces = " \t\n\v\f\r"

// Parse returns the value of type t that a text stands for, by PostgreSQL's rules for input and with its errors (22P02,
// 22003, 22007, 22008, 22009, 22021, 22023). Dates are read in the order MDY where it is not plain, times without a zone
// are UTC, and an array has one dimension: 0A000 for another.
func Parse(t Type, s string) (Value, error) {
	if err := CheckText(s); err != nil {
		return Value{}, err
	}
	switch t {
	case Bool:
		if b, ok := parseBool(strings.Trim(s, spaces)); ok {
			return OfBool(b), nil
		}
	case Int4, Int8:
		return parseInt(t, s)
	case Float8:
		return parseFloat8(s)
	case Text:
		return OfText(s), nil
	case Bytea:
		return parseBytea(s)
	case Date:
		return parseDate(s)
	case Timestamptz:
		return parseTimestamptz(s)
	case Int8Array, TextArray:
		return parseArray(t, s)
	}
	return Value{}, invalid(t, s)
}

func invalid(t Type, s string) error {
	return pgerr.New(pgerr.ErrInvalid, pgerr.InvalidTextRepresentation, "invalid input syntax for type %s: \"%s\"", t.SQLName(), s)
}

// parseBool reads true, false, yes, no, on, off and what they clearly begin with, 1 and 0, in any case.
func parseBool(s string) (v, ok bool) {
	s = strings.ToLower(s)
	switch s {
	case "":
		return false, false
	case "1":
		return true, true
	case "0":
		return false, true
	case "o":
		return false, false
	}
	for _, word := range [...]string{"true", "yes", "on"} {
		if strings.HasPrefix(word, s) {
			return true, true
		}
	}
	for _, word := range [...]string{"false", "no", "off"} {
		if strings.HasPrefix(word, s) {
			return false, true
		}
	}
	return false, false
}

func parseInt(t Type, s string) (Value, error) {
	bits := 64
	if t == Int4 {
		bits = 32
	}
	v, err := strconv.ParseInt(strings.Trim(s, spaces), 10, bits)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return Value{}, pgerr.New(pgerr.ErrInvalid, pgerr.NumericValueOutOfRange, "value \"%s\" is out of range for type %s", s, t.SQLName())
	case err != nil:
		return Value{}, invalid(t, s)
	case t == Int4:
		return OfInt4(int32(v)), nil
	}
	return OfInt8(v), nil
}

func parseFloat8(s string) (Value, error) {
	text := strings.Trim(s, spaces)
	if strings.Contains(text, "_") { // Go's own
		return Value{}, invalid(Float8, s)
	}
	digits := strings.ToLower(strings.TrimLeft(text, "+-"))
	if strings.HasPrefix(digits, "0x") && !strings.Contains(digits, "p") {
		text += "p0"
	}
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		if digits == "nan" && len(text) <= len("-nan") {
			return OfFloat8(math.NaN()), nil
		}
		return Value{}, invalid(Float8, s)
	case err != nil, f == 0 && !zeroDigits(digits):
		return Value{}, pgerr.New(pgerr.ErrInvalid, pgerr.NumericValueOutOfRange, "\"%s\" is out of range for type double precision", s)
	}
	return OfFloat8(f), nil
}

// zeroDigits reports whether the digits of a number in lower case without its sign are all 0.
func zeroDigits(s string) bool {
	exponent := "e"
	if strings.HasPrefix(s, "0x") {
		s, exponent = s[2:], "p"
	}
	s, _, _ = strings.Cut(s, exponent)
	return strings.Trim(s, "0.") == ""
}

// parseBytea reads \x and hexadecimal digits, or text in which \ooo is a byte in octal and \\ a backslash.
func parseBytea(s string) (Value, error) {
	if strings.HasPrefix(s, `\x`) {
		return parseHex(s[2:])
	}
	if !strings.Contains(s, `\`) {
		return Value{typ: Bytea, str: s}, nil
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] != '\\':
			b = append(b, s[i])
		case i+1 < len(s) && s[i+1] == '\\':
			b = append(b, '\\')
			i++
		case i+3 < len(s) && isOctal(s[i+1], '3') && isOctal(s[i+2], '7') && isOctal(s[i+3], '7'):
			b = append(b, (s[i+1]-'0')<<6|(s[i+2]-'0')<<3|(s[i+3]-'0'))
			i += 3
		default:
			return Value{}, pgerr.New(pgerr.ErrInvalid, pgerr.InvalidTextRepresentation, "invalid input syntax for type bytea")
		}
	}
	return Value{typ: Bytea, str: string(b)}, nil
}

func isOctal(c, highest byte) bool { return '0' <= c && c <= highest }

// parseHex reads hexadecimal digits; blanks may stand between bytes.
func parseHex(s string) (Value, error) {
	if b, err := hex.DecodeString(s); err == nil {
		return Value{typ: Bytea, str: string(b)}, nil
	}
	bad := func(format string, args ...any) (Value, error) {
		return Value{}, pgerr.New(pgerr.ErrInvalid, pgerr.InvalidParameterValue, format, args...)
	}
	b := make([]byte, 0, len(s)/2)
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ' ', '\n', '\t', '\r':
			continue
		}
		var x byte
		for range 2 {
			if i == len(s) {
				return bad("invalid hexadecimal data: odd number of digits")
			}
			d := strings.IndexByte("0123456789abcdef", s[i]|0x20)
			if d < 0 || s[i] < '0' {
				c := []rune(s[i:])[0]
				return bad("invalid hexadecimal digit: \"%c\"", c)
			}
			x = x<<4 | byte(d)
			i++
		}
		i--
		b = append(b, x)
	}
	return Value{typ: Bytea, str: string(b)}, nil
}

// parseArray reads {item,item,...}: items may stand in double quotes, and a backslash takes a character as it is.
func parseArray(t Type, s string) (Value, error) {
	p := arrayParser{text: s, rest: strings.TrimLeft(s, spaces), typ: t}
	if err := p.parse(); err != nil {
		return Value{}, err
	}
	return Value{typ: t, str: string(p.out)}, nil
}

type arrayParser struct {
	typ  Type
	text string
	rest string
	out  []byte
	item []byte
}

func (p *arrayParser) malformed(detail string) error {
	return &pgerr.Error{Kind: pgerr.ErrInvalid, Code: pgerr.InvalidTextRepresentation,
		Message: "malformed array literal: \"" + p.text + "\"", Detail: detail}
}

func (p *arrayParser) unexpected(c byte) error {
	return p.malformed("Unexpected \"" + string(rune(c)) + "\" character.")
}

func (p *arrayParser) dimensions() error {
	return &pgerr.Error{Kind: pgerr.ErrInvalid, Code: pgerr.FeatureNotSupported,
		Message: "arrays of several dimensions, or with bounds of their own, are not supported: \"" + p.text + "\""}
}

func (p *arrayParser) parse() error {
	switch {
	case strings.HasPrefix(p.rest, "["):
		return p.dimensions()
	case !strings.HasPrefix(p.rest, "{"):
		return p.malformed("Array value must start with \"{\" or dimension information.")
	}
	p.rest = strings.TrimLeft(p.rest[1:], spaces)
	if strings.HasPrefix(p.rest, "}") {
		return p.end()
	}
	for {
		if err := p.one(); err != nil {
			return err
		}
		if p.rest == "" {
			return p.malformed("Unexpected end of input.")
		}
		if p.rest[0] == '}' {
			return p.end()
		}
		p.rest = p.rest[1:] // a comma
	}
}

// end checks that nothing follows the closing brace.
func (p *arrayParser) end() error {
	if strings.TrimLeft(p.rest[1:], spaces) != "" {
		return p.malformed("Junk after closing right brace.")
	}
	return nil
}

// one reads an item, up to the comma or brace behind it.
func (p *arrayParser) one() error {
	p.item = p.item[:0]
	p.rest = strings.TrimLeft(p.rest, spaces)
	quoted, escaped := false, false
	kept := 0 // how much of the item blanks at its end are not taken off from
	for ; p.rest != ""; p.rest = p.rest[1:] {
		switch c := p.rest[0]; {
		case c == ',' || c == '}':
			if len(p.item) == 0 && !quoted {
				return p.unexpected(c)
			}
			return p.add(quoted || escaped, kept)
		case c == '{':
			if len(p.item) == 0 && !quoted {
				return p.dimensions()
			}
			return p.unexpected(c)
		case c == '"':
			if quoted || len(p.item) > 0 {
				return p.malformed("Unexpected array element.")
			}
			if err := p.quoted(); err != nil {
				return err
			}
			quoted, kept = true, len(p.item)
		case c == '\\':
			if quoted {
				return p.unexpected(c)
			}
			escaped = true
			if p.rest = p.rest[1:]; p.rest == "" {
				return p.malformed("Unexpected end of input.")
			}
			p.item = append(p.item, p.rest[0])
			kept = len(p.item)
		case strings.IndexByte(spaces, c) >= 0:
			if !quoted {
				p.item = append(p.item, c)
			}
		default:
			if quoted {
				return p.malformed("Unexpected array element.")
			}
			p.item = append(p.item, c)
			kept = len(p.item)
		}
	}
	return p.malformed("Unexpected end of input.")
}

// quoted reads what stands in quotes and leaves the closing one.
func (p *arrayParser) quoted() error {
	for p.rest = p.rest[1:]; p.rest != ""; p.rest = p.rest[1:] {
		switch p.rest[0] {
		case '"':
			return nil
		case '\\':
			if p.rest = p.rest[1:]; p.rest == "" {
				return p.malformed("Unexpected end of input.")
			}
		}
		p.item = append(p.item, p.rest[0])
	}
	return p.malformed("Unexpected end of input.")
}

// add appends an item. One that is plain may be NULL.
func (p *arrayParser) add(marked bool, kept int) error {
	item := string(p.item[:kept])
	if !marked && strings.EqualFold(item, "null") {
		p.out = AppendNullItem(p.out)
		return nil
	}
	if p.typ == TextArray {
		p.out = AppendTextItem(p.out, item)
		return nil
	}
	v, err := parseInt(Int8, item)
	p.out = AppendInt8Item(p.out, v.Int())
	return err
}
