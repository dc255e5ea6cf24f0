package entrytree

import (
	"wideleaf/am/leaf"
	"wideleaf/catalog"
	"wideleaf/page"
	"wideleaf/tid"
	"wideleaf/value"
)

// PageItem is an entry of a leaf page, or all entries of a posting list, as tools print it.
type PageItem struct {
	Values  []value.Value // the key's; none if the index isn't known, or the bytes are no key of it
	Data    []byte        // the key's bytes; a code's, most significant first
	Null    bool          // there is a NULL in the key
	Posting bool          // a posting list of TIDs, which takes Bytes
	Bytes   int
	TIDs    []tid.TID
}

// PageChild is an entry of an inner page: a page below it.
type PageChild struct {
	Block   uint32
	Entries uint64
	Values  []value.Value // what its entries begin with at least
	Data    []byte
	Null    bool
}

// PageItems calls f for the items of a verified leaf page, in their order, until it returns false. TIDs are given
// relative to first, the first one of the run.
func PageItems(ix *catalog.Index, p []byte, first tid.TID, f func(PageItem) bool) error {
	h := page.ParseHeader(p)
	if h.Flags == leaf.FlagBytes {
		return bytesItems(ix, p, h.Kind, first, f)
	}
	var l leaf.Page
	if err := l.Open(p, h.Kind); err != nil {
		return err
	}
	var tids [leaf.BlockEntries]uint32
	for i := range l.Blocks() {
		b := l.Block(i)
		if b.Posting {
			list := b.List()
			item := codeItem(ix, b.Base, b.Null)
			item.Posting, item.Bytes = true, len(list.Data)
			ts, ok := list.Append(nil)
			if !ok {
				return &page.CorruptError{Owner: h.Owner, Block: h.Block, Detail: "a posting list does not decode"}
			}
			item.TIDs = absolute(ts, first)
			if !f(item) {
				return nil
			}
			continue
		}
		for j, t := range b.TIDs(&tids) {
			k := uint64(0)
			if !b.Null {
				k = b.Key(j)
			}
			item := codeItem(ix, k, b.Null)
			item.TIDs = []tid.TID{first + tid.TID(t)}
			if !f(item) {
				return nil
			}
		}
	}
	return nil
}

func bytesItems(ix *catalog.Index, p []byte, kind page.Kind, first tid.TID, f func(PageItem) bool) error {
	var l leaf.BytesPage
	if err := l.Open(p, kind); err != nil {
		return err
	}
	var tids [leaf.BlockEntries]uint32
	for i := range l.Blocks() {
		b := l.Block(i)
		if b.Posting {
			list := b.List()
			item := keyItem(ix, b.Prefix())
			item.Posting, item.Bytes = true, len(list.Data)
			ts, ok := list.Append(nil)
			if !ok {
				h := page.ParseHeader(p)
				return &page.CorruptError{Owner: h.Owner, Block: h.Block, Detail: "a posting list does not decode"}
			}
			item.TIDs = absolute(ts, first)
			if !f(item) {
				return nil
			}
			continue
		}
		for j, t := range b.TIDs(&tids) {
			item := keyItem(ix, b.Key(nil, j))
			item.TIDs = []tid.TID{first + tid.TID(t)}
			if !f(item) {
				return nil
			}
		}
	}
	return nil
}

// PageChildren returns the level of a verified inner page and the pages below it.
func PageChildren(ix *catalog.Index, p []byte) (level int, children []PageChild, err error) {
	in, err := decodeInner(p)
	if err != nil {
		return 0, nil, err
	}
	for i := range in.children() {
		c := PageChild{Block: in.first + uint32(i), Entries: in.count(i)}
		var item PageItem
		switch {
		case in.ends != nil:
			item = keyItem(ix, in.sep(i))
		case i < len(in.codes):
			item = codeItem(ix, in.codes[i], false)
		default:
			item = codeItem(ix, 0, true)
		}
		c.Values, c.Data, c.Null = item.Values, item.Data, item.Null
		children = append(children, c)
	}
	return in.level, children, nil
}

func absolute(ts []uint32, first tid.TID) []tid.TID {
	out := make([]tid.TID, len(ts))
	for i, t := range ts {
		out[i] = first + tid.TID(t)
	}
	return out
}

func codeItem(ix *catalog.Index, code uint64, null bool) PageItem {
	known := ix != nil && fixed(ix)
	switch {
	case null && known:
		return PageItem{Values: []value.Value{value.Null(ix.Columns[0].Type)}, Null: true}
	case null:
		return PageItem{Null: true}
	case known:
		return PageItem{Values: []value.Value{value.OfCode(ix.Columns[0].Type, code)}, Data: codeBytes(ix, code)}
	}
	return PageItem{Data: codeBytes(ix, code)}
}

func codeBytes(ix *catalog.Index, code uint64) []byte {
	b := make([]byte, 8)
	for i := range b {
		b[i] = byte(code >> (56 - 8*i))
	}
	if ix != nil && fixed(ix) && ix.Columns[0].Type.Width() == value.Word32 {
		return b[4:]
	}
	return b
}

func keyItem(ix *catalog.Index, key []byte) PageItem {
	item := PageItem{Data: append([]byte(nil), key...)}
	if ix == nil {
		return item
	}
	rest := key
	for i := range ix.Columns {
		v, after, _, err := decodeColumn(&ix.Columns[i], rest, nil)
		if err != nil {
			item.Values, item.Null = nil, false
			return item
		}
		item.Values, item.Null, rest = append(item.Values, v), item.Null || v.IsNull(), after
	}
	return item
}
