package pageinspect

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"wideleaf"
	"wideleaf/catalog"
	"wideleaf/page"
	"wideleaf/pending"
	"wideleaf/tid"
	"wideleaf/value"
)

// The images of what is not stored in pages: metapages and pending lists. docs/format.md has their bytes.

const (
	btreeMagic   = 340322
	btreeVersion = 4
	ginVersion   = 2
	metaSize     = page.HeaderSize + 88
)

// meta is the content of a metapage.
type meta struct {
	magic, version                    uint32
	root, level                       uint64
	equalImage                        uint64
	head, tail                        uint64
	tailFree, pendingPages, pending   uint64
	totalPages, entryPages, entryRows uint64
}

func (m *meta) words() []*uint64 {
	return []*uint64{&m.root, &m.level, &m.equalImage, &m.head, &m.tail, &m.tailFree, &m.pendingPages, &m.pending,
		&m.totalPages, &m.entryPages}
}

// metapage returns the image of an index's metapage.
func (v *view) metapage() []byte {
	m := meta{magic: btreeMagic, version: btreeVersion, head: invalidBlock, tail: invalidBlock,
		pendingPages: uint64(len(v.list)), pending: uint64(v.rows), totalPages: uint64(v.stored)}
	kind := page.KindBtreeMeta
	if v.Method() != "btree" {
		kind, m.version = page.KindGinMeta, ginVersion
	}
	if n := len(v.list); n > 0 {
		m.head, m.tail = uint64(v.stored), uint64(v.blocks()-1)
		m.tailFree = uint64(page.Size - page.HeaderSize - v.list[n-1].bytes)
	}
	at, most := v.first(), uint64(0)
	for _, p := range v.Parts {
		if p.Run.Levels > 0 {
			m.entryRows += p.Run.Entries
			m.entryPages += uint64(p.Run.Root)
			if p.Run.Entries > most { // the root of the largest run
				most, m.root, m.level = p.Run.Entries, uint64(at)+uint64(p.Run.Root), uint64(p.Run.Levels-1)
			}
		}
		at += int64(p.Pages.Blocks())
	}
	if !slices.ContainsFunc(v.Index.Columns, func(c catalog.IndexColumn) bool {
		return c.Type == value.Float8 || c.Type.Elem() != value.Unknown
	}) {
		m.equalImage = 1
	}
	p := make([]byte, page.HeaderSize, page.Size)
	p = binary.LittleEndian.AppendUint32(p, m.magic)
	p = binary.LittleEndian.AppendUint32(p, m.version)
	for _, w := range m.words() {
		p = binary.LittleEndian.AppendUint64(p, *w)
	}
	p = binary.LittleEndian.AppendUint64(p, m.entryRows)
	return seal(p, page.Header{Kind: kind, Owner: page.Owner{Relation: v.Index.ID}})
}

// seal gives a page its header and fills it up to an image.
func seal(p []byte, h page.Header) []byte {
	page.Seal(p, h)
	return append(p, make([]byte, page.Size-len(p))...)
}

func parseMeta(m *image) (*meta, error) {
	if len(m.p) < metaSize+8 {
		return nil, damaged(errShort)
	}
	x := &meta{magic: binary.LittleEndian.Uint32(m.p[page.HeaderSize:]), version: binary.LittleEndian.Uint32(m.p[page.HeaderSize+4:])}
	at := page.HeaderSize + 8
	for _, w := range x.words() {
		*w = binary.LittleEndian.Uint64(m.p[at:])
		at += 8
	}
	x.entryRows = binary.LittleEndian.Uint64(m.p[at:])
	return x, nil
}

// pendingPage is which rows an image of the pending list holds: those from a row's column on, up to a row's column.
type pendingPage struct {
	part             int // of the list
	from, fromColumn int
	to, toColumn     int
	bytes            int
}

const (
	pendingRoom = page.Size - page.HeaderSize
	pieceHead   = 12   // TID, first column, columns
	maxString   = 2000 // longer strings are cut
	flagLast    = 1    // no page follows
	flagFullRow = 2    // all rows are whole
	pendingNull = 0x80 // added to the type of a NULL
	pendingCut  = 0x40 // added to the type of a string that is cut
)

// columns loads the columns of an index.
func columns(ctx context.Context, s *pending.Part, ix *catalog.Index) ([]value.Vector, error) {
	cols := make([]value.Vector, len(ix.Columns))
	for i, c := range ix.Columns {
		cols[i].Reset(c.Type)
		if err := s.Column(ctx, c.Attno, &cols[i]); err != nil {
			return nil, err
		}
	}
	return cols, nil
}

// paginate splits a pending list into pages. Only columns of variable length are read.
func paginate(ctx context.Context, l pending.List, ix *catalog.Index) ([]pendingPage, error) {
	var pages []pendingPage
	fixed, varies := pieceHead, false
	for _, c := range ix.Columns {
		fixed += valueBytes(c.Type, 0)
		varies = varies || c.Type.Width() == value.Var
	}
	for i := range l {
		s := &l[i]
		if s.From >= s.Rows() {
			continue
		}
		var cols []value.Vector
		if varies {
			var err error
			if cols, err = columns(ctx, s, ix); err != nil {
				return nil, err
			}
		}
		width := func(row, column int) int {
			t := ix.Columns[column].Type
			if t.Width() != value.Var {
				return valueBytes(t, 0)
			}
			return valueBytes(t, len(cols[column].Str[row]))
		}
		cur := pendingPage{part: i, from: s.From, to: s.From}
		next := func(row, column int) {
			cur.to, cur.toColumn = row, column
			pages = append(pages, cur)
			cur = pendingPage{part: i, from: row, fromColumn: column}
		}
		for row := s.From; row < s.Rows(); row++ {
			size := fixed
			for c := range cols {
				if cols[c].Type.Width() == value.Var {
					size += width(row, c) - valueBytes(cols[c].Type, 0)
				}
			}
			if size <= pendingRoom {
				if cur.bytes+size > pendingRoom {
					next(row, 0)
				}
				cur.bytes += size
				continue
			}
			if cur.bytes > 0 {
				next(row, 0)
			}
			cur.bytes = pieceHead
			for c := range ix.Columns {
				w := width(row, c)
				if cur.bytes+w > pendingRoom {
					next(row, c)
					cur.bytes = pieceHead
				}
				cur.bytes += w
			}
		}
		next(s.Rows(), 0)
	}
	return pages, nil
}

// valueBytes is what a value takes; NULLs take as much as others of a fixed width, so that the number of pages follows from
// that of rows.
func valueBytes(t value.Type, n int) int {
	switch t.Width() {
	case value.Word32:
		return 1 + 4
	case value.Word64:
		return 1 + 8
	}
	return 1 + 2 + min(n, maxString)
}

func appendValue(dst []byte, t value.Type, v wideleaf.Value) []byte {
	kind := byte(t)
	str := v.Str()
	switch {
	case v.IsNull():
		kind |= pendingNull
	case len(str) > maxString:
		kind |= pendingCut
		str = str[:maxString]
	}
	dst = append(dst, kind)
	switch t.Width() {
	case value.Word32:
		return binary.LittleEndian.AppendUint32(dst, uint32(v.Code()))
	case value.Word64:
		return binary.LittleEndian.AppendUint64(dst, v.Code())
	}
	return append(binary.LittleEndian.AppendUint16(dst, uint16(len(str))), str...)
}

// pendingPage returns the image of a page of the pending list.
func (v *view) pendingPage(ctx context.Context, i int) ([]byte, error) {
	pp := v.list[i]
	s := &v.Pending[pp.part]
	cols, err := columns(ctx, s, v.Index)
	if err != nil {
		return nil, err
	}
	p := make([]byte, page.HeaderSize, page.Size)
	h := page.Header{Kind: page.KindPending, Owner: page.Owner{Relation: v.Index.ID}, Block: uint32(v.stored) + uint32(i)}
	if pp.fromColumn == 0 && pp.toColumn == 0 {
		h.Flags |= flagFullRow
	}
	if i == len(v.list)-1 {
		h.Flags |= flagLast
	}
	for row, first := pp.from, pp.fromColumn; row < pp.to || row == pp.to && first < pp.toColumn; row, first = row+1, 0 {
		last := len(cols)
		if row == pp.to {
			last = pp.toColumn
		}
		p = binary.LittleEndian.AppendUint64(p, uint64(tid.New(s.Number(), uint16(row))))
		p = binary.LittleEndian.AppendUint16(p, uint16(first))
		p = binary.LittleEndian.AppendUint16(p, uint16(last-first))
		for c := first; c < last; c++ {
			p = appendValue(p, cols[c].Type, cols[c].Value(row))
		}
		h.Reserved++
	}
	return seal(p, h), nil
}

// pendingItem is one value of a row of a pending list.
type pendingItem struct {
	tid    tid.TID
	column int
	value  wideleaf.Value
	cut    bool
}

// parsePending decodes an image of a page of a pending list.
func parsePending(m *image) ([]pendingItem, error) {
	var items []pendingItem
	b := m.p[page.HeaderSize:]
	take := func(n int) []byte {
		if n > len(b) {
			return nil
		}
		t := b[:n]
		b = b[n:]
		return t
	}
	for range m.Reserved {
		head := take(pieceHead)
		if head == nil {
			return nil, damaged(errShort)
		}
		t := tid.TID(binary.LittleEndian.Uint64(head))
		first, n := int(binary.LittleEndian.Uint16(head[8:])), int(binary.LittleEndian.Uint16(head[10:]))
		for c := range n {
			kind := take(1)
			if kind == nil {
				return nil, damaged(errShort)
			}
			it := pendingItem{tid: t, column: first + c, cut: kind[0]&pendingCut != 0}
			typ := value.Type(kind[0] &^ (pendingNull | pendingCut))
			if !typ.Valid() {
				return nil, damaged(fmt.Errorf("a value of the unknown type %d", uint8(typ)))
			}
			if typ.Width() != value.Var {
				code := take(valueBytes(typ, 0) - 1)
				switch len(code) {
				case 4:
					it.value = value.OfCode(typ, uint64(binary.LittleEndian.Uint32(code)))
				case 8:
					it.value = value.OfCode(typ, binary.LittleEndian.Uint64(code))
				default:
					return nil, damaged(errShort)
				}
			} else {
				size := take(2)
				if size == nil {
					return nil, damaged(errShort)
				}
				str := take(int(binary.LittleEndian.Uint16(size)))
				if str == nil && size[0]|size[1] != 0 {
					return nil, damaged(errShort)
				}
				if typ.Elem() != value.Unknown && it.cut {
					it.value = value.OfBytea(str) // its items may be cut
				} else {
					it.value = value.OfStr(typ, string(str))
				}
			}
			if kind[0]&pendingNull != 0 {
				it.value = null
			}
			items = append(items, it)
		}
	}
	return items, nil
}

var errShort = errors.New("it ends early")
