package tid

import (
	"iter"
	"math/bits"
	"slices"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// Set is an exact set of TIDs. A small set is the sorted list that it was built of, and a roaring bitmap once it has
// been combined with others; a large one is bitsets by segment, which index scans fill at a store per TID and which
// combine at the speed of memory. The zero Set is empty.
type Set struct {
	list   []uint64          // ascending, each once; used when dense and sparse are nil
	sparse *roaring64.Bitmap // used when dense is nil
	base   uint64            // segment of dense[0]
	dense  []*Bits           // nil entries are empty segments; others may be empty too
}

// Of returns the set of the given TIDs.
func Of(ts ...TID) *Set {
	list := make([]uint64, len(ts))
	for i, t := range ts {
		list[i] = uint64(t)
	}
	return ofList(list)
}

// ofList returns the set of TIDs in any order, repeats allowed. It keeps the slice.
func ofList(list []uint64) *Set {
	slices.Sort(list)
	return &Set{list: slices.Compact(list)}
}

// roaring returns a small set as a bitmap, which is a new one if the set is a list.
func (s *Set) roaring() *roaring64.Bitmap {
	if s.sparse != nil {
		return s.sparse
	}
	m := roaring64.New()
	m.AddMany(s.list)
	return m
}

// Release gives the set's bitsets back for use by other sets. The set must not be used afterwards. It may be left
// out: the garbage collector does the rest.
func (s *Set) Release() {
	for _, p := range s.dense {
		p.Release()
	}
	*s = Set{}
}

// Contains reports whether t is in the set.
func (s *Set) Contains(t TID) bool {
	switch {
	case s.dense != nil:
		p := s.bits(t.Segment())
		return p != nil && p.Has(t.Offset())
	case s.sparse != nil:
		return s.sparse.Contains(uint64(t))
	}
	_, found := slices.BinarySearch(s.list, uint64(t))
	return found
}

// Keep takes the rows of a segment that are not in the set out of b and reports whether any are left.
func (s *Set) Keep(seg uint64, b *Bits) bool {
	if s.dense != nil {
		if p := s.bits(seg); p != nil {
			return b.and(p)
		}
	} else {
		for n, p := range s.Segments() {
			if n == seg {
				return b.and(p)
			}
		}
	}
	*b = Bits{}
	return false
}

// Count returns the number of TIDs in the set.
func (s *Set) Count() int64 {
	switch {
	case s.dense == nil && s.sparse == nil:
		return int64(len(s.list))
	case s.dense == nil:
		return int64(s.sparse.GetCardinality())
	}
	n := 0
	for _, p := range s.dense {
		if p != nil {
			n += p.Count()
		}
	}
	return int64(n)
}

// Empty reports whether the set holds nothing.
func (s *Set) Empty() bool {
	if s.dense == nil {
		return len(s.list) == 0 && (s.sparse == nil || s.sparse.IsEmpty())
	}
	for _, p := range s.dense {
		if p != nil && !p.Empty() {
			return false
		}
	}
	return true
}

// AnyIn reports whether the set has TIDs of the segments [first, end). It may say so of segments that have had some.
func (s *Set) AnyIn(first, end uint64) bool {
	if s.dense == nil {
		if s.sparse == nil {
			i, _ := slices.BinarySearch(s.list, first<<SegmentBits)
			return i < len(s.list) && s.list[i]>>SegmentBits < end
		}
		it := s.sparse.Iterator()
		it.AdvanceIfNeeded(first << SegmentBits)
		return it.HasNext() && it.PeekNext()>>SegmentBits < end
	}
	for seg := max(first, s.base); seg < end && seg-s.base < uint64(len(s.dense)); seg++ {
		if s.dense[seg-s.base] != nil {
			return true
		}
	}
	return false
}

// And returns the TIDs that are in both sets. It may reuse the storage of s, which must not be used afterwards; o
// stays as it is.
func (s *Set) And(o *Set) *Set {
	switch {
	case s.dense == nil && o.dense == nil:
		if s.sparse == nil && o.sparse == nil {
			return &Set{list: intersect(s.list, o.list)}
		}
		return &Set{sparse: roaring64.And(s.roaring(), o.roaring())}
	case s.dense == nil:
		return s.keepIf(o, 1)
	case o.dense == nil:
		few := o.keepIf(s, 1)
		s.Release()
		return few
	}
	for i, p := range s.dense {
		if p == nil {
			continue
		}
		if q := o.bits(s.base + uint64(i)); q == nil || !p.and(q) {
			p.Release()
			s.dense[i] = nil
		}
	}
	return s
}

// AndNot returns the TIDs of s that are not in o. It may reuse the storage of s, which must not be used afterwards;
// o stays as it is.
func (s *Set) AndNot(o *Set) *Set {
	switch {
	case s.dense == nil && o.dense == nil:
		return &Set{sparse: roaring64.AndNot(s.roaring(), o.roaring())}
	case s.dense == nil:
		return s.keepIf(o, 0)
	case o.dense == nil:
		o.eachSparse(func(ts []uint64) {
			for _, t := range ts {
				if p := s.bits(TID(t).Segment()); p != nil {
					p[t>>6&(Words-1)] &^= 1 << (t & 63)
				}
			}
		})
		return s
	}
	for i, p := range s.dense {
		if q := o.bits(s.base + uint64(i)); p != nil && q != nil {
			for w := range p {
				p[w] &^= q[w]
			}
		}
	}
	return s
}

// Or returns the TIDs that are in either set. It may reuse the storage of both, neither of which may be used
// afterwards.
func (s *Set) Or(o *Set) *Set {
	if s.dense == nil && o.dense == nil {
		m := s.roaring()
		m.Or(o.roaring())
		return &Set{sparse: m}
	}
	if s.dense == nil {
		s, o = o, s
	}
	first, end := s.base, s.base+uint64(len(s.dense))
	if of, oe := o.span(); of < oe {
		first, end = min(first, of), max(end, oe)
	}
	if end-first > uint64(len(s.dense)) {
		wider := make([]*Bits, end-first)
		copy(wider[s.base-first:], s.dense)
		s.base, s.dense = first, wider
	}
	if o.dense == nil {
		o.eachSparse(func(ts []uint64) {
			for _, t := range ts {
				at := TID(t).Segment() - s.base
				p := s.dense[at]
				if p == nil {
					p = NewBits()
					s.dense[at] = p
				}
				p[t>>6&(Words-1)] |= 1 << (t & 63)
			}
		})
		return s
	}
	for i, q := range o.dense {
		if q == nil {
			continue
		}
		at := o.base + uint64(i) - s.base
		p := s.dense[at]
		if p == nil {
			s.dense[at] = q
			continue
		}
		p.Or(q)
		q.Release()
	}
	return s
}

// Mask clears the bits of p, of the first rows of a segment, whose TIDs are not in the set.
func (s *Set) Mask(seg uint64, p []uint64) {
	if s.dense != nil {
		if q := s.bits(seg); q == nil {
			clear(p)
		} else {
			for w := range p {
				p[w] &= q[w]
			}
		}
		return
	}
	few := NewBits()
	defer few.Release()
	first, end := seg<<SegmentBits, (seg+1)<<SegmentBits
	s.eachSparse(func(ts []uint64) {
		for _, t := range ts {
			if first <= t && t < end {
				few[t>>6&(Words-1)] |= 1 << (t & 63)
			}
		}
	})
	for w := range p {
		p[w] &= few[w]
	}
}

func (s *Set) bits(seg uint64) *Bits {
	if at := seg - s.base; at < uint64(len(s.dense)) {
		return s.dense[at]
	}
	return nil
}

// span returns segments [first, end) outside which the set is empty.
func (s *Set) span() (first, end uint64) {
	if s.dense != nil {
		return s.base, s.base + uint64(len(s.dense))
	}
	switch {
	case s.Empty():
		return 0, 0
	case s.sparse == nil:
		return s.list[0] >> SegmentBits, s.list[len(s.list)-1]>>SegmentBits + 1
	}
	return s.sparse.Minimum() >> SegmentBits, s.sparse.Maximum()>>SegmentBits + 1
}

// keepIf returns the TIDs of a small set whose bit in a dense one is `bit`.
func (s *Set) keepIf(o *Set, bit uint64) *Set {
	var kept []uint64
	s.eachSparse(func(ts []uint64) {
		for _, t := range ts {
			p, x := o.bits(TID(t).Segment()), uint64(0)
			if p != nil {
				x = p[t>>6&(Words-1)] >> (t & 63) & 1
			}
			if x == bit {
				kept = append(kept, t)
			}
		}
	})
	return &Set{list: kept}
}

// intersect keeps the TIDs of a, ascending, that are in b, ascending too, in place.
func intersect(a, b []uint64) []uint64 {
	out := a[:0]
	for _, t := range a {
		for len(b) > 0 && b[0] < t {
			b = b[1:]
		}
		if len(b) > 0 && b[0] == t {
			out = append(out, t)
		}
	}
	return out
}

// eachSparse calls f with the TIDs of a small set, ascending, some at a time.
func (s *Set) eachSparse(f func([]uint64)) {
	if s.sparse == nil {
		f(s.list)
		return
	}
	buf := make([]uint64, 256)
	for it := s.sparse.ManyIterator(); ; {
		n := it.NextMany(buf)
		if n == 0 {
			return
		}
		f(buf[:n])
	}
}

// All yields the TIDs in ascending order.
func (s *Set) All() iter.Seq[TID] {
	return func(yield func(TID) bool) {
		if s.dense == nil {
			for _, t := range s.list {
				if !yield(TID(t)) {
					return
				}
			}
			if s.sparse == nil {
				return
			}
			for it := s.sparse.Iterator(); it.HasNext(); {
				if !yield(TID(it.Next())) {
					return
				}
			}
			return
		}
		for i, p := range s.dense {
			if p == nil {
				continue
			}
			seg := TID((s.base + uint64(i)) << SegmentBits)
			for w, x := range p {
				for ; x != 0; x &= x - 1 {
					if !yield(seg + TID(w<<6+bits.TrailingZeros64(x))) {
						return
					}
				}
			}
		}
	}
}

// Segments yields, in ascending order, each segment that has TIDs in the set together with its bitset, which the
// caller must not change and which is valid until the next step.
func (s *Set) Segments() iter.Seq2[uint64, *Bits] {
	return func(yield func(uint64, *Bits) bool) {
		if s.dense != nil {
			for i, p := range s.dense {
				if p != nil && !p.Empty() && !yield(s.base+uint64(i), p) {
					return
				}
			}
			return
		}
		if s.Empty() {
			return
		}
		b := NewBits()
		defer b.Release()
		seg, have, more := uint64(0), false, true
		s.eachSparse(func(ts []uint64) {
			for _, t := range ts {
				if have && t>>SegmentBits != seg && more {
					more = yield(seg, b)
					*b = Bits{}
				}
				seg, have = t>>SegmentBits, true
				b[t>>6&(Words-1)] |= 1 << (t & 63)
			}
		})
		if more {
			yield(seg, b)
		}
	}
}
