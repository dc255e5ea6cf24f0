package load

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"wideleaf"
	"wideleaf/cmd/wideload/internal/csvfile"
	"wideleaf/pgerr"
	"wideleaf/value"
)

// convert appends a block's records to an empty batch of the file's columns.
func (l *loader) convert(b *csvfile.Block, batch *wideleaf.Batch) error {
	for i := range b.Len() {
		if b.Fields(i) != len(l.columns) {
			return l.src.changedError()
		}
	}
	for k := range l.columns {
		if row, err := l.convertColumn(b, k, batch.Column(k)); err != nil {
			return l.at(b.Line(row, k), k+1, err)
		}
	}
	return nil
}

// convertColumn appends a column of a block to a vector. It returns the row of the first cell that does not fit.
func (l *loader) convertColumn(b *csvfile.Block, k int, v *wideleaf.Vector) (row int, err error) {
	c := &l.columns[k]
	if c.Type == wideleaf.Text && !c.list {
		l.convertText(b, k, v)
		return 0, nil
	}
	fixed := c.Type.Width() != value.Var
	v.Grow(b.Len())
	for row := range b.Len() {
		cell, quoted := b.Field(row, k)
		if l.o.Nulls.match(cell, quoted) {
			v.AppendNull()
			continue
		}
		if fixed {
			code, err := parseCode(c.Type, cell)
			if err != nil {
				return row, err
			}
			v.AppendCode(code)
			continue
		}
		x, err := l.parseLong(c, cell)
		if err != nil {
			return row, err
		}
		v.Append(x)
	}
	return 0, nil
}

// convertText appends a column of text. All its cells of a block share one string, so that the table does not hold the
// block's other text in memory.
func (l *loader) convertText(b *csvfile.Block, k int, v *wideleaf.Vector) {
	var text strings.Builder
	size := 0
	for row := range b.Len() {
		cell, _ := b.Field(row, k)
		size += len(cell)
	}
	text.Grow(size)
	v.Grow(b.Len())
	for row := range b.Len() {
		if cell, quoted := b.Field(row, k); l.o.Nulls.match(cell, quoted) {
			v.AppendNull()
		} else {
			text.Write(cell)
			v.Append(value.OfText("")) // its place
		}
	}
	rest := text.String()
	for row := range b.Len() {
		if !v.IsNull(row) {
			cell, _ := b.Field(row, k)
			v.Str[row], rest = rest[:len(cell)], rest[len(cell):]
		}
	}
}

// parseCode returns the code of a cell of a fixed-width type. What programs usually write is read here, fast; the rest is
// left to value.Parse.
func parseCode(t wideleaf.Type, cell []byte) (uint64, error) {
	switch t {
	case wideleaf.Int4:
		if i, ok := parseInt(cell); ok && i == int64(int32(i)) {
			return uint64(value.Int4Code(int32(i))), nil
		}
	case wideleaf.Int8:
		if i, ok := parseInt(cell); ok {
			return value.Int8Code(i), nil
		}
	case wideleaf.Float8:
		if n, ok := scanNumber(cell); ok {
			if f, ok := n.float(); ok {
				return value.Float8Code(f), nil
			}
			if f, err := strconv.ParseFloat(string(cell), 64); err == nil && (f != 0 || n.digits == 0) {
				return value.Float8Code(f), nil
			}
		}
	}
	v, err := parse(t, cell)
	return v.Code(), err
}

// parseInt reads the usual form of an int8: a minus sign or none, and digits.
func parseInt(s []byte) (int64, bool) {
	negative := len(s) > 0 && s[0] == '-'
	if negative {
		s = s[1:]
	}
	if len(s) == 0 || len(s) > 19 {
		return 0, false
	}
	u := uint64(0)
	for _, c := range s {
		d := c - '0'
		if d > 9 {
			return 0, false
		}
		u = u*10 + uint64(d) // 19 digits fit
	}
	switch {
	case negative && u <= 1<<63:
		return -int64(u), true
	case negative || u >= 1<<63:
		return 0, false
	}
	return int64(u), true
}

// checkText checks that a cell can be text.
func checkText(cell []byte) error {
	if utf8.Valid(cell) && bytes.IndexByte(cell, 0) < 0 {
		return nil
	}
	return pgerr.New(wideleaf.ErrInvalid, pgerr.CharacterNotInRepertoire, "invalid byte sequence for encoding \"UTF8\": %q", excerpt(cell))
}
