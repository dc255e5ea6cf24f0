package wideleaf

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"wideleaf/pgerr"
)

var asColumns = []Column{{Name: "n", Type: Int4}, {Name: "s", Type: Text}}

// fillRows puts rows numbered from, from+1, ... into a table, without waiting for the disk.
func fillRows(t *testing.T, tb *Table, from, rows int) {
	t.Helper()
	b := tb.NewBatch()
	for i := range rows {
		if err := b.Append(from+i, fmt.Sprint(from+i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := tb.InsertBatch(t.Context(), b, NoSync); err != nil {
		t.Fatal(err)
	}
}

// isGone checks that no trace of the table "t" and its index is left, under all names that it took.
func isGone(t *testing.T, db *DB) {
	t.Helper()
	if _, err := db.Table("t"); !errors.Is(err, ErrNotFound) {
		t.Fatalf("the table is found: %v", err)
	}
	if n := len(db.Tables()); n != 0 {
		t.Fatalf("%d tables", n)
	}
	tb, err := db.CreateTable(t.Context(), "t", asColumns...)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.CreateIndexes(t.Context(), "t", indexEvery("t", asColumns)...); err != nil {
		t.Fatal(err)
	}
	if n := count(t, tb, "n >= 0"); n != 0 {
		t.Fatalf("%d rows", n)
	}
	if err := db.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	m, err := db.Metrics()
	if err != nil || m.Tables != 1 || m.Segments != 0 || m.Runs != 0 {
		t.Fatalf("%d tables, %d segments, %d runs, %v", m.Tables, m.Segments, m.Runs, err)
	}
}

// A table that is being filled is nobody's but its filler's; then it is there whole, after a crash too, although its
// commits did not wait for the disk.
func TestCreateTableAs(t *testing.T) {
	ctx := t.Context()
	fs := vfs.NewCrashableMem()
	db := mustOpen(t, "db", testOptions(fs))
	defer func() { _ = db.Close() }()
	var inside *Table
	tb, err := db.CreateTableAs(ctx, "t", asColumns, func(ctx context.Context, tb *Table) error {
		inside = tb
		fillRows(t, tb, 0, 100)
		if err := tb.CreateIndexes(ctx, indexEvery("t", asColumns)...); err != nil {
			return err
		}
		if err := tb.Flush(ctx); err != nil {
			return err
		}
		fillRows(t, tb, 100, 50)
		if _, err := db.Table("T"); !errors.Is(err, ErrNotFound) || len(db.Tables()) != 0 {
			t.Errorf("the table is found while it is filled: %v", err)
		}
		if err := db.DropTable(ctx, "t"); !errors.Is(err, ErrNotFound) {
			t.Errorf("the table can be dropped while it is filled: %v", err)
		}
		var e *Error
		for _, name := range []string{"t", "idx_t_1"} {
			if _, err := db.CreateTable(ctx, name, asColumns...); !errors.As(err, &e) || e.Code != pgerr.DuplicateTable {
				t.Errorf("its name %s is free: %v", name, err)
			}
		}
		if n := count(t, tb, "n < 120"); n != 120 {
			t.Errorf("its filler sees %d rows, want 120", n)
		}
		return nil
	})
	if err != nil || tb != inside {
		t.Fatal(err)
	}
	for name, fs := range map[string]vfs.FS{"crashed": fs.CrashClone(vfs.CrashCloneCfg{}), "closed": fs} {
		if name == "closed" {
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		}
		db := mustOpen(t, "db", testOptions(fs))
		tb, err := db.Table("t")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if n := count(t, tb, "n >= 0 and s is not null"); n != 150 || len(tb.Indexes()) != 2 {
			t.Errorf("%s: %d rows, want 150; %d indexes", name, n, len(tb.Indexes()))
		}
		if err := db.Check(ctx); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Whatever ends the filling, nothing is left.
func TestCreateTableAsFails(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		end  func(cancel func()) error
		want error
	}{
		"error":     {func(func()) error { return broken }, broken},
		"cancelled": {func(cancel func()) error { cancel(); return nil }, ErrCanceled},
		"panic":     {func(func()) error { panic(broken) }, broken},
	} {
		t.Run(name, func(t *testing.T) {
			db := mustOpen(t, "db", testOptions(vfs.NewMem()))
			defer func() {
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			}()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			err := func() (err error) {
				defer func() {
					if r := recover(); r != nil {
						err = r.(error)
					}
				}()
				_, err = db.CreateTableAs(ctx, "t", asColumns, func(ctx context.Context, tb *Table) error {
					if err := tb.CreateIndexes(ctx, indexEvery("t", asColumns)...); err != nil {
						return err
					}
					fillRows(t, tb, 0, 100)
					if err := tb.Flush(ctx); err != nil {
						return err
					}
					fillRows(t, tb, 100, 50)
					return c.end(cancel)
				})
				return err
			}()
			if !errors.Is(err, c.want) {
				t.Fatalf("error %v, want %v", err, c.want)
			}
			isGone(t, db)
		})
	}
}

// A crash at any step of the filling leaves nothing behind, and what was there before stays.
func TestCreateTableAsCrash(t *testing.T) {
	fs := vfs.NewCrashableMem()
	db := mustOpen(t, "db", testOptions(fs))
	defer func() { _ = db.Close() }()
	step := 0
	crash := func(ctx context.Context) error {
		step++
		if err := db.Settle(ctx); err != nil { // a clone must not run beside the background's work on files
			return err
		}
		for _, percent := range []int{0, 50, 100} {
			rng := rand.New(rand.NewPCG(uint64(step), uint64(percent)))
			clone := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng})
			ro := testOptions(clone)
			ro.ReadOnly = true
			db := mustOpen(t, "db", ro)
			if len(db.Tables()) != 0 {
				t.Errorf("step %d: a table is found read-only", step)
			}
			if err := db.Close(); err != nil {
				return err
			}
			db = mustOpen(t, "db", testOptions(clone))
			isGone(t, db)
			if err := errors.Join(db.Check(ctx), db.Close()); err != nil {
				return fmt.Errorf("step %d: %w", step, err)
			}
		}
		return nil
	}
	_, err := db.CreateTableAs(t.Context(), "t", asColumns, func(ctx context.Context, tb *Table) error {
		for _, do := range []func() error{
			func() error { return nil },
			func() error { fillRows(t, tb, 0, 1000); return nil },
			func() error { return tb.CreateIndexes(ctx, indexEvery("t", asColumns)...) },
			func() error { return tb.Flush(ctx) },
			func() error { fillRows(t, tb, 1000, 1000); return tb.Flush(ctx) },
			func() error { fillRows(t, tb, 2000, 10); return nil },
		} {
			if err := errors.Join(do(), crash(ctx)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || step != 6 {
		t.Fatal(err)
	}
}

// Close in the midst of a filling ends it, and the next Open removes what is there.
func TestCloseEndsFilling(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, "db", testOptions(fs))
	closed := make(chan error, 1)
	_, err := db.CreateTableAs(t.Context(), "t", asColumns, func(ctx context.Context, tb *Table) error {
		fillRows(t, tb, 0, 100)
		go func() { closed <- db.Close() }()
		<-ctx.Done()
		return context.Cause(ctx)
	})
	if !errors.Is(err, ErrClosed) {
		t.Errorf("error %v, want that the database is closed", err)
	}
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	db = mustOpen(t, "db", testOptions(fs))
	isGone(t, db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := db.CreateTableAs(t.Context(), "t", asColumns, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestCreateTableAsBadInput(t *testing.T) {
	db := mustOpen(t, "db", testOptions(vfs.NewMem()))
	defer func() { _ = db.Close() }()
	never := func(context.Context, *Table) error { t.Error("called"); return nil }
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for want, f := range map[string]func() error{
		"must have at least one column": func() error { _, err := db.CreateTableAs(t.Context(), "t", nil, never); return err },
		"name must not be empty":        func() error { _, err := db.CreateTableAs(t.Context(), "", asColumns, never); return err },
		"canceling":                     func() error { _, err := db.CreateTableAs(ended, "t", asColumns, never); return err },
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	isGone(t, db)
}
