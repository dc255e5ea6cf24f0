package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// wideload runs the command in this process.
func wideload(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd := newCommand(&out, &errOut)
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(t.Context())
	return out.String(), errOut.String(), err
}

// mustRun is wideload for commands that must work; it returns what they print.
func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	out, errOut, err := wideload(t, args...)
	if err != nil {
		t.Fatalf("wideload %s: %v\n%s%s", strings.Join(args, " "), err, out, errOut)
	}
	return out
}

func TestQueryForms(t *testing.T) {
	dir := t.TempDir()
	file, db := filepath.Join(dir, "t.csv"), filepath.Join(dir, "db")
	if err := os.WriteFile(file, []byte("id,name\n1,a\n2,\n3,\"\"\n4,a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	mustRun(t, "load", file, "--table", "t", "--db", db, "--header")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--count"}, " count\n-------\n     4\n(1 row)\n"},
		{[]string{"--count", "--where", "name = 'a'", "--format", "json"}, "[\n {\"count\":2}\n]\n"},
		{[]string{"--where", "id < 3"}, " id | name\n----+------\n  1 | a\n  2 |\n(2 rows)\n"},
		{[]string{"--where", "id > 9", "--format", "csv"}, "id,name\n"},
		{[]string{"--select", "name,id", "--order-by", "id desc", "--limit", "2", "--offset", "1", "--format", "csv"}, "name,id\n\"\",3\n,2\n"},
		{[]string{"--select", "ctid", "--limit", "1", "--format", "csv"}, "ctid\n\"(0,0)\"\n"},
		{[]string{"--limit", "0", "--format", "csv"}, "id,name\n"},
		{[]string{"--agg", "sum(id), count(name), count(*)", "--format", "json"}, "[\n {\"sum\":10,\"count(name)\":3,\"count(*)\":4}\n]\n"},
		{[]string{"--agg", "min(id) as least, max(id)", "--format", "csv"}, "least,max\n1,4\n"},
	} {
		if got := mustRun(t, append([]string{"query", "--db", db, "--table", "t"}, c.args...)...); got != c.want {
			t.Errorf("%q:\n%s\nwant:\n%s", c.args, got, c.want)
		}
	}
	if _, errOut, err := wideload(t, "query", "--db", db, "--table", "t", "--count", "--timing"); err != nil || !strings.HasPrefix(errOut, "Time: ") {
		t.Errorf("--timing: %q, %v", errOut, err)
	}
}

// figureNames returns suite/name unit of JSON lines, and fails if a value is not positive.
func figureNames(t *testing.T, lines string) []string {
	t.Helper()
	var names []string
	for line := range strings.Lines(lines) {
		var f struct {
			Suite, Name, Unit string
			Value             float64
		}
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&f); err != nil || f.Value <= 0 {
			t.Errorf("the line %q: %v", line, err)
		}
		names = append(names, f.Suite+"/"+f.Name+" "+f.Unit)
	}
	return names
}

func TestInsertCommand(t *testing.T) {
	dir := t.TempDir()
	db, sample, figures := filepath.Join(dir, "db"), filepath.Join(dir, "sample.csv"), filepath.Join(dir, "figures.json")
	out := mustRun(t, "insert", "--rows", "2003", "--columns", "5", "--clients", "3", "--batch", "10", "--db", db, "--sample", sample, "--json", figures)
	if !strings.HasPrefix(out, "2,003 rows of 5 random int4 columns into table a, btree on every column; 3 clients, 10 rows a commit, no sync\n") {
		t.Errorf("insert says %q", out)
	}
	lines, err := os.ReadFile(figures)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"insert/btree rows/s", "insert/btree-settled rows/s", "insert/btree-index-bytes-per-row B",
		"insert/btree-heap-bytes-per-row B", "insert/btree-peak-rss B", "insert/btree-case1-p99 ms"}
	if got := figureNames(t, string(lines)); !slices.Equal(got, want) {
		t.Errorf("figures %q, want %q", got, want)
	}
	samples, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	records := strings.Split(strings.TrimSuffix(string(samples), "\n"), "\n")
	if len(records) < 2 || records[0] != "elapsed_s,rows,pending_pages,pending_rows,insert_max_ms,case1_p50_ms,case1_p99_ms" ||
		strings.Split(records[len(records)-1], ",")[1] != "2003" {
		t.Errorf("samples: %q", samples)
	}
	flush(t, db, "a", 2003, 5)

	// Values lie in [0, 2e9), all over it: of 10,015, the half below 1e9 is 5,008 give or take 50 (one standard deviation).
	low := 0
	for c := range 5 {
		col := fmt.Sprintf("c%d", c+1)
		var n int
		got := mustRun(t, "query", "--db", db, "--table", "a", "--count", "--format", "csv", "--where", col+" between 0 and 1999999999")
		if got != "count\n2003\n" {
			t.Errorf("%s: %q in the domain", col, got)
		}
		got = mustRun(t, "query", "--db", db, "--table", "a", "--count", "--format", "csv", "--where", col+" < 1000000000")
		if _, err := fmt.Sscanf(got, "count\n%d\n", &n); err != nil {
			t.Fatal(err)
		}
		low += n
	}
	if low < 4708 || low > 5308 {
		t.Errorf("%d of 10,015 values are below the middle", low)
	}

	out, text, err := wideload(t, "insert", "--duration", "50ms", "--index", "none", "--columns", "2", "--sync", "--json", "-")
	if err != nil {
		t.Fatal(err)
	}
	want = []string{"insert/none rows/s", "insert/none-settled rows/s", "insert/none-heap-bytes-per-row B", "insert/none-peak-rss B"}
	if got := figureNames(t, out); !slices.Equal(got, want) {
		t.Errorf("figures %q, want %q", got, want)
	}
	if !strings.Contains(text, " into table a, no index; 8 clients, 1 row a commit, sync\n") || strings.Contains(text, "\r") {
		t.Errorf("text %q", text)
	}
}

func TestCompareCommand(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	out, text, err := wideload(t, "compare", "--rows", "3000", "--json", "-")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, mode := range []string{"btree", "gin", "gin-nofastupdate", "rum"} {
		for _, name := range []string{"insert/%s rows/s", "insert/%s-settled rows/s", "insert/%s-index-bytes-per-row B", "insert/%s-heap-bytes-per-row B",
			"query/selective-%s ms", "query/case3-%s ms", "query/case2-%s ms", "query/case1-%s ms"} {
			want = append(want, fmt.Sprintf(name, mode))
		}
	}
	if got := figureNames(t, out); !slices.Equal(got, want) {
		t.Errorf("figures %q, want %q", got, want)
	}
	for _, s := range []string{"btree on every", "GIN over all", "write speed", "index size", "bytes/row", "3,000 rows of 128 random int4 columns"} {
		if !strings.Contains(text, s) {
			t.Errorf("the table lacks %q:\n%s", s, text)
		}
	}
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestBadCommands(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "f.csv")
	if err := os.WriteFile(good, []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		want string
	}{
		{"query --table t", `required flag(s) "db" not set`},
		{"query --db " + dir + "/none --table t", "is not a database"},
		{"query --db x --table t --count --select c1", "none of the others can be"},
		{"query --db x --table t --format xml", `--format is "xml", must be one of ["table" "csv" "json"]`},
		{"load nowhere.csv --table t --db " + dir + "/db", "nowhere.csv: no such file"},
		{"load f --table t --db x --index hash", `--index is "hash", must be one of ["btree" "gin" "rum" "none"]`},
		{"load f --table t --db x --index rum --attach ts", `--attach "ts" has no --to`},
		{"load f --table t --db x --index rum --attach ts --to tags --to more", `--to "more" has no --attach`},
		{"load f --table t --db x --index gin --attach ts --to tags", "are for --index rum, not gin"},
		{"load f --table t --db x --index rum --order-by-attach", "--order-by-attach needs --attach and --to"},
		{"load " + good + " --table t --db " + dir + "/db5 --index rum --attach c1 --to c1", "cannot be the same"},
		{"load f --table t --db x --types c1", `--types has "c1", must be column=type`},
		{"load f --table t --db x --types c1=money", `--types has "c1=money": the type "money" is none of bool, int4,`},
		{"load f --table t --db x --delimiter ab", `--delimiter is "ab", must be one ASCII character or \t`},
		{"load f --table t --db " + dir + "/db2 --names header", "names from the header need a header"},
		{"load f --table t --db x --types c1=int4,c1=int8", `column "c1" is given two types: int4 and int8`},
		{"load f --table t --db x --types-file nowhere.csv", "nowhere.csv: no such file"},
		{"load f --table t --db x --quote ab", `--quote is "ab", must be one ASCII character or \t`},
		{"load f --table t --db x --quote ,", "the delimiter and the quote are both ','"},
		{"load f --table t --db x --append --create-only", "none of the others can be"},
		{"load f --table t --db x --append --index none", "none of the others can be"},
		{"load " + good + " --table t --db " + dir + "/db4 --append", `relation "t" does not exist`},
		{"dump --db " + dir + "/none --table t", "is not a database"},
		{"dump --db x --table t --format table", `--format is "table", must be one of ["csv" "json"]`},
		{"insert --rows 5 --duration 1s", "none of the others can be"},
		{"insert --rows 5 --index hash", `unknown index mode "hash": must be btree or gin or rum or none`},
		{"insert --rows -5 --clients 0 --batch 0", "rows is -5, must not be negative\nclients is 0, must be from 1 to 10000\nbatch is 0, must be at least 1"},
		{"insert --rows 5 --memory-limit many", `"many" is not a size`},
		{"insert --rows 5 --memory-limit 1MiB --db " + dir + "/db3", "MemoryLimit is 1048576"},
		{"compare --rows 0", "--rows is 0, must be at least 1"},
		{"compare 5", `unknown command "5"`},
	} {
		_, _, err := wideload(t, strings.Fields(c.args)...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("wideload %s: %v, want %s", c.args, err, c.want)
		}
	}
	if _, err := os.Stat("x"); err == nil {
		t.Error("a bad command has made a database")
	}
}

// Every flag has a sentence.
func TestFlagsAreExplained(t *testing.T) {
	for _, cmd := range newCommand(nil, nil).Commands() {
		if cmd.Short == "" {
			t.Errorf("%s is not explained", cmd.Name())
		}
		for _, line := range strings.Split(cmd.LocalFlags().FlagUsages(), "\n") {
			if f := strings.Fields(line); len(f) > 0 && len(f) < 5 {
				t.Errorf("%s: a flag with hardly a word: %s", cmd.Name(), line)
			}
		}
	}
}

func TestBuild(t *testing.T) {
	for args, name := range map[string]string{
		"--rows 70000 --type int8 --workers 0":                      "build/btree-int8-random-rows70000-workers0",
		"--rows 3000 --type text --order asc --wide --mem 1MB":      "build/btree-text-asc-wide-rows3000-workers1",
		"--rows 3000 --type md5 --order desc --dups 10 --workers 2": "build/btree-md5-desc-dups10-rows3000-workers2",
		"--rows 2000 --columns 3 --workers 1":                       "build/btree-3xint4-rows2000-workers1",
	} {
		out := mustRun(t, append([]string{"build"}, strings.Fields(args)...)...)
		var f struct {
			Suite, Name, Unit string
			Value             float64
		}
		if err := json.Unmarshal([]byte(out), &f); err != nil || f.Suite+"/"+f.Name != name || f.Unit != "ms" || f.Value <= 0 {
			t.Errorf("%s: %q, %v", args, out, err)
		}
	}
	for args, want := range map[string]string{
		"--rows 0 --type int2":    `type is "int2"`,
		"--mem 1023KiB":           "mem is 1047552 bytes",
		"--mem 64XB":              `"64XB" is not a size`,
		"--workers -1":            "workers is -1",
		"--order up":              `order is "up"`,
		"--dups 3":                "dups is 3",
		"--matrix --mem 64MB":     "none of the others can be",
		"--columns 4 --type int8": "columns are random int4",
		"--rows 100 --index hash": `access method "hash" does not exist`,
	} {
		if _, _, err := wideload(t, append([]string{"build"}, strings.Fields(args)...)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func TestTopK(t *testing.T) {
	for _, order := range []string{"rand", "asc"} {
		out := mustRun(t, "topk", "--rows", "70000", "--k", "10", "--workers", "2", "--order", order)
		if !strings.Contains(out, `"suite":"topk","name":"top10-rows70000-workers2","value":`) ||
			!strings.Contains(out, `"suite":"topk","name":"top10-unpruned-rows70000-workers2","value":`) || strings.Count(out, `"unit":"ms"`) != 2 {
			t.Errorf("%s: %q", order, out)
		}
	}
	_, _, err := wideload(t, "topk", "--rows", "0", "--k", "0", "--workers", "-1", "--order", "desc")
	if err == nil || strings.Count(err.Error(), "must be") != 4 {
		t.Error(err)
	}
}
