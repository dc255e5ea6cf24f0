package load

import (
	"math"
	"strconv"
	"strings"

	"wideleaf"
	"wideleaf/pgerr"
	"wideleaf/value"
)

// parse returns the value of a cell as a type, by PostgreSQL's rules for input; text is taken as it is.
func parse(t wideleaf.Type, cell []byte) (wideleaf.Value, error) {
	if t == wideleaf.Text {
		return value.OfText(string(cell)), nil
	}
	s := strings.TrimSpace(string(cell))
	invalid := func() (wideleaf.Value, error) {
		return wideleaf.Value{}, pgerr.New(wideleaf.ErrInvalid, pgerr.InvalidTextRepresentation,
			"invalid input syntax for type %s: \"%s\"", t.SQLName(), excerpt(cell))
	}
	outOfRange := func() (wideleaf.Value, error) {
		return wideleaf.Value{}, pgerr.New(wideleaf.ErrInvalid, pgerr.NumericValueOutOfRange,
			"\"%s\" is out of range for type %s", excerpt(cell), t.SQLName())
	}
	switch t {
	case wideleaf.Bool:
		if v, ok := boolWords[strings.ToLower(s)]; ok {
			return value.OfBool(v), nil
		}
		return invalid()
	case wideleaf.Float8:
		if f, ok := floatWords[strings.ToLower(s)]; ok {
			return value.OfFloat8(f), nil
		}
	}
	unsigned, plus := strings.CutPrefix(s, "+")
	n, ok := scanNumber([]byte(unsigned))
	if !ok || plus && unsigned[0] == '-' {
		return invalid()
	}
	if t == wideleaf.Float8 {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || f == 0 && n.digits > 0 {
			return outOfRange()
		}
		return value.OfFloat8(f), nil
	}
	if !n.integer {
		return invalid()
	}
	i, err := strconv.ParseInt(s, 10, 64)
	switch {
	case err != nil || t == wideleaf.Int4 && i != int64(int32(i)):
		return outOfRange()
	case t == wideleaf.Int4:
		return value.OfInt4(int32(i)), nil
	}
	return value.OfInt8(i), nil
}

// boolWords and floatWords are the words that PostgreSQL reads, in lower case.
var (
	boolWords = map[string]bool{
		"t": true, "true": true, "y": true, "yes": true, "on": true, "1": true,
		"f": false, "false": false, "n": false, "no": false, "off": false, "0": false,
	}
	floatWords = map[string]float64{
		"nan": math.NaN(), "infinity": math.Inf(1), "inf": math.Inf(1), "+infinity": math.Inf(1), "+inf": math.Inf(1),
		"-infinity": math.Inf(-1), "-inf": math.Inf(-1),
	}
)

// parseLong returns the value of a cell of a type that varies in length.
func (l *loader) parseLong(c *column, cell []byte) (wideleaf.Value, error) {
	return parse(c.Type, cell)
}
