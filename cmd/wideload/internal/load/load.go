// Package load brings files of delimited text into tables of a database.
//
// Words used here: a cell is a field of a data record; a marker is text that stands for NULL. A file is read twice. The
// first time everything is checked and the types are inferred from all cells, so that the second time only loads; no
// cell ever changes its value on the way, and the rows keep the file's order.
//
// Never to be broken: a file is in the table whole or there is no table. Up to oneCommit bytes it is one commit. A larger
// one takes several, so a crash of the machine or the process in the middle leaves a table with the first rows.
package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"wideleaf"
	"wideleaf/am/btree"
	"wideleaf/cmd/wideload/internal/csvfile"
	"wideleaf/pgerr"
	"wideleaf/value"
)

// Names is where the names of columns come from.
type Names string

const (
	FromHeader Names = "header"     // as written in the first record
	Positional Names = "positional" // c1, c2, ...
)

// Options say how a file is written and what table it becomes.
type Options struct {
	Table  string
	Format csvfile.Format
	Header bool // the first record is names
	Names  Names
	Nulls  []string                 // markers; they match unquoted fields only
	Types  map[string]wideleaf.Type // by column name; the others are inferred
	Index  string                   // access method of an index on every column, "" for none
	// Progress, if not nil, is told of bytes read, of all that will be, and of rows loaded.
	Progress func(done, total, rows int64)
}

// Result is what was loaded.
type Result struct {
	Rows    int64
	Columns []wideleaf.Column
	Indexes int
}

// Error is a place in a file that can't be loaded.
type Error struct {
	File   string
	Line   int    // from 1
	Column int    // from 1; 0: the whole record
	Name   string // of the column, if it is known and not positional
	Err    error  // with the value in its message
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s, line %d", e.File, e.Line)
	if e.Column > 0 {
		s += fmt.Sprintf(", column c%d", e.Column)
	}
	if e.Name != "" {
		s += fmt.Sprintf(" (%q)", e.Name)
	}
	return s + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

const (
	// oneCommit is the size of rows in memory up to which they are committed at once. The engine takes 256 MiB; in the
	// log's buffers and the tail the rows exist two times more.
	oneCommit = 64 << 20
	// batchBytes is the size of the batches of a larger file.
	batchBytes = 4 << 20
)

// File loads a file into a new table.
func File(ctx context.Context, db *wideleaf.DB, path string, o Options) (Result, error) {
	if err := o.check(db); err != nil {
		return Result{}, err
	}
	src, err := newSource(path)
	if err != nil {
		return Result{}, err
	}
	l := &loader{o: o, src: src}
	if err := l.look(ctx); err != nil {
		return Result{}, err
	}
	return l.load(ctx, db)
}

func (o *Options) check(db *wideleaf.DB) error {
	if err := o.Format.Check(); err != nil {
		return err
	}
	if o.Names == FromHeader && !o.Header {
		return errors.New("names from the header need a header")
	}
	if _, err := db.Table(o.Table); err == nil {
		return &wideleaf.Error{Kind: wideleaf.ErrExists, Code: pgerr.DuplicateTable, Object: o.Table,
			Message: fmt.Sprintf("relation %q already exists", o.Table)}
	}
	return nil
}

// loader is the loading of one file.
type loader struct {
	o       Options
	src     *source
	done    int64 // bytes read so far, both times
	header  []string
	columns []wideleaf.Column
	looks   []look
	rows    int64
	bytes   int64 // that the rows take in a batch
}

// look is what the first reading sees of a column.
type look struct {
	inference
	typ         wideleaf.Type // Unknown until it is inferred
	longest     int           // bytes of the longest cell
	longestLine int
	bytes       int64
}

// records calls f with every data record. first is called with the first record, the header or not, before.
func (l *loader) records(ctx context.Context, first func([]csvfile.Field) error, f func([]csvfile.Field) error) error {
	c, err := l.src.open(ctx, func(n int) {
		l.done += int64(n)
		if l.o.Progress != nil {
			l.o.Progress(l.done, 2*l.src.size, l.rows)
		}
	})
	if err != nil {
		return err
	}
	defer c.Close()
	r := csvfile.NewReader(c, l.o.Format)
	for i := 0; ; i++ {
		record, err := r.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return l.readError(ctx, err)
		}
		if i == 0 {
			if err := first(record); err != nil {
				return err
			}
			if l.o.Header {
				continue
			}
		}
		if err := f(record); err != nil {
			return err
		}
	}
}

// readError gives an error of the reader its place.
func (l *loader) readError(ctx context.Context, err error) error {
	var syntax *csvfile.SyntaxError
	switch {
	case errors.As(err, &syntax):
		e := pgerr.New(wideleaf.ErrInvalid, badFormat, "%s: \"%s\"", syntax.Message, syntax.Value)
		return l.at(syntax.Line, syntax.Column, e)
	case ctx.Err() != nil:
		return err
	}
	return fmt.Errorf("%s: %w", l.src.path, err)
}

// badFormat is PostgreSQL's bad_copy_file_format.
const badFormat = "22P04"

func (l *loader) at(line, column int, err error) error {
	e := &Error{File: l.src.path, Line: line, Column: column, Err: err}
	if column > 0 && column <= len(l.header) {
		e.Name = l.header[column-1]
	}
	return e
}

// isNull reports whether a field is NULL.
func (l *loader) isNull(f csvfile.Field) bool {
	if f.Quoted {
		return false
	}
	for _, m := range l.o.Nulls {
		if string(f.Text) == m {
			return true
		}
	}
	return false
}

// look reads the file for the first time: it checks every cell and settles names, types and sizes.
func (l *loader) look(ctx context.Context) error {
	err := l.records(ctx, l.first, func(record []csvfile.Field) error {
		l.rows++
		if n := len(l.columns); len(record) < n {
			return l.at(record[0].Line, 0, pgerr.New(wideleaf.ErrInvalid, badFormat,
				"missing data for column \"%s\": the record has %d fields, not %d", l.columns[len(record)].Name, len(record), n))
		} else if len(record) > n {
			return l.at(record[n].Line, 0, pgerr.New(wideleaf.ErrInvalid, badFormat,
				"extra data after last expected column: the record has %d fields, not %d: \"%s\"", len(record), n, excerpt(record[n].Text)))
		}
		for i, f := range record {
			if !l.isNull(f) {
				if err := l.looks[i].cell(f); err != nil {
					return l.at(f.Line, i+1, err)
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if l.columns == nil {
		return fmt.Errorf("%s: the file is empty", l.src.path)
	}
	for i := range l.looks {
		c := &l.looks[i]
		if c.typ == value.Unknown {
			c.typ = c.inference.typ()
		}
		l.columns[i].Type = c.typ
		switch c.typ {
		case wideleaf.Text:
			l.bytes += c.bytes + 16*l.rows
			if err := c.checkLongest(l.o.Index); err != nil {
				return l.at(c.longestLine, i+1, err)
			}
		default:
			l.bytes += 8 * l.rows
		}
	}
	return nil
}

// first names the columns after the first record.
func (l *loader) first(record []csvfile.Field) error {
	types := 0
	for i, f := range record {
		name := fmt.Sprintf("c%d", i+1)
		if l.o.Header {
			if !utf8.Valid(f.Text) {
				return l.at(f.Line, i+1, pgerr.New(wideleaf.ErrInvalid, pgerr.CharacterNotInRepertoire, "the name is not valid UTF-8: %q", f.Text))
			}
			l.header = append(l.header, string(f.Text))
			if l.o.Names == FromHeader {
				name = string(f.Text)
			}
		}
		t, given := l.o.Types[name]
		if given {
			types++
		}
		l.columns = append(l.columns, wideleaf.Column{Name: name})
		l.looks = append(l.looks, look{typ: t})
	}
	if types < len(l.o.Types) {
		for name := range l.o.Types {
			if !l.hasColumn(name) {
				return pgerr.New(wideleaf.ErrNotFound, pgerr.UndefinedColumn, "column \"%s\", whose type is given, does not exist in %s", name, l.src.path)
			}
		}
	}
	return nil
}

func (l *loader) hasColumn(name string) bool {
	for _, c := range l.columns {
		if c.Name == name {
			return true
		}
	}
	return false
}

// cell looks at a cell that is not NULL.
func (c *look) cell(f csvfile.Field) error {
	if c.typ == value.Unknown {
		c.add(f.Text)
	} else if c.typ != wideleaf.Text {
		_, err := parse(c.typ, f.Text)
		return err
	}
	if !utf8.Valid(f.Text) || bytes.IndexByte(f.Text, 0) >= 0 {
		return pgerr.New(wideleaf.ErrInvalid, pgerr.CharacterNotInRepertoire, "invalid byte sequence for encoding \"UTF8\": %q", excerpt(f.Text))
	}
	c.bytes += int64(len(f.Text))
	if len(f.Text) > c.longest {
		c.longest, c.longestLine = len(f.Text), f.Line
	}
	return nil
}

// checkLongest checks the longest cell of a text column against what the engine stores.
func (c *look) checkLongest(index string) error {
	switch {
	case c.longest > wideleaf.MaxValueBytes:
		return pgerr.New(wideleaf.ErrInvalid, pgerr.ProgramLimitExceeded, "a value has %d bytes, the maximum is %d", c.longest, wideleaf.MaxValueBytes)
	case index == btree.Method.Name() && c.longest > btree.MaxKeyBytes:
		return pgerr.New(wideleaf.ErrInvalid, pgerr.ProgramLimitExceeded,
			"a value has %d bytes, the maximum of a column with a btree index is %d", c.longest, btree.MaxKeyBytes)
	}
	return nil
}

// load reads the file for the second time, into a new table. Whatever fails, the table is dropped again.
func (l *loader) load(ctx context.Context, db *wideleaf.DB) (Result, error) {
	t, err := db.CreateTable(ctx, l.o.Table, l.columns...)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", l.src.path, err)
	}
	indexes, err := l.fill(ctx, db, t)
	if err != nil {
		// Also when ctx has ended.
		if dropped := db.DropTable(context.WithoutCancel(ctx), l.o.Table); dropped != nil {
			err = errors.Join(err, fmt.Errorf("the table could not be dropped: %w", dropped))
		}
		return Result{}, err
	}
	return Result{Rows: l.rows, Columns: t.Columns(), Indexes: indexes}, nil
}

func (l *loader) fill(ctx context.Context, db *wideleaf.DB, t *wideleaf.Table) (indexes int, err error) {
	if l.o.Index != "" {
		defs := IndexEvery(l.o.Table, l.o.Index, l.columns)
		if err := db.CreateIndexes(ctx, l.o.Table, defs...); err != nil {
			return 0, err
		}
		indexes = len(defs)
	}
	batch := t.NewBatch()
	expected := l.rows
	l.rows = 0
	limit, size := int64(batchBytes), int64(0)
	if l.bytes <= oneCommit {
		limit = oneCommit + 1
	}
	err = l.records(ctx, func([]csvfile.Field) error { return nil }, func(record []csvfile.Field) error {
		if len(record) != len(l.columns) {
			return l.at(record[0].Line, 0, errors.New("the file changed while it was loaded"))
		}
		if size >= limit {
			// The last commit is one with Sync, and makes the others durable as well.
			if err := t.InsertBatch(ctx, batch, wideleaf.NoSync); err != nil {
				return err
			}
			batch.Reset()
			size = 0
		}
		for i, f := range record {
			col := batch.Column(i)
			if l.isNull(f) {
				col.AppendNull()
				size += 8
				continue
			}
			v, err := parse(l.columns[i].Type, f.Text)
			if err != nil {
				return l.at(f.Line, i+1, err)
			}
			col.Append(v)
			size += int64(len(v.Str())) + 8
		}
		l.rows++
		return nil
	})
	if err != nil {
		return 0, err
	}
	if err := l.src.verify(); err != nil {
		return 0, err
	}
	if l.rows != expected {
		return 0, fmt.Errorf("%s: %d rows at first and %d then: the file changed while it was loaded", l.src.path, expected, l.rows)
	}
	return indexes, t.InsertBatch(ctx, batch)
}

// IndexEvery defines an index idx_TABLE_N on every column.
func IndexEvery(table, method string, columns []wideleaf.Column) []wideleaf.IndexDef {
	defs := make([]wideleaf.IndexDef, len(columns))
	for i, c := range columns {
		defs[i] = wideleaf.IndexDef{
			Name:    fmt.Sprintf("idx_%s_%d", table, i+1),
			Method:  method,
			Columns: []wideleaf.IndexColumn{{Name: c.Name}},
		}
	}
	return defs
}

// excerptBytes is how much of a value an error shows.
const excerptBytes = 60

func excerpt(cell []byte) string {
	if len(cell) > excerptBytes {
		return strings.ToValidUTF8(string(cell[:excerptBytes]), "") + "..."
	}
	return string(cell)
}
