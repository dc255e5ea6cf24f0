package leaf

import (
	"encoding/binary"
	"math/bits"

	"wideleaf/am/posting"
	"wideleaf/page"
)

// Builder assembles one page of the fixed form after the other.
type Builder struct {
	buf     [page.Size + 16]byte // pack writes past the end of what it packs
	at      int
	n       int
	entries int
	dir     [maxBlocks * dirSize]byte
	keys    [BlockEntries]uint64
	tids    [BlockEntries]uint32
}

// Reset begins a new page.
func (b *Builder) Reset() { b.at, b.n, b.entries = page.HeaderSize, 0, 0 }

// Entries is the number of entries of the page so far.
func (b *Builder) Entries() int { return b.entries }

// cut returns how many of the next entries, which have ascending codes, the next block should take. A block a little
// shorter than the most often saves a bit on every code of it.
func cut(n int, code func(i int) uint64) int {
	if n < BlockEntries {
		return n
	}
	const less = BlockEntries - 24
	first := code(0)
	w := bits.Len64(code(BlockEntries-1) - first)
	if bits.Len64(code(less-1)-first) == w {
		return BlockEntries
	}
	// Some cut in between loses the bit: the longest such block is the cheapest.
	lo, hi := less, BlockEntries // code lo-1 fits w-1 bits, code hi-1 doesn't
	for hi-lo > 1 {
		if m := (lo + hi) / 2; bits.Len64(code(m-1)-first) < w {
			lo = m
		} else {
			hi = m
		}
	}
	return lo
}

// Add appends a block of the first of the entries, which are in ascending order, and returns how many it took. 0
// means that they don't fit; an empty page takes any block. Only for NULLs keys may be nil.
func (b *Builder) Add(keys []uint64, tids []uint32, null bool) int {
	n := min(len(tids), BlockEntries)
	var first uint64
	var kw uint
	if !null {
		n = cut(n, func(i int) uint64 { return keys[i] })
		keys = keys[:n]
		first = keys[0]
		kw = widthOf(keys[n-1] - first)
	}
	tids = tids[:n]
	lo, hi := tids[0], tids[0]
	for _, t := range tids {
		lo, hi = min(lo, t), max(hi, t)
	}
	return b.add(keys, tids, first, first, lo, hi, kw, null)
}

// AddPacked is Add for entries packed as (key-base)<<shift | TID, at most 32 bits of TID.
func (b *Builder) AddPacked(a []uint64, base uint64, shift uint) int {
	shift &= 63
	n := cut(min(len(a), BlockEntries), func(i int) uint64 { return a[i] >> shift })
	a = a[:n]
	keys, tids := b.keys[:n], b.tids[:n]
	m := uint32(1<<shift - 1)
	lo, hi := uint32(a[0])&m, uint32(a[0])&m
	for i, x := range a {
		t := uint32(x) & m
		lo, hi = min(lo, t), max(hi, t)
		keys[i], tids[i] = x>>shift, t
	}
	first := keys[0]
	return b.add(keys, tids, first, base+first, lo, hi, widthOf(keys[n-1]-first), false)
}

// add appends a block of keys[i]-from, the first of which is stored as first, with TIDs from lo to hi.
func (b *Builder) add(keys []uint64, tids []uint32, from, first uint64, lo, hi uint32, kw uint, null bool) int {
	n := len(tids)
	tw := max(widthOf(uint64(hi-lo)), 1) // 0 says that they are consecutive
	if hi-lo == uint32(n-1) && consecutive(tids) {
		tw = 0
	}
	if b.at+packedBytes(n, kw)+packedBytes(n, tw)+(b.n+1)*dirSize > page.Size {
		return 0
	}
	if !null {
		b.at += pack(b.buf[b.at:], keys, from, kw)
	}
	b.at += pack(b.buf[b.at:], tids, lo, tw)
	d := b.dir[b.n*dirSize:][:dirSize]
	binary.LittleEndian.PutUint64(d, first)
	binary.LittleEndian.PutUint32(d[8:], lo)
	d[12], d[13], d[14], d[15] = byte(n-1), byte(kw), byte(tw), 0
	if null {
		d[15] = blockNull
	}
	b.n++
	b.entries += n
	return n
}

// AddPosting appends a posting list of a key as a block and reports whether it fits. An empty page takes any list.
func (b *Builder) AddPosting(key uint64, null bool, l *posting.List) bool {
	if b.at+2+len(l.Data)+(b.n+1)*dirSize > page.Size {
		return false
	}
	binary.LittleEndian.PutUint16(b.buf[b.at:], uint16(len(l.Data)))
	b.at += 2 + copy(b.buf[b.at+2:], l.Data)
	d := b.dir[b.n*dirSize:][:dirSize]
	binary.LittleEndian.PutUint64(d, key)
	binary.LittleEndian.PutUint32(d[8:], l.First)
	binary.LittleEndian.PutUint16(d[12:], uint16(l.N-1))
	d[14], d[15] = byte(l.Encoding), blockPosting
	if null {
		d[15] |= blockNull
	}
	b.n++
	b.entries += l.N
	return true
}

func consecutive(tids []uint32) bool {
	for i, t := range tids {
		if t != tids[0]+uint32(i) {
			return false
		}
	}
	return true
}

// Seal finishes the page, which must not be empty, and returns it; it is valid until the next Reset.
func (b *Builder) Seal(kind page.Kind, o page.Owner, block uint32) []byte {
	p := append(b.buf[:b.at], b.dir[:b.n*dirSize]...)
	page.Seal(p, page.Header{Kind: kind, Reserved: uint16(b.n), Owner: o, Block: block})
	return p
}
