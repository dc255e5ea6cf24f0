package tid

import (
	"math/bits"
	"sync"
)

// Words is the number of 64-bit words that a segment's bitset takes.
const Words = SegmentRows / 64

// Bits is a segment's bitset: bit o of it stands for offset o.
type Bits [Words]uint64

// bitsPool keeps bitsets that sets have let go of: a query over many segments needs as many, for some microseconds.
var bitsPool = sync.Pool{New: func() any { return new(Bits) }}

// NewBits returns an empty bitset, which Release may give back.
func NewBits() *Bits {
	b := bitsPool.Get().(*Bits)
	*b = Bits{}
	return b
}

// Release gives a bitset back for use by others. It must not be used afterwards; nil is allowed.
func (b *Bits) Release() {
	if b != nil {
		bitsPool.Put(b)
	}
}

// Has reports whether offset o is set.
func (b *Bits) Has(o uint16) bool { return b[o>>6]>>(o&63)&1 != 0 }

// Count returns the number of set bits.
func (b *Bits) Count() int {
	n := 0
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// Empty reports whether no bit is set.
func (b *Bits) Empty() bool {
	for _, w := range b {
		if w != 0 {
			return false
		}
	}
	return true
}

// SetFirst sets the bits of the offsets below n.
func (b *Bits) SetFirst(n int) {
	for w := range n >> 6 {
		b[w] = ^uint64(0)
	}
	if n&63 != 0 {
		b[n>>6] |= 1<<(n&63) - 1
	}
}

// AppendOffsets appends up to limit set offsets, ascending from offset `from` on, to dst.
func (b *Bits) AppendOffsets(dst []uint16, from, limit int) []uint16 {
	for w := from >> 6; w < Words && limit > 0; w++ {
		x := b[w]
		if w == from>>6 {
			x &= ^uint64(0) << (from & 63)
		}
		for ; x != 0 && limit > 0; x &= x - 1 {
			dst = append(dst, uint16(w<<6+bits.TrailingZeros64(x)))
			limit--
		}
	}
	return dst
}

// and keeps the bits that are set in q too and reports whether there are any.
func (b *Bits) and(q *Bits) bool {
	var any uint64
	for w := range b {
		x := b[w] & q[w]
		b[w] = x
		any |= x
	}
	return any != 0
}

// Max returns the highest offset that is set, -1 if none is.
func (b *Bits) Max() int {
	for w := Words - 1; w >= 0; w-- {
		if b[w] != 0 {
			return w<<6 + bits.Len64(b[w]) - 1
		}
	}
	return -1
}

// AndNot takes the bits out that are set in q and returns how many are left.
func (b *Bits) AndNot(q *Bits) int {
	n := 0
	for w := range b {
		b[w] &^= q[w]
		n += bits.OnesCount64(b[w])
	}
	return n
}

// Overlaps reports whether some bit is set in both.
func (b *Bits) Overlaps(q *Bits) bool {
	for w := range b {
		if b[w]&q[w] != 0 {
			return true
		}
	}
	return false
}

// Or sets the bits that are set in q.
func (b *Bits) Or(q *Bits) {
	for w := range b {
		b[w] |= q[w]
	}
}
