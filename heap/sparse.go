package heap

import (
	"context"
	"fmt"
	"math/bits"

	"wideleaf/page"
	"wideleaf/tid"
	"wideleaf/value"
)

// sparse is a source whose deleted rows are not stored any more: the others keep their offsets.
type sparse struct {
	stored Source
	rows   int
	live   *tid.Bits
	before [tid.Words]uint16 // live rows before each word of live
}

// NewSparse returns a source of so many rows: those in holes are gone and read as NULL, the others are the rows of stored, in
// order.
func NewSparse(stored Source, rows int, holes *tid.Bits) (Source, error) {
	s := &sparse{stored: stored, rows: rows, live: new(tid.Bits)}
	if rows < 0 || rows > tid.SegmentRows || holes.Max() >= rows {
		return nil, fmt.Errorf("heap: a segment of %d rows lacks row %d: %w", rows, holes.Max(), page.ErrCorrupt)
	}
	s.live.SetFirst(rows)
	if n := s.live.AndNot(holes); n != stored.Rows() {
		return nil, fmt.Errorf("heap: a segment of %d rows, %d of them gone, stores %d: %w", rows, rows-n, stored.Rows(), page.ErrCorrupt)
	}
	n := 0
	for w := range s.before {
		s.before[w] = uint16(n)
		n += bits.OnesCount64(s.live[w])
	}
	return s, nil
}

// Number is Source's.
func (s *sparse) Number() uint64 { return s.stored.Number() }

// Rows is Source's.
func (s *sparse) Rows() int { return s.rows }

// place returns where a live row is stored.
func (s *sparse) place(o int) int {
	return int(s.before[o>>6]) + bits.OnesCount64(s.live[o>>6]&(1<<(o&63)-1))
}

// Select is Source's.
func (s *sparse) Select(ctx context.Context, attno int, r value.Ranges, cand, out []uint64) error {
	var inner []uint64
	if cand != nil {
		b := tid.NewBits()
		defer b.Release()
		inner = b[:(s.stored.Rows()+63)>>6]
		some := false
		for w := range cand[:(s.rows+63)>>6] {
			for x := cand[w] & s.live[w]; x != 0; x &= x - 1 {
				p := int(s.before[w]) + bits.OnesCount64(s.live[w]&(x&-x-1))
				inner[p>>6] |= 1 << (p & 63)
				some = true
			}
		}
		if !some {
			return ctx.Err()
		}
	}
	found := tid.NewBits()
	defer found.Release()
	if err := s.stored.Select(ctx, attno, r, inner, found[:(s.stored.Rows()+63)>>6]); err != nil {
		return err
	}
	for w := range (s.rows + 63) >> 6 {
		p := int(s.before[w])
		for x := s.live[w]; x != 0; x &= x - 1 {
			if found[p>>6]>>(p&63)&1 != 0 {
				out[w] |= x & -x
			}
			p++
		}
	}
	return nil
}

// Gather is Source's.
func (s *sparse) Gather(ctx context.Context, attno int, offs []uint16, dst *value.Vector) error {
	places := make([]uint16, 0, len(offs))
	for _, o := range offs {
		if int(o) >= s.rows {
			return fmt.Errorf("heap: offset %d is not in a segment of %d rows", o, s.rows)
		}
		if s.live.Has(o) {
			places = append(places, uint16(s.place(int(o))))
		}
	}
	if len(places) == len(offs) {
		return s.stored.Gather(ctx, attno, places, dst)
	}
	var v value.Vector
	v.Reset(dst.Type)
	if err := s.stored.Gather(ctx, attno, places, &v); err != nil {
		return err
	}
	i := 0
	for _, o := range offs {
		if s.live.Has(o) {
			dst.Append(v.Value(i))
			i++
		} else {
			dst.AppendNull()
		}
	}
	return nil
}

// Column is Source's.
func (s *sparse) Column(ctx context.Context, attno int, dst *value.Vector) error {
	var v value.Vector
	v.Reset(dst.Type)
	if err := s.stored.Column(ctx, attno, &v); err != nil {
		return err
	}
	i := 0
	for o := range s.rows {
		if s.live.Has(uint16(o)) {
			dst.Append(v.Value(i))
			i++
		} else {
			dst.AppendNull()
		}
	}
	return nil
}

// MayHold reports whether a live row's value of column attno may satisfy r, as far as the stored rows' summaries tell.
func (s *sparse) MayHold(attno int, r *value.Ranges) (bool, error) {
	if seg, ok := s.stored.(*Segment); ok {
		return seg.MayHold(attno, r)
	}
	return true, nil
}
