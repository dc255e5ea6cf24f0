package btree

import (
	"context"
	"math/rand/v2"
	"testing"

	"wideleaf/am"
	"wideleaf/am/amtest"
	"wideleaf/catalog"
	"wideleaf/page"
	"wideleaf/page/pagetest"
	"wideleaf/tid"
	"wideleaf/value"
)

func noYield() error { return nil }

func singleIndex(t value.Type) *catalog.Index {
	return &catalog.Index{ID: 7, Name: "i", Method: "btree", Columns: []catalog.IndexColumn{{Attno: 1, Type: t}}}
}

// randomVector has the values of the project's load: int4 from 0 to 2e9; int8 and float8 of all sizes.
func randomVector(t value.Type, n int, r *rand.Rand) *value.Vector {
	v := &value.Vector{Type: t}
	for range n {
		switch t {
		case value.Int4:
			v.AppendCode(uint64(value.Int4Code(int32(r.IntN(2_000_000_000)))))
		case value.Int8:
			v.AppendCode(r.Uint64())
		case value.Float8:
			v.AppendCode(value.Float8Code(r.NormFloat64()))
		case value.Bool:
			v.AppendCode(uint64(r.IntN(2)))
		case value.Text:
			b := make([]byte, 12)
			for i := range b {
				b[i] = 'a' + byte(r.IntN(26))
			}
			v.Append(value.OfText(string(b)))
		}
	}
	return v
}

func buildRun(tb testing.TB, ix *catalog.Index, segment uint64, cols ...*value.Vector) (am.Run, *pagetest.Mem) {
	tb.Helper()
	o := page.Owner{Relation: ix.ID, Part: segment + 1}
	mem := pagetest.New(o)
	meta, err := Method.Build(ix, o, amtest.Source(tid.New(segment, 0), nil, cols...), mem, noYield)
	if err != nil {
		tb.Fatal(err)
	}
	r, err := Method.Open(ix, meta, am.Span{First: segment, End: segment + 1}, mem, page.NewCache(1<<20))
	if err != nil {
		tb.Fatal(err)
	}
	return r, mem
}

type nullWriter struct{ n, bytes int }

func (w *nullWriter) WritePage(p []byte) error { w.n++; w.bytes += len(p); return nil }

var benchTypes = []value.Type{value.Int4, value.Int8, value.Float8, value.Bool, value.Text}

func BenchmarkBuild(b *testing.B) {
	for _, t := range benchTypes {
		b.Run(t.String(), func(b *testing.B) {
			ix := singleIndex(t)
			v := randomVector(t, tid.SegmentRows, rand.New(rand.NewPCG(1, 2)))
			var w nullWriter
			for b.Loop() {
				w = nullWriter{}
				if _, err := Method.Build(ix, page.Owner{}, amtest.Source(0, nil, v), &w, noYield); err != nil {
					b.Fatal(err)
				}
			}
			perEntry(b, tid.SegmentRows)
			b.ReportMetric(float64(w.bytes)/tid.SegmentRows, "B/entry")
		})
	}
}

func perEntry(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/entry")
}

func benchRuns(b *testing.B, t value.Type, n int) (*catalog.Index, []am.Run) {
	ix := singleIndex(t)
	r := rand.New(rand.NewPCG(1, 2))
	var runs []am.Run
	for s := range n {
		run, _ := buildRun(b, ix, uint64(s), randomVector(t, tid.SegmentRows, r))
		runs = append(runs, run)
	}
	return ix, runs
}

func BenchmarkMerge8(b *testing.B) {
	for _, t := range benchTypes {
		b.Run(t.String(), func(b *testing.B) {
			ix, runs := benchRuns(b, t, 8)
			var w nullWriter
			for b.Loop() {
				w = nullWriter{}
				if _, err := Method.Merge(ix, page.Owner{}, runs, am.Span{First: 0, End: 8}, nil, &w, noYield); err != nil {
					b.Fatal(err)
				}
			}
			perEntry(b, 8*tid.SegmentRows)
			b.ReportMetric(float64(w.bytes)/8/tid.SegmentRows, "B/entry")
		})
	}
}

func BenchmarkBitmap5Percent(b *testing.B) {
	for _, n := range []int{1, 8} {
		b.Run(map[int]string{1: "segment", 8: "merged8"}[n], func(b *testing.B) {
			run := mergedRun(b, value.Int4, n)
			c := am.Conditions{{Words: []value.Interval{{Lo: uint64(value.Int4Code(1e9)), Hi: uint64(value.Int4Code(1.1e9))}}}}
			var entries int
			for b.Loop() {
				bd := tid.NewBuilder(0, uint64(n))
				if _, err := run.Bitmap(context.Background(), c, bd); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				entries = int(bd.Set().Count())
				b.StartTimer()
			}
			perEntry(b, entries)
		})
	}
}

func mergedRun(b *testing.B, t value.Type, n int) am.Run {
	ix, runs := benchRuns(b, t, n)
	o := page.Owner{Relation: 1, Part: 1}
	mem := pagetest.New(o)
	span := am.Span{First: 0, End: uint64(n)}
	meta, err := Method.Merge(ix, o, runs, span, nil, mem, noYield)
	if err != nil {
		b.Fatal(err)
	}
	run, err := Method.Open(ix, meta, span, mem, page.NewCache(1<<20))
	if err != nil {
		b.Fatal(err)
	}
	return run
}

func BenchmarkCount(b *testing.B) {
	run := mergedRun(b, value.Int4, 8)
	c := am.Conditions{{Words: []value.Interval{{Lo: uint64(value.Int4Code(1e8)), Hi: uint64(value.Int4Code(1.1e9))}}}}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := run.(am.Counter).Count(c); err != nil {
			b.Fatal(err)
		}
	}
}
