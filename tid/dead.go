package tid

import (
	"bytes"
	"cmp"
	"errors"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
)

// Dead is rows by segment, with their numbers: the deleted rows of a table. It is immutable: changes make another one,
// which shares what is the same. It may be used by any number of goroutines. A nil Dead is empty.
type Dead struct {
	parts []DeadSegment // ascending, none without rows
	rows  int64
}

// DeadSegment is a Dead's rows of one segment. Bits must not be changed.
type DeadSegment struct {
	Segment uint64
	Rows    int
	Bits    *Bits
	Commits int    // how many commits' deletes are logged one by one
	Last    uint64 // the number of the last of these, or of those put together before
}

// Rows returns the number of rows.
func (d *Dead) Rows() int64 {
	if d == nil {
		return 0
	}
	return d.rows
}

// Parts returns the segments that have rows, ascending.
func (d *Dead) Parts() []DeadSegment {
	if d == nil {
		return nil
	}
	return d.parts
}

// Segment returns the rows of a segment: a bitset, nil if there are none, and their number.
func (d *Dead) Segment(seg uint64) (*Bits, int) {
	p := d.Part(seg)
	return p.Bits, p.Rows
}

// Part returns the rows of a segment; without any, only the segment's number is set.
func (d *Dead) Part(seg uint64) DeadSegment {
	if d != nil {
		if i, ok := d.search(seg); ok {
			return d.parts[i]
		}
	}
	return DeadSegment{Segment: seg}
}

func (d *Dead) search(seg uint64) (int, bool) {
	return slices.BinarySearchFunc(d.parts, seg, func(p DeadSegment, seg uint64) int { return cmp.Compare(p.Segment, seg) })
}

// Has reports whether a row is among them.
func (d *Dead) Has(t TID) bool {
	b, _ := d.Segment(t.Segment())
	return b != nil && b.Has(t.Offset())
}

// In returns the rows of the segments [first, end).
func (d *Dead) In(first, end uint64) *Dead {
	if d == nil {
		return nil
	}
	i, _ := d.search(first)
	j, _ := d.search(end)
	if i >= j {
		return nil
	}
	c := &Dead{parts: d.parts[i:j:j]}
	for _, p := range c.parts {
		c.rows += int64(p.Rows)
	}
	return c
}

// With returns the set with parts in place of those of the same segments. A part without rows removes its segment. The
// parts' bitsets are the set's from then on. Of several parts of one segment the last counts.
func (d *Dead) With(parts ...DeadSegment) *Dead {
	parts = slices.Clone(parts)
	slices.SortStableFunc(parts, func(a, b DeadSegment) int { return cmp.Compare(a.Segment, b.Segment) })
	old := d.Parts()
	c := &Dead{parts: make([]DeadSegment, 0, len(old)+len(parts))}
	add := func(p DeadSegment) {
		if p.Rows > 0 {
			c.parts = append(c.parts, p)
			c.rows += int64(p.Rows)
		}
	}
	for i, p := range parts {
		if i+1 < len(parts) && parts[i+1].Segment == p.Segment {
			continue
		}
		for len(old) > 0 && old[0].Segment < p.Segment {
			add(old[0])
			old = old[1:]
		}
		if len(old) > 0 && old[0].Segment == p.Segment {
			old = old[1:]
		}
		add(p)
	}
	for _, p := range old {
		add(p)
	}
	return c
}

// Or returns the rows of both sets.
func (d *Dead) Or(o *Dead) *Dead {
	if o.Rows() == 0 {
		return d
	}
	parts := slices.Clone(o.parts)
	for i, p := range parts {
		if old := d.Part(p.Segment); old.Bits != nil {
			old.Bits, p.Bits = new(Bits), old.Bits
			*old.Bits = *p.Bits
			old.Bits.Or(o.parts[i].Bits)
			old.Rows = old.Bits.Count()
			parts[i] = old
		}
	}
	return d.With(parts...)
}

// Less returns the rows that are not in o, a set that shares d's bitsets where it can.
func (d *Dead) Less(o *Dead) *Dead {
	if d.Rows() == 0 || o.Rows() == 0 {
		return d
	}
	c := &Dead{}
	for _, p := range d.parts {
		q, n := o.Segment(p.Segment)
		switch {
		case q == p.Bits:
			continue
		case n > 0:
			b := new(Bits)
			*b = *p.Bits
			if p.Rows = b.AndNot(q); p.Rows == 0 {
				continue
			}
			p.Bits = b
		}
		c.parts = append(c.parts, p)
		c.rows += int64(p.Rows)
	}
	return c
}

// LessPart is Less for an o whose rows of d's segments are all in d.
func (d *Dead) LessPart(o *Dead) *Dead {
	same := true
	for _, p := range d.Parts() {
		_, n := o.Segment(p.Segment)
		same = same && n == p.Rows
	}
	if same {
		return nil
	}
	return d.Less(o)
}

// Sharing returns the same set with the bitsets of o where these are equal, to save memory.
func (d *Dead) Sharing(o *Dead) *Dead {
	if d.Rows() == 0 {
		return nil
	}
	c := &Dead{parts: slices.Clone(d.parts), rows: d.rows}
	for i, p := range c.parts {
		if b, n := o.Segment(p.Segment); n == p.Rows && *b == *p.Bits {
			c.parts[i].Bits = b
		}
	}
	return c
}

// Overlaps reports whether some row is in both.
func (d *Dead) Overlaps(o *Dead) bool {
	for _, p := range d.Parts() {
		if q, _ := o.Segment(p.Segment); q != nil && p.Bits.Overlaps(q) {
			return true
		}
	}
	return false
}

// Dead returns the set as a Dead, which has bitsets of its own.
func (s *Set) Dead() *Dead {
	d := &Dead{}
	for seg, p := range s.Segments() {
		b := new(Bits)
		*b = *p
		n := b.Count()
		d.parts = append(d.parts, DeadSegment{Segment: seg, Rows: n, Bits: b})
		d.rows += int64(n)
	}
	return d
}

// Less returns the TIDs of s that are not in d. It may reuse the storage of s, which must not be used afterwards.
func (s *Set) Less(d *Dead) *Set {
	if d.Rows() == 0 {
		return s
	}
	if s.dense != nil {
		for _, q := range d.parts {
			if p := s.bits(q.Segment); p != nil {
				p.AndNot(q.Bits)
			}
		}
		return s
	}
	kept := s.list[:0]
	if s.sparse != nil {
		kept = nil
	}
	s.eachSparse(func(ts []uint64) {
		for _, t := range ts {
			if !d.Has(TID(t)) {
				kept = append(kept, t)
			}
		}
	})
	return &Set{list: kept}
}

// AppendBits appends the stored form of a bitset, a roaring bitmap in its portable format; DecodeBits is its inverse for
// all of b.
func AppendBits(dst []byte, p *Bits) []byte {
	m := roaring.FromDense(p[:], true)
	m.RunOptimize()
	b, err := m.ToBytes()
	if err != nil {
		panic(err) // a bytes.Buffer takes all
	}
	return append(dst, b...)
}

// DecodeBits decodes what AppendBits has made.
func DecodeBits(b []byte) (*Bits, error) {
	m := roaring.New()
	n, err := m.ReadFrom(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	if int(n) != len(b) {
		return nil, errors.New("a bitmap has bytes behind its end")
	}
	if err := m.Validate(); err != nil && !m.IsEmpty() {
		return nil, err
	}
	p := new(Bits)
	if !m.IsEmpty() && m.Maximum() >= SegmentRows {
		return nil, errors.New("a bitmap has offsets outside of a segment")
	}
	m.WriteDenseTo(p[:])
	return p, nil
}
