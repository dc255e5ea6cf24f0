package wideleaf

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A snapshot gives what was there when it was taken, whatever is deleted, updated, merged and vacuumed meanwhile, and what
// it holds back is freed when it is released.
func TestSnapshotStaysAsItWas(t *testing.T) {
	ctx := context.Background()
	r := rand.New(rand.NewPCG(3, 9))
	o := testOptions(vfs.NewMem())
	o.MergeFanIn, o.AutovacuumVacuumThreshold = 2, 1
	db := mustOpen(t, "db", o)
	defer db.Close()
	tb := createMutants(t, db)
	var model mutants
	ids := int64(0)
	insert := func(n int) {
		t.Helper()
		b := tb.NewBatch()
		for range n {
			m := mutant{id: ids, k: r.Int64N(120), s: fmt.Sprintf("s%d", r.IntN(10))}
			ids++
			if err := b.Append(m.id, m.k, m.s, m.k); err != nil {
				t.Fatal(err)
			}
			model = append(model, m)
		}
		if err := tb.InsertBatch(ctx, b, NoSync); err != nil {
			t.Fatal(err)
		}
	}
	for range 4 {
		insert(300)
		if err := tb.Flush(ctx); err != nil {
			t.Fatal(err)
		}
	}
	insert(100)
	sn, err := db.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	then := slices.Clone(model)
	before := func() *Query { return sn.Query(tb) }
	for round := range 4 {
		var c mutantCondition
		c.sql = fmt.Sprintf("id between %d and %d", round*300, round*300+279)
		c.holds = func(m mutant) bool { return m.id >= int64(round*300) && m.id <= int64(round*300+279) }
		if _, err := tb.DeleteWhere(ctx, c.sql); err != nil {
			t.Fatal(err)
		}
		model = slices.DeleteFunc(model, c.holds)
		insert(50)
		if _, err := tb.Vacuum(ctx, VacuumOptions{Full: true}); err != nil {
			t.Fatal(err)
		}
		if err := db.Settle(ctx); err != nil {
			t.Fatal(err)
		}
		mutants(then).compare(t, r, before, ids, fmt.Sprintf("round %d, the snapshot", round))
		model.compare(t, r, tb.Query, ids, fmt.Sprintf("round %d, the table", round))
	}
	m, err := db.Metrics()
	if err != nil || m.SnapshotsHeld != 1 || m.OldestSnapshot <= 0 || m.RetiredFiles == 0 || m.Purges == 0 || m.Rewrites == 0 {
		t.Fatalf("metrics with a snapshot: %+v (%v)", m, err)
	}
	sn.Release()
	if err := db.Settle(ctx); err != nil {
		t.Fatal(err)
	}
	if m, err = db.Metrics(); err != nil || m.SnapshotsHeld != 0 || m.OldestSnapshot != 0 {
		t.Fatalf("metrics after the snapshot: %+v (%v)", m, err)
	}
	if err := db.Check(ctx); err != nil {
		t.Fatal(err)
	}
}

// Statements of a transaction see what the ones before them did; others see all of it or nothing.
func TestTransactionSeesItsOwnChanges(t *testing.T) {
	ctx := context.Background()
	db := mustOpen(t, "db", testOptions(vfs.NewMem()))
	defer db.Close()
	tb, err := db.CreateTable(ctx, "t", Column{Name: "a", Type: Int4}, Column{Name: "s", Type: Text})
	if err == nil {
		err = db.CreateIndexes(ctx, "t", indexEvery("t", tb.Columns())...)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		if err := tb.Insert(ctx, []any{i, fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(what string, want int64) func(int64, error) {
		return func(n int64, err error) {
			t.Helper()
			if n != want || err != nil {
				t.Errorf("%s: %d rows, want %d (%v)", what, n, want, err)
			}
		}
	}
	err = db.Update(ctx, func(tx *Tx) error {
		expect("delete", 2)(tx.DeleteWhere(ctx, tb, "a < 2"))
		expect("delete again", 0)(tx.DeleteWhere(ctx, tb, "a < 2"))
		if err := tx.Insert(tb, []any{100, "new"}); err != nil {
			return err
		}
		expect("update old and new", 5)(tx.UpdateWhere(ctx, tb, "true", "a = a + 1"))
		expect("update of updated rows", 2)(tx.UpdateWhere(ctx, tb, "a in (3, 101)", "s = s || '!'"))
		expect("delete of an updated row", 1)(tx.DeleteWhere(ctx, tb, "a = 4"))
		if n := count(t, tb, ""); n != 6 {
			t.Errorf("others see %d rows before the commit", n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := collect(tb.Query().OrderBy("a"))
	if got, want := fmt.Sprint(rows, err), "[[3 2!] [5 4] [6 5] [101 new!]] <nil>"; got != want {
		t.Errorf("after the commit: %s, want %s", got, want)
	}
	// Nothing of one that fails.
	failed := errors.New("no")
	err = db.Update(ctx, func(tx *Tx) error {
		expect("delete", 4)(tx.DeleteWhere(ctx, tb, "true"))
		return failed
	})
	if n := count(t, tb, ""); err != failed || n != 4 {
		t.Errorf("after a transaction that failed: %d rows (%v)", n, err)
	}
	// A row that another commit changes first.
	err = db.Update(ctx, func(tx *Tx) error {
		expect("update", 1)(tx.UpdateWhere(ctx, tb, "a = 5", "a = 50"))
		expect("update by another", 1)(tb.UpdateWhere(ctx, "a = 5", "s = 'other'"))
		return nil
	})
	if !errors.Is(err, ErrConflict) || code(err) != "40001" {
		t.Errorf("lost update: %v", err)
	}
	if n := count(t, tb, "a = 5 and s = 'other'"); n != 1 {
		t.Errorf("after the conflict: %d", n)
	}
	// Its snapshot: rows that others insert meanwhile are not seen.
	err = db.Update(ctx, func(tx *Tx) error {
		expect("first", 0)(tx.DeleteWhere(ctx, tb, "a = 77"))
		if err := tb.Insert(ctx, []any{77, "late"}); err != nil {
			return err
		}
		expect("second", 0)(tx.DeleteWhere(ctx, tb, "a = 77"))
		return nil
	})
	if n := count(t, tb, "a = 77"); err != nil || n != 1 {
		t.Errorf("a row inserted meanwhile: %d (%v)", n, err)
	}
}
