package leaf

import (
	"bytes"
	"encoding/binary"

	"wideleaf/am/posting"
	"wideleaf/page"
)

const (
	// BytesBlockEntries is the most entries that a block of the bytes form holds, BytesBlockBytes the length of all its
	// keys from which it takes no more: with one more key of any allowed length it still fits a page.
	BytesBlockEntries = 64
	BytesBlockBytes   = 4096

	bytesDirSize   = 12
	maxBytesBlocks = (page.Size - page.HeaderSize) / bytesDirSize
)

// BytesPage is a leaf page in the bytes form.
type BytesPage struct {
	p       []byte
	dir     int
	n       int
	entries int
	off     [maxBytesBlocks + 1]uint16
}

// Open makes l a view of a verified page of a kind.
func (l *BytesPage) Open(p []byte, kind page.Kind) error {
	if err := header(p, kind, FlagBytes); err != nil {
		return err
	}
	n := int(binary.LittleEndian.Uint16(p[2:]))
	dir := len(p) - n*bytesDirSize
	if n == 0 || dir < page.HeaderSize {
		return corrupt(p, "directory of %d blocks in %d bytes", n, len(p))
	}
	l.p, l.dir, l.n, l.entries = p, dir, n, 0
	at := page.HeaderSize
	for i := range n {
		l.off[i] = uint16(at)
		b := l.parse(i)
		if flag := p[dir+i*bytesDirSize+11]; flag != 0 {
			if flag != blockPosting || !listed(kind) || b.N > posting.MaxTIDs {
				return corrupt(p, "block %d has flags %#02x and %d entries", i, flag, b.N)
			}
			if at += b.prefix + b.list; at > dir {
				return corrupt(p, "block %d ends at %d, the directory begins at %d", i, at, dir)
			}
			l.entries += b.N
			continue
		}
		if b.N > BytesBlockEntries || b.tw > 32 || b.ew > 16 || b.ew == 0 && b.size%b.N != 0 {
			return corrupt(p, "block %d has impossible sizes or widths", i)
		}
		size := b.prefix + b.size + packedBytes(b.N, b.ew) + packedBytes(b.N, b.tw)
		if at+size > dir {
			return corrupt(p, "block %d ends at %d, the directory begins at %d", i, at+size, dir)
		}
		if b.ew > 0 {
			b.data = p[at:]
			last := 0
			for j := range b.N {
				end := b.end(j)
				if end < last || end > b.size {
					return corrupt(p, "key %d of block %d ends at %d of %d", j, i, end, b.size)
				}
				last = end
			}
			if last != b.size {
				return corrupt(p, "keys of block %d end at %d of %d", i, last, b.size)
			}
		}
		at += size
		l.entries += b.N
	}
	if at != dir {
		return corrupt(p, "blocks end at %d, the directory begins at %d", at, dir)
	}
	l.off[n] = uint16(at)
	return nil
}

// Blocks is the number of blocks, Entries the number of entries of the page.
func (l *BytesPage) Blocks() int  { return l.n }
func (l *BytesPage) Entries() int { return l.entries }

// Bytes is the page itself.
func (l *BytesPage) Bytes() []byte { return l.p }

// BytesBlock is one block of a page.
type BytesBlock struct {
	TID     uint32 // lowest TID
	N       int
	Posting bool // all entries have the key Prefix; their TIDs are List's

	tw, ew       uint // widths of TIDs and of the ends of keys; ew is 0 when all keys are equally long
	prefix, size int  // bytes of the common prefix, and of all that follows it in the keys
	list         int  // bytes of the posting list
	enc          posting.Encoding
	data         []byte
}

func (l *BytesPage) parse(i int) BytesBlock {
	d := l.p[l.dir+i*bytesDirSize:][:bytesDirSize]
	if d[11]&blockPosting != 0 {
		return BytesBlock{
			TID: binary.LittleEndian.Uint32(d), N: int(binary.LittleEndian.Uint16(d[8:])) + 1, Posting: true,
			prefix: int(binary.LittleEndian.Uint16(d[6:])), list: int(binary.LittleEndian.Uint16(d[4:])), enc: posting.Encoding(d[10]),
		}
	}
	return BytesBlock{
		TID:    binary.LittleEndian.Uint32(d),
		size:   int(binary.LittleEndian.Uint16(d[4:])),
		prefix: int(binary.LittleEndian.Uint16(d[6:])),
		N:      int(d[8]) + 1,
		tw:     uint(d[9]),
		ew:     uint(d[10]),
	}
}

// Block returns block i.
func (l *BytesPage) Block(i int) BytesBlock {
	b := l.parse(i)
	b.data = l.p[l.off[i]:]
	return b
}

// List returns the posting list that the block is.
func (b *BytesBlock) List() posting.List {
	return posting.List{First: b.TID, N: b.N, Encoding: b.enc, Data: b.data[b.prefix : b.prefix+b.list]}
}

// end returns where key i ends among the keys.
func (b *BytesBlock) end(i int) int {
	if b.ew == 0 {
		return b.size / b.N * (i + 1)
	}
	return int(at(b.data[b.prefix+b.size:], i, b.ew))
}

// Prefix is what all keys of the block begin with, Suffix the rest of key i.
func (b *BytesBlock) Prefix() []byte { return b.data[:b.prefix] }
func (b *BytesBlock) Suffix(i int) []byte {
	from := 0
	if i > 0 {
		from = b.end(i - 1)
	}
	return b.data[b.prefix+from : b.prefix+b.end(i)]
}

// Key appends key i to dst.
func (b *BytesBlock) Key(dst []byte, i int) []byte {
	return append(append(dst, b.Prefix()...), b.Suffix(i)...)
}

// TIDs unpacks all TIDs and returns dst[:N].
func (b *BytesBlock) TIDs(dst *[BlockEntries]uint32) []uint32 {
	t := Block{TID: b.TID, N: b.N, tw: b.tw, tids: b.data[b.prefix+b.size+packedBytes(b.N, b.ew):]}
	return t.TIDs(dst)
}

// Lower returns the index of the first key that is at least k, N if there is none.
func (b *BytesBlock) Lower(k []byte) int {
	p := b.Prefix()
	switch c := bytes.Compare(p, k[:min(len(k), len(p))]); {
	case c < 0:
		return b.N
	case c > 0 || len(k) <= len(p):
		return 0
	}
	k = k[len(p):]
	lo, hi := 0, b.N
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if bytes.Compare(b.Suffix(m), k) < 0 {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}

// Lower returns the place of the first entry with a key of at least k: its block, its index in the block and the
// number of entries before it. At the end of the page the block is Blocks().
func (l *BytesPage) Lower(k []byte) (block, index, before int) {
	lo, hi := 0, l.n
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		b := l.Block(m)
		if b.Lower(k) > 0 { // it begins below k
			lo = m + 1
		} else {
			hi = m
		}
	}
	if lo == 0 {
		return 0, 0, 0
	}
	for i := range lo {
		before += l.parse(i).N
	}
	b := l.Block(lo - 1)
	i := b.Lower(k)
	if i == b.N {
		return lo, 0, before
	}
	return lo - 1, i, before - b.N + i
}

// BytesBuilder assembles one page of the bytes form after the other.
type BytesBuilder struct {
	buf     [page.Size + 16]byte
	at      int
	n       int
	entries int
	dir     [maxBytesBlocks * bytesDirSize]byte
}

// Reset begins a new page.
func (b *BytesBuilder) Reset() { b.at, b.n, b.entries = page.HeaderSize, 0, 0 }

// Entries is the number of entries of the page so far.
func (b *BytesBuilder) Entries() int { return b.entries }

// Common returns the length of the longest common prefix.
func Common(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// Add appends a block of entries in ascending order. Key i is text[ends[i-1]:ends[i]]. There are at most
// BytesBlockEntries, and all but the last key are shorter than BytesBlockBytes together. It reports whether they fit;
// if not the page is as it was. An empty page takes any block.
func (b *BytesBuilder) Add(text []byte, ends []int, tids []uint32) bool {
	n := len(tids)
	first, last := text[:ends[0]], text[:ends[0]]
	if n > 1 {
		last = text[ends[n-2]:ends[n-1]]
	}
	prefix := Common(first, last)
	size := ends[n-1] - n*prefix
	var rel [BytesBlockEntries]uint32
	equal := true
	for i, e := range ends {
		rel[i] = uint32(e - (i+1)*prefix)
		equal = equal && e == (i+1)*ends[0]
	}
	var ew uint
	if !equal {
		ew = widthOf(uint64(size))
	}
	lo, hi := tids[0], tids[0]
	for _, t := range tids {
		lo, hi = min(lo, t), max(hi, t)
	}
	tw := max(widthOf(uint64(hi-lo)), 1) // 0 says that they are consecutive
	if hi-lo == uint32(n-1) && consecutive(tids) {
		tw = 0
	}
	if b.at+prefix+size+packedBytes(n, ew)+packedBytes(n, tw)+(b.n+1)*bytesDirSize > page.Size {
		return false
	}
	b.at += copy(b.buf[b.at:], first[:prefix])
	from := 0
	for _, e := range ends {
		b.at += copy(b.buf[b.at:], text[from+prefix:e])
		from = e
	}
	b.at += pack(b.buf[b.at:], rel[:n], 0, ew)
	b.at += pack(b.buf[b.at:], tids, lo, tw)
	d := b.dir[b.n*bytesDirSize:][:bytesDirSize]
	binary.LittleEndian.PutUint32(d, lo)
	binary.LittleEndian.PutUint16(d[4:], uint16(size))
	binary.LittleEndian.PutUint16(d[6:], uint16(prefix))
	d[8], d[9], d[10], d[11] = byte(n-1), byte(tw), byte(ew), 0
	b.n++
	b.entries += n
	return true
}

// AddPosting appends a posting list of a key as a block and reports whether it fits. An empty page takes any list.
func (b *BytesBuilder) AddPosting(key []byte, l *posting.List) bool {
	if b.at+len(key)+len(l.Data)+(b.n+1)*bytesDirSize > page.Size {
		return false
	}
	b.at += copy(b.buf[b.at:], key)
	b.at += copy(b.buf[b.at:], l.Data)
	d := b.dir[b.n*bytesDirSize:][:bytesDirSize]
	binary.LittleEndian.PutUint32(d, l.First)
	binary.LittleEndian.PutUint16(d[4:], uint16(len(l.Data)))
	binary.LittleEndian.PutUint16(d[6:], uint16(len(key)))
	binary.LittleEndian.PutUint16(d[8:], uint16(l.N-1))
	d[10], d[11] = byte(l.Encoding), blockPosting
	b.n++
	b.entries += l.N
	return true
}

// Seal finishes the page, which must not be empty, and returns it; it is valid until the next Reset.
func (b *BytesBuilder) Seal(kind page.Kind, o page.Owner, block uint32) []byte {
	p := append(b.buf[:b.at], b.dir[:b.n*bytesDirSize]...)
	page.Seal(p, page.Header{
		Kind: kind, Flags: FlagBytes, Reserved: uint16(b.n), Owner: o, Block: block,
	})
	return p
}
