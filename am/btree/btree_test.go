package btree

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
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

func TestConformance(t *testing.T) { amtest.Run(t, Method) }

// With slices this short, merges of the suite's small runs have many, and copy codes that fill more than one.
func TestConformanceShortSlices(t *testing.T) { amtest.Run(t, method{form(150)}) }

// Keys computed by hand from docs/format.md.
func TestKeyBytes(t *testing.T) {
	text := func(desc, first bool) catalog.IndexColumn {
		return catalog.IndexColumn{Type: value.Text, Desc: desc, NullsFirst: first}
	}
	for _, c := range []struct {
		col  catalog.IndexColumn
		v    value.Value
		want string
	}{
		{text(false, false), value.OfText(""), "020001"},
		{text(false, false), value.OfText("a\x00b"), "026100ff620001"},
		{text(true, false), value.OfText("a\x00"), "029eff00fffe"},
		{text(true, true), value.Null(value.Text), "01"},
		{text(true, false), value.Null(value.Text), "03"},
		{catalog.IndexColumn{Type: value.Bool}, value.OfBool(true), "0201"},
		{catalog.IndexColumn{Type: value.Bool, Desc: true}, value.OfBool(true), "02fe"},
		{catalog.IndexColumn{Type: value.Int4}, value.OfInt4(-1), "027fffffff"},
		{catalog.IndexColumn{Type: value.Int4, Desc: true}, value.OfInt4(0), "027fffffff"},
		{catalog.IndexColumn{Type: value.Int8}, value.OfInt8(1), "028000000000000001"},
		{catalog.IndexColumn{Type: value.Float8}, value.OfCode(value.Float8, value.NegZeroCode), "028000000000000000"},
	} {
		ix := &catalog.Index{Columns: []catalog.IndexColumn{c.col}}
		k := method{}.EncodeKey(ix, []value.Value{c.v}, nil)
		if got := hex.EncodeToString(k); got != c.want {
			t.Errorf("%s %q has key %s, expected %s", c.col.Type, c.v, got, c.want)
		}
	}
}

// A run of three levels of codes: what the suite's small runs don't reach. The model is a sorted slice.
func TestDeep(t *testing.T) {
	const segments = 20
	ix := singleIndex(value.Int4)
	r := rand.New(rand.NewPCG(3, 4))
	var runs []am.Run
	var codes []uint32
	nulls := 0
	for s := range uint64(segments) {
		v := randomVector(value.Int4, tid.SegmentRows, r)
		for i := range v.N {
			if i%50 == 0 {
				v.U32[i] = 0
				v.SetNull(i)
				nulls++
			} else {
				codes = append(codes, v.U32[i])
			}
		}
		run, _ := buildRun(t, ix, s, v)
		runs = append(runs, run)
	}
	slices.Sort(codes)
	mem := pagetest.New(page.Owner{Relation: 1})
	span := am.Span{First: 0, End: segments}
	meta, err := Method.Merge(ix, mem.Owner(), runs, span, nil, mem, noYield)
	if err != nil {
		t.Fatal(err)
	}
	if meta.Levels != 3 || meta.Entries != segments*tid.SegmentRows || meta.Nulls != uint64(nulls) {
		t.Fatalf("run has %+v", meta)
	}
	run, err := Method.Open(ix, meta, span, mem, page.NewCache(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Check(context.Background()); err != nil {
		t.Fatal(err)
	}
	below := func(c uint64) int64 {
		n, _ := slices.BinarySearchFunc(codes, c, func(x uint32, c uint64) int {
			if uint64(x) < c {
				return -1
			}
			return 1
		})
		return int64(n)
	}
	for range 300 {
		lo := uint64(codes[r.IntN(len(codes))]) + uint64(r.IntN(3)) - 1
		hi := min(lo+r.Uint64N(1<<r.UintN(32)), value.Int4.MaxCode())
		want := below(hi+1) - below(lo)
		c := am.Conditions{{Words: []value.Interval{{Lo: lo, Hi: hi}}}}
		if n, ok, err := run.(am.Counter).Count(c); n != want || !ok || err != nil {
			t.Fatalf("count is %d, %v, %v, expected %d", n, ok, err, want)
		}
		e, err := run.Estimate(c)
		if err != nil || math.Abs(e.Rows-float64(want)) > 1700 {
			t.Fatalf("estimate is %+v, %v, expected %d give or take a leaf", e, err, want)
		}
	}
	n := 0
	for e, err := range run.(am.Cursor).Cursor(context.Background(), nil, false) {
		if err != nil {
			t.Fatal(err)
		}
		if n < len(codes) && e.Values[0].Code() != uint64(codes[n]) || n >= len(codes) && !e.Values[0].IsNull() {
			t.Fatalf("entry %d is %v", n, e.Values)
		}
		n++
	}
	if n != len(codes)+nulls {
		t.Fatalf("cursor yields %d entries", n)
	}
}

// Codes so frequent that their entries fill several slices.
func TestFrequentCodes(t *testing.T) {
	const segments = 5
	ix := singleIndex(value.Bool)
	r := rand.New(rand.NewPCG(3, 4))
	var runs []am.Run
	var want [2]int64
	for s := range uint64(segments) {
		v := randomVector(value.Bool, tid.SegmentRows, r)
		for _, c := range v.U32 {
			want[c]++
		}
		run, _ := buildRun(t, ix, s, v)
		runs = append(runs, run)
	}
	mem := pagetest.New(page.Owner{Relation: 1})
	span := am.Span{First: 0, End: segments}
	meta, err := Method.Merge(ix, mem.Owner(), runs, span, nil, mem, noYield)
	if err != nil {
		t.Fatal(err)
	}
	run, err := Method.Open(ix, meta, span, mem, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Check(context.Background()); err != nil {
		t.Fatal(err)
	}
	for c, n := range want {
		got, _, err := run.(am.Counter).Count(am.Conditions{{Words: []value.Interval{{Lo: uint64(c), Hi: uint64(c)}}}})
		if got != n || err != nil {
			t.Errorf("count of %d is %d, %v, expected %d", c, got, err, n)
		}
	}
}

// The budget of the project's load: 128 indexes on random int4 in 640 bytes a row, what holds the pages included.
func TestBudget(t *testing.T) {
	const budget = 4.95
	ix := singleIndex(value.Int4)
	r := rand.New(rand.NewPCG(1, 2))
	var runs []am.Run
	for s := range uint64(8) {
		run, mem := buildRun(t, ix, s, randomVector(value.Int4, tid.SegmentRows, r))
		if got := float64(mem.Bytes()) / tid.SegmentRows; got > budget {
			t.Errorf("a segment's run takes %.3f bytes an entry", got)
		}
		runs = append(runs, run)
	}
	mem := pagetest.New(page.Owner{})
	if _, err := Method.Merge(ix, mem.Owner(), runs, am.Span{First: 0, End: 8}, nil, mem, noYield); err != nil {
		t.Fatal(err)
	}
	if got := float64(mem.Bytes()) / (8 * tid.SegmentRows); got > budget {
		t.Errorf("a merged run takes %.3f bytes an entry", got)
	}
}

// Small runs are small: all equal, all NULL and serial columns, in bytes by hand.
func TestSizes(t *testing.T) {
	serial := &value.Vector{Type: value.Int4}
	equal := &value.Vector{Type: value.Int4}
	null := &value.Vector{Type: value.Int4}
	for i := range tid.SegmentRows {
		serial.AppendCode(uint64(i))
		equal.AppendCode(5)
		null.AppendNull()
	}
	const blocks, head = tid.SegmentRows / 128, 32
	for _, c := range []struct {
		name string
		v    *value.Vector
		want int
	}{
		// A block is its directory entry of 16 bytes, 510 of them fill a leaf; above the two leaves one inner page.
		{"equal", equal, blocks*16 + 2*head + head + 8 + 2*12},
		{"null", null, blocks*16 + 2*head + head + 8 + 2*12},
		// 7 bits a key more: 128*7/8 bytes a block, 63 blocks a leaf, 9 leaves.
		{"serial", serial, blocks*(16+112) + 9*head + head + 8 + 9*12},
	} {
		run, mem := buildRun(t, singleIndex(value.Int4), 0, c.v)
		if mem.Bytes() != int64(c.want) {
			t.Errorf("%s: %d bytes, expected %d", c.name, mem.Bytes(), c.want)
		}
		if err := run.Check(context.Background()); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestDescribe(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	one := singleIndex(value.Int4)
	two := &catalog.Index{ID: 8, Columns: []catalog.IndexColumn{{Type: value.Text, Desc: true}, {Type: value.Int8}}}
	v, s := randomVector(value.Int4, 20000, r), randomVector(value.Text, 20000, r)
	for i := range 500 {
		v.SetNull(i * 7)
	}
	_, m1 := buildRun(t, one, 0, v)
	_, m2 := buildRun(t, two, 0, s, randomVector(value.Int8, 20000, r))
	for i, m := range []*pagetest.Mem{m1, m2} {
		for b, p := range m.Pages {
			d, err := entrytree.DescribePage([]*catalog.Index{one, two}[i], p)
			if err != nil {
				t.Fatal(err)
			}
			at := 0
			for _, f := range d.Fields {
				if f.Offset != at {
					t.Fatalf("block %d: description goes on at %d after %d: %s", b, f.Offset, at, f.Text)
				}
				at += f.Size
			}
			if at != len(p) {
				t.Fatalf("block %d: description ends at %d of %d", b, at, len(p))
			}
		}
	}
	d, _ := entrytree.DescribePage(one, m1.Pages[len(m1.Pages)-1])
	if s := d.String(); !strings.Contains(s, "level 1, children are blocks 0 to") {
		t.Errorf("root is described as\n%s", s)
	}
	if _, err := entrytree.DescribePage(one, make([]byte, 10)); !errors.Is(err, page.ErrCorrupt) {
		t.Errorf("10 bytes give %v", err)
	}
}

// Check and queries notice what pages with right checksums say wrongly of each other.
func TestLyingPages(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	ix := singleIndex(value.Int4)
	v := randomVector(value.Int4, 20000, r)
	build := func() (am.Run, *pagetest.Mem) { return buildRun(t, ix, 0, v) }
	run, mem := build()
	root := run.Meta().Root
	n := int(root)
	for name, lie := range map[string]func(p []byte){
		"child is the page itself": func(p []byte) { p[32] = byte(root) - byte(n) + 1 },
		"no children":              func(p []byte) { p[2] = 0 },
		"65,535 children":          func(p []byte) { p[2], p[3] = 0xff, 0xff },
		"level 9":                  func(p []byte) { p[1] = 9 << 1 },
		"more codes than children": func(p []byte) { p[36] = 0xff },
		"counts differ":            func(p []byte) { p[40+8*n]++; p[40+8*n+4]-- },
		"separator too high":       func(p []byte) { p[40+8+2]++ },
		"leaf instead of inner":    func(p []byte) { p[0] = byte(page.KindBtreeLeaf) },
	} {
		t.Run(name, func(t *testing.T) {
			run, mem := build()
			good := bytes.Clone(mem.Pages[root])
			lie(mem.Pages[root])
			mem.Reseal(root)
			err := run.Check(context.Background())
			var c *page.CorruptError
			if !errors.As(err, &c) || c.Relation != ix.ID {
				t.Errorf("check says %v", err)
			}
			if bytes.Equal(good, mem.Pages[root]) {
				t.Error("the page is as it was")
			}
		})
	}
	mem.Pages[0], mem.Pages[1] = mem.Pages[1], mem.Pages[0]
	if _, err := run.Bitmap(context.Background(), nil, tid.NewBuilder(0, 1)); !errors.Is(err, page.ErrCorrupt) {
		t.Errorf("swapped pages give %v", err)
	}
}
