// Package load brings files of delimited text into tables of a database.
//
// Words used here: a cell is a field of a data record; a marker is text that stands for NULL. A file is read twice. The
// first time everything is checked and the types are inferred from all cells, so that the second time only loads; no
// cell ever changes its value on the way, and the rows keep the file's order. What is read is cut into blocks, which are
// worked on side by side.
//
// Never to be broken: a file is in its new table whole or there is no table. Rows that are appended to a table come in one
// commit up to oneCommit bytes; more take several.
package load

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"wideleaf"
	"wideleaf/am/gin"
	"wideleaf/am/rum"
	"wideleaf/cmd/internal/csvfile"
	"wideleaf/pgerr"
)

// Names is where the names of columns come from.
type Names string

const (
	FromHeader Names = "header"     // as written in the first record
	Positional Names = "positional" // c1, c2, ...
)

// Mode is what becomes of a file.
type Mode int

const (
	Create     Mode = iota // a new table with the file's rows
	CreateOnly             // a new table without rows
	Append                 // more rows of a table that is there
)

// Options say how a file is written and what becomes of it.
type Options struct {
	Table  string
	Mode   Mode
	Format csvfile.Format
	Header bool // the first record is names
	Names  Names
	Nulls  Nulls
	Types  map[string]ColumnType // by column (see findColumn); the others are inferred
	Lists  Lists
	Index  string // access method of an index on every column, "" for none
	// Attach and OrderByAttach are those of the index, which is then a rum.
	Attach        []wideleaf.Attach
	OrderByAttach bool
	// Progress, if not nil, is told how far the work is, from one goroutine at a time.
	Progress func(Progress)
}

// Nulls says which fields are NULL.
type Nulls struct {
	Markers []string // fields that are one of these
	Quoted  bool     // also if they are quoted
}

func (n *Nulls) match(text []byte, quoted bool) bool {
	if quoted && !n.Quoted {
		return false
	}
	for _, m := range n.Markers {
		if string(text) == m {
			return true
		}
	}
	return false
}

// Progress is how far a load is. It reads the file twice: to check it and to load it.
type Progress struct {
	Loading     bool  // not only checking
	Done, Total int64 // bytes of the file, as it is stored
	Rows        int64 // checked or loaded
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

// File loads a file.
func File(ctx context.Context, db *wideleaf.DB, path string, o Options) (Result, error) {
	l, err := newLoader(db, path, o)
	if err != nil {
		return Result{}, err
	}
	return l.run(ctx)
}

// loader is the loading of one file.
type loader struct {
	o       Options
	db      *wideleaf.DB
	src     *source
	table   *wideleaf.Table // to append to
	header  []string
	columns []column
	rows    int64
	bytes   int64 // that the rows take in a commit
	commit  int64 // bytes of rows that are appended by one commit
}

// column is a column of the file.
type column struct {
	wideleaf.Column
	list bool // its cells are lists of items
}

// Check checks what can be checked without the database.
func Check(path string, o Options) error {
	if err := o.Format.Check(); err != nil {
		return err
	}
	if o.Names == FromHeader && !o.Header {
		return errors.New("names from the header need a header")
	}
	if err := o.Lists.check(); err != nil {
		return err
	}
	_, err := newSource(path, o.Format)
	return err
}

// newLoader checks what can be checked before the file is read.
func newLoader(db *wideleaf.DB, path string, o Options) (*loader, error) {
	if err := Check(path, o); err != nil {
		return nil, err
	}
	l := &loader{o: o, db: db, commit: oneCommit}
	t, err := db.Table(o.Table)
	switch {
	case o.Mode == Append && err != nil:
		return nil, err
	case o.Mode == Append:
		l.table = t
	case err == nil && t.Name() == o.Table:
		return nil, &wideleaf.Error{Kind: wideleaf.ErrExists, Code: pgerr.DuplicateTable, Object: o.Table,
			Message: fmt.Sprintf("relation %q already exists", o.Table)}
	}
	l.src, err = newSource(path, o.Format)
	return l, err
}

func (l *loader) run(ctx context.Context) (Result, error) {
	if err := l.look(ctx); err != nil {
		return Result{}, err
	}
	if l.o.Mode == Append {
		return l.append(ctx)
	}
	return l.create(ctx)
}

func (l *loader) progress(loading bool, done int64) {
	if l.o.Progress != nil {
		l.o.Progress(Progress{Loading: loading, Done: done, Total: l.src.size, Rows: l.rows})
	}
}

// create makes the file a new table.
func (l *loader) create(ctx context.Context) (Result, error) {
	cols := make([]wideleaf.Column, len(l.columns))
	for i, c := range l.columns {
		cols[i] = c.Column
	}
	var indexes []wideleaf.IndexDef
	if l.o.Index != "" {
		indexes = Indexes(l.o.Table, l.o.Index, cols)
		for i := range indexes {
			indexes[i].Attach, indexes[i].OrderByAttach = l.o.Attach, l.o.OrderByAttach
		}
	}
	_, err := l.db.CreateTableAs(ctx, l.o.Table, cols, func(ctx context.Context, t *wideleaf.Table) error {
		if err := t.CreateIndexes(ctx, indexes...); err != nil || l.o.Mode == CreateOnly {
			return err
		}
		// No commit waits for the disk: that the table is found is durable with all of them.
		return l.load(ctx, t, func(b *wideleaf.Batch) error { return t.InsertBatch(ctx, b, wideleaf.NoSync) })
	})
	var placed *Error
	if err != nil && !errors.As(err, &placed) {
		err = fmt.Errorf("%s: %w", l.src.path, err)
	}
	if l.o.Mode == CreateOnly {
		l.rows = 0
	}
	return Result{Rows: l.rows, Columns: cols, Indexes: len(indexes)}, err
}

// oneCommit is the size of rows up to which they are appended by one commit. The engine takes 256 MiB.
const oneCommit = 240 << 20

// append adds the file's rows to a table. Up to oneCommit bytes they are one commit; more are several, and since all cells
// were checked before, only the disk, the end of the context or the end of the process can come between these.
func (l *loader) append(ctx context.Context) (Result, error) {
	result := Result{Columns: l.table.Columns(), Indexes: len(l.table.Indexes())}
	if l.bytes <= l.commit {
		err := l.db.Update(ctx, func(tx *wideleaf.Tx) error {
			return l.load(ctx, l.table, func(b *wideleaf.Batch) error { return tx.InsertBatch(l.table, b) })
		})
		if err == nil {
			result.Rows = l.rows
		}
		return result, err
	}
	err := l.load(ctx, l.table, func(b *wideleaf.Batch) error {
		err := l.table.InsertBatch(ctx, b)
		if err == nil {
			result.Rows += int64(b.Len())
		}
		return err
	})
	if err != nil && result.Rows > 0 {
		err = fmt.Errorf("%w; the file is too large for one commit, and its first %d rows are in the table", err, result.Rows)
	}
	return result, err
}

// load reads the file for the second time and calls insert with its rows.
func (l *loader) load(ctx context.Context, t *wideleaf.Table, insert func(*wideleaf.Batch) error) error {
	read, end, err := l.src.again(ctx, l.o.Header)
	if err != nil {
		return l.readError(ctx, err)
	}
	defer end()
	expected := l.rows
	l.rows = 0
	names := make([]string, len(l.columns))
	for i, c := range l.columns {
		names[i] = c.Name
	}
	batches := sync.Pool{New: func() any { return t.NewBatch(names...) }}
	err = pass(ctx, read,
		func(c chunk) (*wideleaf.Batch, error) {
			b := batches.Get().(*wideleaf.Batch)
			return b, l.convert(c.Block, b)
		},
		func(c chunk, b *wideleaf.Batch) error {
			if l.rows += int64(b.Len()); l.rows > expected {
				return l.src.changedError()
			}
			if err := insert(b); err != nil {
				return err
			}
			b.Reset()
			batches.Put(b)
			l.progress(true, c.done)
			return nil
		})
	switch {
	case err != nil:
		return l.readError(ctx, err)
	case l.rows != expected:
		return l.src.changedError()
	}
	return l.src.verify()
}

// readError gives an error of the reader its place.
func (l *loader) readError(ctx context.Context, err error) error {
	var syntax *csvfile.SyntaxError
	var placed *Error
	var engine *wideleaf.Error
	switch {
	case errors.As(err, &syntax):
		e := pgerr.New(wideleaf.ErrInvalid, badFormat, "%s: \"%s\"", syntax.Message, syntax.Value)
		if l.o.Format.Quote != 0 {
			e.Hint = "If quotes are ordinary characters of the file, load it with --quote none."
		}
		return l.at(syntax.Line, syntax.Column, e)
	case ctx.Err() != nil, errors.As(err, &placed), errors.As(err, &engine):
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

// Indexes defines the indexes of an access method on a new table: one over all columns if it is gin or rum, else one on
// every column.
func Indexes(table, method string, columns []wideleaf.Column) []wideleaf.IndexDef {
	if method != gin.Method.Name() && method != rum.Method.Name() {
		return IndexEvery(table, method, columns)
	}
	all := wideleaf.IndexDef{Name: fmt.Sprintf("idx_%s_1", table), Method: method}
	for _, c := range columns {
		all.Columns = append(all.Columns, wideleaf.IndexColumn{Name: c.Name})
	}
	return []wideleaf.IndexDef{all}
}

// IndexEvery defines an index idx_TABLE_N on every column N whose type is no array: keys of these are of little use, and
// soon too long.
func IndexEvery(table, method string, columns []wideleaf.Column) []wideleaf.IndexDef {
	var defs []wideleaf.IndexDef
	for i, c := range columns {
		if !isArray(c.Type) {
			defs = append(defs, wideleaf.IndexDef{
				Name:    fmt.Sprintf("idx_%s_%d", table, i+1),
				Method:  method,
				Columns: []wideleaf.IndexColumn{{Name: c.Name}},
			})
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
