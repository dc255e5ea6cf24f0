package wideleaf

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// waitTable is a flushed table whose rows have no numbers below 100 any more, in a database whose vacuums are all asked for.
func waitTable(t *testing.T) (*DB, *Table) {
	ctx := context.Background()
	db, err := Open(t.TempDir(), &Options{Logger: quiet, AutovacuumOff: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	tb, err := db.CreateTable(ctx, "t", Column{Name: "a", Type: Int4})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.CreateIndex(ctx, "t", IndexDef{Name: "by_a", Columns: []IndexColumn{{Name: "a"}}}); err != nil {
		t.Fatal(err)
	}
	insertNumbers(t, tb, 0, 1000)
	if err := tb.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := tb.DeleteWhere(ctx, "a < 100"); err != nil {
		t.Fatal(err)
	}
	return db, tb
}

func insertNumbers(t *testing.T, tb *Table, from, to int32) {
	t.Helper()
	b := tb.NewBatch()
	for i := from; i < to; i++ {
		if err := b.Append(i); err != nil {
			t.Fatal(err)
		}
	}
	if err := tb.InsertBatch(context.Background(), b, NoSync); err != nil {
		t.Fatal(err)
	}
}

// ended returns what a call in the background ended with, and fails the test when it doesn't end.
func ended(t *testing.T, what string, done <-chan error) error {
	t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(20 * time.Second):
		t.Fatalf("%s still waits", what)
		return nil
	}
}

// Whoever waits for work that a drop makes needless is told so, with no job that ends.
func TestDropEndsWaiting(t *testing.T) {
	ctx := context.Background()
	for what, wait := range map[string]func(*DB, *Table) error{
		"Flush":  func(_ *DB, tb *Table) error { return tb.Flush(ctx) },
		"Settle": func(db *DB, _ *Table) error { return db.Settle(ctx) },
	} {
		db, tb := waitTable(t)
		db.pool.Pause()
		insertNumbers(t, tb, 1000, 1010)
		if _, err := tb.seal(context.Background()); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- wait(db, tb) }()
		time.Sleep(50 * time.Millisecond) // it most likely waits now
		select {
		case err := <-done:
			t.Fatalf("%s ended with a tail to be flushed: %v", what, err)
		default:
		}
		if err := db.DropTable(ctx, "t"); err != nil {
			t.Fatal(err)
		}
		if err := ended(t, what, done); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		db.pool.Resume()
	}
}

// A vacuum that is canceled takes nothing from another of the same table.
func TestVacuumsBesideEachOther(t *testing.T) {
	db, tb := waitTable(t)
	db.pool.Pause()
	first, second := make(chan error, 1), make(chan error, 1)
	go func() {
		r, err := tb.Vacuum(context.Background(), VacuumOptions{Full: true})
		if err == nil && (r.RowsRemoved != 100 || r.RowsDead != 0 || r.Indexes[0].EntriesRemoved != 100) {
			err = fmt.Errorf("it left rows: %s", r)
		}
		first <- err
	}()
	time.Sleep(50 * time.Millisecond)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, err := tb.Vacuum(ctx, VacuumOptions{})
		second <- err
	}()
	time.Sleep(50 * time.Millisecond)
	cancel()
	if err := ended(t, "the canceled vacuum", second); !errors.Is(err, context.Canceled) {
		t.Errorf("the canceled vacuum: %v", err)
	}
	db.pool.Resume()
	if err := ended(t, "the other vacuum", first); err != nil {
		t.Errorf("the other vacuum: %v", err)
	}
}
