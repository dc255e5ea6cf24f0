package entrytree

import (
	"context"
	"iter"
	"slices"

	"wideleaf/am"
	"wideleaf/tid"
	"wideleaf/value"
)

var (
	_ am.OrderedRun = (*fixedRun)(nil)
	_ am.OrderedRun = (*bytesRun)(nil)
)

// orders reports whether a tree keeps an order: that of its first column, if its values are codes.
func (t *tree) orders(o *am.Order) bool {
	return o.To < 0 && o.Column == 0 && t.ix.Columns[0].Type.Width() != value.Var
}

// Ordered yields rows in the order of the codes: as the leaves have them, or backward.
func (r *fixedRun) Ordered(ctx context.Context, o *am.Order) (rows iter.Seq2[am.Posting, error], ok bool) {
	if !r.orders(o) {
		return nil, false
	}
	var xs []stretch
	r.stretches(am.Conditions{o.Ranges}, func(x stretch) bool {
		xs = append(xs, x)
		return true
	})
	if o.Backward {
		slices.Reverse(xs)
	}
	return func(yield func(am.Posting, error) bool) {
		v := &codeView{r: r}
		w := &walker{t: &r.tree, v: v, ctx: ctx}
		base := first(r.span)
		visit := func() (bool, error) {
			p := am.Posting{TID: base + tid.TID(v.tids[w.i]), Null: v.b.Null}
			if !p.Null {
				p.Code = v.code(w.i)
			}
			return yield(p, nil), nil
		}
		if err := w.all(xs, func(x stretch) (bool, error) { return w.walk(x, o.Backward, visit) }); err != nil {
			yield(am.Posting{}, err)
		}
	}, true
}

// Ordered yields rows in the order of the first column. The tree has those of one value in the order of its other columns,
// so they are gathered first: 4 bytes a row.
func (r *bytesRun) Ordered(ctx context.Context, o *am.Order) (rows iter.Seq2[am.Posting, error], ok bool) {
	if !r.orders(o) {
		return nil, false
	}
	col := &r.ix.Columns[0]
	ranges := value.NotNull(col.Type)
	ranges.Nulls = true
	if o.Ranges != nil {
		ranges = *o.Ranges
	}
	back := o.Backward != col.Desc // through the leaves
	xs := columnStretches(col, &value.Ranges{Words: ranges.Words}, nil)
	if back {
		slices.Reverse(xs)
	}
	if ranges.Nulls {
		nulls := columnStretches(col, &value.Ranges{Nulls: true}, nil)
		if xs = append(xs, nulls...); o.Backward {
			xs = append(nulls, xs[:len(xs)-1]...)
		}
	}
	return func(yield func(am.Posting, error) bool) {
		v := &keyView{r: r}
		w := &walker{t: &r.tree, v: v, ctx: ctx}
		var alike []uint32 // TIDs of the rows that are as p
		var p am.Posting
		base := first(r.span)
		flush := func() bool {
			slices.Sort(alike)
			if o.Backward {
				slices.Reverse(alike)
			}
			for _, t := range alike {
				p.TID = base + tid.TID(t)
				if !yield(p, nil) {
					return false
				}
			}
			alike = alike[:0]
			return true
		}
		visit := func() (bool, error) {
			v.s.key = v.b.Key(v.s.key[:0], w.i)
			x, _, _, err := decodeColumn(col, v.s.key, nil)
			if err != nil {
				return false, r.corrupt(w.leaf, "%v", err)
			}
			if (x.Code() != p.Code || x.IsNull() != p.Null) && len(alike) > 0 && !flush() {
				return false, nil
			}
			p.Code, p.Null = x.Code(), x.IsNull()
			alike = append(alike, v.live[w.i])
			return true, nil
		}
		err := w.all(xs, func(x stretch) (bool, error) {
			more, err := w.walk(x, back, visit)
			return more && flush(), err
		})
		if err != nil {
			yield(am.Posting{}, err)
		}
	}, true
}
