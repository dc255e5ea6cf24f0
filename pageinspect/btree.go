package pageinspect

import (
	"context"

	"wideleaf"
	"wideleaf/am/entrytree"
	"wideleaf/catalog"
	"wideleaf/page"
	"wideleaf/pgerr"
	"wideleaf/value"
)

// originIndex is the index of a btree's page, nil if it isn't known.
func (in *Inspector) originIndex(ctx context.Context, m *image) *catalog.Index {
	o := in.origin(ctx, m)
	return o.index
}

// btMetap is of the largest run's tree: an index is several, while their merge is not due. Root 0: there is none.
func btMetap(_ context.Context, _ *Inspector, m *image) ([]wideleaf.Row, error) {
	x, err := parseMeta(m)
	if err != nil {
		return nil, err
	}
	return []wideleaf.Row{{int4(int(x.magic)), int4(int(x.version)), int8(x.root), int8(x.level), int8(x.root), int8(x.level),
		null, null, value.OfBool(x.equalImage != 0)}}, nil
}

const (
	btLeaf = 1
	btRoot = 2
)

// btBlock checks that a block of a btree is a page of a tree, and returns it.
func (v *view) btBlock(ctx context.Context, block int64) (*image, error) {
	switch {
	case block < 0 || block >= invalidBlock:
		return nil, invalid("invalid block number")
	case block == 0:
		return nil, invalid("block 0 is a meta page")
	case block >= v.blocks():
		return nil, &wideleaf.Error{Kind: wideleaf.ErrInvalid, Code: pgerr.InvalidParameterValue, Object: v.Name(), Message: "block number out of range"}
	}
	p, err := v.page(ctx, block)
	if err != nil {
		return nil, err
	}
	m, err := open(p)
	if err != nil {
		return nil, err
	}
	if m.Kind != page.KindBtreeLeaf && m.Kind != page.KindBtreeInner {
		return nil, invalid("block %d is a %s page", block, m.Kind)
	}
	return m, nil
}

func level(m *image) int {
	if m.Kind == page.KindBtreeInner {
		return int(m.Flags >> 1)
	}
	return 0
}

// btStats is a row of bt_page_stats. Siblings are the neighbouring blocks of the run that are of the same level.
func (v *view) btStats(ctx context.Context, block int64, m *image) (wideleaf.Row, error) {
	items, kind, flags := 0, "l", btLeaf
	if m.Kind == page.KindBtreeLeaf {
		if err := entrytree.PageItems(nil, m.p, 0, func(entrytree.PageItem) bool { items++; return true }); err != nil {
			return nil, v.damaged(block, err)
		}
	} else {
		_, children, err := entrytree.PageChildren(nil, m.p)
		if err != nil {
			return nil, v.damaged(block, err)
		}
		items, kind, flags = len(children), "i", 0
	}
	part, b := v.place(block)
	if part.Run.Root == b {
		flags |= btRoot
		if m.Kind == page.KindBtreeInner {
			kind = "r"
		}
	}
	sibling := func(at int64) (int64, error) {
		if p, _ := v.place(at); at < 1 || at >= v.stored || p != part {
			return 0, nil
		}
		s, err := v.page(ctx, at)
		if err != nil {
			return 0, err
		}
		sm, err := open(s)
		if err != nil || sm == nil || sm.Kind != m.Kind || level(sm) != level(m) {
			return 0, err
		}
		return at, nil
	}
	prev, err := sibling(block - 1)
	if err != nil {
		return nil, err
	}
	next, err := sibling(block + 1)
	if err != nil {
		return nil, err
	}
	return wideleaf.Row{int8(block), value.OfText(kind), int4(items), int4(0), int4((len(m.p) - page.HeaderSize) / max(items, 1)),
		int4(page.Size), int4(page.Size - len(m.p)), int8(prev), int8(next), int8(level(m)), int4(flags)}, nil
}

func btPageStats(ctx context.Context, in *Inspector, rel string, args []int64) ([]wideleaf.Row, error) {
	v, err := in.btree(ctx, rel)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	m, err := v.btBlock(ctx, args[0])
	if err != nil {
		return nil, err
	}
	row, err := v.btStats(ctx, args[0], m)
	return []wideleaf.Row{row}, err
}

// btMultiPageStats leaves out the pages that are not of a tree: filters of unique indexes and the pending list.
func btMultiPageStats(ctx context.Context, in *Inspector, rel string, args []int64) ([]wideleaf.Row, error) {
	v, err := in.btree(ctx, rel)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	first, n := args[0], args[1]
	switch {
	case first < 0 || first >= invalidBlock:
		return nil, invalid("invalid block number %d", first)
	case first == 0:
		return nil, invalid("block 0 is a meta page")
	case first >= v.blocks() || n > 0 && n > v.blocks()-first:
		return nil, invalid("block number %d is out of range", max(first, first+min(n, invalidBlock)-1))
	}
	end := v.blocks()
	if n >= 0 {
		end = first + n
	}
	var rows []wideleaf.Row
	for b := first; b < min(end, v.stored); b++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p, err := v.page(ctx, b)
		if err != nil {
			return nil, err
		}
		m, err := open(p)
		if err != nil {
			return nil, err
		}
		if m.Kind != page.KindBtreeLeaf && m.Kind != page.KindBtreeInner {
			continue
		}
		row, err := v.btStats(ctx, b, m)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func btPageItemsOf(ctx context.Context, in *Inspector, rel string, args []int64) ([]wideleaf.Row, error) {
	v, err := in.btree(ctx, rel)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	m, err := v.btBlock(ctx, args[0])
	if err != nil {
		return nil, err
	}
	return btPageItems(ctx, in, m)
}

// btPageItems: a leaf's items are its entries. An inner page's are the pages below it, ctid naming the block, and data what
// they begin with. Pages have no high keys; entries share bytes, so that an item has no length of its own.
func btPageItems(ctx context.Context, in *Inspector, m *image) ([]wideleaf.Row, error) {
	switch {
	case m.Kind == page.KindBtreeMeta:
		return nil, invalid("block is a meta page")
	case m.Kind == page.KindFilter:
		return nil, invalid("block is a filter page")
	case m.Kind != page.KindBtreeLeaf && m.Kind != page.KindBtreeInner:
		return nil, invalid("input page is not a valid btree page")
	}
	o := in.origin(ctx, m)
	var rows []wideleaf.Row
	if m.Kind == page.KindBtreeInner {
		_, children, err := entrytree.PageChildren(o.index, m.p)
		if err != nil {
			return nil, damaged(err)
		}
		keys := 1
		if o.index != nil {
			keys = len(o.index.Columns)
		}
		for i, c := range children {
			data, cols := hexBytes(c.Data), keys
			if i == 0 {
				data, cols = "", 0
			}
			rows = append(rows, wideleaf.Row{int4(i + 1), value.OfTid(uint64(o.block+int64(c.Block))<<16 | uint64(cols)), null,
				value.OfBool(c.Null), value.OfBool(m.Flags&1 != 0), value.OfText(data), null, null, null})
		}
		return rows, nil
	}
	err := entrytree.PageItems(o.index, m.p, o.base, func(e entrytree.PageItem) bool {
		t := value.OfTid(uint64(e.TIDs[0]))
		rows = append(rows, wideleaf.Row{int4(len(rows) + 1), t, null, value.OfBool(e.Null), value.OfBool(m.Flags&1 != 0),
			value.OfText(hexBytes(e.Data)), value.OfBool(false), t, null})
		return true
	})
	if err != nil {
		return nil, damaged(err)
	}
	return rows, nil
}
