package pageinspect

import (
	"context"

	"wideleaf"
	"wideleaf/am/entrytree"
	"wideleaf/page"
	"wideleaf/value"
)

// RUM's functions, those of its extension's version 1.4, take a relation and a block, and
// here a page as well. Rum's trees have no pages of postings
// alone: a posting list lies beside its key, and an entry of a column with attached ones has its value behind the key.

// rumFlags are RUM's flags of a page.
func rumFlags(m *image) int {
	switch m.Kind {
	case page.KindRumMeta:
		return ginMeta
	case page.KindPending:
		return ginFlags(m)
	case page.KindRumEntryLeaf:
		if hasLists(m) {
			return ginData | ginLeaf
		}
		return ginLeaf
	}
	return 0
}

// rum is a function of a rum's page, given as an image or as a relation and a block. A new page gives a row of NULLs.
func rum(columns string, f func(context.Context, *Inspector, *image) ([]wideleaf.Row, error)) function {
	ofPage := func(ctx context.Context, in *Inspector, m *image) ([]wideleaf.Row, error) {
		switch m.Kind {
		case page.KindRumMeta, page.KindPending, page.KindRumEntryLeaf, page.KindRumEntryInner, page.KindRumColumns:
			return f(ctx, in, m)
		}
		return nil, detailed("input page is not a valid RUM page", "It is a %s page.", m.Kind)
	}
	ofRelation := func(ctx context.Context, in *Inspector, relation string, args []int64) ([]wideleaf.Row, error) {
		img, err := in.GetRawPage(ctx, relation, args[0])
		if err != nil {
			return nil, err
		}
		m, err := open(img)
		if err != nil {
			return nil, err
		}
		return ofPage(ctx, in, m)
	}
	return function{columns: columns, page: ofPage, relation: ofRelation, numbers: 1}
}

func notRum(m *image, what string, want int) error {
	return detailed("input page is not a RUM "+what, "Flags %04X, expected %04X", rumFlags(m), want)
}

func rumMetapageInfo(_ context.Context, _ *Inspector, m *image) ([]wideleaf.Row, error) {
	if m.Kind != page.KindRumMeta {
		return nil, notRum(m, "metapage", ginMeta)
	}
	x, err := parseMeta(m)
	if err != nil {
		return nil, err
	}
	return []wideleaf.Row{x.info(text("0x%08X", x.version))}, nil
}

// rumPageOpaqueInfo: stored pages are found by their parents and have no links.
func rumPageOpaqueInfo(_ context.Context, _ *Inspector, m *image) ([]wideleaf.Row, error) {
	left, right, maxoff := null, null, 0
	if m.Kind == page.KindPending {
		right, maxoff = nextPending(m), int(m.Reserved)
	}
	return []wideleaf.Row{{left, right, int4(maxoff), int4(page.Size - len(m.p)), flagNames(rumFlags(m))}}, nil
}

// rumLeafDataItems has a row for each TID of each posting list.
func rumLeafDataItems(ctx context.Context, in *Inspector, m *image) ([]wideleaf.Row, error) {
	const want = ginData | ginLeaf
	if rumFlags(m) != want {
		return nil, notRum(m, "{data, leaf} page", want)
	}
	var rows []wideleaf.Row
	err := in.entries(ctx, m, true, func(_ *origin, e *entrytree.PageItem) {
		if !e.Posting {
			return
		}
		isNull, info := addInfo(e)
		for _, t := range e.TIDs {
			rows = append(rows, wideleaf.Row{value.OfBool(false), value.OfTid(uint64(t)), isNull, info})
		}
	})
	return rows, err
}

// rumInternalDataItems: there are no such pages.
func rumInternalDataItems(_ context.Context, _ *Inspector, m *image) ([]wideleaf.Row, error) {
	return nil, notRum(m, "{data} page", ginData)
}

// rumLeafEntryItems has a row for each TID of each entry.
func rumLeafEntryItems(ctx context.Context, in *Inspector, m *image) ([]wideleaf.Row, error) {
	if m.Kind != page.KindRumEntryLeaf {
		return nil, notRum(m, "{leaf} page", ginLeaf)
	}
	var rows []wideleaf.Row
	err := in.entries(ctx, m, true, func(o *origin, e *entrytree.PageItem) {
		key := keyText(e.Values, e.Data, e.Null)
		attrnum, category := o.place("RUM", key.IsNull())
		isNull, info := addInfo(e)
		for _, t := range e.TIDs {
			rows = append(rows, wideleaf.Row{key, attrnum, category, value.OfTid(uint64(t)), isNull, info, value.OfBool(false), null})
		}
	})
	return rows, err
}

// addInfo is the value that an entry carries.
func addInfo(e *entrytree.PageItem) (isNull, info wideleaf.Value) {
	if len(e.Values) < 2 || e.Values[1].IsNull() {
		return value.OfBool(true), null
	}
	return value.OfBool(false), value.OfText(e.Values[1].String())
}

func rumInternalEntryItems(ctx context.Context, in *Inspector, m *image) ([]wideleaf.Row, error) {
	if m.Kind != page.KindRumEntryInner {
		return nil, notRum(m, "{} page", 0)
	}
	o := in.origin(ctx, m)
	_, children, err := entrytree.PageChildren(o.key(), m.p)
	if err != nil {
		return nil, damaged(err)
	}
	var rows []wideleaf.Row
	for _, c := range children {
		key := keyText(c.Values, c.Data, c.Null)
		attrnum, category := o.place("RUM", key.IsNull())
		rows = append(rows, wideleaf.Row{key, attrnum, category, int8(o.block + int64(c.Block))})
	}
	return rows, nil
}

// rumPageItems are the functions that rum_page_items_info stands for, by the type of page that is its last argument.
var rumPageItems = []string{"rum_leaf_data_page_items", "rum_internal_data_page_items", "rum_leaf_entry_page_items", "rum_internal_entry_page_items"}
