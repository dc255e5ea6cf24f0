package leaf

import (
	"encoding/binary"
	"math/bits"
)

// maxWidth is the widest packed value but for whole words: shifted by up to 7 bits it fits a 64-bit word. Wider values take 64 bits, so that one formula reads every width.
const maxWidth = 56

// widthOf returns the packed width of values up to v.
func widthOf(v uint64) uint {
	w := uint(bits.Len64(v))
	if w > maxWidth {
		return 64
	}
	return w
}

// packedBytes is the size of n values of width w.
func packedBytes(n int, w uint) int { return (n*int(w) + 7) >> 3 }

// pack writes vals[i]-base, each w bits wide, and returns the number of bytes that hold them. It may write up to 8
// bytes more, which dst must have.
func pack[T uint32 | uint64](dst []byte, vals []T, base T, w uint) int {
	switch w {
	case 0:
		return 0
	case 16: // TIDs of one segment
		for i, v := range vals {
			binary.LittleEndian.PutUint16(dst[2*i:], uint16(v-base))
		}
		return 2 * len(vals)
	case 64:
		for i, v := range vals {
			binary.LittleEndian.PutUint64(dst[8*i:], uint64(v-base))
		}
		return 8 * len(vals)
	}
	size := packedBytes(len(vals), w)
	// Each step stores the bits it has and goes on at the byte that isn't full. Narrow values go in pairs.
	var acc uint64
	var s uint
	o := 0
	if w <= maxWidth/2 {
		for ; len(vals) >= 2; vals = vals[2:] {
			acc |= (uint64(vals[0]-base) | uint64(vals[1]-base)<<(w&63)) << (s & 7)
			binary.LittleEndian.PutUint64(dst[o:], acc)
			s += 2 * w
			o += int(s >> 3)
			acc >>= s &^ 7 & 63
			s &= 7
		}
	}
	for _, v := range vals {
		acc |= uint64(v-base) << (s & 7)
		binary.LittleEndian.PutUint64(dst[o:], acc)
		s += w
		o += int(s >> 3)
		acc >>= s &^ 7 & 63
		s &= 7
	}
	return size
}

// at returns value i of a packed array that is followed by at least 8 bytes of page.
func at(p []byte, i int, w uint) uint64 {
	bit := uint(i) * w
	return binary.LittleEndian.Uint64(p[bit>>3:]) >> (bit & 7) & mask(w)
}

// mask has the low w bits set, w <= 64.
func mask(w uint) uint64 { return 1<<w - 1 }

// unpack is the inverse of pack; p must be followed by 8 bytes of page.
func unpack[T uint32 | uint64](dst []T, p []byte, base T, w uint) {
	m := mask(w)
	var bit uint
	// A load of 64 bits, shifted by up to 7, holds three values of up to 19 bits or two of up to 28.
	switch {
	case w <= 19:
		for ; len(dst) >= 3; dst = dst[3:] {
			x := binary.LittleEndian.Uint64(p[bit>>3:]) >> (bit & 7)
			dst[0] = base + T(x&m)
			x >>= w & 63
			dst[1] = base + T(x&m)
			dst[2] = base + T(x>>(w&63)&m)
			bit += 3 * w
		}
	case w <= maxWidth/2:
		for ; len(dst) >= 2; dst = dst[2:] {
			x := binary.LittleEndian.Uint64(p[bit>>3:]) >> (bit & 7)
			dst[0] = base + T(x&m)
			dst[1] = base + T(x>>(w&63)&m)
			bit += 2 * w
		}
	}
	for i := range dst {
		dst[i] = base + T(binary.LittleEndian.Uint64(p[bit>>3:])>>(bit&7)&m)
		bit += w
	}
}
