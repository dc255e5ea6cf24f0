package amtest

import (
	"cmp"
	"context"
	"slices"

	"wideleaf/am"
	"wideleaf/value"
)

// inOrder returns the rows that satisfy a condition on a column as an ordered scan must yield them.
func inOrder(rows []row, column int, c *value.Ranges, backward bool) (want []am.Posting) {
	for _, r := range rows {
		v := r.vals[column]
		if c != nil && !c.Contains(v) {
			continue
		}
		p := am.Posting{TID: r.tid, Null: v.IsNull()}
		if !p.Null {
			p.Code = value.KeyCode(v.Type(), v.Code())
		}
		want = append(want, p)
	}
	slices.SortFunc(want, comparePostings)
	if backward {
		slices.Reverse(want)
	}
	return want
}

func comparePostings(a, b am.Posting) int {
	switch {
	case a.Null != b.Null && a.Null:
		return 1
	case a.Null != b.Null:
		return -1
	}
	return cmp.Or(cmp.Compare(a.Code, b.Code), cmp.Compare(a.TID, b.TID))
}

// ordered checks a run's ordered scans over each of its columns, both ways, whole ones and ones that are broken off.
func (b *bench) ordered(ctx context.Context, run am.Run, rows []row) {
	for i, col := range b.ix.Columns {
		var c *value.Ranges
		if b.r.IntN(3) > 0 {
			x := b.ds[i].ranges(b.r)
			c = &x
		}
		for _, backward := range []bool{false, true} {
			got, ok := run.(am.OrderedRun).Ordered(ctx, &am.Order{Column: i, Ranges: c, Backward: backward, To: -1})
			if must := col.Type.Width() != value.Var && (i == 0 || b.m.Abilities().AnyColumn); ok != must {
				b.t.Fatalf("ordered scan of column %d of type %s: %v", i, col.Type, ok)
			}
			if !ok {
				continue
			}
			want := inOrder(rows, i, c, backward)
			limit := len(want) + 1
			if b.r.IntN(3) == 0 {
				limit = 1 + b.r.IntN(limit)
			}
			var list []am.Posting
			for p, err := range got {
				if err != nil {
					b.t.Fatal(err)
				}
				if list = append(list, p); len(list) == limit {
					break
				}
			}
			if want := want[:min(limit, len(want))]; !slices.Equal(list, want) {
				b.t.Fatalf("column %d in order (backward %v) of %s: %d rows, expected %d\n%v\n%v",
					i, backward, describe(am.Conditions{c}), len(list), len(want), list, want)
			}
		}
	}
}
