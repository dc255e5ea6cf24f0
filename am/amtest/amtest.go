// Package amtest is the conformance suite of access methods: what package am promises, held against a model that is
// a sorted slice of rows.
//
// A method's test calls Run. What a method can't do by its Abilities is left out.
package amtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wideleaf/am"
	"wideleaf/catalog"
	"wideleaf/page"
	"wideleaf/page/pagetest"
	"wideleaf/tid"
	"wideleaf/value"
)

var types = []value.Type{value.Bool, value.Int4, value.Int8, value.Float8, value.Text, value.Bytea, value.Date, value.Timestamptz,
	value.Int8Array, value.TextArray}

// Run runs the suite over a method.
func Run(t *testing.T, m am.Method) {
	t.Run("SingleColumn", func(t *testing.T) {
		for _, alike := range [][]value.Type{{value.Bool}, {value.Int4, value.Date}, {value.Int8, value.Timestamptz}, {value.Float8},
			{value.Text, value.Bytea}, {value.Int8Array, value.TextArray}} {
			t.Run(alike[0].String(), func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) { history(t, m, drawIndex(t, rapid.SampledFrom(alike).Draw(t, "type"))) })
			})
		}
	})
	if m.Abilities().MultiColumn {
		t.Run("MultiColumn", func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				chosen := rapid.SliceOfN(rapid.SampledFrom(types), 2, min(4, m.Abilities().MaxColumns)).Draw(t, "types")
				ix := drawIndex(t, chosen...)
				attach(t, m, ix)
				history(t, m, ix)
			})
		})
	}
	t.Run("LongKey", func(t *testing.T) { longKey(t, m) })
	t.Run("Damage", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) { damage(t, m) })
	})
	t.Run("Stop", func(t *testing.T) { stop(t, m) })
}

func drawIndex(t *rapid.T, types ...value.Type) *catalog.Index {
	ix := &catalog.Index{ID: 9, Name: "i", Method: "any"}
	for i, typ := range types {
		ix.Columns = append(ix.Columns, catalog.IndexColumn{
			Attno: i + 1, Type: typ,
			Desc:       rapid.Bool().Draw(t, "desc"),
			NullsFirst: rapid.Bool().Draw(t, "nulls first"),
		})
	}
	return ix
}

func drawDomains(t *rapid.T, ix *catalog.Index) []domain {
	var ds []domain
	for _, c := range ix.Columns {
		ds = append(ds, domain{
			typ:   c.Type,
			nulls: rapid.SampledFrom([]float64{0, 0, 0.1, 0.9, 1}).Draw(t, "nulls"),
			shape: rapid.IntRange(0, shapes-1).Draw(t, "shape"),
			long:  2400 / len(ix.Columns),
		})
	}
	return ds
}

func noYield() error { return nil }

// Source returns a source of columns that are in memory.
func Source(base tid.TID, dead *tid.Bits, cols ...*value.Vector) am.Source {
	return am.Source{
		Base: base, Rows: cols[0].N, Dead: dead,
		Column:  func(i int) (*value.Vector, error) { return cols[i], nil },
		Release: func(*value.Vector) {},
	}
}

// bench is one index and its runs.
type bench struct {
	t  *rapid.T
	m  am.Method
	ix *catalog.Index
	ds []domain
	r  *rand.Rand
}

func (b *bench) open(meta am.RunMeta, span am.Span, mem *pagetest.Mem) am.Run {
	stored := meta.Append(nil)
	meta2, rest, err := am.DecodeRunMeta(stored)
	if err != nil || len(rest) > 0 || meta2 != meta {
		b.t.Fatalf("metadata %+v is read back as %+v, %v", meta, meta2, err)
	}
	if meta.Blocks != mem.Blocks() {
		b.t.Fatalf("metadata has %d blocks, %d were written", meta.Blocks, mem.Blocks())
	}
	run, err := b.m.Open(b.ix, meta, span, mem, page.NewCache(1<<20))
	if err != nil {
		b.t.Fatal(err)
	}
	return run
}

func (b *bench) build(s segment, dead *tid.Bits) (am.Run, *pagetest.Mem) {
	o := page.Owner{Relation: b.ix.ID, Part: s.number}
	mem := pagetest.New(o)
	meta, err := b.m.Build(b.ix, o, Source(tid.New(s.number, 0), dead, s.columns...), mem, noYield)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.open(meta, am.Span{First: s.number, End: s.number + 1}, mem), mem
}

// history builds runs of some segments, checks each, merges them with some rows dead, checks the result.
func history(t *rapid.T, m am.Method, ix *catalog.Index) {
	b := &bench{t: t, m: m, ix: ix, ds: drawDomains(t, ix)}
	b.r = rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	var runs []am.Run
	var all []row
	number := uint64(b.r.IntN(3))
	if b.r.IntN(4) == 0 {
		number += 1 << 40
	}
	begin := number
	n := rapid.IntRange(1, 6).Draw(t, "segments")
	most := rapid.SampledFrom([]int{3, 130, 600, 600, 3000}).Draw(t, "most rows")
	for range n {
		s := makeSegment(number, b.r.IntN(most+1), b.ds, b.r, b.r.IntN(4) == 0)
		var dead *tid.Bits
		rows := s.rows
		if b.r.IntN(3) == 0 {
			dead = deadOf(len(rows), []float64{0.1, 1}[b.r.IntN(2)], b.r)
			rows = without(rows, func(t tid.TID) bool { return dead[t.Offset()>>6]>>(t.Offset()&63)&1 != 0 })
		}
		run, _ := b.build(s, dead)
		b.check(run, rows)
		runs = append(runs, run)
		all = append(all, rows...)
		number += 1 + uint64(b.r.IntN(2))
	}
	var dead func(tid.TID) bool
	if b.r.IntN(2) == 0 {
		salt, share := b.r.Uint64()|1, []uint64{4, 16}[b.r.IntN(2)]
		dead = func(t tid.TID) bool { return (uint64(t)+7)*salt>>32%16 < share }
		all = without(all, dead)
	}
	span := am.Span{First: begin - min(begin, uint64(b.r.IntN(2))), End: number + uint64(b.r.IntN(3))}
	b.r.Shuffle(len(runs), func(i, j int) { runs[i], runs[j] = runs[j], runs[i] })
	o := page.Owner{Relation: ix.ID, Part: 77}
	mem := pagetest.New(o)
	meta, err := m.Merge(ix, o, runs, span, dead, mem, noYield)
	if err != nil {
		t.Fatal(err)
	}
	b.check(b.open(meta, span, mem), all)
}

func without(rows []row, dead func(tid.TID) bool) []row {
	return slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return dead(r.tid) })
}

// check holds a run against the rows that it must have.
func (b *bench) check(run am.Run, rows []row) {
	t, ctx := b.t, context.Background()
	if n := run.Meta().Rows; n != uint64(len(rows)) {
		t.Fatalf("run has %d rows, expected %d", n, len(rows))
	}
	if err := run.Check(ctx); err != nil {
		t.Fatal(err)
	}
	sorted := slices.Clone(rows)
	slices.SortFunc(sorted, func(x, y row) int { return compareRows(b.ix, x, y) })
	for i := range 6 {
		c := make(am.Conditions, len(b.ix.Columns))
		for j := range c {
			if i > 0 && b.r.IntN(len(c)+1) > 0 {
				x := b.ds[j].ranges(b.r)
				c[j] = &x
			}
		}
		if i == 1 {
			c = nil
		}
		b.conditions(ctx, run, c, matching(sorted, c))
	}
	if b.m.Abilities().Distance {
		b.ordered(ctx, run, rows)
	}
	for _, a := range b.ix.Attach {
		b.attached(ctx, run, rows, b.ix.Place(a.Attno), b.ix.Place(a.To))
	}
	b.similar(ctx, run, rows)
}

func describe(c am.Conditions) string {
	var s []string
	for _, r := range c {
		if r == nil {
			s = append(s, "any")
		} else {
			s = append(s, fmt.Sprintf("%+v", *r))
		}
	}
	return strings.Join(s, ", ")
}

// conditions checks all that a run says of a condition; want is in index order.
func (b *bench) conditions(ctx context.Context, run am.Run, c am.Conditions, want []row) {
	t := b.t
	set := tid.NewBuilder(run.Span().First, run.Span().End)
	recheck, err := run.Bitmap(ctx, c, set)
	if err != nil {
		t.Fatal(err)
	}
	got := slices.Collect(set.Set().All())
	var tids []tid.TID
	for _, r := range want {
		tids = append(tids, r.tid)
	}
	slices.Sort(tids)
	if recheck {
		if missing := slices.ContainsFunc(tids, func(x tid.TID) bool { _, ok := slices.BinarySearch(got, x); return !ok }); missing {
			t.Fatalf("bitmap of %s lacks rows", describe(c))
		}
	} else if !slices.Equal(got, tids) {
		t.Fatalf("bitmap of %s: %d TIDs, expected %d", describe(c), len(got), len(tids))
	}
	e, err := run.Estimate(c)
	if err != nil {
		t.Fatal(err)
	}
	if e.Exact && int(e.Rows) != len(want) || e.Rows < 0 || e.Rows > float64(run.Meta().Entries)+1e-6 {
		t.Fatalf("estimate of %s is %+v, expected %d", describe(c), e, len(want))
	}
	if b.m.Abilities().Counts {
		n, ok, err := run.(am.Counter).Count(c)
		if err != nil {
			t.Fatal(err)
		}
		if ok && n != int64(len(want)) {
			t.Fatalf("count of %s is %d, expected %d", describe(c), n, len(want))
		}
		if !ok && !recheck && len(b.ix.Columns) == 1 && b.ix.Columns[0].Type.Elem() == value.Unknown {
			t.Fatalf("can't count %s", describe(c))
		}
	}
	if b.m.Abilities().Ordered {
		b.cursor(ctx, run, c, want, false)
		back := slices.Clone(want)
		slices.Reverse(back)
		b.cursor(ctx, run, c, back, true)
	}
}

func (b *bench) cursor(ctx context.Context, run am.Run, c am.Conditions, want []row, backward bool) {
	t := b.t
	i := 0
	limit := len(want)
	if b.r.IntN(3) == 0 {
		limit = b.r.IntN(limit + 1)
	}
	var last []byte
	var lastTID tid.TID
	for e, err := range run.(am.Cursor).Cursor(ctx, c, backward) {
		if err != nil {
			t.Fatal(err)
		}
		if i == limit && limit < len(want) {
			break
		}
		if i == len(want) {
			t.Fatalf("cursor over %s yields more than %d rows", describe(c), len(want))
		}
		if e.TID != want[i].tid {
			t.Fatalf("cursor over %s (backward %v) yields %v as row %d, expected %v", describe(c), backward, e.TID, i, want[i].tid)
		}
		if i > 0 {
			o := bytes.Compare(last, e.Key)
			if o == 0 && lastTID > e.TID {
				o = 1
			}
			if backward != (o > 0) {
				t.Fatalf("keys of rows %d and %d don't compare as the rows: %x, %x", i-1, i, last, e.Key)
			}
		}
		last, lastTID = append(last[:0], e.Key...), e.TID
		if enc, ok := b.m.(am.KeyEncoder); ok {
			if k := enc.EncodeKey(b.ix, want[i].vals, nil); !bytes.Equal(k, e.Key) {
				t.Fatalf("key of %v is %x, the encoder says %x", want[i].vals, e.Key, k)
			}
		}
		if b.m.Abilities().Returns {
			for j, v := range want[i].vals {
				if j >= len(e.Values) || e.Values[j].Type() != v.Type() || value.Compare(e.Values[j], v) != 0 {
					t.Fatalf("row %d has values %v, expected %v", i, e.Values, want[i].vals)
				}
			}
		}
		i++
	}
	if i < limit {
		t.Fatalf("cursor over %s yields %d rows, expected %d", describe(c), i, len(want))
	}
}

// longKey builds runs of keys at the limit and beyond it.
func longKey(t *testing.T, m am.Method) {
	most := m.Abilities().MaxKeyBytes
	if most == 0 {
		t.Skip("no limit")
	}
	ix := &catalog.Index{ID: 3, Name: "long", Columns: []catalog.IndexColumn{{Attno: 1, Type: value.Text}}}
	v := &value.Vector{Type: value.Text}
	for i := range 200 {
		// Different from the first byte on, so that nothing is shared.
		v.Append(value.OfText(string(rune('!'+i%90)) + strings.Repeat(string(rune('a'+i/90)), most-20)))
	}
	mem := pagetest.New(page.Owner{Relation: 3})
	meta, err := m.Build(ix, mem.Owner(), Source(0, nil, v), mem, noYield)
	if err != nil {
		t.Fatal(err)
	}
	run, err := m.Open(ix, meta, am.Span{First: 0, End: 1}, mem, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Check(context.Background()); err != nil {
		t.Fatal(err)
	}
	for i := range v.N {
		c := am.Conditions{{Strings: []value.StringInterval{{Lo: v.Str[i], Hi: v.Str[i]}}}}
		b := tid.NewBuilder(0, 1)
		if _, err := run.Bitmap(context.Background(), c, b); err != nil {
			t.Fatal(err)
		}
		if s := b.Set(); s.Count() != 1 || !s.Contains(tid.TID(i)) {
			t.Fatalf("key %d is not found", i)
		}
	}
	v.Append(value.OfText(strings.Repeat("x", most+1)))
	if _, err := m.Build(ix, mem.Owner(), Source(0, nil, v), mem, noYield); !errors.Is(err, am.ErrKeyTooLong) {
		t.Fatalf("a key of %d bytes gives %v", most+1, err)
	}
}

// damage changes bytes of a page, puts its checksum right, and runs everything: what comes out may be wrong only
// if Check says so, and errors are of the kind page.ErrCorrupt.
func damage(t *rapid.T, m am.Method) {
	chosen := []value.Type{rapid.SampledFrom(types).Draw(t, "type")}
	if m.Abilities().MultiColumn && rapid.Bool().Draw(t, "two") {
		chosen = append(chosen, value.Int4)
	}
	ix := drawIndex(t, chosen...)
	attach(t, m, ix)
	b := &bench{t: t, m: m, ix: ix, ds: drawDomains(t, ix)}
	b.r = rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	s := makeSegment(2, b.r.IntN(4000), b.ds, b.r, false)
	run, mem := b.build(s, nil)
	if mem.Blocks() == 0 {
		return
	}
	block := rapid.Uint32Range(0, mem.Blocks()-1).Draw(t, "block")
	if b.r.IntN(2) == 0 {
		block = mem.Blocks() - 1
	}
	p := mem.Pages[block]
	for range rapid.IntRange(1, 4).Draw(t, "bytes") {
		at := b.r.IntN(len(p) - 8)
		switch b.r.IntN(3) {
		case 0:
			at = len(p) - 1 - b.r.IntN(min(len(p)-32, 40))
		case 1:
			at = min(32+b.r.IntN(16), len(p)-1)
		}
		if at >= 4 && at < 32 {
			continue // a wrong owner, block or length is never accepted by the reader
		}
		p[at] = []byte{0, 1, 0x7f, 0x80, 0xff, byte(b.r.Uint32())}[b.r.IntN(6)]
	}
	mem.Reseal(block)
	run, err := m.Open(ix, run.Meta(), run.Span(), mem, page.NewCache(1<<20))
	if err != nil {
		expectCorrupt(t, err)
		return
	}
	ctx := context.Background()
	expectCorrupt(t, run.Check(ctx))
	for range 4 {
		c := make(am.Conditions, len(ix.Columns))
		for j := range c {
			x := b.ds[j].ranges(b.r)
			if c[j] = &x; b.r.IntN(3) == 0 {
				c[j] = nil
			}
		}
		_, err := run.Bitmap(ctx, c, tid.NewBuilder(2, 3))
		expectCorrupt(t, err)
		_, err = run.Estimate(c)
		expectCorrupt(t, err)
		if x, ok := run.(am.Counter); ok {
			_, _, err = x.Count(c)
			expectCorrupt(t, err)
		}
		if x, ok := run.(am.Cursor); ok {
			n := uint64(0)
			for _, err := range x.Cursor(ctx, c, b.r.IntN(2) == 0) {
				expectCorrupt(t, err)
				if n++; n > 1<<20 {
					t.Fatal("cursor doesn't end")
				}
			}
		}
		if x, ok := run.(am.OrderedRun); ok {
			if rows, ok := x.Ordered(ctx, &am.Order{Ranges: c[0], Backward: b.r.IntN(2) == 0, To: -1}); ok {
				n := 0
				for _, err := range rows {
					expectCorrupt(t, err)
					if n++; n > 1<<20 {
						t.Fatal("ordered scan doesn't end")
					}
				}
			}
		}
	}
	for _, a := range ix.Attach {
		b.damagedAttached(ctx, run, ix.Place(a.Attno), ix.Place(a.To), s.rows)
	}
	if x, ok := run.(am.ScoredRun); ok {
		for i, c := range ix.Columns {
			if v := s.rows[b.r.IntN(len(s.rows))].vals[i]; c.Type.Elem() != value.Unknown && !v.IsNull() {
				_, err := x.Similar(ctx, i, value.MatchArray(value.Overlaps, c.Type, v.Str()), func(tid.TID, int, int) error { return nil })
				expectCorrupt(t, err)
			}
		}
	}
	out := pagetest.New(page.Owner{Relation: 9, Part: 99})
	_, err = m.Merge(ix, out.Owner(), []am.Run{run}, run.Span(), nil, out, noYield)
	expectCorrupt(t, err)
}

func expectCorrupt(t *rapid.T, err error) {
	if err != nil && !errors.Is(err, page.ErrCorrupt) {
		t.Fatalf("error is not of the corruption kind: %v", err)
	}
}

// stop checks that errors of yield and of the context end the work.
func stop(t *testing.T, m am.Method) {
	halt := errors.New("halt")
	ix := &catalog.Index{ID: 3, Name: "i", Columns: []catalog.IndexColumn{{Attno: 1, Type: value.Int4}}}
	r := rand.New(rand.NewPCG(1, 2))
	s := makeSegment(0, 50000, []domain{{typ: value.Int4}}, r, false)
	mem := pagetest.New(page.Owner{Relation: 3})
	_, err := m.Build(ix, mem.Owner(), Source(0, nil, s.columns...), mem, func() error { return halt })
	if !errors.Is(err, halt) {
		t.Fatalf("build doesn't stop: %v", err)
	}
	mem = pagetest.New(page.Owner{Relation: 3})
	meta, err := m.Build(ix, mem.Owner(), Source(0, nil, s.columns...), mem, noYield)
	if err != nil {
		t.Fatal(err)
	}
	run, err := m.Open(ix, meta, am.Span{First: 0, End: 1}, mem, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Merge(ix, page.Owner{}, []am.Run{run}, run.Span(), nil, pagetest.New(page.Owner{}), func() error { return halt })
	if !errors.Is(err, halt) {
		t.Fatalf("merge doesn't stop: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := run.Bitmap(ctx, nil, tid.NewBuilder(0, 1)); !errors.Is(err, context.Canceled) {
		t.Fatalf("bitmap doesn't stop: %v", err)
	}
}
