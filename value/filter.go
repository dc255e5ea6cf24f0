package value

import "math/bits"

// manyIntervals is from how many intervals on finding each value's by binary search is faster than a pass for each.
const manyIntervals = 32

// Select sets bit i of out, which holds at least (v.N+63)/64 words, for every row i of v that satisfies the
// condition. Bits of other rows are left as they are.
func (r Ranges) Select(v *Vector, out []uint64) {
	r.SelectAt(v, out, 0)
}

// SelectAt is Select with row i at bit at+i; at must be a multiple of 64.
func (r Ranges) SelectAt(v *Vector, out []uint64, at int) {
	out = out[at>>6:]
	words := (v.N + 63) >> 6
	if len(r.Words) > manyIntervals {
		for i := range v.N {
			if r.ContainsCode(v.Code(i)) && !v.IsNull(i) {
				out[i>>6] |= 1 << (i & 63)
			}
		}
	}
	switch width := v.Type.Width(); {
	case len(r.Words) > manyIntervals:
	case width == Word32:
		for _, iv := range r.Words {
			selectInterval(v.U32[:v.N], uint32(iv.Lo), uint32(iv.Hi), v.Nulls, out, outside32)
		}
	case width == Word64:
		for _, iv := range r.Words {
			selectInterval(v.U64[:v.N], iv.Lo, iv.Hi, v.Nulls, out, outside64)
		}
	default:
		for i, s := range v.Str[:v.N] {
			if r.ContainsString(s) && !v.IsNull(i) {
				out[i>>6] |= 1 << (i & 63)
			}
		}
	}
	if r.Nulls {
		for w, x := range v.Nulls[:min(words, len(v.Nulls))] {
			out[w] |= x
		}
	}
}

// selectInterval works 64 rows a step without branches: v is outside [lo, hi] exactly if v-lo, wrapped, is more than
// hi-lo.
func selectInterval[T uint32 | uint64](vs []T, lo, hi T, nulls, out []uint64, outside func(vs *[64]T, lo, span T) uint64) {
	var rest [64]T
	for w := 0; len(vs) > 0; w++ {
		n := min(64, len(vs))
		block := &rest
		if n == 64 {
			block = (*[64]T)(vs)
		} else {
			copy(rest[:], vs)
		}
		x := ^outside(block, lo, hi-lo)
		if n < 64 {
			x &= 1<<n - 1
		}
		if w < len(nulls) {
			x &^= nulls[w]
		}
		out[w] |= x
		vs = vs[n:]
	}
}

// outside32 sets bit i of its result when v[i]-lo is more than span: then span less it, in 64 bits, is negative.
func outside32(v *[64]uint32, lo, span uint32) uint64 {
	s := uint64(span)
	var x uint64
	for i := 0; i < 64; i += 8 {
		b := (*[8]uint32)(v[i : i+8])
		x = x>>8 | (s-uint64(b[0]-lo))>>7&(1<<56) | (s-uint64(b[1]-lo))>>6&(1<<57) |
			(s-uint64(b[2]-lo))>>5&(1<<58) | (s-uint64(b[3]-lo))>>4&(1<<59) | (s-uint64(b[4]-lo))>>3&(1<<60) |
			(s-uint64(b[5]-lo))>>2&(1<<61) | (s-uint64(b[6]-lo))>>1&(1<<62) | (s-uint64(b[7]-lo))&(1<<63)
	}
	return x
}

// outside64 is outside32 for 64 bits, where the borrow of the subtraction tells.
func outside64(v *[64]uint64, lo, span uint64) uint64 {
	var x uint64
	for i := 0; i < 64; i += 4 {
		b := (*[4]uint64)(v[i : i+4])
		_, b0 := bits.Sub64(span, b[0]-lo, 0)
		_, b1 := bits.Sub64(span, b[1]-lo, 0)
		_, b2 := bits.Sub64(span, b[2]-lo, 0)
		_, b3 := bits.Sub64(span, b[3]-lo, 0)
		x = x>>4 | b0<<60 | b1<<61 | b2<<62 | b3<<63
	}
	return x
}
