// Package leaf is the codec of index leaf pages: sorted (key, TID) entries, packed so that they are searched in
// place.
//
// A leaf page (docs/format.md) is a row of blocks and, at its end, their directory. There are two forms. In the fixed
// form a key is a 64-bit code; a block holds up to 128 entries as differences from the block's first key and lowest
// TID, all of the same width, so any entry is read with two loads. In the bytes form a key is a byte string; a block
// holds the prefix common to its keys once. TIDs are relative to the first TID of the run, 32 bits.
//
// In leaves of GIN a block may be a posting list (package posting) instead: the TIDs of one key.
//
// A Page or BytesPage is a view: it lives as long as the memory it was opened on, and may be read concurrently. A
// Builder belongs to one goroutine. What must never break: Open looks at the whole directory, so that afterwards no
// content of the page, however hostile, makes a read leave the page, allocate or loop.
package leaf

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"wideleaf/am/posting"
	"wideleaf/page"
)

const (
	// BlockEntries is the most entries that a block of the fixed form holds: more would widen the differences,
	// fewer would make the directory the larger part.
	BlockEntries = 128
	// FlagBytes marks, in the page header, pages in the bytes form.
	FlagBytes = 1

	dirSize   = 16
	maxBlocks = (page.Size - page.HeaderSize) / dirSize

	// Directory flags.
	blockNull    = 1 // the block's entries are NULL
	blockPosting = 2 // the block is a posting list of one key
)

// Page is a leaf page in the fixed form.
type Page struct {
	p       []byte
	dir     int // offset of the directory
	n       int
	entries int
	off     [maxBlocks + 1]uint16 // where each block's data begins; off[n] is dir
}

func corrupt(p []byte, format string, args ...any) error {
	h := page.ParseHeader(p)
	return &page.CorruptError{Owner: h.Owner, Block: h.Block, Detail: fmt.Sprintf(format, args...)}
}

// header checks that a verified page is a leaf of the wanted kind and form.
func header(p []byte, kind page.Kind, flags uint8) error {
	h := page.ParseHeader(p)
	if h.Kind != kind {
		return corrupt(p, "it is a %s page, not a %s", h.Kind, kind)
	}
	if h.Flags != flags {
		return corrupt(p, "leaf has flags %#02x, expected %#02x", h.Flags, flags)
	}
	return nil
}

// Open makes l a view of a verified page of a kind.
func (l *Page) Open(p []byte, kind page.Kind) error {
	if err := header(p, kind, 0); err != nil {
		return err
	}
	n := int(binary.LittleEndian.Uint16(p[2:]))
	dir := len(p) - n*dirSize
	if n == 0 || dir < page.HeaderSize {
		return corrupt(p, "directory of %d blocks in %d bytes", n, len(p))
	}
	l.p, l.dir, l.n = p, dir, n
	at, entries := page.HeaderSize, 0
	bad := 0
	d := p[dir:]
	most := uint32(blockNull)
	if listed(kind) {
		most |= blockPosting
	}
	for i := range n {
		l.off[i] = uint16(at)
		w := binary.LittleEndian.Uint32(d[12:dirSize])
		d = d[dirSize:]
		if w>>24 <= most && w>>24&blockPosting != 0 {
			if n := int(w&0xffff) + 1; n > posting.MaxTIDs || dir-at < 2 {
				return corrupt(p, "block %d is a posting list of %d TIDs in %d bytes", i, n, dir-at)
			}
			at += 2 + int(binary.LittleEndian.Uint16(p[at:]))
			if at > dir {
				return corrupt(p, "block %d ends at %d, the directory begins at %d", i, at, dir)
			}
			entries += int(w&0xffff) + 1
			continue
		}
		count, kw, tw := int(w&0xff)+1, w>>8&0xff, w>>16&0xff
		if count > BlockEntries || kw > maxWidth && kw != 64 || tw > 32 || w>>24 > most {
			bad++
		}
		at += (count*int(kw)+7)>>3 + (count*int(tw)+7)>>3
		if at > dir {
			return corrupt(p, "block %d ends at %d, the directory begins at %d", i, at, dir)
		}
		entries += count
	}
	if bad > 0 {
		return corrupt(p, "%d blocks have impossible sizes or widths", bad)
	}
	if at != dir {
		return corrupt(p, "blocks end at %d, the directory begins at %d", at, dir)
	}
	l.off[n], l.entries = uint16(at), entries
	return nil
}

// Blocks is the number of blocks, Entries the number of entries of the page.
func (l *Page) Blocks() int  { return l.n }
func (l *Page) Entries() int { return l.entries }

// Bytes is the page itself.
func (l *Page) Bytes() []byte { return l.p }

// Block is one block of a page.
type Block struct {
	Base    uint64 // key of the first entry, 0 for NULLs
	TID     uint32 // lowest TID
	N       int
	Null    bool
	Posting bool // all entries have the key Base; their TIDs are List's

	kw, tw uint
	keys   []byte // the packed keys and all of the page after them
	tids   []byte
	enc    posting.Encoding
}

// Block returns block i.
func (l *Page) Block(i int) Block {
	d := l.p[l.dir+i*dirSize:][:dirSize]
	w := binary.LittleEndian.Uint32(d[12:])
	b := Block{
		Base: binary.LittleEndian.Uint64(d),
		TID:  binary.LittleEndian.Uint32(d[8:]),
		N:    int(w&0xff) + 1,
		Null: w>>24&blockNull != 0,
		kw:   uint(w >> 8 & 0xff),
		tw:   uint(w >> 16 & 0xff),
	}
	b.keys = l.p[l.off[i]:]
	if w>>24&blockPosting != 0 {
		b.Posting, b.N, b.kw, b.enc = true, int(w&0xffff)+1, 0, posting.Encoding(b.tw)
		size := 2 + int(binary.LittleEndian.Uint16(b.keys))
		b.tids = b.keys[2:size]
		return b
	}
	b.tids = b.keys[packedBytes(b.N, b.kw):]
	return b
}

// base returns the first key of block i, and whether it is not NULL.
func (l *Page) base(i int) (uint64, bool) {
	d := l.p[l.dir+i*dirSize:][:dirSize]
	return binary.LittleEndian.Uint64(d), d[15]&blockNull == 0
}

// Count returns the number of entries of block i.
func (l *Page) Count(i int) int {
	d := l.p[l.dir+i*dirSize:][:dirSize]
	if d[15]&blockPosting != 0 {
		return int(binary.LittleEndian.Uint16(d[12:])) + 1
	}
	return int(d[12]) + 1
}

// List returns the posting list that the block is.
func (b *Block) List() posting.List {
	return posting.List{First: b.TID, N: b.N, Encoding: b.enc, Data: b.tids}
}

// Key returns the key of entry i of the block.
func (b *Block) Key(i int) uint64 { return b.Base + at(b.keys, i, b.kw) }

// Last returns the key of the last entry.
func (b *Block) Last() uint64 { return b.Key(b.N - 1) }

// TIDAt returns the TID of entry i.
func (b *Block) TIDAt(i int) uint32 {
	if b.tw == 0 {
		return b.TID + uint32(i)
	}
	return b.TID + uint32(at(b.tids, i, b.tw))
}

// Lower returns the index of the first entry with a key of at least k, N if there is none.
func (b *Block) Lower(k uint64) int {
	if k <= b.Base {
		return 0
	}
	k -= b.Base
	lo, hi := 0, b.N
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if at(b.keys, m, b.kw) < k {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}

// Keys unpacks all keys and returns dst[:N].
func (b *Block) Keys(dst *[BlockEntries]uint64) []uint64 {
	out := dst[:b.N]
	if b.kw == 0 {
		for i := range out {
			out[i] = b.Base
		}
		return out
	}
	unpack(out, b.keys, b.Base, b.kw)
	return out
}

// TIDs unpacks all TIDs and returns dst[:N].
func (b *Block) TIDs(dst *[BlockEntries]uint32) []uint32 {
	out := dst[:b.N]
	switch b.tw {
	case 0:
		for i := range out {
			out[i] = b.TID + uint32(i)
		}
	case 16: // the usual width in a run of one segment
		p := b.tids[:2*len(out)]
		for i := range out {
			out[i] = b.TID + uint32(binary.LittleEndian.Uint16(p[2*i:]))
		}
	default:
		unpack(out, b.tids, b.TID, b.tw)
	}
	return out
}

// Within reports whether all TIDs lie below limit: what a scan asks before it uses them as indexes.
func (b *Block) Within(tids []uint32, limit uint64) bool {
	if uint64(b.TID)+max(mask(b.tw), uint64(b.N)) < limit {
		return true
	}
	last := int64(limit) - 1
	var over, over2 int64
	for ; len(tids) >= 2; tids = tids[2:] {
		over |= last - int64(tids[0])
		over2 |= last - int64(tids[1])
	}
	for _, t := range tids {
		over |= last - int64(t)
	}
	return over|over2 >= 0
}

// Packing says how Packed packs entries.
type Packing struct {
	Base, Span uint64 // codes lie in [Base, Base+Span]
	Shift      uint   // width of a TID
	Delta      uint32 // what TIDs grow by
	Limit      uint64 // TIDs lie below it, before they grow
}

// Packed appends (key-Base)<<Shift | (TID+Delta) of the entries [from, to) to dst, the form in which runs are merged.
// It reports whether codes and TIDs are where they must be, as far as that shows without looking at each: a code that
// is too large may yet have no higher bit than Span.
func (b *Block) Packed(dst []uint64, from, to int, f *Packing) ([]uint64, bool) {
	n := len(dst)
	dst = slices.Grow(dst, to-from)[:n+to-from]
	out := dst[n:]
	first, tid, shift := b.Base-f.Base, uint64(b.TID)+uint64(f.Delta), f.Shift&63
	limit := int64(f.Limit+uint64(f.Delta)) - 1
	kw, tw := b.kw, b.tw
	km, tm := mask(kw), mask(tw)
	kbit, tbit := uint(from)*kw, uint(from)*tw
	step := uint64(0)
	if tw == 0 { // consecutive TIDs
		step = 1
		tid += uint64(from)
	}
	var codes uint64
	var over int64
	for i := range out {
		k := first + binary.LittleEndian.Uint64(b.keys[kbit>>3:])>>(kbit&7)&km
		t := tid + binary.LittleEndian.Uint64(b.tids[tbit>>3:])>>(tbit&7)&tm
		codes |= k
		over |= limit - int64(t)
		out[i] = k<<shift | t
		kbit += kw
		tbit += tw
		tid += step
	}
	return dst, over >= 0 && bits.Len64(codes) <= bits.Len64(f.Span)
}

// Lower returns the place of the first entry that is NULL or has a key of at least k: its block, its index in the
// block and the number of entries before it. At the end of the page the block is Blocks().
func (l *Page) Lower(k uint64) (block, index, before int) {
	// The last block that begins below k holds the place or ends at it.
	lo, hi := 0, l.n
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if b, ok := l.base(m); ok && b < k {
			lo = m + 1
		} else {
			hi = m
		}
	}
	for i := range lo {
		before += l.Count(i)
	}
	if lo == 0 {
		return 0, 0, 0
	}
	b := l.Block(lo - 1)
	i := b.Lower(k)
	if i == b.N {
		return lo, 0, before
	}
	return lo - 1, i, before - b.N + i
}

// Nulls returns the place of the first NULL entry.
func (l *Page) Nulls() (block, before int) {
	for block < l.n {
		if _, ok := l.base(block); !ok {
			break
		}
		before += l.Count(block)
		block++
	}
	return block, before
}

// listed reports whether leaves of a kind may have posting lists.
func listed(k page.Kind) bool { return k == page.KindGinEntryLeaf || k == page.KindRumEntryLeaf }
