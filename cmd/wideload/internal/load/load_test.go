package load

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wideleaf"
	"wideleaf/cmd/internal/csvfile"
	"wideleaf/value"
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
	return Options{Table: "t", Format: csvfile.CSV, Names: Positional, Nulls: Nulls{Markers: []string{""}}, Index: "btree"}
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
		"markers replace the default": {"?,NA,\n1,x,y\n", func(o *Options) { o.Nulls.Markers = []string{"?", "NA"} },
			"c1:int4 c2:text c3:text\n(0,0)|-|-|\n(0,1)|1|x|y\n"},
		"quoted markers are text": {"\"?\"\n?\n", func(o *Options) { o.Nulls.Markers = []string{"?"} },
			"c1:text\n(0,0)|?\n(0,1)|-\n"},
		"quoted numbers": {"\"1\",\"007\"\n\"2\",\"008\"\n", nil, "c1:int4 c2:text\n(0,0)|1|007\n(0,1)|2|008\n"},
		"header": {"Unit price,Select\n1,2\n", func(o *Options) { o.Header, o.Names = true, FromHeader },
			"Unit price:int4 Select:int4\n(0,0)|1|2\n"},
		"header, positional names": {"a,b\n1,2\n", func(o *Options) { o.Header = true }, "c1:int4 c2:int4\n(0,0)|1|2\n"},
		"header only":              {"a,b\n", func(o *Options) { o.Header, o.Names = true, FromHeader }, "a:text b:text\n"},
		"given types": {"1,1,007\n0,2,8\n", func(o *Options) {
			o.Types = map[string]ColumnType{"c1": {Type: wideleaf.Bool}, "c2": {Type: wideleaf.Int8}, "c3": {Type: wideleaf.Int4}}
		}, "c1:bool c2:int8 c3:int4\n(0,0)|t|1|7\n(0,1)|f|2|8\n"},
		"tabs, line breaks, a mark, CRLF": {"\xef\xbb\xbf\"a\nb\"\t1\r\n\"\"\"\"\t2\r\n", func(o *Options) { o.Format.Delimiter = '\t' },
			"c1:text c2:int4\n(0,0)|a\nb|1\n(0,1)|\"|2\n"},
		"quoted markers are NULL": {"\"\",\"NA\",\"x\"\n,NA,\n", func(o *Options) { o.Nulls = Nulls{Markers: []string{"", "NA"}, Quoted: true} },
			"c1:text c2:text c3:text\n(0,0)|-|-|x\n(0,1)|-|-|-\n"},
		"no quotes":    {"\"a,b\"c\n\",\n", func(o *Options) { o.Format.Quote = 0 }, "c1:text c2:text\n(0,0)|\"a|b\"c\n(0,1)|\"|-\n"},
		"other quotes": {"'it''s',\"\n", func(o *Options) { o.Format.Quote = '\'' }, "c1:text c2:text\n(0,0)|it's|\"\n"},
		"no index":     {"5\n", func(o *Options) { o.Index = "" }, "c1:int4\n(0,0)|5\n"},
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
				if len(indexes) != r.Indexes || o.Index != "" && (r.Indexes != scalars(r.Columns) || r.Indexes > 0 && !isArray(r.Columns[0].Type) && indexes[0].Name != "idx_"+table+"_1") {
					t.Errorf("%d indexes: %v", r.Indexes, indexes)
				}
			}
		})
	}
}

func scalars(cols []wideleaf.Column) (n int) {
	for _, c := range cols {
		if !isArray(c.Type) {
			n++
		}
	}
	return n
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
		"not UTF-8":       {good + "2,\xff\n", nil, `, line 4, column c2: invalid byte sequence for encoding "UTF8": 0xff (SQLSTATE 22021)`},
		"a zero byte":     {good + "2,\x00\n", nil, `, line 4, column c2: invalid byte sequence for encoding "UTF8": 0x00 (SQLSTATE 22021)`},
		"given type": {"n,k\n1,2\n3,4x\n", func(o *Options) {
			o.Header, o.Names, o.Types = true, FromHeader, map[string]ColumnType{"k": {Type: wideleaf.Int4}}
		}, `, line 3, column c2 ("k"): invalid input syntax for type integer: "4x" (SQLSTATE 22P02)`},
		"given type, too large": {"1\n3000000000\n", func(o *Options) { o.Types = map[string]ColumnType{"c1": {Type: wideleaf.Int4}} },
			`, line 2, column c1: value "3000000000" is out of range for type integer (SQLSTATE 22003)`},
		"the line of a quoted record": {"\"a\nb\",1\n\"c\n\",2,3\n", nil,
			`, line 4: extra data after last expected column: the record has 3 fields, not 2: "3" (SQLSTATE 22P04)`},
		"a long key": {good + "2," + strings.Repeat("x", 2705) + "\n", nil, `, line 4, column c2: a value has 2705 bytes, the maximum of a column with a btree index is 2704 (SQLSTATE 54000)`},
		"a list without brackets": {"<a>\nb\n", func(o *Options) { o.Lists = Lists{[]string{"c1"}, Brackets} },
			`, line 2, column c1: the items of a list do not each stand in < and >: "b" (SQLSTATE 22P02)`},
		"a list of given type": {"1\n\"2,x\"\n", func(o *Options) {
			o.Lists, o.Types = Lists{[]string{"c1"}, ","}, map[string]ColumnType{"c1": {Type: value.Int8Array}}
		}, `, line 2, column c1: invalid input syntax for type bigint: "x" (SQLSTATE 22P02)`},
		"a long cell": {"\"" + strings.Repeat("x", 100) + "\"\n", func(o *Options) { o.Types = map[string]ColumnType{"c1": {Type: wideleaf.Int4}} },
			`, line 1, column c1: invalid input syntax for type integer: "` + strings.Repeat("x", 60) + `..." (SQLSTATE 22P02)`},
		"not a date": {"2020-02-30\n", func(o *Options) { o.Types = map[string]ColumnType{"c1": {Type: value.Date}} },
			`, line 1, column c1: date/time field value out of range: "2020-02-30" (SQLSTATE 22008)`},
		"NULL in NOT NULL": {"1\n\n", func(o *Options) { o.Types = map[string]ColumnType{"c1": {Type: wideleaf.Int4, NotNull: true}} },
			`, line 2, column c1: null value in column "c1" of relation "t" violates not-null constraint (SQLSTATE 23502)`},
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
	o.Types = map[string]ColumnType{"c9": {Type: wideleaf.Text}}
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

// manyRows is a file of many blocks.
func manyRows(t *testing.T) (path string, rows int64) {
	t.Helper()
	var b bytes.Buffer
	pad := strings.Repeat("x", 500)
	for ; b.Len() < 8*blockBytes; rows++ {
		fmt.Fprintf(&b, "%d,%s%d\n", rows, pad, rows)
	}
	return writeFile(t, b.String()), rows
}

// hasRows checks that column c1 of a table counts from 0, as that of manyRows does, n times over.
func hasRows(t *testing.T, db *wideleaf.DB, name string, rows int64, n int) {
	t.Helper()
	table, err := db.Table(name)
	if err != nil {
		t.Fatal(err)
	}
	i := int64(0)
	for row, err := range table.Query().Select("c1").Rows(t.Context()) {
		if err != nil || row[0].Int() != i%rows {
			t.Fatalf("row %d is %v, %v", i, row, err)
		}
		i++
	}
	if i != rows*int64(n) {
		t.Fatalf("%d rows are there, want %d times %d", i, n, rows)
	}
}

// run loads a file, which is read again for the second reading if it is not kept.
func run(ctx context.Context, db *wideleaf.DB, path string, o Options, keep bool, commit int64) (Result, error) {
	l, err := newLoader(db, path, o)
	if err != nil {
		return Result{}, err
	}
	if !keep {
		l.src.room = 0
	}
	l.commit = commit
	return l.run(ctx)
}

func TestManyBlocks(t *testing.T) {
	path, rows := manyRows(t)
	for _, keep := range []bool{true, false} {
		db := openDB(t)
		o := options()
		r, err := run(t.Context(), db, path, o, keep, oneCommit)
		if err != nil || r.Rows != rows {
			t.Fatalf("%d rows, %v; want %d", r.Rows, err, rows)
		}
		hasRows(t, db, "t", rows, 1)
		o.Mode = Append
		for i, commit := range []int64{oneCommit, 1} { // in one, in many
			if r, err := run(t.Context(), db, path, o, keep, commit); err != nil || r.Rows != rows {
				t.Fatalf("%d rows appended, %v; want %d", r.Rows, err, rows)
			}
			hasRows(t, db, "t", rows, i+2)
		}
	}
}

// A load that is cancelled in the middle, with rows committed, leaves nothing; one that appends says what it leaves.
func TestCancelled(t *testing.T) {
	path, rows := manyRows(t)
	for _, keep := range []bool{true, false} {
		db := openDB(t)
		o := options()
		ctx, cancel := context.WithCancel(t.Context())
		stop := func(p Progress) {
			if p.Loading && p.Rows > rows/3 {
				cancel()
			}
		}
		o.Progress = stop
		if _, err := run(ctx, db, path, o, keep, oneCommit); !errors.Is(err, context.Canceled) {
			t.Fatalf("cancelled: %v", err)
		}
		if len(db.Tables()) != 0 {
			t.Error("a table is left")
		}
		o.Progress = nil
		if _, err := run(t.Context(), db, path, o, keep, oneCommit); err != nil {
			t.Fatal(err)
		}
		o.Mode, o.Progress = Append, stop
		ctx, cancel = context.WithCancel(t.Context())
		if _, err := run(ctx, db, path, o, keep, oneCommit); !errors.Is(err, context.Canceled) {
			t.Fatalf("cancelled: %v", err)
		}
		hasRows(t, db, "t", rows, 1)
		ctx, cancel = context.WithCancel(t.Context())
		r, err := run(ctx, db, path, o, keep, 1)
		table, tableErr := db.Table("t")
		if tableErr != nil {
			t.Fatal(tableErr)
		}
		n, countErr := table.Query().Count(t.Context())
		if !errors.Is(err, context.Canceled) || countErr != nil || n != rows+r.Rows || r.Rows <= rows/3 || r.Rows >= rows ||
			!strings.Contains(err.Error(), fmt.Sprintf("its first %d rows are in the table", r.Rows)) {
			t.Errorf("an append in many commits: %v; %d rows are there, %v; want %d and %d", err, n, countErr, rows, r.Rows)
		}
		cancel()
	}
}

func TestAppend(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		change  func(*Options)
		want    string // the rows after the first; or an error, without the path
	}{
		"by place":         {"5,x,0.5\n6,,1\n", nil, "(0,1)|5|x|0.5\n(0,2)|6|-|1\n"},
		"types hold":       {"7,007,1\n", nil, "(0,1)|7|007|1\n"},
		"by name":          {"f,n\n2.5,8\n", func(o *Options) { o.Header, o.Names = true, FromHeader }, "(0,1)|8|given|2.5\n"},
		"header, by place": {"x,y,z\n8,b,2\n", func(o *Options) { o.Header = true }, "(0,1)|8|b|2\n"},
		"defaults":         {"n\n9\n", func(o *Options) { o.Header, o.Names = true, FromHeader }, "(0,1)|9|given|-\n"},
		"no rows":          {"f,n\n", func(o *Options) { o.Header, o.Names = true, FromHeader }, ""},
		"another type":     {"5,x,0.5\nsix,,1\n", nil, `, line 2, column c1: invalid input syntax for type integer: "six" (SQLSTATE 22P02)`},
		"out of range":     {"5000000000,x,0.5\n", nil, `, line 1, column c1: value "5000000000" is out of range for type integer (SQLSTATE 22003)`},
		"NULL":             {"5,x,1\n,x,1\n", nil, `, line 2, column c1: null value in column "n" of relation "t" violates not-null constraint (SQLSTATE 23502)`},
		"too few fields":   {"5,x\n", nil, `, line 1: missing data for column "f": the record has 2 fields, not 3 (SQLSTATE 22P04)`},
		"too many fields":  {"5,x,1,\"a\nb\"\n", nil, ", line 1: extra data after last expected column: the record has 4 fields, not 3: \"a\nb\" (SQLSTATE 22P04)"},
		"unknown name": {"n,q\n1,2\n", func(o *Options) { o.Header, o.Names = true, FromHeader },
			`, line 1, column c2 ("q"): column "q" of relation "t" does not exist (SQLSTATE 42703)`},
		"name twice": {"n,n\n1,2\n", func(o *Options) { o.Header, o.Names = true, FromHeader },
			`, line 1, column c2 ("n"): column "n" specified more than once (SQLSTATE 42701)`},
		"a long key": {"5," + strings.Repeat("x", 2705) + ",1\n", nil,
			`, line 1, column c2: a value has 2705 bytes, the maximum of a column with a btree index is 2704 (SQLSTATE 54000)`},
	} {
		t.Run(name, func(t *testing.T) {
			db := openDB(t)
			table, err := db.CreateTable(t.Context(), "t", wideleaf.Column{Name: "n", Type: wideleaf.Int4, NotNull: true},
				wideleaf.Column{Name: "s", Type: wideleaf.Text, Default: "given"}, wideleaf.Column{Name: "f", Type: wideleaf.Float8})
			if err != nil {
				t.Fatal(err)
			}
			if err := table.CreateIndexes(t.Context(), IndexEvery("t", "btree", table.Columns())...); err != nil {
				t.Fatal(err)
			}
			if err := table.Insert(t.Context(), []any{1, "a", nil}); err != nil {
				t.Fatal(err)
			}
			o := options()
			o.Mode = Append
			if c.change != nil {
				c.change(&o)
			}
			path := writeFile(t, c.content)
			_, err = File(t.Context(), db, path, o)
			want := "n:int4 s:text f:float8\n(0,0)|1|a|-\n"
			if strings.HasPrefix(c.want, ",") {
				if err == nil || err.Error() != path+c.want {
					t.Errorf("got  %v\nwant %s", err, path+c.want)
				}
			} else if want += c.want; err != nil {
				t.Error(err)
			}
			if got := dump(t, db, "t"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
	db := openDB(t)
	o := options()
	o.Mode = Append
	if _, err := File(t.Context(), db, writeFile(t, "1\n"), o); !errors.Is(err, wideleaf.ErrNotFound) {
		t.Errorf("a table that is not there: %v", err)
	}
}

func TestCreateOnly(t *testing.T) {
	db := openDB(t)
	o := options()
	o.Mode = CreateOnly
	path := writeFile(t, "1,a,0.5\n2,,1\n")
	r, err := File(t.Context(), db, path, o)
	if err != nil || r.Rows != 0 || r.Indexes != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	if got := dump(t, db, "t"); got != "c1:int4 c2:text c3:float8\n" {
		t.Errorf("got %s", got)
	}
	o.Mode = Append
	if r, err := File(t.Context(), db, path, o); err != nil || r.Rows != 2 || r.Indexes != 3 {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := dump(t, db, "t"); got != "c1:int4 c2:text c3:float8\n(0,0)|1|a|0.5\n(0,1)|2|-|1\n" {
		t.Errorf("got %s", got)
	}
}

func TestAttach(t *testing.T) {
	db := openDB(t)
	o := options()
	o.Index, o.Attach, o.OrderByAttach = "rum", []wideleaf.Attach{{Column: "c1", To: "c2"}, {Column: "c3", To: "c2"}}, true
	o.Lists = Lists{Columns: []string{"c2"}, Separator: ","}
	if _, err := File(t.Context(), db, writeFile(t, "1,\"a,b\",0.5\n2,a,1\n3,,2\n"), o); err != nil {
		t.Fatal(err)
	}
	table, err := db.Table("t")
	if err != nil {
		t.Fatal(err)
	}
	if ix := table.Indexes(); len(ix) != 1 || !slices.Equal(ix[0].Attach, o.Attach) || !ix[0].OrderByAttach {
		t.Errorf("indexes are %+v", ix)
	}
	if err := table.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := table.Query().Where("c2 @> '{a}' and c1 > 1").Count(t.Context()); n != 1 || err != nil {
		t.Errorf("%d rows are found, %v", n, err)
	}
	if err := db.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// The first fault in the file is the one that is told, wherever the blocks are cut.
func TestFirstFault(t *testing.T) {
	db := openDB(t)
	o := options()
	o.Types = map[string]ColumnType{"c1": {Type: wideleaf.Int4}, "c2": {Type: wideleaf.Int4}}
	var b strings.Builder
	for i := range 500_000 {
		switch {
		case i == 200_000:
			b.WriteString("1,bad\n")
		case i == 200_001:
			b.WriteString("1\n")
		case i > 200_001 && i%7 == 0:
			b.WriteString("bad,1\n")
		default:
			b.WriteString("1,22\n")
		}
	}
	b.WriteString("\"\n")
	_, err := File(t.Context(), db, writeFile(t, b.String()), o)
	if err == nil || !strings.Contains(err.Error(), `, line 200001, column c2: invalid input syntax for type integer: "bad"`) {
		t.Error(err)
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
			o.Progress = func(p Progress) {
				if !changed && p.Rows == 2 { // at the end of the first reading
					changed = true
					if err := os.WriteFile(path, []byte(then), 0o600); err != nil {
						t.Error(err)
					}
				}
			}
			_, err := run(t.Context(), db, path, o, false, oneCommit)
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

// A file larger than what one commit takes is loaded and appended within a small memory limit.
func TestLargeFile(t *testing.T) {
	if os.Getenv("WIDELEAF_NIGHTLY") == "" {
		t.Skip("loads 300 MiB twice; only with WIDELEAF_NIGHTLY=1")
	}
	path := filepath.Join(t.TempDir(), "f.csv")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewWriter(f)
	pad := strings.Repeat("x", 500)
	rows := int64(0)
	for size := 0; size < 300<<20; rows++ {
		n, _ := fmt.Fprintf(out, "%d,%s%d\n", rows, pad, rows)
		size += n
	}
	if err := errors.Join(out.Flush(), f.Close()); err != nil {
		t.Fatal(err)
	}
	db := openDB(t)
	o := options()
	for n, mode := range []Mode{Create, Append} {
		o.Mode = mode
		if r, err := File(t.Context(), db, path, o); err != nil || r.Rows != rows {
			t.Fatalf("%d rows, %v; want %d", r.Rows, err, rows)
		}
		hasRows(t, db, "t", rows, n+1)
	}
}
