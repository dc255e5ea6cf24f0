// Package catalog defines what a database knows of its tables and indexes, and how that is stored.
//
// Definitions are immutable: a change makes a new one. They may be shared freely.
package catalog

import (
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
}

// Table is a table's definition.
type Table struct {
	ID      uint32 // relation number, unique in the database, never reused
	Name    string
	Columns []Column // in order
}

// Column returns the position of the column with an attno, or -1.
func (t *Table) Column(attno int) int {
	if i := attno - 1; i >= 0 && i < len(t.Columns) && t.Columns[i].Attno == attno {
		return i
	}
	for i, c := range t.Columns {
		if c.Attno == attno {
			return i
		}
	}
	return -1
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
	Ready   bool   // every flushed segment is in a run of it, so that queries may use it
}
