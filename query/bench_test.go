package query

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"

	"wideleaf/am"
	"wideleaf/am/amtest"
	"wideleaf/am/btree"
	"wideleaf/catalog"
	"wideleaf/heap"
	"wideleaf/page"
	"wideleaf/page/pagetest"
	"wideleaf/tid"
	"wideleaf/value"
)

// The benchmark's table: 2 M rows of two int4 columns with random values in [0, 2e9), a btree on each, in 31 segments
// and 10 runs (three of 8 segments and 7 of one), all pages in memory.
const (
	benchRows    = 2_000_000
	benchColumns = 2
)

var benchTable = sync.OnceValue(func() *Table {
	def := &catalog.Table{ID: 1, Name: "a"}
	for c := range benchColumns {
		def.Columns = append(def.Columns, catalog.Column{Attno: c + 1, Name: "c" + string(rune('1'+c)), Type: value.Int4})
	}
	cache := page.NewCache(64 << 20)
	typeOf := func(int) value.Type { return value.Int4 }
	t := &Table{Def: def}
	rnd := rand.New(rand.NewPCG(1, 2))
	built := make([][]am.Run, benchColumns)
	for c := range benchColumns {
		t.Indexes = append(t.Indexes, Index{
			Def:    &catalog.Index{ID: uint32(10 + c), TableID: 1, Method: "btree", Columns: []catalog.IndexColumn{{Attno: c + 1, Type: value.Int4}}},
			Method: btree.Method,
		})
	}
	for seg := uint64(0); seg<<16 < benchRows; seg++ {
		n := min(tid.SegmentRows, benchRows-int(seg<<16))
		var cols []heap.SegmentColumn
		for c := range benchColumns {
			v := new(value.Vector)
			v.Reset(value.Int4)
			for range n {
				v.Append(value.OfInt4(rnd.Int32N(2_000_000_000)))
			}
			cols = append(cols, heap.SegmentColumn{Attno: c + 1, Values: v})
			ix := &t.Indexes[c]
			o := page.Owner{Relation: ix.Def.ID, Part: seg}
			pages := pagetest.New(o)
			meta := must(ix.Method.Build(ix.Def, o, amtest.Source(tid.New(seg, 0), nil, v), pages, goOn))
			run := must(ix.Method.Open(ix.Def, meta, am.Span{First: seg, End: seg + 1}, pages, cache))
			built[c] = append(built[c], run)
		}
		o := page.Owner{Relation: 1, Part: seg}
		pages := pagetest.New(o)
		meta := must(heap.WriteSegment(o, columnsOf(cols), n, pages, goOn))
		s := must(heap.OpenSegment(meta, typeOf, pages, cache))
		t.Sources = append(t.Sources, s)
	}
	t.Flushed = len(t.Sources)
	for c, runs := range built {
		ix := &t.Indexes[c]
		for len(runs) > 0 {
			n := 1
			if len(runs) > 8 {
				n = 8
			}
			if n == 1 {
				ix.Runs, runs = append(ix.Runs, runs[0]), runs[1:]
				continue
			}
			span := am.Span{First: runs[0].Span().First, End: runs[n-1].Span().End}
			o := page.Owner{Relation: ix.Def.ID, Part: 1000 + span.First}
			pages := pagetest.New(o)
			meta := must(ix.Method.Merge(ix.Def, o, runs[:n], span, nil, pages, goOn))
			run := must(ix.Method.Open(ix.Def, meta, span, pages, cache))
			ix.Runs, runs = append(ix.Runs, run), runs[n:]
		}
	}
	return t
})

func benchAnd(a, b int32) *Pred {
	return &Pred{Kind: And, Args: []*Pred{int4Below(1, a), int4Below(2, b)}}
}

func BenchmarkCount(b *testing.B) {
	t := benchTable()
	for _, c := range []struct {
		name string
		p    *Pred
	}{
		{"case1", benchAnd(100_000, 10_000_000)},
		{"case2", benchAnd(100_000_000, 100_000_000)},
		{"case3", int4Below(1, 100_000_000)},
		{"halves", benchAnd(1_000_000_000, 1_000_000_000)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Count(context.Background(), t, c.p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkWholeTable(b *testing.B) {
	t := benchTable()
	every := &Pred{Kind: True}
	for _, agg := range []Aggregate{{Func: Sum, Attno: 2}, {Func: Avg, Attno: 2}, {Func: Max, Attno: 2}, {Func: CountOf, Attno: 2, Distinct: true}} {
		b.Run(agg.Func.String(), func(b *testing.B) {
			for b.Loop() {
				if _, err := Aggregates(context.Background(), t, every, []Aggregate{agg}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	rows := func(name string, spec RowsSpec, want int) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				n := 0
				for _, err := range Rows(context.Background(), t, spec) {
					if err != nil {
						b.Fatal(err)
					}
					n++
				}
				if n != want {
					b.Fatal(n)
				}
			}
		})
	}
	byC2 := []OrderKey{{Attno: 2, Desc: true, NullsFirst: true}}
	rows("top10", RowsSpec{Pred: every, Columns: []int{1, 2, 0}, OrderBy: byC2, Limit: 10}, 10)
	rows("first10", RowsSpec{Pred: every, Columns: []int{1, 2, 0}, Limit: 10}, 10)
	rows("all", RowsSpec{Pred: every, Columns: []int{1, 2}, Limit: -1}, benchRows)
	rows("sorted", RowsSpec{Pred: every, Columns: []int{1, 2}, OrderBy: byC2, Limit: -1}, benchRows)
}

// BenchmarkCosts measures the constants of choose.go.
func BenchmarkCosts(b *testing.B) {
	t := benchTable()
	ctx := context.Background()
	scan := func(b *testing.B, p *Pred) {
		run := t.Indexes[0].Runs[0]
		cond := am.Conditions{&p.Ranges}
		est, err := run.Estimate(cond)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			tb := tid.NewBuilder(0, 31)
			if _, err := run.Bitmap(ctx, cond, tb); err != nil {
				b.Fatal(err)
			}
			tb.Set().Release()
		}
		per := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
		b.ReportMetric(est.Rows, "entries")
		b.ReportMetric(est.Pages, "leaves")
		b.ReportMetric(per/est.Rows, "ns/entry")
		b.ReportMetric(per/est.Pages, "ns/leaf")
	}
	b.Run("index/few", func(b *testing.B) { scan(b, int4Below(1, 100_000)) })
	b.Run("index/many", func(b *testing.B) { scan(b, int4Below(1, 100_000_000)) })
	b.Run("estimate", func(b *testing.B) {
		cond := am.Conditions{&int4Below(1, 100_000_000).Ranges}
		for b.Loop() {
			if _, err := t.Indexes[0].Runs[0].Estimate(cond); err != nil {
				b.Fatal(err)
			}
		}
	})
	sel := func(b *testing.B, cand func(*tid.Bits), pages int) {
		p := int4Below(1, 100_000_000)
		var in, out tid.Bits
		cand(&in)
		for b.Loop() {
			if err := t.Sources[0].Select(ctx, 1, p.Ranges, in[:], out[:]); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*pages), "ns/page")
	}
	b.Run("heap/one", func(b *testing.B) { sel(b, func(in *tid.Bits) { in[500] = 4 }, 1) })
	b.Run("heap/all", func(b *testing.B) {
		sel(b, func(in *tid.Bits) { in.SetFirst(tid.SegmentRows) }, int(columnPages(tid.SegmentRows, value.Int4)))
	})
}
