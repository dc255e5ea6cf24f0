package inverted

import (
	"context"
	"math"
	"math/bits"

	"wideleaf/am"
	"wideleaf/tid"
	"wideleaf/value"
)

// Similar counts the items that arrays have in common with m in their posting lists, 2 bytes a row of the segments that
// have any, and goes through the lengths once.
func (g *run) Similar(ctx context.Context, column int, m *value.ArrayMatch, add func(t tid.TID, common, length int) error) (exact bool, err error) {
	if !g.payloads || !isArray(g.ix, column) || m.Items() > math.MaxUint16 {
		return false, nil
	}
	d, err := g.directory()
	if err != nil {
		return false, err
	}
	keys := g.items(d, column, m)
	for _, k := range keys {
		if k.recheck {
			return false, nil
		}
	}
	all := d.tree(column, lengths)
	if all == nil {
		return true, nil
	}
	common := map[uint64]*[tid.SegmentRows]uint16{}
	for _, k := range keys {
		s, err := k.rows(ctx, g.span)
		if err != nil {
			return true, err
		}
		count(s, common)
		s.Release()
	}
	rows, _ := all.Ordered(ctx, &am.Order{To: -1})
	var seg uint64
	var of *[tid.SegmentRows]uint16
	for p, err := range rows {
		if err != nil {
			return true, err
		}
		if s := p.TID.Segment(); s != seg || of == nil {
			if seg, of = s, common[s]; of == nil {
				continue
			}
		}
		if n := of[p.TID.Offset()]; n > 0 {
			if err := add(p.TID, int(n), int(value.CodeInt4(uint32(p.Code)))); err != nil {
				return true, err
			}
		}
	}
	return true, nil
}

// count adds one for each row of a set.
func count(s *tid.Set, rows map[uint64]*[tid.SegmentRows]uint16) {
	for seg, b := range s.Segments() {
		n := rows[seg]
		if n == nil {
			n = new([tid.SegmentRows]uint16)
			rows[seg] = n
		}
		for w, x := range b {
			for ; x != 0; x &= x - 1 {
				n[w<<6+bits.TrailingZeros64(x)]++
			}
		}
	}
}
