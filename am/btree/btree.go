// Package btree is the btree access method: a run is one entry tree (package entrytree) over all columns of the index.
//
// Method may be used by any number of goroutines.
package btree

import (
	"wideleaf/am"
	"wideleaf/am/entrytree"
	"wideleaf/catalog"
	"wideleaf/page"
	"wideleaf/tid"
	"wideleaf/value"
)

// MaxKeyBytes is the longest key of an index entry, PostgreSQL's limit: three entries then fit a page.
const MaxKeyBytes = 2704

// Method is the access method.
var Method am.Method = method{form(entrytree.SliceEntries)}

func form(slice uint64) *entrytree.Form {
	return &entrytree.Form{
		Method: "btree", Leaf: page.KindBtreeLeaf, Inner: page.KindBtreeInner, MaxKeyBytes: MaxKeyBytes, Slice: slice,
	}
}

type method struct{ form *entrytree.Form }

var (
	_ am.KeyEncoder = method{}
	_ am.Loader     = method{}
)

// Name returns "btree".
func (m method) Name() string { return m.form.Method }

// Abilities says what a btree can do.
func (method) Abilities() am.Abilities {
	return am.Abilities{
		Ordered: true, Unique: true, MultiColumn: true, Counts: true, Returns: true, Distance: true,
		MaxColumns: catalog.MaxIndexColumns, MaxKeyBytes: MaxKeyBytes,
	}
}

// Build writes the run of one segment.
func (m method) Build(ix *catalog.Index, o page.Owner, src am.Source, w page.Writer, yield func() error) (am.RunMeta, error) {
	cols := make([]*value.Vector, len(ix.Columns))
	for i := range cols {
		var err error
		if cols[i], err = src.Column(i); err != nil {
			return am.RunMeta{}, err
		}
		defer src.Release(cols[i])
	}
	return entrytree.Build(m.form, ix, cols, &src, entrytree.Target{Owner: o, Writer: w}, yield)
}

// Merge writes one run of the entries of several.
func (m method) Merge(ix *catalog.Index, o page.Owner, runs []am.Run, span am.Span, dead func(tid.TID) bool, w page.Writer, yield func() error) (am.RunMeta, error) {
	trees := make([]entrytree.Tree, len(runs))
	for i, r := range runs {
		trees[i] = r.(entrytree.Tree)
	}
	return entrytree.Merge(m.form, ix, trees, span, dead, entrytree.Target{Owner: o, Writer: w}, yield)
}

// Open returns a run.
func (m method) Open(ix *catalog.Index, meta am.RunMeta, span am.Span, r page.Reader, cache *page.Cache) (am.Run, error) {
	return entrytree.Open(m.form, ix, meta, 0, span, r, cache)
}

// EncodeKey appends the key of a row to dst.
func (method) EncodeKey(ix *catalog.Index, vals []value.Value, dst []byte) []byte {
	return entrytree.EncodeKey(ix, vals, dst)
}

// Codes reports whether the index keeps codes.
func (method) Codes(ix *catalog.Index) bool { return entrytree.Codes(ix) }

// AppendKey appends the key of a row of columns.
func (m method) AppendKey(ix *catalog.Index, cols []*value.Vector, i int, dst []byte) ([]byte, error) {
	return entrytree.AppendKey(m.form, ix, cols, i, dst)
}

// HasNull reports whether a value in a key is NULL.
func (method) HasNull(ix *catalog.Index, key []byte) bool { return entrytree.HasNull(ix, key) }

// Load begins a run.
func (m method) Load(ix *catalog.Index, o page.Owner, w page.Writer, yield func() error) am.Load {
	return entrytree.NewLoad(m.form, ix, entrytree.Target{Owner: o, Writer: w}, yield)
}
