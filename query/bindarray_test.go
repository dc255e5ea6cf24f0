package query

import (
	"errors"
	"testing"

	"wideleaf/catalog"
	"wideleaf/pgerr"
	"wideleaf/query/sql"
	"wideleaf/value"
)

// What PostgreSQL 15 says of conditions on arrays: the rows where they are true, of
// a = {1,2}, {}, {NULL}, {1,NULL}, NULL and s = {x,y}, {}, {NULL}, {x,NULL}, NULL.
func TestArrayConditions(t *testing.T) {
	table := &catalog.Table{Columns: []catalog.Column{
		{Attno: 1, Name: "a", Type: value.Int8Array}, {Attno: 2, Name: "s", Type: value.TextArray}, {Attno: 3, Name: "n", Type: value.Int4},
	}}
	var rows [][]value.Value
	for i, texts := range [][2]string{{"{1,2}", "{x,y}"}, {"{}", "{}"}, {"{NULL}", "{NULL}"}, {"{1,NULL}", "{x,NULL}"}} {
		a, err := value.Parse(value.Int8Array, texts[0])
		if err != nil {
			t.Fatal(err)
		}
		s, err := value.Parse(value.TextArray, texts[1])
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, []value.Value{a, s, value.OfInt4(int32(i))})
	}
	rows = append(rows, []value.Value{value.Null(value.Int8Array), value.Null(value.TextArray), value.Null(value.Int4)})
	for _, c := range []struct {
		text string
		want string // a digit for each row: 1 where the condition is true
		code string // or the error
	}{
		{text: "a @> '{1}'", want: "10010"},
		{text: "a @> '{}'", want: "11110"},
		{text: "a @> '{NULL}'", want: "00000"},
		{text: "not a @> '{1}'", want: "01100"},
		{text: "not (not a @> '{1}')", want: "10010"},
		{text: "(a @> '{1}') is not true", want: "01101"},
		{text: "a <@ '{1,2,3}'", want: "11000"},
		{text: "'{1}' <@ a", want: "10010"},
		{text: "'{1,2,3}' @> a", want: "11000"},
		{text: "a && '{2,NULL}'", want: "10000"},
		{text: "a && '{1}' and a && '{2}'", want: "10000"},
		{text: "a && '{7}' or a @> '{2}'", want: "10000"},
		{text: "a @> NULL", want: "00000"},
		{text: "'{1,2}'::int8[] @> '{2}'", want: "11111"},
		{text: "1 = any (a)", want: "10010"},
		{text: "1 = some(a)", want: "10010"},
		{text: "not 1 = any (a)", want: "01000"},
		{text: "7 <> all (a)", want: "11000"},
		{text: "1.5 = any (a)", want: "00000"},
		{text: "not 1.5 = any (a)", want: "11000"},
		{text: "null = any (a)", want: "00000"},
		{text: "not null = any (a)", want: "01000"},
		{text: "'x' = any (s)", want: "10010"},
		{text: "s @> '{x,y}' and s is not null", want: "10000"},
		{text: "s && array_missing", code: pgerr.UndefinedColumn},
		{text: "n = any ('{1,3,NULL}')", want: "01010"},
		{text: "n <> all ('{1,3}')", want: "10100"},
		{text: "n <> all ('{1,NULL}')", want: "00000"},
		{text: "n = any ('{}')", want: "00000"},
		{text: "n <> all ('{}'::int8[])", want: "11111"},
		{text: "a @> '{x}'", code: pgerr.InvalidTextRepresentation},
		{text: "a @> s", code: pgerr.UndefinedFunction},
		{text: "n @> a", code: pgerr.UndefinedFunction},
		{text: "n @> '{1}'", code: pgerr.UndefinedFunction},
		{text: "'x'::text = any (a)", code: pgerr.UndefinedFunction},
		{text: "1 = any (n)", code: pgerr.WrongObjectType},
		{text: "a && a", code: pgerr.FeatureNotSupported},
		{text: "1 < any (a)", code: pgerr.FeatureNotSupported},
	} {
		e, err := sql.ParseCondition(c.text)
		var p *Pred
		if err == nil {
			p, err = Bind(e, table)
		}
		if c.code != "" || err != nil {
			var pe *pgerr.Error
			if !errors.As(err, &pe) || pe.Code != c.code {
				t.Errorf("%s: %v, expected SQLSTATE %s", c.text, err, c.code)
			}
			continue
		}
		got := ""
		for _, r := range rows {
			if p.Eval(func(attno int) value.Value { return r[attno-1] }) {
				got += "1"
			} else {
				got += "0"
			}
		}
		if got != c.want {
			t.Errorf("%s: true for %s, expected %s (%s)", c.text, got, c.want, p)
		}
		again, err := sql.ParseCondition(e.String())
		if err != nil || again.String() != e.String() {
			t.Errorf("%s is written as %s, which gives %v, %v", c.text, e, again, err)
		}
	}
}
