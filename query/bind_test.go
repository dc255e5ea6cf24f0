package query

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"wideleaf/catalog"
	"wideleaf/pgerr"
	"wideleaf/query/sql"
	"wideleaf/value"
)

// bindText parses and binds a condition.
func bindText(text string, t *catalog.Table) (*Pred, error) {
	e, err := sql.ParseCondition(text)
	if err != nil {
		return nil, err
	}
	return Bind(e, t)
}

// bindRows are rows in memory, each value by attno-1.
type bindRows struct {
	table *catalog.Table
	rows  [][]value.Value
}

// ids returns the ids (column 1) of the rows for which a condition holds.
func (r bindRows) ids(p *Pred) []int64 {
	ids := []int64{}
	for _, row := range r.rows {
		if p.Eval(func(attno int) value.Value { return row[attno-1] }) {
			ids = append(ids, row[0].Int())
		}
	}
	return ids
}

// readValue reads PostgreSQL's text form without the help of the code under test.
func readValue(t *testing.T, typ value.Type, s *string) value.Value {
	t.Helper()
	if s == nil {
		return value.Null(typ)
	}
	var v value.Value
	var err error
	switch typ {
	case value.Bool:
		v = value.OfBool(*s == "true")
	case value.Int4:
		var x int64
		x, err = strconv.ParseInt(*s, 10, 32)
		v = value.OfInt4(int32(x))
	case value.Int8:
		var x int64
		x, err = strconv.ParseInt(*s, 10, 64)
		v = value.OfInt8(x)
	case value.Float8:
		var x float64
		x, err = strconv.ParseFloat(*s, 64)
		v = value.OfFloat8(x)
	case value.Text:
		v = value.OfText(*s)
	default:
		v, err = value.Parse(typ, *s) // which has been compared with PostgreSQL
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestBindPostgres compares with what PostgreSQL answered: the rows, or the error with its place and hint.
func TestBindPostgres(t *testing.T) {
	for _, file := range []string{"testdata/postgres.json", "testdata/postgres_types.json"} {
		t.Run(filepath.Base(file), func(t *testing.T) { bindPostgres(t, file) })
	}
}

func bindPostgres(t *testing.T, file string) {
	var data struct {
		Columns    [][2]string
		Rows       [][]*string
		Conditions []struct {
			Where               string
			IDs                 []int64
			Code, Message, Hint string
			Position            int
		}
	}
	readJSON(t, file, &data)
	r := bindRows{table: &catalog.Table{ID: 1, Name: "t"}}
	for i, c := range data.Columns {
		typ, ok := value.ParseType(c[1])
		if !ok {
			t.Fatal(c)
		}
		r.table.Columns = append(r.table.Columns, catalog.Column{Attno: i + 1, Name: c[0], Type: typ})
	}
	for _, in := range data.Rows {
		var row []value.Value
		for i, s := range in {
			row = append(row, readValue(t, r.table.Columns[i].Type, s))
		}
		r.rows = append(r.rows, row)
	}
	for _, c := range data.Conditions {
		p, err := bindText(c.Where, r.table)
		if c.Code != "" {
			var e *pgerr.Error
			if !errors.As(err, &e) {
				t.Errorf("%s\n got %v %v\nwant %s", c.Where, p, err, c.Message)
			} else if e.Code != c.Code || e.Message != c.Message || c.Position > 0 && e.Position != c.Position ||
				e.Hint != c.Hint && !strings.Contains(c.Hint, "datestyle") { // there is no such setting here
				t.Errorf("%s\n got %s %s at %d, hint %q\nwant %s %s at %d, hint %q", c.Where, e.Code, e.Message, e.Position, e.Hint,
					c.Code, c.Message, c.Position, c.Hint)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.Where, err)
			continue
		}
		if got := r.ids(p); !slices.Equal(got, c.IDs) {
			t.Errorf("%s\n is %s\n got %v\nwant %v", c.Where, p, got, c.IDs)
		}
		checkShape(t, p)
	}
}

// checkShape checks what the comment of Pred promises.
func checkShape(t interface{ Errorf(string, ...any) }, root *Pred) {
	var walk func(p *Pred, parent Kind)
	walk = func(p *Pred, parent Kind) {
		inner := parent == And || parent == Or
		switch p.Kind {
		case True, False:
			if inner {
				t.Errorf("constant within %s", root)
			}
		case Column:
			if p.Ranges.Empty() {
				t.Errorf("empty ranges in %s", root)
			}
		default:
			if len(p.Args) < 2 || p.Kind == parent {
				t.Errorf("not flat: %s", root)
			}
			seen := map[int]bool{}
			for _, a := range p.Args {
				if a.Kind == Column && seen[a.Attno] {
					t.Errorf("column %d twice in %s", a.Attno, p)
				}
				seen[a.Attno] = a.Kind == Column || seen[a.Attno]
				walk(a, p.Kind)
			}
		}
	}
	walk(root, Column)
}

func readJSON(t *testing.T, file string, to any) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, to); err != nil {
		t.Fatal(err)
	}
}

var bindTable = &catalog.Table{Name: "t", Columns: []catalog.Column{
	{Attno: 3, Name: "a", Type: value.Int4}, {Attno: 1, Name: "B", Type: value.Int8}, {Attno: 7, Name: "b", Type: value.Float8},
	{Attno: 9, Name: "unit price", Type: value.Float8}, {Attno: 10, Name: "x", Type: value.Int4}, {Attno: 11, Name: "X", Type: value.Int4},
	{Attno: 12, Name: "Xy", Type: value.Text}, {Attno: 13, Name: "xY", Type: value.Text}, {Attno: 14, Name: "flag", Type: value.Bool}}}

// TestBindNames checks names as we resolve them, which is not PostgreSQL's way.
func TestBindNames(t *testing.T) {
	for _, c := range []struct {
		name  string
		attno int
		code  string
		hint  string
	}{
		{name: "a", attno: 3}, {name: "A", attno: 3}, {name: `"a"`, attno: 3},
		{name: `"A"`, code: "42703", hint: `Perhaps you meant to reference the column "t.a".`},
		{name: "b", attno: 7}, {name: "B", attno: 1}, {name: `"B"`, attno: 1},
		{name: `"unit price"`, attno: 9}, {name: `"Unit price"`, code: "42703", hint: `Perhaps you meant to reference the column "t.unit price".`},
		{name: "Xy", attno: 12}, {name: "xY", attno: 13},
		{name: "xy", code: "42702", hint: "Columns differ only in case. Put the name in quotes as it is written in the table."},
		{name: "unitprice", code: "42703", hint: ""},
		{name: `"unitprice"`, code: "42703"},
		{name: "flags", code: "42703", hint: `Perhaps you meant to reference the column "t.flag".`},
		{name: "t.a", attno: 3}, {name: "T.A", attno: 3}, {name: "u.a", code: "42P01"},
		{name: "ctid", code: "0A000"},
	} {
		p, err := bindText(c.name+" IS NULL", bindTable)
		if c.code == "" {
			if err != nil || p.Attno != c.attno {
				t.Errorf("%s: %v %v", c.name, p, err)
			}
			continue
		}
		var e *pgerr.Error
		if !errors.As(err, &e) || e.Code != c.code {
			t.Errorf("%s: got %v, want %s", c.name, err, c.code)
			continue
		}
		if strings.Contains(c.name, "nitprice") { // one edit away
			c.hint = `Perhaps you meant to reference the column "t.unit price".`
		}
		if e.Hint != c.hint {
			t.Errorf("%s: hint %q, want %q", c.name, e.Hint, c.hint)
		}
	}
}

// TestBindFold checks that conditions become what a planner wants to see.
func TestBindFold(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a > 3 AND a < 9 AND a <> 5", "$3 in [4, 4], [6, 8]"},
		{"a = 3 OR a = 4 OR a = 5 OR a IS NULL", "$3 in [3, 5], null"},
		{"a = 3 AND B = 2 AND a < 2", "false"},
		{"a < 3 OR B = 2 OR a >= 3 OR a IS NULL", "true"},
		{"a = 3 AND TRUE AND (B = 2 AND (flag OR FALSE))", "$3 in [3, 3] and $1 in [2, 2] and $14 in [t, t]"},
		{"(a = 3 OR B = 2) AND (a = 3 OR B = 2)", "$3 in [3, 3] or $1 in [2, 2]"},
		{"NOT (a = 3 AND B = 2)", "$3 in [-2147483648, 2], [4, 2147483647] or $1 in [-9223372036854775808, 1], [3, 9223372036854775807]"},
		{"a < 2.5", "$3 in [-2147483648, 2]"}, {"a = 2.5", "false"}, {"a < 1e30", "$3 in [-2147483648, 2147483647]"},
		{"b = 0", "$7 in [-0, 0]"}, {"b > 1 AND (a = 1 OR B = 1)", "$7 in [1.0000000000000002, NaN] and ($3 in [1, 1] or $1 in [1, 1])"},
		{`"Xy" > 'a' AND "Xy" <= 'b'`, `$12 in ("a", "b"]`}, {`"Xy" LIKE 'ab%'`, `$12 in ["ab", "ac")`},
		{`"Xy" IS NOT NULL`, `$12 in ["", )`}, {"flag", "$14 in [t, t]"}, {"NOT flag", "$14 in [f, f]"},
		{"flag IS NOT TRUE", "$14 in [f, f], null"}, {"flag OR NOT flag", "$14 in [f, t]"}, {"a IS NULL", "$3 is null"},
		{"a NOT IN (1, NULL)", "false"}, {"a = NULL OR B = 1", "$1 in [1, 1]"},
	} {
		p, err := bindText(c.text, bindTable)
		if err != nil || p.String() != c.want {
			t.Errorf("%s\n got %v %v\nwant %s", c.text, p, err, c.want)
		}
	}
	p, _ := bindText("b = 1 AND (a = 1 OR B = 1 AND b = 2)", bindTable)
	if got := p.Columns(); !slices.Equal(got, []int{7, 3, 1}) {
		t.Errorf("Columns: %v", got)
	}
}

// TestBindUnsupported checks that what PostgreSQL can do and we cannot is refused by name.
func TestBindUnsupported(t *testing.T) {
	for text, want := range map[string]string{
		"a = B":                "0A000 comparing columns with each other is not supported",
		"a + 1 = 2":            "0A000 operator + is not supported in conditions",
		"a::text = '1'":        "0A000 casts of columns and conditions are not supported",
		"-a = 1":               "0A000 operator - is not supported in conditions",
		`"Xy" LIKE '%a'`:       "0A000 this use of LIKE is not supported",
		`"Xy" LIKE 'a_'`:       "0A000 this use of LIKE is not supported",
		`"Xy" ILIKE 'a'`:       "0A000 this use of LIKE is not supported",
		`"Xy" LIKE 'a\'`:       "22025 LIKE pattern must not end with escape character",
		"b = 1e400":            `22003 "1e400" is out of range for type double precision`,
		"a = 9999999999::int4": "22003 integer out of range",
	} {
		_, err := bindText(text, bindTable)
		var e *pgerr.Error
		if !errors.As(err, &e) || e.Code+" "+e.Message != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// TestBindBuilt checks conditions built in Go, for which there is no text and no limit but binding's.
func TestBindBuilt(t *testing.T) {
	a, b, xy := sql.Col("a"), sql.Col("b"), sql.Col("Xy")
	for _, c := range []struct {
		e    sql.Expr
		want string
	}{
		{a.Lt(5), "$3 in [-2147483648, 4]"}, {a.Le(int8(5)), "$3 in [-2147483648, 5]"}, {a.Gt(uint64(1 << 63)), "false"},
		{a.Ge(2.5), "$3 in [3, 2147483647]"}, {a.Eq("7"), "$3 in [7, 7]"}, {a.Eq(nil), "false"}, {a.IsNull(), "$3 is null"},
		{a.IsNotNull(), "$3 in [-2147483648, 2147483647]"}, {a.In(3, 1, 2), "$3 in [1, 3]"}, {a.In(), "false"},
		{a.NotIn(), "true"}, {a.Between(1, int64(3)), "$3 in [1, 3]"}, {b.Eq(0.1), "$7 in [0.1, 0.1]"},
		{b.Ge(value.OfFloat8(2)), "$7 in [2, NaN]"}, {xy.Ne("a"), `$12 in ["", "a"), ("a", )`},
		{sql.Not(sql.And(a.Eq(1), b.Eq(1))), "$3 in [-2147483648, 0], [2, 2147483647] or $7 in [-Infinity, 0.9999999999999999], [1.0000000000000002, NaN]"},
		{sql.And(), "true"}, {sql.Or(), "false"}, {sql.Or(a.Eq(1)), "$3 in [1, 1]"},
		{sql.Col("B").Eq(float64(1 << 60)), "$1 in [1152921504606846976, 1152921504606846976]"},
	} {
		p, err := Bind(c.e, bindTable)
		if err != nil || p.String() != c.want {
			t.Errorf("%s\n got %v %v\nwant %s", c.e, p, err, c.want)
		}
		text, err := bindText(c.e.String(), bindTable)
		if len(c.e.String()) > 0 && !strings.Contains(c.e.String(), "()") && (err != nil || !equal(p, text)) {
			t.Errorf("%s\nas text %v %v", c.e, text, err)
		}
	}
	for _, e := range []sql.Expr{a.Eq([]int{1}), nil, &sql.Logic{}, &sql.Logic{Op: sql.NotOp}, &sql.Binary{Op: "="}, sql.Not(nil), &sql.In{}, &sql.Is{}} {
		if _, err := Bind(e, bindTable); !errors.Is(err, pgerr.ErrInvalid) {
			t.Errorf("%T: %v", e, err)
		}
	}
	deep := a.Eq(1)
	for range 1_000_000 {
		deep = sql.Not(deep)
	}
	if _, err := Bind(deep, bindTable); errCode(err) != "54001" {
		t.Errorf("deep: %v", err)
	}
	wide := sql.Expr(a.Eq(1))
	for range 200 { // each level asks four questions of the one below
		wide = &sql.Binary{Op: "=", Left: &sql.Binary{Op: "=", Left: wide, Right: sql.Col("flag")}, Right: b.Eq(1)}
	}
	if _, err := Bind(wide, bindTable); errCode(err) != "54001" {
		t.Errorf("wide: %v", err)
	}
}

func errCode(err error) string {
	var e *pgerr.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return fmt.Sprint(err)
}

func BenchmarkBindIn10000(b *testing.B) {
	var items []string
	for i := range 10000 {
		items = append(items, strconv.Itoa(i*7919%20011))
	}
	text := "a IN (" + strings.Join(items, ", ") + ")"
	b.Run("parse", func(b *testing.B) {
		for b.Loop() {
			if _, err := sql.ParseCondition(text); err != nil {
				b.Fatal(err)
			}
		}
	})
	e, _ := sql.ParseCondition(text)
	b.Run("bind", func(b *testing.B) {
		for b.Loop() {
			if _, err := Bind(e, bindTable); err != nil {
				b.Fatal(err)
			}
		}
	})
	var terms []string
	for _, x := range items {
		terms = append(terms, "a <> "+x)
	}
	chain, _ := sql.ParseCondition(strings.Join(terms, " AND "))
	b.Run("chain", func(b *testing.B) {
		for b.Loop() {
			if _, err := Bind(chain, bindTable); err != nil {
				b.Fatal(err)
			}
		}
	})
}
