package heap

import (
	"encoding/binary"
	"slices"
	"unsafe"
)

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
	at := len(dst)
	size := packedBytes(len(vs), width)
	dst = slices.Grow(dst, size)[:at+size]
	w := uint(width)
	for _, v := range vs {
		x := uint64(v - base)
		acc |= x << (have & 63)
		have += width
		if have >= 64 {
			binary.LittleEndian.PutUint64(dst[at:], acc)
			at += 8
			have -= 64
			acc = x >> (w - uint(have)) // the part of x that did not fit; a shift by 64 gives 0
		}
	}
	for ; at < len(dst); at++ {
		dst[at] = byte(acc)
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
	i := 0
	if width <= 57 { // a value is within the 8 bytes from its first one on
		i = unpackEights(dst, data, base, width)
	} else {
		i = unpackWide(dst, data, base, width)
	}
	for ; i < len(dst); i++ {
		dst[i] = base + T(packedAt(data, i, width))
	}
}

// unpackEights unpacks eight values, which are width bytes, a step, as long as 8 bytes can be read wherever one of them
// begins. It returns the number of values done.
func unpackEights[T word](dst []T, data []byte, base T, width int) int {
	w := uint(width)
	last := int(7*w>>3) + 8 // bytes from a step's begin to the end of what is read
	if len(data) < last {
		return 0
	}
	steps := min(len(dst)/8, (len(data)-last)/width+1)
	mask := T(^uint64(0) >> (64 - w))
	o1, o2, o3, o4, o5, o6, o7 := w>>3, 2*w>>3, 3*w>>3, 4*w>>3, 5*w>>3, 6*w>>3, 7*w>>3
	s1, s2, s3, s4, s5, s6, s7 := w&7, 2*w&7, 3*w&7, 4*w&7, 5*w&7, 6*w&7, 7*w&7
	for k := range steps {
		// Step k reads data[k*width : k*width+last], which steps keeps within data; checking that for each value
		// would double the time.
		b := unsafe.Pointer(unsafe.SliceData(data[k*width:]))
		v := (*[8]T)(dst[k*8:])
		v[0] = base + T(load64(b, 0))&mask
		v[1] = base + T(load64(b, o1)>>s1)&mask
		v[2] = base + T(load64(b, o2)>>s2)&mask
		v[3] = base + T(load64(b, o3)>>s3)&mask
		v[4] = base + T(load64(b, o4)>>s4)&mask
		v[5] = base + T(load64(b, o5)>>s5)&mask
		v[6] = base + T(load64(b, o6)>>s6)&mask
		v[7] = base + T(load64(b, o7)>>s7)&mask
	}
	return steps * 8
}

// unpackWide unpacks values that may reach into a ninth byte, as long as nine can be read; it returns their number.
func unpackWide[T word](dst []T, data []byte, base T, width int) int {
	if len(data) < 9 {
		return 0
	}
	n := min(len(dst), ((len(data)-9)*8+7)/width+1)
	w := uint(width)
	mask := ^uint64(0) >> (64 - w)
	p := uint(0)
	for i := range dst[:n] {
		b := data[p>>3:][:9]
		dst[i] = base + T((binary.LittleEndian.Uint64(b)>>(p&7)|uint64(b[8])<<(64-p&7))&mask)
		p += w
	}
	return n
}

func load64(b unsafe.Pointer, at uint) uint64 {
	return binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(b, at))[:])
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
