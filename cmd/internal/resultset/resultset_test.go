package resultset

import (
	"errors"
	"math"
	"strings"
	"testing"

	"wideleaf"
	"wideleaf/value"
)

var (
	names = []string{"id", "f", "name", "ok", "ctid"}
	rows  = []wideleaf.Row{
		{value.OfInt8(9223372036854775807), value.OfFloat8(0.1), value.OfText("a,\"b\"\n<&>"), value.OfBool(true), value.OfTid(1<<16 | 2)},
		{value.OfInt8(-1), value.OfFloat8(math.NaN()), value.OfText(""), value.OfBool(false), value.OfTid(0)},
		{value.Null(wideleaf.Int8), value.OfFloat8(math.Inf(-1)), value.Null(wideleaf.Text), value.Null(wideleaf.Bool), value.OfTid(3)},
		{value.OfInt8(0), value.OfFloat8(1e-7), value.OfText("é\x1b[31m"), value.Null(wideleaf.Bool), value.OfTid(4)},
	}
)

func all(rows []wideleaf.Row, last error) Rows {
	return func(yield func(wideleaf.Row, error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
		if last != nil {
			yield(nil, last)
		}
	}
}

// The expected texts are written by hand, the table as psql prints these values but for
// where the odd blank of a centred name goes.
func TestWrite(t *testing.T) {
	for _, c := range []struct {
		format Format
		names  []string
		rows   []wideleaf.Row
		want   string
	}{
		{Table, names, rows, `          id         |     f     |    name    | ok |  ctid
---------------------+-----------+------------+----+-------
 9223372036854775807 |       0.1 | a,"b"\n<&> | t  | (1,2)
                  -1 |       NaN |            | f  | (0,0)
                     | -Infinity |            |    | (0,3)
                   0 |     1e-07 | é\x1b[31m  |    | (0,4)
(4 rows)
`},
		{Table, []string{"count"}, []wideleaf.Row{{value.OfInt8(42)}}, " count\n-------\n    42\n(1 row)\n"},
		{CSV, names, rows, "id,f,name,ok,ctid\n9223372036854775807,0.1,\"a,\"\"b\"\"\n<&>\",t,\"(1,2)\"\n-1,NaN,\"\",f,\"(0,0)\"\n" +
			",-Infinity,,,\"(0,3)\"\n0,1e-07,é\x1b[31m,,\"(0,4)\"\n"},
		{CSV, []string{"a b", "c,d"}, nil, "a b,\"c,d\"\n"},
		{JSON, names, rows, `[
 {"id":9223372036854775807,"f":0.1,"name":"a,\"b\"\n<&>","ok":true,"ctid":"(1,2)"},
 {"id":-1,"f":"NaN","name":"","ok":false,"ctid":"(0,0)"},
 {"id":null,"f":"-Infinity","name":null,"ok":null,"ctid":"(0,3)"},
 {"id":0,"f":1e-07,"name":"é\u001b[31m","ok":null,"ctid":"(0,4)"}
]
`},
		{JSON, []string{"b", "d", "t", "i", "a"}, []wideleaf.Row{{value.OfBytea([]byte{0, 0xff}), value.OfDate(0), value.OfTimestamptz(-1),
			value.OfArray(wideleaf.Int8Array, []wideleaf.Value{value.OfInt8(math.MaxInt64), value.Null(wideleaf.Int8)}), value.OfTextArray([]string{"a b", ""})},
			{value.OfBytea(nil), value.OfDate(math.MaxInt32), value.Null(wideleaf.Timestamptz), value.OfInt8Array(nil), value.Null(wideleaf.TextArray)}},
			`[
 {"b":"\\x00ff","d":"2000-01-01","t":"1999-12-31 23:59:59.999999+00","i":[9223372036854775807,null],"a":["a b",""]},
 {"b":"\\x","d":"infinity","t":null,"i":[],"a":null}
]
`},
		{JSON, names, nil, "[]\n"},
		{JSON, []string{"sum"}, []wideleaf.Row{{value.OfNumeric("92233720368547758070.50")}}, "[\n {\"sum\":92233720368547758070.50}\n]\n"},
		{JSON, []string{"sum"}, []wideleaf.Row{{value.OfNumeric("NaN")}}, "[\n {\"sum\":\"NaN\"}\n]\n"},
	} {
		var b strings.Builder
		if err := Write(&b, c.format, c.names, all(c.rows, nil)); err != nil {
			t.Fatal(err)
		}
		if b.String() != c.want {
			t.Errorf("%s:\n%s\nwant:\n%s", c.format, b.String(), c.want)
		}
	}
}

// As psql prints them.
func TestWriteExpanded(t *testing.T) {
	for _, c := range []struct {
		names []string
		rows  []wideleaf.Row
		want  string
	}{
		{[]string{"a", "long_name", "n"}, []wideleaf.Row{
			{value.OfInt4(1), value.OfText("xyz"), value.Null(value.Text)}, {value.OfInt4(2), value.OfText("a longer value"), value.OfText("")}},
			`-[ RECORD 1 ]-------------
a         | 1
long_name | xyz
n         | ` + `
-[ RECORD 2 ]-------------
a         | 2
long_name | a longer value
n         | ` + `
`},
		{[]string{"a_very_long_name_of_it", "text"}, []wideleaf.Row{{value.OfInt4(1), value.OfText("x")}},
			"-[ RECORD 1 ]----------+--\na_very_long_name_of_it | 1\ntext                   | x\n"},
		{[]string{"a", "?column?"}, []wideleaf.Row{{value.OfInt4(1), value.OfInt4(2)}}, "-[ RECORD 1 ]\na        | 1\n?column? | 2\n"},
		{[]string{"a"}, nil, "(0 rows)\n"},
	} {
		var b strings.Builder
		if err := WriteExpanded(&b, c.names, all(c.rows, nil)); err != nil {
			t.Fatal(err)
		}
		if b.String() != c.want {
			t.Errorf("%s\nwant:\n%s", b.String(), c.want)
		}
	}
}

func TestErrors(t *testing.T) {
	broken := errors.New("broken")
	for _, f := range Formats {
		if err := Write(new(strings.Builder), f, names, all(rows[:1], broken)); err != broken {
			t.Errorf("%s: %v", f, err)
		}
	}
	if Write(new(strings.Builder), "xml", names, all(nil, nil)) == nil {
		t.Error("an unknown format is accepted")
	}
}
