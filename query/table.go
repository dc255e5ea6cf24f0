package query

import (
	"fmt"
	"sync/atomic"

	"wideleaf/am"
	"wideleaf/catalog"
	"wideleaf/heap"
	"wideleaf/pending"
	"wideleaf/tid"
)

// Table is one immutable view of a table: what a query of it reads. It is cheap to make, and may be shared by any
// number of queries as long as the version that it was made of is held.
type Table struct {
	Def     *catalog.Table
	Sources []heap.Source // ascending Number
	Dead    *tid.Dead     // rows of Sources that are deleted
	Flushed int           // Sources[:Flushed] are covered by exactly one run of every index
	Indexes []Index

	Counters *Counters // that its queries count in; nil: they don't
	Spilling
}

// Counters count how queries were answered.
type Counters struct {
	Ordered atomic.Int64 // queries whose first rows an index gave in order
	GivenUp atomic.Int64 // queries for which that was tried and took too long
}

func (c *Counters) ordered(ok bool) {
	switch {
	case c == nil:
	case ok:
		c.Ordered.Add(1)
	default:
		c.GivenUp.Add(1)
	}
}

// Index is an index of a Table.
type Index struct {
	Def    *catalog.Index
	Method am.Method
	Runs   []am.Run // of flushed segments, with disjoint spans, ascending; then of rows of tails
	// Pending is the rows that no run holds.
	Pending pending.List
	// Gone is, for each run of flushed segments, the deleted rows that it was written without: some of those in
	// Table.Dead, or of segments that are not there any more.
	Gone []*tid.Dead
}

// Rows returns the number of rows of the table, deleted ones left out.
func (t *Table) Rows() int64 { return t.stored() - t.Dead.Rows() }

// stored returns the number of rows, deleted ones included.
func (t *Table) stored() int64 {
	n := int64(0)
	for _, s := range t.Sources {
		n += int64(s.Rows())
	}
	return n
}

// live returns the bits of a source's rows that are not deleted.
func (t *Table) live(src heap.Source, b *tid.Bits) *tid.Bits {
	*b = tid.Bits{}
	b.SetFirst(src.Rows())
	if dead, _ := t.Dead.Segment(src.Number()); dead != nil {
		b.AndNot(dead)
	}
	return b
}

// segments returns the segments [first, end) outside which neither the table nor its indexes' runs have rows. Runs may begin
// before the first segment that is there, where others have been dropped.
func (t *Table) segments() (first, end uint64) {
	if n := len(t.Sources); n > 0 {
		first, end = t.Sources[0].Number(), t.Sources[n-1].Number()+1
	}
	for i := range t.Indexes {
		if runs := t.Indexes[i].Runs; len(runs) > 0 {
			first = min(first, runs[0].Span().First)
			end = max(end, runs[len(runs)-1].Span().End)
		}
	}
	return first, end
}

func noColumn(t *Table, attno int) error {
	return fmt.Errorf("table %q has no column with attno %d", t.Def.Name, attno)
}
