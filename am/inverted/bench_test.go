package inverted

import (
	"context"
	"math/rand/v2"
	"testing"

	"wideleaf/am"
	"wideleaf/am/amtest"
	"wideleaf/am/btree"
	"wideleaf/catalog"
	"wideleaf/page"
	"wideleaf/page/pagetest"
	"wideleaf/tid"
	"wideleaf/value"
)

func noYield() error { return nil }

// column kinds of the benchmarks: the load's random int4, and flags that so many of a thousand rows have.
func vector(kind int, r *rand.Rand) *value.Vector {
	v := &value.Vector{Type: value.Int4}
	if kind > 0 {
		v.Type = value.Bool
	}
	for range tid.SegmentRows {
		switch {
		case kind == 0:
			v.AppendCode(uint64(value.Int4Code(int32(r.IntN(2_000_000_000)))))
		case r.IntN(1000) < kind:
			v.AppendCode(1)
		default:
			v.AppendCode(0)
		}
	}
	return v
}

var kinds = map[string]int{"random": 0, "flag50%": 500, "flag5%": 50, "flag0.5%": 5}

func build(tb testing.TB, m am.Method, kind, segments, columns int) (am.Run, *pagetest.Mem) {
	tb.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	ix := &catalog.Index{ID: 7, Name: "i"}
	for c := range columns {
		ix.Columns = append(ix.Columns, catalog.IndexColumn{Attno: c + 1, Type: vector(kind, r).Type})
	}
	open := func(mem *pagetest.Mem, meta am.RunMeta, span am.Span) am.Run {
		run, err := m.Open(ix, meta, span, mem, page.NewCache(1<<20))
		if err != nil {
			tb.Fatal(err)
		}
		return run
	}
	var runs []am.Run
	var mem *pagetest.Mem
	for s := range uint64(segments) {
		mem = pagetest.New(page.Owner{Relation: 7, Part: s + 1})
		var cols []*value.Vector
		for range columns {
			cols = append(cols, vector(kind, r))
		}
		meta, err := m.Build(ix, mem.Owner(), amtest.Source(tid.New(s, 0), nil, cols...), mem, noYield)
		if err != nil {
			tb.Fatal(err)
		}
		runs = append(runs, open(mem, meta, am.Span{First: s, End: s + 1}))
	}
	if segments == 1 {
		return runs[0], mem
	}
	mem = pagetest.New(page.Owner{Relation: 7, Part: 99})
	span := am.Span{First: 0, End: uint64(segments)}
	meta, err := m.Merge(ix, mem.Owner(), runs, span, nil, mem, noYield)
	if err != nil {
		tb.Fatal(err)
	}
	return open(mem, meta, span), mem
}

// What an entry takes: the load's columns about as in a btree, flags about a fifth of it or less.
func TestBudget(t *testing.T) {
	for name, kind := range kinds {
		for _, segments := range []int{1, 8} {
			_, own := build(t, gin, kind, segments, 1)
			_, other := build(t, btree.Method, kind, segments, 1)
			share := float64(own.Bytes()) / float64(other.Bytes())
			t.Logf("%s, %d segments: %.3f bytes an entry, %.3f of a btree", name, segments,
				float64(own.Bytes())/float64(segments*tid.SegmentRows), share)
			if kind == 0 && share > 1.01 || kind > 0 && share > 0.22 {
				t.Errorf("%s, %d segments: %.3f of a btree", name, segments, share)
			}
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	for name, kind := range kinds {
		for _, m := range []am.Method{btree.Method, gin} {
			b.Run(name+"/"+m.Name(), func(b *testing.B) {
				v := vector(kind, rand.New(rand.NewPCG(1, 2)))
				ix := &catalog.Index{ID: 7, Name: "i", Columns: []catalog.IndexColumn{{Attno: 1, Type: v.Type}}}
				for b.Loop() {
					mem := page.NewMemory(page.Owner{})
					if _, err := m.Build(ix, page.Owner{}, amtest.Source(0, nil, v), mem, noYield); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/tid.SegmentRows, "ns/entry")
			})
		}
	}
}

// Two common flags of 31 segments ANDed, what a table of two million rows has.
func BenchmarkAnd(b *testing.B) {
	for name, kind := range kinds {
		if kind == 0 {
			continue
		}
		b.Run(name, func(b *testing.B) {
			run, _ := build(b, gin, kind, 31, 2)
			yes := &value.Ranges{Words: []value.Interval{{Lo: 1, Hi: 1}}}
			b.ReportAllocs()
			for b.Loop() {
				bd := tid.NewBuilder(0, 31)
				if _, err := run.Bitmap(context.Background(), am.Conditions{yes, yes}, bd); err != nil {
					b.Fatal(err)
				}
				bd.Set().Release()
			}
		})
	}
}
