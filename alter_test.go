package wideleaf

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"wideleaf/pgerr"
)

// modelColumn and modelTable are a table as a list of maps: what altering means, without any storage.
type modelColumn struct {
	Column
	id int
}

type modelTable struct {
	cols []modelColumn
	rows []map[int]any // by column id
	ids  int
}

func (m *modelTable) add(c Column) {
	m.ids++
	m.cols = append(m.cols, modelColumn{c, m.ids})
	for _, r := range m.rows {
		r[m.ids] = c.Default
	}
}

func (m *modelTable) at(name string) int {
	return slices.IndexFunc(m.cols, func(c modelColumn) bool { return c.Name == name })
}

// pick returns a value of a column's type, as Append takes it and as Any gives it back.
func pick(rnd *rand.Rand, typ Type) any {
	switch typ {
	case Int4:
		return int32(rnd.IntN(20))
	case Int8:
		return int64(rnd.IntN(20)) << 33
	case Float8:
		return float64(rnd.IntN(20)) / 4
	case Bool:
		return rnd.IntN(2) == 0
	}
	return fmt.Sprint("text ", rnd.IntN(20))
}

// compare holds the table against the model.
func (m *modelTable) compare(t *testing.T, tb *Table, step int, rnd *rand.Rand) {
	t.Helper()
	cols := tb.Columns()
	if len(cols) != len(m.cols) {
		t.Fatalf("step %d: %d columns, want %d", step, len(cols), len(m.cols))
	}
	for i, c := range cols {
		want := m.cols[i].Column
		if d, ok := c.Default.(Value); ok {
			c.Default = d.Any()
		}
		if c != want {
			t.Fatalf("step %d: column %d is %+v, want %+v", step, i, c, want)
		}
	}
	i := 0
	for row, err := range tb.Query().Rows(t.Context()) {
		if err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		if i == len(m.rows) {
			t.Fatalf("step %d: more than %d rows", step, i)
		}
		for c, v := range row {
			if want := m.rows[i][m.cols[c].id]; v.Any() != want {
				t.Fatalf("step %d: row %d column %s: %v, want %v", step, i, m.cols[c].Name, v.Any(), want)
			}
		}
		i++
	}
	if i != len(m.rows) {
		t.Fatalf("step %d: %d rows, want %d", step, i, len(m.rows))
	}
	// By index, where there is one.
	for range 4 {
		c := m.cols[rnd.IntN(len(m.cols))]
		v := pick(rnd, c.Type)
		var eq, null int64
		for _, r := range m.rows {
			if r[c.id] == v {
				eq++
			}
			if r[c.id] == nil {
				null++
			}
		}
		for e, want := range map[Condition]int64{Col(c.Name).Eq(v): eq, Col(c.Name).IsNull(): null} {
			n, err := tb.Query().Filter(e).Count(t.Context())
			if err != nil || n != want {
				t.Fatalf("step %d: %d rows where %s is %v or NULL, want %d (%v)", step, n, c.Name, v, want, err)
			}
		}
	}
}

// Random histories of alterations, inserts, flushes, new indexes, crashes and reopenings, against the model.
func TestAlterAgainstModel(t *testing.T) {
	types := []Type{Int4, Int8, Float8, Text, Bool}
	for _, seed := range []uint64{1, 2, 3, 4, 5, 6} {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			ctx := t.Context()
			rnd := rand.New(rand.NewPCG(seed, 11))
			fs := vfs.NewCrashableMem()
			db := mustOpen(t, "db", testOptions(fs))
			defer func() { _ = db.Close() }()
			m := &modelTable{}
			newColumn := func(i int) Column {
				c := Column{Name: fmt.Sprint("c", i), Type: types[rnd.IntN(len(types))]}
				if rnd.IntN(2) == 0 {
					c.Default = pick(rnd, c.Type)
					c.NotNull = rnd.IntN(2) == 0
				}
				return c
			}
			names := 0
			for range 3 {
				names++
				m.add(newColumn(names))
			}
			var first []Column
			for _, c := range m.cols {
				first = append(first, c.Column)
			}
			tb, err := db.CreateTable(ctx, "t", first...)
			if err != nil {
				t.Fatal(err)
			}
			name := "t"
			old := tb.NewBatch()           // made now, used for the whole history
			oldIDs := []int{1, 2, 3}       // its columns
			indexes := map[string]string{} // column by index
			insert := func(b *Batch, ids []int, rows int) {
				b.Reset()
				var add []map[int]any
				for range rows {
					r := map[int]any{}
					for _, c := range m.cols {
						r[c.id] = c.Default
					}
					var vals []any
					for _, id := range ids {
						i := slices.IndexFunc(m.cols, func(c modelColumn) bool { return c.id == id })
						var v any
						if i < 0 { // dropped: the batch will be refused
							v = nil
						} else if v = pick(rnd, m.cols[i].Type); !m.cols[i].NotNull && rnd.IntN(4) == 0 {
							v = nil
						}
						r[id] = v
						vals = append(vals, v)
					}
					if err := b.Append(vals...); err != nil {
						t.Fatal(err)
					}
					add = append(add, r)
				}
				gone := slices.ContainsFunc(ids, func(id int) bool {
					return !slices.ContainsFunc(m.cols, func(c modelColumn) bool { return c.id == id })
				})
				broken := false
				for _, c := range m.cols {
					broken = broken || c.NotNull && c.Default == nil && !slices.Contains(ids, c.id)
				}
				err := tb.InsertBatch(ctx, b)
				var e *Error
				switch {
				case gone && (!errors.As(err, &e) || e.Code != pgerr.UndefinedColumn):
					t.Fatalf("a batch with a dropped column: %v", err)
				case !gone && broken && (!errors.As(err, &e) || e.Code != pgerr.NotNullViolation):
					t.Fatalf("a batch without a NOT NULL column: %v", err)
				case !gone && !broken && err != nil:
					t.Fatal(err)
				case err == nil:
					m.rows = append(m.rows, add...)
				}
			}
			for step := range 150 {
				some := m.cols[rnd.IntN(len(m.cols))]
				switch k := rnd.IntN(16); k {
				case 0, 1:
					insert(tb.NewBatch(), ids(m.cols), 1+rnd.IntN(200))
				case 2:
					var given []string
					var givenIDs []int
					for _, i := range rnd.Perm(len(m.cols))[:1+rnd.IntN(len(m.cols))] {
						given, givenIDs = append(given, m.cols[i].Name), append(givenIDs, m.cols[i].id)
					}
					insert(tb.NewBatch(given...), givenIDs, 1+rnd.IntN(100))
				case 3:
					insert(old, oldIDs, 1+rnd.IntN(50))
				case 4, 5:
					names++
					c := newColumn(names)
					if err := tb.AddColumns(ctx, c); err != nil {
						t.Fatal(err)
					}
					m.add(c)
				case 6:
					if len(m.cols) < 2 {
						continue
					}
					if err := tb.DropColumns(ctx, some.Name); err != nil {
						t.Fatal(err)
					}
					m.cols = slices.DeleteFunc(m.cols, func(c modelColumn) bool { return c.id == some.id })
					for ix, c := range indexes {
						if c == some.Name {
							delete(indexes, ix)
						}
					}
				case 7:
					names++
					to := fmt.Sprint("c", names)
					if err := tb.RenameColumn(ctx, some.Name, to); err != nil {
						t.Fatal(err)
					}
					m.cols[m.at(some.Name)].Name = to
					for ix, c := range indexes {
						if c == some.Name {
							indexes[ix] = to
						}
					}
				case 8:
					err := tb.SetNotNull(ctx, some.Name)
					null := slices.ContainsFunc(m.rows, func(r map[int]any) bool { return r[some.id] == nil })
					if null != (err != nil) {
						t.Fatalf("step %d: SetNotNull: %v; NULLs: %t", step, err, null)
					}
					m.cols[m.at(some.Name)].NotNull = err == nil || some.NotNull
				case 9:
					if err := tb.DropNotNull(ctx, some.Name); err != nil {
						t.Fatal(err)
					}
					m.cols[m.at(some.Name)].NotNull = false
				case 10:
					v := pick(rnd, some.Type)
					if rnd.IntN(3) == 0 {
						v = nil
					}
					if err := tb.SetDefault(ctx, some.Name, v); err != nil {
						t.Fatal(err)
					}
					m.cols[m.at(some.Name)].Default = v
				case 11:
					names++
					ix := fmt.Sprint("i", names)
					if err := tb.CreateIndexes(ctx, IndexDef{Name: ix, Columns: []IndexColumn{{Name: some.Name}}}); err != nil {
						t.Fatal(err)
					}
					indexes[ix] = some.Name
				case 12:
					if err := tb.Flush(ctx); err != nil {
						t.Fatal(err)
					}
				case 13:
					names++
					if name = fmt.Sprint("t", names); rnd.IntN(4) == 0 {
						if err := tb.Truncate(ctx); err != nil {
							t.Fatal(err)
						}
						m.rows = nil
					}
					if err := tb.Rename(ctx, name); err != nil {
						t.Fatal(err)
					}
				default:
					if k == 14 {
						if err := db.Settle(ctx); err != nil {
							t.Fatal(err)
						}
						fs = fs.CrashClone(vfs.CrashCloneCfg{})
					} else if err := db.Close(); err != nil {
						t.Fatal(err)
					}
					before := db
					db = mustOpen(t, "db", testOptions(fs))
					_ = before.Close()
					if tb, err = db.Table(name); err != nil {
						t.Fatal(err)
					}
					old, oldIDs = tb.NewBatch(), ids(m.cols)
				}
				if len(m.cols) == 0 {
					t.Fatal("no columns")
				}
				m.compare(t, tb, step, rnd)
				got := map[string]string{}
				for _, ix := range tb.Indexes() {
					got[ix.Name] = ix.Columns[0].Name
				}
				if fmt.Sprint(got) != fmt.Sprint(indexes) {
					t.Fatalf("step %d: indexes %v, want %v", step, got, indexes)
				}
			}
			if err := db.Settle(ctx); err != nil {
				t.Fatal(err)
			}
			if err := db.Check(ctx); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func ids(cols []modelColumn) []int {
	var out []int
	for _, c := range cols {
		out = append(out, c.id)
	}
	return out
}

// A row keeps what it got when a column came, whatever the default becomes (PostgreSQL's attmissingval).
func TestMissingValue(t *testing.T) {
	ctx := t.Context()
	db := mustOpen(t, "db", testOptions(vfs.NewMem()))
	defer func() { _ = db.Close() }()
	tb, _ := db.CreateTable(ctx, "t", Column{Name: "a", Type: Int4})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(tb.Insert(ctx, []any{1}))
	must(tb.AddColumns(ctx, Column{Name: "b", Type: Text, NotNull: true, Default: "one"}))
	must(tb.SetDefault(ctx, "b", "two"))
	must(tb.Insert(ctx, []any{2, Default}))
	b := tb.NewBatch("a")
	must(b.Append(3))
	must(tb.SetDefault(ctx, "b", "three"))
	must(tb.InsertBatch(ctx, b))
	must(tb.Flush(ctx))
	must(tb.CreateIndexes(ctx, IndexDef{Name: "i", Columns: []IndexColumn{{Name: "b"}}}))
	var got []string
	for r, err := range tb.Query().OrderBy("b desc").Rows(ctx) {
		must(err)
		got = append(got, fmt.Sprint(r[0].Int(), r[1].Str()))
	}
	if want := "[2two 3three 1one]"; fmt.Sprint(got) != want {
		t.Errorf("rows %v, want %s", got, want)
	}
	if n := count(t, tb, "b = 'one'"); n != 1 {
		t.Errorf("%d rows have the missing value, want 1", n)
	}
}

// What a snapshot, a loop over rows, holds stays as it was: its columns too.
func TestAlterBesideQuery(t *testing.T) {
	ctx := t.Context()
	db := mustOpen(t, "db", testOptions(vfs.NewMem()))
	defer func() { _ = db.Close() }()
	tb, _ := db.CreateTable(ctx, "t", intColumns(3)...)
	b := tb.NewBatch()
	for i := range 5000 {
		if err := b.Append(i, i+1, i+2); err != nil {
			t.Fatal(err)
		}
		if i == 2500 {
			if err := errors.Join(tb.InsertBatch(ctx, b), tb.Flush(ctx)); err != nil {
				t.Fatal(err)
			}
			b.Reset()
		}
	}
	if err := tb.InsertBatch(ctx, b); err != nil {
		t.Fatal(err)
	}
	i := int64(0)
	for r, err := range tb.Query().Rows(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if len(r) != 3 || r[0].Int() != i || r[1].Int() != i+1 || r[2].Int() != i+2 {
			t.Fatalf("row %d is %v", i, r)
		}
		if i == 10 {
			if err := errors.Join(
				tb.DropColumns(ctx, "c2"),
				tb.AddColumns(ctx, Column{Name: "c2", Type: Text, Default: "x"}),
				tb.RenameColumn(ctx, "c1", "c3x"),
				tb.Truncate(ctx),
				tb.Insert(ctx, []any{1, 2, "y"}),
				db.Settle(ctx),
			); err != nil {
				t.Fatal(err)
			}
		}
		i++
	}
	if i != 5000 {
		t.Errorf("%d rows in the loop, want 5000", i)
	}
	rows, err := collect(tb.Query().Select("ctid", "c3x", "c3", "c2"))
	if err != nil || len(rows) != 1 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if got := fmt.Sprint(rows[0]); got != "[(4,0) 1 2 y]" && got != "[(3,0) 1 2 y]" && got != "[(2,0) 1 2 y]" {
		t.Errorf("the row is %s", got)
	}
}

// Writers that insert while columns come and go never get a value into another column.
func TestAlterBesideInserts(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	db := mustOpen(t, "db", testOptions(vfs.NewMem()))
	defer func() { _ = db.Close() }()
	tb, _ := db.CreateTable(ctx, "t", Column{Name: "a", Type: Int4}, Column{Name: "x", Type: Text}, Column{Name: "b", Type: Int4})
	if err := tb.CreateIndexes(ctx, indexEvery("t", tb.Columns())...); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	rows := make([]int64, 4)
	for w := range rows {
		wg.Add(1)
		go func() {
			defer wg.Done()
			b := tb.NewBatch("b", "a")
			for i := 0; ctx.Err() == nil; i++ {
				b.Reset()
				for range 1 + i%5 {
					if err := b.Append(i+1_000_000, i); err != nil {
						t.Error(err)
						return
					}
				}
				if err := tb.InsertBatch(ctx, b, NoSync); err != nil {
					if ctx.Err() == nil {
						t.Error(err)
					}
					return
				}
				rows[w] += int64(1 + i%5)
				time.Sleep(100 * time.Microsecond)
			}
		}()
	}
	for i := range 30 {
		x := fmt.Sprint("x", i)
		if err := errors.Join(
			tb.AddColumns(ctx, Column{Name: x, Type: Int8, Default: i, NotNull: true}),
			tb.CreateIndexes(ctx, IndexDef{Name: "i" + x, Columns: []IndexColumn{{Name: x}, {Name: "a"}}}),
		); err != nil {
			t.Fatal(err)
		}
		if i%3 == 0 {
			if err := tb.Flush(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if i >= 2 {
			if err := tb.DropColumns(ctx, fmt.Sprint("x", i-2)); err != nil {
				t.Fatal(err)
			}
		}
	}
	cancel()
	wg.Wait()
	want := int64(0)
	for _, n := range rows {
		want += n
	}
	if n := count(t, tb, "x is null and x28 = 28 and x29 = 29"); n < want || n > want+int64(5*len(rows)) {
		t.Errorf("%d rows, %d were acknowledged", n, want)
	}
	for r, err := range tb.Query().Select("a", "b").Rows(t.Context()) {
		if err != nil || r[1].Int() != r[0].Int()+1_000_000 {
			t.Fatalf("%v, %v", r, err)
		}
	}
	if err := errors.Join(db.Settle(t.Context()), db.Check(t.Context())); err != nil {
		t.Fatal(err)
	}
}

// Truncating gives the space back and never uses a TID again.
func TestTruncate(t *testing.T) {
	ctx := t.Context()
	fs := vfs.NewMem()
	db := mustOpen(t, "db", testOptions(fs))
	tb, _ := db.CreateTable(ctx, "t", intColumns(2)...)
	if err := tb.CreateIndexes(ctx, indexEvery("t", tb.Columns())...); err != nil {
		t.Fatal(err)
	}
	last := ""
	for round := range 4 {
		b := tb.NewBatch()
		for i := range 20_000 {
			_ = b.Append(i, i*7919%1_000_003)
		}
		if err := tb.InsertBatch(ctx, b); err != nil {
			t.Fatal(err)
		}
		if round%2 == 0 {
			if err := errors.Join(tb.Flush(ctx), db.Settle(ctx)); err != nil {
				t.Fatal(err)
			}
		}
		rows, err := collect(tb.Query().Select("ctid").Limit(1))
		if err != nil || len(rows) != 1 || rows[0][0].String() == last {
			t.Fatalf("first row %v, was %s before, %v", rows, last, err)
		}
		last = rows[0][0].String()
		if want := fmt.Sprintf("(%d,0)", round); last != want {
			t.Errorf("first row %s, want %s", last, want)
		}
		if err := tb.Truncate(ctx); err != nil {
			t.Fatal(err)
		}
		if n := count(t, tb, "c1 >= 0"); n != 0 {
			t.Fatalf("%d rows after Truncate", n)
		}
		if round == 1 {
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			db = mustOpen(t, "db", testOptions(fs))
			if tb, err = db.Table("t"); err != nil {
				t.Fatal(err)
			}
			if n := count(t, tb, "c1 >= 0"); n != 0 {
				t.Fatalf("%d rows after Truncate and reopening", n)
			}
		}
	}
	if err := db.Settle(ctx); err != nil {
		t.Fatal(err)
	}
	m, err := db.Metrics()
	if err != nil || m.Segments != 0 || m.Runs != 0 || m.RetiredFiles != 0 {
		t.Errorf("%d segments, %d runs, %d retired files after Truncate, %v", m.Segments, m.Runs, m.RetiredFiles, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// Everything that changes a table runs beside everything else, and what is left is whole.
func TestAlterBesideEverything(t *testing.T) {
	db := mustOpen(t, "db", testOptions(vfs.NewMem()))
	defer func() { _ = db.Close() }()
	tb, err := db.CreateTable(t.Context(), "t", Column{Name: "a", Type: Int4}, Column{Name: "b", Type: Int4})
	if err != nil {
		t.Fatal(err)
	}
	if err := tb.CreateIndexes(t.Context(), indexEvery("t", tb.Columns())...); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	again := func(pause time.Duration, f func(i int) error) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := 0; ctx.Err() == nil; i++ {
				err := f(i)
				if err != nil && !errors.Is(err, ErrConflict) && !errors.Is(err, ErrCanceled) && !errors.Is(err, ErrNotFound) {
					t.Error(err)
					return
				}
				time.Sleep(pause)
			}
		}()
	}
	again(200*time.Microsecond, func(i int) error {
		b := tb.NewBatch("b", "a")
		for r := range 50 {
			if err := b.Append(i+r+1_000_000, i+r); err != nil {
				return err
			}
		}
		return tb.InsertBatch(ctx, b, NoSync)
	})
	again(time.Millisecond, func(i int) error {
		_, err := tb.DeleteWhere(ctx, fmt.Sprintf("a %% 7 = %d", i%7), NoSync)
		if code(err) == pgerr.SyntaxError || code(err) == pgerr.FeatureNotSupported || code(err) == pgerr.UndefinedFunction {
			_, err = tb.DeleteWhere(ctx, fmt.Sprintf("a between %d and %d", i*20, i*20+9), NoSync)
		}
		return err
	})
	again(3*time.Millisecond, func(i int) error {
		x := fmt.Sprint("x", i)
		return errors.Join(tb.AddColumns(ctx, Column{Name: x, Type: Text, Default: x}), tb.DropColumns(ctx, x))
	})
	again(2*time.Millisecond, func(i int) error {
		cols := tb.Columns()
		name := fmt.Sprint("i", i)
		if err := tb.CreateIndexes(ctx, IndexDef{Name: name, Columns: []IndexColumn{{Name: cols[len(cols)-1].Name}, {Name: "a"}}}); err != nil {
			return err
		}
		return errors.Join(db.RenameIndex(ctx, name, name+"x"), db.DropIndex(ctx, name+"x"))
	})
	again(5*time.Millisecond, func(int) error { return tb.Flush(ctx) })
	again(40*time.Millisecond, func(int) error { return tb.Truncate(ctx) })
	again(10*time.Millisecond, func(int) error { return second(tb.Vacuum(ctx, VacuumOptions{})) })
	again(time.Millisecond, func(int) error {
		for r, err := range tb.Query().Select("a", "b").Where("a >= 0").Rows(ctx) {
			if err != nil {
				return err
			}
			if r[1].Int() != r[0].Int()+1_000_000 {
				return fmt.Errorf("row %v", r)
			}
		}
		return nil
	})
	wg.Wait()
	m, err := db.Metrics()
	if err != nil || m.BackgroundError != nil {
		t.Errorf("in the background: %v, %v", err, m.BackgroundError)
	}
	if err := errors.Join(db.Settle(t.Context()), db.Check(t.Context())); err != nil {
		t.Fatal(err)
	}
	if a, b := count(t, tb, "a >= 0"), count(t, tb, ""); a != b {
		t.Errorf("%d rows by the index, %d in all", a, b)
	}
}
