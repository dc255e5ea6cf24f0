// Package pageinspect shows what is in the pages of a database, by functions with the names, columns and messages of
// PostgreSQL's extension pageinspect where that has one, and by some of its own for what pages here have more.
//
// Words: a page image is 8,192 bytes, a stored page with zeros for its free space. A relation's blocks are numbered: of a
// table, the pages of its segments in order; and then its newest rows, which are in no segment yet; of an index, first a metapage, then the pages of its
// runs in order, those in memory last, then its pending list. Metapages and rows that wait are not stored in pages; images of
// them (docs/format.md) are made when they are asked for, and decoded from their bytes like all others. Blocks of a live database
// move when rows are sorted or flushed, and when runs are merged.
//
// A column of PostgreSQL's that means nothing here is NULL. Images name their relation and run, so that functions of an image
// print keys by the index's columns, and TIDs as the table has them; when the run is not there any more TIDs count from
// (0,0).
//
// An Inspector may be used concurrently, beside anything else that uses the database. What must never break: no image,
// whatever its bytes, does more harm than an error.
package pageinspect

import (
	"context"
	"encoding/binary"
	"fmt"

	"wideleaf"
	"wideleaf/am/inverted"
	"wideleaf/catalog"
	"wideleaf/page"
	"wideleaf/pgerr"
	"wideleaf/tid"
	"wideleaf/value"
)

// invalidBlock is PostgreSQL's InvalidBlockNumber: no block.
const invalidBlock = 1<<32 - 1

// Inspector answers for a database.
type Inspector struct {
	db      *wideleaf.DB
	layouts layouts
}

// New returns an inspector of an open database, which may be in use or open read-only.
func New(db *wideleaf.DB) *Inspector { return &Inspector{db: db} }

// Result is what a function returns.
type Result struct {
	Columns []string
	Rows    []wideleaf.Row
}

func invalid(format string, args ...any) *wideleaf.Error {
	return &wideleaf.Error{Kind: wideleaf.ErrInvalid, Code: pgerr.InvalidParameterValue, Message: fmt.Sprintf(format, args...)}
}

// detailed is invalid with a detail.
func detailed(message, format string, args ...any) *wideleaf.Error {
	e := invalid("%s", message)
	e.Detail = fmt.Sprintf(format, args...)
	return e
}

// damaged is the error of an image that is not what its header says.
func damaged(err error) error {
	return &wideleaf.Error{Kind: wideleaf.ErrCorrupt, Code: pgerr.DataCorrupted, Message: "input page is damaged", Detail: err.Error(), Err: err}
}

// image is a page image that is not all zero.
type image struct {
	page.Header
	p []byte // without its free space
}

// open checks the size of an image. It returns nil for one that is all zero, PostgreSQL's new page.
func open(p []byte) (*image, error) {
	if len(p) != page.Size {
		return nil, detailed("invalid page size", "Expected %d bytes, got %d.", page.Size, len(p))
	}
	if isZero(p) {
		return nil, nil
	}
	n := binary.LittleEndian.Uint32(p[20:])
	if n < page.HeaderSize || n > page.Size {
		return nil, damaged(fmt.Errorf("its header says that it has %d bytes", n))
	}
	return &image{page.ParseHeader(p), p[:n]}, nil
}

func isZero(p []byte) bool {
	for _, b := range p {
		if b != 0 {
			return false
		}
	}
	return true
}

// special is the size of PostgreSQL's special space in a page of that family, which tells the families apart.
func (m *image) special() int {
	switch m.Kind {
	case page.KindBtreeLeaf, page.KindBtreeInner, page.KindBtreeMeta, page.KindFilter,
		page.KindRumEntryLeaf, page.KindRumEntryInner, page.KindRumColumns, page.KindRumMeta:
		return 16
	case page.KindGinEntryLeaf, page.KindGinEntryInner, page.KindGinColumns, page.KindGinMeta, page.KindPending:
		return 8
	}
	return 0
}

// origin is what the database knows of an image's page.
type origin struct {
	index *catalog.Index // nil: unknown
	base  tid.TID        // of the run's first segment
	block int64          // the relation's block that is block 0 of the run
	tree  inverted.Tree
}

// key is the index that a page's keys are of.
func (o *origin) key() *catalog.Index {
	if o.index != nil && o.index.Method != "btree" {
		return o.tree.KeyIndex(o.index)
	}
	return o.index
}

// origin finds out where a page comes from. What can't be found, or read, stays unknown.
func (in *Inspector) origin(ctx context.Context, m *image) origin {
	o := origin{tree: inverted.Tree{Column: 1 << 16}}
	name := in.db.RelationName(m.Relation)
	v, err := in.view(ctx, name)
	if name == "" || err != nil {
		return o
	}
	defer v.Close()
	o.index = v.Index
	at := v.first()
	for _, part := range v.Parts {
		if part.Pages.Owner() != m.Owner {
			at += int64(part.Pages.Blocks())
			continue
		}
		o.base, o.block = tid.New(part.Span.First, 0), at
		for b := part.Run.Root; v.Index != nil && v.Method() != "btree" && b < part.Run.Blocks; b++ {
			ref, err := part.Pages.Page(b)
			if err != nil {
				break
			}
			trees, err := inverted.Trees(ref.Data)
			ref.Release()
			if err != nil {
				break
			}
			for _, t := range trees {
				if t.First <= m.Block && m.Block <= t.Last {
					o.tree = t
				}
			}
		}
		break
	}
	return o
}

func int4(n int) wideleaf.Value                                { return value.OfInt4(int32(n)) }
func int8[T int64 | uint64 | uint32 | int](n T) wideleaf.Value { return value.OfInt8(int64(n)) }
func text(format string, args ...any) wideleaf.Value {
	return value.OfText(fmt.Sprintf(format, args...))
}

var null wideleaf.Value
