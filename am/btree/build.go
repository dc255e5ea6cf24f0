package btree

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"

	"wideleaf/am"
	"wideleaf/am/sortrun"
	"wideleaf/catalog"
	"wideleaf/page"
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

// Build writes the run of one segment.
func (method) Build(ix *catalog.Index, o page.Owner, src am.Source, w page.Writer, yield func() error) (am.RunMeta, error) {
	if !fixed(ix) {
		return buildBytes(ix, o, src, w, yield)
	}
	v := src.Columns[0]
	buf := wordPool.Get().(*words)
	defer wordPool.Put(buf)
	buf.grow(v.N)
	out := newFixedWriter(o, w, yield)
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
func start(src am.Source) int { return int(src.Base.Offset()) }

// skip returns the rows [64*w, 64*w+64) to leave out of the codes of v.
func skip(v *value.Vector, src am.Source, w int) uint64 {
	x := dead(src, w)
	if w < len(v.Nulls) {
		x |= v.Nulls[w]
	}
	return x
}

// dead returns the dead ones of the rows [64*w, 64*w+64).
func dead(src am.Source, w int) uint64 {
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

func build32(v *value.Vector, src am.Source, buf *words, out *fixedWriter, yield func() error) error {
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
func build64(v *value.Vector, src am.Source, buf *words, out *fixedWriter, yield func() error) error {
	lo, hi := ^uint64(0), uint64(0)
	for _, c := range v.U64[:v.N] {
		c = value.KeyCode(v.Type, c)
		lo, hi = min(lo, c), max(hi, c)
	}
	if v.N == 0 {
		return nil
	}
	width := uint(bits.Len64(hi - lo))
	cut := uint(max(int(width)-(64-offsetBits), 0))
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
	if !sortrun.Sorted(a) {
		var err error
		if a, err = sortrun.Radix(a, buf.tmp, offsetBits, offsetBits+width-cut, yield); err != nil {
			return err
		}
	}
	if cut == 0 {
		return out.packed(a, lo, offsetBits)
	}
	code := func(off uint16) uint64 { return value.KeyCode(v.Type, v.U64[int(off)-start(src)]) }
	sortTies(a, func(x, y uint16) int { return cmp.Compare(code(x), code(y)) })
	return out.offsets(a, code)
}

// sortTies puts entries in order that are equal in all but the offset, by what compare says of their rows.
func sortTies(a []uint64, compare func(x, y uint16) int) {
	order := func(x, y uint64) int {
		if c := compare(uint16(x), uint16(y)); c != 0 {
			return c
		}
		return cmp.Compare(uint16(x), uint16(y))
	}
	for i := 0; i < len(a); {
		j := i + 1
		for j < len(a) && a[j]>>offsetBits == a[i]>>offsetBits {
			j++
		}
		if j-i > 1 && !slices.IsSortedFunc(a[i:j], order) {
			slices.SortFunc(a[i:j], order)
		}
		i = j
	}
}

func buildNulls(v *value.Vector, src am.Source, out *fixedWriter) error {
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
