// Package bench measures wideleaf as the wide-table article measured PostgreSQL: the insert test on a table of random
// integers with an index on every column, and the article's query cases.
//
// Words used here: a mode is a way to index the table (an access method and its options); a client is a goroutine that
// inserts, one commit after another; a case is one of the article's queries. Inserted is when the last row is committed,
// settled when no background work is due.
//
// Whoever calls owns the process: the figures of memory are the process's, and two measurements at a time disturb
// each other.
package bench

import (
	"fmt"
	"strings"

	"wideleaf"
)

// Mode is a way to index the table.
type Mode struct {
	Name      string // as in figures: insert/NAME, and in the flag --index
	Label     string // in the summary table
	Table     string // its table's name, as in the article
	Method    string // access method; "": no index
	PerColumn bool   // an index on every column, not one over all
	Compare   bool   // part of the summary table
	// NoFastUpdate makes commits take rows up into the index, as fastupdate=off does.
	NoFastUpdate bool
}

// Modes are all modes, in the order of the summary table.
var Modes = []Mode{
	{Name: "btree", Label: "btree on every column", Table: "a", Method: "btree", PerColumn: true, Compare: true},
	{Name: "gin", Label: "GIN over all columns", Table: "b", Method: "gin", Compare: true},
	{Name: "gin-nofastupdate", Label: "GIN over all columns, fastupdate off", Table: "d", Method: "gin", Compare: true, NoFastUpdate: true},
	{Name: "rum", Label: "RUM over all columns", Table: "c", Method: "rum", Compare: true},
	{Name: "none", Label: "no index", Table: "a"},
}

// ModeNames are the modes' names as --index takes them.
func ModeNames() []string {
	var names []string
	for _, m := range Modes {
		if !m.NoFastUpdate {
			names = append(names, m.Name)
		}
	}
	return names
}

// WithFastUpdate returns the mode with fastupdate on or off.
func (m Mode) WithFastUpdate(on bool) Mode {
	if on || m.Method == "" {
		return m
	}
	for _, o := range Modes {
		if o.Name == m.Name+"-nofastupdate" {
			return o
		}
	}
	m.Name, m.Label, m.NoFastUpdate = m.Name+"-nofastupdate", m.Label+", fastupdate off", true
	return m
}

// ModeOf returns the mode of a name.
func ModeOf(name string) (Mode, error) {
	for _, m := range Modes {
		if m.Name == name {
			return m, nil
		}
	}
	return Mode{}, fmt.Errorf("unknown index mode %q: must be %s", name, strings.Join(ModeNames(), " or "))
}

// columns are c1, c2, ... of int4.
func columns(n int) []wideleaf.Column {
	cols := make([]wideleaf.Column, n)
	for i := range cols {
		cols[i] = wideleaf.Column{Name: fmt.Sprintf("c%d", i+1), Type: wideleaf.Int4}
	}
	return cols
}

// indexes are the mode's indexes: idx_TABLE_1 on c1 and so on, or idx_TABLE_1 over all columns.
func (m Mode) indexes(columns int) []wideleaf.IndexDef {
	if m.Method == "" {
		return nil
	}
	n := 1
	if m.PerColumn {
		n = columns
	}
	defs := make([]wideleaf.IndexDef, n)
	for i := range defs {
		defs[i] = wideleaf.IndexDef{Name: fmt.Sprintf("idx_%s_%d", m.Table, i+1), Method: m.Method}
		if m.NoFastUpdate {
			defs[i].FastUpdate = new(bool)
		}
	}
	for c := range columns {
		d := &defs[c%n]
		d.Columns = append(d.Columns, wideleaf.IndexColumn{Name: fmt.Sprintf("c%d", c+1)})
	}
	return defs
}
