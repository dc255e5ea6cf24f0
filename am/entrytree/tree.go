package entrytree

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"sort"

	"wideleaf/am"
	"wideleaf/catalog"
	"wideleaf/page"
)

// Layout of inner pages; docs/format.md has the table.
const (
	flagBytes  = 1 // header flag: separators are bytes; the level stands above it
	innerHead  = page.HeaderSize + 8
	fixedChild = 12 // code, count
	bytesChild = 6  // end of separator, count; the separator comes on top
	maxLevels  = 32 // far above what 2^48 entries need
)

// tree is what both kinds of runs share: pages, and descents through inner pages.
type tree struct {
	form  *Form
	ix    *catalog.Index
	meta  am.RunMeta
	base  uint32 // its first block: blocks are [base, meta.Blocks)
	span  am.Span
	r     page.Reader
	cache *page.Cache // nil: decode every time
	bytes bool
}

// Meta returns what the run was opened with, Span the segments it covers.
func (t *tree) Meta() am.RunMeta { return t.meta }
func (t *tree) Span() am.Span    { return t.span }

func (t *tree) corrupt(block uint32, format string, args ...any) error {
	return &page.CorruptError{Owner: t.r.Owner(), Block: block, Detail: fmt.Sprintf(format, args...)}
}

// limit is the number of TIDs in the span: relative TIDs lie below it.
func (t *tree) limit() uint64 { return (t.span.End - t.span.First) << 16 }

// inner is a decoded inner page.
type inner struct {
	level int
	first uint32   // block of child 0; the others follow it
	cum   []uint64 // cum[i] is the number of entries before child i; one more than children

	codes []uint64 // fixed form: first codes of the children that begin with a code; the others begin with NULL
	ends  []uint32 // bytes form: separator i is text[ends[i]:ends[i+1]]
	text  []byte
}

func (in *inner) children() int      { return len(in.cum) - 1 }
func (in *inner) entries() uint64    { return in.cum[len(in.cum)-1] }
func (in *inner) sep(i int) []byte   { return in.text[in.ends[i]:in.ends[i+1]] }
func (in *inner) count(i int) uint64 { return in.cum[i+1] - in.cum[i] }

// size is the memory that the decoded page takes.
func (in *inner) size() int {
	return 160 + 8*len(in.cum) + 8*len(in.codes) + 4*len(in.ends) + len(in.text)
}

// isInner reports whether pages of a kind are inner ones of a tree.
func isInner(k page.Kind) bool {
	return k == page.KindBtreeInner || k == page.KindGinEntryInner || k == page.KindRumEntryInner
}

// decodeInner decodes a verified page and checks what a descent relies on: its level, and that its children lie
// before it, which rules out loops.
func decodeInner(p []byte) (*inner, error) {
	h := page.ParseHeader(p)
	bad := func(format string, args ...any) (*inner, error) {
		return nil, &page.CorruptError{Owner: h.Owner, Block: h.Block, Detail: fmt.Sprintf(format, args...)}
	}
	n := int(h.Reserved)
	switch {
	case !isInner(h.Kind):
		return bad("it is a %s page, not an inner one", h.Kind)
	case len(p) < innerHead || n == 0:
		return bad("inner page of %d bytes has %d children", len(p), n)
	}
	in := &inner{level: int(h.Flags >> 1), first: binary.LittleEndian.Uint32(p[page.HeaderSize:])}
	codes := int(binary.LittleEndian.Uint32(p[page.HeaderSize+4:]))
	if uint64(in.first)+uint64(n) > uint64(h.Block) {
		return bad("children %d to %d don't lie before it", in.first, uint64(in.first)+uint64(n)-1)
	}
	var counts []byte
	if body := p[innerHead:]; h.Flags&flagBytes == 0 {
		if len(body) != n*fixedChild || codes > n {
			return bad("%d children, %d of them with a code, in %d bytes", n, codes, len(body))
		}
		in.codes = make([]uint64, codes)
		for i := range in.codes {
			in.codes[i] = binary.LittleEndian.Uint64(body[8*i:])
			if i > 0 && in.codes[i] < in.codes[i-1] {
				return bad("separator %d is less than the one before", i)
			}
		}
		counts = body[8*n:]
	} else {
		if codes != 0 || len(body) < n*bytesChild {
			return bad("%d children in %d bytes", n, len(body))
		}
		counts = body[2*n:]
		in.text = bytes.Clone(body[bytesChild*n:])
		in.ends = make([]uint32, n+1)
		for i := range n {
			in.ends[i+1] = uint32(binary.LittleEndian.Uint16(body[2*i:]))
			if in.ends[i+1] < in.ends[i] || int(in.ends[i+1]) > len(in.text) {
				return bad("separator %d ends at %d of %d", i, in.ends[i+1], len(in.text))
			}
			if i > 0 && bytes.Compare(in.sep(i), in.sep(i-1)) < 0 {
				return bad("separator %d is less than the one before", i)
			}
		}
		if int(in.ends[n]) != len(in.text) {
			return bad("separators end at %d of %d", in.ends[n], len(in.text))
		}
	}
	in.cum = make([]uint64, n+1)
	for i := range n {
		in.cum[i+1] = in.cum[i] + uint64(binary.LittleEndian.Uint32(counts[4*i:]))
	}
	return in, nil
}

// inner returns an inner page of a level that has so many entries below it.
func (t *tree) inner(block uint32, level int, entries uint64) (*inner, error) {
	in, err := t.decoded(block)
	if err != nil {
		return nil, err
	}
	switch {
	case in.first < t.base:
		return nil, t.corrupt(block, "children begin at block %d, the tree at %d", in.first, t.base)
	case in.level != level:
		return nil, t.corrupt(block, "inner page is of level %d, expected %d", in.level, level)
	case in.entries() != entries:
		return nil, t.corrupt(block, "inner page counts %d entries, expected %d", in.entries(), entries)
	case (in.ends != nil) != t.bytes:
		return nil, t.corrupt(block, "inner page has the other form of separators")
	}
	return in, nil
}

func (t *tree) decoded(block uint32) (*inner, error) {
	if t.cache != nil {
		if v, ok := t.cache.Get(t.r.Owner(), block); ok {
			if in, ok := v.(*inner); ok {
				return in, nil
			}
		}
	}
	ref, err := t.r.Page(block)
	if err != nil {
		return nil, err
	}
	defer ref.Release()
	in, err := decodeInner(ref.Data)
	if err == nil && t.cache != nil {
		t.cache.Put(t.r.Owner(), block, in, in.size())
	}
	return in, err
}

// bound is a place between entries: before the first entry that is at least a key.
type bound struct {
	kind boundKind
	code uint64
	key  []byte
}

type boundKind uint8

const (
	atCode  boundKind = iota // fixed form: before the first code >= code, or the NULLs
	atNulls                  // fixed form: before the NULLs
	atKey                    // bytes form: before the first key >= key
	atEnd                    // after everything
)

// after returns the bound behind all entries with a code.
func after(code uint64) bound {
	if code == math.MaxUint64 {
		return bound{kind: atNulls}
	}
	return bound{kind: atCode, code: code + 1}
}

// child returns the child that the bound lies in or at the end of: the last one that begins before it.
func (in *inner) child(b bound) int {
	n := 0
	switch b.kind {
	case atCode:
		lo, hi := 0, len(in.codes)
		for lo < hi {
			m := int(uint(lo+hi) >> 1)
			if in.codes[m] < b.code {
				lo = m + 1
			} else {
				hi = m
			}
		}
		n = lo
	case atNulls:
		n = len(in.codes)
	case atKey:
		n = sort.Search(in.children(), func(i int) bool { return bytes.Compare(in.sep(i), b.key) >= 0 })
	case atEnd:
		n = in.children()
	}
	return max(n-1, 0)
}

// place is where a descent through inner pages ended.
type place struct {
	leaf   uint32
	before uint64  // entries before that leaf
	count  uint64  // entries in it
	at     float64 // share of the leaf's entries that lie before the bound, a guess unless exact
	exact  bool
}

// root is where descents begin. The run must not be empty.
func (t *tree) root() place { return place{leaf: t.meta.Root, count: t.meta.Entries, at: 0.5} }

// below goes a level down, from a page to the child that a bound lies in or at the end of.
func (at place) below(in *inner, b bound) place {
	i := in.child(b)
	at = place{leaf: in.first + uint32(i), before: at.before + in.cum[i], count: in.count(i), at: in.share(i, b)}
	at.exact = at.at == 0 || b.kind == atEnd
	return at
}

// descend finds the leaf that a bound lies in or at the end of.
func (t *tree) descend(b bound) (place, error) {
	at := t.root()
	for level := int(t.meta.Levels) - 1; level > 0; level-- {
		in, err := t.inner(at.leaf, level, at.count)
		if err != nil {
			return place{}, err
		}
		at = at.below(in, b)
	}
	return at, nil
}

// ends descends to both bounds of a stretch, through the same pages as far as these are the same.
func (t *tree) ends(x stretch) (lo, hi place, err error) {
	lo, hi = t.root(), t.root()
	for level := int(t.meta.Levels) - 1; level > 0; level-- {
		first, err := t.inner(lo.leaf, level, lo.count)
		if err != nil {
			return lo, hi, err
		}
		last := first
		if hi.leaf != lo.leaf {
			if last, err = t.inner(hi.leaf, level, hi.count); err != nil {
				return lo, hi, err
			}
		}
		lo, hi = lo.below(first, x.lo), hi.below(last, x.hi)
	}
	return lo, hi, nil
}

// share guesses which part of child i lies before the bound. 0 is no guess: then the child begins behind it.
func (in *inner) share(i int, b bound) float64 {
	switch b.kind {
	case atEnd:
		return 1
	case atNulls:
		if i == len(in.codes)-1 && i < in.children()-1 {
			return 1 // the next child begins with NULL
		}
	case atCode:
		if i < len(in.codes) && in.codes[i] >= b.code {
			return 0
		}
		if i+1 < len(in.codes) {
			lo, hi := in.codes[i], in.codes[i+1]
			return float64(b.code-lo) / float64(hi-lo)
		}
	case atKey:
		if bytes.Compare(in.sep(i), b.key) >= 0 {
			return 0
		}
	}
	return 0.5
}

// leaves returns the block behind the last leaf page: leaves come first, the leftmost inner page above them next.
func (t *tree) leaves() (uint32, error) {
	block, entries := t.meta.Root, t.meta.Entries
	if t.meta.Levels < 2 {
		return t.base + t.meta.Levels, nil
	}
	for level := int(t.meta.Levels) - 1; level > 1; level-- {
		in, err := t.inner(block, level, entries)
		if err != nil {
			return 0, err
		}
		block, entries = in.first, in.count(0)
	}
	return block, nil
}
