package wideleaf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// spillRow is a row of a table whose sorts don't fit in memory.
type spillRow struct {
	n    int32
	a    *int64
	f    float64
	s    *string
	long string
}

// spillTable makes a table of many rows: with NULLs, ties, strings with zero bytes, of which some are the beginning of others,
// and long ones that differ at their ends only.
func spillTable(t *testing.T, db *DB) (*Table, []spillRow) {
	t.Helper()
	tb, err := db.CreateTable(t.Context(), "t", Column{Name: "n", Type: Int4}, Column{Name: "a", Type: Int8}, Column{Name: "f", Type: Float8},
		Column{Name: "s", Type: Bytea}, Column{Name: "long", Type: Text})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(9, 1))
	begin := strings.Repeat("long ", 600)
	var rows []spillRow
	b := tb.NewBatch()
	for i := range 20_000 {
		x := spillRow{n: int32(i), f: math.Floor(r.NormFloat64()*1000) / 4}
		if r.IntN(10) > 0 {
			a := int64(r.Uint64()) >> r.IntN(64)
			x.a = &a
		}
		if r.IntN(10) > 0 {
			s := strings.Repeat("\x00", r.IntN(3)) + fmt.Sprint(r.IntN(300)) + strings.Repeat("\x00", r.IntN(3))
			x.s = &s
		}
		if x.long = fmt.Sprint(r.IntN(50)); r.IntN(40) == 0 {
			x.long = begin + x.long
		}
		row := []any{x.n, nil, x.f, nil, x.long}
		if x.a != nil {
			row[1] = *x.a
		}
		if x.s != nil {
			row[3] = []byte(*x.s)
		}
		if err := b.Append(row...); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, x)
		if i%7000 == 6999 {
			if err := errors.Join(tb.InsertBatch(t.Context(), b, NoSync), tb.Flush(t.Context())); err != nil {
				t.Fatal(err)
			}
			b = tb.NewBatch()
		}
	}
	if err := tb.InsertBatch(t.Context(), b, NoSync); err != nil {
		t.Fatal(err)
	}
	return tb, rows
}

// nulls compares values that may be NULL, which come last.
func nulls[T any](a, b *T, f func(a, b T) int) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return f(*a, *b)
}

// Sorts that don't fit work_mem go by way of a tape and give the same: the rows in the order that sorting them gives, and
// as many distinct values as there are. The tape is gone then.
func TestSortsSpill(t *testing.T) {
	dir := t.TempDir()
	var writes atomic.Int64
	var fail atomic.Bool
	db := mustOpen(t, dir, &Options{WorkMem: minWorkMem, FS: errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileWrite && strings.HasSuffix(op.Path, ".tape") {
			if writes.Add(1); fail.Load() {
				return syscall.ENOSPC
			}
		}
		return nil
	}))})
	defer db.Close()
	tb, rows := spillTable(t, db)
	orders := map[string]func(a, b spillRow) int{
		"a":                 func(a, b spillRow) int { return nulls(a.a, b.a, cmp.Compare) },
		"a DESC":            func(a, b spillRow) int { return nulls(b.a, a.a, cmp.Compare) },
		"a DESC NULLS LAST": func(a, b spillRow) int { return nulls(a.a, b.a, func(a, b int64) int { return cmp.Compare(b, a) }) },
		"f DESC, n DESC":    func(a, b spillRow) int { return cmp.Or(cmp.Compare(b.f, a.f), cmp.Compare(b.n, a.n)) },
		"s, f":              func(a, b spillRow) int { return cmp.Or(nulls(a.s, b.s, strings.Compare), cmp.Compare(a.f, b.f)) },
		"s DESC":            func(a, b spillRow) int { return nulls(b.s, a.s, strings.Compare) },
		"long, n DESC":      func(a, b spillRow) int { return cmp.Or(strings.Compare(a.long, b.long), cmp.Compare(b.n, a.n)) },
		"long DESC, s, a DESC": func(a, b spillRow) int {
			return cmp.Or(strings.Compare(b.long, a.long), nulls(a.s, b.s, strings.Compare), nulls(b.a, a.a, cmp.Compare))
		},
	}
	spilled := func(what string, f func()) {
		t.Helper()
		before := writes.Load()
		f()
		if writes.Load() == before {
			t.Errorf("%s: nothing was written to a tape", what)
		}
		if files := tapesOf(t, dir); len(files) > 0 {
			t.Fatalf("%s: left: %v", what, files)
		}
	}
	check := func(what, where string, order func(a, b spillRow) int, offset, limit int, keep func(spillRow) bool) {
		t.Helper()
		var want []spillRow
		for _, r := range rows {
			if keep(r) {
				want = append(want, r)
			}
		}
		slices.SortStableFunc(want, order)
		want = want[min(offset, len(want)):]
		want = want[:min(limit, len(want))]
		q := tb.Query().Select("n").OrderBy(what).Offset(int64(offset))
		if limit < math.MaxInt32 {
			q = q.Limit(int64(limit))
		}
		if where != "" {
			q = q.Where(where)
		}
		i := 0
		for row, err := range q.Rows(t.Context()) {
			if err != nil {
				t.Fatalf("ORDER BY %s: %v", what, err)
			}
			if i >= len(want) || row[0].Int() != int64(want[i].n) {
				t.Fatalf("ORDER BY %s OFFSET %d LIMIT %d: row %d is %v", what, offset, limit, i, row[0])
			}
			i++
		}
		if i != len(want) {
			t.Fatalf("ORDER BY %s OFFSET %d LIMIT %d: %d rows, expected %d", what, offset, limit, i, len(want))
		}
	}
	all := func(spillRow) bool { return true }
	for what, order := range orders {
		spilled(what, func() { check(what, "", order, 0, math.MaxInt32, all) })
		spilled(what, func() { check(what, "", order, 17_000, 1500, all) })
		spilled(what, func() {
			check(what, "n >= 3000 AND f < 100", order, 50, math.MaxInt32, func(r spillRow) bool { return r.n >= 3000 && r.f < 100 })
		})
	}
	spilled("a reader that has seen enough", func() {
		for range tb.Query().OrderBy("a").Rows(t.Context()) {
			break
		}
	})

	as, ss, longs := map[int64]bool{}, map[string]bool{}, map[string]bool{}
	for _, r := range rows {
		if r.a != nil {
			as[*r.a] = true
		}
		if r.s != nil {
			ss[*r.s] = true
		}
		longs[r.long] = true
	}
	spilled("count(distinct)", func() {
		got, err := tb.Query().Aggregate(t.Context(), "count(distinct a)", "count(distinct s)", "count(distinct long)", "count(distinct n)", "sum(distinct n)")
		if err != nil {
			t.Fatal(err)
		}
		for i, n := range []int{len(as), len(ss), len(longs), len(rows), len(rows) * (len(rows) - 1) / 2} {
			if got[i].Int() != int64(n) {
				t.Errorf("result %d is %v, expected %d", i, got[i], n)
			}
		}
	})

	fail.Store(true)
	spilled("a full disk", func() {
		_, err := tb.Query().Aggregate(t.Context(), "count(distinct n)")
		if !errors.Is(err, ErrFull) {
			t.Errorf("count(distinct) with a full disk: %v", err)
		}
		for _, err = range tb.Query().OrderBy("a").Rows(t.Context()) {
		}
		if !errors.Is(err, ErrFull) {
			t.Errorf("ORDER BY with a full disk: %v", err)
		}
	})
	fail.Store(false)
	ctx, cancel := context.WithCancel(t.Context())
	spilled("a cancelled sort", func() {
		var err error
		i := 0
		for _, err = range tb.Query().OrderBy("a").Rows(ctx) {
			if i++; i == 100 {
				cancel()
			}
		}
		if !errors.Is(err, ErrCanceled) {
			t.Errorf("a cancelled ORDER BY: %v", err)
		}
	})
	if err := errors.Join(tb.Insert(t.Context(), []any{1, 2, 3, []byte("x"), "y"}), db.Check(t.Context())); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
