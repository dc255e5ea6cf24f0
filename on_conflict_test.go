package wideleaf

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"wideleaf/pgerr"
)

func upsertTable(t *testing.T) *Table {
	t.Helper()
	ctx := context.Background()
	db, err := Open(t.TempDir(), &Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	tb, err := db.CreateTable(ctx, "t", Column{Name: "a", Type: Int8}, Column{Name: "b", Type: Text}, Column{Name: "n", Type: Int4})
	if err != nil {
		t.Fatal(err)
	}
	for _, def := range []IndexDef{
		{Name: "t_a", Unique: true, Columns: []IndexColumn{{Name: "a"}}},
		{Name: "t_b", Unique: true, Columns: []IndexColumn{{Name: "b"}}},
	} {
		if err := db.CreateIndex(ctx, "t", def); err != nil {
			t.Fatal(err)
		}
	}
	return tb
}

func upsertRows(t *testing.T, tb *Table, oc OnConflict, rows ...[]any) (string, error) {
	t.Helper()
	b := tb.NewBatch()
	for _, r := range rows {
		if err := b.Append(r...); err != nil {
			t.Fatal(err)
		}
	}
	ins, upd, err := tb.InsertOnConflict(context.Background(), b, oc)
	return fmt.Sprint(ins, " ", upd), err
}

func allRows(t *testing.T, tb *Table) string {
	t.Helper()
	s := ""
	for row, err := range tb.Query().Select("a, b, n").OrderBy("a, b").Rows(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		s += fmt.Sprintf("%v,%v,%v ", row[0], row[1], row[2])
	}
	return s
}

// What PostgreSQL 15 does with the same statements.
func TestOnConflict(t *testing.T) {
	for _, flush := range []bool{false, true} {
		t.Run(fmt.Sprint("flushed=", flush), func(t *testing.T) {
			tb := upsertTable(t)
			step := func(oc OnConflict, want string, after string, rows ...[]any) {
				t.Helper()
				if flush {
					if err := tb.Flush(context.Background()); err != nil {
						t.Fatal(err)
					}
				}
				if got, err := upsertRows(t, tb, oc, rows...); err != nil || got != want {
					t.Fatalf("got %s, %v, want %s", got, err, want)
				}
				if got := allRows(t, tb); got != after {
					t.Fatalf("got %s, want %s", got, after)
				}
			}
			add := OnConflict{Index: "t_a", Set: "n = t.n + excluded.n, b = excluded.b"}
			step(OnConflict{}, "2 0", "1,x,1 2,y,2 ", []any{1, "x", 1}, []any{2, "y", 2})
			step(OnConflict{}, "1 0", "1,x,1 2,y,2 3,z,3 ", []any{1, "q", 9}, []any{4, "y", 9}, []any{3, "z", 3}, []any{3, "zz", 9})
			step(add, "1 2", "1,w,11 2,y,22 3,z,3 5,v,50 ", []any{1, "w", 10}, []any{2, "y", 20}, []any{5, "v", 50})
			step(OnConflict{Index: "t_b"}, "1 0", "1,w,11 2,y,22 3,z,3 5,v,50 6,u,6 ", []any{9, "v", 1}, []any{6, "u", 6})
			// NULL conflicts with nothing.
			step(add, "2 0", "1,w,11 2,y,22 3,z,3 5,v,50 6,u,6 ,s,1 ,t,1 ", []any{nil, "s", 1}, []any{nil, "t", 1})

			before := allRows(t, tb)
			for _, bad := range []struct {
				oc   OnConflict
				rows [][]any
				code string
			}{
				{add, [][]any{{7, "r", 1}, {7, "p", 1}}, "21000"},                       // twice in one command
				{add, [][]any{{1, "o", 1}, {1, "p", 1}}, "21000"},                       // a row that is there, twice
				{add, [][]any{{8, "z", 1}}, "23505"},                                    // a key that doesn't count
				{OnConflict{Index: "t_a"}, [][]any{{8, "z", 1}}, "23505"},               // the same
				{add, [][]any{{1, "z", 1}}, "23505"},                                    // the update makes one
				{OnConflict{Index: "nothing"}, [][]any{{8, "z", 1}}, "42P10"},           // no such index
				{OnConflict{Set: "n = 1"}, [][]any{{8, "z", 1}}, "42601"},               // DO UPDATE needs one
				{OnConflict{Index: "t_a", Set: "m = 1"}, [][]any{{1, "z", 1}}, "42703"}, // no such column
				{OnConflict{Index: "t_a", Set: "n = excluded.m"}, [][]any{{1, "z", 1}}, "42703"},
				{OnConflict{Index: "t_a", Set: "n = n / 0"}, [][]any{{1, "z", 1}}, "22012"},
			} {
				_, err := upsertRows(t, tb, bad.oc, bad.rows...)
				var e *Error
				if !errors.As(err, &e) || e.Code != bad.code {
					t.Errorf("%+v of %v: got %v, want %s", bad.oc, bad.rows, err, bad.code)
				}
				if got := allRows(t, tb); got != before {
					t.Fatalf("%+v of %v changed the rows: %s", bad.oc, bad.rows, got)
				}
			}
		})
	}
}

// Counters that many writers add to miss nothing.
func TestOnConflictConcurrently(t *testing.T) {
	tb := upsertTable(t)
	const keys, writers, each = 7, 6, 60
	var wg sync.WaitGroup
	for w := range writers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			r := rand.New(rand.NewPCG(uint64(w), 1))
			for i := range each {
				k := r.IntN(keys)
				b := tb.NewBatch()
				if err := b.Append(k, fmt.Sprint("key ", k), 1); err != nil {
					t.Error(err)
					return
				}
				if _, _, err := tb.InsertOnConflict(context.Background(), b, OnConflict{Index: "t_a", Set: "n = n + excluded.n"}); err != nil {
					t.Errorf("writer %d, %d: %v", w, i, err)
					return
				}
				if i == 30 && w == 0 {
					if err := tb.Flush(context.Background()); err != nil {
						t.Error(err)
					}
				}
			}
		}()
	}
	wg.Wait()
	sum := int64(0)
	for row, err := range tb.Query().Select("n").Rows(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		sum += row[0].Int()
	}
	wantRows(t, tb, keys)
	if sum != writers*each {
		t.Errorf("the counters are %d together, want %d", sum, writers*each)
	}
}

// Rows that are updated keep the keys of columns that the update leaves alone: nobody looks these up again, but rows inserted
// beside them still must not have them.
func TestUpdatedRowsKeepTheirKeys(t *testing.T) {
	ctx := t.Context()
	db := mustOpen(t, "db", testOptions(vfs.NewMem()))
	defer db.Close()
	tb, err := db.CreateTable(ctx, "t", Column{Name: "id", Type: Int4}, Column{Name: "k", Type: Int4}, Column{Name: "v", Type: Int4})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.CreateIndexes(ctx, "t",
		IndexDef{Name: "by_id", Unique: true, Columns: []IndexColumn{{Name: "id"}}},
		IndexDef{Name: "by_k", Unique: true, Columns: []IndexColumn{{Name: "k"}}}); err != nil {
		t.Fatal(err)
	}
	if err := tb.Insert(ctx, []any{1, 10, 0}); err != nil {
		t.Fatal(err)
	}
	for _, flushed := range []bool{false, true} {
		if flushed {
			if err := tb.Flush(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if n, err := tb.UpdateWhere(ctx, "id = 1", "v = v + 1"); n != 1 || err != nil {
			t.Fatalf("%d rows, %v", n, err)
		}
		b := tb.NewBatch()
		for _, row := range [][]any{{1, 99, 5}, {2, 10, 6}} {
			if err := b.Append(row...); err != nil {
				t.Fatal(err)
			}
		}
		_, _, err := tb.InsertOnConflict(ctx, b, OnConflict{Index: "by_id", Set: "v = excluded.v"})
		if code(err) != pgerr.UniqueViolation || !strings.Contains(fmt.Sprint(err), "by_k") {
			t.Errorf("flushed: %v: the inserted row has the key of the updated one: %v", flushed, err)
		}
		if err := tb.Insert(ctx, []any{3, 10, 0}); code(err) != pgerr.UniqueViolation {
			t.Errorf("flushed: %v: the updated row's key is there once more: %v", flushed, err)
		}
		if _, err := tb.UpdateWhere(ctx, "id = 1", "k = 11"); err != nil {
			t.Error(err)
		}
		if _, err := tb.UpdateWhere(ctx, "id = 1", "k = 10"); err != nil {
			t.Error(err)
		}
	}
	if n := count(t, tb, "k = 10 and v = 2"); n != 1 || count(t, tb, "") != 1 {
		t.Errorf("%d rows", count(t, tb, ""))
	}
}
