package pageinspect

import (
	"context"
	"fmt"

	"wideleaf"
	"wideleaf/am/entrytree"
	"wideleaf/am/inverted"
	"wideleaf/page"
	"wideleaf/value"
)

// PostgreSQL's flags of GIN pages.
const (
	ginData       = 0x01
	ginLeaf       = 0x02
	ginMeta       = 0x08
	ginList       = 0x10
	ginFullRow    = 0x20
	ginCompressed = 0x80
)

// ginFlags are PostgreSQL's flags for a page: an entry leaf with posting lists is data too, since they lie beside their keys.
func ginFlags(m *image) int {
	switch m.Kind {
	case page.KindGinMeta:
		return ginMeta
	case page.KindPending:
		if m.Flags&flagFullRow != 0 {
			return ginList | ginFullRow
		}
		return ginList
	case page.KindGinEntryLeaf:
		lists := false
		_ = entrytree.PageItems(nil, m.p, 0, func(e entrytree.PageItem) bool { // damage shows where items are asked for
			lists = e.Posting
			return !lists
		})
		if lists {
			return ginData | ginLeaf | ginCompressed
		}
		return ginLeaf
	}
	return 0
}

func ginMetapageInfo(_ context.Context, _ *Inspector, m *image) ([]wideleaf.Row, error) {
	if m.special() != 8 {
		return nil, detailed("input page is not a valid GIN metapage", "Expected special size 8, got %d.", m.special())
	}
	if m.Kind != page.KindGinMeta {
		return nil, detailed("input page is not a GIN metapage", "Flags %04X, expected %04X", ginFlags(m), ginMeta)
	}
	x, err := parseMeta(m)
	if err != nil {
		return nil, err
	}
	return []wideleaf.Row{{int8(x.head), int8(x.tail), int4(int(x.tailFree)), int8(x.pendingPages), int8(x.pending), int8(x.totalPages),
		int8(x.entryPages), int8(0), int8(x.entryRows), int4(int(x.version))}}, nil
}

// ginPageOpaqueInfo: stored pages are found by their parents and have no link to the right.
func ginPageOpaqueInfo(_ context.Context, _ *Inspector, m *image) ([]wideleaf.Row, error) {
	if m.special() != 8 {
		return nil, detailed("input page is not a valid GIN data leaf page", "Expected special size 8, got %d.", m.special())
	}
	right, maxoff := null, 0
	if m.Kind == page.KindPending {
		right, maxoff = int8(m.Block+1), int(m.Reserved)
		if m.Flags&flagLast != 0 {
			right = int8(int64(invalidBlock))
		}
	}
	var names []string
	flags := ginFlags(m)
	for i, name := range [...]string{"data", "leaf", "deleted", "meta", "list", "list_fullrow", "incomplete_split", "compressed"} {
		if flags>>i&1 != 0 {
			names = append(names, name)
		}
	}
	return []wideleaf.Row{{right, int4(maxoff), value.OfTextArray(names)}}, nil
}

// ginLeafpageItems has a row for each posting list of a page.
func ginLeafpageItems(ctx context.Context, in *Inspector, m *image) ([]wideleaf.Row, error) {
	if m.special() != 8 {
		return nil, detailed("input page is not a valid GIN data leaf page", "Expected special size 8, got %d.", m.special())
	}
	const want = ginData | ginLeaf | ginCompressed
	if flags := ginFlags(m); flags != want {
		return nil, detailed("input page is not a compressed GIN data leaf page", "Flags %04X, expected %04X", flags, want)
	}
	o := in.origin(ctx, m)
	var rows []wideleaf.Row
	err := entrytree.PageItems(o.key(), m.p, o.base, func(e entrytree.PageItem) bool {
		if e.Posting {
			tids := make([]string, len(e.TIDs))
			for i, t := range e.TIDs {
				tids[i] = value.OfTid(uint64(t)).String()
			}
			rows = append(rows, wideleaf.Row{value.OfTid(uint64(e.TIDs[0])), int4(e.Bytes), value.OfTextArray(tids)})
		}
		return true
	})
	if err != nil {
		return nil, damaged(err)
	}
	return rows, nil
}

func notGin(m *image, kind page.Kind) error {
	return detailed(fmt.Sprintf("input page is not a %s page", kind), "It is a %s page.", m.Kind)
}

// category is PostgreSQL's name of a category, by its number.
func category(n int, null bool) wideleaf.Value {
	if n == 0 && null {
		n = 1
	}
	return value.OfText([...]string{"GIN_CAT_NORM_KEY", "GIN_CAT_NULL_KEY", "GIN_CAT_EMPTY_ITEM", "GIN_CAT_NULL_ITEM"}[n&3])
}

// place is the attribute's number and the category of a page's entries, NULL if the run isn't known.
func (o *origin) place(null_ bool) (attrnum, cat wideleaf.Value) {
	if o.tree.Column >= 1<<16 {
		return null, null
	}
	return int4(o.tree.Column + 1), category(o.tree.Category, null_)
}

func ginEntryLeafItems(ctx context.Context, in *Inspector, m *image) ([]wideleaf.Row, error) {
	if m.Kind != page.KindGinEntryLeaf {
		return nil, notGin(m, page.KindGinEntryLeaf)
	}
	o := in.origin(ctx, m)
	var rows []wideleaf.Row
	err := entrytree.PageItems(o.key(), m.p, o.base, func(e entrytree.PageItem) bool {
		attrnum, cat := o.place(e.Null)
		rows = append(rows, wideleaf.Row{int4(len(rows) + 1), attrnum, cat, keyText(e.Key, e.Null), value.OfTid(uint64(e.TIDs[0])),
			value.OfBool(e.Posting), int4(len(e.TIDs)), int4(e.Bytes)})
		return true
	})
	if err != nil {
		return nil, damaged(err)
	}
	return rows, nil
}

func keyText(key string, isNull bool) wideleaf.Value {
	if isNull {
		return null
	}
	return value.OfText(key)
}

func ginEntryInternalItems(ctx context.Context, in *Inspector, m *image) ([]wideleaf.Row, error) {
	if m.Kind != page.KindGinEntryInner {
		return nil, notGin(m, page.KindGinEntryInner)
	}
	o := in.origin(ctx, m)
	_, children, err := entrytree.PageChildren(o.key(), m.p)
	if err != nil {
		return nil, damaged(err)
	}
	var rows []wideleaf.Row
	for i, c := range children {
		attrnum, cat := o.place(c.Null)
		rows = append(rows, wideleaf.Row{int4(i + 1), attrnum, cat, keyText(c.Key, c.Null), int8(o.block + int64(c.Block)), int8(c.Entries)})
	}
	return rows, nil
}

func ginPostingItems(ctx context.Context, in *Inspector, m *image) ([]wideleaf.Row, error) {
	if m.Kind != page.KindGinEntryLeaf {
		return nil, notGin(m, page.KindGinEntryLeaf)
	}
	o := in.origin(ctx, m)
	var rows []wideleaf.Row
	item := 0
	err := entrytree.PageItems(o.key(), m.p, o.base, func(e entrytree.PageItem) bool {
		item++
		for _, t := range e.TIDs {
			if e.Posting {
				attrnum, cat := o.place(e.Null)
				rows = append(rows, wideleaf.Row{int4(item), attrnum, cat, keyText(e.Key, e.Null), value.OfTid(uint64(t))})
			}
		}
		return true
	})
	if err != nil {
		return nil, damaged(err)
	}
	return rows, nil
}

func ginColumnsItems(ctx context.Context, in *Inspector, m *image) ([]wideleaf.Row, error) {
	if m.Kind != page.KindGinColumns {
		return nil, notGin(m, page.KindGinColumns)
	}
	trees, err := inverted.Trees(m.p)
	if err != nil {
		return nil, damaged(err)
	}
	o := in.origin(ctx, m)
	var rows []wideleaf.Row
	for _, t := range trees {
		rows = append(rows, wideleaf.Row{int4(t.Column + 1), category(t.Category, false), int8(o.block + int64(t.First)),
			int8(o.block + int64(t.Last)), int4(t.Levels), int8(t.Entries), int8(t.Nulls)})
	}
	return rows, nil
}
