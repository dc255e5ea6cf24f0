package load

import (
	"errors"
	"strconv"
	"strings"

	"wideleaf"
	"wideleaf/cmd/internal/csvfile"
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

// convertColumn appends a column of a block to an empty vector. It returns the row of the first cell that does not fit.
func (l *loader) convertColumn(b *csvfile.Block, k int, v *wideleaf.Vector) (row int, err error) {
	c := &l.columns[k]
	v.Grow(b.Len())
	if c.Type.Width() == value.Var {
		return l.convertStrings(b, k, v)
	}
	for row := range b.Len() {
		cell, quoted := b.Field(row, k)
		if l.o.Nulls.match(cell, quoted) {
			v.AppendNull()
			continue
		}
		code, err := parseCode(c.Type, cell)
		if err != nil {
			return row, err
		}
		v.AppendCode(code)
	}
	return 0, nil
}

// convertStrings is convertColumn for types that are held as strings. All of a block share one, so that the table does not
// hold the block's other text in memory.
func (l *loader) convertStrings(b *csvfile.Block, k int, v *wideleaf.Vector) (row int, err error) {
	c := &l.columns[k]
	size := 0
	for row := range b.Len() {
		cell, _ := b.Field(row, k)
		size += len(cell)
	}
	all, ends := make([]byte, 0, size), make([]int, b.Len())
	for row := range b.Len() {
		if cell, quoted := b.Field(row, k); l.o.Nulls.match(cell, quoted) {
			v.AppendNull()
		} else {
			if all, err = l.appendString(all, c, cell); err != nil {
				return row, err
			}
			v.Str = append(v.Str, "")
			v.N++
		}
		ends[row] = len(all)
	}
	held, from := string(all), 0
	for row, end := range ends {
		v.Str[row], from = held[from:end], end
	}
	return 0, nil
}

// appendString appends what a cell's value is held as.
func (l *loader) appendString(dst []byte, c *column, cell []byte) ([]byte, error) {
	switch {
	case c.list:
		for item, err := range l.o.Lists.items(cell) {
			if err != nil {
				return dst, err
			}
			if c.Type == value.TextArray {
				dst = value.AppendTextItem(dst, string(item))
				continue
			}
			code, err := parseCode(wideleaf.Int8, item)
			if err != nil {
				return dst, err
			}
			dst = value.AppendInt8Item(dst, value.CodeInt8(code))
		}
		return dst, nil
	case c.Type == wideleaf.Text:
		return append(dst, cell...), nil
	}
	v, err := parse(c.Type, cell)
	return append(dst, v.Str()...), err
}

// parse returns the value of a cell by PostgreSQL's rules. An error shows only the beginning of a long cell.
func parse(t wideleaf.Type, cell []byte) (wideleaf.Value, error) {
	v, err := value.Parse(t, string(cell))
	var e *wideleaf.Error
	if len(cell) > excerptBytes && errors.As(err, &e) {
		short := *e
		short.Message = strings.ReplaceAll(e.Message, string(cell), excerpt(cell))
		err = &short
	}
	return v, err
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
