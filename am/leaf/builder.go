package leaf

import (
	"encoding/binary"
	"math/bits"

	"wideleaf/page"
)

// Builder assembles one page of the fixed form after the other.
type Builder struct {
	buf     [page.Size + 16]byte // pack writes past the end of what it packs
	at      int
	n       int
	entries int
	dir     [maxBlocks * dirSize]byte
}

// Reset begins a new page.
func (b *Builder) Reset() { b.at, b.n, b.entries = page.HeaderSize, 0, 0 }

// Entries is the number of entries of the page so far.
func (b *Builder) Entries() int { return b.entries }

// Cut returns how many of the next entries the next block should take. A block a little shorter than the most often
// saves a bit on every key of it.
func Cut(keys []uint64) int {
	if len(keys) < BlockEntries {
		return len(keys)
	}
	const less = BlockEntries - 24
	w := bits.Len64(keys[BlockEntries-1] - keys[0])
	if bits.Len64(keys[less-1]-keys[0]) == w {
		return BlockEntries
	}
	// Some cut in between loses the bit: the longest such block is the cheapest.
	lo, hi := less, BlockEntries // keys[lo-1] fits w-1 bits, keys[hi-1] doesn't
	for hi-lo > 1 {
		if m := (lo + hi) / 2; bits.Len64(keys[m-1]-keys[0]) < w {
			lo = m
		} else {
			hi = m
		}
	}
	return lo
}

// Add appends a block of the entries, at most BlockEntries, in ascending order. It reports whether they fit; if not
// the page is as it was. An empty page takes any block.
func (b *Builder) Add(keys []uint64, tids []uint32, null bool) bool {
	n := len(tids)
	var first uint64
	var kw uint
	if !null {
		first = keys[0]
		kw = widthOf(keys[n-1] - first)
	}
	lo, hi := tids[0], tids[0]
	for _, t := range tids {
		lo, hi = min(lo, t), max(hi, t)
	}
	tw := widthOf(uint64(hi - lo))
	if hi-lo == uint32(n-1) && consecutive(tids) {
		tw = 0
	}
	if b.at+packedBytes(n, kw)+packedBytes(n, tw)+(b.n+1)*dirSize > page.Size {
		return false
	}
	if !null {
		b.at += pack(b.buf[b.at:], keys, first, kw)
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
func (b *Builder) Seal(o page.Owner, block uint32) []byte {
	p := append(b.buf[:b.at], b.dir[:b.n*dirSize]...)
	page.Seal(p, page.Header{Kind: page.KindBtreeLeaf, Reserved: uint16(b.n), Owner: o, Block: block})
	return p
}
