package inverted

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"wideleaf/am"
	"wideleaf/am/entrytree"
	"wideleaf/page"
)

// category says what the entries of a tree are of: PostgreSQL's numbers, and one more.
type category uint8

const (
	normalKey  category = 0 // keys; in a scalar column NULLs stand behind them
	nullKey    category = 1 // NULL as an array's item
	emptyItem  category = 2 // arrays without items
	nullItem   category = 3 // NULL as an array
	lengths    category = 4 // how many different items arrays have that aren't NULL, if any
	categories category = 5
)

// items are the categories that together have an entry at least of each row of an array column.
var items = []category{normalKey, nullKey, emptyItem, nullItem}

// slotBits is where a tree's slot begins in the byte that has its category below, maxSlot the highest slot.
const (
	slotBits = 3
	maxSlot  = 1<<(8-slotBits) - 1
)

// Layout of a columns page; docs/format.md has the table.
const (
	columnSize     = 28 // of a tree's place
	columnsPerPage = (page.Size - page.HeaderSize) / columnSize
)

// place is where a column's tree is in a run.
type place struct {
	column   int
	slot     int // 0: keys; n: keys, each with the value of the column's n-th attached column
	category category
	begin    uint32 // first block
	meta     am.RunMeta
}

// runWriter writes the trees of a run one behind the other.
type runWriter struct {
	owner  page.Owner
	w      page.Writer
	kind   page.Kind // of columns pages
	block  uint32    // next
	places []place
	meta   am.RunMeta
}

func (w *runWriter) target() entrytree.Target {
	return entrytree.Target{Owner: w.owner, Writer: w.w, First: w.block}
}

// add takes note of a tree that has been written.
func (w *runWriter) add(column, slot int, cat category, meta am.RunMeta) {
	if meta.Entries == 0 {
		return
	}
	w.places = append(w.places, place{column, slot, cat, w.block, meta})
	w.block = meta.Blocks
	w.meta.Entries += meta.Entries
	w.meta.Nulls += meta.Nulls
	w.meta.Levels = max(w.meta.Levels, meta.Levels+1)
}

// finish writes the columns pages.
func (w *runWriter) finish(rows uint64) (am.RunMeta, error) {
	w.meta.Rows, w.meta.Root = rows, w.block
	for left := w.places; len(left) > 0; {
		n := min(len(left), columnsPerPage)
		p := make([]byte, page.HeaderSize, page.HeaderSize+n*columnSize)
		for _, c := range left[:n] {
			p = binary.LittleEndian.AppendUint16(p, uint16(c.column))
			p = append(p, byte(c.slot)<<slotBits|byte(c.category), byte(c.meta.Levels))
			p = binary.LittleEndian.AppendUint32(p, c.begin)
			p = binary.LittleEndian.AppendUint32(p, c.meta.Blocks)
			p = binary.LittleEndian.AppendUint64(p, c.meta.Entries)
			p = binary.LittleEndian.AppendUint64(p, c.meta.Nulls)
		}
		page.Seal(p, page.Header{Kind: w.kind, Reserved: uint16(n), Owner: w.owner, Block: w.block})
		if err := w.w.WritePage(p); err != nil {
			return am.RunMeta{}, err
		}
		w.block++
		left = left[n:]
	}
	w.meta.Blocks = w.block
	return w.meta, nil
}

// decodePlaces decodes a verified columns page of a kind.
func decodePlaces(p []byte, kind page.Kind) ([]place, error) {
	h := page.ParseHeader(p)
	bad := func(format string, args ...any) ([]place, error) {
		return nil, &page.CorruptError{Owner: h.Owner, Block: h.Block, Detail: fmt.Sprintf(format, args...)}
	}
	if h.Kind != kind {
		return bad("it is a %s page, not one of columns", h.Kind)
	}
	body := p[page.HeaderSize:]
	if n := int(h.Reserved); n == 0 || n*columnSize != len(body) {
		return bad("%d trees in %d bytes", n, len(body))
	}
	places := make([]place, h.Reserved)
	for i := range places {
		b := body[i*columnSize:][:columnSize]
		c := place{
			column: int(binary.LittleEndian.Uint16(b)), slot: int(b[2] >> slotBits), category: category(b[2] & (1<<slotBits - 1)),
			begin: binary.LittleEndian.Uint32(b[4:]),
			meta: am.RunMeta{
				Blocks: binary.LittleEndian.Uint32(b[8:]), Levels: uint32(b[3]),
				Entries: binary.LittleEndian.Uint64(b[12:]), Nulls: binary.LittleEndian.Uint64(b[20:]),
			},
		}
		if c.begin >= c.meta.Blocks || c.meta.Blocks > h.Block || c.category >= categories {
			return bad("tree %d is in blocks %d to %d of category %d", i, c.begin, c.meta.Blocks, c.category)
		}
		c.meta.Root, c.meta.Rows = c.meta.Blocks-1, c.meta.Entries
		places[i] = c
	}
	return places, nil
}

// compare orders trees as a run has them: by column, slot and category.
func (c place) compare(o place) int {
	return cmp.Or(cmp.Compare(c.column, o.column), cmp.Compare(c.slot, o.slot), cmp.Compare(c.category, o.category))
}

// directory is the opened trees of a run, in their order.
type directory []opened

type opened struct {
	place
	tree entrytree.Tree
}

// tree returns the tree that tells which rows have which keys of a column and category, nil if there is none. Where keys
// are kept with attached values only, those of the first do.
func (d directory) tree(column int, cat category) entrytree.Tree {
	if t := d.slot(column, 0, cat); t != nil {
		return t
	}
	return d.slot(column, 1, cat)
}

// slot returns the tree of a column, slot and category, nil if there is none.
func (d directory) slot(column, slot int, cat category) entrytree.Tree {
	at := place{column: column, slot: slot, category: cat}
	if column < len(d) && d[column].compare(at) == 0 { // as a rule: a tree for each column
		return d[column].tree
	}
	i, found := slices.BinarySearchFunc(d, at, func(o opened, at place) int { return o.compare(at) })
	if !found {
		return nil
	}
	return d[i].tree
}

// openedBytes is about what an opened tree takes in the cache.
const openedBytes = 320

// directory returns the run's trees.
func (g *run) directory() (directory, error) {
	if g.meta.Levels == 0 {
		return nil, nil
	}
	if g.cache != nil {
		if v, ok := g.cache.Get(g.r.Owner(), g.meta.Root); ok {
			if d, ok := v.(directory); ok {
				return d, nil
			}
		}
	}
	d, err := g.open()
	if err == nil && g.cache != nil {
		g.cache.Put(g.r.Owner(), g.meta.Root, d, openedBytes*len(d))
	}
	return d, err
}

// open reads the columns pages and opens the trees, which must follow each other without gaps.
func (g *run) open() (directory, error) {
	var d directory
	next, entries := uint32(0), uint64(0)
	for block := g.meta.Root; block < g.meta.Blocks; block++ {
		ref, err := g.r.Page(block)
		if err != nil {
			return nil, err
		}
		places, err := decodePlaces(ref.Data, g.columns)
		ref.Release()
		if err != nil {
			return nil, err
		}
		for _, c := range places {
			switch n := len(d); {
			case c.column >= len(g.ix.Columns):
				return nil, g.corrupt(block, "tree of column %d, the index has %d", c.column+1, len(g.ix.Columns))
			case !slices.Contains(g.layout(g.ix, c.column), treeOf{c.slot, c.category}):
				return nil, g.corrupt(block, "tree of category %d with attached value %d of column %d, which has none", c.category, c.slot, c.column+1)
			case n > 0 && d[n-1].compare(c) >= 0:
				return nil, g.corrupt(block, "tree of column %d, category %d is out of order", c.column+1, c.category)
			case c.begin != next:
				return nil, g.corrupt(block, "a tree begins at block %d, expected %d", c.begin, next)
			}
			t, err := entrytree.Open(g.form, columnIndex(g.ix, c.column, c.slot, c.category), c.meta, c.begin, g.span, g.r, g.cache)
			if err != nil {
				return nil, err
			}
			d = append(d, opened{c, t})
			next = c.meta.Blocks
			entries += c.meta.Entries
		}
	}
	if next != g.meta.Root || entries != g.meta.Entries {
		return nil, g.corrupt(g.meta.Root, "trees of %d entries end at block %d, expected %d at %d", entries, next, g.meta.Entries, g.meta.Root)
	}
	return d, nil
}
