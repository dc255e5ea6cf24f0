package heap

import (
	"context"

	"wideleaf/value"
)

// Source is the rows of one segment, wherever they are: in the pages of a flushed segment or in the tail. It may be
// used concurrently. A column that the segment lacks reads as NULL.
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
