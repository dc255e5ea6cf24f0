package tid

import (
	"iter"
	"math/bits"
	"slices"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// Words is the number of 64-bit words that a segment's bitset takes.
const Words = SegmentRows / 64

// Bits is a segment's bitset: bit o of it stands for offset o.
type Bits [Words]uint64

// Count returns the number of set bits.
func (b *Bits) Count() int {
	n := 0
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// Set is an exact set of TIDs. Small sets are roaring bitmaps; large ones are bitsets by segment, which index
// scans fill at a store per TID and which combine at the speed of memory. The zero Set is empty.
type Set struct {
	sparse *roaring64.Bitmap // used when dense is nil
	base   uint64            // segment of dense[0]
	dense  []*Bits           // nil entries are empty segments
}

// Builder collects TIDs in any order, repeats allowed.
type Builder struct {
	few   []uint64
	base  uint64
	dense []*Bits
	limit int
}

// sparseLimit is where a builder turns to bitsets: sorting that many TIDs costs about as much as clearing and
// scanning the bitsets of the 32 segments they might touch.
const sparseLimit = 4096

// NewBuilder returns a builder for TIDs of segments in [first, end).
func NewBuilder(first, end uint64) *Builder {
	return &Builder{base: first, limit: int(end - first)}
}

// Add adds one TID.
func (b *Builder) Add(t TID) {
	if b.dense == nil {
		if len(b.few) < sparseLimit {
			b.few = append(b.few, uint64(t))
			return
		}
		b.Dense()
	}
	s := t.Segment() - b.base
	p := b.dense[s]
	if p == nil {
		p = new(Bits)
		b.dense[s] = p
	}
	p[t.Offset()>>6] |= 1 << (t.Offset() & 63)
}

// AddRelative adds base+rel[i] for all i, the form in which index leaves hold TIDs. base is the first TID of a
// segment.
func (b *Builder) AddRelative(base TID, rel []uint32) {
	if b.dense == nil {
		if len(b.few)+len(rel) <= sparseLimit {
			for _, r := range rel {
				b.few = append(b.few, uint64(base)+uint64(r))
			}
			return
		}
		b.Dense()
	}
	dense := b.dense[base.Segment()-b.base:]
	for _, r := range rel {
		p := dense[r>>SegmentBits]
		if p == nil {
			p = new(Bits)
			dense[r>>SegmentBits] = p
		}
		p[r>>6&(Words-1)] |= 1 << (r & 63)
	}
}

// Dense switches the builder to bitsets at once; a scan that expects many TIDs calls it first.
func (b *Builder) Dense() {
	if b.dense != nil {
		return
	}
	b.dense = make([]*Bits, b.limit)
	for _, t := range b.few {
		b.Add(TID(t))
	}
	b.few = nil
}

// Segment returns the bitset of a segment for direct filling.
func (b *Builder) Segment(seg uint64) *Bits {
	b.Dense()
	p := b.dense[seg-b.base]
	if p == nil {
		p = new(Bits)
		b.dense[seg-b.base] = p
	}
	return p
}

// Set ends the building and returns the set. The builder must not be used again.
func (b *Builder) Set() *Set {
	if b.dense != nil {
		return &Set{base: b.base, dense: b.dense}
	}
	slices.Sort(b.few)
	m := roaring64.New()
	m.AddMany(b.few)
	return &Set{sparse: m}
}

// Of returns the set of the given TIDs.
func Of(ts ...TID) *Set {
	m := roaring64.New()
	for _, t := range ts {
		m.Add(uint64(t))
	}
	return &Set{sparse: m}
}

func (s *Set) bits(seg uint64) *Bits {
	if seg < s.base || seg-s.base >= uint64(len(s.dense)) {
		return nil
	}
	return s.dense[seg-s.base]
}

// Contains reports whether t is in the set.
func (s *Set) Contains(t TID) bool {
	if s.dense == nil {
		return s.sparse != nil && s.sparse.Contains(uint64(t))
	}
	p := s.bits(t.Segment())
	return p != nil && p[t.Offset()>>6]>>(t.Offset()&63)&1 != 0
}

// Count returns the number of TIDs in the set.
func (s *Set) Count() int64 {
	if s.dense == nil {
		if s.sparse == nil {
			return 0
		}
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
		return s.sparse == nil || s.sparse.IsEmpty()
	}
	for _, p := range s.dense {
		if p != nil && p.Count() > 0 {
			return false
		}
	}
	return true
}

// And returns the TIDs that are in both sets. It may reuse the storage of either.
func (s *Set) And(o *Set) *Set {
	if s.dense == nil && o.dense == nil {
		if s.sparse == nil || o.sparse == nil {
			return &Set{}
		}
		return &Set{sparse: roaring64.And(s.sparse, o.sparse)}
	}
	if s.dense == nil || o.dense == nil {
		few, many := s, o
		if few.dense != nil {
			few, many = o, s
		}
		return few.keep(func(t TID) bool { return many.Contains(t) })
	}
	for i, p := range s.dense {
		if p == nil {
			continue
		}
		q := o.bits(s.base + uint64(i))
		if q == nil {
			s.dense[i] = nil
			continue
		}
		for w := range p {
			p[w] &= q[w]
		}
	}
	return s
}

// AndNot returns the TIDs of s that are not in o. It may reuse the storage of s.
func (s *Set) AndNot(o *Set) *Set {
	if s.dense == nil {
		if s.sparse == nil {
			return s
		}
		if o.dense == nil {
			if o.sparse == nil {
				return s
			}
			return &Set{sparse: roaring64.AndNot(s.sparse, o.sparse)}
		}
		return s.keep(func(t TID) bool { return !o.Contains(t) })
	}
	if o.dense == nil {
		for t := range o.All() {
			if p := s.bits(t.Segment()); p != nil {
				p[t.Offset()>>6] &^= 1 << (t.Offset() & 63)
			}
		}
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

// Or returns the TIDs that are in either set. It may reuse the storage of either.
func (s *Set) Or(o *Set) *Set {
	if s.dense == nil && o.dense == nil {
		switch {
		case s.sparse == nil:
			return o
		case o.sparse == nil:
			return s
		}
		return &Set{sparse: roaring64.Or(s.sparse, o.sparse)}
	}
	if s.dense == nil {
		s, o = o, s
	}
	first, end := s.span()
	if of, oe := o.span(); of < oe {
		first, end = min(first, of), max(end, oe)
	}
	if first < s.base || end > s.base+uint64(len(s.dense)) {
		wider := make([]*Bits, end-first)
		copy(wider[s.base-first:], s.dense)
		s = &Set{base: first, dense: wider}
	}
	if o.dense == nil {
		b := Builder{base: s.base, dense: s.dense}
		for t := range o.All() {
			b.Add(t)
		}
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
		for w := range p {
			p[w] |= q[w]
		}
	}
	return s
}

// span returns the segments [first, end) outside which the set is empty.
func (s *Set) span() (first, end uint64) {
	if s.dense != nil {
		return s.base, s.base + uint64(len(s.dense))
	}
	if s.Empty() {
		return 0, 0
	}
	return s.sparse.Minimum() >> SegmentBits, s.sparse.Maximum()>>SegmentBits + 1
}

func (s *Set) keep(f func(TID) bool) *Set {
	m := roaring64.New()
	var ts []uint64
	for t := range s.All() {
		if f(t) {
			ts = append(ts, uint64(t))
		}
	}
	m.AddMany(ts)
	return &Set{sparse: m}
}

// All yields the TIDs in ascending order.
func (s *Set) All() iter.Seq[TID] {
	return func(yield func(TID) bool) {
		if s.dense == nil {
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
				if p != nil && p.Count() > 0 && !yield(s.base+uint64(i), p) {
					return
				}
			}
			return
		}
		var b Bits
		var seg uint64
		have := false
		for t := range s.All() {
			if have && t.Segment() != seg {
				if !yield(seg, &b) {
					return
				}
				b = Bits{}
			}
			seg, have = t.Segment(), true
			b[t.Offset()>>6] |= 1 << (t.Offset() & 63)
		}
		if have {
			yield(seg, &b)
		}
	}
}
