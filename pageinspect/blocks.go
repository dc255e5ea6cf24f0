package pageinspect

import (
	"context"
	"fmt"
	"strings"

	"wideleaf"
	"wideleaf/page"
	"wideleaf/pending"
	"wideleaf/pgerr"
	"wideleaf/value"
)

// view is a relation with its blocks counted.
type view struct {
	*wideleaf.Stored
	stored int64       // blocks before those of the rows that wait
	list   waitingList // rows in no run, or segment
}

func (in *Inspector) view(ctx context.Context, name string) (*view, error) {
	r, err := in.db.Stored(name)
	if err != nil {
		return nil, err
	}
	v := &view{Stored: r}
	v.stored = v.first()
	for _, p := range r.Parts {
		v.stored += int64(p.Pages.Blocks())
	}
	relation, columns := r.Table.ID, pending.TableColumns(r.Table)
	if r.Index != nil {
		relation, columns = r.Index.ID, pending.IndexColumns(r.Index)
	}
	if v.list, err = in.layouts.of(ctx, relation, columns, r.Pending); err != nil {
		r.Close()
		return nil, err
	}
	return v, nil
}

// first is the first stored block: an index's metapage is before it.
func (v *view) first() int64 {
	if v.Index == nil {
		return 0
	}
	return 1
}

func (v *view) blocks() int64 { return v.stored + int64(v.list.pages) }

// page returns the image of a block.
func (v *view) page(ctx context.Context, block int64) ([]byte, error) {
	if block < 0 || block >= invalidBlock {
		return nil, invalid("invalid block number")
	}
	if block >= v.blocks() {
		return nil, invalid("block number %d is out of range for relation %q", block, v.Name())
	}
	if block < v.first() {
		return v.metapage(), nil
	}
	if block >= v.stored {
		return v.waitingPage(ctx, int(block-v.stored))
	}
	part, b := v.place(block)
	ref, err := part.Pages.Page(b)
	if err != nil {
		return nil, v.damaged(block, err)
	}
	defer ref.Release()
	out := make([]byte, page.Size)
	copy(out, ref.Data)
	return out, nil
}

// place returns the part that a stored block is in, and which of its blocks it is.
func (v *view) place(block int64) (*wideleaf.StoredPart, uint32) {
	block -= v.first()
	for i := range v.Parts {
		n := int64(v.Parts[i].Pages.Blocks())
		if block < n {
			return &v.Parts[i], uint32(block)
		}
		block -= n
	}
	return nil, 0
}

// GetRawPage returns the image of a block of a relation. Errors: 42P01 for an unknown relation, 22023 for a block that
// isn't there, XX001 for a page that is damaged.
func (in *Inspector) GetRawPage(ctx context.Context, relation string, block int64) ([]byte, error) {
	v, err := in.view(ctx, relation)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	return v.page(ctx, block)
}

// Relations lists all tables and indexes, with how many blocks, stored bytes (an index's share of the files that several
// indexes are in, by pages) and segments or runs they have. It reads no page.
func (in *Inspector) Relations(ctx context.Context) (Result, error) {
	res := Result{Columns: []string{"name", "table", "am", "blocks", "bytes", "runs"}}
	names, err := in.db.Relations()
	if err != nil {
		return res, err
	}
	for _, name := range names {
		v, err := in.view(ctx, name)
		if err != nil {
			if e, ok := err.(*wideleaf.Error); ok && e.Kind == wideleaf.ErrNotFound {
				continue // dropped meanwhile
			}
			return res, err
		}
		bytes := uint64(0)
		for _, p := range v.Parts {
			bytes += p.Bytes
		}
		res.Rows = append(res.Rows, wideleaf.Row{value.OfText(v.Name()), value.OfText(v.Table.Name), value.OfText(v.Method()),
			int8(v.blocks()), int8(bytes), int8(len(v.Parts))})
		v.Close()
		if err := ctx.Err(); err != nil {
			return res, err
		}
	}
	return res, nil
}

// partNumber is the number of a segment or run; those of runs in memory, which have the highest bit set, become negative.
func partNumber(part uint64) wideleaf.Value {
	const memory = 1 << 63
	if part&memory != 0 {
		return int8(-int64(part &^ memory))
	}
	return int8(part)
}

// Runs lists the runs of an index, or a table's segments: which blocks and bytes (as Relations says) they have, which segments
// they are over, their rows and entries, and the root's block. Runs in memory, of rows that are in no segment yet, have negative
// numbers and no bytes. It reads no page.
func (in *Inspector) Runs(ctx context.Context, relation string) (Result, error) {
	res := Result{Columns: []string{"run", "first_block", "blocks", "bytes", "first_segment", "last_segment", "rows", "entries", "levels", "root"}}
	v, err := in.view(ctx, relation)
	if err != nil {
		return res, err
	}
	defer v.Close()
	at := v.first()
	for i := range v.Parts {
		p := &v.Parts[i]
		entries, levels, root := null, null, null
		if v.Index != nil {
			entries, levels = int8(p.Run.Entries), int4(int(p.Run.Levels))
			if p.Run.Levels > 0 {
				root = int8(at + int64(p.Run.Root))
			}
		}
		res.Rows = append(res.Rows, wideleaf.Row{partNumber(p.Pages.Owner().Part), int8(at), int8(p.Pages.Blocks()), int8(p.Bytes),
			int8(p.Span.First), int8(p.Span.End - 1), int8(p.Rows), entries, levels, root})
		at += int64(p.Pages.Blocks())
	}
	return res, ctx.Err()
}

// btree returns the view of a btree index.
func (in *Inspector) btree(ctx context.Context, name string) (*view, error) {
	v, err := in.view(ctx, name)
	if err != nil {
		return nil, err
	}
	if v.Method() != "btree" {
		v.Close()
		return nil, &wideleaf.Error{Kind: wideleaf.ErrInvalid, Code: pgerr.WrongObjectType, Object: name,
			Message: fmt.Sprintf("%q is not a btree index", name)}
	}
	return v, nil
}

// hexBytes prints bytes as bt_page_items does.
func hexBytes(b []byte) string { return strings.TrimSpace(fmt.Sprintf("% x", b)) }

// damaged is the error of a stored page that can't be read.
func (v *view) damaged(block int64, err error) error {
	return &wideleaf.Error{Kind: wideleaf.ErrCorrupt, Code: pgerr.DataCorrupted, Object: v.Name(), Err: err,
		Message: fmt.Sprintf("invalid page in block %d of relation %q", block, v.Name())}
}
