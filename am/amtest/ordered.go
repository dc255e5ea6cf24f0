package amtest

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"wideleaf/am"
	"wideleaf/catalog"
	"wideleaf/tid"
	"wideleaf/value"
)

// inOrder returns the rows that satisfy a condition on a column, and another one, as an ordered scan must yield them.
func inOrder(rows []row, column int, c *value.Ranges, also func(row) bool, backward bool) (want []am.Posting) {
	for _, r := range rows {
		v := r.vals[column]
		if c != nil && !c.Contains(v) || !also(r) {
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

// stream holds an ordered scan, a whole one or one that is broken off, against what it must yield. Rows that want a recheck
// must be there, and others may be among them.
func (b *bench) stream(got iter.Seq2[am.Posting, error], o *am.Order, want []am.Posting) {
	limit := len(want) + 1
	if b.r.IntN(3) == 0 {
		limit = 1 + b.r.IntN(limit)
	}
	wanted := map[am.Posting]bool{}
	for _, p := range want {
		wanted[p] = true
	}
	var list []am.Posting
	for p, err := range got {
		if err != nil {
			b.t.Fatal(err)
		}
		if p.Recheck {
			if p.Recheck = false; !wanted[p] {
				continue
			}
		}
		if list = append(list, p); len(list) == limit {
			break
		}
	}
	if want := want[:min(limit, len(want))]; !slices.Equal(list, want) {
		b.t.Fatalf("column %d of %+v in order %+v, where %s: %d rows, expected %d\n%v\n%v",
			o.Column, b.ix.Attach, *o, describe(am.Conditions{o.Ranges, o.Cond}), len(list), len(want), list, want)
	}
}

// drawRanges draws a condition on a column, or none.
func (b *bench) drawRanges(column int) *value.Ranges {
	if b.r.IntN(3) == 0 {
		return nil
	}
	x := b.ds[column].ranges(b.r)
	return &x
}

// ordered checks a run's ordered scans over each of its columns.
func (b *bench) ordered(ctx context.Context, run am.Run, rows []row) {
	for i, col := range b.ix.Columns {
		for _, backward := range []bool{false, true} {
			o := &am.Order{Column: i, Ranges: b.drawRanges(i), Backward: backward, To: -1}
			got, ok := run.(am.OrderedRun).Ordered(ctx, o)
			if must := col.Type.Width() != value.Var && (i == 0 || b.m.Abilities().AnyColumn); ok != must {
				b.t.Fatalf("ordered scan of column %d of type %s: %v", i, col.Type, ok)
			}
			if ok {
				b.stream(got, o, inOrder(rows, i, o.Ranges, func(row) bool { return true }, backward))
			}
		}
	}
}

// attach attaches columns to others, if the method can.
func attach(t *rapid.T, m am.Method, ix *catalog.Index) {
	if m.Abilities().Attach == 0 {
		return
	}
	ix.OrderByAttach = rapid.Bool().Draw(t, "order by attached")
	for i, c := range ix.Columns {
		for j := range ix.Columns {
			if i != j && c.Type.Width() != value.Var && rapid.Bool().Draw(t, "attach") {
				ix.Attach = append(ix.Attach, catalog.Attach{Attno: c.Attno, To: ix.Columns[j].Attno})
			}
		}
	}
}

// attached checks ordered scans over a column whose values stand with those of another, on which there is a condition.
func (b *bench) attached(ctx context.Context, run am.Run, rows []row, column, to int) {
	for n := range 4 {
		o := &am.Order{Column: column, Ranges: b.drawRanges(column), Backward: n&1 != 0, To: to}
		typ := b.ix.Columns[to].Type
		some := b.ds[to].value(b.r)
		if len(rows) > 0 && n < 3 {
			some = rows[b.r.IntN(len(rows))].vals[to]
		}
		var holds func(row) bool
		must := true
		if typ.Elem() != value.Unknown {
			if some.IsNull() {
				continue
			}
			o.Match = value.MatchArray(value.ArrayOp(b.r.IntN(4)), typ, some.Str())
			if b.r.IntN(8) == 0 {
				o.Match = o.Match.Complement()
			}
			holds = func(r row) bool { return !r.vals[to].IsNull() && o.Match.Holds(r.vals[to].Str()) }
			must = !o.Match.Not && o.Match.Items() > 0 && o.Match.Op == value.Contains && !o.Match.Null
		} else {
			x := value.Equal(some)
			if other := b.ds[to].value(b.r); b.r.IntN(2) == 0 {
				x = x.Union(value.Equal(other))
			}
			o.Cond = &x
			holds = func(r row) bool { return x.Contains(r.vals[to]) }
			// Two neighbours make one range.
			must = len(x.Words) == 0 || x.Words[0].Lo == x.Words[0].Hi
		}
		got, ok := run.(am.OrderedRun).Ordered(ctx, o)
		if must && !ok {
			b.t.Fatalf("no ordered scan of column %d attached to %d by %+v", column, to, *o)
		}
		if ok {
			b.stream(got, o, inOrder(rows, column, o.Ranges, holds, o.Backward))
		}
	}
}

// damagedAttached scans a damaged run in order of an attached column: that ends, with an error that says so or without.
func (b *bench) damagedAttached(ctx context.Context, run am.Run, column, to int, rows []row) {
	v := rows[b.r.IntN(len(rows))].vals[to]
	o := &am.Order{Column: column, Backward: b.r.IntN(2) == 0, To: to}
	if typ := b.ix.Columns[to].Type; typ.Elem() != value.Unknown && !v.IsNull() {
		o.Match = value.MatchArray([]value.ArrayOp{value.Contains, value.Overlaps}[b.r.IntN(2)], typ, v.Str())
	} else {
		c := value.Equal(v)
		o.Cond = &c
	}
	scan, ok := run.(am.OrderedRun).Ordered(ctx, o)
	if !ok {
		return
	}
	n := 0
	for _, err := range scan {
		expectCorrupt(b.t, err)
		if n++; n > 1<<20 {
			b.t.Fatal("ordered scan doesn't end")
		}
	}
}

// similar checks what a run counts of the items that arrays have in common with another.
func (b *bench) similar(ctx context.Context, run am.Run, rows []row) {
	scored, ok := run.(am.ScoredRun)
	for column, c := range b.ix.Columns {
		if !ok || c.Type.Elem() == value.Unknown {
			continue
		}
		some := b.ds[column].value(b.r)
		if len(rows) > 0 && b.r.IntN(4) > 0 {
			some = rows[b.r.IntN(len(rows))].vals[column]
		}
		if some.IsNull() {
			continue
		}
		m := value.MatchArray(value.Overlaps, c.Type, some.Str())
		got := map[tid.TID][2]int{}
		exact, err := scored.Similar(ctx, column, m, func(t tid.TID, common, length int) error {
			if _, twice := got[t]; twice {
				b.t.Fatalf("row %s is scored twice", t)
			}
			got[t] = [2]int{common, length}
			return nil
		})
		if err != nil {
			b.t.Fatal(err)
		}
		if !exact {
			if len(got) > 0 {
				b.t.Fatalf("items can't be told apart, but %d rows are scored", len(got))
			}
			if m.Items() == len(m.Codes) && b.m.Abilities().Attach > 0 {
				b.t.Fatal("numbers aren't told apart")
			}
			continue
		}
		want := map[tid.TID][2]int{}
		asked := itemSet(some)
		for _, r := range rows {
			has := itemSet(r.vals[column])
			common := 0
			for x := range has {
				if asked[x] {
					common++
				}
			}
			if common > 0 {
				want[r.tid] = [2]int{common, len(has)}
			}
		}
		if !maps.Equal(got, want) {
			b.t.Fatalf("items in common with %s: %v, expected %v", some, got, want)
		}
	}
}

// itemSet returns the different items of an array that aren't NULL.
func itemSet(v value.Value) map[string]bool {
	set := map[string]bool{}
	for it := v.Items(); it.Next(); {
		if !it.Null {
			set[it.Value().String()] = true
		}
	}
	return set
}
