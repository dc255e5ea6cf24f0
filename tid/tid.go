// Package tid defines row identifiers and exact sets of them.
//
// A TID names a row of one table for ever: its upper 48 bits are the segment, its lower 16 bits the offset in
// it. TIDs are never reused and, within a table, grow in commit order.
//
// A Set is exact at any size: it is never cut to 32 bits and never lossy. Index scans fill it through a Builder,
// the executor combines sets with And, Or and AndNot. Sets and builders belong to one goroutine at a time; a
// finished Set that nobody changes may be read by many.
package tid

import "fmt"

// SegmentBits is the width of a TID's offset; a segment holds at most SegmentRows rows.
const (
	SegmentBits = 16
	SegmentRows = 1 << SegmentBits
)

// TID is a 64-bit row identifier: segment << 16 | offset.
type TID uint64

// New returns the TID of a row by its segment (below 1<<48) and offset.
func New(segment uint64, offset uint16) TID { return TID(segment<<SegmentBits | uint64(offset)) }

// Segment returns the number of the segment that holds the row.
func (t TID) Segment() uint64 { return uint64(t) >> SegmentBits }

// Offset returns the row's place in its segment.
func (t TID) Offset() uint16 { return uint16(t) }

// String prints the TID as PostgreSQL prints a ctid: "(segment,offset)".
func (t TID) String() string { return fmt.Sprintf("(%d,%d)", t.Segment(), t.Offset()) }
