package inverted

import (
	"context"
	"iter"

	"wideleaf/am"
	"wideleaf/value"
)

// Ordered yields rows in the order of a column's tree.
func (g *run) Ordered(ctx context.Context, o *am.Order) (rows iter.Seq2[am.Posting, error], ok bool) {
	if o.To >= 0 || g.ix.Columns[o.Column].Type.Width() == value.Var {
		return nil, false
	}
	return func(yield func(am.Posting, error) bool) {
		d, err := g.directory()
		if err != nil {
			yield(am.Posting{}, err)
			return
		}
		t := d.tree(o.Column, normalKey)
		if t == nil {
			return
		}
		if rows, ok := t.Ordered(ctx, &am.Order{Ranges: o.Ranges, Backward: o.Backward, To: -1}); ok {
			rows(yield)
		}
	}, true
}
