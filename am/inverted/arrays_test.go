package inverted

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"wideleaf/am"
	"wideleaf/am/amtest"
	"wideleaf/catalog"
	"wideleaf/page"
	"wideleaf/page/pagetest"
	"wideleaf/tid"
	"wideleaf/value"
)

// drawArray makes an array of few items of different frequencies, among them repeated ones and NULLs.
func drawArray(typ value.Type, distinct int, r *rand.Rand) value.Value {
	if r.IntN(20) == 0 {
		return value.Null(typ)
	}
	var items []value.Value
	for range r.IntN(5) {
		n := int64(r.IntN(1 + r.IntN(distinct)))
		switch {
		case r.IntN(15) == 0:
			items = append(items, value.Null(typ.Elem()))
		case typ == value.Int8Array:
			items = append(items, value.OfInt8(n-2))
		default:
			items = append(items, value.OfText(fmt.Sprintf("tag%d", n)))
		}
	}
	return value.OfArray(typ, items)
}

type arrayRow struct {
	t tid.TID
	v value.Value
}

// The model: value.ArrayMatch on each row.
func TestArrays(t *testing.T) {
	for _, typ := range []value.Type{value.Int8Array, value.TextArray} {
		for _, prefix := range []int{prefixBytes, 4} {
			t.Run(fmt.Sprint(typ, prefix), func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) { arrays(t, typ, newMethod("rum", kindsOfGin, true, 150, prefix)) })
			})
		}
	}
}

func arrays(t *rapid.T, typ value.Type, m method) {
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	distinct := rapid.SampledFrom([]int{1, 5, 40, 3000}).Draw(t, "distinct")
	ix := &catalog.Index{ID: 7, Name: "i", Columns: []catalog.IndexColumn{{Attno: 1, Type: value.Int4}, {Attno: 2, Type: typ}}}
	if rapid.Bool().Draw(t, "alone") {
		ix.Columns = ix.Columns[1:]
	}
	column := len(ix.Columns) - 1
	open := func(mem *pagetest.Mem, meta am.RunMeta, span am.Span) am.Run {
		run, err := m.Open(ix, meta, span, mem, page.NewCache(1<<20))
		if err != nil {
			t.Fatal(err)
		}
		return run
	}
	check := func(run am.Run, rows []arrayRow) {
		if err := run.Check(context.Background()); err != nil {
			t.Fatal(err)
		}
		if n := run.Meta().Rows; n != uint64(len(rows)) {
			t.Fatalf("run is of %d rows, expected %d", n, len(rows))
		}
		for op := value.Contains; op <= value.OverlapsOrNull; op++ {
			a := drawArray(typ, distinct, r)
			match := value.MatchArray(op, typ, a.Str())
			if r.IntN(5) == 0 {
				match = match.Complement()
			}
			holds := func(v value.Value) bool { return !v.IsNull() && match.Holds(v.Str()) }
			compare(t, match.String(), run, rows, holds, func(b *tid.Builder) (bool, error) {
				return run.(am.ArrayRun).BitmapArray(context.Background(), column, match, b)
			})
			if e, err := run.(am.ArrayRun).EstimateArray(column, match); err != nil || e.Rows < 0 || e.Rows > float64(len(rows)) {
				t.Fatalf("%s: estimate is %+v, %v", match, e, err)
			}
			x := value.Ranges{Nulls: r.IntN(2) == 0}
			if r.IntN(3) > 0 {
				x.Strings = []value.StringInterval{{Lo: a.Str(), Hi: a.Str(), HiInf: r.IntN(2) == 0}}
			}
			c := make(am.Conditions, column+1)
			c[column] = &x
			compare(t, fmt.Sprint(x), run, rows, x.Contains, func(b *tid.Builder) (bool, error) {
				return run.Bitmap(context.Background(), c, b)
			})
		}
		compare(t, "everything", run, rows, func(value.Value) bool { return true }, func(b *tid.Builder) (bool, error) {
			return run.Bitmap(context.Background(), nil, b)
		})
	}
	var runs []am.Run
	var all []arrayRow
	for s := range uint64(rapid.IntRange(1, 4).Draw(t, "segments")) {
		v, ids := &value.Vector{Type: typ}, &value.Vector{Type: value.Int4}
		var rows []arrayRow
		for i := range r.IntN(1500) {
			a := drawArray(typ, distinct, r)
			v.Append(a)
			ids.AppendCode(uint64(i))
			rows = append(rows, arrayRow{tid.New(s, uint16(i)), a})
		}
		cols := []*value.Vector{ids, v}[1-column:]
		mem := pagetest.New(page.Owner{Relation: 7, Part: s + 1})
		meta, err := m.Build(ix, mem.Owner(), amtest.Source(tid.New(s, 0), nil, cols...), mem, noYield)
		if err != nil {
			t.Fatal(err)
		}
		run := open(mem, meta, am.Span{First: s, End: s + 1})
		check(run, rows)
		runs, all = append(runs, run), append(all, rows...)
	}
	var dead func(tid.TID) bool
	if r.IntN(2) == 0 {
		dead = func(t tid.TID) bool { return t%7 == 3 }
		all = slices.DeleteFunc(all, func(x arrayRow) bool { return dead(x.t) })
	}
	mem := pagetest.New(page.Owner{Relation: 7, Part: 99})
	span := am.Span{First: 0, End: uint64(len(runs))}
	meta, err := m.Merge(ix, mem.Owner(), runs, span, dead, mem, noYield)
	if err != nil {
		t.Fatal(err)
	}
	check(open(mem, meta, span), all)
}

// compare holds what a run says against the rows for which a condition holds.
func compare(t *rapid.T, what string, run am.Run, rows []arrayRow, holds func(value.Value) bool, bitmap func(*tid.Builder) (bool, error)) {
	b := tid.NewBuilder(run.Span().First, run.Span().End)
	recheck, err := bitmap(b)
	if err != nil {
		t.Fatal(err)
	}
	s := b.Set()
	var want []tid.TID
	for _, x := range rows {
		if holds(x.v) {
			want = append(want, x.t)
			if !s.Contains(x.t) {
				t.Fatalf("%s: lacks %s, which is %s", what, x.t, x.v)
			}
		}
	}
	if got := slices.Collect(s.All()); !recheck && !slices.Equal(got, want) {
		t.Fatalf("%s: %d rows, expected %d", what, len(got), len(want))
	}
}
