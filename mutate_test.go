package wideleaf

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// mutant is a row of the model that histories of deletes and updates are compared with.
type mutant struct {
	id, k int64 // k has an index, its twin has none
	s     string
	null  bool // k is NULL
}

// mutants is the model: the rows in the order of their insertion.
type mutants []mutant

// mutantCondition is a condition in SQL and in Go.
type mutantCondition struct {
	sql   string
	holds func(mutant) bool
}

func randomMutantCondition(r *rand.Rand, ids int64) mutantCondition {
	lo := r.Int64N(100)
	hi := lo + r.Int64N(30)
	name := fmt.Sprintf("s%d", r.IntN(10))
	id := r.Int64N(ids + 1)
	all := []mutantCondition{
		{fmt.Sprintf("k between %d and %d", lo, hi), func(m mutant) bool { return !m.null && lo <= m.k && m.k <= hi }},
		{fmt.Sprintf("twin between %d and %d", lo, hi), func(m mutant) bool { return !m.null && lo <= m.k && m.k <= hi }},
		{"k is null", func(m mutant) bool { return m.null }},
		{fmt.Sprintf("s = '%s'", name), func(m mutant) bool { return m.s == name }},
		{fmt.Sprintf("s = '%s' and k < %d", name, hi), func(m mutant) bool { return m.s == name && !m.null && m.k < hi }},
		{fmt.Sprintf("s = '%s' or twin > %d", name, hi), func(m mutant) bool { return m.s == name || !m.null && m.k > hi }},
		{fmt.Sprintf("id = %d", id), func(m mutant) bool { return m.id == id }},
		{fmt.Sprintf("id < %d", id), func(m mutant) bool { return m.id < id }},
		{fmt.Sprintf("not (k < %d)", lo), func(m mutant) bool { return !m.null && m.k >= lo }},
	}
	return all[r.IntN(len(all))]
}

// mutantAssignments are what updates set, in SQL and in Go.
var mutantAssignments = []struct {
	sql    string
	change func(m *mutant)
}{
	{"k = k / 2, twin = twin / 2", func(m *mutant) { m.k /= 2 }},
	{"k = (k * 7 + id::int4) % 120, twin = (7 * k + id::int) % 120", func(m *mutant) { m.k = (m.k*7 + m.id) % 120 }},
	{"s = 's4'", func(m *mutant) { m.s = "s4" }},
	{"twin = null, k = default", func(m *mutant) { m.null = true }},
	{"k = id % 100, twin = id % 100, s = 's' || (id % 10)", func(m *mutant) { m.k, m.s, m.null = m.id%100, fmt.Sprintf("s%d", m.id%10), false }},
}

func (ms mutants) matching(c mutantCondition) (out mutants) {
	for _, m := range ms {
		if c.holds(m) {
			out = append(out, m)
		}
	}
	return out
}

// compare asks a database, through every kind of query, what the model knows.
func (ms mutants) compare(t *testing.T, r *rand.Rand, source func() *Query, ids int64, when string) {
	t.Helper()
	ctx := context.Background()
	if n, err := source().Count(ctx); err != nil || n != int64(len(ms)) {
		t.Fatalf("%s: %d rows, want %d (%v)", when, n, len(ms), err)
	}
	for range 6 {
		c := randomMutantCondition(r, ids)
		want := ms.matching(c)
		n, err := source().Where(c.sql).Count(ctx)
		if err != nil || n != int64(len(want)) {
			t.Fatalf("%s: count where %s is %d, want %d (%v)", when, c.sql, n, len(want), err)
		}
		sum, least, most := int64(0), int64(1<<62), int64(-1)
		some := false
		for _, m := range want {
			sum += m.id
			if !m.null {
				least, most, some = min(least, m.k), max(most, m.k), true
			}
		}
		v, err := source().Where(c.sql).Aggregate(ctx, "sum(id)", "min(k)", "max(k)", "count(k)")
		if err != nil {
			t.Fatalf("%s: %s: %v", when, c.sql, err)
		}
		if len(want) > 0 && v[0].String() != fmt.Sprint(sum) || v[1].IsNull() == some || some && (v[1].Int() != least || v[2].Int() != most) {
			t.Fatalf("%s: where %s: sum, min, max are %v, want %d %d %d", when, c.sql, v, sum, least, most)
		}
	}
	v, err := source().Aggregate(ctx, "min(k)", "max(k)", "count(k)", "min(twin)", "max(twin)", "count(twin)")
	if err != nil || v[0] != v[3] || v[1] != v[4] || v[2] != v[5] {
		t.Fatalf("%s: extremes %v (%v)", when, v, err)
	}
	rows, err := collect(source().Select("id", "k", "s", "twin").OrderBy("k desc nulls last, id").Limit(20))
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	sorted := slices.Clone(ms)
	slices.SortFunc(sorted, func(a, b mutant) int {
		switch {
		case a.null != b.null && a.null:
			return 1
		case a.null != b.null:
			return -1
		case !a.null && a.k != b.k:
			return cmp.Compare(b.k, a.k)
		}
		return cmp.Compare(a.id, b.id)
	})
	if len(rows) != min(20, len(sorted)) {
		t.Fatalf("%s: %d rows in order, want %d", when, len(rows), min(20, len(sorted)))
	}
	for i, row := range rows {
		if m := sorted[i]; row[0].Int() != m.id || row[2].Str() != m.s || row[1].IsNull() != m.null || row[3] != row[1] {
			t.Fatalf("%s: row %d in order is %v, want %+v", when, i, row, m)
		}
	}
}

var mutantColumns = []Column{{Name: "id", Type: Int8}, {Name: "k", Type: Int4}, {Name: "s", Type: Text}, {Name: "twin", Type: Int4}}

func createMutants(t *testing.T, db *DB) *Table {
	t.Helper()
	ctx := context.Background()
	tb, err := db.CreateTable(ctx, "t", mutantColumns...)
	if err == nil {
		err = db.CreateIndexes(ctx, "t",
			IndexDef{Name: "i_id", Columns: []IndexColumn{{Name: "id"}}},
			IndexDef{Name: "i_k", Columns: []IndexColumn{{Name: "k"}}},
			IndexDef{Name: "i_sk", Columns: []IndexColumn{{Name: "s"}, {Name: "k", Desc: true}}})
	}
	if err != nil {
		t.Fatal(err)
	}
	return tb
}

// Random histories of inserts, deletes, flushes, merges and reopenings give what a list of rows gives.
func TestMutationsAgainstModel(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { mutateAgainstModel(t, seed) })
	}
}

func mutateAgainstModel(t *testing.T, seed uint64) {
	ctx := context.Background()
	r := rand.New(rand.NewPCG(seed, 4))
	o := testOptions(vfs.NewMem())
	o.MergeFanIn = 2 + r.IntN(3)
	o.AutovacuumOff, o.AutovacuumVacuumThreshold = r.IntN(3) == 0, 1+r.IntN(40)
	db := mustOpen(t, "db", o)
	defer func() { _ = db.Close() }()
	tb := createMutants(t, db)
	var model mutants
	ids := int64(0)
	for step := range 80 {
		when := ""
		switch op := r.IntN(10); {
		case op < 4:
			b := tb.NewBatch()
			for range 1 + r.IntN(300) {
				m := mutant{id: ids, k: r.Int64N(120), s: fmt.Sprintf("s%d", r.IntN(10)), null: r.IntN(9) == 0}
				ids++
				var k any = m.k
				if m.null {
					k = nil
				}
				if err := b.Append(m.id, k, m.s, k); err != nil {
					t.Fatal(err)
				}
				model = append(model, m)
			}
			if err := tb.InsertBatch(ctx, b, NoSync); err != nil {
				t.Fatal(err)
			}
			when = fmt.Sprintf("step %d: inserted", step)
		case op < 6:
			c := randomMutantCondition(r, ids)
			set := mutantAssignments[r.IntN(len(mutantAssignments))]
			want := model.matching(c)
			n, err := tb.UpdateWhere(ctx, c.sql, set.sql, NoSync)
			if err != nil || n != int64(len(want)) {
				t.Fatalf("step %d: update where %s: %d rows, want %d (%v)", step, c.sql, n, len(want), err)
			}
			for i := range model {
				if c.holds(model[i]) {
					set.change(&model[i])
				}
			}
			when = fmt.Sprintf("step %d: updated %s where %s", step, set.sql, c.sql)
		case op < 7:
			c := randomMutantCondition(r, ids)
			want := model.matching(c)
			n, err := tb.DeleteWhere(ctx, c.sql, NoSync)
			if err != nil || n != int64(len(want)) {
				t.Fatalf("step %d: delete where %s: %d rows, want %d (%v)", step, c.sql, n, len(want), err)
			}
			model = slices.DeleteFunc(model, c.holds)
			when = fmt.Sprintf("step %d: deleted where %s", step, c.sql)
		case op < 8 && r.IntN(3) == 0:
			report, err := tb.Vacuum(ctx, VacuumOptions{Full: r.IntN(2) == 0})
			if err != nil {
				t.Fatalf("step %d: vacuum: %v", step, err)
			}
			if report.RowsRemain != int64(len(model)) {
				t.Fatalf("step %d: vacuum: %s", step, report)
			}
			when = fmt.Sprintf("step %d: vacuumed", step)
		case op < 8:
			if err := tb.Flush(ctx); err != nil {
				t.Fatal(err)
			}
			when = fmt.Sprintf("step %d: flushed", step)
		case op < 9:
			if err := db.Settle(ctx); err != nil {
				t.Fatal(err)
			}
			when = fmt.Sprintf("step %d: settled", step)
		default:
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			db = mustOpen(t, "db", o)
			var err error
			if tb, err = db.Table("t"); err != nil {
				t.Fatal(err)
			}
			when = fmt.Sprintf("step %d: reopened", step)
		}
		model.compare(t, r, tb.Query, ids, when)
		if step%10 == 9 {
			if err := db.Check(ctx); err != nil {
				t.Fatalf("%s: %v", when, err)
			}
		}
	}
	if err := db.Check(ctx); err != nil {
		t.Fatal(err)
	}
}
