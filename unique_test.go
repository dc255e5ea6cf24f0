package wideleaf

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
)

func uniqueTable(t *testing.T, def IndexDef) (*DB, *Table) {
	t.Helper()
	ctx := context.Background()
	db, err := Open(t.TempDir(), &Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	tb, err := db.CreateTable(ctx, "t", Column{Name: "a", Type: Int8}, Column{Name: "b", Type: Text})
	if err != nil {
		t.Fatal(err)
	}
	def.Name = "t_key"
	if err := db.CreateIndex(ctx, "t", def); err != nil {
		t.Fatal(err)
	}
	return db, tb
}

var keyA = IndexDef{Unique: true, Columns: []IndexColumn{{Name: "a"}}}

// wantDuplicate checks that err is PostgreSQL's for a key that is there already.
func wantDuplicate(t *testing.T, err error, detail string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, ErrConstraint) || e.Code != "23505" || e.Object != "t_key" ||
		e.Message != `duplicate key value violates unique constraint "t_key"` || e.Detail != detail {
		t.Fatalf("got %v (detail %q), want detail %q", err, e.Detail, detail)
	}
}

// put inserts rows in one commit.
func put(tb *Table, rows ...[]any) error {
	b := tb.NewBatch()
	for _, r := range rows {
		if err := b.Append(r...); err != nil {
			return err
		}
	}
	return tb.InsertBatch(context.Background(), b)
}

func wantRows(t *testing.T, tb *Table, want int) {
	t.Helper()
	if n, err := tb.Query().Count(context.Background()); err != nil || n != int64(want) {
		t.Fatalf("%d rows, %v, want %d", n, err, want)
	}
}

// A key is found wherever its row is: in the same batch, the same transaction, the tail, a sealed tail, a run, a merged
// run, and after reopening.
func TestUnique(t *testing.T) {
	ctx := context.Background()
	db, tb := uniqueTable(t, keyA)
	wantDuplicate(t, put(tb, []any{1, "x"}, []any{2, "x"}, []any{1, "y"}), "Key (a)=(1) already exists.")
	wantRows(t, tb, 0)
	if err := put(tb, []any{1, "x"}, []any{2, "x"}, []any{nil, "x"}, []any{nil, "x"}); err != nil {
		t.Fatal(err)
	}
	wantDuplicate(t, put(tb, []any{3, "x"}, []any{2, "y"}), "Key (a)=(2) already exists.")
	wantRows(t, tb, 4)
	next := 10
	for range 9 { // eight flushes are merged
		rows := make([][]any, 100)
		for i := range rows {
			rows[i] = []any{next, "x"}
			next++
		}
		if err := put(tb, rows...); err != nil {
			t.Fatal(err)
		}
		if err := tb.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		for _, k := range []int{1, 2, 10, next - 1, next - 100} {
			wantDuplicate(t, put(tb, []any{k, "y"}), fmt.Sprintf("Key (a)=(%d) already exists.", k))
		}
	}
	if err := db.Settle(ctx); err != nil {
		t.Fatal(err)
	}
	if err := put(tb, []any{5, "tail"}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := Open(db.dir, &Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if tb, err = db.Table("t"); err != nil {
		t.Fatal(err)
	}
	for _, k := range []int{1, 5, 10, 500, next - 1} {
		wantDuplicate(t, put(tb, []any{k, "y"}), fmt.Sprintf("Key (a)=(%d) already exists.", k))
	}
	if err := put(tb, []any{next, "y"}, []any{nil, "y"}); err != nil {
		t.Fatal(err)
	}
	wantRows(t, tb, next-10+4+1+2)
}

func TestUniqueInOneTransaction(t *testing.T) {
	ctx := context.Background()
	db, tb := uniqueTable(t, keyA)
	err := db.Update(ctx, func(tx *Tx) error {
		if err := tx.Insert(tb, []any{1, "x"}); err != nil {
			return err
		}
		return tx.Insert(tb, []any{1, "y"})
	})
	wantDuplicate(t, err, "Key (a)=(1) already exists.")
	wantRows(t, tb, 0)
}

func TestUniqueForms(t *testing.T) {
	ctx := context.Background()
	both := []IndexColumn{{Name: "a"}, {Name: "b", Desc: true}}
	for _, tc := range []struct {
		name   string
		def    IndexDef
		rows   [][]any
		again  []any
		detail string // none: it is no duplicate
	}{
		{"NULLs are distinct", keyA, [][]any{{nil, "x"}}, []any{nil, "y"}, ""},
		{"NULLS NOT DISTINCT", IndexDef{Unique: true, NullsNotDistinct: true, Columns: keyA.Columns}, [][]any{{nil, "x"}}, []any{nil, "y"},
			"Key (a)=(null) already exists."},
		{"composite", IndexDef{Unique: true, Columns: both}, [][]any{{1, "x"}, {1, "y"}, {2, "x"}}, []any{1, "y"}, "Key (a, b)=(1, y) already exists."},
		{"composite, another", IndexDef{Unique: true, Columns: both}, [][]any{{1, "x"}, {1, "y"}, {2, "x"}}, []any{2, "y"}, ""},
		{"composite with a NULL", IndexDef{Unique: true, Columns: both}, [][]any{{1, nil}}, []any{1, nil}, ""},
		{"composite with a NULL, NOT DISTINCT", IndexDef{Unique: true, NullsNotDistinct: true, Columns: both}, [][]any{{1, nil}}, []any{1, nil},
			"Key (a, b)=(1, null) already exists."},
		{"empty text is not NULL", IndexDef{Unique: true, Columns: both[1:]}, [][]any{{1, nil}, {1, ""}}, []any{2, ""}, "Key (b)=() already exists."},
	} {
		for _, flush := range []bool{false, true} {
			t.Run(fmt.Sprint(tc.name, flush), func(t *testing.T) {
				_, tb := uniqueTable(t, tc.def)
				if err := put(tb, tc.rows...); err != nil {
					t.Fatal(err)
				}
				if flush {
					if err := tb.Flush(ctx); err != nil {
						t.Fatal(err)
					}
				}
				err := put(tb, tc.again)
				if tc.detail == "" {
					if err != nil {
						t.Fatal(err)
					}
					return
				}
				wantDuplicate(t, err, tc.detail)
			})
		}
	}
}

// A unique index on a table with rows: is refused when two have one key, wherever they are.
func TestCreateUniqueIndex(t *testing.T) {
	ctx := context.Background()
	for _, tc := range []struct {
		name    string
		flushed [][]any // each flushed by itself
		tail    []any
		detail  string
	}{
		{"none", [][]any{{1, 2, nil}, {3, 4, nil}}, []any{5, nil, 6}, ""},
		{"in the tail", nil, []any{5, 6, 5}, "Key (a)=(5) is duplicated."},
		{"in a run", [][]any{{7, 8, 7}}, nil, "Key (a)=(7) is duplicated."},
		{"in two runs", [][]any{{7, 8}, {9, 8}}, nil, "Key (a)=(8) is duplicated."},
		{"in a run and the tail", [][]any{{7, 8}}, []any{1, 7}, "Key (a)=(7) is duplicated."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			db, tb := uniqueTable(t, IndexDef{Columns: []IndexColumn{{Name: "a"}}})
			insert := func(keys []any) {
				for _, k := range keys {
					if err := put(tb, []any{k, "x"}); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, keys := range tc.flushed {
				insert(keys)
				if err := tb.Flush(ctx); err != nil {
					t.Fatal(err)
				}
			}
			insert(tc.tail)
			err := db.CreateIndex(ctx, "t", IndexDef{Name: "u", Unique: true, Columns: []IndexColumn{{Name: "a"}}})
			if tc.detail != "" {
				var e *Error
				if !errors.As(err, &e) || e.Code != "23505" || e.Message != `could not create unique index "u"` || e.Detail != tc.detail {
					t.Fatalf("got %v", err)
				}
				insert([]any{7, 7, 8, 5}) // nothing of it is left
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range []any{1, 3, 5} {
				if err := put(tb, []any{k, "y"}); !errors.Is(err, ErrConstraint) {
					t.Errorf("%v: %v", k, err)
				}
			}
		})
	}
}

// Deleted keys are free, at once and for good.
func TestUniqueAfterDelete(t *testing.T) {
	ctx := context.Background()
	_, tb := uniqueTable(t, keyA)
	for round := range 4 {
		if err := put(tb, []any{1, "x"}, []any{2, "x"}); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		wantDuplicate(t, put(tb, []any{1, "y"}), "Key (a)=(1) already exists.")
		if round%2 == 1 {
			if err := tb.Flush(ctx); err != nil {
				t.Fatal(err)
			}
			wantDuplicate(t, put(tb, []any{2, "y"}), "Key (a)=(2) already exists.")
		}
		if n, err := tb.DeleteWhere(ctx, "a is not null"); err != nil || n != 2 {
			t.Fatalf("deleted %d, %v", n, err)
		}
	}
}

// Of many writers of one key, one wins.
func TestUniqueConcurrently(t *testing.T) {
	ctx := context.Background()
	_, tb := uniqueTable(t, keyA)
	const keys = 2000
	var wg sync.WaitGroup
	var won atomic.Int64
	for w := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			r := rand.New(rand.NewPCG(uint64(w), 7))
			for _, k := range r.Perm(keys) {
				err := put(tb, []any{k, "x"})
				switch {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, ErrConstraint):
					t.Error(err)
					return
				}
				if k%500 == 7 {
					if err := tb.Flush(ctx); err != nil {
						t.Error(err)
						return
					}
				}
			}
		}()
	}
	wg.Wait()
	if won.Load() != keys {
		t.Errorf("%d inserts of %d keys succeeded", won.Load(), keys)
	}
	wantRows(t, tb, keys)
}

func TestPrimaryKey(t *testing.T) {
	ctx := context.Background()
	db, tb := uniqueTable(t, IndexDef{PrimaryKey: true, Columns: keyA.Columns})
	if err := put(tb, []any{1, nil}); err != nil {
		t.Fatal(err)
	}
	wantDuplicate(t, put(tb, []any{1, "x"}), "Key (a)=(1) already exists.")
	code := func(err error) string {
		var e *Error
		errors.As(err, &e)
		if e == nil {
			return fmt.Sprint(err)
		}
		return e.Code
	}
	if c := code(put(tb, []any{nil, "x"})); c != "23502" {
		t.Errorf("NULL: %s", c)
	}
	if c := code(tb.DropNotNull(ctx, "a")); c != "42P16" {
		t.Errorf("DropNotNull: %s", c)
	}
	if c := code(db.CreateIndex(ctx, "t", IndexDef{Name: "other", PrimaryKey: true, Columns: []IndexColumn{{Name: "b"}}})); c != "42P16" {
		t.Errorf("a second one: %s", c)
	}
	if err := db.DropIndex(ctx, "t_key"); err != nil {
		t.Fatal(err)
	}
	// b has a NULL, so that it can't be one, and a stays as it is.
	def := IndexDef{Name: "other", PrimaryKey: true, Columns: []IndexColumn{{Name: "a"}, {Name: "b"}}}
	if c := code(db.CreateIndex(ctx, "t", def)); c != "23502" {
		t.Errorf("a NULL in it: %s", c)
	}
}
