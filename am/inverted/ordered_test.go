package inverted

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"wideleaf/am"
	"wideleaf/am/amtest"
	"wideleaf/am/entrytree"
	"wideleaf/catalog"
	"wideleaf/page"
	"wideleaf/page/pagetest"
	"wideleaf/tid"
	"wideleaf/value"
)

var rumLike = newMethod("rum", kindsOfGin, true, entrytree.SliceEntries, prefixBytes)

type taggedRow struct {
	am.Posting
	tags uint // a bit each
}

// tagged builds a run of segments whose rows have the tags 0 to 9, each in so many of a thousand rows, and a moment, or a
// flag if few is true, which is attached to them.
func tagged(tb testing.TB, segments int, few bool, share [10]int) (am.Run, *pagetest.Mem, []taggedRow) {
	tb.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	ix := &catalog.Index{ID: 7, Name: "i", Columns: []catalog.IndexColumn{{Attno: 1, Type: value.Timestamptz}, {Attno: 2, Type: value.TextArray}},
		Attach: []catalog.Attach{{Attno: 1, To: 2}}, OrderByAttach: true}
	open := func(mem *pagetest.Mem, meta am.RunMeta, span am.Span) am.Run {
		run, err := rumLike.Open(ix, meta, span, mem, page.NewCache(8<<20))
		if err != nil {
			tb.Fatal(err)
		}
		return run
	}
	var runs []am.Run
	var rows []taggedRow
	for s := range uint64(segments) {
		ts, tags := &value.Vector{Type: value.Timestamptz}, &value.Vector{Type: value.TextArray}
		for at := range tid.SegmentRows {
			row := taggedRow{Posting: am.Posting{TID: tid.New(s, uint16(at))}}
			var items []string
			for i, n := range share {
				if r.IntN(1000) < n {
					items = append(items, fmt.Sprint("tag", i))
					row.tags |= 1 << i
				}
			}
			tags.Append(value.OfTextArray(items))
			moment := value.OfTimestamptz(1.6e15 + r.Int64N(1e14))
			if few {
				moment = value.OfTimestamptz(int64(r.IntN(2)))
			}
			if row.Null = r.IntN(50) == 0; row.Null {
				ts.AppendNull()
			} else {
				ts.Append(moment)
				row.Code = moment.Code()
			}
			rows = append(rows, row)
		}
		mem := pagetest.New(page.Owner{Relation: 7, Part: s + 1})
		meta, err := rumLike.Build(ix, mem.Owner(), amtest.Source(tid.New(s, 0), nil, ts, tags), mem, noYield)
		if err != nil {
			tb.Fatal(err)
		}
		runs = append(runs, open(mem, meta, am.Span{First: s, End: s + 1}))
	}
	mem := pagetest.New(page.Owner{Relation: 7, Part: 99})
	span := am.Span{First: 0, End: uint64(segments)}
	meta, err := rumLike.Merge(ix, mem.Owner(), runs, span, nil, mem, noYield)
	if err != nil {
		tb.Fatal(err)
	}
	return open(mem, meta, span), mem, rows
}

// Long lists against rows sorted by hand: of two or three tags, or of any of them, with a condition on the attached value.
func TestOrderedLong(t *testing.T) {
	for _, few := range []bool{false, true} {
		run, _, rows := tagged(t, 2, few, [10]int{500, 50, 5, 200, 100, 2, 2})
		if err := run.Check(context.Background()); err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(rows, func(a, b taggedRow) int {
			nulls := func(r taggedRow) int { return map[bool]int{true: 1}[r.Null] }
			return cmp.Or(nulls(a)-nulls(b), cmp.Compare(a.Code, b.Code), cmp.Compare(a.TID, b.TID))
		})
		r := rand.New(rand.NewPCG(3, 4))
		for range 60 {
			o := &am.Order{Backward: r.IntN(2) == 0, To: 1}
			var tags []string
			mask := uint(0)
			for len(tags) < 1+r.IntN(3) {
				i := r.IntN(7)
				tags, mask = append(tags, fmt.Sprint("tag", i)), mask|1<<i
			}
			op := []value.ArrayOp{value.Contains, value.Contains, value.Overlaps}[r.IntN(3)]
			o.Match = value.MatchArray(op, value.TextArray, value.OfTextArray(tags).Str())
			if r.IntN(2) == 0 {
				x := value.OfIntervals(value.Interval{Lo: rows[r.IntN(len(rows))].Code, Hi: rows[r.IntN(len(rows))].Code},
					value.Interval{Lo: rows[r.IntN(len(rows))].Code, Hi: rows[r.IntN(len(rows))].Code})
				x.Nulls = r.IntN(2) == 0
				o.Ranges = &x
			}
			var want []am.Posting
			for _, row := range rows {
				holds := row.tags&mask == mask || op == value.Overlaps && row.tags&mask != 0
				in := o.Ranges == nil || row.Null && o.Ranges.Nulls || !row.Null && o.Ranges.ContainsCode(row.Code)
				if holds && in {
					want = append(want, row.Posting)
				}
			}
			if o.Backward {
				slices.Reverse(want)
			}
			stream, ok := run.(am.OrderedRun).Ordered(context.Background(), o)
			if !ok {
				t.Fatalf("no ordered scan by %+v", o)
			}
			i := 0
			for p, err := range stream {
				if err != nil {
					t.Fatal(err)
				}
				if i == len(want) || p != want[i] {
					t.Fatalf("%+v of %s: row %d of %d is %+v", o, o.Match, i, len(want), p)
				}
				i++
			}
			if i < len(want) {
				t.Fatalf("%+v of %s: %d rows, expected %d", o, o.Match, i, len(want))
			}
		}
	}
}

func newest(tb testing.TB, run am.Run, n int, tags ...string) (found []am.Posting) {
	rows, ok := run.(am.OrderedRun).Ordered(context.Background(), &am.Order{
		Backward: true, To: 1, Match: value.MatchArray(value.Contains, value.TextArray, value.OfTextArray(tags).Str())})
	if !ok {
		tb.Fatal("no ordered scan")
	}
	for p, err := range rows {
		if err != nil {
			tb.Fatal(err)
		}
		if found = append(found, p); len(found) == n {
			break
		}
	}
	return found
}

// The newest ten rows with two tags, and all of the rows with two tags that are rare together.
func BenchmarkOrdered(b *testing.B) {
	for _, few := range []bool{false, true} {
		run, mem, _ := tagged(b, 8, few, [10]int{500, 50, 5, 200, 100, 2, 2})
		for _, c := range []struct {
			name string
			n    int
			tags []string
		}{
			{"10 of half and 5%", 10, []string{"tag0", "tag1"}},
			{"10 of half and 0.5%", 10, []string{"tag0", "tag2"}},
			{"all of half and 0.2%", 1 << 30, []string{"tag0", "tag5"}},
			{"all of 0.2% and 0.2%", 1 << 30, []string{"tag5", "tag6"}},
			{"all of half and 20%", 1 << 30, []string{"tag0", "tag3"}},
		} {
			b.Run(fmt.Sprintf("few=%v/%s", few, c.name), func(b *testing.B) {
				b.ReportAllocs()
				n := 0
				for b.Loop() {
					n = len(newest(b, run, c.n, c.tags...))
				}
				b.ReportMetric(float64(n), "rows")
				b.ReportMetric(float64(mem.Bytes())/float64(run.Meta().Entries), "B/entry")
			})
		}
	}
}
