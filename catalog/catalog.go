// Package catalog defines what a database knows of its tables and indexes, and how that is stored.
//
// Definitions are immutable: a change makes a new one. They may be shared freely.
package catalog

import (
	"cmp"
	"slices"

	"wideleaf/value"
)

// Limits of a definition. PostgreSQL allows 1,600 columns a table and 32 an index.
const (
	MaxColumns      = 1600
	MaxIndexColumns = 32
	MaxNameBytes    = 63
)

// Column is a column of a table.
type Column struct {
	Attno   int // 1 for the first; never reused in a table
	Name    string
	Type    value.Type
	NotNull bool
	Default value.Value // what a row gets that comes without a value; the zero Value: NULL
	Missing value.Value // what the rows of segments before First have (PostgreSQL's attmissingval); the zero Value: NULL
	First   uint64      // the segments before this one lack the column
}

// Dropped is a column that a table had. Rows of the segments [First, End) were written with it.
type Dropped struct {
	Attno      int
	Type       value.Type
	First, End uint64
}

// Table is a table's definition. The columns that it has and those that it had together have the attnos from 1 on,
// without gaps.
type Table struct {
	ID      uint32 // relation number, unique in the database, never reused
	Name    string
	Columns []Column  // ascending Attno
	Dropped []Dropped // ascending Attno
	First   uint64    // the table has no row before this segment: what was there has been truncated
}

// Column returns the position of the column with an attno, or -1.
func (t *Table) Column(attno int) int {
	if i := attno - 1; i >= 0 && i < len(t.Columns) && t.Columns[i].Attno == attno {
		return i
	}
	i, found := slices.BinarySearchFunc(t.Columns, attno, func(c Column, attno int) int { return cmp.Compare(c.Attno, attno) })
	if !found {
		return -1
	}
	return i
}

// Named returns the position of the column with exactly this name, or -1.
func (t *Table) Named(name string) int {
	return slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name })
}

// LastAttno returns the highest attno ever used.
func (t *Table) LastAttno() int { return len(t.Columns) + len(t.Dropped) }

// StoredColumn is a column as the rows of a segment are written with it.
type StoredColumn struct {
	Attno int
	Type  value.Type
}

// Stored returns the columns that the rows of a segment were, or will be, written with, in order of attno. Definitions
// change between segments only, so that it is the same for every definition from the segment's first row on.
func (t *Table) Stored(segment uint64) []StoredColumn {
	cols := make([]StoredColumn, 0, t.LastAttno())
	for _, c := range t.Columns {
		if c.First <= segment {
			cols = append(cols, StoredColumn{c.Attno, c.Type})
		}
	}
	n := len(cols)
	for _, d := range t.Dropped {
		if d.First <= segment && segment < d.End {
			cols = append(cols, StoredColumn{d.Attno, d.Type})
		}
	}
	if n < len(cols) {
		slices.SortFunc(cols, func(a, b StoredColumn) int { return cmp.Compare(a.Attno, b.Attno) })
	}
	return cols
}

// Newest returns the first segment whose rows are written with just the columns that the table has now.
func (t *Table) Newest() uint64 {
	n := t.First
	for _, c := range t.Columns {
		n = max(n, c.First)
	}
	for _, d := range t.Dropped {
		n = max(n, d.End)
	}
	return n
}

// TypeOf returns the type of a column that the table has or had, value.Unknown for another.
func (t *Table) TypeOf(attno int) value.Type {
	if i := t.Column(attno); i >= 0 {
		return t.Columns[i].Type
	}
	for _, d := range t.Dropped {
		if d.Attno == attno {
			return d.Type
		}
	}
	return value.Unknown
}

// IndexColumn is one key column of an index.
type IndexColumn struct {
	Attno      int
	Type       value.Type
	Desc       bool
	NullsFirst bool // PostgreSQL's default: NULLS LAST for ASC, NULLS FIRST for DESC
}

// Index is an index's definition.
type Index struct {
	ID      uint32 // relation number
	TableID uint32
	Name    string
	Method  string // access method: "btree"
	Columns []IndexColumn
	Group   uint32 // column group: flushed, merged and stored together
	Unique  bool   // no two rows have one key
	Ready   bool   // every flushed segment is in a run of it, so that queries may use it

	NullsNotDistinct bool // a NULL is equal to another
	Primary          bool // it is the table's primary key

	Attach        []Attach `json:",omitempty"` // which columns' postings carry which others' values
	OrderByAttach bool     `json:",omitempty"` // such postings are kept in the order of the values only, not in that of TIDs too

	NoFastUpdate     bool  // fastupdate=off: the commit takes new rows up
	PendingListLimit int64 // gin_pending_list_limit in bytes; 0: the database's
}

// Attach says that the postings of the column To carry the value of the column Attno. Both are columns of the index, given
// by their attno.
type Attach struct{ Attno, To int }

// Place returns the place in the index of a column given by its attno, -1 if it isn't there.
func (ix *Index) Place(attno int) int {
	return slices.IndexFunc(ix.Columns, func(c IndexColumn) bool { return c.Attno == attno })
}

// Attached returns the places in the index of the columns whose values the postings of column i carry.
func (ix *Index) Attached(i int) (places []int) {
	for _, a := range ix.Attach {
		if a.To == ix.Columns[i].Attno {
			places = append(places, ix.Place(a.Attno))
		}
	}
	return places
}

// KeyBytes is what a row's key takes in a plain page: the pending list's measure. A string counts as stringGuess bytes.
func (ix *Index) KeyBytes() int64 {
	const stringGuess = 16
	n := int64(0)
	for _, c := range ix.Columns {
		switch c.Type.Width() {
		case value.Word32:
			n += 4
		case value.Word64:
			n += 8
		default:
			n += stringGuess
		}
	}
	return n
}
