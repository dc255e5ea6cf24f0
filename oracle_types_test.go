package wideleaf

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// oracleType is a type of random columns. Values are in the text form in which PostgreSQL reads and prints them.
type oracleType struct {
	name string
	typ  Type
	all  []string                    // values to choose a column's pool from, extremes among them
	vary func(rnd *rand.Rand) string // any value
	read func(s string) (any, error) // as Batch.Append takes it
	bare func(s string) bool         // whether it may be written without quotes
	also []string                    // other constants to compare with, as SQL
}

func (o *oracleType) sqlName() string { return o.name }

// pool returns a few values for a column.
func (o *oracleType) pool(rnd *rand.Rand) []string {
	out := make([]string, 1+rnd.IntN(8))
	for i := range out {
		out[i] = o.all[rnd.IntN(len(o.all))]
	}
	return out
}

// wrong are constants that hardly any type can be compared with, each in its own way.
var wrong = []string{"''", "'x'", "'1.5'", "'0x10'", "' 7 '", "'1e3'", "'NaN'", "'t'", "true", "1", "'3000000000'",
	"'99999999999999999999'", "'1e400'", "'1e-400'", "3000000000", "99999999999999999999", "1e400", "1e-400", "'a'::text", "1.5::float8",
	"'NaN'::float8", "'Infinity'::float8", "'NaN'::numeric", "'infinity'::numeric", "1/0", "1.0::float8/0", "7 % 0", "2147483647 + 1", "9223372036854775807 + 1",
	"-(-2147483648)", "(-2147483648) / -1", "'5'::int4", "'5 '::int8", "5::text", "2.5::int4", "3.5::int4", "2.5::float8::int4", "3000000000::int4",
	"1e10::int4", "1e20::int8", "'abc'::int4", "true::int4", "2::bool", "'yes'::bool", "'maybe'::bool", "null::text", "null::int4", "nosuch", "t.nosuch",
	"u.id", "E'\\\\'", "'a' + 'b'", "1 + 'a'", "'1' + 1", "1 + true", "5 % 3.0::float8", "1 + null", "7 / 2", "-7 / 2", "-7 % 3", "3000000000 - 1",
	"2 * 1073741824::int8", "0.1::float8 + 0.2::float8", "1e308::float8 * 10", "1e-308::float8 * 1e-300::float8", "+5", "- 5", "-true", "-'5'", "1 + 2 * 3", "(1 + 2) * 3"}

var numbers = []string{"0", "1", "-1", "2.5", "-2.5", "0.5", "1e3", "20e-1", "2147483647", "2147483648", "-2147483648", "-2147483649", "2147483646.5",
	"9007199254740992", "9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
	"1e30", "-1e30", "1e-30", "9007199254740993::int8", "9007199254740993::float8", "2.5::float8", "0.1", "0.1::float8", "-0.0", "'-0'", "100::int8", "'1'", "' -1'"}

func integer(name string, typ Type, bits int, all ...string) oracleType {
	return oracleType{name: name, typ: typ, all: all,
		vary: func(rnd *rand.Rand) string {
			return strconv.FormatInt(int64(rnd.Uint64())>>(64-bits+rnd.IntN(bits)), 10)
		},
		read: func(s string) (any, error) { return strconv.ParseInt(s, 10, bits) },
		bare: func(s string) bool { return true },
		also: numbers}
}

var oracleTypes = []oracleType{
	{name: "bool", typ: Bool, all: []string{"t", "f"},
		read: func(s string) (any, error) { return s == "t", nil },
		also: []string{"true", "false", "'yes'", "'of'", "'on'", "' TRUE '", "'1'", "'0'", "1", "'o'", "1::bool", "1 < 2", "1 = 2", "null = 1"}},
	integer("int4", Int4, 32, "0", "1", "2", "3", "-1", "7", "100", "2147483647", "-2147483648", "2147483646", "-2147483647", "65536"),
	integer("int8", Int8, 64, "0", "1", "2", "-1", "2147483648", "-2147483649", "9007199254740992", "9007199254740993", "9007199254740995",
		"9223372036854775807", "-9223372036854775808", "9223372036854775806", "-9223372036854775807"),
	{name: "float8", typ: Float8,
		all: []string{"0", "-0", "1", "-1", "0.1", "0.5", "2.5", "NaN", "Infinity", "-Infinity", "5e-324", "-5e-324", "1.7976931348623157e+308",
			"1e+300", "9007199254740992", "1e-300", "3.4028235e+38"},
		vary: func(rnd *rand.Rand) string { return strconv.FormatFloat(rnd.NormFloat64()*1000, 'g', -1, 64) },
		read: func(s string) (any, error) { return strconv.ParseFloat(s, 64) },
		bare: func(s string) bool { return !strings.Contains("NaN Infinity -Infinity", s) },
		also: append([]string{"'NaN'", "'inf'", "'-Infinity'", "' 1.5 '", "'1_0'", "1e300", "'5e-324'", "'nan'::float8", "5e-324"}, numbers...)},
	{name: "text", typ: Text, // psql leaves U+FFFF and its like out
		all: []string{"", "a", "A", "b", "ab", "abc", "a%", "a_", "a\\", "b'c", " ", "é", "é", "z", "~", "\u007f", "ÿ", "\ufffd", "\U0001f600", "\U0010fffd", "a\tb", "a\nb", "null", "NULL", "\\N",
			strings.Repeat("long ", 60), strings.Repeat("long ", 60) + "b", strings.Repeat("é", 1200), strings.Repeat("x", 9000), strings.Repeat("xy", 15000)},
		vary: func(rnd *rand.Rand) string { return fmt.Sprintf("%c%d", 'a'+rnd.IntN(26), rnd.IntN(1000)) },
		read: func(s string) (any, error) { return s, nil },
		also: []string{"'m'", "'a'::text", "E'a\\tb'", "'a' 'b'", "5::text", "true::text", "'long '", "'aa'", "'\ufffd'"}},
}

func typeNamed(name string) *oracleType {
	for i := range oracleTypes {
		if oracleTypes[i].name == name {
			return &oracleTypes[i]
		}
	}
	panic(name)
}
