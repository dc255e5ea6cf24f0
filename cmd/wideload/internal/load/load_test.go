package load

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wideleaf"
	"wideleaf/cmd/wideload/internal/csvfile"
)

func openDB(t *testing.T) *wideleaf.DB {
	t.Helper()
	db, err := wideleaf.Open(filepath.Join(t.TempDir(), "db"), &wideleaf.Options{MemoryLimit: 64 << 20, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func writeFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f.csv")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func options() Options {
	return Options{Table: "t", Format: csvfile.CSV, Names: Positional, Nulls: []string{""}, Index: "btree"}
}

// dump prints a table: a line of name:type, then the rows with their TIDs, NULL as -.
func dump(t *testing.T, db *wideleaf.DB, name string) string {
	t.Helper()
	table, err := db.Table(name)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i, c := range table.Columns() {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%s:%v", c.Name, c.Type)
	}
	b.WriteByte('\n')
	for row, err := range table.Query().Select("ctid", "*").Rows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range row {
			if i > 0 {
				b.WriteByte('|')
			}
			if v.IsNull() {
				b.WriteByte('-')
			} else {
				b.WriteString(v.String())
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestLoad(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		change  func(*Options)
		want    string
	}{
		"types and NULLs": {"1,a,0.5,t\n2,\"\",,f\n,,1,\n", nil,
			"c1:int4 c2:text c3:float8 c4:bool\n(0,0)|1|a|0.5|t\n(0,1)|2||-|f\n(0,2)|-|-|1|-\n"},
		"markers replace the default": {"?,NA,\n1,x,y\n", func(o *Options) { o.Nulls = []string{"?", "NA"} },
			"c1:int4 c2:text c3:text\n(0,0)|-|-|\n(0,1)|1|x|y\n"},
		"quoted markers are text": {"\"?\"\n?\n", func(o *Options) { o.Nulls = []string{"?"} },
			"c1:text\n(0,0)|?\n(0,1)|-\n"},
		"quoted numbers": {"\"1\",\"007\"\n\"2\",\"008\"\n", nil, "c1:int4 c2:text\n(0,0)|1|007\n(0,1)|2|008\n"},
		"header": {"Unit price,Select\n1,2\n", func(o *Options) { o.Header, o.Names = true, FromHeader },
			"Unit price:int4 Select:int4\n(0,0)|1|2\n"},
		"header, positional names": {"a,b\n1,2\n", func(o *Options) { o.Header = true }, "c1:int4 c2:int4\n(0,0)|1|2\n"},
		"header only":              {"a,b\n", func(o *Options) { o.Header, o.Names = true, FromHeader }, "a:text b:text\n"},
		"given types": {"1,1,007\n0,2,8\n", func(o *Options) {
			o.Types = map[string]wideleaf.Type{"c1": wideleaf.Bool, "c2": wideleaf.Int8, "c3": wideleaf.Int4}
		}, "c1:bool c2:int8 c3:int4\n(0,0)|t|1|7\n(0,1)|f|2|8\n"},
		"tabs, line breaks, a mark, CRLF": {"\xef\xbb\xbf\"a\nb\"\t1\r\n\"\"\"\"\t2\r\n", func(o *Options) { o.Format.Delimiter = '\t' },
			"c1:text c2:int4\n(0,0)|a\nb|1\n(0,1)|\"|2\n"},
		"no index": {"5\n", func(o *Options) { o.Index = "" }, "c1:int4\n(0,0)|5\n"},
	} {
		t.Run(name, func(t *testing.T) {
			db := openDB(t)
			o := options()
			if c.change != nil {
				c.change(&o)
			}
			var zipped bytes.Buffer
			z := gzip.NewWriter(&zipped)
			if _, err := z.Write([]byte(c.content)); err != nil {
				t.Fatal(err)
			}
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
			for table, content := range map[string]string{"plain": c.content, "zipped": zipped.String()} {
				o.Table = table
				r, err := File(t.Context(), db, writeFile(t, content), o)
				if err != nil {
					t.Fatal(err)
				}
				got := dump(t, db, table)
				if got != c.want {
					t.Errorf("%s:\n%s\nwant:\n%s", table, got, c.want)
				}
				tb, err := db.Table(table)
				if err != nil {
					t.Fatal(err)
				}
				indexes := tb.Indexes()
				if len(indexes) != r.Indexes || o.Index != "" && (r.Indexes != len(r.Columns) || indexes[0].Name != "idx_"+table+"_1") {
					t.Errorf("%d indexes: %v", r.Indexes, indexes)
				}
			}
		})
	}
}

// Whatever is wrong with a file, the error says where, and nothing is there afterwards.
func TestBadFiles(t *testing.T) {
	good := strings.Repeat("1,a\n", 3)
	for name, c := range map[string]struct {
		content string
		change  func(*Options)
		want    string // without the path
	}{
		"too few fields":  {good + "2\n", nil, `, line 4: missing data for column "c2": the record has 1 fields, not 2 (SQLSTATE 22P04)`},
		"too many fields": {good + "2,b,xyz\n", nil, `, line 4: extra data after last expected column: the record has 3 fields, not 2: "xyz" (SQLSTATE 22P04)`},
		"bad quote":       {good + "2,b\"c\n", nil, `, line 4, column c2: a quote stands in an unquoted field: "b"c" (SQLSTATE 22P04)`},
		"not UTF-8":       {good + "2,\xff\n", nil, `, line 4, column c2: invalid byte sequence for encoding "UTF8": "\xff" (SQLSTATE 22021)`},
		"a zero byte":     {good + "2,\x00\n", nil, `, line 4, column c2: invalid byte sequence for encoding "UTF8": "\x00" (SQLSTATE 22021)`},
		"given type": {"n,k\n1,2\n3,4x\n", func(o *Options) {
			o.Header, o.Names, o.Types = true, FromHeader, map[string]wideleaf.Type{"k": wideleaf.Int4}
		}, `, line 3, column c2 ("k"): invalid input syntax for type integer: "4x" (SQLSTATE 22P02)`},
		"given type, too large": {"1\n3000000000\n", func(o *Options) { o.Types = map[string]wideleaf.Type{"c1": wideleaf.Int4} },
			`, line 2, column c1: "3000000000" is out of range for type integer (SQLSTATE 22003)`},
		"the line of a quoted record": {"\"a\nb\",1\n\"c\n\",2,3\n", nil,
			`, line 4: extra data after last expected column: the record has 3 fields, not 2: "3" (SQLSTATE 22P04)`},
		"a long key":      {good + "2," + strings.Repeat("x", 2705) + "\n", nil, `, line 4, column c2: a value has 2705 bytes, the maximum of a column with a btree index is 2704 (SQLSTATE 54000)`},
		"empty":           {"", nil, ": the file is empty"},
		"names twice":     {"a,a\n1,2\n", func(o *Options) { o.Header, o.Names = true, FromHeader }, `: column "a" specified more than once (SQLSTATE 42701)`},
		"cut off in gzip": {"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", nil, ": unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			db := openDB(t)
			o := options()
			if c.change != nil {
				c.change(&o)
			}
			path := writeFile(t, c.content)
			_, err := File(t.Context(), db, path, o)
			if err == nil || err.Error() != path+c.want {
				t.Errorf("got  %v\nwant %s", err, path+c.want)
			}
			if len(db.Tables()) != 0 {
				t.Errorf("a table is left")
			}
		})
	}
	db := openDB(t)
	o := options()
	o.Types = map[string]wideleaf.Type{"c9": wideleaf.Text}
	if _, err := File(t.Context(), db, writeFile(t, good), o); !errors.Is(err, wideleaf.ErrNotFound) {
		t.Errorf("a type for a column that is not there: %v", err)
	}
	if _, err := File(t.Context(), db, t.TempDir(), options()); err == nil {
		t.Error("a directory is accepted")
	}
	if _, err := File(t.Context(), db, writeFile(t, good), options()); err != nil {
		t.Fatal(err)
	}
	if _, err := File(t.Context(), db, writeFile(t, good), options()); !errors.Is(err, wideleaf.ErrExists) {
		t.Errorf("a table that is there: %v", err)
	}
	if got := dump(t, db, "t"); got != "c1:int4 c2:text\n(0,0)|1|a\n(0,1)|1|a\n(0,2)|1|a\n" {
		t.Errorf("the table that was there is now:\n%s", got)
	}
}

// manyRows is a file that takes several commits: over oneCommit bytes of rows.
func manyRows(t *testing.T) (path string, rows int64) {
	t.Helper()
	var b bytes.Buffer
	pad := strings.Repeat("x", 500)
	for i := 0; b.Len() < oneCommit; i++ {
		fmt.Fprintf(&b, "%d,%s%d\n", i, pad, i)
		rows++
	}
	return writeFile(t, b.String()), rows
}

func TestLargeFile(t *testing.T) {
	if testing.Short() {
		t.Skip("loads 64 MiB")
	}
	path, rows := manyRows(t)
	db := openDB(t)
	o := options()
	o.Index = ""
	r, err := File(t.Context(), db, path, o)
	if err != nil || r.Rows != rows {
		t.Fatalf("%d rows, %v; want %d", r.Rows, err, rows)
	}
	table, err := db.Table("t")
	if err != nil {
		t.Fatal(err)
	}
	i := int64(0)
	for row, err := range table.Query().Select("c1").Rows(t.Context()) {
		if err != nil || row[0].Int() != i {
			t.Fatalf("row %d is %v, %v", i, row, err)
		}
		i++
	}
	if i != rows {
		t.Fatalf("%d rows are there, want %d", i, rows)
	}

	// Cancelled in the middle of the second reading, with rows committed.
	ctx, cancel := context.WithCancel(t.Context())
	o.Table = "u"
	committed := false
	o.Progress = func(done, total, rows int64) {
		if done > total*3/4 && !committed {
			if u, err := db.Table("u"); err == nil {
				n, err := u.Query().Count(t.Context())
				committed = err == nil && n > 0
			}
			cancel()
		}
	}
	if _, err := File(ctx, db, path, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("cancelled: %v", err)
	}
	if !committed {
		t.Error("no rows were committed before it was cancelled: the test shows nothing")
	}
	if _, err := db.Table("u"); !errors.Is(err, wideleaf.ErrNotFound) {
		t.Errorf("the table of a cancelled load: %v", err)
	}
}

// A file that is another one the second time is not loaded.
func TestFileChanges(t *testing.T) {
	for name, then := range map[string]string{
		"longer": "1,a\n2,b\n3,c\n", "shorter": "1,a\n", "another type": "1,a\nx,b\n", "fewer columns": "1,a\n2\n"} {
		t.Run(name, func(t *testing.T) {
			db := openDB(t)
			path := writeFile(t, "1,a\n2,b\n")
			o := options()
			changed := false
			o.Progress = func(done, total, rows int64) {
				if !changed && rows == 2 { // at the end of the first reading
					changed = true
					if err := os.WriteFile(path, []byte(then), 0o600); err != nil {
						t.Error(err)
					}
				}
			}
			_, err := File(t.Context(), db, path, o)
			if !changed || err == nil {
				t.Errorf("changed: %v, error: %v", changed, err)
			}
			if len(db.Tables()) != 0 {
				t.Error("a table is left")
			}
		})
	}
}

func TestReadErrorKeepsCause(t *testing.T) {
	l := &loader{src: &source{path: "f.csv"}}
	if err := l.readError(t.Context(), io.ErrUnexpectedEOF); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.HasPrefix(err.Error(), "f.csv: ") {
		t.Error(err)
	}
}
