// Package pending answers for the rows that no index run holds yet.
//
// The pending list of an index is no structure of its own: it is an interval of TIDs, the rows of the sealed tails
// and of the visible tail, and it is searched in those rows' columns. A row is in it from its commit on, whatever the
// number of indexes, and leaves it when its segment is flushed.
//
// A List may be used concurrently. What must never break: the rows of a table's runs and those of its list are
// together all rows, each once.
package pending

import (
	"context"
	"math/bits"

	"wideleaf/catalog"
	"wideleaf/heap"
	"wideleaf/page"
	"wideleaf/tid"
	"wideleaf/value"
)

// List is the pending list of a table's indexes: the sources that no run covers, ascending.
type List []heap.Source

// Rows returns the number of rows in the list.
func (l List) Rows() int64 {
	n := int64(0)
	for _, s := range l {
		n += int64(s.Rows())
	}
	return n
}

// Select adds the rows whose value of a column satisfies r to b.
func (l List) Select(ctx context.Context, attno int, r value.Ranges, b *tid.Builder) error {
	var out tid.Bits
	for _, s := range l {
		words := out[:(s.Rows()+63)>>6]
		if err := s.Select(ctx, attno, r, nil, words); err != nil {
			return err
		}
		b.AddBits(s.Number(), &out)
		clear(words)
	}
	return nil
}

// Count returns how many rows have a value of a column that satisfies r.
func (l List) Count(ctx context.Context, attno int, r value.Ranges) (int64, error) {
	var out tid.Bits
	n := 0
	for _, s := range l {
		words := out[:(s.Rows()+63)>>6]
		clear(words)
		if err := s.Select(ctx, attno, r, nil, words); err != nil {
			return 0, err
		}
		for _, w := range words {
			n += bits.OnesCount64(w)
		}
	}
	return int64(n), nil
}

// tidBytes is what an entry's TID takes in an uncompressed page: six bytes, as in PostgreSQL's.
const tidBytes = 6

// Pages returns how many pages the rows in the list would fill as uncompressed entries of an index: their keys, a
// TID each, nothing shared. It reads the columns of variable length and takes the others' width from their type.
func (l List) Pages(ctx context.Context, ix *catalog.Index) (int64, error) {
	size := int64(0)
	var v value.Vector
	for _, s := range l {
		size += tidBytes * int64(s.Rows())
		for _, c := range ix.Columns {
			switch c.Type.Width() {
			case value.Word32:
				size += 4 * int64(s.Rows())
			case value.Word64:
				size += 8 * int64(s.Rows())
			default:
				v.Reset(c.Type)
				if err := s.Column(ctx, c.Attno, &v); err != nil {
					return 0, err
				}
				for _, x := range v.Str {
					size += int64(len(x)) + 1 // 1: the end of the string
				}
			}
		}
	}
	const room = page.Size - page.HeaderSize
	return (size + room - 1) / room, nil
}
