package wideleaf

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wideleaf/am"
	"wideleaf/buildparallel"
	"wideleaf/tid"
	"wideleaf/vacuum"
	"wideleaf/value"
	"wideleaf/version"
)

// buildColumns are the columns of tables whose indexes are built, one kind of input each.
var buildColumns = []Column{
	{Name: "up", Type: Int8}, {Name: "down", Type: Int8}, {Name: "dup", Type: Int4}, {Name: "sgn", Type: Int4},
	{Name: "one", Type: Int4}, {Name: "nul", Type: Int8}, {Name: "wide", Type: Int8}, {Name: "skew", Type: Int8},
	{Name: "flt", Type: Float8}, {Name: "yes", Type: Bool}, {Name: "txt", Type: Text}, {Name: "words", Type: Text},
}

// buildTable makes a table of so many rows and returns their values, column by column.
func buildTable(t testing.TB, db *DB, rows int) (*Table, [][]value.Value) {
	t.Helper()
	tb, err := db.CreateTable(t.Context(), "t", buildColumns...)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(7, 11))
	vals := make([][]value.Value, len(buildColumns))
	b := tb.NewBatch()
	for i := range rows {
		row := []any{
			int64(i), int64(rows - i), int32(i * 7919 % 10), int32(i*7919%200003 - 100001),
			int32(7), nil, int64(r.Uint64()), int64(r.IntN(1000)),
			r.NormFloat64(), r.IntN(2) == 0, fmt.Sprintf("%06d", i*7919%200003), strings.Repeat("x", r.IntN(3)) + fmt.Sprint("word", r.IntN(50)),
		}
		switch {
		case r.IntN(10) == 0:
			row[6], row[11] = nil, nil
		case r.IntN(1000) == 0:
			row[7] = int64(math.MaxInt64 - i)
		case r.IntN(20) == 0:
			row[8] = math.Copysign(0, -1)
		case r.IntN(20) == 0:
			row[8] = 0.0
		case r.IntN(50) == 0:
			row[8] = math.NaN()
		}
		if err := b.Append(row...); err != nil {
			t.Fatal(err)
		}
		for c, x := range row {
			v := value.Null(buildColumns[c].Type)
			switch x := x.(type) {
			case int32:
				v = value.OfInt4(x)
			case int64:
				v = value.OfInt8(x)
			case float64:
				v = value.OfFloat8(x)
			case bool:
				v = value.OfBool(x)
			case string:
				v = value.OfText(x)
			}
			vals[c] = append(vals[c], v)
		}
	}
	if err := tb.InsertBatch(t.Context(), b, NoSync); err != nil {
		t.Fatal(err)
	}
	if err := tb.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return tb, vals
}

// tapesOf returns the temporary files in a database's folder.
func tapesOf(t testing.TB, dir string) []string {
	var out []string
	err := filepath.WalkDir(filepath.Join(dir, "tmp"), func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Whatever the memory and the number of workers, an index has the entries that sorting the rows' values gives.
func TestBuiltIndexesAreSorted(t *testing.T) {
	const rows = 200_000
	dir := t.TempDir()
	db := mustOpen(t, dir, nil)
	defer db.Close()
	tb, vals := buildTable(t, db, rows)
	ts, err := tb.acquire()
	if err != nil {
		t.Fatal(err)
	}
	defer ts.Release()
	g := &version.Group{ID: 1000}
	var want [][]tid.TID
	add := func(desc bool, cols ...int) {
		def := IndexDef{Name: fmt.Sprint("i", len(g.Indexes))}
		for _, c := range cols {
			def.Columns = append(def.Columns, IndexColumn{Name: buildColumns[c].Name, Desc: desc})
		}
		ix, err := tb.newIndex(def)
		if err != nil {
			t.Fatal(err)
		}
		ix.Def.ID = 2000 + uint32(len(g.Indexes))
		g.Indexes = append(g.Indexes, ix)
		order := make([]tid.TID, rows)
		for i := range order {
			order[i] = tid.TID(i)
		}
		if !desc || len(cols) == 1 && buildColumns[cols[0]].Type != Text { // one fixed-width column is always kept ascending
			slices.SortFunc(order, func(a, b tid.TID) int {
				for _, c := range cols {
					if x := value.Compare(vals[c][a], vals[c][b]); x != 0 {
						return x
					}
				}
				return cmp.Compare(a, b)
			})
		} else {
			slices.SortFunc(order, func(a, b tid.TID) int {
				for _, c := range cols {
					if x := value.Compare(vals[c][b], vals[c][a]); x != 0 {
						return x
					}
				}
				return cmp.Compare(a, b)
			})
		}
		want = append(want, order)
	}
	for c := range buildColumns {
		add(false, c)
	}
	add(true, 10)
	add(false, 2, 11)
	add(true, 11, 0)
	for _, c := range []struct {
		workers int
		memory  int64
	}{{0, 1 << 30}, {1, 1 << 30}, {4, 1 << 30}, {0, 1 << 20}, {1, 1 << 20}, {2, 1 << 20}, {4, 1 << 20}, {2, 1 << 10}} {
		t.Run(fmt.Sprintf("%d workers, %d bytes", c.workers, c.memory), func(t *testing.T) {
			var progress buildparallel.Progress
			res, err := buildparallel.Build(t.Context(), buildparallel.Options{
				Store: db.store, Workers: c.workers, Memory: c.memory, Progress: &progress,
			}, buildparallel.Job{Table: ts.Table.Def, Segments: ts.Table.Segments, Groups: []*version.Group{g}})
			if err != nil {
				t.Fatal(err)
			}
			if st := progress.State(); st.TuplesDone != st.TuplesTotal || st.Built != len(g.Indexes)-1 || st.Indexes != len(g.Indexes) {
				t.Errorf("progress at the end: %+v", st)
			}
			if err := db.store.Ingest(t.Context(), res.Tables...); err != nil {
				t.Fatal(err)
			}
			if len(res.Runs) != 1 {
				t.Fatalf("%d runs", len(res.Runs))
			}
			run, err := vacuum.OpenRun(db.store, db.cache, g, res.Runs[0])
			if err != nil {
				t.Fatal(err)
			}
			for i, ix := range g.Indexes {
				r := run.Runs[ix.Def.ID]
				if err := r.Check(t.Context()); err != nil {
					t.Errorf("%s: %v", ix.Def.Name, err)
				}
				var got []tid.TID
				var last []byte
				for e, err := range r.(am.Cursor).Cursor(t.Context(), make(am.Conditions, len(ix.Def.Columns)), false) {
					if err != nil {
						t.Fatal(err)
					}
					if bytes.Compare(e.Key, last) < 0 {
						t.Fatalf("%s: entry %d has a lesser key than the one before", ix.Def.Name, len(got))
					}
					last = append(last[:0], e.Key...)
					got = append(got, e.TID)
				}
				if !slices.Equal(got, want[i]) {
					n := 0
					for n < len(got) && n < len(want[i]) && got[n] == want[i][n] {
						n++
					}
					t.Errorf("%s: %d entries, expected %d; the first to differ is %d", ix.Def.Name, len(got), len(want[i]), n)
				}
			}
			if files := tapesOf(t, dir); len(files) > 0 {
				t.Errorf("left: %v", files)
			}
			if err := db.store.Excise(context.Background(), res.Runs[0].Ordinal); err != nil {
				t.Fatal(err)
			}
		})
	}
}
