// Package inverted is what GIN and RUM have in common: runs over any number of columns, each of which a condition may be on.
//
// Words: an entry is a key of a column together with the TIDs of the rows that have it. A run (docs/format.md) keeps the
// entries ordered by column, category and key: an entry tree (package entrytree) for each column and category that
// occurs, one behind the other, then the columns pages, which say where each tree is. Keys with many TIDs have posting
// lists. A string is indexed by its first bytes; conditions whose ends are longer ask for a recheck.
//
// The keys of an array column are its items, each once a row; NULL items, arrays without items and NULL arrays are entries
// of categories of their own. Scalar columns have btree_gin's semantics, and NULLs are found too: they stand behind the other keys of their column.
// DESC and NULLS FIRST mean nothing here.
//
// Methods and opened runs may be used by any number of goroutines. What must never break: a run answers for exactly the
// rows it was made of, and a page that lies gives an error that matches page.ErrCorrupt, never a panic, a large
// allocation or an endless loop.
package inverted

import (
	"context"
	"fmt"

	"wideleaf/am"
	"wideleaf/am/entrytree"
	"wideleaf/catalog"
	"wideleaf/page"
	"wideleaf/tid"
	"wideleaf/value"
)

// prefixBytes is how much of a string is its key.
const prefixBytes = 256

// Kinds are the kinds of a method's pages.
type Kinds struct{ Leaf, Inner, Columns page.Kind }

// New returns the access method of a name, whose pages are of these kinds. With payloads columns can be attached to others,
// and the lengths of arrays are kept.
func New(name string, kinds Kinds, payloads bool) am.Method {
	return newMethod(name, kinds, payloads, entrytree.SliceEntries, prefixBytes)
}

func newMethod(name string, kinds Kinds, payloads bool, slice uint64, prefix int) method {
	return method{columns: kinds.Columns, payloads: payloads, form: &entrytree.Form{
		Method: name, Leaf: kinds.Leaf, Inner: kinds.Inner, Postings: true,
		MaxKeyBytes: 2*prefix + 16, Prefix: prefix, Slice: slice,
	}}
}

type method struct {
	form     *entrytree.Form
	columns  page.Kind // of columns pages
	payloads bool
}

// Name returns the method's name.
func (m method) Name() string { return m.form.Method }

// Abilities says what an index can do.
func (m method) Abilities() am.Abilities {
	a := am.Abilities{MultiColumn: true, AnyColumn: true, Arrays: true, Counts: true, Distance: true, MaxColumns: catalog.MaxColumns}
	if m.payloads {
		a.Attach = maxSlot
	}
	return a
}

// treeOf tells the trees of a column apart.
type treeOf struct {
	slot     int
	category category
}

// layout returns the trees that a column may have, in their order.
func (m method) layout(ix *catalog.Index, i int) (trees []treeOf) {
	attached, array := len(ix.Attached(i)), isArray(ix, i)
	for slot := range attached + 1 {
		switch {
		case slot == 0 && attached > 0 && ix.OrderByAttach:
		case array:
			for _, c := range items {
				trees = append(trees, treeOf{slot, c})
			}
		default:
			trees = append(trees, treeOf{slot, normalKey})
		}
		if slot == 0 && array && m.payloads {
			trees = append(trees, treeOf{slot, lengths})
		}
	}
	return trees
}

// isArray reports whether a column's keys are the items of its arrays.
func isArray(ix *catalog.Index, i int) bool { return ix.Columns[i].Type.Elem() != value.Unknown }

// columnIndex is the index that a tree of a column is of. All entries that are of no key have the code 0.
func columnIndex(ix *catalog.Index, i, slot int, cat category) *catalog.Index {
	c := ix.Columns[i]
	switch {
	case cat == lengths:
		c.Type = value.Int4
	case cat != normalKey:
		c.Type = value.Bool
	case isArray(ix, i):
		c.Type = c.Type.Elem()
	}
	of := &catalog.Index{
		ID: ix.ID, TableID: ix.TableID, Name: ix.Name, Method: ix.Method,
		Columns: []catalog.IndexColumn{{Attno: c.Attno, Type: c.Type}},
	}
	if slot > 0 {
		a := ix.Columns[ix.Attached(i)[slot-1]]
		of.Columns = append(of.Columns, catalog.IndexColumn{Attno: a.Attno, Type: a.Type})
	}
	return of
}

// Build writes the run of one segment, one column after the other.
func (m method) Build(ix *catalog.Index, o page.Owner, src am.Source, w page.Writer, yield func() error) (am.RunMeta, error) {
	out := &runWriter{owner: o, w: w, kind: m.columns}
	for i := range ix.Columns {
		if err := m.build(ix, i, &src, out, yield); err != nil {
			return am.RunMeta{}, err
		}
	}
	return out.finish(liveRows(&src))
}

func (m method) build(ix *catalog.Index, i int, src *am.Source, out *runWriter, yield func() error) error {
	v, err := src.Column(i)
	if err != nil {
		return err
	}
	defer src.Release(v)
	cols := []*value.Vector{v, nil}
	var arrays *arrayKeys
	if isArray(ix, i) {
		if arrays, err = gatherArrays(m.form.Prefix, v, src, yield); err != nil {
			return err
		}
	}
	attached := ix.Attached(i)
	slot := 0
	for _, t := range m.layout(ix, i) {
		if t.slot != slot {
			if cols[1] != nil {
				src.Release(cols[1])
			}
			slot = t.slot
			if cols[1], err = src.Column(attached[slot-1]); err != nil {
				return err
			}
		}
		var meta am.RunMeta
		of := columnIndex(ix, i, slot, t.category)
		if arrays != nil {
			meta, err = arrays.write(m.form, of, t.category, cols[1], src, out.target(), yield)
		} else {
			meta, err = entrytree.Build(m.form, of, cols[:len(of.Columns)], src, out.target(), yield)
		}
		if err != nil {
			return err
		}
		out.add(i, slot, t.category, meta)
	}
	if cols[1] != nil {
		src.Release(cols[1])
	}
	return nil
}

// liveRows returns the number of a source's rows that are not dead.
func liveRows(src *am.Source) uint64 {
	n := uint64(src.Rows)
	for i := 0; src.Dead != nil && i < src.Rows; i++ {
		if src.Dead.Has(src.Base.Offset() + uint16(i)) {
			n--
		}
	}
	return n
}

// liveEntries returns the number of rows that runs hold and that are not dead.
func liveEntries(runs []am.Run, dead func(tid.TID) bool) (n uint64, err error) {
	for _, r := range runs {
		n += r.Meta().Rows
		if dead == nil {
			continue
		}
		b := tid.NewBuilder(r.Span().First, r.Span().End)
		if _, err := r.Bitmap(context.Background(), nil, b); err != nil {
			return 0, err
		}
		s := b.Set()
		for t := range s.All() {
			if dead(t) {
				n--
			}
		}
		s.Release()
	}
	return n, nil
}

// Merge writes one run of the entries of several, one column after the other.
func (m method) Merge(ix *catalog.Index, o page.Owner, runs []am.Run, span am.Span, dead func(tid.TID) bool, w page.Writer, yield func() error) (am.RunMeta, error) {
	dirs := make([]directory, len(runs))
	for i, r := range runs {
		g, ok := r.(*run)
		if !ok {
			return am.RunMeta{}, fmt.Errorf("%s can't merge a %T", m.Name(), r)
		}
		var err error
		if dirs[i], err = g.directory(); err != nil {
			return am.RunMeta{}, err
		}
	}
	out := &runWriter{owner: o, w: w, kind: m.columns}
	for i := range ix.Columns {
		for _, at := range m.layout(ix, i) {
			var trees []entrytree.Tree
			for _, d := range dirs {
				if t := d.slot(i, at.slot, at.category); t != nil {
					trees = append(trees, t)
				}
			}
			if len(trees) == 0 {
				continue
			}
			meta, err := entrytree.Merge(m.form, columnIndex(ix, i, at.slot, at.category), trees, span, dead, out.target(), yield)
			if err != nil {
				return am.RunMeta{}, err
			}
			out.add(i, at.slot, at.category, meta)
		}
	}
	rows, err := liveEntries(runs, dead)
	if err != nil {
		return am.RunMeta{}, err
	}
	return out.finish(rows)
}

// Open returns a run.
func (m method) Open(ix *catalog.Index, meta am.RunMeta, span am.Span, r page.Reader, cache *page.Cache) (am.Run, error) {
	g := &run{method: m, ix: ix, meta: meta, span: span, r: r, cache: cache}
	switch {
	case span.End < span.First:
		return nil, fmt.Errorf("a run can't cover segments %d to %d", span.First, span.End)
	case meta.Levels == 0 && meta.Entries == 0 && meta.Blocks == 0 && meta.Rows == 0:
	case meta.Levels == 0 || meta.Entries == 0 || meta.Rows == 0 || meta.Root >= meta.Blocks:
		return nil, g.corrupt(meta.Root, "run metadata %+v contradicts itself", meta)
	}
	return g, nil
}
