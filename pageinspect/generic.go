package pageinspect

import (
	"context"

	"wideleaf"
	"wideleaf/am/entrytree"
	"wideleaf/am/filter"
	"wideleaf/am/inverted"
	"wideleaf/heap"
	"wideleaf/page"
	"wideleaf/pending"
	"wideleaf/tid"
	"wideleaf/value"
)

// formatVersion is the layout version of pages (docs/format.md).
const formatVersion = 1

// pageHeader: what lies between lower and upper is the page's free space; there is no special space. The checksum is the low
// 16 bits of the page's.
func pageHeader(_ context.Context, _ *Inspector, m *image) ([]wideleaf.Row, error) {
	if m == nil {
		return []wideleaf.Row{{null, int4(0), int4(0), int4(0), int4(0), int4(0), int4(0), int4(0), null}}, nil
	}
	return []wideleaf.Row{{null, checksum16(m.Checksum), int4(int(m.Flags)), int4(len(m.p)), int4(page.Size), int4(page.Size),
		int4(page.Size), int4(formatVersion), null}}, nil
}

// pageChecksum computes the checksum anew. A page names its place itself, so the block makes no difference.
func pageChecksum(_ context.Context, _ *Inspector, m *image) ([]wideleaf.Row, error) {
	return []wideleaf.Row{{checksum16(page.Checksum(m.p))}}, nil
}

func checksum16(sum uint64) wideleaf.Value { return int4(int(int16(sum))) }

// pageIdentity is what a page's header says, whole.
func pageIdentity(_ context.Context, in *Inspector, m *image) ([]wideleaf.Row, error) {
	name := null
	if s := in.db.RelationName(m.Relation); s != "" {
		name = value.OfText(s)
	}
	return []wideleaf.Row{{text("%s", m.Kind), int4(int(m.Flags)), int4(int(m.Reserved)), int8(m.Relation), name, partNumber(m.Part),
		int8(m.Block), int4(len(m.p)), text("%016x", m.Checksum), value.OfBool(page.Checksum(m.p) == m.Checksum)}}, nil
}

// pageItems describes every byte of a page of any kind.
func pageItems(ctx context.Context, in *Inspector, m *image) ([]wideleaf.Row, error) {
	var d *page.Description
	var err error
	switch m.Kind {
	case page.KindColumn, page.KindSummary, page.KindOverflow:
		d, err = heap.DescribePage(m.p)
	case page.KindBtreeLeaf, page.KindBtreeInner:
		d, err = entrytree.DescribePage(in.originIndex(ctx, m), m.p)
	case page.KindGinEntryLeaf, page.KindGinEntryInner, page.KindGinColumns, page.KindRumEntryLeaf, page.KindRumEntryInner, page.KindRumColumns:
		o := in.origin(ctx, m)
		d, err = inverted.DescribePage(o.index, o.tree, m.p)
	default:
		d = &page.Description{}
		d.Header(m.p)
		if m.Kind == page.KindFilter {
			filter.Describe(m.p, d)
		}
	}
	if err != nil {
		return nil, damaged(err)
	}
	var rows []wideleaf.Row
	for i, f := range d.Fields {
		rows = append(rows, wideleaf.Row{int4(i + 1), int4(f.Offset), int4(f.Size), value.OfText(f.Text)})
	}
	return rows, nil
}

// heapPageItems has a row for each row of a page of a table's newest rows, which are in no segment yet, as PostgreSQL has. Rows
// of segments are not stored one by one: their pages give a row for each strip of a column: where it is, the TID of its first row
// as ctid, and its bytes. Other pages give what they have behind their header as one item; as PostgreSQL does, it takes any page.
func heapPageItems(_ context.Context, _ *Inspector, m *image) ([]wideleaf.Row, error) {
	item := func(n, at, size int, ctid wideleaf.Value) wideleaf.Row {
		return wideleaf.Row{int4(n), int4(at), int4(1), int4(size), null, null, null, ctid, null, null, null, null, null,
			value.OfBytea(m.p[at : at+size])}
	}
	var rows []wideleaf.Row
	switch m.Kind {
	case page.KindColumn:
		strips, err := heap.Strips(m.p)
		if err != nil {
			return nil, damaged(err)
		}
		for i, s := range strips {
			rows = append(rows, item(i+1, s.Offset, s.Size, value.OfTid(uint64(tid.New(m.Part, uint16(s.First))))))
		}
	case page.KindTail:
		ps, err := pieces(m)
		if err != nil {
			return nil, err
		}
		for i, p := range ps {
			rows = append(rows, tailItem(item(i+1, page.HeaderSize+p.Offset, p.Size, value.OfTid(uint64(p.TID))), p))
		}
	default:
		rows = append(rows, item(1, page.HeaderSize, len(m.p)-page.HeaderSize, null))
	}
	return rows, nil
}

// tailItem adds to an item what is known of a row: how many values it has, whether there are NULLs or strings, and which values
// are not NULL.
func tailItem(row wideleaf.Row, p pending.Piece) wideleaf.Row {
	const hasNull, hasVarWidth = 1, 2 // of t_infomask
	mask, bits := 0, make([]byte, len(p.Values))
	for i, v := range p.Values {
		bits[i] = '1'
		switch {
		case v.IsNull():
			bits[i] = '0'
			mask |= hasNull
		case v.Type().Width() == value.Var:
			mask |= hasVarWidth
		}
	}
	row[8], row[9], row[10] = int4(len(p.Values)), int4(mask), int4(pending.PieceHead)
	if mask&hasNull != 0 {
		row[11] = value.OfText(string(bits))
	}
	row[13] = value.OfBytea([]byte(row[13].Str())[pending.PieceHead:])
	return row
}

// heapColumnItems has a row for each strip with what it says of its values.
func heapColumnItems(_ context.Context, _ *Inspector, m *image) ([]wideleaf.Row, error) {
	if m.Kind != page.KindColumn {
		return nil, detailed("input page is not a heap column page", "It is a %s page.", m.Kind)
	}
	strips, err := heap.Strips(m.p)
	if err != nil {
		return nil, damaged(err)
	}
	var rows []wideleaf.Row
	for i, s := range strips {
		lo, hi := null, null
		if s.Lo != nil {
			lo = value.OfText(s.Lo.String())
		}
		if s.Hi != nil {
			hi = value.OfText(s.Hi.String())
		}
		rows = append(rows, wideleaf.Row{int4(i + 1), int4(s.Attno), text("%s", s.Type), text("%s", s.Encoding), int4(s.Offset), int4(s.Size),
			value.OfTid(uint64(tid.New(m.Part, uint16(s.First)))), int4(s.Rows), int4(s.Nulls), lo, hi})
	}
	return rows, nil
}

// pendingItems has a row for each value of each row of a page of rows that wait; a table's attnum is a column's number, an
// index's its place in the index.
func pendingItems(_ context.Context, _ *Inspector, m *image) ([]wideleaf.Row, error) {
	if m.Kind != page.KindPending && m.Kind != page.KindTail {
		return nil, detailed("input page is not a pending list page", "It is a %s page.", m.Kind)
	}
	ps, err := pieces(m)
	if err != nil {
		return nil, err
	}
	var rows []wideleaf.Row
	for _, p := range ps {
		for i, v := range p.Values {
			key := null
			if !v.IsNull() {
				key = value.OfText(v.String())
			}
			rows = append(rows, wideleaf.Row{int4(len(rows) + 1), value.OfTid(uint64(p.TID)), int4(p.Column + i + 1), key, value.OfBool(v.Cut)})
		}
	}
	return rows, nil
}

// pendingListInfo is what a metapage of any method says of its pending list.
func pendingListInfo(_ context.Context, _ *Inspector, m *image) ([]wideleaf.Row, error) {
	if m.Kind != page.KindBtreeMeta && m.Kind != page.KindGinMeta && m.Kind != page.KindRumMeta {
		return nil, detailed("input page is not a metapage", "It is a %s page.", m.Kind)
	}
	x, err := parseMeta(m)
	if err != nil {
		return nil, err
	}
	return []wideleaf.Row{{int8(x.head), int8(x.tail), int4(int(x.tailFree)), int8(x.pendingPages), int8(x.pending)}}, nil
}
