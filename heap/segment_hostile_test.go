package heap

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"wideleaf/page"
	"wideleaf/page/pagetest"
	"wideleaf/value"
)

// everyEncoding is a segment of columns in every encoding, with the values they were made of.
func everyEncoding(t testing.TB) ([]SegmentColumn, *Segment, *pagetest.Mem) {
	rnd := rand.New(rand.NewPCG(20, 21))
	const rows = 700
	var cols []SegmentColumn
	add := func(typ value.Type, f func(i int) value.Value) {
		vals := make([]value.Value, rows)
		for i := range vals {
			vals[i] = f(i)
		}
		cols = append(cols, SegmentColumn{len(cols) + 1, vectorOf(typ, vals)})
	}
	add(value.Int4, func(i int) value.Value { return value.OfInt4(rnd.Int32()) })
	add(value.Int8, func(i int) value.Value { return value.OfInt8(rnd.Int64N(5) << 40) })
	add(value.Int4, func(i int) value.Value {
		if i%5 == 0 {
			return value.Null(value.Int4)
		}
		return value.OfInt4(int32(i / 100 * 12345))
	})
	add(value.Float8, func(i int) value.Value { return value.Null(value.Float8) })
	add(value.Text, func(i int) value.Value { return value.OfText(strconv.Itoa(rnd.IntN(1e6))) })
	add(value.Text, func(i int) value.Value { return value.OfText([]string{"one", "two", "three"}[i%3]) })
	add(value.Text, func(i int) value.Value {
		if i%100 == 3 {
			return value.OfText(strings.Repeat("long", 500+i*10))
		}
		return value.OfText("s")
	})
	add(value.Bool, func(i int) value.Value { return value.OfBool(i%3 == 0) })
	add(value.Int8, func(i int) value.Value { return value.OfInt8(int64(rnd.Uint64())) })
	s, m := segmentOf(t, cols)
	found := map[encoding]bool{}
	for _, p := range m.Pages {
		for at := page.HeaderSize; page.ParseHeader(p).Kind == page.KindColumn && at < len(p); {
			st, err := parseStrip(p, at)
			if err != nil {
				t.Fatal(err)
			}
			found[st.enc] = true
			at += st.size
		}
	}
	if len(found) != len(encodingNames) {
		t.Fatalf("the segment has encodings %v, not all", found)
	}
	return cols, s, m
}

// useAll reads every column in every way and fails on errors that are not corruption. It returns the number of
// operations that failed.
func useAll(t testing.TB, s *Segment, cols []SegmentColumn) (failed int) {
	ctx := context.Background()
	note := func(what string, err error) {
		var c *page.CorruptError
		switch {
		case err == nil:
		case !errors.As(err, &c) || !errors.Is(err, page.ErrCorrupt):
			t.Fatalf("%s: %v is not corruption", what, err)
		case c.Owner != testOwner:
			t.Fatalf("%s: %v names the wrong owner", what, err)
		default:
			failed++
		}
	}
	var v value.Vector
	out := make([]uint64, bitWords(s.Rows()))
	few := make([]uint64, bitWords(s.Rows()))
	var offs []uint16
	for i := 0; i < s.Rows(); i += 60 {
		few[i>>6] |= 1 << (i & 63)
		offs = append(offs, uint16(i))
	}
	for _, c := range cols {
		v.Reset(c.Values.Type)
		note("Column", s.Column(ctx, c.Attno, &v))
		v.Reset(c.Values.Type)
		note("Gather", s.Gather(ctx, c.Attno, offs, &v))
		r := value.OfIntervals(value.Interval{Lo: 1 << 20, Hi: 1 << 63})
		if c.Values.Type.Width() == value.Var {
			r = value.OfStringIntervals(value.StringInterval{Lo: "one", Hi: "xx"})
		}
		note("Select", s.Select(ctx, c.Attno, r, nil, out))
		note("Select of few", s.Select(ctx, c.Attno, r, few, out))
		_, err := s.Pages(c.Attno)
		note("Pages", err)
	}
	note("Check", s.Check(ctx))
	return failed
}

// TestHostilePages changes pages and seals them again with right checksums.
func TestHostilePages(t *testing.T) {
	cols, s, m := everyEncoding(t)
	if n := useAll(t, s, cols); n != 0 {
		t.Fatalf("%d operations fail on good pages", n)
	}
	rnd := rand.New(rand.NewPCG(22, 23))
	good := make([][]byte, len(m.Pages))
	for i, p := range m.Pages {
		good[i] = bytes.Clone(p)
	}
	try := func(block int, change func(p []byte) []byte) {
		t.Helper()
		m.Pages[block] = change(bytes.Clone(good[block]))
		m.Reseal(uint32(block))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		useAll(t, s, cols)
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 48<<20 { // all operations together
			t.Fatalf("block %d: %d bytes allocated", block, grown)
		}
		if d := time.Since(start); d > 5*time.Second {
			t.Fatalf("block %d: it took %v", block, d)
		}
		d, err := DescribePage(m.Pages[block])
		if err != nil && !errors.Is(err, page.ErrCorrupt) {
			t.Fatal(err)
		}
		at := 0
		for _, f := range d.Fields {
			if f.Offset != at || f.Size < 0 || at+f.Size > len(m.Pages[block]) {
				t.Fatalf("block %d: field %+v of %d bytes", block, f, len(m.Pages[block]))
			}
			at += f.Size
		}
		m.Pages[block] = good[block]
	}
	headers := 0
	for b, p := range good {
		// Every byte of the headers, some others.
		var places []int
		for at := page.HeaderSize; page.ParseHeader(p).Kind == page.KindColumn && at < len(p); {
			st, _ := parseStrip(p, at)
			for i := range min(40, st.size) {
				places = append(places, at+i)
			}
			at += st.size
		}
		headers += len(places)
		for range 25 {
			places = append(places, page.HeaderSize+rnd.IntN(len(p)-page.HeaderSize))
		}
		if len(places) > 120 {
			rnd.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
			places = places[:120]
		}
		for _, at := range places {
			x := []byte{0, 0xff, p[at] + 1, p[at] ^ 0x80}[rnd.IntN(4)]
			try(b, func(p []byte) []byte { p[at] = x; return p })
		}
		for range 6 {
			n := page.HeaderSize + rnd.IntN(len(p)-page.HeaderSize)
			try(b, func(p []byte) []byte { return p[:n] })
		}
		try(b, func(p []byte) []byte { return p[:page.HeaderSize] })
		try(b, func(p []byte) []byte { p[0] = byte(page.KindBtreeLeaf); return p })
		try(b, func(p []byte) []byte { clear(p[page.HeaderSize:]); return p })
		for i := page.HeaderSize; i < len(p); i++ {
			p = bytes.Clone(p)
			p[i] = 0xff
		}
		try(b, func([]byte) []byte { return p })
	}
	if headers == 0 {
		t.Fatal("no headers were found")
	}
}

// TestCheckFindsWhatReadsCannot damages what no read compares: bounds that are too wide in page and summary alike
// are found by Check, and so is a strip that nothing refers to.
func TestCheckFindsWhatReadsCannot(t *testing.T) {
	vals := []value.Value{value.OfInt4(10), value.OfInt4(11), value.OfInt4(12)}
	cols := []SegmentColumn{{1, vectorOf(value.Int4, vals)}}
	write := func(change func(m *pagetest.Mem)) *Segment {
		s, m := segmentOf(t, cols)
		change(m)
		for b := range m.Pages {
			m.Reseal(uint32(b))
		}
		return s
	}
	packed := page.HeaderSize + stripHeader + 8
	s := write(func(m *pagetest.Mem) { m.Pages[0][packed] = 0b101010 }) // 12, 12, 12
	if err := s.Check(context.Background()); !errors.Is(err, page.ErrCorrupt) {
		t.Errorf("wrong bounds: %v", err)
	}
	s = write(func(m *pagetest.Mem) { m.Pages[0] = append(m.Pages[0], m.Pages[0][page.HeaderSize:]...) })
	if err := s.Check(context.Background()); !errors.Is(err, page.ErrCorrupt) {
		t.Errorf("a strip too many: %v", err)
	}
	cols = append(cols, SegmentColumn{2, cols[0].Values})
	s = write(func(m *pagetest.Mem) { // the second column's strip is said to be where the first's is
		part := m.Pages[1][page.HeaderSize+summaryHeader+2*tableEntry+13:]
		if part[0] != 2 || part[3] != page.HeaderSize+25 {
			t.Fatalf("the second column's part is %x", part)
		}
		part[3] = page.HeaderSize
	})
	if err := s.Check(context.Background()); !errors.Is(err, page.ErrCorrupt) {
		t.Errorf("another column's strip: %v", err)
	}
	s = write(func(m *pagetest.Mem) {})
	if err := s.Check(context.Background()); err != nil {
		t.Errorf("good pages: %v", err)
	}
}

// TestSwappedPages: pages of a column in each other's place, and a page from before an update, have right checksums.
func TestSwappedPages(t *testing.T) {
	rnd := rand.New(rand.NewPCG(24, 25))
	vals := someColumn(value.Int4, 9000, 0, 0, rnd)
	other := slices.Clone(vals)
	slices.Reverse(other)
	cols := []SegmentColumn{{1, vectorOf(value.Int4, vals)}}
	s, m := segmentOf(t, cols)
	_, old := segmentOf(t, []SegmentColumn{{1, vectorOf(value.Int4, other)}})
	m.Pages[0], m.Pages[1] = m.Pages[1], m.Pages[0]
	if useAll(t, s, cols) == 0 {
		t.Error("swapped pages are not found")
	}
	m.Pages[0], m.Pages[1] = m.Pages[1], m.Pages[0]
	m.Pages[1] = old.Pages[1]
	if useAll(t, s, cols) == 0 {
		t.Error("a page of another state is not found")
	}
}

func TestOpenSegmentRefuses(t *testing.T) {
	_, s, m := everyEncoding(t)
	for _, change := range []func(*SegmentMeta){
		func(m *SegmentMeta) { m.Rows = 65537 },
		func(m *SegmentMeta) { m.Blocks++ },
		func(m *SegmentMeta) { m.Summary = 1<<32 - 1 },
		func(m *SegmentMeta) { m.Columns = 1 << 30 },
		func(m *SegmentMeta) { m.SummaryBytes = 1<<32 - 1 },
	} {
		meta := s.Meta()
		change(&meta)
		if _, err := OpenSegment(meta, s.types, m, nil); !errors.Is(err, page.ErrCorrupt) {
			t.Errorf("%+v: %v", meta, err)
		}
	}
}

func FuzzDecodeSegmentMeta(f *testing.F) {
	f.Add(SegmentMeta{1, 2, 3, 4, 5}.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, rest, err := DecodeSegmentMeta(b); err == nil && len(rest) > len(b)-5 {
			t.Fatalf("%+v of %d bytes leaves %d", m, len(b), len(rest))
		}
	})
}

// FuzzStrip decodes strips of any bytes in all ways; what the ways return must agree.
func FuzzStrip(f *testing.F) {
	_, _, m := everyEncoding(f)
	for _, p := range m.Pages {
		f.Add(p[page.HeaderSize:])
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		p := append(make([]byte, page.HeaderSize), content...)
		s, err := parseStrip(p, page.HeaderSize)
		if err != nil || len(p) > page.Size {
			return
		}
		load := func(row int, ref overflowRef) (string, error) { return "loaded", nil }
		sc := new(scratch)
		var v, g value.Vector
		v.Reset(s.typ)
		if err := s.appendTo(&v, sc, load); err != nil {
			return
		}
		if err := s.check(&v); err != nil {
			return // reads of a strip that lies about its bounds need not agree
		}
		offs := make([]uint16, 0, s.rows)
		for i := s.rows & 3; i < s.rows; i += 1 + s.rows>>8 {
			offs = append(offs, uint16(s.first+i))
		}
		g.Reset(s.typ)
		if err := s.gather(offs, &g, sc, load); err != nil {
			t.Fatalf("gather of what decodes: %v", err)
		}
		for i, off := range offs {
			if a, b := g.Value(i), v.Value(int(off)-s.first); !sameRow(a, b) {
				t.Fatalf("row %d is %v when gathered, %v decoded", off, a, b)
			}
		}
		r := value.OfIntervals(value.Interval{Lo: s.words.Lo/2 + s.words.Hi/2, Hi: s.words.Hi - 1})
		if s.typ.Width() == value.Var {
			iv := s.strings
			iv.LoOpen = true
			r = value.OfStringIntervals(iv)
		}
		out := make([]uint64, 1025)
		if err := s.selectRows(&r, nil, out, sc, load); err != nil {
			t.Fatalf("select of what decodes: %v", err)
		}
		for i := range v.N {
			at := s.first + i
			if got := out[at>>6]>>(at&63)&1 != 0; got != r.Contains(v.Value(i)) {
				t.Fatalf("select of %v: row %d, %v, is %t", r, i, v.Value(i), got)
			}
		}
	})
}

func FuzzDirectory(f *testing.F) {
	_, s, _ := everyEncoding(f)
	table, err := s.table()
	if err != nil {
		f.Fatal(err)
	}
	for i := range int(s.meta.Columns) {
		from, end, err := s.part(table, i)
		if err != nil {
			f.Fatal(err)
		}
		b, err := s.summary(from, end)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, s.Rows())
	}
	for _, rows := range []int{s.Rows() - 1, s.Rows() + 1} {
		from, end, err := s.part(table, 0)
		if err != nil {
			f.Fatal(err)
		}
		b, err := s.summary(from, end)
		if err != nil {
			f.Fatal(err)
		}
		if _, err := parseDirectory(b, rows, 1000); err == nil {
			f.Fatalf("a directory of %d rows passes for one of %d", s.Rows(), rows)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, rows int) {
		if rows < 0 || rows > 65536 {
			return
		}
		d, err := parseDirectory(b, rows, 1000)
		if err != nil {
			return
		}
		again, err := parseDirectory(appendDirectory(nil, d), rows, 1000)
		if err != nil || !slices.Equal(again.strips, d.strips) {
			t.Fatalf("%+v comes back as %+v, %v", d, again, err)
		}
	})
}

func FuzzDescribePage(f *testing.F) {
	_, _, m := everyEncoding(f)
	for _, p := range m.Pages {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		d, err := DescribePage(p)
		at := 0
		for _, x := range d.Fields {
			if x.Offset != at || x.Size < 0 || x.Offset+x.Size > len(p) {
				t.Fatalf("field %+v after %d of %d bytes", x, at, len(p))
			}
			at += x.Size
		}
		if err == nil && at != len(p) {
			t.Fatalf("%d bytes described of %d", at, len(p))
		}
	})
}
