package wideleaf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"wideleaf/page"
	"wideleaf/pgerr"
	"wideleaf/store"
	"wideleaf/value"
	"wideleaf/version"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// testOptions are options for small tests.
func testOptions(fs vfs.FS) *Options {
	return &Options{MemoryLimit: minMemoryLimit, Logger: quiet, FS: fs}
}

func mustOpen(t *testing.T, dir string, o *Options) *DB {
	t.Helper()
	db, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func intColumns(n int) []Column {
	cols := make([]Column, n)
	for i := range cols {
		cols[i] = Column{Name: fmt.Sprintf("c%d", i+1), Type: Int4}
	}
	return cols
}

func indexEvery(table string, cols []Column) []IndexDef {
	defs := make([]IndexDef, len(cols))
	for i, c := range cols {
		defs[i] = IndexDef{Name: fmt.Sprintf("idx_%s_%d", table, i+1), Columns: []IndexColumn{{Name: c.Name}}}
	}
	return defs
}

func count(t *testing.T, tb *Table, where string) int64 {
	t.Helper()
	q := tb.Query()
	if where != "" {
		q.Where(where)
	}
	n, err := q.Count(context.Background())
	if err != nil {
		t.Fatalf("count where %s: %v", where, err)
	}
	return n
}

// history feeds a table with rows whose cells are functions of the row's number, in random batches with flushes and
// reopenings between them, and compares every kind of answer with the same functions.
func TestHistoryAgainstModel(t *testing.T) {
	ctx := context.Background()
	cell := func(row int64) []any {
		var b any = row%7 - 3
		if row%11 == 0 {
			b = nil
		}
		return []any{row % 1000, b, float64(row%13) / 4, fmt.Sprintf("name %d", row%97), row%2 == 0}
	}
	cols := []Column{{Name: "a", Type: Int4, NotNull: true}, {Name: "b", Type: Int8}, {Name: "f", Type: Float8}, {Name: "s", Type: Text}, {Name: "ok", Type: Bool}}
	holds := map[string]func(r []any) bool{
		"a < 100":               func(r []any) bool { return r[0].(int64) < 100 },
		"a between 5 and 9":     func(r []any) bool { return r[0].(int64) >= 5 && r[0].(int64) <= 9 },
		"b is null":             func(r []any) bool { return r[1] == nil },
		"b >= 0 and f < 1.5":    func(r []any) bool { return r[1] != nil && r[1].(int64) >= 0 && r[2].(float64) < 1.5 },
		"s = 'name 5' or a = 7": func(r []any) bool { return r[3] == "name 5" || r[0].(int64) == 7 },
		"not (b > 1) and ok":    func(r []any) bool { return r[1] != nil && r[1].(int64) <= 1 && r[4].(bool) },
		"s > 'name 9' and b in (1,2)": func(r []any) bool {
			return r[3].(string) > "name 9" && r[1] != nil && (r[1].(int64) == 1 || r[1].(int64) == 2)
		},
	}
	for _, seed := range []uint64{1, 2, 3} {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 7))
			fs := vfs.NewMem()
			db := mustOpen(t, "db", testOptions(fs))
			tb, err := db.CreateTable(ctx, "t", cols...)
			if err != nil {
				t.Fatal(err)
			}
			rows := int64(0)
			indexed := false
			for step := range 25 {
				switch k := rnd.IntN(10); {
				case k < 5:
					b := tb.NewBatch()
					for range 1 + rnd.IntN(3000) {
						if err := b.Append(cell(rows)...); err != nil {
							t.Fatal(err)
						}
						rows++
					}
					opt := Sync
					if rnd.IntN(2) == 0 {
						opt = NoSync
					}
					if err := tb.InsertBatch(ctx, b, opt); err != nil {
						t.Fatal(err)
					}
				case k < 7:
					if err := tb.Flush(ctx); err != nil {
						t.Fatal(err)
					}
				case k == 7 && !indexed:
					indexed = true
					if err := db.CreateIndexes(ctx, "t", append(indexEvery("t", cols),
						IndexDef{Name: "two", Columns: []IndexColumn{{Name: "b", Desc: true}, {Name: "s"}}})...); err != nil {
						t.Fatal(err)
					}
				case k == 8:
					if err := db.Close(); err != nil {
						t.Fatal(err)
					}
					db = mustOpen(t, "db", testOptions(fs))
					if tb, err = db.Table("t"); err != nil {
						t.Fatal(err)
					}
				default:
					if err := db.Settle(ctx); err != nil {
						t.Fatal(err)
					}
				}
				if got := count(t, tb, ""); got != rows {
					t.Fatalf("step %d: %d rows, want %d", step, got, rows)
				}
				for where, f := range holds {
					var want int64
					var sum int64
					for r := range rows {
						if c := cell(r); f(c) {
							want++
							sum += c[0].(int64)
						}
					}
					if got := count(t, tb, where); got != want {
						t.Fatalf("step %d: %s: %d rows, want %d", step, where, got, want)
					}
					res, err := tb.Query().Where(where).Aggregate(ctx, "sum(a)")
					if err != nil {
						t.Fatal(err)
					}
					if want > 0 && res[0].String() != fmt.Sprint(sum) {
						t.Fatalf("step %d: %s: sum %s, want %d", step, where, res[0], sum)
					}
				}
			}
			// Row by row, in insertion order.
			i := int64(0)
			for r, err := range tb.Query().Rows(ctx) {
				if err != nil {
					t.Fatal(err)
				}
				want := cell(i)
				for c, v := range r {
					w, err := valueOf(want[c], tb.def().Columns[c])
					if err != nil || value.Compare(v, w) != 0 {
						t.Fatalf("row %d column %d: %v, want %v", i, c, v, w)
					}
				}
				i++
			}
			if i != rows {
				t.Fatalf("%d rows, want %d", i, rows)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// segmentPages returns all pages of a table's segments.
func segmentPages(t *testing.T, tb *Table) [][]byte {
	t.Helper()
	ts, err := tb.acquire()
	if err != nil {
		t.Fatal(err)
	}
	defer ts.Release()
	var pages [][]byte
	for _, s := range ts.Table.Segments {
		r := tb.db.store.Reader(s.Record.Ordinal, 0, s.Record.Meta.Blocks, page.Owner{Relation: s.Record.Table, Part: s.Record.Segment})
		for b := range s.Record.Meta.Blocks {
			ref, err := r.Page(b)
			if err != nil {
				t.Fatal(err)
			}
			pages = append(pages, slices.Clone(ref.Data))
			ref.Release()
		}
	}
	return pages
}

// Two databases fed the same rows in different batchings hold equal segment pages, byte for byte.
func TestSegmentsAreAFunctionOfTheRows(t *testing.T) {
	ctx := context.Background()
	const rows = 150_000
	cols := []Column{{Name: "a", Type: Int4}, {Name: "b", Type: Int8}, {Name: "s", Type: Text}}
	load := func(batch func() int) [][]byte {
		db := mustOpen(t, "db", testOptions(vfs.NewMem()))
		defer db.Close()
		tb, err := db.CreateTable(ctx, "t", cols...)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.CreateIndexes(ctx, "t", indexEvery("t", cols)...); err != nil {
			t.Fatal(err)
		}
		b := tb.NewBatch()
		for i := 0; i < rows; {
			b.Reset()
			for range batch() {
				if i == rows {
					break
				}
				row := []any{i * 7919 % 100_003, int64(i) << 20, fmt.Sprint("text ", i%1000)}
				if i%17 == 0 {
					row[1] = nil
				}
				if err := b.Append(row...); err != nil {
					t.Fatal(err)
				}
				i++
			}
			if err := tb.InsertBatch(ctx, b, NoSync); err != nil {
				t.Fatal(err)
			}
		}
		if err := tb.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		return segmentPages(t, tb)
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	one := load(func() int { return 70_000 })
	two := load(func() int { return 1 + rnd.IntN(500) })
	if len(one) != len(two) || len(one) == 0 {
		t.Fatalf("%d and %d pages", len(one), len(two))
	}
	for i := range one {
		if !slices.Equal(one[i], two[i]) {
			t.Fatalf("page %d differs", i)
		}
	}
}

// Pages go to the lowest level and stay there, in a small database as well, and no ingestion makes Pebble flush.
func TestPebbleNeverRewritesPages(t *testing.T) {
	ctx := context.Background()
	db := mustOpen(t, "db", testOptions(vfs.NewMem()))
	defer db.Close()
	cols := intColumns(8)
	tb, err := db.CreateTable(ctx, "t", cols...)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.CreateIndexes(ctx, "t", indexEvery("t", cols)...); err != nil {
		t.Fatal(err)
	}
	b := tb.NewBatch()
	for i := range 40 {
		b.Reset()
		for r := range 500 {
			row := make([]any, 8)
			for c := range row {
				row[c] = (i*500 + r) * (c + 3) % 10007
			}
			if err := b.Append(row...); err != nil {
				t.Fatal(err)
			}
		}
		if err := tb.InsertBatch(ctx, b); err != nil {
			t.Fatal(err)
		}
		if err := tb.Flush(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Settle(ctx); err != nil {
		t.Fatal(err)
	}
	m, err := db.Metrics()
	if err != nil {
		t.Fatal(err)
	}
	if m.Store.RewrittenPages != 0 || m.Store.MisplacedTables != 0 || m.Store.FlushIngests != 0 {
		t.Errorf("%d bytes of pages rewritten, %d page SSTs above the lowest level, %d ingestions that flushed; want none",
			m.Store.RewrittenPages, m.Store.MisplacedTables, m.Store.FlushIngests)
	}
	if m.Flushes != 40 || m.Merges == 0 {
		t.Errorf("%d flushes and %d merges, want 40 and some", m.Flushes, m.Merges)
	}
	if m.Runs >= 16 {
		t.Errorf("%d runs are left of 40 after settling", m.Runs)
	}
}

func TestErrors(t *testing.T) {
	ctx := context.Background()
	fs := vfs.NewMem()
	db := mustOpen(t, "db", testOptions(fs))
	tb, err := db.CreateTable(ctx, "t", Column{Name: "a", Type: Int4, NotNull: true}, Column{Name: "s", Type: Text})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.CreateIndexes(ctx, "t", IndexDef{Name: "i", Columns: []IndexColumn{{Name: "s"}}}); err != nil {
		t.Fatal(err)
	}
	long := make([]byte, 2705)
	for i := range long {
		long[i] = 'x'
	}
	many := intColumns(1601)
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	insert := func(row ...any) error { return tb.Insert(ctx, row) }
	for name, tc := range map[string]struct {
		err  error
		kind error
		code string
	}{
		"table exists":        {second(db.CreateTable(ctx, "t", intColumns(1)...)), ErrExists, pgerr.DuplicateTable},
		"index name is taken": {second(db.CreateTable(ctx, "i", intColumns(1)...)), ErrExists, pgerr.DuplicateTable},
		"no columns":          {second(db.CreateTable(ctx, "n")), ErrInvalid, pgerr.InvalidTableDefinition},
		"1,601 columns":       {second(db.CreateTable(ctx, "n", many...)), ErrInvalid, pgerr.TooManyColumns},
		"two equal columns":   {second(db.CreateTable(ctx, "n", intColumns(1)[0], intColumns(1)[0])), ErrExists, pgerr.DuplicateColumn},
		"no name":             {second(db.CreateTable(ctx, "", intColumns(1)...)), ErrInvalid, pgerr.InvalidName},
		"unknown table":       {second(db.Table("nobody")), ErrNotFound, pgerr.UndefinedTable},
		"drop unknown table":  {db.DropTable(ctx, "nobody"), ErrNotFound, pgerr.UndefinedTable},
		"drop unknown index":  {db.DropIndex(ctx, "nobody"), ErrNotFound, pgerr.UndefinedObject},
		"index on no column":  {db.CreateIndexes(ctx, "t", IndexDef{Name: "j", Columns: []IndexColumn{{Name: "z"}}}), ErrNotFound, pgerr.UndefinedColumn},
		"unknown method":      {db.CreateIndexes(ctx, "t", IndexDef{Name: "j", Method: "hash", Columns: []IndexColumn{{Name: "a"}}}), ErrNotFound, pgerr.UndefinedObject},
		"two equal indexes":   {db.CreateIndexes(ctx, "t", IndexDef{Name: "j", Columns: []IndexColumn{{Name: "a"}}}, IndexDef{Name: "j", Columns: []IndexColumn{{Name: "a"}}}), ErrExists, pgerr.DuplicateTable},
		"too few values":      {insert(1), ErrInvalid, pgerr.SyntaxError},
		"wrong type":          {insert("x", "y"), ErrInvalid, pgerr.DatatypeMismatch},
		"out of range":        {insert(int64(1)<<31, "y"), ErrInvalid, pgerr.NumericValueOutOfRange},
		"null":                {insert(nil, "y"), ErrConstraint, pgerr.NotNullViolation},
		"invalid UTF-8":       {insert(1, "a\xffb"), ErrInvalid, pgerr.CharacterNotInRepertoire},
		"zero byte":           {insert(1, "a\x00b"), ErrInvalid, pgerr.CharacterNotInRepertoire},
		"key too long":        {insert(1, string(long)), ErrInvalid, pgerr.ProgramLimitExceeded},
		"cancelled insert":    {tb.Insert(cancelled, []any{1, "x"}), ErrCanceled, pgerr.QueryCanceled},
		"cancelled count":     {second(tb.Query().Where("a < 5").Count(cancelled)), ErrCanceled, pgerr.QueryCanceled},
		"unknown column":      {second(tb.Query().Where("z < 5").Count(ctx)), nil, pgerr.UndefinedColumn},
		"syntax":              {second(tb.Query().Where("a <").Count(ctx)), ErrInvalid, pgerr.SyntaxError},
		"negative limit":      {second(collect(tb.Query().Limit(-1))), ErrInvalid, "2201W"},
		"negative offset":     {second(collect(tb.Query().Offset(-1))), ErrInvalid, "2201X"},
		"in use":              {second(Open("db", testOptions(fs))), ErrInvalid, pgerr.ObjectInUse},
	} {
		var e *Error
		switch {
		case tc.err == nil:
			t.Errorf("%s: no error", name)
		case !errors.As(tc.err, &e):
			t.Errorf("%s: %v is not an *Error", name, tc.err)
		case e.Code != tc.code || tc.kind != nil && !errors.Is(tc.err, tc.kind):
			t.Errorf("%s: %v has the code %s and kind %v, want %s and %v", name, tc.err, e.Code, e.Kind, tc.code, tc.kind)
		}
	}
	if n := count(t, tb, ""); n != 0 {
		t.Errorf("%d rows after nothing but refused ones", n)
	}
	if len(db.Tables()) != 1 || len(tb.Indexes()) != 1 {
		t.Errorf("%d tables, %d indexes; want one of each", len(db.Tables()), len(tb.Indexes()))
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"close":  db.Close(),
		"table":  second(db.Table("t")),
		"count":  second(tb.Query().Count(ctx)),
		"insert": insert(1, "x"),
		"flush":  tb.Flush(ctx),
		"settle": db.Settle(ctx),
		"create": second(db.CreateTable(ctx, "n", intColumns(1)...)),
		"rows":   second(collect(tb.Query())),
		"update": db.Update(ctx, func(*Tx) error { return nil }),
		"drop":   db.DropTable(ctx, "t"),
		"size":   second(tb.Size()),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s after Close: %v, want ErrClosed", name, err)
		}
	}
	_, err = Open("db", &Options{MemoryLimit: 1, Workers: -1, MergeFanIn: 1000})
	for _, word := range []string{"MemoryLimit", "Workers", "MergeFanIn"} {
		if err == nil || !errors.Is(err, ErrInvalid) || !contains(err.Error(), word) {
			t.Errorf("bad options: %v does not tell of %s", err, word)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func collect(q *Query) ([]Row, error) {
	var out []Row
	for r, err := range q.Rows(context.Background()) {
		if err != nil {
			return out, err
		}
		out = append(out, r)
	}
	return out, nil
}

func contains(s, sub string) bool {
	for i := 0; i+len(sub) <= len(s); i++ {
		if s[i:i+len(sub)] == sub {
			return true
		}
	}
	return false
}

// A transaction over two tables is seen whole or not at all, and a failing one not.
func TestUpdateIsAtomic(t *testing.T) {
	ctx := context.Background()
	db := mustOpen(t, "db", testOptions(vfs.NewMem()))
	defer db.Close()
	a, _ := db.CreateTable(ctx, "a", intColumns(1)...)
	b, _ := db.CreateTable(ctx, "b", intColumns(1)...)
	boom := errors.New("boom")
	err := db.Update(ctx, func(tx *Tx) error {
		if err := tx.Insert(a, []any{1}); err != nil {
			return err
		}
		return boom
	})
	if !errors.Is(err, boom) || count(t, a, "") != 0 {
		t.Fatalf("a failing update: %v, %d rows", err, count(t, a, ""))
	}
	if err := db.Update(ctx, func(tx *Tx) error {
		for i := range 3 {
			if err := tx.Insert(a, []any{i}); err != nil {
				return err
			}
		}
		return tx.Insert(b, []any{7})
	}); err != nil {
		t.Fatal(err)
	}
	if count(t, a, "") != 3 || count(t, b, "c1 = 7") != 1 {
		t.Fatalf("%d and %d rows, want 3 and 1", count(t, a, ""), count(t, b, "c1 = 7"))
	}
}

// Dropped tables and indexes are gone, their space comes back, their names are free.
func TestDrop(t *testing.T) {
	ctx := context.Background()
	fs := vfs.NewMem()
	db := mustOpen(t, "db", testOptions(fs))
	cols := intColumns(4)
	fill := func() *Table {
		tb, err := db.CreateTable(ctx, "t", cols...)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.CreateIndexes(ctx, "t", indexEvery("t", cols)...); err != nil {
			t.Fatal(err)
		}
		b := tb.NewBatch()
		for i := range 30_000 {
			if err := b.Append(i, i*7%1000, i%10, nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := tb.InsertBatch(ctx, b); err != nil {
			t.Fatal(err)
		}
		if err := tb.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		return tb
	}
	tb := fill()
	if err := db.DropIndex(ctx, "idx_t_2"); err != nil {
		t.Fatal(err)
	}
	if n := count(t, tb, "c2 = 5"); n != 30 {
		t.Errorf("%d rows without the index, want 30", n)
	}
	before, _ := db.Metrics()
	if err := db.DropTable(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	if _, err := tb.Query().Count(ctx); !errors.Is(err, ErrNotFound) {
		t.Errorf("a query of a dropped table: %v", err)
	}
	if err := tb.Insert(ctx, []any{1, 2, 3, 4}); !errors.Is(err, ErrNotFound) {
		t.Errorf("an insert into a dropped table: %v", err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		m, err := db.Metrics()
		if err != nil {
			t.Fatal(err)
		}
		if m.Store.PageBytes < before.Store.PageBytes/10 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes of pages after the drop, %d before", m.Store.PageBytes, before.Store.PageBytes)
		}
		time.Sleep(10 * time.Millisecond)
	}
	tb = fill()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = mustOpen(t, "db", testOptions(fs))
	defer db.Close()
	tb, err := db.Table("t")
	if err != nil {
		t.Fatal(err)
	}
	if n := count(t, tb, "c3 = 5 and c1 < 1000"); n != 100 {
		t.Errorf("%d rows after reopening, want 100", n)
	}
}

// A database whose log lost its end since the last close is refused, not opened with fewer rows.
func TestLostRowsAreNoticed(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	db := mustOpen(t, dir, &Options{Logger: quiet})
	tb, _ := db.CreateTable(ctx, "t", intColumns(2)...)
	for i := range 50 {
		if err := tb.Insert(ctx, []any{i, i}); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.sst"))
	if len(files) == 0 {
		t.Fatal("no files to damage")
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		b[len(b)/3] ^= 0x10
		if err := os.WriteFile(f, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if db, err := Open(dir, &Options{Logger: quiet}); !errors.Is(err, ErrCorrupt) {
		if err == nil {
			tb, _ := db.Table("t")
			t.Logf("%d rows", count(t, tb, ""))
		}
		t.Fatalf("open of a damaged database: %v, want ErrCorrupt", err)
	}
}

// An index that a crash left half built is removed at the next open.
func TestHalfBuiltIndexIsRemoved(t *testing.T) {
	ctx := context.Background()
	fs := vfs.NewMem()
	db := mustOpen(t, "db", testOptions(fs))
	tb, _ := db.CreateTable(ctx, "t", intColumns(2)...)
	for i := range 100 {
		if err := tb.Insert(ctx, []any{i, i}); err != nil {
			t.Fatal(err)
		}
	}
	if err := tb.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	ix, err := tb.newIndex(IndexDef{Name: "half", Columns: []IndexColumn{{Name: "c1"}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.registerIndexes(t.Context(), tb, []*version.Index{ix}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = mustOpen(t, "db", testOptions(fs))
	defer db.Close()
	if tb, err = db.Table("t"); err != nil {
		t.Fatal(err)
	}
	if len(tb.Indexes()) != 0 || count(t, tb, "c1 < 10") != 10 {
		t.Fatalf("%d indexes, %d rows", len(tb.Indexes()), count(t, tb, "c1 < 10"))
	}
	if err := db.CreateIndexes(ctx, "t", IndexDef{Name: "half", Columns: []IndexColumn{{Name: "c1"}}}); err != nil {
		t.Fatal(err)
	}
	if count(t, tb, "c1 < 10") != 10 {
		t.Fatalf("%d rows by the new index", count(t, tb, "c1 < 10"))
	}
	records := 0
	if err := db.store.Records(version.IndexPrefix, func(store.Record) error { records++; return nil }); err != nil {
		t.Fatal(err)
	}
	if records != 1 {
		t.Errorf("%d index records, want 1", records)
	}
}

// A database that was closed between the sealing of a tail and the end of its flush is whole.
func TestCloseBeforeFlushEnds(t *testing.T) {
	ctx := t.Context()
	o := testOptions(vfs.NewMem())
	db := mustOpen(t, "db", o)
	tb, err := db.CreateTable(ctx, "t", intColumns(2)...)
	if err != nil {
		t.Fatal(err)
	}
	if err := tb.Insert(ctx, []any{1, 2}); err != nil {
		t.Fatal(err)
	}
	db.pool.Pause()
	if _, err := tb.seal(context.Background()); err != nil {
		t.Fatal(err)
	}
	for rows := range int64(2) { // a second time with a row behind the sealed tail
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		db = mustOpen(t, "db", o)
		if tb, err = db.Table("t"); err != nil {
			t.Fatal(err)
		}
		if n := count(t, tb, ""); n != 1+rows {
			t.Fatalf("%d rows, want %d", n, 1+rows)
		}
		db.pool.Pause()
		if _, err := tb.seal(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := tb.Insert(ctx, []any{1, 2}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(db.Check(ctx), db.Close()); err != nil {
		t.Fatal(err)
	}
}
