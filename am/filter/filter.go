// Package filter answers whether a run may hold a key, without reading the run's pages.
//
// A filter is a blocked Bloom filter (Putze, Sanders, Singler: Cache-, Hash- and Space-Efficient Bloom Filters, 2007): a
// key's eight bits lie in one block of 64 bytes, a cache line, so that asking costs one miss. At twelve bits a key about one
// key in 300 that the run doesn't hold is let through. Filters are made of 64-bit hashes of keys; who hashes is the caller's
// business, but it must be the same everywhere.
//
// A filter is immutable once made and may be used concurrently. What must never break: a key that was added is never
// denied.
package filter

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"wideleaf/page"
)

const (
	bitsPerKey = 12
	blockWords = 8 // of 64 bits
	probes     = 8
)

// Filter is a filter over some keys.
type Filter struct {
	words []uint64 // blocks of blockWords
}

// New returns an empty filter for about n keys.
func New(n uint64) *Filter {
	blocks := max((n*bitsPerKey+64*blockWords-1)/(64*blockWords), 1)
	return &Filter{make([]uint64, blocks*blockWords)}
}

// Add adds a key by its hash; it belongs to whoever made the filter, before anybody else has it.
func (f *Filter) Add(hash uint64) {
	block, h := f.block(hash)
	for range probes {
		block[h>>61] |= 1 << (h >> 55 & 63)
		h *= spread
	}
}

// Has reports whether the key with this hash may be among those added. If it returns false, the key is not.
func (f *Filter) Has(hash uint64) bool {
	block, h := f.block(hash)
	for range probes {
		if block[h>>61]>>(h>>55&63)&1 == 0 {
			return false
		}
		h *= spread
	}
	return true
}

// spread is odd, and its multiples have well mixed high bits (Knuth's multiplicative hashing).
const spread = 0x9E3779B97F4A7C15

// block returns the block of a hash, and what its bits in it are drawn from.
func (f *Filter) block(hash uint64) (*[blockWords]uint64, uint64) {
	at, _ := bits.Mul64(hash, uint64(len(f.words)/blockWords))
	return (*[blockWords]uint64)(f.words[at*blockWords:]), (hash ^ hash>>32) * spread
}

// Bytes is the filter's size in memory.
func (f *Filter) Bytes() int64 { return int64(len(f.words)) * 8 }

// pageBlocks is how many blocks a page holds.
const pageBlocks = (page.Size - page.HeaderSize) / (8 * blockWords)

// Write writes the filter's pages, as the blocks from first on of an owner, and returns how many.
func (f *Filter) Write(o page.Owner, first uint32, w page.Writer) (blocks uint32, err error) {
	var buf [page.Size]byte
	for left := f.words; len(left) > 0; blocks++ {
		n := min(len(left), pageBlocks*blockWords)
		p := buf[:page.HeaderSize+8*n]
		for i, x := range left[:n] {
			binary.LittleEndian.PutUint64(p[page.HeaderSize+8*i:], x)
		}
		page.Seal(p, page.Header{Kind: page.KindFilter, Owner: o, Block: first + blocks})
		if err := w.WritePage(p); err != nil {
			return blocks, err
		}
		left = left[n:]
	}
	return blocks, nil
}

// Read reads a filter from its pages, blocks [first, first+blocks) of r. Errors match page.ErrCorrupt when a page is
// damaged.
func Read(r page.Reader, first, blocks uint32) (*Filter, error) {
	f := &Filter{}
	err := r.Scan(first, first+blocks-1, func(block uint32, p []byte) (bool, error) {
		body := p[page.HeaderSize:]
		whole := block == first+blocks-1 || len(body) == 8*blockWords*pageBlocks
		if page.ParseHeader(p).Kind != page.KindFilter || len(body) == 0 || len(body)%(8*blockWords) != 0 || !whole {
			return false, &page.CorruptError{Owner: r.Owner(), Block: block, Detail: fmt.Sprintf("it is no page of a filter: %d bytes", len(p))}
		}
		for i := 0; i < len(body); i += 8 {
			f.words = append(f.words, binary.LittleEndian.Uint64(body[i:]))
		}
		return true, nil
	})
	if err == nil && len(f.words) == 0 {
		err = &page.CorruptError{Owner: r.Owner(), Block: first, Detail: "the filter is missing"}
	}
	return f, err
}

// Describe adds what a page of a filter holds to a description.
func Describe(p []byte, d *page.Description) {
	set := 0
	for i := page.HeaderSize; i+8 <= len(p); i += 8 {
		set += bits.OnesCount64(binary.LittleEndian.Uint64(p[i:]))
	}
	d.Add(page.HeaderSize, len(p)-page.HeaderSize, "filter: %d of %d bits set", set, 8*(len(p)-page.HeaderSize))
}
