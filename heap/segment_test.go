package heap

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"wideleaf/page"
	"wideleaf/page/pagetest"
	"wideleaf/tid"
	"wideleaf/value"
)

var testOwner = page.Owner{Relation: 7, Part: 3}

func noYield() error { return nil }

// segmentOf writes and opens a segment.
func segmentOf(t testing.TB, cols []SegmentColumn) (*Segment, *pagetest.Mem) {
	t.Helper()
	rows := 0
	if len(cols) > 0 {
		rows = cols[0].Values.N
	}
	m := pagetest.New(testOwner)
	meta, err := WriteSegment(testOwner, columnsOf(cols), rows, m, noYield)
	if err != nil {
		t.Fatal(err)
	}
	again, rest, err := DecodeSegmentMeta(append(meta.Append(nil), 1, 2))
	if err != nil || again != meta || !bytes.Equal(rest, []byte{1, 2}) {
		t.Fatalf("metadata %+v came back as %+v, %v, %v", meta, again, rest, err)
	}
	return openSegment(t, meta, cols, m), m
}

func typesOf(cols []SegmentColumn) func(int) value.Type {
	return func(attno int) value.Type {
		for _, c := range cols {
			if c.Attno == attno {
				return c.Values.Type
			}
		}
		return value.Int4
	}
}

func openSegment(t testing.TB, meta SegmentMeta, cols []SegmentColumn, m *pagetest.Mem) *Segment {
	t.Helper()
	s, err := OpenSegment(meta, typesOf(cols), m, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// vectorOf makes a vector of values.
func vectorOf(t value.Type, vals []value.Value) *value.Vector {
	v := &value.Vector{}
	v.Reset(t)
	for _, x := range vals {
		v.Append(x)
	}
	return v
}

func sameRow(a, b value.Value) bool {
	return a.IsNull() == b.IsNull() && a.Type() == b.Type() && (a.IsNull() || a.Code() == b.Code() && a.Str() == b.Str())
}

// wantVector fails if the rows of v are not vals.
func wantVector(t testing.TB, what string, v *value.Vector, vals []value.Value) {
	t.Helper()
	if v.N != len(vals) {
		t.Fatalf("%s: %d rows, want %d", what, v.N, len(vals))
	}
	for i, x := range vals {
		if got := v.Value(i); !sameRow(got, x) {
			t.Fatalf("%s: row %d is %.60v (NULL: %t), want %.60v (NULL: %t)", what, i, got, got.IsNull(), x, x.IsNull())
		}
		zero := v.Type.Width() == value.Var && v.Str[i] == "" || v.Type.Width() != value.Var && v.Code(i) == 0
		if x.IsNull() && !zero {
			t.Fatalf("%s: row %d is NULL, but not zero", what, i)
		}
	}
}

// verify compares everything a segment says of a column with its values.
func verify(t testing.TB, s *Segment, attno int, typ value.Type, vals []value.Value, rnd *rand.Rand) {
	t.Helper()
	ctx := context.Background()
	var v value.Vector
	for _, x := range []string{"stale", "rows"} { // the vector's memory is used again
		v.Reset(value.Text)
		v.Append(value.OfText(x))
	}
	v.Reset(typ)
	if err := s.Column(ctx, attno, &v); err != nil {
		t.Fatal(err)
	}
	wantVector(t, "Column", &v, vals)
	if err := s.Column(ctx, attno, &v); err != nil { // behind the rows that are there
		t.Fatal(err)
	}
	if len(vals) < 6000 {
		wantVector(t, "Column, twice", &v, slices.Concat(vals, vals))
	}

	for _, share := range []float64{0.001, 0.05, 0.7, 1} {
		var offs []uint16
		var want []value.Value
		for i, x := range vals {
			if rnd.Float64() < share {
				offs, want = append(offs, uint16(i)), append(want, x)
			}
		}
		v.Reset(typ)
		if err := s.Gather(ctx, attno, offs, &v); err != nil {
			t.Fatal(err)
		}
		if err := s.Gather(ctx, attno, offs, &v); err != nil {
			t.Fatal(err)
		}
		wantVector(t, fmt.Sprintf("Gather of %g, twice", share), &v, slices.Concat(want, want))
	}

	for range 6 {
		r := someRanges(typ, vals, rnd)
		var cand []uint64
		if share := rnd.IntN(4); share > 0 {
			cand = make([]uint64, bitWords(len(vals)))
			for i := range vals {
				if rnd.Float64() < []float64{0, 0.001, 0.05, 0.6}[share] {
					cand[i>>6] |= 1 << (i & 63)
				}
			}
		}
		checkSelect(t, s, attno, r, cand, vals)
	}
	checkPagesOf(t, s, attno, vals)
}

func checkSelect(t testing.TB, s *Segment, attno int, r value.Ranges, cand []uint64, vals []value.Value) {
	t.Helper()
	out := make([]uint64, bitWords(len(vals)))
	before := -1
	if len(vals) > 3 { // a bit that is set already stays
		before = len(vals) / 2
		out[before>>6] |= 1 << (before & 63)
	}
	if err := s.Select(context.Background(), attno, r, cand, out); err != nil {
		t.Fatal(err)
	}
	for i, x := range vals {
		want := i == before || r.Contains(x) && (cand == nil || cand[i>>6]>>(i&63)&1 != 0)
		if got := out[i>>6]>>(i&63)&1 != 0; got != want {
			t.Fatalf("Select %.200v (candidates: %t): row %d, %.60v, is %t, want %t", r, cand != nil, i, x, got, want)
		}
	}
	if n := len(vals); n&63 != 0 && out[n>>6]>>(n&63) != 0 {
		t.Fatal("Select sets bits beyond the rows")
	}
}

// someRanges returns a condition made of values that occur and their neighbours.
func someRanges(typ value.Type, vals []value.Value, rnd *rand.Rand) value.Ranges {
	pick := func() value.Value {
		if len(vals) == 0 {
			return value.Null(typ)
		}
		return vals[rnd.IntN(len(vals))]
	}
	var r value.Ranges
	n := rnd.IntN(4)
	if rnd.IntN(4) == 0 {
		n = 30
	}
	if typ.Width() == value.Var {
		var ivs []value.StringInterval
		for range n {
			iv := value.StringInterval{Lo: pick().Str(), Hi: pick().Str(), LoOpen: rnd.IntN(2) == 0, HiOpen: rnd.IntN(2) == 0}
			switch rnd.IntN(4) {
			case 0:
				iv.Hi, iv.LoOpen, iv.HiOpen = iv.Lo, false, false
			case 1:
				iv.HiInf, iv.Hi = true, ""
			case 2:
				iv.Hi = iv.Lo + "\x00\xff"
			}
			ivs = append(ivs, iv)
		}
		r = value.OfStringIntervals(ivs...)
	} else {
		var ivs []value.Interval
		for range n {
			iv := value.Interval{Lo: pick().Code(), Hi: pick().Code()}
			switch rnd.IntN(4) {
			case 0:
				iv.Hi = iv.Lo
			case 1:
				iv.Hi = typ.MaxCode()
			case 2:
				iv.Lo = min(iv.Lo, typ.MaxCode()-1) + 1
			}
			ivs = append(ivs, iv)
		}
		r = value.OfIntervals(ivs...)
	}
	if rnd.IntN(8) == 0 {
		r = value.NotNull(typ)
	}
	r.Nulls = rnd.IntN(2) == 0
	return r
}

// checkPagesOf compares the page summaries with the values.
func checkPagesOf(t testing.TB, s *Segment, attno int, vals []value.Value) {
	t.Helper()
	ps, err := s.Pages(attno)
	if err != nil {
		t.Fatal(err)
	}
	next := 0
	for i, p := range ps {
		if p.First != next || p.Rows < 1 {
			t.Fatalf("page %d has rows from %d on, want %d", i, p.First, next)
		}
		next += p.Rows
		nulls := 0
		lo, hi := value.Value{}, value.Value{}
		for _, x := range vals[p.First:next] {
			if x.IsNull() {
				nulls++
				continue
			}
			if lo.IsNull() || x.Code() < lo.Code() || x.Str() < lo.Str() {
				lo = x
			}
			if hi.IsNull() || x.Code() > hi.Code() || x.Str() > hi.Str() {
				hi = x
			}
		}
		if p.Nulls != nulls {
			t.Fatalf("page %d claims %d NULLs, has %d", i, p.Nulls, nulls)
		}
		if p.Words.Lo != lo.Code() || p.Words.Hi != hi.Code() {
			t.Fatalf("page %d claims codes %v, has %d to %d", i, p.Words, lo.Code(), hi.Code())
		}
		if p.Strings.Lo > lo.Str() || p.LoExact() && p.Strings.Lo != lo.Str() ||
			!p.Strings.HiInf && p.Strings.Hi < hi.Str() || p.HiExact() && p.Strings.Hi != hi.Str() {
			t.Fatalf("page %d claims strings %q to %q, has %.60q to %.60q", i, p.Strings.Lo, p.Strings.Hi, lo.Str(), hi.Str())
		}
	}
	if next != len(vals) {
		t.Fatalf("pages have %d rows, want %d", next, len(vals))
	}
}

// checkDescriptions wants each byte of each page described once.
func checkDescriptions(t testing.TB, m *pagetest.Mem) {
	t.Helper()
	for b, p := range m.Pages {
		d, err := DescribePage(p)
		if err != nil {
			t.Fatalf("block %d: %v", b, err)
		}
		at := 0
		for _, f := range d.Fields {
			if f.Offset != at || f.Size < 0 {
				t.Fatalf("block %d: field %+v at %d", b, f, at)
			}
			at += f.Size
		}
		if at != len(p) {
			t.Fatalf("block %d: %d bytes described of %d\n%s", b, at, len(p), d)
		}
		if strings.Contains(d.String(), "damaged") {
			t.Fatalf("block %d: %s", b, d)
		}
	}
}

// someColumn makes values in a pattern of the given number.
const patterns = 9

func someColumn(typ value.Type, rows, pattern, nulls int, rnd *rand.Rand) []value.Value {
	width := rnd.IntN(65)
	base := rnd.Uint64()
	few := make([]uint64, 1+rnd.IntN(40))
	for i := range few {
		few[i] = rnd.Uint64()
	}
	code := func(i int) uint64 {
		switch pattern {
		case 0:
			return rnd.Uint64()
		case 1: // a range of some width
			return base + rnd.Uint64()&(1<<width-1)
		case 2:
			return few[rnd.IntN(len(few))]
		case 3: // runs
			return few[i/97%len(few)]
		case 4: // ascending
			return base>>1 + uint64(i)*3
		case 5:
			return base
		case 6: // both ends
			return []uint64{0, math.MaxUint64}[rnd.IntN(2)]
		case 7: // changes its nature
			if i/500%2 == 0 {
				return 5
			}
			return rnd.Uint64()
		}
		return uint64(i) % 3
	}
	text := func(i int) string {
		switch c := code(i); pattern {
		case 0:
			return strings.Repeat(string(rune('a'+c%26)), int(c>>8%60))
		case 1:
			return fmt.Sprintf("a common prefix longer than a bound %d", c%1000)
		case 6:
			return strings.Repeat("\xff", int(c%2*40))
		case 7:
			if i%50 == 7 {
				return strings.Repeat(fmt.Sprint(c), 1+int(c%600))
			}
			return ""
		default:
			return fmt.Sprint(c)
		}
	}
	null := func(i int) bool {
		switch nulls {
		case 1:
			return true
		case 2:
			return rnd.IntN(10) == 0
		case 3:
			return rnd.IntN(50) != 0
		case 4:
			return i < rows/2
		case 5:
			return i > rows/3
		case 6:
			return i%2 == 0
		}
		return false
	}
	vals := make([]value.Value, rows)
	for i := range vals {
		switch {
		case null(i):
			vals[i] = value.Null(typ)
		case typ.Width() == value.Var:
			vals[i] = value.OfStr(typ, text(i)) // what a string means is not the heap's concern
		case typ == value.Bool:
			vals[i] = value.OfCode(typ, code(i)&1)
		case typ.Width() == value.Word32:
			vals[i] = value.OfCode(typ, uint64(uint32(code(i))))
		default:
			vals[i] = value.OfCode(typ, code(i))
		}
	}
	return vals
}

var allTypes = []value.Type{value.Bool, value.Int4, value.Int8, value.Float8, value.Text, value.Bytea,
	value.Date, value.Timestamptz, value.Int8Array, value.TextArray}

func TestSegmentModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		rows := 1 + rnd.IntN([]int{5, 70, 700, 5000}[rnd.IntN(4)])
		var cols []SegmentColumn
		var vals [][]value.Value
		attno := 0
		for range 1 + rnd.IntN(5) {
			attno += 1 + rnd.IntN(3)
			typ := allTypes[rnd.IntN(len(allTypes))]
			vs := someColumn(typ, rows, rnd.IntN(patterns), rnd.IntN(8), rnd)
			vals = append(vals, vs)
			cols = append(cols, SegmentColumn{attno, vectorOf(typ, vs)})
		}
		s, m := segmentOf(t, cols)
		cached, err := OpenSegment(s.meta, typesOf(cols), m, page.NewCache(1<<20))
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range cols {
			verify(t, s, c.Attno, c.Values.Type, vals[i], rnd)
			verify(t, cached, c.Attno, c.Values.Type, vals[i], rnd)
		}
		if err := s.Check(context.Background()); err != nil {
			t.Fatal(err)
		}
		checkDescriptions(t, m)
		for _, p := range m.Pages {
			if len(p) > page.Size {
				t.Fatalf("a page has %d bytes", len(p))
			}
		}
	})
}

// TestFullSegments runs every pattern with every pattern of NULLs through segments of 65,536 rows.
func TestFullSegments(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for i, typ := range []value.Type{value.Int4, value.Int8, value.Text} {
		var cols []SegmentColumn
		var all [][]value.Value
		for pattern := range patterns {
			vals := someColumn(typ, tid.SegmentRows, pattern, (pattern+3*i)%8, rnd)
			all = append(all, vals)
			cols = append(cols, SegmentColumn{pattern + 1, vectorOf(typ, vals)})
		}
		s, _ := segmentOf(t, cols)
		for pattern, vals := range all {
			verify(t, s, pattern+1, typ, vals, rnd)
		}
		if err := s.Check(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEveryWidth packs values that need exactly w bits, smallest and largest included, with and without NULL and 0.
func TestEveryWidth(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for w := 0; w <= 64; w++ {
		for _, rows := range []int{1, 2, 63, 64, 65, 200, 3000} {
			typ := value.Int8
			if w <= 32 && rows%2 == 0 {
				typ = value.Int4
			}
			top := uint64(math.MaxUint64) >> (64 - w)
			lo := (typ.MaxCode() - top) / 3
			vals := make([]value.Value, rows)
			for i := range vals {
				switch {
				case i == 0:
					vals[i] = value.OfCode(typ, lo)
				case i == 1:
					vals[i] = value.OfCode(typ, lo+top)
				case rows == 200 && i == 100:
					vals[i] = value.Null(typ)
				default:
					vals[i] = value.OfCode(typ, lo+rnd.Uint64()&top)
				}
			}
			s, _ := segmentOf(t, []SegmentColumn{{1, vectorOf(typ, vals)}})
			verify(t, s, 1, typ, vals, rnd)
			if err := s.Check(context.Background()); err != nil {
				t.Fatalf("%d bits: %v", w, err)
			}
		}
	}
}

func TestLongStrings(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	var vals []value.Value
	for _, n := range []int{0, 1, maxInline, maxInline + 1, overflowRoom, overflowRoom + 1, 3*overflowRoom - 1, 1 << 20, 24, 25} {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rnd.Uint32())
		}
		vals = append(vals, value.OfText(string(b)), value.Null(value.Text), value.OfText("x"))
	}
	for i := range 300 {
		vals = append(vals, value.OfText(strings.Repeat("z", i*13)))
	}
	before := someColumn(value.Int4, len(vals), 0, 0, rnd)
	s, m := segmentOf(t, []SegmentColumn{{1, vectorOf(value.Int4, before)}, {2, vectorOf(value.Text, vals)},
		{9, vectorOf(value.Text, vals[:len(vals):len(vals)])}})
	verify(t, s, 1, value.Int4, before, rnd)
	verify(t, s, 2, value.Text, vals, rnd)
	verify(t, s, 9, value.Text, vals, rnd)
	checkDescriptions(t, m)
	if err := s.Check(context.Background()); err != nil {
		t.Fatal(err)
	}

	v := &value.Vector{}
	v.Reset(value.Text)
	v.Append(value.OfText(strings.Repeat("x", MaxValueBytes+1)))
	_, err := WriteSegment(testOwner, columnsOf([]SegmentColumn{{1, v}}), 1, pagetest.New(testOwner), noYield)
	if err == nil || !strings.Contains(err.Error(), "too long") {
		t.Fatalf("a value over the maximum: %v", err)
	}
}

// TestWideTiny is the small wide table: 1,600 columns of 5 rows in kilobytes.
func TestWideTiny(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	var cols []SegmentColumn
	var all [][]value.Value
	for a := 1; a <= 1600; a++ {
		vals := someColumn(value.Int4, 5, 0, []int{0, 6, 1}[a%3], rnd)
		all = append(all, vals)
		cols = append(cols, SegmentColumn{a, vectorOf(value.Int4, vals)})
	}
	s, m := segmentOf(t, cols)
	t.Logf("%d bytes in %d pages", m.Bytes(), len(m.Pages))
	if m.Bytes() > 128<<10 || len(m.Pages) > 20 {
		t.Errorf("5 rows of 1,600 columns take %d bytes in %d pages", m.Bytes(), len(m.Pages))
	}
	for i, vals := range all {
		verify(t, s, i+1, value.Int4, vals, rnd)
	}
	checkDescriptions(t, m)
	if err := s.Check(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// TestSizes holds the sizes of typical columns to what their information needs.
func TestSizes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 10))
	column := func(typ value.Type, f func(i int) value.Value) []SegmentColumn {
		vals := make([]value.Value, tid.SegmentRows)
		for i := range vals {
			vals[i] = f(i)
		}
		return []SegmentColumn{{1, vectorOf(typ, vals)}}
	}
	for _, c := range []struct {
		name string
		cols []SegmentColumn
		max  float64 // bits a row
	}{
		{"int4 random below 2e9", column(value.Int4, func(int) value.Value { return value.OfInt4(rnd.Int32N(2e9)) }), 31.4},
		{"serial", column(value.Int8, func(i int) value.Value { return value.OfInt8(1e12 + int64(i)) }), 13.5},
		{"constant", column(value.Int8, func(i int) value.Value { return value.OfInt8(-5) }), 0.03},
		{"all NULL", column(value.Int8, func(i int) value.Value { return value.Null(value.Int8) }), 0.03},
		{"bool", column(value.Bool, func(i int) value.Value { return value.OfBool(rnd.IntN(2) == 0) }), 1.03},
		{"three wide values", column(value.Int8, func(i int) value.Value { return value.OfInt8(rnd.Int64N(3) << 60) }), 2.06},
		{"runs of 100", column(value.Int4, func(i int) value.Value { return value.OfInt4(int32(i / 100 * 7919 % 65536 * 1000)) }), 0.5},
		{"1% not NULL", column(value.Int4, func(i int) value.Value {
			if rnd.IntN(100) > 0 {
				return value.Null(value.Int4)
			}
			return value.OfInt4(rnd.Int32())
		}), 1.4},
		{"five words", column(value.Text, func(i int) value.Value {
			return value.OfText([]string{"alpha", "beta", "gamma", "delta", "a longer word"}[rnd.IntN(5)])
		}), 3.1},
		{"8 letters", column(value.Text, func(i int) value.Value { return value.OfText(fmt.Sprintf("%08x", rnd.Uint32())) }), 78.5},
	} {
		_, m := segmentOf(t, c.cols)
		got := float64(m.Bytes()) * 8 / tid.SegmentRows
		t.Logf("%s: %.3f bits a row", c.name, got)
		if got > c.max {
			t.Errorf("%s: %.3f bits a row, at most %.3f expected", c.name, got, c.max)
		}
	}
}

// TestDeterminism: the pages do not depend on how the vectors came to be.
func TestDeterminism(t *testing.T) {
	rnd := rand.New(rand.NewPCG(11, 12))
	var one, two []SegmentColumn
	for i := range patterns * 2 {
		typ := allTypes[i%len(allTypes)]
		vals := someColumn(typ, 7001, i%patterns, i%7, rnd)
		a := vectorOf(typ, vals)
		b := &value.Vector{} // in used memory, with more words of nulls than needed
		b.Reset(typ)
		for range 9000 {
			b.AppendNull()
		}
		b.Reset(typ)
		for _, x := range vals {
			b.Append(value.Value(x))
		}
		b.Nulls = append(b.Nulls, make([]uint64, bitWords(7001)-len(b.Nulls)+2)...)
		one, two = append(one, SegmentColumn{i + 1, a}), append(two, SegmentColumn{i + 1, b})
	}
	_, m1 := segmentOf(t, one)
	for range 3 {
		_, m2 := segmentOf(t, two)
		if !slices.EqualFunc(m1.Pages, m2.Pages, bytes.Equal) {
			t.Fatal("the same rows made different pages")
		}
	}
}

func TestMissingColumnAndNoRows(t *testing.T) {
	rnd := rand.New(rand.NewPCG(13, 14))
	vals := someColumn(value.Int4, 100, 0, 0, rnd)
	s, _ := segmentOf(t, []SegmentColumn{{2, vectorOf(value.Int4, vals)}, {5, vectorOf(value.Int4, vals)}})
	nulls := make([]value.Value, 100)
	for i := range nulls {
		nulls[i] = value.Null(value.Int4)
	}
	for _, attno := range []int{1, 3, 6, 70000} {
		var v value.Vector
		v.Reset(value.Int4)
		if err := s.Column(context.Background(), attno, &v); err != nil {
			t.Fatal(err)
		}
		wantVector(t, "Column", &v, nulls)
		v.Reset(value.Int4)
		if err := s.Gather(context.Background(), attno, []uint16{0, 63, 64, 99}, &v); err != nil {
			t.Fatal(err)
		}
		wantVector(t, "Gather", &v, nulls[:4])
		cand := []uint64{0xf0f0, 1}
		for _, r := range []value.Ranges{value.NotNull(value.Int4), {Nulls: true}} {
			checkSelect(t, s, attno, r, nil, nulls)
			checkSelect(t, s, attno, r, cand, nulls)
		}
		if ps, err := s.Pages(attno); len(ps) > 0 || err != nil {
			t.Fatalf("a missing column has pages %v, %v", ps, err)
		}
	}
	for _, cols := range [][]SegmentColumn{nil, {{1, vectorOf(value.Int4, nil)}, {2, vectorOf(value.Text, nil)}}} {
		s, m := segmentOf(t, cols)
		if err := s.Check(context.Background()); err != nil {
			t.Fatal(err)
		}
		checkDescriptions(t, m)
		if s.Rows() != 0 || s.Number() != testOwner.Part {
			t.Fatalf("an empty segment has %d rows, number %d", s.Rows(), s.Number())
		}
	}
}

func TestWriteSegmentRefuses(t *testing.T) {
	v := vectorOf(value.Int4, []value.Value{value.OfInt4(1)})
	for name, cols := range map[string][]SegmentColumn{
		"attno 0":      {{0, v}},
		"out of order": {{2, v}, {1, v}},
		"twice":        {{2, v}, {2, v}},
		"rows differ":  {{1, vectorOf(value.Int4, nil)}},
	} {
		if _, err := WriteSegment(testOwner, columnsOf(cols), 1, pagetest.New(testOwner), noYield); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	stop := fmt.Errorf("stop")
	_, err := WriteSegment(testOwner, columnsOf([]SegmentColumn{{1, v}}), 1, pagetest.New(testOwner), func() error { return stop })
	if err != stop {
		t.Errorf("yield's error: %v", err)
	}
}

func TestContext(t *testing.T) {
	rnd := rand.New(rand.NewPCG(15, 16))
	s, _ := segmentOf(t, []SegmentColumn{{1, vectorOf(value.Int8, someColumn(value.Int8, 60000, 0, 0, rnd))}})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var v value.Vector
	v.Reset(value.Int8)
	out := make([]uint64, tid.Words)
	r := value.OfIntervals(value.Interval{Lo: 1, Hi: 1 << 62})
	for name, err := range map[string]error{
		"Column": s.Column(ctx, 1, &v),
		"Gather": s.Gather(ctx, 1, []uint16{1}, &v),
		"Select": s.Select(ctx, 1, r, nil, out),
		"Check":  s.Check(ctx),
	} {
		if err != context.Canceled {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSignedWidths is the fault of bit widths taken from a difference that overflows, or from 32 bits: 200 values
// that need exactly w bits around 0, a NULL and a 0 among them.
func TestSignedWidths(t *testing.T) {
	rnd := rand.New(rand.NewPCG(17, 18))
	for _, w := range []int{1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 56, 57, 58, 62, 63, 64} {
		half := int64(1) << (w - 1)
		vals := make([]value.Value, 200)
		for i := range vals {
			switch {
			case i == 100:
				vals[i] = value.Null(value.Int8)
			case i == 150:
				vals[i] = value.OfInt8(0)
			case i%2 == 0:
				vals[i] = value.OfInt8(-half)
			default:
				vals[i] = value.OfInt8(half - 1)
			}
		}
		s, _ := segmentOf(t, []SegmentColumn{{1, vectorOf(value.Int8, vals)}})
		verify(t, s, 1, value.Int8, vals, rnd)
		out := make([]uint64, 4)
		low := value.Int8Code(-half)
		if err := s.Select(context.Background(), 1, value.OfIntervals(value.Interval{Lo: low, Hi: low}), nil, out); err != nil {
			t.Fatal(err)
		}
		if n := countBits(out, 0, 200); n != 98 { // the even numbers below 200 but 100 and 150
			t.Errorf("%d bits: %d rows have %d, want 98", w, n, -half)
		}
	}
}

// TestConcurrentReads reads one segment from many goroutines.
func TestConcurrentReads(t *testing.T) {
	cols, s, m := everyEncoding(t)
	s, err := OpenSegment(s.meta, s.types, m, page.NewCache(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				for _, c := range cols {
					var v value.Vector
					v.Reset(c.Values.Type)
					if err := s.Column(context.Background(), c.Attno, &v); err != nil {
						t.Error(err)
					}
					for i := range v.N {
						if !sameRow(v.Value(i), c.Values.Value(i)) {
							t.Errorf("column %d, row %d is %v", c.Attno, i, v.Value(i))
							return
						}
					}
				}
			}
		})
	}
	wg.Wait()
}

// columnsOf yields columns that are in memory.
func columnsOf(cols []SegmentColumn) iter.Seq2[SegmentColumn, error] {
	return func(yield func(SegmentColumn, error) bool) {
		for _, c := range cols {
			if !yield(c, nil) {
				return
			}
		}
	}
}
