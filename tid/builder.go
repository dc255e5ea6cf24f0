package tid

import (
	"math/bits"
)

// Builder collects the TIDs of a set in any order, repeats allowed.
type Builder struct {
	few      []uint64 // as long as dense is nil
	limit    int      // of few
	base     uint64
	segments int
	dense    []*Bits
	within   *Set
	filter   *filter
}

// Where a builder turns to bitsets: sorting a TID costs about 40 ns, clearing and reading a segment's bitset about
// 0.6 us. So 16 TIDs a segment, within bounds: below the lower one nothing is worth a bitset, above the upper one the
// TIDs themselves take 512 KiB.
const (
	fewPerSegment = 16
	fewAtLeast    = 64
	fewAtMost     = 1 << 16
)

// NewBuilder returns a builder for TIDs of segments in [first, end); none outside may be added.
func NewBuilder(first, end uint64) *Builder {
	n := int(end - first)
	return &Builder{base: first, segments: n, limit: min(max(fewPerSegment*n, fewAtLeast), fewAtMost)}
}

// Within makes the set the intersection of what is added with s, which must not change until Set has returned. It is
// called before anything is added. If s is small, all but few TIDs that are not in it are dropped on arrival.
func (b *Builder) Within(s *Set) {
	b.within = s
	if s.dense == nil {
		b.filter = newFilter(s, b.limit)
	}
}

// Add adds one TID.
func (b *Builder) Add(t TID) {
	if b.dense == nil {
		if b.filter != nil && !b.filter.has(uint64(t)) {
			return
		}
		if len(b.few) < b.limit {
			b.few = append(b.few, uint64(t))
			return
		}
		b.turnDense()
	}
	b.bits(int(t.Segment() - b.base))[t.Offset()>>6] |= 1 << (t.Offset() & 63)
}

// AddRelative adds base+rel[i] for all i, the form in which index leaves hold TIDs. base is the first TID of a
// segment.
func (b *Builder) AddRelative(base TID, rel []uint32) {
	if b.dense == nil {
		switch {
		case b.filter != nil:
			b.addFiltered(uint64(base), rel)
			return
		case len(b.few)+len(rel) <= b.limit:
			for _, r := range rel {
				b.few = append(b.few, uint64(base)+uint64(r))
			}
			return
		}
		b.turnDense()
	}
	at := int(base.Segment() - b.base)
	dense := b.dense[at:]
	for _, r := range rel {
		p := dense[r>>SegmentBits]
		if p == nil {
			p = b.bits(at + int(r>>SegmentBits))
		}
		p[r>>6&(Words-1)] |= 1 << (r & 63)
	}
}

func (b *Builder) addFiltered(base uint64, rel []uint32) {
	f := b.filter
	for i, r := range rel {
		t := base + uint64(r)
		if !f.has(t) {
			continue
		}
		if len(b.few) == b.limit {
			b.turnDense()
			b.AddRelative(TID(base), rel[i:])
			return
		}
		b.few = append(b.few, t)
	}
}

// AddBits adds the offsets of a segment that are set in p.
func (b *Builder) AddBits(seg uint64, p *Bits) {
	if b.dense == nil {
		if n := p.Count(); len(b.few)+n > b.limit {
			b.turnDense()
		} else if n > 0 {
			for w, x := range p {
				for ; x != 0; x &= x - 1 {
					b.few = append(b.few, seg<<SegmentBits|uint64(w<<6+bits.TrailingZeros64(x)))
				}
			}
		}
	}
	if b.dense != nil {
		b.Segment(seg).Or(p)
	}
}

// AddSet adds the TIDs of a set.
func (b *Builder) AddSet(s *Set) {
	if s.dense == nil {
		for t := range s.All() {
			b.Add(t)
		}
		return
	}
	for seg, p := range s.Segments() {
		b.AddBits(seg, p)
	}
}

// Wants reports whether TIDs of a segment can be in the set. It may say so of segments of which none can.
func (b *Builder) Wants(seg uint64) bool { return b.within == nil || b.within.AnyIn(seg, seg+1) }

// Dense tells that many TIDs will be added, so that the set is made of bitsets from the beginning.
func (b *Builder) Dense() {
	if b.filter == nil {
		b.turnDense()
	}
}

func (b *Builder) turnDense() {
	if b.dense != nil {
		return
	}
	b.dense = make([]*Bits, b.segments)
	for _, t := range b.few {
		b.bits(int(t>>SegmentBits - b.base))[t>>6&(Words-1)] |= 1 << (t & 63)
	}
	b.few, b.filter = nil, nil
}

// Segment returns the bitset of a segment for direct filling.
func (b *Builder) Segment(seg uint64) *Bits {
	b.turnDense()
	return b.bits(int(seg - b.base))
}

func (b *Builder) bits(at int) *Bits {
	p := b.dense[at]
	if p == nil {
		p = NewBits()
		b.dense[at] = p
	}
	return p
}

// Set ends the building and returns the set. The builder must not be used again.
func (b *Builder) Set() *Set {
	s := &Set{base: b.base, dense: b.dense}
	if b.dense == nil {
		s = ofList(b.few)
	}
	if b.within != nil {
		return s.And(b.within)
	}
	return s
}

// filter tells most TIDs that are not in a small set from those that are: a Bloom filter of one hash and 128 bits a
// TID, so that one in 128 of the others passes.
type filter struct {
	words []uint64
	shift int
}

// newFilter returns a filter for a small set, or nil if the set has more than limit TIDs.
func newFilter(s *Set, limit int) *filter {
	n := int(s.Count())
	if n > limit {
		return nil
	}
	size := max(bits.Len(uint(n))+7, 6)
	f := &filter{words: make([]uint64, 1<<(size-6)), shift: 64 - size}
	s.eachSparse(func(ts []uint64) {
		for _, t := range ts {
			h := f.hash(t)
			f.words[h>>6] |= 1 << (h & 63)
		}
	})
	return f
}

// hash multiplies by 2^64 divided by the golden ratio, whose upper bits spread runs of TIDs evenly.
func (f *filter) hash(t uint64) uint64 { return t * 0x9e3779b97f4a7c15 >> f.shift }

func (f *filter) has(t uint64) bool {
	h := f.hash(t)
	return f.words[h>>6&uint64(len(f.words)-1)]>>(h&63)&1 != 0
}
