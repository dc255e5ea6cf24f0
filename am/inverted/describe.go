package inverted

import (
	"fmt"

	"wideleaf/am/entrytree"
	"wideleaf/catalog"
	"wideleaf/page"
)

// DescribePage says what each byte range of a verified page of a run means. t is the tree that the page is of, with a column
// beyond the index's if that isn't known; then, or with ix nil, keys are printed in hexadecimal.
func DescribePage(ix *catalog.Index, t Tree, p []byte) (*page.Description, error) {
	d := &page.Description{}
	if len(p) < page.HeaderSize || len(p) > page.Size {
		return d, &page.CorruptError{Detail: fmt.Sprintf("it has %d bytes", len(p))}
	}
	kind := page.ParseHeader(p).Kind
	if kind != page.KindGinColumns && kind != page.KindRumColumns {
		return entrytree.DescribePage(t.KeyIndex(ix), p)
	}
	d.Header(p)
	places, err := decodePlaces(p, kind)
	if err != nil {
		return d, err
	}
	for i, c := range places {
		at := page.HeaderSize + i*columnSize
		d.Add(at, 4, "tree %d: column %d, category %d, attached value %d, %d levels", i, c.column+1, c.category, c.slot, c.meta.Levels)
		d.Add(at+4, 8, "tree %d: blocks %d to %d", i, c.begin, c.meta.Blocks-1)
		d.Add(at+12, 16, "tree %d: %d entries, %d of them NULL", i, c.meta.Entries, c.meta.Nulls)
	}
	return d, nil
}

// Tree is what a columns page says of an entry tree: its column's place in the index, its category, which of the column's
// attached values its keys come with (0: none, else from 1), where it is and what it has.
type Tree struct {
	Column, Category, Attached, Levels int
	First, Last                        uint32 // blocks; the last is the root
	Entries, Nulls                     uint64
}

// Trees returns what a columns page holds.
func Trees(p []byte) ([]Tree, error) {
	kind := page.ParseHeader(p).Kind
	if kind != page.KindRumColumns {
		kind = page.KindGinColumns
	}
	places, err := decodePlaces(p, kind)
	trees := make([]Tree, len(places))
	for i, c := range places {
		trees[i] = Tree{c.column, int(c.category), c.slot, int(c.meta.Levels), c.begin, c.meta.Root, c.meta.Entries, c.meta.Nulls}
	}
	return trees, err
}

// KeyIndex returns the index by which keys of a tree are printed, nil if ix has no such column.
func (t Tree) KeyIndex(ix *catalog.Index) *catalog.Index {
	if ix == nil || t.Column >= len(ix.Columns) || t.Attached > len(ix.Attached(t.Column)) {
		return nil
	}
	return columnIndex(ix, t.Column, t.Attached, category(t.Category))
}
