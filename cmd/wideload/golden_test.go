package main

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"wideleaf"
)

// realTable is an entry of schema.json, which says how the files of real tables are written and what is in them.
type realTable struct {
	File      string
	StoredAs  string `json:"stored_as"`
	Rows      int
	Delimiter string
	Header    bool
	Quote     *string
	Nulls     []string     `json:"null_markers"`
	Columns   []realColumn `json:"column_list"`
}

type realColumn struct {
	Col, Name, Type string
	Separator       string `json:"item_separator"`
}

// crime is the table that is in the repository.
var crime = realTable{File: "communities-crime.csv", StoredAs: "communities-crime.csv.gz", Rows: 1994, Delimiter: ",", Nulls: []string{"?"}}

const crimeDir = "../../testdata/communities-crime"

// load loads the table with the flags that its schema asks for.
func (r *realTable) load(t *testing.T, dir, db, table string, more ...string) string {
	t.Helper()
	args := []string{"load", filepath.Join(dir, r.StoredAs), "--db", db, "--table", table, "--names", "positional", "--delimiter", r.Delimiter}
	if r.Header {
		args = append(args, "--header")
	}
	if len(r.Columns) > 0 && r.Quote == nil {
		args = append(args, "--quote", "none")
	}
	for _, m := range r.Nulls {
		args = append(args, "--null", m)
	}
	if strings.HasPrefix(r.File, "datascience") {
		args = append(args, "--null-quoted") // every value is quoted there
	}
	separator := ""
	for _, c := range r.Columns {
		if c.Type == "tags" {
			args = append(args, "--list-columns", c.Col)
			if separator == "" || len(c.Separator) < len(separator) { // blanks around items are taken off anyway
				separator = c.Separator
			}
		}
	}
	if separator != "" {
		args = append(args, "--list-separator", separator)
	}
	return mustRun(t, append(args, more...)...)
}

// scalars returns how many columns have a btree.
func (r *realTable) scalars() int {
	n := 0
	for _, c := range r.Columns {
		if c.Type != "tags" {
			n++
		}
	}
	return n
}

// fact is an entry of golden.json.
type fact struct {
	ID, File string
	Filter   []struct {
		Col, Op string
		Value   json.RawMessage
	}
	Aggregate struct {
		Fn, Order string
		Col, By   struct{ Col, Name string }
		N         int
		Return    []struct{ Col, Name string }
	}
	Result json.RawMessage
}

// facts reads golden.json.
func facts(t *testing.T, dir string) []fact {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []fact
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// needs reports whether the fact needs what aggregates do not have: grouping.
func (f *fact) needs() bool {
	return strings.HasPrefix(f.Aggregate.Fn, "group") || strings.HasPrefix(f.Aggregate.Fn, "item") || strings.HasSuffix(f.Aggregate.Fn, "_items")
}

// literal writes a value of JSON in SQL.
func literal(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) == nil {
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return string(v)
}

// where writes the fact's filter in SQL.
func (f *fact) where(t *testing.T) string {
	t.Helper()
	var parts []string
	for _, c := range f.Filter {
		var list []json.RawMessage
		_ = json.Unmarshal(c.Value, &list) // of those that are lists
		switch c.Op {
		case "=", "<", "<=", ">", ">=":
			parts = append(parts, c.Col+" "+c.Op+" "+literal(c.Value))
		case "has":
			parts = append(parts, literal(c.Value)+" = any ("+c.Col+")")
		case "is_null":
			parts = append(parts, c.Col+" is null")
		case "not_null":
			parts = append(parts, c.Col+" is not null")
		case "between":
			parts = append(parts, c.Col+" between "+literal(list[0])+" and "+literal(list[1]))
		case "in":
			items := make([]string, len(list))
			for i, v := range list {
				items[i] = literal(v)
			}
			parts = append(parts, c.Col+" in ("+strings.Join(items, ", ")+")")
		default:
			t.Fatalf("%s has the operator %q", f.ID, c.Op)
		}
	}
	return strings.Join(parts, " and ")
}

// check asks for the fact with the query command.
func (f *fact) check(t *testing.T, db, table string) {
	t.Helper()
	a := f.Aggregate
	conditions := []string{}
	if w := f.where(t); w != "" {
		conditions = append(conditions, w)
	}
	query := func(args ...string) (rows []map[string]any) {
		t.Helper()
		args = append([]string{"query", "--db", db, "--table", table, "--format", "json", "--where", strings.Join(conditions, " and ")}, args...)
		d := json.NewDecoder(strings.NewReader(mustRun(t, args...)))
		d.UseNumber()
		if err := d.Decode(&rows); err != nil {
			t.Fatal(err)
		}
		return rows
	}
	var want any
	d := json.NewDecoder(bytes.NewReader(f.Result))
	d.UseNumber()
	if err := d.Decode(&want); err != nil {
		t.Fatal(err)
	}
	one := func(rows []map[string]any, name string) {
		t.Helper()
		if len(rows) != 1 || fmt.Sprint(rows[0][name]) != fmt.Sprint(want) {
			t.Errorf("%s: where %s: %v, want %v", f.ID, f.where(t), rows, want)
		}
	}
	switch a.Fn {
	case "count":
		one(query("--count"), "count")
	case "count_nulls":
		conditions = append(conditions, a.Col.Col+" is null")
		one(query("--count"), "count")
	case "sum", "min", "max":
		one(query("--agg", a.Fn+"("+a.Col.Col+")"), a.Fn)
	case "row_numbers":
		var got []any
		for _, row := range query("--select", "ctid") {
			got = append(got, json.Number(rowNumber(t, row)))
		}
		if !slices.Equal(got, want.([]any)) {
			t.Errorf("%s: %v, want %v", f.ID, got, want)
		}
	case "top":
		conditions = append(conditions, a.By.Col+" is not null")
		names := map[string]string{a.By.Name: a.By.Col}
		list := []string{"ctid", a.By.Col}
		for _, c := range a.Return {
			names[c.Name] = c.Col
			list = append(list, c.Col)
		}
		got := query("--select", strings.Join(list, ", "), "--order-by", a.By.Col+" "+a.Order, "--limit", fmt.Sprint(a.N))
		if len(got) != a.N || len(want.([]any)) != a.N {
			t.Fatalf("%s: %v, want %v", f.ID, got, want)
		}
		for i, w := range want.([]any) {
			for name, v := range w.(map[string]any) {
				if x := got[i][names[name]]; name != "row" && !sameJSON(x, v) || name == "row" && rowNumber(t, got[i]) != fmt.Sprint(v) {
					t.Errorf("%s: place %d is %v, want %v", f.ID, i+1, got[i], w)
				}
			}
		}
	default:
		t.Fatalf("%s has the aggregate %q", f.ID, a.Fn)
	}
}

// sameJSON compares numbers by value, all else as it is.
func sameJSON(a, b any) bool {
	x, ok1 := a.(json.Number)
	y, ok2 := b.(json.Number)
	if ok1 && ok2 && x != y {
		f, err1 := x.Float64()
		g, err2 := y.Float64()
		return err1 == nil && err2 == nil && f == g
	}
	return a == b
}

// rowNumber returns a row's number in the file, from 1: the tables here are one segment, and row n has the offset n-1.
func rowNumber(t *testing.T, row map[string]any) string {
	t.Helper()
	var n int
	if _, err := fmt.Sscanf(row["ctid"].(string), "(0,%d)", &n); err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(n + 1)
}

// checkStates loads a table with a btree on every scalar column and checks facts while the rows are in the log and the
// tail, from segments and index runs, without indexes and with one GIN over all columns, each time after the database was closed and opened again, as
// each command does.
func checkStates(t *testing.T, r *realTable, dir string, scalars int, all []fact) (db string) {
	db = filepath.Join(t.TempDir(), "db")
	r.load(t, dir, db, "t")
	for i := range all {
		all[i].check(t, db, "t")
	}
	flush(t, db, "t", int64(r.Rows), scalars)
	for i := range all {
		all[i].check(t, db, "t")
	}
	for table, index := range map[string]string{"scan": "none", "gin": "gin", "rum": "rum"} {
		r.load(t, dir, db, table, "--index", index)
		for i := range all {
			all[i].check(t, db, table)
		}
	}
	return db
}

func TestCommunitiesCrime(t *testing.T) {
	all := facts(t, crimeDir)
	if len(all) != 5 {
		t.Fatalf("%d facts", len(all))
	}
	db := checkStates(t, &crime, crimeDir, 128, all)
	out := crime.load(t, crimeDir, db, "again")
	if !strings.HasPrefix(out, "again: 1,994 rows of 128 columns (123 float8, 4 int4, 1 text), 128 indexes, in ") {
		t.Errorf("load says %q", out)
	}
}

// All the real tables, with their quirks: every fact about them is right, and every cell is what the file has.
func TestRealTables(t *testing.T) {
	dir := os.Getenv("WIDELEAF_DATA")
	if dir == "" {
		t.Skip("WIDELEAF_DATA is not set: the folder of real tables")
	}
	if testing.Short() {
		t.Skip("loads all real tables several times; not in short mode")
	}
	raw, err := os.ReadFile(filepath.Join(dir, "schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var tables []realTable
	if err := json.Unmarshal(raw, &tables); err != nil || len(tables) == 0 {
		t.Fatalf("%d tables, %v", len(tables), err)
	}
	golden := facts(t, dir)
	checked := 0
	for _, r := range tables {
		var mine []fact
		for _, f := range golden {
			if f.File == r.File && !f.needs() {
				mine = append(mine, f)
			}
		}
		checked += len(mine)
		t.Run(r.File, func(t *testing.T) {
			db := checkStates(t, &r, dir, r.scalars(), mine)
			r.checkCells(t, dir, db)

			file, types := filepath.Join(t.TempDir(), "t.csv"), filepath.Join(t.TempDir(), "types.csv")
			mustRun(t, "dump", "--db", db, "--table", "scan", "--output", file, "--types-file", types)
			mustRun(t, "load", file, "--db", db, "--table", "again", "--index", "none", "--header", "--types-file", types)
			dumped, err := os.ReadFile(file)
			if again := mustRun(t, "dump", "--db", db, "--table", "again"); err != nil || again != string(dumped) {
				t.Errorf("dumped and loaded again, the table is another one (%v)", err)
			}
		})
	}
	if checked != 35 {
		t.Errorf("%d facts were checked, want 35", checked)
	}
}

// checkCells compares the table with what the standard library reads from its file.
func (r *realTable) checkCells(t *testing.T, dir, db string) {
	t.Helper()
	dumped, err := csv.NewReader(strings.NewReader(mustRun(t, "dump", "--db", db, "--table", "t"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	rows, records := dumped[1:], r.read(t, dir)
	if len(rows) != len(records) || len(rows) != r.Rows {
		t.Fatalf("%d rows are dumped, %d are in the file, want %d", len(rows), len(records), r.Rows)
	}
	for k, c := range r.Columns {
		var lists []map[string]any
		if c.Type == "tags" {
			got := mustRun(t, "query", "--db", db, "--table", "t", "--select", c.Col, "--format", "json")
			if err := json.Unmarshal([]byte(got), &lists); err != nil || len(lists) != len(records) {
				t.Fatalf("%d lists, %v", len(lists), err)
			}
		}
		for i, record := range records {
			cell := record[k]
			null := slices.Contains(r.Nulls, cell)
			got, same := any(rows[i][k]), false
			switch {
			case c.Type == "tags":
				got = lists[i][c.Col]
				same = null && got == nil || !null && sameItems(got, cell, c.Separator)
			case null:
				same = got == "" // NULL; or an empty text, which other tests tell from it
			default:
				same = sameCell(c.Type, cell, rows[i][k])
			}
			if !same {
				t.Fatalf("row %d, %s (%s): %v, the file has %q", i+1, c.Col, c.Type, got, cell)
			}
		}
	}
}

// sameCell reports whether a value as it is dumped is what a cell of the file says.
func sameCell(typ, cell, got string) bool {
	switch typ {
	case "float":
		want, err := strconv.ParseFloat(cell, 64)
		x, err2 := strconv.ParseFloat(got, 64)
		return err == nil && err2 == nil && x == want
	case "datetime":
		return got == cell+"+00"
	}
	return got == cell // text, integers and dates, as they are written
}

// sameItems reports whether a JSON array has the items that a cell of the file has.
func sameItems(got any, cell, separator string) bool {
	if separator == "<>" {
		cell, separator = strings.TrimSuffix(strings.TrimPrefix(cell, "<"), ">"), "><"
	}
	var want []any
	// No item of these tables ends in a comma.
	for item := range strings.SplitSeq(strings.TrimSuffix(cell, ","), separator) {
		if item = strings.TrimSpace(item); item != "" {
			want = append(want, item)
		}
	}
	list, ok := got.([]any)
	return ok && slices.Equal(list, want)
}

// read reads the table's data records with the standard library.
func (r *realTable) read(t *testing.T, dir string) [][]string {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, r.StoredAs))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	content := io.Reader(f)
	if strings.HasSuffix(r.StoredAs, ".gz") {
		if content, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	var records [][]string
	if r.Quote == nil {
		text, err := io.ReadAll(content)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			records = append(records, strings.Split(strings.TrimSuffix(line, "\n"), r.Delimiter))
		}
	} else {
		c := csv.NewReader(content)
		c.Comma = rune(r.Delimiter[0])
		if records, err = c.ReadAll(); err != nil {
			t.Fatal(err)
		}
	}
	if r.Header {
		records = records[1:]
	}
	return records
}

// flush makes rows that are in memory into a segment and index runs, and checks that all indexes have all rows.
func flush(t *testing.T, dir, table string, rows int64, indexes int) {
	t.Helper()
	db, err := wideleaf.Open(dir, &wideleaf.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	tb, err := db.Table(table)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := tb.Query().Count(t.Context()); err != nil || n != rows {
		t.Fatalf("%d rows, %v; want %d", n, err, rows)
	}
	if err := tb.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := tb.Indexes()
	if len(all) != indexes {
		t.Fatalf("%d indexes, want %d", len(all), indexes)
	}
	for _, ix := range all {
		if ix.Rows != rows {
			t.Fatalf("index %s has %d entries, want %d", ix.Name, ix.Rows, rows)
		}
	}
}
