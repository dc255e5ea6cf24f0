package buildparallel

import (
	"math/bits"

	"wideleaf/am"
	"wideleaf/am/leaf"
	"wideleaf/am/sortrun"
	"wideleaf/page"
	"wideleaf/tid"
	"wideleaf/tuplesort"
	"wideleaf/value"
)

// form is how the entries of an index of codes are held while they are sorted: as words, where code and TID fit 64 bits
// together, or as pairs. Its methods do many entries a call.
type form[E any] interface {
	// scan appends the rows [from, to) of a column that are neither NULL nor dead; from is a multiple of 64 and rel the
	// TID of row 0. It reports whether all codes are where they should be.
	scan(dst []E, v *value.Vector, from, to int, rel uint32, dead *tid.Bits) ([]E, bool)
	// sort sorts entries that are in TID order; tmp is as long.
	sort(a, tmp []E, yield func() error) error
	merge(a, tmp []E, ends []int, yield func() error) ([]E, error)
	less(x, y E) bool
	sameKey(x, y E) bool
	tid(x E) uint32
	// pack adds a block of the first entries to a page and returns how many it took, 0 if they don't fit.
	pack(b *leaf.Builder, a []E) int
	// unpack appends a block's entries.
	unpack(dst []E, b *leaf.Block) ([]E, bool)
	put(p am.Part, a []E) error
	size() int64
}

// live returns those of the rows [64*w, 64*w+64) of a segment that are neither NULL nor dead.
func live(v *value.Vector, w int, dead *tid.Bits) uint64 {
	x := ^uint64(0)
	if w < len(v.Nulls) {
		x &^= v.Nulls[w]
	}
	if dead != nil {
		x &^= dead[w]
	}
	return x
}

// words are entries (code-base)<<shift | TID.
type words struct {
	base, span uint64 // codes lie in [base, base+span]
	shift      uint
}

func (f *words) scan(dst []uint64, v *value.Vector, from, to int, rel uint32, dead *tid.Bits) ([]uint64, bool) {
	top := uint64(0)
	all := len(v.Nulls) == 0 && dead == nil
	n := len(dst)
	if v.Type.Width() == value.Word32 {
		if all {
			dst = dst[:n+to-from]
			out := dst[n:]
			for i, c := range v.U32[from:to] {
				x := uint64(c) - f.base
				top = max(top, x)
				out[i] = x<<(f.shift&63) | uint64(rel+uint32(from+i))
			}
			return dst, top <= f.span
		}
		for at := from; at < to; at += 64 {
			for x := live(v, at>>6, dead); x != 0; x &= x - 1 {
				i := at + bits.TrailingZeros64(x)
				if i >= to {
					break
				}
				c := uint64(v.U32[i]) - f.base
				top = max(top, c)
				dst = append(dst, c<<(f.shift&63)|uint64(rel+uint32(i)))
			}
		}
		return dst, top <= f.span
	}
	if all {
		dst = dst[:n+to-from]
		out := dst[n:]
		for i, c := range v.U64[from:to] {
			x := value.KeyCode(v.Type, c) - f.base
			top = max(top, x)
			out[i] = x<<(f.shift&63) | uint64(rel+uint32(from+i))
		}
		return dst, top <= f.span
	}
	for at := from; at < to; at += 64 {
		for x := live(v, at>>6, dead); x != 0; x &= x - 1 {
			i := at + bits.TrailingZeros64(x)
			if i >= to {
				break
			}
			c := value.KeyCode(v.Type, v.U64[i]) - f.base
			top = max(top, c)
			dst = append(dst, c<<(f.shift&63)|uint64(rel+uint32(i)))
		}
	}
	return dst, top <= f.span
}

func (f *words) sort(a, tmp []uint64, yield func() error) error {
	return sortrun.Large(a, tmp, f.shift, 64, yield)
}

func (f *words) merge(a, tmp []uint64, ends []int, yield func() error) ([]uint64, error) {
	return sortrun.Merge(a, tmp, ends, yield)
}

func (f *words) less(x, y uint64) bool    { return x < y }
func (f *words) sameKey(x, y uint64) bool { return x>>(f.shift&63) == y>>(f.shift&63) }
func (f *words) tid(x uint64) uint32      { return uint32(x & (1<<(f.shift&63) - 1)) }
func (f *words) size() int64              { return 8 }

func (f *words) pack(b *leaf.Builder, a []uint64) int { return b.AddPacked(a, f.base, f.shift) }

func (f *words) unpack(dst []uint64, b *leaf.Block) ([]uint64, bool) {
	return b.Packed(dst, 0, b.N, &leaf.Packing{Base: f.base, Span: f.span, Shift: f.shift, Limit: 1 << f.shift})
}

func (f *words) put(p am.Part, a []uint64) error { return p.Words(a, f.base, f.shift) }

// pairs are entries (code, TID).
type pairs struct{}

func (pairs) scan(dst []sortrun.Pair, v *value.Vector, from, to int, rel uint32, dead *tid.Bits) ([]sortrun.Pair, bool) {
	for at := from; at < to; at += 64 {
		for x := live(v, at>>6, dead); x != 0; x &= x - 1 {
			i := at + bits.TrailingZeros64(x)
			if i >= to {
				break
			}
			dst = append(dst, sortrun.Pair{Key: value.KeyCode(v.Type, v.U64[i]), Val: uint64(rel + uint32(i))})
		}
	}
	return dst, true
}

func (pairs) sort(a, tmp []sortrun.Pair, yield func() error) error {
	return sortrun.SortPairs(a, tmp, yield)
}

func (pairs) merge(a, tmp []sortrun.Pair, ends []int, yield func() error) ([]sortrun.Pair, error) {
	return sortrun.MergePairs(a, tmp, ends, yield)
}

func (pairs) less(x, y sortrun.Pair) bool    { return x.Less(y) }
func (pairs) sameKey(x, y sortrun.Pair) bool { return x.Key == y.Key }
func (pairs) tid(x sortrun.Pair) uint32      { return uint32(x.Val) }
func (pairs) size() int64                    { return 16 }

func (pairs) pack(b *leaf.Builder, a []sortrun.Pair) int {
	var keys [leaf.BlockEntries]uint64
	var tids [leaf.BlockEntries]uint32
	n := min(len(a), leaf.BlockEntries)
	for i, x := range a[:n] {
		keys[i], tids[i] = x.Key, uint32(x.Val)
	}
	return b.Add(keys[:n], tids[:n], false)
}

func (pairs) unpack(dst []sortrun.Pair, b *leaf.Block) ([]sortrun.Pair, bool) {
	var keys [leaf.BlockEntries]uint64
	var tids [leaf.BlockEntries]uint32
	t := b.TIDs(&tids)
	for i, k := range b.Keys(&keys) {
		dst = append(dst, sortrun.Pair{Key: k, Val: uint64(t[i])})
	}
	return dst, true
}

func (pairs) put(p am.Part, a []sortrun.Pair) error {
	var keys [1024]uint64
	var tids [1024]uint32
	for len(a) > 0 {
		n := min(len(a), len(keys))
		for i, x := range a[:n] {
			keys[i], tids[i] = x.Key, uint32(x.Val)
		}
		if err := p.Entries(keys[:n], tids[:n]); err != nil {
			return err
		}
		a = a[n:]
	}
	return nil
}

// codeRun is a sorted run of entries, in memory or on tape.
type codeRun[E any] struct {
	a []E

	tape   *tuplesort.Tape
	owner  page.Owner
	places []tuplesort.Place // of its pages
	firsts []E               // first entry of each
	n      int               // entries
}
