package query

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"

	"wideleaf/heap"
	"wideleaf/tid"
	"wideleaf/value"
)

// RowsSpec says which rows a query wants, of which columns, in what order.
type RowsSpec struct {
	Pred    *Pred
	Columns []int // attnos; 0 is ctid
	OrderBy []OrderKey
	Limit   int64 // -1: none
	Offset  int64 // -1: none
}

// OrderKey is one key of an ORDER BY. PostgreSQL's default is NULLS LAST, and NULLS FIRST with DESC.
type OrderKey struct {
	Attno      int // 0 is ctid
	Desc       bool
	NullsFirst bool
	Distance   *Distance // of the column's values, which are sorted by it; nil: by themselves
}

// Rows yields the rows that spec asks for; each is the caller's to keep. Without ORDER BY they come in TID order and
// the work goes on as they are taken; rows that ORDER BY finds equal come in TID order too. An error is the last thing
// yielded.
func Rows(ctx context.Context, t *Table, spec RowsSpec) iter.Seq2[[]value.Value, error] {
	return func(yield func([]value.Value, error) bool) {
		e := newExecutor(ctx, t)
		f, err := newFetcher(e, spec.Columns)
		if err != nil {
			yield(nil, err)
			return
		}
		if spec.Limit == 0 {
			return
		}
		if len(spec.OrderBy) > 0 {
			err = e.orderedRows(spec, f, yield)
		} else {
			err = e.plainRows(spec, f, yield)
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// RowsOf returns columns of the rows of a set, which must all be the table's, in TID order.
func RowsOf(ctx context.Context, t *Table, set *tid.Set, columns []int) ([][]value.Value, error) {
	e := newExecutor(ctx, t)
	f, err := newFetcher(e, columns)
	if err != nil {
		return nil, err
	}
	rows := make([][]value.Value, 0, set.Count())
	var offs []uint16
	for m, err := range e.matches(candidates{set: set}) {
		if err != nil {
			return nil, err
		}
		offs = m.bits.AppendOffsets(offs[:0], 0, tid.SegmentRows)
		if err := f.gather(m.src, offs); err != nil {
			return nil, err
		}
		for i := range f.n {
			rows = append(rows, f.row(i))
		}
	}
	return rows, nil
}

// ColumnsOf returns columns of the rows of a set, which must all be the table's, in TID order: a vector for each attno.
func ColumnsOf(ctx context.Context, t *Table, set *tid.Set, attnos []int) ([]*value.Vector, error) {
	e := newExecutor(ctx, t)
	type part struct {
		src  heap.Source
		offs []uint16
	}
	var parts []part
	rows := 0
	for m, err := range e.matches(candidates{set: set}) {
		if err != nil {
			return nil, err
		}
		offs := m.bits.AppendOffsets(nil, 0, tid.SegmentRows)
		parts = append(parts, part{m.src, offs})
		rows += len(offs)
	}
	out := make([]*value.Vector, len(attnos))
	var v value.Vector
	for i, attno := range attnos {
		typ, err := t.typeOf(attno)
		if err != nil {
			return nil, err
		}
		out[i] = new(value.Vector)
		out[i].Reset(typ)
		out[i].Grow(rows)
		for _, p := range parts {
			if err := e.column(p.src, attno, typ, p.offs, &v); err != nil {
				return nil, err
			}
			out[i].AppendAll(&v)
		}
	}
	return out, nil
}

// plainRows yields rows in TID order. It returns nil when the caller has seen enough.
func (e *executor) plainRows(spec RowsSpec, f *fetcher, yield func([]value.Value, error) bool) error {
	found, err := e.narrow(spec.Pred, nil)
	if err != nil {
		return err
	}
	defer found.release()
	skip, left := max(spec.Offset, 0), spec.Limit
	if left < 0 {
		left = math.MaxInt64
	}
	chunk := 0
	var offs []uint16
	for m, err := range e.matches(found) {
		if err != nil {
			return err
		}
		if skip > 0 {
			if n := int64(m.bits.Count()); n <= skip {
				skip -= n
				continue
			}
		}
		for from := 0; from < tid.SegmentRows; from = int(offs[len(offs)-1]) + 1 {
			chunk = chunkRows(f.cells, chunk)
			want := int64(math.MaxInt64)
			if left < want-skip {
				want = left + skip
			}
			offs = m.bits.AppendOffsets(offs[:0], from, int(min(int64(chunk), want)))
			if len(offs) == 0 {
				break
			}
			if k := min(skip, int64(len(offs))); k > 0 {
				skip -= k
				if k == int64(len(offs)) {
					continue
				}
				if err := f.gather(m.src, offs[k:]); err != nil {
					return err
				}
			} else if err := f.gather(m.src, offs); err != nil {
				return err
			}
			for i := range f.n {
				if !yield(f.row(i), nil) {
					return nil
				}
				if left--; left == 0 {
					return nil
				}
			}
		}
	}
	return nil
}

// fetcher fetches columns of rows of one segment at a time.
type fetcher struct {
	e       *executor
	attnos  []int // each once
	types   []value.Type
	place   []int // of each wanted column in attnos
	cells   int   // of a row, for chunkRows
	vectors []value.Vector
	n       int // rows in vectors
}

func newFetcher(e *executor, columns []int) (*fetcher, error) {
	f := &fetcher{e: e, place: make([]int, len(columns))}
	at := map[int]int{}
	for i, attno := range columns {
		p, ok := at[attno]
		if !ok {
			typ, err := e.t.typeOf(attno)
			if err != nil {
				return nil, err
			}
			if attno == 0 {
				typ = value.Tid
			}
			p = len(f.attnos)
			at[attno] = p
			f.attnos, f.types = append(f.attnos, attno), append(f.types, typ)
			if f.cells++; typ.Width() == value.Var {
				f.cells += wideCells - 1
			}
		}
		f.place[i] = p
	}
	f.vectors = make([]value.Vector, len(f.attnos))
	return f, nil
}

// gather fetches the rows at offs, which ascend.
func (f *fetcher) gather(src heap.Source, offs []uint16) error {
	if err := f.e.ctx.Err(); err != nil {
		return err
	}
	f.n = len(offs)
	for i, attno := range f.attnos {
		if err := f.e.column(src, attno, f.types[i], offs, &f.vectors[i]); err != nil {
			return err
		}
	}
	return nil
}

// row returns row i of those gathered.
func (f *fetcher) row(i int) []value.Value {
	row := make([]value.Value, len(f.place))
	for c, p := range f.place {
		row[c] = f.vectors[p].Value(i)
	}
	return row
}

// column replaces v with the values of a column, or of ctid, at offs.
func (e *executor) column(src heap.Source, attno int, typ value.Type, offs []uint16, v *value.Vector) error {
	v.Reset(typ)
	if attno != 0 {
		return src.Gather(e.ctx, attno, offs, v)
	}
	for _, o := range offs {
		v.AppendCode(uint64(tid.New(src.Number(), o)))
	}
	return nil
}

// gatherOne appends one row's value of a column to v.
func (e *executor) gatherOne(t tid.TID, attno int, v *value.Vector) error {
	src, err := e.source(t.Segment())
	if err != nil {
		return err
	}
	return src.Gather(e.ctx, attno, []uint16{t.Offset()}, v)
}

// source returns the source of a segment.
func (e *executor) source(seg uint64) (heap.Source, error) {
	i, err := e.placeOf(seg)
	if err != nil {
		return nil, err
	}
	return e.t.Sources[i], nil
}

// placeOf returns the place of a segment among the sources.
func (e *executor) placeOf(seg uint64) (int, error) {
	i, ok := slices.BinarySearchFunc(e.t.Sources, seg, func(s heap.Source, seg uint64) int { return cmp.Compare(s.Number(), seg) })
	if !ok {
		return 0, fmt.Errorf("table %q has no segment %d, which one of its indexes names", e.t.Def.Name, seg)
	}
	return i, nil
}
