// Package heap holds the rows of tables: the newest in a Tail, in memory; all others in segments, in pages.
//
// Words used here: a segment is up to 65,536 consecutive rows of a table, sealed and immutable, stored column by
// column (WriteSegment, Segment); a strip is some consecutive rows of one column, what a column page is made of; bounds
// are the smallest and the largest value of a strip; the directory, in summary pages, says where each column's strips
// are and repeats their bounds and counts, so that reading skips pages. An offset is a row's place in its segment. A
// Source is the rows of one segment, be it in pages or still in the tail.
//
// A Tail has one writer; everything else may be read concurrently. What must never break: a segment's pages are a
// function of its rows alone; a damaged page gives an error that matches page.ErrCorrupt, never a panic, and never
// more memory than a few pages' worth.
package heap

import (
	"context"

	"wideleaf/value"
)

// Source is the rows of one segment, wherever they are: in the pages of a flushed segment or in the tail. It may be
// used concurrently. A column that the segment lacks reads as NULL (see Missing).
type Source interface {
	// Number is the number of the segment; Rows how many rows it has, dead ones included.
	Number() uint64
	Rows() int
	// Select sets bit i of out, which has at least (Rows+63)/64 words, for every row i whose value of column attno
	// satisfies r. cand, if not nil, is a bitset of the same size that limits the rows looked at: no bit outside it is
	// set. Bits that are set already stay so.
	Select(ctx context.Context, attno int, r value.Ranges, cand, out []uint64) error
	// Gather appends the values of the rows at offs, strictly ascending, to dst, which has been Reset to the column's type.
	Gather(ctx context.Context, attno int, offs []uint16, dst *value.Vector) error
	// Column appends the values of all rows to dst, which has been Reset to the column's type.
	Column(ctx context.Context, attno int, dst *value.Vector) error
}
