package wideleaf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// damageable makes a database in a file system of its own, with segments, index runs, rows in the log and an altered
// table, and returns what all queries of everything yields.
func damageable(t *testing.T, clean bool) (fs *vfs.MemFS, all string) {
	t.Helper()
	ctx := t.Context()
	fs = vfs.NewCrashableMem()
	db := mustOpen(t, "db", testOptions(fs))
	tb, err := db.CreateTable(ctx, "t", Column{Name: "a", Type: Int4}, Column{Name: "s", Type: Text}, Column{Name: "f", Type: Float8})
	if err != nil {
		t.Fatal(err)
	}
	fill := func(rows int) {
		b := tb.NewBatch("a", "s", "f")
		for i := range rows {
			if err := b.Append(i*7919%10_007, fmt.Sprint("text ", i%300), float64(i)/8); err != nil {
				t.Fatal(err)
			}
		}
		if err := tb.InsertBatch(ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	fill(900)
	if err := errors.Join(tb.Flush(ctx), tb.CreateIndexes(ctx, indexEvery("t", tb.Columns())...),
		tb.AddColumns(ctx, Column{Name: "n", Type: Int8, Default: 5})); err != nil {
		t.Fatal(err)
	}
	fill(500)
	if err := errors.Join(tb.Insert(ctx, []any{1, strings.Repeat("long ", 500), 2, 3}), tb.Flush(ctx)); err != nil {
		t.Fatal(err)
	}
	fill(100)
	if err := db.Settle(ctx); err != nil {
		t.Fatal(err)
	}
	if all, err = readAll(db); err != nil {
		t.Fatal(err)
	}
	crashed := fs.CrashClone(vfs.CrashCloneCfg{})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if !clean {
		return crashed, all
	}
	return fs, all
}

// readAll asks for everything, by indexes and by scan, and checks everything.
func readAll(db *DB) (string, error) {
	ctx := context.Background()
	var b strings.Builder
	tb, err := db.Table("t")
	if err != nil {
		return "", err
	}
	for _, where := range []string{"a < 500", "s = 'text 7'", "f >= 100", "n = 5", "a is null or s > 'text 2'"} {
		n, err := tb.Query().Where(where).Count(ctx)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(&b, where, n)
	}
	for r, err := range tb.Query().Select("ctid", "*").Rows(ctx) {
		if err != nil {
			return "", err
		}
		fmt.Fprintln(&b, r)
	}
	return b.String(), db.Check(ctx)
}

func filesOf(t *testing.T, fs *vfs.MemFS) map[string][]byte {
	t.Helper()
	names, err := fs.List("db")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, n := range names {
		f, err := fs.Open("db/" + n)
		if err != nil {
			continue
		}
		b, err := io.ReadAll(f)
		if err == nil {
			out[n] = b
		}
		_ = f.Close()
	}
	return out
}

// damage returns a copy of a file system with other content in one file of the database.
func damage(t *testing.T, fs *vfs.MemFS, name string, content []byte) *vfs.MemFS {
	t.Helper()
	c := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
	f, err := c.Create("db/"+name, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return c
}

// namesPlace reports whether an error says what is damaged: the file, or the relation and the block in it.
func namesPlace(err error, file string) bool {
	text := err.Error()
	base, _, _ := strings.Cut(file, ".")
	return strings.Contains(text, base) || strings.Contains(text, "relation ") && strings.Contains(text, "block ") ||
		strings.HasPrefix(file, "MANIFEST") && strings.Contains(text, "MANIFEST") || strings.HasPrefix(file, "marker.") && strings.Contains(text, "marker") ||
		strings.HasPrefix(file, "OPTIONS") && strings.Contains(text, "OPTIONS")
}

// A bit flipped anywhere in any file of a database is told, with the file, or the relation and block; or nothing comes of
// it. A salvage open reads the rest: nothing wrong, and it tells what it left out.
func TestFlippedBits(t *testing.T) {
	fs, all := damageable(t, true)
	right := map[string]bool{}
	for _, r := range strings.Split(all, "\n") {
		right[r] = strings.HasPrefix(r, "[(")
	}
	total := len(right) - 6 // without the counts and the end
	told := map[string]int{}
	for name, whole := range filesOf(t, fs) {
		for i := 0; i < len(whole); i += max(1, len(whole)/5) {
			b := slices.Clone(whole)
			b[i] ^= 1 << (i % 8)
			where := fmt.Sprintf("%s, byte %d of %d", name, i, len(whole))
			c := damage(t, fs, name, b)
			kind := strings.TrimLeft(name, "0123456789")
			db, err := Open("db", testOptions(c))
			if err == nil {
				var got string
				if got, err = readAll(db); err == nil && got != all {
					t.Errorf("%s: other answers, and no error", where)
				}
				_ = db.Close()
			}
			if err == nil {
				told[kind+": harmless"]++
				continue
			}
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNotFound) || !namesPlace(err, name) {
				t.Errorf("%s: %v", where, err)
			}
			told[kind+": told"]++

			o := testOptions(damage(t, fs, name, b))
			o.Salvage = true
			db, err = Open("db", o)
			if err != nil {
				if !strings.HasPrefix(name, "MANIFEST") && !strings.HasPrefix(name, "marker") && !strings.HasPrefix(name, "OPTIONS") {
					t.Errorf("%s: salvage: %v", where, err)
				}
				told[kind+": not salvaged"]++
				continue
			}
			n, same := 0, 0
			for _, tb := range db.Tables() {
				for r, err := range tb.Query().Select("ctid", "*").Rows(t.Context()) {
					if err != nil {
						t.Fatalf("%s: salvage: %v", where, err)
					}
					n++
					if right[fmt.Sprint(r)] {
						same++
					}
				}
			}
			if same < total && len(db.Damage()) == 0 || n > total {
				t.Errorf("%s: salvage: %d rows of %d, %d as they were, and nothing told", where, n, total, same)
			}
			told[kind+": salvaged"]++
			told[kind+": rows left out"] += total - n
			if err := db.Close(); err != nil {
				t.Errorf("%s: salvage: close: %v", where, err)
			}
		}
	}
	t.Log(told)
}

// Of a table whose heap is damaged in places, a salvage open loses only the columns concerned, in the segments concerned.
func TestSalvageColumns(t *testing.T) {
	ctx := t.Context()
	fs := vfs.NewCrashableMem()
	db := mustOpen(t, "db", testOptions(fs))
	tb, err := db.CreateTable(ctx, "t", intColumns(10)...)
	if err != nil {
		t.Fatal(err)
	}
	const rows, segments = 20_000, 3
	rnd := rand.New(rand.NewPCG(3, 3))
	var want [10][]int64
	for range segments {
		b := tb.NewBatch()
		for range rows {
			row := make([]any, 10)
			for c := range row {
				v := rnd.Int32()
				row[c], want[c] = v, append(want[c], int64(v))
			}
			if err := b.Append(row...); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(tb.InsertBatch(ctx, b), tb.Flush(ctx)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(tb.SetNotNull(ctx, "c4"), tb.Insert(ctx, []any{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}), db.Close()); err != nil {
		t.Fatal(err)
	}
	// The middle of the largest files lies in a few columns of a segment each.
	hurt := fs
	for name, content := range filesOf(t, fs) {
		if len(content) > 500_000 {
			b := slices.Clone(content)
			b[len(b)*2/5] ^= 1
			hurt = damage(t, hurt, name, b)
		}
	}
	if hurt == fs {
		t.Fatal("nothing to damage")
	}
	o := testOptions(hurt)
	o.Salvage = true
	db = mustOpen(t, "db", o)
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	if tb, err = db.Table("t"); err != nil {
		t.Fatal(err)
	}
	for _, err := range db.Damage() {
		if !errors.Is(err, ErrCorrupt) || !namesPlace(err, "") || !strings.Contains(err.Error(), `table "t"`) {
			t.Errorf("told: %v", err)
		}
	}
	lost := len(db.Damage())
	if lost < segments || lost > 3*segments {
		t.Errorf("%d columns of segments are lost: %v", lost, db.Damage())
	}
	i, nulls := 0, 0
	for r, err := range tb.Query().Rows(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if i == rows*segments {
			if r[9].Int() != 10 {
				t.Errorf("the last row is %v", r)
			}
			continue
		}
		for c, v := range r {
			switch {
			case v.IsNull():
				nulls++
			case v.Int() != want[c][i]:
				t.Fatalf("row %d, column %d: %v, want %d", i, c, v, want[c][i])
			}
		}
		i++
	}
	if i != rows*segments || nulls != lost*rows {
		t.Errorf("%d rows, want %d; %d values are NULL, with %d columns of %d rows lost", i, rows*segments, nulls, lost, rows)
	}
	n := int64(0)
	for _, c := range tb.Columns() {
		n += count(t, tb, c.Name+" is null")
	}
	if n != int64(nulls) {
		t.Errorf("%d NULLs are found, want %d", n, nulls)
	}
	if err := tb.Insert(ctx, make([]any, 10)); !errors.Is(err, ErrReadOnly) {
		t.Errorf("insert: %v, want ErrReadOnly", err)
	}
}

// Of rows that wait in the log, a salvage open loses those that are in the damaged place, and no others; deleted rows stay
// deleted.
func TestSalvageRows(t *testing.T) {
	ctx := t.Context()
	fs := vfs.NewCrashableMem()
	db := mustOpen(t, "db", testOptions(fs))
	tb, err := db.CreateTable(ctx, "t", intColumns(3)...)
	if err != nil {
		t.Fatal(err)
	}
	const rows = 20_000
	for i := 0; i < rows; {
		b := tb.NewBatch()
		for range 40 {
			if err := b.Append(i, rand.Int32(), rand.Int32()); err != nil {
				t.Fatal(err)
			}
			i++
		}
		if err := tb.InsertBatch(ctx, b, NoSync); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := tb.DeleteWhere(ctx, "c1 < 100 or c1 >= 19900"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	name, content := "", []byte(nil)
	for n, c := range filesOf(t, fs) {
		if strings.HasSuffix(n, ".sst") && len(c) > len(content) {
			name, content = n, slices.Clone(c)
		}
	}
	content[len(content)/2] ^= 1
	hurt := damage(t, fs, name, content)
	if _, err := Open("db", testOptions(hurt)); !errors.Is(err, ErrCorrupt) || !namesPlace(err, name) {
		t.Errorf("open: %v, want ErrCorrupt for %s", err, name)
	}
	o := testOptions(hurt)
	o.Salvage = true
	db = mustOpen(t, "db", o)
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	if len(db.Damage()) == 0 {
		t.Error("nothing is told")
	}
	if tb, err = db.Table("t"); err != nil {
		t.Fatal(err)
	}
	n, last := 0, int64(0)
	for r, err := range tb.Query().Select("ctid", "c1").Rows(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("(0,%d)", r[1].Int()); r[0].String() != want || r[1].Int() < 100 || r[1].Int() >= 19_900 {
			t.Fatalf("row %v", r)
		}
		n, last = n+1, r[1].Int()
	}
	if n >= rows-200 || n < rows-200-4000 || last != 19_899 {
		t.Errorf("%d rows of %d, the last is %d; told: %v", n, rows-200, last, db.Damage())
	}
}
