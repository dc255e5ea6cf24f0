package value

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
			selectInterval(v.U32[:v.N], uint32(iv.Lo), uint32(iv.Hi), v.Nulls, out)
		}
	case width == Word64:
		for _, iv := range r.Words {
			selectInterval(v.U64[:v.N], iv.Lo, iv.Hi, v.Nulls, out)
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

// selectInterval works 64 rows a step without branches: v is in [lo, hi] exactly if v-lo, wrapped, is at most hi-lo.
func selectInterval[T uint32 | uint64](vs []T, lo, hi T, nulls, out []uint64) {
	span := hi - lo
	for w := 0; len(vs) > 0; w++ {
		n := min(64, len(vs))
		var x uint64
		for i, v := range vs[:n] {
			var bit uint64
			if v-lo <= span {
				bit = 1
			}
			x |= bit << (i & 63)
		}
		if w < len(nulls) {
			x &^= nulls[w]
		}
		out[w] |= x
		vs = vs[n:]
	}
}
