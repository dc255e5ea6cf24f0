package pageinspect

import (
	"context"
	"fmt"

	"wideleaf"
	"wideleaf/am/entrytree"
	"wideleaf/am/inverted"
	"wideleaf/page"
	"wideleaf/pgerr"
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
		if hasLists(m) {
			return ginData | ginLeaf | ginCompressed
		}
		return ginLeaf
	}
	return 0
}

// hasLists reports whether there are posting lists on an entry leaf.
func hasLists(m *image) (found bool) {
	_ = entrytree.PageItems(nil, m.p, 0, func(e entrytree.PageItem) bool { // damage shows where items are asked for
		found = e.Posting
		return !found
	})
	return found
}

// flagNames are PostgreSQL's names of flags.
func flagNames(flags int) wideleaf.Value {
	var names []string
	for i, name := range [...]string{"data", "leaf", "deleted", "meta", "list", "list_fullrow", "incomplete_split", "compressed"} {
		if flags>>i&1 != 0 {
			names = append(names, name)
		}
	}
	return value.OfTextArray(names)
}

// nextPending is the block of the page behind one of a pending list.
func nextPending(m *image) wideleaf.Value {
	if m.Flags&flagLast != 0 {
		return int8(int64(invalidBlock))
	}
	return int8(m.Block + 1)
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
	return []wideleaf.Row{x.info(int4(int(x.version)))}, nil
}

// info is what gin_metapage_info says.
func (x *meta) info(version wideleaf.Value) wideleaf.Row {
	return wideleaf.Row{int8(x.head), int8(x.tail), int4(int(x.tailFree)), int8(x.pendingPages), int8(x.pending), int8(x.totalPages),
		int8(x.entryPages), int8(0), int8(x.entryRows), version}
}

// ginPageOpaqueInfo: stored pages are found by their parents and have no link to the right.
func ginPageOpaqueInfo(_ context.Context, _ *Inspector, m *image) ([]wideleaf.Row, error) {
	if m.special() != 8 {
		return nil, detailed("input page is not a valid GIN data leaf page", "Expected special size 8, got %d.", m.special())
	}
	right, maxoff := null, 0
	if m.Kind == page.KindPending {
		right, maxoff = nextPending(m), int(m.Reserved)
	}
	return []wideleaf.Row{{right, int4(maxoff), flagNames(ginFlags(m))}}, nil
}

// maxTIDs bounds what functions that print single TIDs print of a page: a list of 32,768 that follow each other takes few bytes.
const maxTIDs = 1 << 20

// entries calls f with the entries of an entry leaf. With single, a page of more than maxTIDs is an error (54000).
func (in *Inspector) entries(ctx context.Context, m *image, single bool, f func(*origin, *entrytree.PageItem)) error {
	o := in.origin(ctx, m)
	n := 0
	err := entrytree.PageItems(o.key(), m.p, o.base, func(e entrytree.PageItem) bool {
		if n += len(e.TIDs); single && n > maxTIDs {
			return false
		}
		f(&o, &e)
		return true
	})
	switch {
	case err != nil:
		return damaged(err)
	case single && n > maxTIDs:
		return &wideleaf.Error{Kind: wideleaf.ErrInvalid, Code: pgerr.ProgramLimitExceeded,
			Message: fmt.Sprintf("input page has more than %d TIDs", maxTIDs), Hint: "The functions gin_entry_leaf_items and page_items count them."}
	}
	return nil
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
	var rows []wideleaf.Row
	err := in.entries(ctx, m, true, func(_ *origin, e *entrytree.PageItem) {
		if e.Posting {
			tids := make([]string, len(e.TIDs))
			for i, t := range e.TIDs {
				tids[i] = value.OfTid(uint64(t)).String()
			}
			rows = append(rows, wideleaf.Row{value.OfTid(uint64(e.TIDs[0])), int4(e.Bytes), value.OfTextArray(tids)})
		}
	})
	return rows, err
}

func notGin(m *image, kind page.Kind) error {
	return detailed(fmt.Sprintf("input page is not a %s page", kind), "It is a %s page.", m.Kind)
}

// categoryNames are PostgreSQL's names of categories, by their numbers, and of that of the numbers of items.
var categoryNames = [...]string{"CAT_NORM_KEY", "CAT_NULL_KEY", "CAT_EMPTY_ITEM", "CAT_NULL_ITEM", "CAT_LENGTH"}

// category is the name of a category, as access method gin or rum has it. A NULL in a scalar column stands among the keys.
func category(method string, n int, isNull bool) wideleaf.Value {
	if n == 0 && isNull {
		n = 1
	}
	if n >= len(categoryNames) {
		return null
	}
	return value.OfText(method + "_" + categoryNames[n])
}

// place is the attribute's number and the category of a page's entries, NULL if the run isn't known.
func (o *origin) place(method string, isNull bool) (attrnum, cat wideleaf.Value) {
	if o.tree.Column >= 1<<16 {
		return null, null
	}
	return int4(o.tree.Column + 1), category(method, o.tree.Category, isNull)
}

func ginEntryLeafItems(ctx context.Context, in *Inspector, m *image) ([]wideleaf.Row, error) {
	if m.Kind != page.KindGinEntryLeaf {
		return nil, notGin(m, page.KindGinEntryLeaf)
	}
	var rows []wideleaf.Row
	err := in.entries(ctx, m, false, func(o *origin, e *entrytree.PageItem) {
		attrnum, cat := o.place("GIN", e.Null)
		rows = append(rows, wideleaf.Row{int4(len(rows) + 1), attrnum, cat, keyText(e.Values, e.Data, e.Null), value.OfTid(uint64(e.TIDs[0])),
			value.OfBool(e.Posting), int4(len(e.TIDs)), int4(e.Bytes)})
	})
	return rows, err
}

// keyText is the key of an entry, which is its first value; in hexadecimal if its type isn't known, or it is the beginning
// of one that an inner page has.
func keyText(values []wideleaf.Value, data []byte, hasNull bool) wideleaf.Value {
	switch {
	case len(values) > 0 && values[0].IsNull() || len(values) == 0 && hasNull:
		return null
	case len(values) > 0:
		return value.OfText(values[0].String())
	}
	return text(`\x%x`, data)
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
		attrnum, cat := o.place("GIN", c.Null)
		rows = append(rows, wideleaf.Row{int4(i + 1), attrnum, cat, keyText(c.Values, c.Data, c.Null), int8(o.block + int64(c.Block)), int8(c.Entries)})
	}
	return rows, nil
}

func ginPostingItems(ctx context.Context, in *Inspector, m *image) ([]wideleaf.Row, error) {
	if m.Kind != page.KindGinEntryLeaf {
		return nil, notGin(m, page.KindGinEntryLeaf)
	}
	var rows []wideleaf.Row
	item := 0
	err := in.entries(ctx, m, true, func(o *origin, e *entrytree.PageItem) {
		item++
		if !e.Posting {
			return
		}
		attrnum, cat := o.place("GIN", e.Null)
		key := keyText(e.Values, e.Data, e.Null)
		for _, t := range e.TIDs {
			rows = append(rows, wideleaf.Row{int4(item), attrnum, cat, key, value.OfTid(uint64(t))})
		}
	})
	return rows, err
}

// columnsItems has a row for each entry tree that a page of a gin's or rum's run names; attached is which of the column's
// attached columns its keys come with, NULL for none.
func columnsItems(method string, kind page.Kind) func(context.Context, *Inspector, *image) ([]wideleaf.Row, error) {
	return func(ctx context.Context, in *Inspector, m *image) ([]wideleaf.Row, error) {
		if m.Kind != kind {
			return nil, notGin(m, kind)
		}
		trees, err := inverted.Trees(m.p)
		if err != nil {
			return nil, damaged(err)
		}
		o := in.origin(ctx, m)
		var rows []wideleaf.Row
		for _, t := range trees {
			attached := null
			if t.Attached > 0 {
				attached = int4(t.Attached)
			}
			rows = append(rows, wideleaf.Row{int4(t.Column + 1), category(method, t.Category, false), attached, int8(o.block + int64(t.First)),
				int8(o.block + int64(t.Last)), int4(t.Levels), int8(t.Entries), int8(t.Nulls)})
		}
		return rows, nil
	}
}
