package tid

import (
	"maps"
	mbits "math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The model of a set is a map. Segments lie between low and high, so that sets of both kinds, touching and apart,
// come up; the lowest of them is far beyond 32 bits.
const (
	low  = 1 << 40
	high = low + 5
)

type modelSet map[TID]bool

func (m modelSet) sorted() []TID { return slices.Sorted(maps.Keys(m)) }

func genTID(t *rapid.T, first, end uint64) TID {
	offset := rapid.OneOf(rapid.Uint16Range(0, 70), rapid.Uint16Range(65500, 65535), rapid.Uint16())
	return New(rapid.Uint64Range(first, end-1).Draw(t, "segment"), offset.Draw(t, "offset"))
}

// genSet builds a set of TIDs in random ways, and its model.
func genSet(t *rapid.T, within *Set) (*Set, modelSet) {
	first := rapid.Uint64Range(low, high-1).Draw(t, "first")
	end := rapid.Uint64Range(first+1, high).Draw(t, "end")
	b, m := NewBuilder(first, end), modelSet{}
	if within != nil {
		b.Within(within)
	}
	for range rapid.IntRange(0, 6).Draw(t, "steps") {
		switch rapid.IntRange(0, 4).Draw(t, "step") {
		case 0:
			x := genTID(t, first, end)
			b.Add(x)
			m[x] = true
		case 1:
			base := New(rapid.Uint64Range(first, end-1).Draw(t, "base"), 0)
			var rel []uint32
			for range rapid.IntRange(0, 100).Draw(t, "rel") {
				x := genTID(t, base.Segment(), end)
				rel = append(rel, uint32(x-base))
				m[x] = true
			}
			b.AddRelative(base, rel)
		case 2:
			seg, p := rapid.Uint64Range(first, end-1).Draw(t, "segment"), new(Bits)
			step := rapid.IntRange(1, 3000).Draw(t, "step")
			for o := rapid.IntRange(0, 65535).Draw(t, "from"); o < 1<<16; o += step {
				p[o>>6] |= 1 << (o & 63)
				m[New(seg, uint16(o))] = true
			}
			b.AddBits(seg, p)
		case 3:
			b.Dense()
		case 4:
			x := genTID(t, first, end)
			b.Segment(x.Segment())[x.Offset()>>6] |= 1 << (x.Offset() & 63)
			m[x] = true
		}
	}
	return b.Set(), m
}

func checkSet(t *rapid.T, what string, s *Set, want modelSet) {
	t.Helper()
	list := want.sorted()
	if got := slices.Collect(s.All()); !slices.Equal(got, list) {
		t.Fatalf("%s: got %d TIDs, want %d", what, len(got), len(list))
	}
	if n := s.Count(); n != int64(len(list)) {
		t.Fatalf("%s: Count is %d, want %d", what, n, len(list))
	}
	if s.Empty() != (len(list) == 0) {
		t.Fatalf("%s: Empty is %v with %d TIDs", what, s.Empty(), len(list))
	}
	var bySegment []TID
	last := uint64(0)
	for seg, p := range s.Segments() {
		if seg <= last || p.Empty() {
			t.Fatalf("%s: segment %d after %d, empty: %v", what, seg, last, p.Empty())
		}
		last = seg
		for _, o := range p.AppendOffsets(nil, 0, SegmentRows) {
			bySegment = append(bySegment, New(seg, o))
		}
	}
	if !slices.Equal(bySegment, list) {
		t.Fatalf("%s: Segments has %d TIDs, want %d", what, len(bySegment), len(list))
	}
	for _, x := range append(list, genTID(t, low, high), genTID(t, 0, high)) {
		if s.Contains(x) != want[x] {
			t.Fatalf("%s: Contains(%v) is %v", what, x, !want[x])
		}
	}
	for seg := uint64(low); seg < high; seg++ {
		if !s.AnyIn(seg, seg+1) && slices.ContainsFunc(list, func(x TID) bool { return x.Segment() == seg }) {
			t.Fatalf("%s: AnyIn says that there is nothing in segment %d", what, seg)
		}
		p, rows := NewBits(), modelSet{}
		p.SetFirst(SegmentRows)
		s.Mask(seg, p[:Words-1])
		for w := range p[:Words-1] {
			for x := p[w]; x != 0; x &= x - 1 {
				rows[New(seg, uint16(w<<6+mbits.TrailingZeros64(x)))] = true
			}
		}
		for _, x := range list {
			if x.Segment() == seg && x.Offset() < SegmentRows-64 && !rows[x] {
				t.Fatalf("%s: Mask clears %v", what, x)
			}
			delete(rows, x)
		}
		if len(rows) > 0 {
			t.Fatalf("%s: Mask leaves %d others in segment %d", what, len(rows), seg)
		}
		p.Release()
	}
}

func TestSetsAgainstMaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, m := genSet(t, nil)
		checkSet(t, "built", s, m)
		for range rapid.IntRange(1, 4).Draw(t, "operations") {
			o, om := genSet(t, nil)
			next := modelSet{}
			switch rapid.IntRange(0, 3).Draw(t, "operation") {
			case 0:
				for x := range m {
					if om[x] {
						next[x] = true
					}
				}
				s = s.And(o)
				checkSet(t, "the second set after And", o, om)
				o.Release()
			case 1:
				for x := range m {
					if !om[x] {
						next[x] = true
					}
				}
				s = s.AndNot(o)
				checkSet(t, "the second set after AndNot", o, om)
				o.Release()
			case 2:
				maps.Copy(next, m)
				maps.Copy(next, om)
				s = s.Or(o)
			case 3:
				o, om = genSet(t, s)
				for x := range m {
					if om[x] {
						next[x] = true
					}
				}
				checkSet(t, "the set that another was built within", s, m)
				s.Release()
				s = o
			}
			m = next
			checkSet(t, "result", s, m)
		}
	})
}

func TestZeroSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkSet(t, "zero", &Set{}, modelSet{})
		s, m := genSet(t, nil)
		s = s.Or(&Set{})
		checkSet(t, "Or with nothing", s, m)
		s = (&Set{}).Or(s)
		checkSet(t, "nothing, Or", s, m)
		s = s.AndNot(&Set{})
		checkSet(t, "AndNot nothing", s, m)
		checkSet(t, "nothing AndNot", (&Set{}).AndNot(s), modelSet{})
		checkSet(t, "nothing, And", (&Set{}).And(s), modelSet{})
		checkSet(t, "And nothing", s.And(&Set{}), modelSet{})
	})
}

func TestBits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.IntRange(0, 200), rapid.IntRange(SegmentRows-2, SegmentRows)).Draw(t, "n")
		b := NewBits()
		defer b.Release()
		b.SetFirst(n)
		if b.Count() != n || b.Empty() != (n == 0) {
			t.Fatalf("SetFirst(%d): %d bits", n, b.Count())
		}
		from := rapid.IntRange(0, SegmentRows-1).Draw(t, "from")
		limit := rapid.IntRange(0, 200).Draw(t, "limit")
		var want []uint16
		for o := from; o < n && len(want) < limit; o++ {
			want = append(want, uint16(o))
		}
		if got := b.AppendOffsets(nil, from, limit); !slices.Equal(got, want) {
			t.Fatalf("AppendOffsets(%d, %d) of %d: got %v, want %v", from, limit, n, got, want)
		}
	})
}

func TestTID(t *testing.T) {
	x := New(1<<47+5, 65535)
	if x.Segment() != 1<<47+5 || x.Offset() != 65535 || x.String() != "(140737488355333,65535)" {
		t.Errorf("got %d, %d, %s", x.Segment(), x.Offset(), x)
	}
}
