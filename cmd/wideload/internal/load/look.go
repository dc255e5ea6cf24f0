package load

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"unicode/utf8"

	"wideleaf"
	"wideleaf/am/btree"
	"wideleaf/cmd/internal/csvfile"
	"wideleaf/pgerr"
	"wideleaf/value"
)

// look reads the file for the first time: it checks every cell and settles names, types and sizes.
func (l *loader) look(ctx context.Context) error {
	r, err := l.src.open(ctx)
	switch {
	case err == io.EOF:
		return fmt.Errorf("%s: the file is empty", l.src.path)
	case err != nil:
		return l.readError(ctx, err)
	}
	defer func() { _ = r.Close() }() // read only
	if err := l.name(r.next); err != nil {
		return err
	}
	if l.o.Header {
		r.header()
	}
	read := func() (chunk, error) {
		c, err := r.read()
		l.src.remember(c, err)
		return c, err
	}
	all := make([]seen, len(l.columns))
	err = pass(ctx, read, l.lookAt, func(c chunk, found []seen) error {
		for i := range all {
			all[i].merge(&found[i])
		}
		l.rows += int64(c.Len())
		l.progress(false, c.done)
		return nil
	})
	if err != nil {
		return l.readError(ctx, err)
	}
	return l.settle(all)
}

// name names the columns after the first record and finds those whose types are given.
func (l *loader) name(first *csvfile.Block) error {
	for i := range first.Fields(0) {
		name := fmt.Sprintf("c%d", i+1)
		if l.o.Header {
			text, _ := first.Field(0, i)
			if !utf8.Valid(text) {
				return l.at(first.Line(0, i), i+1, pgerr.New(wideleaf.ErrInvalid, pgerr.CharacterNotInRepertoire, "the name is not valid UTF-8: %q", text))
			}
			l.header = append(l.header, string(text))
			if l.o.Names == FromHeader {
				name = string(text)
			}
		}
		l.columns = append(l.columns, column{Column: wideleaf.Column{Name: name}})
	}
	for _, name := range slices.Sorted(maps.Keys(l.o.Types)) {
		c, t := l.findColumn(name), l.o.Types[name]
		if c == nil {
			return l.noColumn(name)
		}
		if c.Type != value.Unknown && c.Type != t.Type {
			return fmt.Errorf("column %q is given two types: %v and %v", c.Name, c.Type, t)
		}
		c.Type, c.NotNull = t.Type, t.NotNull
	}
	for _, name := range l.o.Lists.Columns {
		c := l.findColumn(name)
		if c == nil {
			return l.noColumn(name)
		}
		if c.list = true; c.Type != value.Unknown && !isArray(c.Type) {
			return fmt.Errorf("column %q is to be a list and of type %v", c.Name, c.Type)
		}
	}
	if l.table != nil {
		return l.match()
	}
	return nil
}

// findColumn returns the column of a name, or else of a number as in c12, or nil.
func (l *loader) findColumn(name string) *column {
	for i := range l.columns {
		if l.columns[i].Name == name {
			return &l.columns[i]
		}
	}
	var n int
	if _, err := fmt.Sscanf(name, "c%d", &n); err == nil && n >= 1 && n <= len(l.columns) && name == fmt.Sprintf("c%d", n) {
		return &l.columns[n-1]
	}
	return nil
}

func (l *loader) noColumn(name string) error {
	return pgerr.New(wideleaf.ErrNotFound, pgerr.UndefinedColumn, "column \"%s\" does not exist in %s", name, l.src.path)
}

// match finds the file's columns in the table that is to be appended to: by name, or by place if they have none.
func (l *loader) match() error {
	there := l.table.Columns()
	if l.o.Names == Positional {
		// Records of more or fewer fields are found by their number.
		l.columns = append(l.columns, make([]column, max(len(there)-len(l.columns), 0))...)[:len(there)]
		for i := range there {
			l.columns[i] = column{Column: there[i], list: l.columns[i].list}
		}
		return nil
	}
	taken := map[string]bool{}
	for i := range l.columns {
		c := &l.columns[i]
		at := slices.IndexFunc(there, func(t wideleaf.Column) bool { return t.Name == c.Name })
		switch {
		case at < 0:
			return l.at(1, i+1, pgerr.New(wideleaf.ErrNotFound, pgerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist", c.Name, l.o.Table))
		case taken[c.Name]:
			return l.at(1, i+1, pgerr.New(wideleaf.ErrExists, pgerr.DuplicateColumn, "column \"%s\" specified more than once", c.Name))
		}
		taken[c.Name] = true
		c.Column = there[at]
	}
	return nil
}

// seen is what the first reading sees of a column in some records.
type seen struct {
	inference
	bytes       int64 // that values of varying length take in a commit
	longest     int   // bytes of the longest of these
	longestLine int
}

// merge adds what was seen in records that follow.
func (s *seen) merge(o *seen) {
	s.inference.merge(&o.inference)
	s.bytes += o.bytes
	if o.longest > s.longest {
		s.longest, s.longestLine = o.longest, o.longestLine
	}
}

// lookAt looks at all cells of a chunk.
func (l *loader) lookAt(c chunk) ([]seen, error) {
	end := c.Len() // of the records before the first fault
	var err error
	for i := range c.Len() {
		if c.Fields(i) != len(l.columns) {
			end, err = i, l.miscounted(c, i)
			break
		}
	}
	found := make([]seen, len(l.columns))
	for k := range l.columns {
		col, s := &l.columns[k], &found[k]
		for i := range end {
			text, quoted := c.Field(i, k)
			size, e := 0, error(nil)
			if !l.o.Nulls.match(text, quoted) {
				size, e = l.lookAtCell(col, s, text)
			} else if col.NotNull {
				e = pgerr.New(wideleaf.ErrConstraint, pgerr.NotNullViolation,
					"null value in column \"%s\" of relation \"%s\" violates not-null constraint", col.Name, l.o.Table)
			}
			if e != nil {
				end, err = i, l.at(c.Line(i, k), k+1, e)
				break
			}
			s.bytes += int64(size)
			if size > s.longest {
				s.longest, s.longestLine = size, c.Line(i, k)
			}
		}
	}
	return found, err
}

// miscounted says what is wrong with a record that has more or fewer fields than there are columns.
func (l *loader) miscounted(c chunk, record int) error {
	n, want := c.Fields(record), len(l.columns)
	if n < want {
		return l.at(c.Line(record, 0), 0, pgerr.New(wideleaf.ErrInvalid, badFormat,
			"missing data for column \"%s\": the record has %d fields, not %d", l.columns[n].Name, n, want))
	}
	text, _ := c.Field(record, want)
	return l.at(c.Line(record, want), 0, pgerr.New(wideleaf.ErrInvalid, badFormat,
		"extra data after last expected column: the record has %d fields, not %d: \"%s\"", n, want, excerpt(text)))
}

// lookAtCell looks at a cell that is not NULL. size is that of a value that has no fixed one.
func (l *loader) lookAtCell(c *column, s *seen, cell []byte) (size int, err error) {
	switch {
	case c.list:
		for item, err := range l.o.Lists.items(cell) {
			if err == nil && c.Type == value.Int8Array {
				_, err = parseCode(wideleaf.Int8, item)
			}
			if err != nil {
				return 0, err
			}
			s.add(item)
			size += len(item) + itemBytes
		}
		return size, checkText(cell)
	case c.Type == value.Unknown:
		if s.add(cell) {
			return len(cell), nil // whose bytes are those of numbers and dates
		}
		return len(cell), checkText(cell)
	case c.Type == wideleaf.Text:
		return len(cell), checkText(cell)
	case c.Type.Width() != value.Var:
		_, err := parseCode(c.Type, cell)
		return 0, err
	}
	v, err := parse(c.Type, cell)
	return len(v.Str()), err
}

// itemBytes is what an item of a list takes beside its text, or at most in all if it is an integer.
const itemBytes = 9

// checkText checks that a cell can be text.
func checkText(cell []byte) error {
	if utf8.Valid(cell) && bytes.IndexByte(cell, 0) < 0 {
		return nil
	}
	return value.CheckText(string(cell))
}

// settle settles the types after the whole file was seen, and checks what depends on them.
func (l *loader) settle(all []seen) error {
	const head = 16 // of a value of varying length
	for i := range l.columns {
		c, s := &l.columns[i], &all[i]
		if c.Type == value.Unknown {
			if c.list {
				c.Type = s.listType()
			} else {
				c.Type = s.typ()
			}
		}
		switch c.Type.Width() {
		case value.Word32:
			l.bytes += 4 * l.rows
		case value.Word64:
			l.bytes += 8 * l.rows
		default:
			l.bytes += s.bytes + head*l.rows
			if s.longest > wideleaf.MaxValueBytes {
				return l.at(s.longestLine, i+1, pgerr.New(wideleaf.ErrInvalid, pgerr.ProgramLimitExceeded,
					"a value has %d bytes, the maximum is %d", s.longest, wideleaf.MaxValueBytes))
			}
			if s.longest > btree.MaxKeyBytes && l.hasBtree(c) {
				e := pgerr.New(wideleaf.ErrInvalid, pgerr.ProgramLimitExceeded,
					"a value has %d bytes, the maximum of a column with a btree index is %d", s.longest, btree.MaxKeyBytes)
				e.Hint = "--index none loads the file without indexes."
				return l.at(s.longestLine, i+1, e)
			}
		}
	}
	return nil
}

// hasBtree reports whether a column has, or will have, a btree index of its own.
func (l *loader) hasBtree(c *column) bool {
	if l.table == nil {
		return l.o.Index == btree.Method.Name() && !isArray(c.Type)
	}
	for _, ix := range l.table.Indexes() {
		if ix.Method == btree.Method.Name() && len(ix.Columns) == 1 && ix.Columns[0].Name == c.Name {
			return true
		}
	}
	return false
}
