package entrytree

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"

	"wideleaf/am"
	"wideleaf/am/sortrun"
	"wideleaf/catalog"
	"wideleaf/tid"
	"wideleaf/value"
)

// offsetBits is the part of a packed word that holds a row's offset in its segment.
const offsetBits = tid.SegmentBits

// words is memory for packed entries: grow makes a empty, with room for n, and tmp as long as that.
type words struct{ a, tmp []uint64 }

var wordPool = sync.Pool{New: func() any { return new(words) }}

func (w *words) grow(n int) {
	if cap(w.a) < n {
		w.a = make([]uint64, 0, n)
	}
	if cap(w.tmp) < n {
		w.tmp = make([]uint64, n)
	}
	w.a, w.tmp = w.a[:0], w.tmp[:n]
}

// Build writes the tree of some columns of one segment's rows, which are those of the index.
func Build(form *Form, ix *catalog.Index, cols []*value.Vector, src *am.Source, t Target, yield func() error) (am.RunMeta, error) {
	if !fixed(ix) {
		return buildBytes(form, ix, cols, src, t, yield)
	}
	v := cols[0]
	buf := wordPool.Get().(*words)
	defer wordPool.Put(buf)
	buf.grow(v.N)
	out := newFixedWriter(form, t, yield)
	defer out.free()
	var err error
	if v.Type.Width() == value.Word32 {
		err = build32(v, src, buf, out, yield)
	} else {
		err = build64(v, src, buf, out, yield)
	}
	if err != nil {
		return am.RunMeta{}, err
	}
	if err := buildNulls(v, src, out); err != nil {
		return am.RunMeta{}, err
	}
	return out.finish()
}

// start is the offset of a source's first row.
func start(src *am.Source) int { return int(src.Base.Offset()) }

// skip returns the rows [64*w, 64*w+64) to leave out of the codes of v.
func skip(v *value.Vector, src *am.Source, w int) uint64 {
	x := dead(src, w)
	if w < len(v.Nulls) {
		x |= v.Nulls[w]
	}
	return x
}

// dead returns the dead ones of the rows [64*w, 64*w+64).
func dead(src *am.Source, w int) uint64 {
	if src.Dead == nil {
		return 0
	}
	at := start(src) + 64*w
	x := src.Dead[at>>6] >> (at & 63)
	if at&63 != 0 && at>>6+1 < tid.Words {
		x |= src.Dead[at>>6+1] << (64 - at&63)
	}
	return x
}

func build32(v *value.Vector, src *am.Source, buf *words, out *fixedWriter, yield func() error) error {
	a := buf.a[:v.N]
	n := 0
	var diff, lead uint64 // bits in which codes differ
	if v.N > 0 {
		lead = uint64(v.U32[0])
	}
	if len(v.Nulls) == 0 && src.Dead == nil {
		for i, c := range v.U32[:v.N] {
			diff |= uint64(c) ^ lead
			a[i] = uint64(c)<<offsetBits | uint64(start(src)+i)
		}
		n = v.N
	} else {
		for i := 0; i < v.N; i += 64 {
			for x := ^skip(v, src, i>>6); x != 0; x &= x - 1 {
				at := i + bits.TrailingZeros64(x)
				if at >= v.N {
					break
				}
				c := uint64(v.U32[at])
				diff |= c ^ lead
				a[n] = c<<offsetBits | uint64(start(src)+at)
				n++
			}
		}
	}
	a = a[:n]
	if !sortrun.Sorted(a) {
		var err error
		if a, err = sortrun.Radix(a, buf.tmp, offsetBits, offsetBits+uint(bits.Len64(diff)), yield); err != nil {
			return err
		}
	}
	return out.packed(a, 0, offsetBits)
}

// build64 sorts 64-bit codes as words too: what doesn't fit beside the offset is cut off below and put right among
// the entries that are equal in the rest.
func build64(v *value.Vector, src *am.Source, buf *words, out *fixedWriter, yield func() error) error {
	lo, hi := ^uint64(0), uint64(0)
	for _, c := range v.U64[:v.N] {
		c = value.KeyCode(v.Type, c)
		lo, hi = min(lo, c), max(hi, c)
	}
	if v.N == 0 {
		return nil
	}
	width := uint(bits.Len64(hi - lo))
	cut := max(width, 64-offsetBits) - (64 - offsetBits)
	a := buf.a[:v.N]
	n := 0
	for i := 0; i < v.N; i += 64 {
		for x := ^skip(v, src, i>>6); x != 0; x &= x - 1 {
			at := i + bits.TrailingZeros64(x)
			if at >= v.N {
				break
			}
			c := value.KeyCode(v.Type, v.U64[at])
			a[n] = (c-lo)>>cut<<offsetBits | uint64(start(src)+at)
			n++
		}
	}
	a = a[:n]
	code := func(x uint64) (uint64, uint32) {
		t := uint32(uint16(x))
		return value.KeyCode(v.Type, v.U64[int(t)-start(src)]), t
	}
	tied := uint(offsetBits)
	if !sortrun.Sorted(a) {
		var err error
		if a, tied, err = sortUpper(a, buf.tmp, offsetBits+width-cut, yield); err != nil {
			return err
		}
	}
	if cut > 0 || tied > offsetBits {
		sortTies(a, tied, func(x, y uint64) int {
			k, _ := code(x)
			l, _ := code(y)
			return cmp.Compare(k, l)
		})
	}
	if cut > 0 {
		return out.rows(a, code)
	}
	return out.packed(a, lo, offsetBits)
}

// upperBits is how many of the upper bits of 64-bit codes are sorted at first: three passes' worth, which leave next
// to nothing equal among 65,536 codes unless they come in clusters.
const upperBits = 33

// sortUpper sorts words by their upper bits, the topmost of which is below high, and by all bits above the offset if
// the upper ones don't tell them apart. Words may remain out of order that are equal from bit tied on.
func sortUpper(a, tmp []uint64, high uint, yield func() error) (sorted []uint64, tied uint, err error) {
	low := max(high, offsetBits+upperBits) - upperBits
	sorted, err = sortrun.Radix(a, tmp, low, high, yield)
	if err != nil || low == offsetBits {
		return sorted, low, err
	}
	equal := 0
	for i := 1; i < len(sorted); i++ {
		if sorted[i]>>(low&63) == sorted[i-1]>>(low&63) {
			equal++
		}
	}
	if equal <= len(sorted)/16 {
		return sorted, low, nil
	}
	if &sorted[0] == &tmp[0] {
		tmp = a
	}
	sorted, err = sortrun.Radix(sorted, tmp, offsetBits, high, yield)
	return sorted, offsetBits, err
}

// sortTies puts words in order that are equal from bit tied on, by what compare says of their entries.
func sortTies(a []uint64, tied uint, compare func(x, y uint64) int) {
	order := func(x, y uint64) int {
		if c := compare(x, y); c != 0 {
			return c
		}
		return cmp.Compare(x, y)
	}
	for i := 1; i < len(a); i++ {
		if a[i]>>(tied&63) != a[i-1]>>(tied&63) {
			continue
		}
		first := i - 1
		for i < len(a) && a[i]>>(tied&63) == a[first]>>(tied&63) {
			i++
		}
		if !slices.IsSortedFunc(a[first:i], order) {
			slices.SortFunc(a[first:i], order)
		}
	}
}

func buildNulls(v *value.Vector, src *am.Source, out *fixedWriter) error {
	if !v.HasNulls() {
		return nil
	}
	if err := out.beginNulls(); err != nil {
		return err
	}
	var tids [64]uint32
	for w, x := range v.Nulls {
		n := 0
		for x &^= dead(src, w); x != 0; x &= x - 1 {
			if at := 64*w + bits.TrailingZeros64(x); at < v.N {
				tids[n] = uint32(start(src) + at)
				n++
			}
		}
		if err := out.same(0, tids[:n]); err != nil {
			return err
		}
	}
	return nil
}
