package wideleaf

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"pgregory.net/rapid"
)

// question is a query, as PostgreSQL is asked and in the parts that we take.
type question struct {
	sql           string
	where         string
	selects       []string
	aggregates    bool
	orderBy       string
	limit, offset *int64
	mistakes      int // that there may be
}

// asker draws the parts of a question about a table.
type asker struct {
	*rapid.T
	o *oracleTable
	q *question
}

func randomQuestion(rt *rapid.T, o *oracleTable) (q question) {
	a := asker{rt, o, &q}
	if a.chance("where", 95) {
		q.where = a.condition(a.upTo("depth", 3))
	}
	if q.aggregates = a.chance("aggregates", 30); q.aggregates {
		for range 1 + a.upTo("aggregates", 4) {
			q.selects = append(q.selects, a.aggregate())
		}
		q.sql = "select " + strings.Join(q.selects, ", ") + " from t" + a.clause(" where ", q.where)
		return q
	}
	q.selects = []string{"id"}
	for range a.upTo("columns", 3) {
		q.selects = append(q.selects, a.column().name)
	}
	var keys []string
	for range a.upTo("keys", 3) {
		key := a.column().name + a.of("direction", "", "", " asc", " desc", " DESC") + a.of("nulls", "", "", " nulls first", " nulls last")
		keys = append(keys, key)
	}
	q.orderBy = strings.Join(keys, ", ")
	number := func(label string) *int64 {
		if !a.chance(label, 30) {
			return nil
		}
		n := rapid.SampledFrom([]int64{0, 1, 2, 3, 10, 50, 1000, math.MaxInt64, -1}).Draw(a.T, label)
		return &n
	}
	q.limit, q.offset = number("limit"), number("offset")
	q.sql = "select " + strings.Join(q.selects, ", ") + " from t" + a.clause(" where ", q.where) + " order by " + a.clause("", q.orderBy, ", ") + "id"
	if q.limit != nil {
		q.sql += fmt.Sprint(" limit ", *q.limit)
	}
	if q.offset != nil {
		q.sql += fmt.Sprint(" offset ", *q.offset)
	}
	return q
}

// clause returns a text with something before and after, nothing for none.
func (a asker) clause(before, text string, after ...string) string {
	if text == "" {
		return ""
	}
	return before + text + strings.Join(after, "")
}

func (a asker) upTo(label string, n int) int { return rapid.IntRange(0, n).Draw(a.T, label) }

func (a asker) chance(label string, percent int) bool {
	return rapid.IntRange(1, 100).Draw(a.T, label) > 100-percent
}

func (a asker) of(label string, list ...string) string {
	return rapid.SampledFrom(list).Draw(a.T, label)
}

func (a asker) column() oracleColumn {
	a.q.mistakes++
	return rapid.SampledFrom(a.o.columns).Draw(a.T, "column")
}

func (a asker) aggregate() string {
	if a.chance("count", 20) {
		return "count(*)"
	}
	f := a.of("function", "count(%s)", "count(distinct %s)", "sum(%s)", "avg(%s)", "min(%s)", "max(%s)")
	return fmt.Sprintf(f, a.column().name)
}

// constant returns something to compare a column with: mostly a value of it, in one way of writing or another.
func (a asker) constant(c oracleColumn) string {
	a.q.mistakes++
	switch k := a.upTo("constant", 99); {
	case k >= 96:
		return a.of("wrong", wrong...)
	case k >= 92:
		return "null"
	case k >= 60:
		return a.of("also", c.also...)
	case k >= 30 && len(a.o.rows) > 0:
		i := slices.IndexFunc(a.o.columns, func(o oracleColumn) bool { return o.name == c.name })
		if s := rapid.SampledFrom(a.o.rows).Draw(a.T, "row")[i]; s != nil {
			return a.written(c, *s)
		}
	}
	return a.written(c, a.of("value", c.all...))
}

func (a asker) written(c oracleColumn, s string) string {
	if c.bare != nil && c.bare(s) && a.chance("bare", 75) {
		return s
	}
	text := literal(s)
	if a.chance("cast", 10) {
		text += "::" + c.sqlName()
	}
	return text
}

var comparisons = []string{"=", "<>", "!=", "<", "<=", ">", ">="}

// condition returns a condition of at most so many levels.
func (a asker) condition(depth int) string {
	if depth > 0 {
		sub := func() string { return "(" + a.condition(depth-1) + ")" }
		switch a.upTo("form", 9) {
		case 0, 1, 2:
			return sub() + " and " + sub()
		case 3, 4, 5:
			return sub() + " or " + sub()
		case 6:
			return "not " + sub()
		case 7:
			return sub() + " is " + a.of("not", "", "not ") + a.of("test", "true", "false", "unknown", "null")
		case 8:
			return sub() + " " + a.of("op", comparisons...) + " " + sub()
		}
	}
	c := a.column()
	not := a.of("not", "", "not ")
	switch a.upTo("leaf", 15) {
	case 0, 1:
		return fmt.Sprintf("%s is %snull", c.name, not)
	case 2:
		return fmt.Sprintf("%s %sbetween %s%s and %s", c.name, not, a.of("symmetric", "", "", "symmetric "), a.constant(c), a.constant(c))
	case 3:
		var items []string
		for range 1 + a.upTo("items", 6) {
			items = append(items, a.constant(c))
		}
		return fmt.Sprintf("%s %sin (%s)", c.name, not, strings.Join(items, ", "))
	case 4:
		return fmt.Sprintf("%s is %sdistinct from %s", c.name, not, a.constant(c))
	case 5:
		return fmt.Sprintf("%s %slike %s", c.name, not, a.of("pattern", "'a%'", "'%'", "''", "'a'", "'long %'", "'a\\%'", "'a\\%%'", "'é%'", "'a\\'", "'\\'", "'x%\\'",
			"null", "5", "'\\\\%'", "'\ufffd%'", "'\U0010fffd%'", "'xy%'::text", "'a\\_'", "'\\a%'"))
	case 6:
		if a.chance("column", 50) {
			return c.name
		}
		return a.of("fact", "true", "false", "null", "'t'", "1 < 2", "'a' < 'b'", "'b' < 'a'::text", "1 = 1.0", "null is null", "1 is null", "1 between 0 and 2", "'NaN'::float8 > 1",
			"1 in (1, 2)", "5", "'x'", "1.5", "'a' like 'a'", "true = false", "'10' < '9'", "'10' < 9", "null = null", "1 in (null, 2)", "1 is distinct from null")
	case 7:
		return a.constant(c) + " " + a.of("op", comparisons...) + " " + c.name
	}
	return c.name + " " + a.of("op", comparisons...) + " " + a.constant(c)
}

// compare asks the question of a table and compares the answer.
func (q question) compare(ctx context.Context, tb *Table, want answer) error {
	query := tb.Query()
	if q.where != "" {
		query.Where(q.where)
	}
	var got []Row
	var err error
	if q.aggregates {
		var row Row
		row, err = query.Aggregate(ctx, q.selects...)
		got = append(got, row)
	} else {
		query.Select(q.selects...).OrderBy(q.orderBy)
		if q.limit != nil {
			query.Limit(*q.limit)
		}
		if q.offset != nil {
			query.Offset(*q.offset)
		}
		for row, e := range query.Rows(ctx) {
			if e != nil {
				err = e
				break
			}
			got = append(got, row)
		}
	}
	code := sqlState(err)
	switch {
	case code == "0A000": // said to be unsupported
		return nil
	case err != nil && code == "":
		return err
	case code != want.code && !q.mayDiffer(code, want.code):
		return fmt.Errorf("got %v (%s), want %s (%s)", err, code, want.message, want.code)
	case code != want.code || code != "":
		return nil
	}
	if len(got) != len(want.rows) {
		return fmt.Errorf("%d rows, want %d", len(got), len(want.rows))
	}
	for i, row := range got {
		for k, v := range row {
			w := want.rows[i][k]
			if w == nil != v.IsNull() || w != nil && !sameText(v, *w, q.selects[k]) {
				return fmt.Errorf("row %d, %s: got %.100q (null: %t), want %s", i, q.selects[k], v.String(), v.IsNull(), orNull(w))
			}
		}
	}
	if !q.aggregates && q.limit == nil && q.offset == nil {
		if n, err := query.Count(ctx); err != nil || n != int64(len(got)) {
			return fmt.Errorf("Count is %d, %v; there are %d rows", n, err, len(got))
		}
	}
	return nil
}

// mayDiffer reports whether a SQLSTATE of ours may stand where PostgreSQL has another, or none.
func (q question) mayDiffer(ours, theirs string) bool {
	switch {
	case ours != "" && theirs != "":
		return q.mistakes > 2 // which one is told first is up to the order of looking
	case ours == "22025" && theirs == "":
		return true // PostgreSQL tells when a value is compared with the end of the pattern
	case strings.HasPrefix(ours, "22"):
		return q.mistakes > 2 // what it needn't evaluate, as behind "false and", it doesn't
	}
	// The sum of squares that PostgreSQL keeps beside a mean may overflow, though the mean is fine.
	return ours == "" && theirs == "22003" && strings.Contains(q.sql, "avg(f")
}

func orNull(s *string) string {
	if s == nil {
		return "NULL"
	}
	return fmt.Sprintf("%.100q", *s)
}

// sameText reports whether a value is the one that PostgreSQL printed. Sums of floats depend on the order of adding, and
// whether the least of 0 and -0 is the one or the other on that of looking.
func sameText(v Value, s, expr string) bool {
	if v.String() == s {
		return true
	}
	if v.Type() != Float8 || !strings.Contains(expr, "(") {
		return false
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return false
	}
	return x == v.Float() || math.Abs(x-v.Float()) <= 1e-9*math.Max(math.Abs(x), 1e-300) || strings.HasPrefix(expr, "sum") || strings.HasPrefix(expr, "avg")
}
