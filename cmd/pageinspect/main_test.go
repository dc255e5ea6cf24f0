package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wideleaf"
	"wideleaf/cmd/internal/command"
)

const flushed, waiting = 1000, 3

// database makes a database with a table t : a the row's number, tags one of three; an index of each method; some rows in
// pages and some not; and returns it open.
func database(t *testing.T) (db *wideleaf.DB, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "db")
	db, err := wideleaf.Open(dir, nil)
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	ctx := context.Background()
	tab, err := db.CreateTable(ctx, "t", wideleaf.Column{Name: "a", Type: wideleaf.Int4}, wideleaf.Column{Name: "tags", Type: wideleaf.TextArray})
	must(t, err)
	for name, columns := range map[string][]wideleaf.IndexColumn{"btree": {{Name: "a"}}, "gin": {{Name: "a"}, {Name: "tags"}}, "rum": {{Name: "tags"}}} {
		must(t, db.CreateIndex(ctx, "t", wideleaf.IndexDef{Name: "t_" + name, Method: name, Columns: columns}))
	}
	insert := func(from, to int) {
		b := tab.NewBatch()
		for i := from; i < to; i++ {
			must(t, b.Append(i, []string{fmt.Sprint("k", i%3)}))
		}
		must(t, tab.InsertBatch(ctx, b))
	}
	insert(0, flushed)
	must(t, tab.Flush(ctx))
	must(t, db.Settle(ctx))
	insert(flushed, flushed+waiting)
	return db, dir
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// inspect runs the command in this process and returns what it prints, an error as main prints it.
func inspect(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	c := newCommand(&out, &errOut)
	c.SetArgs(args)
	if err := c.ExecuteContext(t.Context()); err != nil {
		command.PrintError(&errOut, c.Name(), err)
	}
	return out.String(), errOut.String()
}

func TestForms(t *testing.T) {
	db, dir := database(t)
	must(t, db.Close())
	run := func(args ...string) string {
		t.Helper()
		out, errOut := inspect(t, append([]string{"--db", dir}, args...)...)
		if errOut != "" {
			t.Fatalf("%q: %s", args, errOut)
		}
		return out
	}

	const call = "gin_metapage_info(get_raw_page('t_gin', 0))"
	for _, same := range []string{"select * from " + call, "SELECT " + call + ";", " gin_metapage_info ( get_raw_page ( 't_gin' , 0 ) ) "} {
		if got, want := run(same), run(call); got != want {
			t.Errorf("%q:\n%s\nwant:\n%s", same, got, want)
		}
	}
	for _, same := range [][]string{
		{"gin_metapage_info", "t_gin", "0"},
		{"gin_metapage_info", "t_gin"},
	} {
		if got, want := run(same...), run(call); got != want {
			t.Errorf("%q:\n%s\nwant:\n%s", same, got, want)
		}
	}
	if got, want := run("bt_page_stats", "t_btree", "1"), run("bt_page_stats('t_btree', 1)"); got != want || !strings.HasSuffix(got, "(1 row)\n") {
		t.Errorf("bt_page_stats:\n%s\nwant:\n%s", got, want)
	}
	if got := run("get_raw_page", "t", "0", "--format", "csv"); len(got) != len("get_raw_page\n\\x\n")+2*8192 {
		t.Errorf("get_raw_page prints %d bytes", len(got))
	}

	// The same row in four forms.
	records, err := csv.NewReader(strings.NewReader(run("--format", "csv", call))).ReadAll()
	must(t, err)
	if len(records) != 2 || strings.Join(records[0], ",") != "pending_head,pending_tail,tail_free_size,n_pending_pages,n_pending_tuples,"+
		"n_total_pages,n_entry_pages,n_data_pages,n_entries,version" {
		t.Fatalf("csv: %q", records)
	}
	var rows []map[string]json.Number
	must(t, json.Unmarshal([]byte(run("--format", "json", call)), &rows))
	expanded, table := "-[ RECORD 1 ]----+", run(call)
	for i, column := range records[0] {
		if got := rows[0][column].String(); got != records[1][i] {
			t.Errorf("%s in JSON: %s, in CSV: %s", column, got, records[1][i])
		}
		expanded += fmt.Sprintf("\n%-16s | %s", column, records[1][i])
		if !strings.Contains(table, column) || !strings.Contains(table, " "+records[1][i]+" ") && !strings.Contains(table, " "+records[1][i]+"\n") {
			t.Errorf("the table lacks %s %s:\n%s", column, records[1][i], table)
		}
	}
	got := run("-x", call)
	if title, rest, _ := strings.Cut(got, "\n"); strings.TrimRight(title, "-") != "-[ RECORD 1 ]----+" || "-[ RECORD 1 ]----+\n"+strings.TrimSuffix(rest, "\n") != expanded {
		t.Errorf("-x:\n%s\nwant:\n%s", got, expanded)
	}
	if rows[0]["n_pending_tuples"] != "3" || rows[0]["n_entries"] != "2000" {
		t.Errorf("gin_metapage_info: %v", rows)
	}
}

func TestRelationsAndRuns(t *testing.T) {
	db, dir := database(t)
	must(t, db.Close())
	list := func(args ...string) (header string, rows map[string]map[string]string) {
		t.Helper()
		out, errOut := inspect(t, append([]string{"--db", dir, "--format", "csv"}, args...)...)
		records, err := csv.NewReader(strings.NewReader(out)).ReadAll()
		if err != nil || errOut != "" {
			t.Fatalf("%q: %v %s", args, err, errOut)
		}
		rows = map[string]map[string]string{}
		for _, r := range records[1:] {
			m := map[string]string{}
			for i, c := range records[0] {
				m[c] = r[i]
			}
			rows[r[0]] = m
		}
		return strings.Join(records[0], ","), rows
	}
	header, relations := list("relations")
	if header != "name,table,am,blocks,bytes,runs" || len(relations) != 4 {
		t.Fatalf("relations: %s, %v", header, relations)
	}
	for name, am := range map[string]string{"t": "heap", "t_btree": "btree", "t_gin": "gin", "t_rum": "rum"} {
		r := relations[name]
		if r["table"] != "t" || r["am"] != am || r["runs"] != "1" || r["blocks"] == "0" || r["bytes"] == "0" {
			t.Errorf("relations: %s is %v", name, r)
		}
		// The blocks are those that there are.
		var blocks int
		_, err := fmt.Sscan(r["blocks"], &blocks)
		must(t, err)
		if out, errOut := inspect(t, "--db", dir, "page_identity", name, fmt.Sprint(blocks-1)); errOut != "" {
			t.Errorf("the last block of %s: %s%s", name, out, errOut)
		}
		want := fmt.Sprintf("pageinspect: block number %d is out of range for relation %q (SQLSTATE 22023)\n", blocks, name)
		if _, errOut := inspect(t, "--db", dir, "page_identity", name, fmt.Sprint(blocks)); errOut != want {
			t.Errorf("the block after the last of %s: %s, want %s", name, errOut, want)
		}
		_, runs := list("runs", name)
		for _, run := range runs {
			if run["rows"] != fmt.Sprint(flushed) || run["bytes"] != r["bytes"] || run["first_segment"] != run["last_segment"] {
				t.Errorf("the run of %s: %v", name, run)
			}
		}
		if len(runs) != 1 {
			t.Errorf("%s has runs %v", name, runs)
		}
	}
}

func TestSalvage(t *testing.T) {
	db, dir := database(t)
	must(t, db.Close())
	warned := 0
	must(t, filepath.WalkDir(dir, func(name string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".sst" {
			return err
		}
		whole, err := os.ReadFile(name)
		must(t, err)
		b := slices.Clone(whole)
		b[len(b)/3] ^= 1
		must(t, os.WriteFile(name, b, 0o600))
		if out, errOut := inspect(t, "--db", dir, "relations", "--salvage"); strings.HasPrefix(errOut, "WARNING:  ") && strings.Contains(out, " am ") {
			warned++
		}
		return os.WriteFile(name, whole, 0o600)
	}))
	if warned == 0 {
		t.Error("no damaged file is told of")
	}
}

func TestErrors(t *testing.T) {
	db, dir := database(t)
	if _, errOut := inspect(t, "--db", dir, "relations"); !strings.Contains(errOut, "in use") {
		t.Errorf("a database that is open: %s", errOut)
	}
	must(t, db.Close())
	for _, c := range []struct {
		args []string
		want string // the first line, without the command's name and the SQLSTATE
	}{
		{[]string{"relations", "t"}, "relations takes no arguments"},
		{[]string{"runs"}, "runs takes one relation"},
		{[]string{"runs", "nothing"}, `relation "nothing" does not exist`},
		{[]string{"page_header"}, "page_header needs a relation"},
		{[]string{"page_header", "t", "x"}, `invalid block number "x"`},
		{[]string{"page_header", "t", "0", "1"}, "function page_header with these arguments does not exist"},
		{[]string{"nothing", "t", "0"}, "function nothing with these arguments does not exist"},
		{[]string{"page_header", "t", "--format", "xml"}, `--format "xml": must be table, csv or json, with -x only table`},
		{[]string{"page_header", "t", "-x", "--format", "csv"}, `--format "csv": must be table, csv or json, with -x only table`},
		{[]string{"page_header", "t", "--", "-1"}, "invalid block number"},
		{[]string{"page_header(get_raw_page('t', 4294967295))"}, "invalid block number"},
		{[]string{"page_header(get_raw_page('t', 99999999999999999999))"}, "invalid block number"},
		{[]string{"page_header(get_raw_page('t'))"}, "function get_raw_page with these arguments does not exist"},
		{[]string{"page_header('t', 0)"}, "function page_header with these arguments does not exist"},
		{[]string{"nothing(get_raw_page('t', 0))"}, "function nothing with these arguments does not exist"},
		{[]string{"drop table t; page_header('t', 0)"}, `syntax error in "drop table t; page_header('t', 0)"`},
		{[]string{"get_raw_page('it''s', 0)"}, `relation "it's" does not exist`},
		{[]string{"bt_page_stats('t_gin', 1)"}, `"t_gin" is not a btree index`},
		{[]string{"bt_page_stats('t', 1)"}, `"t" is not a btree index`},
		{[]string{"bt_page_stats('t_btree', 0)"}, "block 0 is a meta page"},
		{[]string{"bt_page_stats('t_btree', -1)"}, "invalid block number"},
		{nil, "requires at least 1 arg(s), only received 0"},
	} {
		out, errOut := inspect(t, append([]string{"--db", dir}, c.args...)...)
		if line, _, _ := strings.Cut(strings.ReplaceAll(errOut, " (SQLSTATE", "\n"), "\n"); out != "" || line != "pageinspect: "+c.want {
			t.Errorf("%q: %q, want %q, and it prints %q", c.args, errOut, c.want, out)
		}
	}
	_, errOut := inspect(t, "--db", dir, "gin_metapage_info(get_raw_page('t_btree', 0))")
	if want := "pageinspect: input page is not a valid GIN metapage (SQLSTATE 22023)\nDETAIL:  Expected special size 8, got 16.\n"; errOut != want {
		t.Errorf("a detail: %q, want %q", errOut, want)
	}
	if _, errOut := inspect(t, "--db", filepath.Join(dir, "nothing"), "relations"); !strings.HasPrefix(errOut, "pageinspect: ") {
		t.Errorf("a folder that isn't there: %q", errOut)
	}
	if _, errOut := inspect(t, "relations"); errOut != "pageinspect: required flag(s) \"db\" not set\n" {
		t.Errorf("without --db: %q", errOut)
	}
}
