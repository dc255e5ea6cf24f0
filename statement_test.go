package wideleaf

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Concurrent updates of one row all count, beside inserts and deletes of others: none is lost, none done twice.
func TestConcurrentUpdatesOfOneRow(t *testing.T) {
	ctx := context.Background()
	db := mustOpen(t, "db", testOptions(vfs.NewMem()))
	defer db.Close()
	tb, err := db.CreateTable(ctx, "t", intColumns(2)...)
	if err == nil {
		err = db.CreateIndexes(ctx, "t", indexEvery("t", tb.Columns())...)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := tb.Insert(ctx, []any{1, 0}); err != nil {
		t.Fatal(err)
	}
	const clients, times = 8, 60
	var wg sync.WaitGroup
	for c := range clients {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range times {
				if n, err := tb.UpdateWhere(ctx, "c1 = 1", "c2 = c2 + 1", NoSync); n != 1 || err != nil {
					t.Errorf("update: %d rows, %v", n, err)
					return
				}
				own := 10 + c*times + i
				if err := tb.Insert(ctx, []any{own, 0}, NoSync); err != nil {
					t.Error(err)
				}
				if i%2 == 0 {
					if n, err := tb.DeleteWhere(ctx, fmt.Sprintf("c1 = %d", own), NoSync); n != 1 || err != nil {
						t.Errorf("delete: %d rows, %v", n, err)
					}
				}
				if c == 0 && i%20 == 5 {
					if err := tb.Flush(ctx); err != nil {
						t.Error(err)
					}
				}
			}
		}()
	}
	wg.Wait()
	if n := count(t, tb, fmt.Sprintf("c1 = 1 and c2 = %d", clients*times)); n != 1 {
		rows, _ := collect(tb.Query().Where("c1 = 1"))
		t.Fatalf("after %d updates: %v", clients*times, rows)
	}
	if n := count(t, tb, ""); n != 1+clients*times/2 {
		t.Fatalf("%d rows", n)
	}
}

// Of several statements that delete the same rows each row is deleted by one.
func TestConcurrentDeletesOfTheSameRows(t *testing.T) {
	ctx := context.Background()
	db := mustOpen(t, "db", testOptions(vfs.NewMem()))
	defer db.Close()
	tb, err := db.CreateTable(ctx, "t", intColumns(1)...)
	if err != nil {
		t.Fatal(err)
	}
	b := tb.NewBatch()
	for i := range 2000 {
		if err := b.Append(i); err != nil {
			t.Fatal(err)
		}
	}
	if err := tb.InsertBatch(ctx, b); err != nil {
		t.Fatal(err)
	}
	var deleted atomic.Int64
	var wg sync.WaitGroup
	for c := range 6 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for lo := c * 7; lo < 1800; lo += 50 {
				n, err := tb.DeleteWhere(ctx, fmt.Sprintf("c1 between %d and %d", lo, lo+70), NoSync)
				if err != nil {
					t.Error(err)
				}
				deleted.Add(n)
			}
		}()
	}
	wg.Wait()
	if n := count(t, tb, ""); n+deleted.Load() != 2000 {
		t.Fatalf("%d rows deleted, %d left of 2000", deleted.Load(), n)
	}
}

// RETURNING gives deleted rows as they were and updated ones as they are, with their TIDs.
func TestReturning(t *testing.T) {
	ctx := context.Background()
	db := mustOpen(t, "db", testOptions(vfs.NewMem()))
	defer db.Close()
	tb, err := db.CreateTable(ctx, "t", Column{Name: "a", Type: Int4}, Column{Name: "s", Type: Text})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if err := tb.Insert(ctx, []any{i, fmt.Sprint("row ", i)}); err != nil {
			t.Fatal(err)
		}
		if i == 2 {
			if err := tb.Flush(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	rows, err := tb.Query().Where("a >= 2").Select("s", "ctid", "a").UpdateReturning(ctx, "a = a * 10, s = s || '!'")
	if got, want := fmt.Sprint(rows, err), "[[row 2! (1,2) 20] [row 3! (1,3) 30] [row 4! (1,4) 40]] <nil>"; got != want {
		t.Errorf("update: %s, want %s", got, want)
	}
	rows, err = tb.Query().Where("a < 30").Select("ctid", "a").DeleteReturning(ctx)
	if got, want := fmt.Sprint(rows, err), "[[(0,0) 0] [(0,1) 1] [(1,2) 20]] <nil>"; got != want {
		t.Errorf("delete: %s, want %s", got, want)
	}
	if rows, err := collect(tb.Query()); fmt.Sprint(rows, err) != "[[30 row 3!] [40 row 4!]] <nil>" {
		t.Errorf("left: %v %v", rows, err)
	}
	// By TID: those that are there.
	if n, err := tb.Update(ctx, []TID{0, 1<<16 | 3, 1<<16 | 3, 1 << 40}, "a = -1"); n != 1 || err != nil {
		t.Errorf("update by TID: %d %v", n, err)
	}
	if n, err := tb.Delete(ctx, []TID{1<<16 | 3, 1<<16 | 5, 77}); n != 1 || err != nil {
		t.Errorf("delete by TID: %d %v", n, err)
	}
	if rows, err := collect(tb.Query().Select("ctid", "a")); fmt.Sprint(rows, err) != "[[(1,4) 40]] <nil>" {
		t.Errorf("left: %v %v", rows, err)
	}
	_, err = tb.UpdateWhere(ctx, "true", "a = a / 0")
	var e *Error
	if !errors.As(err, &e) || e.Message != "division by zero" {
		t.Errorf("division by zero: %v", err)
	}
}
