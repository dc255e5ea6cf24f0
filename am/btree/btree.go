// Package btree is the btree access method over immutable, bulk-loaded runs.
//
// A run is a tree of pages (docs/format.md): leaves, blocks 0 and up, hold the entries in (key, TID) order; above them
// inner levels hold, for each page below, a separator and its number of entries; the root comes last. Because inner
// pages count, the number of entries in a key interval takes two descents, whatever its size.
//
// An index on one fixed-width column keeps codes (package leaf's fixed form), always ascending, with NULLs filed apart
// behind them; DESC and NULLS FIRST are then a matter of cursors. Any other index keeps order-preserving bytes (key.go)
// that already have DESC and NULLS FIRST in them.
//
// Method and opened runs may be used by any number of goroutines. What must never break: a run answers for exactly
// the entries it was made of, and a page that lies gives an error that matches page.ErrCorrupt, never a panic, a large
// allocation or an endless loop.
package btree

import (
	"fmt"

	"wideleaf/am"
	"wideleaf/catalog"
	"wideleaf/page"
	"wideleaf/tid"
	"wideleaf/value"
)

// MaxKeyBytes is the longest key of an index entry, PostgreSQL's limit: three entries then fit a page.
const MaxKeyBytes = 2704

// maxSpan is the number of segments a run may cover, so that its TIDs take 32 bits.
const maxSpan = 1 << (32 - tid.SegmentBits)

// Method is the access method.
var Method am.Method = method{slice: sliceEntries}

type method struct {
	slice uint64 // entries that a merge aims to have in memory; tests want less
}

var (
	_ am.KeyEncoder = method{}
	_ am.Loader     = method{}
	_ am.Run        = (*fixedRun)(nil)
	_ am.Counter    = (*fixedRun)(nil)
	_ am.Cursor     = (*fixedRun)(nil)
	_ am.Run        = (*bytesRun)(nil)
	_ am.Counter    = (*bytesRun)(nil)
	_ am.Cursor     = (*bytesRun)(nil)
)

// Name returns "btree".
func (method) Name() string { return "btree" }

// Abilities says what a btree can do.
func (method) Abilities() am.Abilities {
	return am.Abilities{
		Ordered: true, Unique: true, MultiColumn: true, Counts: true, Returns: true,
		MaxColumns: catalog.MaxIndexColumns, MaxKeyBytes: MaxKeyBytes,
	}
}

// KeyTooLongError says that a row can't be indexed. It matches am.ErrKeyTooLong.
type KeyTooLongError struct {
	Index     string
	Size, Max int
}

func (e *KeyTooLongError) Error() string {
	return fmt.Sprintf("index row size %d exceeds btree version 4 maximum %d for index %q", e.Size, e.Max, e.Index)
}

// Is makes errors.Is(err, am.ErrKeyTooLong) true.
func (e *KeyTooLongError) Is(target error) bool { return target == am.ErrKeyTooLong }

// fixed reports whether an index keeps codes rather than bytes.
func fixed(ix *catalog.Index) bool {
	return len(ix.Columns) == 1 && ix.Columns[0].Type.Width() != value.Var
}

// Open returns a run.
func (method) Open(ix *catalog.Index, meta am.RunMeta, span am.Span, r page.Reader, cache *page.Cache) (am.Run, error) {
	if span.End < span.First || span.End-span.First > maxSpan {
		return nil, fmt.Errorf("a run can't cover segments %d to %d", span.First, span.End)
	}
	t := tree{ix: ix, meta: meta, span: span, r: r, cache: cache, bytes: !fixed(ix)}
	switch {
	case meta.Levels == 0 && meta.Entries == 0 && meta.Blocks == 0:
	case meta.Levels == 0 || meta.Entries == 0 || meta.Root != meta.Blocks-1 || meta.Nulls > meta.Entries ||
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
