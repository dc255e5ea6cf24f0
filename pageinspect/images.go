package pageinspect

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"sync"

	"wideleaf/catalog"
	"wideleaf/heap"
	"wideleaf/page"
	"wideleaf/pending"
	"wideleaf/value"
)

// The images of what is not stored in pages: metapages and pending lists. docs/format.md has their bytes, and package pending
// makes those of rows.

const (
	btreeMagic   = 340322
	btreeVersion = 4
	ginVersion   = 2
	rumVersion   = 0xC0DE0002
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
		pendingPages: uint64(v.list.pages), pending: uint64(v.Pending.Rows()), totalPages: uint64(v.stored)}
	kind := page.KindBtreeMeta
	switch v.Method() {
	case "gin":
		kind, m.version = page.KindGinMeta, ginVersion
	case "rum":
		kind, m.version = page.KindRumMeta, rumVersion
	}
	if v.list.pages > 0 {
		m.head, m.tail, m.tailFree = uint64(v.stored), uint64(v.blocks()-1), uint64(v.list.tailFree())
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

const (
	flagLast    = 1 // no page follows
	flagFullRow = 2 // all rows are whole
)

// waitingList is the rows of a relation that wait, on pages.
type waitingList struct {
	parts []waitingPart
	pages int
}

// waitingPart is the rows of one tail.
type waitingPart struct {
	source heap.Source
	layout *pending.Layout
	pages  pending.Pages
}

// layouts keeps the layouts of one relation, the one that was last asked for, so that looking at all its blocks lays out its
// rows once.
type layouts struct {
	mu       sync.Mutex
	relation uint32
	parts    map[layoutKey]*pending.Layout
}

// layoutKey is what a layout is of: its rows never change, and there may come more.
type layoutKey struct {
	segment uint64
	from    int
}

// of puts the rows of a list on pages.
func (c *layouts) of(ctx context.Context, relation uint32, columns []pending.Column, l pending.List) (w waitingList, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	parts := map[layoutKey]*pending.Layout{}
	for _, s := range l {
		if s.From >= s.Rows() {
			continue
		}
		key := layoutKey{s.Number(), s.From}
		layout := c.parts[key]
		if c.relation != relation || layout == nil || !slices.Equal(layout.Columns(), columns) {
			layout = pending.NewLayout(columns, s.From)
		}
		if err := layout.Extend(ctx, s); err != nil {
			return w, err
		}
		parts[key] = layout
		p := waitingPart{s, layout, layout.Pages()}
		w.parts = append(w.parts, p)
		w.pages += p.pages.Len()
	}
	c.relation, c.parts = relation, parts
	return w, nil
}

// place returns the part that a page is in, and which of its pages it is.
func (w *waitingList) place(i int) (*waitingPart, int) {
	for n := range w.parts {
		p := &w.parts[n]
		if i < p.pages.Len() {
			return p, i
		}
		i -= p.pages.Len()
	}
	return nil, 0
}

// tailFree returns the free bytes of the last page.
func (w *waitingList) tailFree() int {
	p, i := w.place(w.pages - 1)
	return pending.PageRoom - p.pages.At(i).Bytes
}

// waitingPage returns the image of a page of the rows that wait.
func (v *view) waitingPage(ctx context.Context, i int) ([]byte, error) {
	part, n := v.list.place(i)
	at := part.pages.At(n)
	p, pieces, err := part.layout.Append(ctx, make([]byte, page.HeaderSize, page.Size), part.source, at)
	if err != nil {
		return nil, err
	}
	h := page.Header{Kind: page.KindTail, Owner: page.Owner{Relation: v.Table.ID}, Block: uint32(v.stored) + uint32(i), Reserved: uint16(pieces)}
	if v.Index != nil {
		h.Kind, h.Owner.Relation = page.KindPending, v.Index.ID
	}
	if at.FromColumn == 0 && at.ToColumn == 0 {
		h.Flags |= flagFullRow
	}
	if i == v.list.pages-1 {
		h.Flags |= flagLast
	}
	return seal(p, h), nil
}

// pieces decodes an image of rows that wait.
func pieces(m *image) ([]pending.Piece, error) {
	ps, err := pending.Pieces(m.p[page.HeaderSize:], int(m.Reserved))
	if err != nil {
		return nil, damaged(err)
	}
	return ps, nil
}

var errShort = errors.New("it ends early")
