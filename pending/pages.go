package pending

import (
	"context"
	"slices"

	"wideleaf/catalog"
	"wideleaf/heap"
	"wideleaf/page"
	"wideleaf/tid"
	"wideleaf/value"
)

// Rows that wait are in no pages. How many they would fill is what PostgreSQL tells of a pending list, and what package
// pageinspect shows of it: row after row, each with its TID and its values (docs/format.md, Images), as many to a page as
// fit. A page has rows of one tail only. That a page is full depends on nothing that comes behind it, so that a list that
// grows keeps its pages but for the last.

// Column is a column of the rows. The type Unknown is that of a column that a table had and has no more: it is NULL.
type Column struct {
	Attno int
	Type  value.Type
}

// IndexColumns returns the columns of a pending list.
func IndexColumns(ix *catalog.Index) []Column {
	cols := make([]Column, len(ix.Columns))
	for i, c := range ix.Columns {
		cols[i] = Column{c.Attno, c.Type}
	}
	return cols
}

// TableColumns returns the columns of a table's rows, those that it had included, so that a column's place is its number.
func TableColumns(t *catalog.Table) []Column {
	var cols []Column
	for _, c := range t.Columns {
		for len(cols) < c.Attno-1 {
			cols = append(cols, Column{Attno: len(cols) + 1})
		}
		cols = append(cols, Column{c.Attno, c.Type})
	}
	return cols
}

// Page is which rows are on a page: those from From on, of that one the columns from FromColumn on, up to those before To and
// of To the columns before ToColumn. Bytes is what they take.
type Page struct {
	From, FromColumn int
	To, ToColumn     int
	Bytes            int
}

// PageRoom is what the rows on a page may take.
const PageRoom = page.Size - page.HeaderSize

// PieceHead is what a row takes before its values: its TID, the first column, the number of columns.
const PieceHead = 12

const maxString = 2000 // longer strings are cut

// valueBytes is what a value takes; NULLs take as much as others of a fixed width, so that the number of pages follows from
// that of rows. n is a string's length.
func valueBytes(t value.Type, n int) int {
	switch {
	case t == value.Unknown:
		return 1
	case t.Width() == value.Word32:
		return 1 + 4
	case t.Width() == value.Word64:
		return 1 + 8
	}
	return 1 + 2 + min(n, maxString)
}

func varies(t value.Type) bool { return t != value.Unknown && t.Width() == value.Var }

// Layout is how the rows of one tail are put on pages. It is extended as the tail grows.
type Layout struct {
	columns []Column
	fixed   int   // bytes of a row whose strings are empty
	varying []int // columns of strings
	whole   []Page
	last    Page
}

// NewLayout returns a layout of the rows of a tail from one on; there is none on it yet.
func NewLayout(columns []Column, from int) *Layout {
	l := &Layout{columns: columns, fixed: PieceHead, last: Page{From: from, To: from}}
	for i, c := range columns {
		l.fixed += valueBytes(c.Type, 0)
		if varies(c.Type) {
			l.varying = append(l.varying, i)
		}
	}
	return l
}

// Columns are the columns of the rows.
func (l *Layout) Columns() []Column { return l.columns }

// layoutRows is how many rows' strings are looked at together.
const layoutRows = 1024

// Extend puts the rows of a source that are not on pages yet on pages.
func (l *Layout) Extend(ctx context.Context, s heap.Source) error {
	strings := make([]value.Vector, len(l.varying))
	for l.last.To < s.Rows() {
		first := l.last.To
		end := s.Rows()
		if len(l.varying) > 0 {
			end = min(end, first+layoutRows)
			for i, c := range l.varying {
				if err := gather(ctx, s, l.columns[c], first, end, &strings[i]); err != nil {
					return err
				}
			}
		}
		for row := first; row < end; row++ {
			l.add(row, func(i int) int { return len(strings[i].Str[row-first]) })
		}
	}
	return nil
}

// add puts a row on the last page, or begins a new one; length is that of the string in the i-th varying column.
func (l *Layout) add(row int, length func(i int) int) {
	size := l.fixed
	for i := range l.varying {
		size += min(length(i), maxString)
	}
	if size <= PageRoom {
		if l.last.Bytes+size > PageRoom {
			l.next(row, 0)
		}
		l.last.Bytes += size
		l.last.To = row + 1
		return
	}
	if l.last.Bytes > 0 {
		l.next(row, 0)
	}
	l.last.Bytes = PieceHead
	i := 0
	for c, col := range l.columns {
		w := valueBytes(col.Type, 0)
		if varies(col.Type) {
			w += min(length(i), maxString)
			i++
		}
		if l.last.Bytes+w > PageRoom {
			l.next(row, c)
			l.last.Bytes = PieceHead
		}
		l.last.Bytes += w
	}
	l.last.To = row + 1
}

// next ends the last page before a column of a row.
func (l *Layout) next(row, column int) {
	l.last.To, l.last.ToColumn = row, column
	l.whole = append(l.whole, l.last)
	l.last = Page{From: row, FromColumn: column, To: row}
}

// Pages are the pages of a layout as they are at one moment.
type Pages struct {
	whole []Page
	last  Page
}

// Pages returns the pages; they stay as they are when the layout is extended.
func (l *Layout) Pages() Pages { return Pages{slices.Clip(l.whole), l.last} }

// Len returns how many pages there are.
func (p Pages) Len() int {
	if p.last.Bytes == 0 {
		return len(p.whole)
	}
	return len(p.whole) + 1
}

// At returns page i.
func (p Pages) At(i int) Page {
	if i < len(p.whole) {
		return p.whole[i]
	}
	return p.last
}

// Pages returns how many pages the rows in the list fill.
func (l List) Pages(ctx context.Context, columns []Column) (int64, error) {
	n := 0
	for _, s := range l {
		layout := NewLayout(columns, s.From)
		if err := layout.Extend(ctx, s); err != nil {
			return 0, err
		}
		n += layout.Pages().Len()
	}
	return int64(n), nil
}

// Before returns the rows of the list before a TID.
func (l List) Before(end tid.TID) List {
	var out List
	for _, s := range l {
		switch {
		case s.Number() < end.Segment():
			out = append(out, s)
		case s.Number() == end.Segment():
			out = append(out, Part{first{s.Source, min(s.Rows(), int(end.Offset()))}, s.From})
		}
	}
	return out
}

// first is the first rows of a source, for laying them out.
type first struct {
	heap.Source
	rows int
}

func (f first) Rows() int { return f.rows }

// EstimatePages returns how many pages so many rows fill, strings taken to have 16 bytes. It is exact for columns of fixed width
// in one tail.
func EstimatePages(columns []Column, rows int64) int64 {
	row := PieceHead
	for _, c := range columns {
		row += valueBytes(c.Type, 16)
	}
	if perPage := int64(PageRoom / row); perPage > 0 {
		return (rows + perPage - 1) / perPage
	}
	return rows * int64((row+PageRoom-1)/PageRoom)
}

// gather reads the values of the rows [from, to) of a column.
func gather(ctx context.Context, s heap.Source, c Column, from, to int, v *value.Vector) error {
	v.Reset(c.Type)
	offs := make([]uint16, to-from)
	for i := range offs {
		offs[i] = uint16(from + i)
	}
	return s.Gather(ctx, c.Attno, offs, v)
}
