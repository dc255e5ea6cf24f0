package sql

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"wideleaf/pgerr"
	"wideleaf/value"
)

// TestPrecedence gives each text with the parentheses that PostgreSQL's grammar puts.
func TestPrecedence(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a = 1 OR b = 2 AND c = 3", "(a = 1) OR ((b = 2) AND (c = 3))"},
		{"NOT a = 1 AND b", "(NOT (a = 1)) AND b"},
		{"NOT a AND NOT b OR c", "((NOT a) AND (NOT b)) OR c"},
		{"NOT NOT a", "NOT (NOT a)"},
		{"a = NOT b = c", "a = (NOT (b = c))"},
		{"a AND b AND c AND d", "a AND b AND c AND d"},
		{"a OR (b OR c) OR d", "a OR (b OR c) OR d"},
		{"a = 1 IS NULL", "(a = 1) IS NULL"},
		{"NOT a IS NULL", "NOT (a IS NULL)"},
		{"a IS NULL IS NOT TRUE = b", "((a IS NULL) IS NOT TRUE) = b"},
		{"a < b IN (1, 2)", "a < (b IN (1, 2))"},
		{"a IN (1) = b", "(a IN (1)) = b"},
		{"a BETWEEN 1 AND 2 AND b", "(a BETWEEN 1 AND 2) AND b"},
		{"a NOT BETWEEN symmetric 1 + 1 AND 2 * 2 = b", "(a NOT BETWEEN SYMMETRIC (1 + 1) AND (2 * 2)) = b"},
		{"a BETWEEN ASYMMETRIC 1 AND 2", "a BETWEEN 1 AND 2"},
		{"between between 1 and 2", "between BETWEEN 1 AND 2"},
		{"a LIKE 'x' || 'y' AND b NOT ILIKE 'z'", "(a LIKE ('x' || 'y')) AND (b NOT ILIKE 'z')"},
		{"a + b * c ^ d - e", "(a + (b * (c ^ d))) - e"},
		{"a - -5", "a - (-5)"}, {"- 5", "-5"}, {"-(-5)", "5"}, {"- a ^ 2", "(- a) ^ 2"}, {"-5::int4", "- (5::\"int4\")"},
		{"a @> b && c", "(a @> b) && c"}, {"a @> b + 1 = c", "(a @> (b + 1)) = c"},
		{"a <=> b", "a <=> b"}, {"a <=| b", "a <=| b"}, {"a |=> b", "a |=> b"}, {"a <@ b", "a <@ b"}, {"a || b", "a || b"},
		{"a<-1", "a < (-1)"}, {"a>=-1", "a >= (-1)"}, {"a=-.5e-3", "a = (-.5e-3)"}, {"a <=|-1", "a <=|- 1"}, {"a!=1", "a <> 1"},
		{"a::int8::text = $2", "((a::\"int8\")::\"text\") = $2"}, {"CAST(a AS double precision)", "a::double precision"},
		{"a::int8[]", "a::\"int8\"[]"}, {"CAST('x' AS Timestamp with  time ZONE)", "'x'::timestamp with time zone"}, {"a::double precision[] = b", "(a::double precision[]) = b"},
		{"float8 'NaN' < f", "('NaN'::\"float8\") < f"}, {"double precision '1'", "'1'::double precision"},
		{"a IS DISTINCT FROM b + 1 AND c", "(a IS DISTINCT FROM (b + 1)) AND c"}, {"a is not distinct from null", "a IS NOT DISTINCT FROM NULL"},
		{"a ISNULL AND b NOTNULL", "(a IS NULL) AND (b IS NOT NULL)"}, {"a IS NOT UNKNOWN", "a IS NOT UNKNOWN"},
		{`t.a = "T"."B""c"`, `"t".a = "T"."B""c"`}, {`E'\'\\\x41\101\u00e9\U0001F600\uD83D\uDE00\n' = 'it''s'`, "'''\\AAé😀😀\n' = 'it''s'"},
		{"Count(*) > sum(DISTINCT a)", `"count"(*) > "sum"(DISTINCT a)`}, {"f(all a, b)", `"f"(a, b)`}, {"f()", `"f"()`},
		{"a /* x /* y */ z */ = -- c\n1", "a = 1"}, {"\ta\r\n=\v\f1 ", "a = 1"}, {"été = Ωx$1", "été = Ωx$1"},
		{"TRUE and False OR nUll", "(true AND false) OR NULL"},
	} {
		e, err := ParseCondition(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := e.String(); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
		}
		checkRoundTrip(t, e)
	}
}

// checkRoundTrip checks that the text of an expression parses to an expression with the same text.
func checkRoundTrip(t *testing.T, e Expr) {
	t.Helper()
	again, err := ParseCondition(e.String())
	if err != nil || again.String() != e.String() {
		t.Errorf("%s\nparses to %v %v", e, again, err)
	}
}

func TestPositions(t *testing.T) {
	e, err := ParseCondition("é = 'ü' AND\n  b IN (5)")
	if err != nil {
		t.Fatal(err)
	}
	l := e.(*Logic)
	b, in := l.Args[0].(*Binary), l.Args[1].(*In)
	if l.At != 9 || b.At != 3 || b.Left.Pos() != 1 || b.Right.Pos() != 5 || in.At != 17 || in.Arg.Pos() != 15 || in.List[0].Pos() != 21 {
		t.Errorf("%d %d %d %d %d %d %d", l.At, b.At, b.Left.Pos(), b.Right.Pos(), in.At, in.Arg.Pos(), in.List[0].Pos())
	}
}

func check(t *testing.T, text string, err error, code, message string, at int) {
	t.Helper()
	var e *pgerr.Error
	if !errors.As(err, &e) {
		t.Errorf("%.60q: no error, want %s", text, message)
	} else if e.Code != code || e.Message != message || e.Position != at || !errors.Is(err, pgerr.ErrInvalid) {
		t.Errorf("%.60q\n got %s %s at %d\nwant %s %s at %d", text, e.Code, e.Message, e.Position, code, message, at)
	}
}

// TestErrors complements testdata/postgres.json of package query, which has PostgreSQL's own answers.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		text, code, message string
		at                  int
	}{
		{"", "42601", "syntax error at end of input", 1},
		{"  -- nothing", "42601", "syntax error at end of input", 13},
		{"a = 'é' b", "42601", `syntax error at or near "b"`, 9},
		{"a = 1;", "42601", `syntax error at or near ";"`, 6},
		{"a = 'x\x00'", "22021", `invalid byte sequence for encoding "UTF8": 0x00`, 0},
		{"a = '\xff'", "22021", `invalid byte sequence for encoding "UTF8": 0xff`, 0},
		{`a = E'\x00'`, "22021", `invalid byte sequence for encoding "UTF8": 0x00`, 5},
		{`a = E'\xff'`, "22021", `invalid byte sequence for encoding "UTF8": 0xff`, 5},
		{`a = E'\u12'`, "22025", "invalid Unicode escape", 5},
		{`a = E'\ud800'`, "42601", "invalid Unicode escape value", 5},
		{`a = E'\'`, "42601", `unterminated quoted string at or near "E'\'"`, 5},
		{"a = 'x", "42601", `unterminated quoted string at or near "'x"`, 5},
		{`"a`, "42601", `unterminated quoted identifier at or near ""a"`, 1},
		{"a /* /* */", "42601", `unterminated /* comment at or near "/* /* */"`, 3},
		{"a = $1x", "42601", `trailing junk after parameter at or near "$1x"`, 5},
		{"a = $99999999999", "42P02", "there is no parameter $99999999999", 5},
		{"a = 1.5.5", "42601", `syntax error at or near ".5"`, 8},
		{"a = {}", "42601", `syntax error at or near "{"`, 5},
		{"a = $", "42601", `syntax error at or near "$"`, 5},
		{"a = 0x1F", "42601", `trailing junk after numeric literal at or near "0x1F"`, 5},
		{"a IN (SELECT 1)", "42601", `syntax error at or near "SELECT"`, 7},
		{"a LIKE 'b' LIKE 'c'", "42601", `syntax error at or near "LIKE"`, 12},
		{"a BETWEEN 1 AND 2 BETWEEN 3 AND 4", "42601", `syntax error at or near "BETWEEN"`, 19},
		{"= 1", "42601", `syntax error at or near "="`, 1},
		{"double precision", "42601", "syntax error at end of input", 17},
		{"t.5", "42601", `syntax error at or near ".5"`, 2},
	} {
		e, err := ParseCondition(c.text)
		check(t, c.text, err, c.code, c.message, c.at)
		if err != nil && e != nil {
			t.Errorf("%s: an expression with the error", c.text)
		}
	}
}

// TestDepth checks that no nesting, of any kind, gets through to where it could exhaust the stack, that what is flat
// may be long, and that both are quick.
func TestDepth(t *testing.T) {
	for _, c := range []struct {
		name, open, inner, close string
		n                        int
		ok                       bool
	}{
		{"parentheses", "(", "a", ")", 500, true}, {"parentheses", "(", "a", ")", 4900, true}, {"parentheses", "(", "a", ")", 100_000, false},
		{"open", "(", "", "", 1_000_000, false}, {"not", "NOT ", "a", "", 500, true}, {"not", "NOT ", "a", "", 100_000, false},
		{"not", "NOT (", "a", ")", 501, true}, {"sign", "- ", "a", "", 100_000, false}, {"prefix", "@ ", "a", "", 100_000, false},
		{"signs", "+", "a", "", 100_000, false},
		{"and", "", "a", " AND a", 100_000, true}, {"or", "", "a", " OR a = 1", 100_000, true}, {"mixed", "", "a", " OR a AND b", 100_000, true},
		{"nested and", "(a AND ", "b", ")", 400, true}, {"nested and", "(a AND ", "b", ")", 100_000, false},
		{"left", "", "a", " + a", 4000, true}, {"left", "", "a", " + a", 100_000, false}, {"is", "", "a", " IS NULL", 100_000, false},
		{"cast", "", "a", "::int4", 100_000, false}, {"in", "", "a", " IN (1)", 100_000, false}, {"call", "f(", "a", ")", 100_000, false},
		{"between", "", "a", " = 1 IS TRUE", 100_000, false}, {"left in left", "(", "a", " + 1 + 1 + 1)", 4000, false},
		{"cast()", "cast(", "a", " as int4)", 100_000, false}, {"distinct", "a IS DISTINCT FROM (", "a", ")", 100_000, false},
	} {
		text := strings.Repeat(c.open, c.n) + c.inner + strings.Repeat(c.close, c.n)
		start := time.Now()
		e, err := ParseCondition(text)
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("%s: took %v", c.name, took)
		}
		var p *pgerr.Error
		if c.ok && err != nil || !c.ok && (!errors.As(err, &p) || p.Code != "54001") {
			t.Errorf("%d %s: %v", c.n, c.name, err)
		}
		if c.ok && err == nil {
			_ = e.String()
		}
	}
	for _, list := range []func(string) error{
		func(s string) error { _, err := ParseOrderBy(s); return err }, func(s string) error { _, err := ParseSelectList(s); return err }} {
		if err := list(strings.Repeat("(", 100_000)); err == nil || err.(*pgerr.Error).Code != "54001" {
			t.Error(err)
		}
	}
}

func TestOrderBy(t *testing.T) {
	keys, err := ParseOrderBy(`c5 desc nulls first, "C 1", c2 ASC, c3 DESC, c4 nulls FIRST, c6 desc Nulls last, Asc1, t.c7 desc`)
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		text        string
		desc, first bool
	}{{"c5", true, true}, {`"C 1"`, false, false}, {"c2", false, false}, {"c3", true, true}, {"c4", false, true}, {"c6", true, false},
		{"Asc1", false, false}, {`"t".c7`, true, true}}
	if len(keys) != len(want) {
		t.Fatal(keys)
	}
	for i, k := range keys {
		if k.Expr.String() != want[i].text || k.Desc != want[i].desc || k.NullsFirst != want[i].first {
			t.Errorf("%d: %s %v %v", i, k.Expr, k.Desc, k.NullsFirst)
		}
	}
	for _, c := range []struct {
		text, message string
		at            int
	}{
		{"", "syntax error at end of input", 1}, {"c1,", "syntax error at end of input", 4}, {"c1 foo", `syntax error at or near "foo"`, 4},
		{"c1, , c2", `syntax error at or near ","`, 5}, {"c1 desc asc", `syntax error at or near "asc"`, 9}, {"desc", `syntax error at or near "desc"`, 1},
		{"c1 nulls", "syntax error at end of input", 9}, {"c1 nulls x", `syntax error at or near "x"`, 10},
		{`c1 "desc"`, `syntax error at or near ""desc""`, 4}, {"c1, c2 < ", "syntax error at end of input", 10}, {"c1, (c2", "syntax error at end of input", 8},
		{"c1, 'x", `unterminated quoted string at or near "'x"`, 5},
	} {
		_, err := ParseOrderBy(c.text)
		check(t, c.text, err, "42601", c.message, c.at)
	}
}

func TestSelectList(t *testing.T) {
	items, err := ParseSelectList(`*, c1, "Unit price" AS price, count(*) n, c2 as "N ""x""", ctid, c3 as from`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, it := range items {
		got = append(got, itemText(it)+"|"+it.Alias)
	}
	want := []string{"*|", "c1|", `"Unit price"|price`, `"count"(*)|n`, `c2|N "x"`, "ctid|", "c3|from"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
	if items[1].At != 4 || items[2].At != 8 {
		t.Errorf("%d %d", items[1].At, items[2].At)
	}
	for _, c := range []struct {
		text, message string
		at            int
	}{
		{"", "syntax error at end of input", 1}, {"c1 as", "syntax error at end of input", 6}, {"c1 c2 c3", `syntax error at or near "c3"`, 7},
		{"c1,,c2", `syntax error at or near ","`, 4}, {"* x", `syntax error at or near "x"`, 3}, {"c1 from t", `syntax error at or near "from"`, 4},
	} {
		_, err := ParseSelectList(c.text)
		check(t, c.text, err, "42601", c.message, c.at)
	}
}

func TestAggregates(t *testing.T) {
	aggs, err := ParseAggregates(`sum(c3), COUNT(*), count(distinct "c 1") AS n, avg(all c2), min(c1), max(c1), median(c1), percentile(c1, 0.9)`)
	if err != nil {
		t.Fatal(err)
	}
	want := []Aggregate{
		{Func: "sum", Arg: &Column{Name: "c3", At: 5}, At: 1}, {Func: "count", Star: true, At: 10},
		{Func: "count", Distinct: true, Arg: &Column{Name: "c 1", Quoted: true, At: 35}, Alias: "n", At: 20},
		{Func: "avg", Arg: &Column{Name: "c2", At: 56}, At: 48}, {Func: "min", Arg: &Column{Name: "c1", At: 65}, At: 61},
		{Func: "max", Arg: &Column{Name: "c1", At: 74}, At: 70},
		{Func: "median", Fraction: 0.5, Arg: &Column{Name: "c1", At: 86}, At: 79}, {Func: "percentile", Fraction: 0.9, Arg: &Column{Name: "c1", At: 102}, At: 91}}
	if !reflect.DeepEqual(aggs, want) {
		t.Errorf("%+v", aggs)
	}
	for text, code := range map[string]string{"c1": "42803", "*": "42803", "mode(c1)": "42883", "percentile(c1)": "42883", "percentile(c1, c2)": "42883", "median(c1, 0.5)": "42883", "sum(*)": "42883", "sum()": "42883",
		"sum(a, b)": "42883", "sum(": "42601", "1": "42803"} {
		_, err := ParseAggregates(text)
		var e *pgerr.Error
		if !errors.As(err, &e) || e.Code != code {
			t.Errorf("%s: %v", text, err)
		}
	}
}

type named int16

func TestBuild(t *testing.T) {
	a := Col(`a"b`)
	for _, c := range []struct {
		e    Expr
		want string
	}{
		{a.Eq(5), `"a""b" = 5`}, {a.Lt(-5), `"a""b" < (-5)`}, {a.Ne("it's"), `"a""b" <> 'it''s'`}, {a.Gt(nil), `"a""b" > NULL`},
		{a.Ge(true), `"a""b" >= true`}, {a.Le(uint64(math.MaxUint64)), `"a""b" <= 18446744073709551615`}, {a.Eq(named(3)), `"a""b" = 3`},
		{a.Eq(0.5), `"a""b" = 0.5`}, {a.Eq(1e22), `"a""b" = 10000000000000000000000`}, {a.Eq(math.NaN()), `"a""b" = ('NaN'::"float8")`},
		{a.Eq(math.Inf(-1)), `"a""b" = ('-Infinity'::"float8")`}, {a.Eq(1e-7), `"a""b" = 1e-07`}, {a.Eq(float64(1<<53 + 2)), `"a""b" = 9007199254740994`},
		{a.Eq(value.OfInt4(7)), `"a""b" = 7`}, {a.Eq(value.Null(value.Text)), `"a""b" = NULL`}, {a.Eq(Col("c")), `"a""b" = "c"`},
		{a.In(1, nil), `"a""b" IN (1, NULL)`}, {a.NotIn("x"), `"a""b" NOT IN ('x')`}, {a.Between(1, 2), `"a""b" BETWEEN 1 AND 2`},
		{And(a.IsNull(), Or(a.IsNotNull(), Not(a))), `("a""b" IS NULL) AND (("a""b" IS NOT NULL) OR (NOT "a""b"))`},
		{And(), "true"}, {Or(), "false"}, {And(a), `"a""b"`},
	} {
		if got := c.e.String(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
		checkRoundTrip(t, c.e)
	}
	if g, ok := Lit([]int{1}).(*GoValue); !ok || g.Type != "[]int" || g.String() != "<[]int>" || g.Pos() != 0 {
		t.Errorf("%#v", Lit([]int{1}))
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"a = 1", `"a""b" IN ('x', NULL, -1.5e3) OR NOT t.c`, "a::int4 BETWEEN $1 AND 2 IS NOT TRUE", `E'\u00e9\x41' <@ x`,
		"count(distinct a), *", "a desc nulls first, b", "a /* /* */ */ -- x\n+1", "float8 'NaN'", "a IS DISTINCT FROM b", "- - 5", "a<=|-1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, parse := range []func(string) (any, error){
			func(s string) (any, error) { return ParseOrderBy(s) }, func(s string) (any, error) { return ParseSelectList(s) },
			func(s string) (any, error) { return ParseAggregates(s) }, func(s string) (any, error) { return ParseCondition(s) }} {
			v, err := parse(s)
			var e *pgerr.Error
			if err != nil && (!errors.As(err, &e) || e.Code == "" || e.Position < 0 || e.Position > len(s)+1) {
				t.Fatalf("%q: %#v", s, err)
			}
			if expr, ok := v.(Expr); ok && err == nil {
				again, err := ParseCondition(expr.String())
				if err != nil && errors.As(err, &e) && e.Code == "54001" {
					return // the text has more parentheses
				}
				if err != nil || again.String() != expr.String() {
					t.Fatalf("%q\nis %s\nand %v %v", s, expr, again, err)
				}
			}
		}
	})
}
