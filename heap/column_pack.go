package heap

import "encoding/binary"

// Bit packing: value i of n values of w bits stands at bits [i*w, (i+1)*w) of a byte string, least significant bit
// first; the string ends with the byte that holds the last bit. Widths go from 0 (nothing is stored) to 64.

type word interface{ uint32 | uint64 }

// packedBytes is the size of n packed values.
func packedBytes(n, width int) int { return (n*width + 7) / 8 }

// appendPacked appends the values less base, each of which fits in width bits.
func appendPacked[T word](dst []byte, vs []T, base T, width int) []byte {
	if width == 0 || len(vs) == 0 {
		return dst
	}
	var acc uint64 // the bits that don't fill 8 bytes yet
	have := 0
	w := uint(width)
	for _, v := range vs {
		x := uint64(v - base)
		acc |= x << (have & 63)
		have += width
		if have >= 64 {
			dst = binary.LittleEndian.AppendUint64(dst, acc)
			have -= 64
			acc = x >> (w - uint(have)) // the part of x that did not fit; a shift by 64 gives 0
		}
	}
	for ; have > 0; have -= 8 {
		dst = append(dst, byte(acc))
		acc >>= 8
	}
	return dst
}

// unpack sets dst to the first len(dst) values of data, plus base. data holds at least packedBytes(len(dst), width)
// bytes; what follows them is read but does not matter.
func unpack[T word](dst []T, data []byte, base T, width int) {
	if width == 0 {
		for i := range dst {
			dst[i] = base
		}
		return
	}
	// A value is in the 8 bytes from its first one on, or 9 if it has over 57 bits; the few at the end for which so
	// many bytes are not there are read one by one.
	fast := 0
	if len(data) >= 9 {
		fast = min(len(dst), ((len(data)-9)*8+7)/width+1)
	}
	w := uint(width)
	mask := ^uint64(0) >> (64 - w)
	p := uint(0)
	if width <= 57 {
		for i := range dst[:fast] {
			dst[i] = base + T(binary.LittleEndian.Uint64(data[p>>3:])>>(p&7)&mask)
			p += w
		}
	} else {
		for i := range dst[:fast] {
			b := data[p>>3:][:9]
			dst[i] = base + T((binary.LittleEndian.Uint64(b)>>(p&7)|uint64(b[8])<<(64-p&7))&mask)
			p += w
		}
	}
	for i := fast; i < len(dst); i++ {
		dst[i] = base + T(packedAt(data, i, width))
	}
}

// packedAt returns one value.
func packedAt(data []byte, i, width int) uint64 {
	if width == 0 {
		return 0
	}
	p := uint(i) * uint(width)
	b := data[p>>3:]
	if len(b) < 9 {
		var tail [9]byte
		copy(tail[:], b)
		b = tail[:]
	}
	mask := ^uint64(0) >> (64 - uint(width))
	return (binary.LittleEndian.Uint64(b)>>(p&7) | uint64(b[8])<<(64-p&7)) & mask
}
