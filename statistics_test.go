package wideleaf

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"wideleaf/pgerr"
	"wideleaf/value"
)

// What is said of a column's order is what PostgreSQL says of the same rows, flushed or not, with deleted rows and NULLs.
func TestColumnStatistics(t *testing.T) {
	const rows = 70_000
	pg := startPostgres(t)
	db := mustOpen(t, t.TempDir(), nil)
	defer db.Close()
	tb, vals := buildTable(t, db, rows)
	b := tb.NewBatch()
	if err := b.Append(int64(-5), int64(-5), int32(-5), int32(-5), int32(-5), nil, int64(-5), int64(-5), -5.5, true, "", "zz"); err != nil {
		t.Fatal(err)
	}
	if err := tb.InsertBatch(t.Context(), b, NoSync); err != nil {
		t.Fatal(err)
	}
	if _, err := tb.DeleteWhere(t.Context(), "up < 100"); err != nil {
		t.Fatal(err)
	}
	var defs []string
	for _, c := range buildColumns {
		defs = append(defs, c.Name+" "+c.Type.SQLName())
	}
	statements := []string{"create table t (" + strings.Join(defs, ", ") + ")"}
	for from := 0; from < rows; from += 1000 {
		var lines []string
		for i := max(from, 100); i < min(from+1000, rows); i++ {
			var fields []string
			for c := range vals {
				f := "null"
				if v := vals[c][i]; !v.IsNull() {
					f = literal(v.String())
				}
				fields = append(fields, f)
			}
			lines = append(lines, "("+strings.Join(fields, ",")+")")
		}
		statements = append(statements, "insert into t values "+strings.Join(lines, ",\n"))
	}
	// The row with up = -5 is deleted too.
	type question struct {
		sql  string
		ours func() ([]Value, error)
	}
	fractions := []float64{0, 0.0001, 0.25, 0.5, 0.9, 0.99, 1}
	var questions []question
	for _, where := range []string{"true", "dup = 3", "up < 50"} {
		q := func() *Query { return tb.Query().Where(where) }
		for _, c := range buildColumns {
			var lists []string
			for _, f := range fractions {
				lists = append(lists, fmt.Sprintf("percentile_disc(%v) within group (order by %s)", f, c.Name))
			}
			questions = append(questions,
				question{fmt.Sprintf("select %s from t where %s", strings.Join(lists, ", "), where),
					func() ([]Value, error) { return q().Percentiles(t.Context(), c.Name, fractions...) }},
				question{fmt.Sprintf("select percentile_disc(0.5) within group (order by %[1]s), percentile_disc(0.9) within group (order by %[1]s) from t where %[2]s", c.Name, where),
					func() ([]Value, error) {
						return q().Aggregate(t.Context(), fmt.Sprintf("median(%[1]s), percentile(%[1]s, 0.9)", c.Name))
					}},
				question{fmt.Sprintf("select percentile_disc(0.3) within group (order by x) from (select distinct %s x from t where %s) d", c.Name, where),
					func() ([]Value, error) {
						return q().Aggregate(t.Context(), fmt.Sprintf("percentile(distinct %s, 0.3)", c.Name))
					}})
			if v := vals[len(questions)%3+6][5000]; c.Type == v.Type() && !v.IsNull() {
				questions = append(questions, question{fmt.Sprintf("select rank(%s) within group (order by %s) from t where %s", literal(v.String()), c.Name, where),
					func() ([]Value, error) {
						n, err := q().Rank(t.Context(), c.Name, v.Any())
						return []Value{value.OfInt8(n)}, err
					}})
			}
		}
	}
	for _, x := range questions {
		statements = append(statements, x.sql)
	}
	answers, err := pg.ask(statements...)
	if err != nil {
		t.Fatal(err)
	}
	answers, made := answers[len(answers)-len(questions):], answers[:len(answers)-len(questions)]
	for i, a := range made {
		if a.code != "" {
			t.Fatalf("%s: %s", statements[i], a.message)
		}
	}
	for i, x := range questions {
		got, err := x.ours()
		if err != nil {
			t.Errorf("%s: %v", x.sql, err)
			continue
		}
		if answers[i].code != "" {
			t.Fatalf("%s: %s", x.sql, answers[i].message)
		}
		for j, f := range answers[i].rows[0] {
			switch s := got[j].String(); {
			case f == nil != got[j].IsNull():
				t.Errorf("%s, %d: %v", x.sql, j, got[j])
			case f != nil && s != *f && !(s == "0" && *f == "-0"): // which of equal values is taken isn't said
				t.Errorf("%s, %d: %s, PostgreSQL says %s", x.sql, j, s, *f)
			}
		}
	}
	bounds, err := tb.Query().Histogram(t.Context(), "up", 9)
	if err != nil || len(bounds) != 10 {
		t.Fatal(bounds, err)
	}
	for i, v := range bounds { // 100 to rows-1, each once
		if want := int64(100 + i*(rows-101)/9); v.Int() != want {
			t.Errorf("bound %d is %d, expected %d", i, v.Int(), want)
		}
	}
	if bounds, err := tb.Query().Histogram(t.Context(), "nul", 9); err != nil || bounds != nil {
		t.Error(bounds, err)
	}
	for code, f := range map[string]func() error{
		pgerr.NumericValueOutOfRange: func() error { _, err := tb.Query().Percentiles(t.Context(), "up", 1.5); return err },
		pgerr.UndefinedColumn:        func() error { _, err := tb.Query().Histogram(t.Context(), "nope", 5); return err },
		pgerr.InvalidParameterValue:  func() error { _, err := tb.Query().Histogram(t.Context(), "up", 0); return err },
		pgerr.UndefinedFunction:      func() error { _, err := tb.Query().Aggregate(t.Context(), "percentile(up)"); return err },
	} {
		var e *Error
		if err := f(); !errors.As(err, &e) || e.Code != code {
			t.Errorf("expected %s: %v", code, err)
		}
	}
}
