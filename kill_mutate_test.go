package wideleaf

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// killMutateTable is the table of the database on which the killed process deletes and updates.
const killMutateTable = "mutated"

// Each client's step k is one transaction: it inserts row k, updates row k - killUpdate and deletes row k - killDelete.
const killUpdate, killDelete = 5, 20

func mutateStep(ctx context.Context, db *DB, tb *Table, client, k int) error {
	return db.Update(ctx, func(tx *Tx) error {
		if err := tx.Insert(tb, []any{client, k, 0, "new"}); err != nil {
			return err
		}
		mine := fmt.Sprintf("client = %d and n = ", client)
		if n, err := tx.UpdateWhere(ctx, tb, mine+fmt.Sprint(k-killUpdate), "v = v + 1, s = s || '!'"); err != nil || n > 1 {
			return fmt.Errorf("%d rows updated, %w", n, err)
		}
		if n, err := tx.DeleteWhere(ctx, tb, mine+fmt.Sprint(k-killDelete)); err != nil || n > 1 {
			return fmt.Errorf("%d rows deleted, %w", n, err)
		}
		return nil
	})
}

// mutateUntilKilled is insertUntilKilled with deletes and updates, flushes and vacuums.
func mutateUntilKilled(db *DB, tb *Table) error {
	ctx := context.Background()
	next := make([]int, killClients)
	for c := range next {
		v, err := tb.Query().Where(fmt.Sprintf("client = %d", c)).Aggregate(ctx, "max(n)")
		if err != nil {
			return err
		}
		if !v[0].IsNull() {
			next[c] = int(v[0].Int()) + 1
		}
	}
	fmt.Println("ready")
	var out sync.Mutex
	errs := make(chan error, killClients+1)
	for c := range killClients {
		go func() {
			for k := next[c]; ; k++ {
				if err := mutateStep(ctx, db, tb, c, k); err != nil {
					errs <- err
					return
				}
				out.Lock()
				fmt.Println(c, k)
				out.Unlock()
			}
		}()
	}
	go func() {
		for {
			time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
			err := tb.Flush(ctx)
			if err == nil && rand.IntN(3) == 0 {
				_, err = tb.Vacuum(ctx, VacuumOptions{Full: true})
			}
			if err != nil {
				errs <- err
				return
			}
		}
	}()
	return <-errs
}

// Kill -9 in the middle of transactions that insert, update and delete, beside flushes, merges and vacuums: each is there
// whole or not at all, and all that were acknowledged are.
func TestKillMutating(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills processes; not in short mode")
	}
	ctx := context.Background()
	dir := t.TempDir()
	db := mustOpen(t, dir, &Options{Logger: quiet})
	if _, err := db.CreateTable(ctx, killMutateTable, Column{Name: "client", Type: Int4}, Column{Name: "n", Type: Int4},
		Column{Name: "v", Type: Int4}, Column{Name: "s", Type: Text}); err != nil {
		t.Fatal(err)
	}
	if err := db.CreateIndexes(ctx, killMutateTable,
		IndexDef{Name: "i_n", Columns: []IndexColumn{{Name: "n"}}},
		IndexDef{Name: "i_cv", Columns: []IndexColumn{{Name: "client"}, {Name: "v"}}}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	acked := [killClients]int{-1, -1, -1, -1}
	for kill := range 10 {
		killed(t, dir, &acked)
		db := mustOpen(t, dir, &Options{Logger: quiet})
		tb, err := db.Table(killMutateTable)
		if err != nil {
			t.Fatal(err)
		}
		for c := range killClients {
			rows, err := collect(tb.Query().Where(fmt.Sprintf("client = %d", c)).Select("n", "v", "s").OrderBy("n"))
			if err != nil {
				t.Fatal(err)
			}
			last := -1
			if len(rows) > 0 {
				last = int(rows[len(rows)-1][0].Int())
			}
			if last < acked[c] {
				t.Fatalf("kill %d: client %d is at step %d, %d was acknowledged", kill, c, last, acked[c])
			}
			if len(rows) != min(last+1, killDelete) {
				t.Fatalf("kill %d: client %d has %d rows at step %d", kill, c, len(rows), last)
			}
			for i, row := range rows {
				n := last - len(rows) + 1 + i
				want := fmt.Sprintf("[%d 0 new]", n)
				if n <= last-killUpdate {
					want = fmt.Sprintf("[%d 1 new!]", n)
				}
				if fmt.Sprint(row) != want {
					t.Fatalf("kill %d: client %d at step %d has the row %v, want %s", kill, c, last, row, want)
				}
				if k := count(t, tb, fmt.Sprintf("n = %d and client = %d", n, c)); k != 1 {
					t.Fatalf("kill %d: %d rows by index of %v", kill, k, row)
				}
			}
			acked[c] = last
		}
		if err := db.Check(ctx); err != nil {
			t.Fatalf("kill %d: %v", kill, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("steps by client: %v", acked)
}
