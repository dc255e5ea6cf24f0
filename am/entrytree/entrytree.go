// Package entrytree is the tree of sorted entries that the access methods are made of: immutable, bulk-loaded, packed.
//
// A tree (docs/format.md) is consecutive pages of a run: first leaves, which hold the entries in (key, TID) order; above
// them inner levels that hold, for each page below, a separator and its number of entries; the root comes last. Because
// inner pages count, the number of entries in a key interval takes two descents, whatever its size. A btree's run is one
// tree, a run of gin one for each of its columns.
//
// A tree over one fixed-width column keeps codes (package leaf's fixed form), always ascending, with NULLs filed apart
// behind them; DESC and NULLS FIRST are then a matter of cursors. Any other tree keeps order-preserving bytes (key.go)
// that already have DESC and NULLS FIRST in them. Where a form allows it, a key with many TIDs has them in posting lists
// (package posting) instead of one entry each.
//
// Opened trees may be used by any number of goroutines. What must never break: a tree answers for exactly the entries it
// was made of, and a page that lies gives an error that matches page.ErrCorrupt, never a panic, a large allocation or an
// endless loop.
package entrytree

import (
	"fmt"

	"wideleaf/am"
	"wideleaf/catalog"
	"wideleaf/page"
	"wideleaf/tid"
	"wideleaf/value"
)

// Form is what tells the trees of the access methods apart.
type Form struct {
	Method      string // in messages
	Leaf, Inner page.Kind
	Postings    bool   // keys with many TIDs have posting lists
	MaxKeyBytes int    // of a key in bytes
	Prefix      int    // strings are cut to so many bytes; 0: they aren't
	Slice       uint64 // entries that a merge aims to have in memory: SliceEntries
}

// Target is where a tree is written: the pages of Owner from block First on.
type Target struct {
	Owner  page.Owner
	Writer page.Writer
	First  uint32
}

// Tree is an opened tree. Its metadata are those of a run, but for Blocks, which is the block behind its last page.
type Tree interface {
	am.Run
	am.Counter
	am.Cursor
	am.OrderedRun
}

var (
	_ Tree = (*fixedRun)(nil)
	_ Tree = (*bytesRun)(nil)
)

// maxSpan is the number of segments a tree may cover, so that its TIDs take 32 bits.
const maxSpan = 1 << (32 - tid.SegmentBits)

// KeyTooLongError says that a row can't be indexed. It matches am.ErrKeyTooLong.
type KeyTooLongError struct {
	Method, Index string
	Size, Max     int
}

func (e *KeyTooLongError) Error() string {
	return fmt.Sprintf("index row size %d exceeds %s version 4 maximum %d for index %q", e.Size, e.Method, e.Max, e.Index)
}

// Is makes errors.Is(err, am.ErrKeyTooLong) true.
func (e *KeyTooLongError) Is(target error) bool { return target == am.ErrKeyTooLong }

// fixed reports whether an index keeps codes rather than bytes.
func fixed(ix *catalog.Index) bool {
	return len(ix.Columns) == 1 && ix.Columns[0].Type.Width() != value.Var
}

// Open returns the tree of an index's columns that begins with a block of r.
func Open(form *Form, ix *catalog.Index, meta am.RunMeta, begin uint32, span am.Span, r page.Reader, cache *page.Cache) (Tree, error) {
	if span.End < span.First || span.End-span.First > maxSpan {
		return nil, fmt.Errorf("a run can't cover segments %d to %d", span.First, span.End)
	}
	t := tree{form: form, ix: ix, meta: meta, base: begin, span: span, r: r, cache: cache, bytes: !fixed(ix)}
	switch {
	case meta.Levels == 0 && meta.Entries == 0 && meta.Blocks <= begin:
	case meta.Levels == 0 || meta.Entries == 0 || meta.Blocks <= begin || meta.Root != meta.Blocks-1 || meta.Nulls > meta.Entries ||
		meta.Levels > maxLevels || t.bytes && meta.Nulls > 0:
		return nil, t.corrupt(meta.Root, "run metadata %+v contradicts itself", meta)
	}
	if t.bytes {
		return &bytesRun{t}, nil
	}
	return &fixedRun{t}, nil
}

// first returns the TID to which a run's TIDs are relative.
func first(span am.Span) tid.TID { return tid.New(span.First, 0) }
