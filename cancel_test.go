package wideleaf

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// longTable is a flushed table of rows whose sorting, counting and changing takes a while.
func longTable(t *testing.T, db *DB, rows int) *Table {
	t.Helper()
	ctx := t.Context()
	tb, err := db.CreateTable(ctx, "t", Column{Name: "id", Type: Int8}, Column{Name: "r", Type: Int4}, Column{Name: "f", Type: Float8},
		Column{Name: "s", Type: Text}, Column{Name: "l", Type: Int8Array})
	if err != nil {
		t.Fatal(err)
	}
	fillLong(t, tb, 0, rows)
	err = db.CreateIndexes(ctx, "t",
		IndexDef{Name: "by_id", Unique: true, Columns: []IndexColumn{{Name: "id"}}},
		IndexDef{Name: "by_r", Columns: []IndexColumn{{Name: "r"}}},
		IndexDef{Name: "by_l", Method: "gin", Columns: []IndexColumn{{Name: "l"}}})
	if err != nil {
		t.Fatal(err)
	}
	return tb
}

// fillLong inserts rows [from, to).
func fillLong(t *testing.T, tb *Table, from, to int) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(uint64(from), 2))
	b := tb.NewBatch()
	for n := from; n < to; {
		b.Reset()
		for ; n < to && b.Len() < 50_000; n++ {
			if err := b.Append(n, rnd.Int32(), rnd.Float64(), fmt.Sprintf("%016x", rnd.Uint64()), []int64{rnd.Int64N(1000), rnd.Int64N(1000000)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := tb.InsertBatch(t.Context(), b, NoSync); err != nil {
			t.Fatal(err)
		}
	}
}

// cancelWithin is how soon a call ends after its context has.
const cancelWithin = 100 * time.Millisecond

// canceled runs f, ends its context after a while, and returns how long f went on from there. f has ended before when done is set.
func canceled(t *testing.T, f func(context.Context) error, after time.Duration) (late time.Duration, done bool, err error) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	end := make(chan time.Time, 1)
	timer := time.AfterFunc(after, func() { end <- time.Now(); cancel() })
	err = f(ctx)
	now := time.Now()
	if timer.Stop() {
		return 0, true, err
	}
	return now.Sub(<-end), false, err
}

// Whatever a call does, it ends within a tenth of a second when its context does; only a commit that is being written is
// brought to its end.
func TestCanceledSoon(t *testing.T) {
	if testing.Short() {
		t.Skip("works on a million rows; not in short mode")
	}
	db := mustOpen(t, t.TempDir(), &Options{Logger: quiet, AutovacuumOff: true})
	defer db.Close()
	const rows = 1_000_000
	tb := longTable(t, db, rows)
	if err := db.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	aggregate := func(what string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := tb.Query().Aggregate(ctx, what)
			return err
		}
	}
	ordered := func(by string, limit int64) func(context.Context) error {
		return func(ctx context.Context) error {
			for _, err := range tb.Query().OrderBy(by).Limit(limit).Rows(ctx) {
				if err != nil {
					return err
				}
			}
			return nil
		}
	}
	index := func(d IndexDef) func(context.Context) error {
		return func(ctx context.Context) error {
			d.Name = "new"
			err := tb.CreateIndexes(ctx, d)
			if err == nil {
				err = db.DropIndex(t.Context(), d.Name)
			}
			return err
		}
	}
	again := tb.NewBatch()
	for n := range 200_000 {
		if err := again.Append(n*3, n, 1.5, "again", []int64{1}); err != nil {
			t.Fatal(err)
		}
	}
	first := tb.Query().Where("id < 400000")
	loaded, err := db.CreateTable(t.Context(), "loaded", tb.Columns()...)
	if err != nil {
		t.Fatal(err)
	}
	if err := loaded.CreateIndexes(t.Context(), IndexDef{Name: "loaded_by", Method: "gin", Columns: []IndexColumn{{Name: "s"}, {Name: "f"}, {Name: "l"}}}); err != nil {
		t.Fatal(err)
	}
	load := loaded.NewBatch()
	for n := range 20_000 {
		if err := load.Append(n, n, 1.5, fmt.Sprint("s", n), []int64{int64(n)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		writes bool // the call may have got to its commit, and ends without an error
		f      func(context.Context) error
	}{
		{"sum of distinct", false, aggregate("sum(distinct f)")},
		{"count of distinct", false, aggregate("count(distinct s)")},
		{"median", false, aggregate("median(s)")},
		{"histogram", false, func(ctx context.Context) error { _, err := tb.Query().Histogram(ctx, "s", 10); return err }},
		{"sort", false, ordered("s, f", rows)},
		{"sort with a limit", false, ordered("f", rows/4)},
		{"condition", false, func(ctx context.Context) error {
			_, err := tb.Query().Where("not l @> '{5}' and s > '1' and not l && '{7,8,9}'").Count(ctx)
			return err
		}},
		{"btree on text", false, index(IndexDef{Columns: []IndexColumn{{Name: "s"}, {Name: "f"}}})},
		{"unique btree", false, index(IndexDef{Unique: true, Columns: []IndexColumn{{Name: "s"}}})},
		{"gin", false, index(IndexDef{Method: "gin", Columns: []IndexColumn{{Name: "s"}, {Name: "l"}}})},
		{"rum", false, index(IndexDef{Method: "rum", Columns: []IndexColumn{{Name: "s"}, {Name: "l"}}})},
		{"on conflict do nothing", true, func(ctx context.Context) error {
			_, _, err := tb.InsertOnConflict(ctx, again, OnConflict{}, NoSync)
			return err
		}},
		{"on conflict do update", true, func(ctx context.Context) error {
			_, _, err := tb.InsertOnConflict(ctx, again, OnConflict{Index: "by_id", Set: "s = excluded.s || t.s"}, NoSync)
			return err
		}},
		{"update", true, func(ctx context.Context) error {
			_, err := first.Update(ctx, "f = f / 2, s = s || '!'", NoSync)
			return err
		}},
		{"update of keys", true, func(ctx context.Context) error { _, err := first.Update(ctx, "id = -id", NoSync); return err }},
		{"update in a transaction", true, func(ctx context.Context) error {
			return db.Update(ctx, func(tx *Tx) error {
				_, err := tx.UpdateWhere(ctx, tb, "id < 400000", "s = s || '!'")
				return err
			}, NoSync)
		}},
		{"delete", true, func(ctx context.Context) error {
			_, err := tb.DeleteWhere(ctx, "s > '8' and not l && '{1,2,3}'", NoSync)
			return err
		}},
		{"load", true, func(ctx context.Context) error {
			for {
				if err := loaded.InsertBatch(ctx, load, NoSync); err != nil {
					return err
				}
			}
		}},
		{"vacuum", false, func(ctx context.Context) error {
			for {
				if _, err := tb.Vacuum(ctx, VacuumOptions{Full: true}); err != nil {
					return err
				}
			}
		}},
		{"check", false, func(ctx context.Context) error {
			for {
				if err := db.Check(ctx); err != nil {
					return err
				}
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, after := range []time.Duration{15 * time.Millisecond, 70 * time.Millisecond, 300 * time.Millisecond} {
				var late time.Duration
				for attempt := range 4 { // what else runs on the machine makes it late at times
					l, done, err := canceled(t, c.f, after)
					if done {
						if err != nil || after < 50*time.Millisecond {
							t.Fatalf("it ended before %v: %v", after, err)
						}
						return
					}
					if err == nil && c.writes {
						return
					}
					if err != nil && !errors.Is(err, ErrCanceled) {
						t.Fatal(err)
					}
					if attempt == 0 || l < late {
						late = l
					}
					if late <= cancelWithin {
						break
					}
				}
				if late > cancelWithin {
					t.Errorf("canceled after %v it goes on for %v", after, late)
				}
			}
		})
	}
	if err := db.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// Who waits behind a long commit, or a change of a table, leaves when the context ends, and has done nothing.
func TestCanceledInTheQueue(t *testing.T) {
	db, tb := waitTable(t)
	before := count(t, tb, "")
	began, finish := make(chan bool), make(chan bool)
	leader := make(chan error, 1)
	go func() {
		leader <- db.between(context.Background(), func(*commitGroup) error {
			close(began)
			<-finish
			return nil
		})
	}()
	<-began
	for name, f := range map[string]func(context.Context) error{
		"insert": func(ctx context.Context) error { return tb.Insert(ctx, []any{1}) },
		"delete": func(ctx context.Context) error { _, err := tb.DeleteWhere(ctx, "a < 500"); return err },
		"update": func(ctx context.Context) error { _, err := tb.UpdateWhere(ctx, "a < 500", "a = -a"); return err },
		"transaction": func(ctx context.Context) error {
			return db.Update(ctx, func(tx *Tx) error { return tx.Insert(tb, []any{2}) })
		},
		"flush": tb.Flush,
		"add":   func(ctx context.Context) error { return tb.AddColumns(ctx, Column{Name: "b", Type: Int4}) },
		"index": func(ctx context.Context) error {
			return tb.CreateIndexes(ctx, IndexDef{Name: "i", Columns: []IndexColumn{{Name: "a"}}})
		},
		"drop":   func(ctx context.Context) error { return db.DropTable(ctx, "t") },
		"rename": func(ctx context.Context) error { return tb.Rename(ctx, "u") },
	} {
		late, done, err := canceled(t, f, 5*time.Millisecond)
		if done || !errors.Is(err, ErrCanceled) || late > 10*cancelWithin {
			t.Errorf("%s: it goes on for %v (ended before: %v): %v", name, late, done, err)
		}
	}
	close(finish)
	if err := ended(t, "the leader", leader); err != nil {
		t.Error(err)
	}
	if err := tb.Insert(t.Context(), []any{3}); err != nil {
		t.Error(err)
	}
	if n := count(t, tb, ""); n != before+1 || count(t, tb, "a < 0") != 0 || len(tb.Columns()) != 1 || len(tb.Indexes()) != 1 || tb.Name() != "t" {
		t.Errorf("something was done: %d rows, want %d; %v, %v", n, before+1, tb.Columns(), tb.Indexes())
	}
}

// Writers that leave the queue while others lead it lose nothing of the others' and leave nothing of their own.
func TestCanceledAmongOthers(t *testing.T) {
	db, tb := waitTable(t)
	before := count(t, tb, "")
	const writers, each = 8, 300
	results := make(chan [2]int64, writers)
	for w := range writers {
		go func() {
			rnd := rand.New(rand.NewPCG(uint64(w), 3))
			done, unknown := int64(0), int64(0)
			for range each {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rnd.IntN(60))*time.Microsecond)
				err := tb.Insert(ctx, []any{rnd.Int32()}, NoSync)
				cancel()
				switch {
				case err == nil:
					done++
				case !errors.Is(err, ErrCanceled):
					unknown++
					t.Errorf("insert: %v", err)
				}
			}
			results <- [2]int64{done, unknown}
		}()
	}
	want := before
	for range writers {
		r := <-results
		want += r[0]
	}
	if n := count(t, tb, ""); n != want || want == before || want == before+writers*each {
		t.Errorf("%d rows, want %d of at most %d", n, want, before+writers*each)
	}
	if err := db.Check(t.Context()); err != nil {
		t.Error(err)
	}
}
