package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wideleaf"
	"wideleaf/cmd/internal/csvfile"
	"wideleaf/cmd/internal/resultset"
	"wideleaf/cmd/wideload/internal/load"
	"wideleaf/value"
)

// drawValues are generators of values by type, with NULL among them.
var drawValues = map[wideleaf.Type]*rapid.Generator[wideleaf.Value]{
	wideleaf.Bool: rapid.Map(rapid.Bool(), value.OfBool),
	wideleaf.Int4: rapid.Map(rapid.Int32(), value.OfInt4),
	wideleaf.Int8: rapid.Map(rapid.Int64(), value.OfInt8),
	wideleaf.Float8: rapid.Map(rapid.OneOf(rapid.Float64(),
		rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 0, 1e23, 0.1, 5e-324, math.MaxFloat64})), value.OfFloat8),
	wideleaf.Text: rapid.Map(drawText, value.OfText),
	value.Bytea:   rapid.Map(rapid.SliceOf(rapid.Byte()), value.OfBytea),
	value.Date: rapid.Map(rapid.OneOf(rapid.Int32Range(-2_451_545, 10_000_000), rapid.SampledFrom([]int32{math.MinInt32, math.MaxInt32, 0})),
		value.OfDate),
	value.Timestamptz: rapid.Map(rapid.OneOf(rapid.Int64Range(-211_813_488_000_000_000, 9_223_371_331_199_999_999),
		rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64, 0})), value.OfTimestamptz),
	value.Int8Array: drawArray(value.Int8Array, rapid.Map(rapid.Int64(), value.OfInt8)),
	value.TextArray: drawArray(value.TextArray, rapid.Map(drawText, value.OfText)),
}

// drawArray makes arrays with NULLs in them.
func drawArray(t wideleaf.Type, item *rapid.Generator[wideleaf.Value]) *rapid.Generator[wideleaf.Value] {
	item = rapid.OneOf(item, rapid.Just(value.Null(t.Elem())))
	return rapid.Map(rapid.SliceOfN(item, 0, 5), func(items []wideleaf.Value) wideleaf.Value { return value.OfArray(t, items) })
}

// drawText makes texts that could be taken for something else.
var drawText = rapid.Map(rapid.OneOf(
	rapid.SampledFrom([]string{"", "007", "1", "t", "NULL", "NaN", "\"", "\"\"", ",", "\n", "\r\n", "\\N", "{a,b}", "{", "\\", "\\x00", "2020-01-01", " x ", "\xef\xbb\xbf"}),
	rapid.String()), func(s string) string { return strings.ReplaceAll(s, "\x00", "") })

// contents are a table's columns and its rows with their ctid.
func contents(t *testing.T, tb *wideleaf.Table) (cols []wideleaf.Column, rows [][]string) {
	t.Helper()
	for row, err := range tb.Query().Select("ctid", "*").Rows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		cells := make([]string, len(row))
		for i, v := range row {
			cells[i] = fmt.Sprintf("%v %v %q", v.Type(), v.IsNull(), v.String())
		}
		rows = append(rows, cells)
	}
	return tb.Columns(), rows
}

// What is dumped and loaded is the table again, whatever its types, names and values are.
func TestDumpAndLoad(t *testing.T) {
	dir := t.TempDir()
	csv, types := filepath.Join(dir, "t.csv"), filepath.Join(dir, "types.csv")
	kinds := slices.Sorted(maps.Keys(drawValues))
	db, err := wideleaf.Open(filepath.Join(dir, "db"), &wideleaf.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	rapid.Check(t, func(r *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.OneOf(rapid.StringMatching(`[a-z ]{1,5}`), rapid.SampledFrom([]string{"a,b", "c\"d", "e\nf", "\xef\xbb\xbfg", "c2", "c1", "H"})),
			1, 6, rapid.ID).Draw(r, "names")
		cols := make([]wideleaf.Column, len(names))
		for i := range cols {
			cols[i] = wideleaf.Column{Name: names[i], Type: rapid.SampledFrom(kinds).Draw(r, "type"), NotNull: rapid.Bool().Draw(r, "not null")}
		}
		tb, err := db.CreateTable(t.Context(), "t", cols...)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			for _, tb := range db.Tables() {
				if err := db.DropTable(t.Context(), tb.Name()); err != nil {
					t.Error(err)
				}
			}
		}()
		b := tb.NewBatch()
		for range rapid.IntRange(0, 12).Draw(r, "rows") {
			for i, c := range cols {
				if !c.NotNull && rapid.IntRange(0, 3).Draw(r, "NULL") == 0 {
					b.Column(i).AppendNull()
				} else {
					b.Column(i).Append(drawValues[c.Type].Draw(r, "value"))
				}
			}
		}
		if err := tb.InsertBatch(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(
			toWholeFile(csv, func(w io.Writer) error { return writeRows(t.Context(), w, resultset.CSV, tb) }),
			toWholeFile(types, func(w io.Writer) error { return load.WriteTypes(w, tb.Columns()) })); err != nil {
			t.Fatal(err)
		}
		o := load.Options{Table: "u", Format: csvfile.CSV, Header: true, Names: load.FromHeader, Types: map[string]load.ColumnType{},
			Nulls: load.Nulls{Markers: []string{""}}}
		if err := load.ReadTypes(types, o.Types); err != nil {
			t.Fatal(err)
		}
		if _, err := load.File(t.Context(), db, csv, o); err != nil {
			r.Fatal(err)
		}
		again, err := db.Table("u")
		if err != nil {
			t.Fatal(err)
		}
		wantCols, want := contents(t, tb)
		gotCols, got := contents(t, again)
		if !slices.Equal(gotCols, wantCols) {
			r.Fatalf("columns %v, want %v", gotCols, wantCols)
		}
		if !slices.EqualFunc(got, want, slices.Equal[[]string]) {
			r.Fatalf("rows\n%q\nwant\n%q", got, want)
		}
	})
}

func TestDumpForms(t *testing.T) {
	dir := t.TempDir()
	file, db, out := filepath.Join(dir, "t.csv"), filepath.Join(dir, "db"), filepath.Join(dir, "out")
	if err := os.WriteFile(file, []byte("n,\"a \"\"name\"\"\",f\n1,x,0.5\n,\"\",NaN\n-7,,1e300\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	mustRun(t, "load", file, "--table", "t", "--db", db, "--header")
	want := "n,\"a \"\"name\"\"\",f\n1,x,0.5\n,\"\",NaN\n-7,,1e+300\n"
	if got := mustRun(t, "dump", "--db", db, "--table", "t"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := mustRun(t, "dump", "--db", db, "--table", "t", "--format", "csv", "--output", out); got != "" {
		t.Errorf("with --output: %q", got)
	}
	if got, err := os.ReadFile(out); err != nil || string(got) != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	types := filepath.Join(dir, "types")
	mustRun(t, "dump", "--db", db, "--table", "t", "--output", out, "--types-file", types)
	if got, err := os.ReadFile(types); err != nil || string(got) != "column,type\nn,int4\n\"a \"\"name\"\"\",text\nf,float8\n" {
		t.Errorf("types %q, %v", got, err)
	}
	mustRun(t, "load", out, "--db", db, "--table", "again", "--header", "--types-file", types)
	if got := mustRun(t, "dump", "--db", db, "--table", "again"); got != want {
		t.Errorf("dumped again: %q, want %q", got, want)
	}
	var rows []map[string]any
	got := mustRun(t, "dump", "--db", db, "--table", "t", "--format", "json")
	if err := json.Unmarshal([]byte(got), &rows); err != nil || len(rows) != 3 || rows[0]["n"] != 1.0 || rows[1]["n"] != nil ||
		rows[1][`a "name"`] != "" || rows[1]["f"] != "NaN" || rows[2][`a "name"`] != nil || rows[2]["f"] != 1e300 {
		t.Errorf("%s: %v", got, err)
	}
	// What fails leaves what was there.
	if _, _, err := wideload(t, "dump", "--db", db, "--table", "none", "--output", out); err == nil {
		t.Error("a table that is not there is dumped")
	}
	if got, err := os.ReadFile(out); err != nil || string(got) != want {
		t.Errorf("after a failure: %q, %v", got, err)
	}
	if left, err := filepath.Glob(out + ".*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
