package heap

import (
	"encoding/binary"
	"math/bits"
)

// Bitsets are []uint64, bit i of a set in word i/64.

// bitWords is the number of words that n bits take.
func bitWords(n int) int { return (n + 63) >> 6 }

// setBits sets the bits [from, end).
func setBits(set []uint64, from, end int) {
	for from < end {
		w, o := from>>6, from&63
		n := min(64-o, end-from)
		set[w] |= ^uint64(0) >> (64 - n) << o
		from += n
	}
}

// bitsAt returns the n <= 64 bits from bit `at` on; bits beyond the end of the set are 0.
func bitsAt(set []uint64, at, n int) uint64 {
	w, o := at>>6, at&63
	var x uint64
	if w < len(set) {
		x = set[w] >> o
	}
	if o > 0 && w+1 < len(set) {
		x |= set[w+1] << (64 - o)
	}
	if n < 64 {
		x &= 1<<n - 1
	}
	return x
}

// orBits sets in dst, from bit `at` on, the bits that are set in x; no bit of x from n on is set.
func orBits(dst []uint64, at int, x []uint64, n int) {
	o := at & 63
	dst = dst[at>>6:]
	for i, v := range x[:bitWords(n)] {
		if v == 0 {
			continue
		}
		dst[i] |= v << o
		if o > 0 && v>>(64-o) != 0 {
			dst[i+1] |= v >> (64 - o)
		}
	}
}

// countBits counts the set bits among [from, from+n).
func countBits(set []uint64, from, n int) int {
	c := 0
	for i := 0; i < n; i += 64 {
		c += bits.OnesCount64(bitsAt(set, from+i, min(64, n-i)))
	}
	return c
}

// anyBit reports whether any of the bits [from, from+n) is set.
func anyBit(set []uint64, from, n int) bool {
	for i := 0; i < n; i += 64 {
		if bitsAt(set, from+i, min(64, n-i)) != 0 {
			return true
		}
	}
	return false
}

// loadBits fills set with the bitmap of n bits in b and returns its words.
func loadBits(set []uint64, b []byte, n int) []uint64 {
	set = set[:bitWords(n)]
	for i := range set {
		if len(b) >= 8 {
			set[i] = binary.LittleEndian.Uint64(b)
			b = b[8:]
			continue
		}
		var x uint64
		for j, c := range b {
			x |= uint64(c) << (8 * j)
		}
		set[i], b = x, nil
	}
	return set
}

// appendBits appends the bitmap of n bits from bit `from` of set on.
func appendBits(dst []byte, set []uint64, from, n int) []byte {
	for i := 0; i < n; i += 64 {
		k := min(64, n-i)
		x := bitsAt(set, from+i, k)
		for ; k > 0; k -= 8 {
			dst = append(dst, byte(x))
			x >>= 8
		}
	}
	return dst
}

// spreadBits moves the bits of dense, one for each row that is not NULL, to the rows' places in out, which is clear
// on entry: bit j of dense goes to the j-th bit that nulls has not set.
func spreadBits(out, dense, nulls []uint64, rows int) {
	j := 0
	for w := range out[:bitWords(rows)] {
		room := ^nulls[w]
		if k := rows - w<<6; k < 64 {
			room &= 1<<k - 1
		}
		n := bits.OnesCount64(room)
		x := bitsAt(dense, j, n)
		j += n
		if n == 64 {
			out[w] = x
			continue
		}
		var y uint64
		for ; x != 0; x >>= 1 {
			low := room & -room
			room ^= low
			y |= low & -(x & 1)
		}
		out[w] = y
	}
}

// spreadValues moves the first n values of vs, one for each row that is not NULL, to the rows' places in vs; NULL
// rows get the zero value.
func spreadValues[T any](vs []T, n int, nulls []uint64) {
	var zero T
	for i := len(vs) - 1; i >= n; i-- { // once i < n, all rows up to i stand where they belong
		if nulls[i>>6]>>(i&63)&1 != 0 {
			vs[i] = zero
			continue
		}
		n--
		vs[i] = vs[n]
	}
}
