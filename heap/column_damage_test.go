package heap

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"wideleaf/page"
	"wideleaf/page/pagetest"
	"wideleaf/value"
)

// stripOf encodes all rows as one strip and parses it.
func stripOf(t *testing.T, enc encoding, typ value.Type, vals []value.Value) ([]byte, strip) {
	t.Helper()
	var w segmentWriter
	e, err := w.encoder(1, vectorOf(typ, vals))
	if err != nil {
		t.Fatal(err)
	}
	if n := e.plan(0, stripRoom); n != len(vals) {
		t.Fatalf("the strip has %d rows of %d", n, len(vals))
	}
	p, _ := e.appendStrip(make([]byte, page.HeaderSize))
	s, err := parseStrip(p, page.HeaderSize)
	if err != nil || s.enc != enc {
		t.Fatalf("the strip is encoded as %s, want %s; %v", s.enc, enc, err)
	}
	return p, s
}

func texts(n int, f func(i int) string) []value.Value {
	vals := make([]value.Value, n)
	for i := range vals {
		vals[i] = value.OfText(f(i))
	}
	return vals
}

func int8s(n int, f func(i int) int64) []value.Value {
	vals := make([]value.Value, n)
	for i := range vals {
		vals[i] = value.OfInt8(f(i))
	}
	return vals
}

// TestDamagedStrips damages the last row's value in ways that parsing can't see; every way to that row must report it.
func TestDamagedStrips(t *testing.T) {
	for _, c := range []struct {
		name   string
		enc    encoding
		typ    value.Type
		vals   []value.Value
		damage func(s *strip) // changes the page under s
	}{
		{"place beyond the dictionary", encDict, value.Int8, int8s(300, func(i int) int64 { return int64(i%3) << 60 }),
			func(s *strip) { s.places[len(s.places)-1] = 0xff }},
		{"runs end one value early", encRuns, value.Int8, int8s(300, func(i int) int64 { return int64(i/100) << 60 }),
			func(s *strip) { s.places[2] &^= 1 << 2 }}, // 99, 199, 299 in 9 bits each: the last becomes 298
		{"runs out of order", encRuns, value.Int8, int8s(300, func(i int) int64 { return int64(i/100) << 60 }),
			func(s *strip) { s.places[len(s.places)-1] = 0; s.places[len(s.places)-2] &= 0x03 }},
		{"place beyond the text dictionary", encTextDict, value.Text,
			texts(300, func(i int) string { return []string{"ax", "bx", "cx"}[i%3] }),
			func(s *strip) { s.places[len(s.places)-1] = 0xff }},
		{"string ends beyond the text", encText, value.Text, texts(8, func(i int) string { return strings.Repeat("x", i) }),
			func(s *strip) { s.ends[len(s.ends)-1] = 0xff }},
		{"string ends before it begins", encText, value.Text, texts(8, func(i int) string { return strings.Repeat("x", i) }),
			func(s *strip) { s.ends[len(s.ends)-1] &= 0x07 }},
	} {
		p, s := stripOf(t, c.enc, c.typ, c.vals)
		c.damage(&s)
		s, err := parseStrip(p, page.HeaderSize)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		sc := new(scratch)
		var v value.Vector
		reset := func() *value.Vector { v.Reset(c.typ); return &v }
		last := uint16(len(c.vals) - 1)
		r := value.OfIntervals(value.Interval{Lo: s.words.Lo, Hi: s.words.Hi - 1})
		if c.typ == value.Text {
			r = value.OfStringIntervals(value.StringInterval{Lo: s.strings.Lo, Hi: s.strings.Hi, HiOpen: true})
		}
		out, cand := make([]uint64, 10), make([]uint64, 10)
		cand[last>>6] |= 1 << (last & 63)
		for way, err := range map[string]error{
			"decoding":               s.appendTo(reset(), sc, nil),
			"gathering":              s.gather([]uint16{last}, reset(), sc, nil),
			"selecting":              s.selectRows(&r, nil, out, sc, nil),
			"selecting of few":       s.selectRows(&r, cand, out, sc, nil),
			"gathering most of them": s.gather(ascending(len(c.vals)), reset(), sc, nil),
		} {
			var d damage
			if !errors.As(err, &d) {
				t.Errorf("%s: %s gives %v", c.name, way, err)
			}
		}
	}
}

func ascending(n int) []uint16 {
	offs := make([]uint16, n)
	for i := range offs {
		offs[i] = uint16(i)
	}
	return offs
}

// TestDamagedReferences changes where a long value is said to be.
func TestDamagedReferences(t *testing.T) {
	vals := texts(3, func(i int) string { return strings.Repeat(string(rune('a'+i)), 15000) })
	cols := []SegmentColumn{{1, vectorOf(value.Text, vals)}}
	entry := 1 + overflowRefBytes
	for name, change := range map[string]func(last []byte, m *pagetest.Mem){
		"unknown mark":    func(last []byte, _ *pagetest.Mem) { last[0] = 2 },
		"another row's":   func(last []byte, _ *pagetest.Mem) { binary.LittleEndian.PutUint32(last[1:], 0) },
		"no block":        func(last []byte, _ *pagetest.Mem) { binary.LittleEndian.PutUint32(last[1:], 1<<32-1) },
		"a summary page":  func(last []byte, m *pagetest.Mem) { binary.LittleEndian.PutUint32(last[1:], m.Blocks()-1) },
		"a column page":   func(last []byte, m *pagetest.Mem) { binary.LittleEndian.PutUint32(last[1:], m.Blocks()-3) },
		"second page":     func(last []byte, _ *pagetest.Mem) { last[1]++ },
		"short length":    func(last []byte, _ *pagetest.Mem) { binary.LittleEndian.PutUint32(last[5:], 10) },
		"shorter":         func(last []byte, _ *pagetest.Mem) { last[5]-- },
		"longer":          func(last []byte, _ *pagetest.Mem) { last[5]++ },
		"enormous length": func(last []byte, _ *pagetest.Mem) { binary.LittleEndian.PutUint32(last[5:], 1<<32-1) },
	} {
		s, m := segmentOf(t, cols)
		block := s.meta.Summary - 1
		p := m.Pages[block]
		change(p[len(p)-entry:], m)
		m.Reseal(block)
		var v value.Vector
		v.Reset(value.Text)
		if err := s.Column(context.Background(), 1, &v); !errors.Is(err, page.ErrCorrupt) {
			t.Errorf("%s: Column gives %v", name, err)
		}
		v.Reset(value.Text)
		if err := s.Gather(context.Background(), 1, []uint16{2}, &v); !errors.Is(err, page.ErrCorrupt) {
			t.Errorf("%s: Gather gives %v", name, err)
		}
		if err := s.Check(context.Background()); !errors.Is(err, page.ErrCorrupt) {
			t.Errorf("%s: Check gives %v", name, err)
		}
		v.Reset(value.Text)
		if err := s.Gather(context.Background(), 1, []uint16{0}, &v); err != nil || v.Str[0] != vals[0].Str() {
			t.Errorf("%s: the rows beside are not readable: %v", name, err)
		}
	}
}

// TestParseRefuses changes single fields of a strip's header.
func TestParseRefuses(t *testing.T) {
	nullable := append(int8s(20, func(i int) int64 { return int64(i) }), value.Null(value.Int8))
	ints, _ := stripOf(t, encPacked, value.Int8, nullable)
	dict, _ := stripOf(t, encDict, value.Int8, int8s(300, func(i int) int64 { return int64(i%3) << 60 }))
	text, _ := stripOf(t, encText, value.Text, texts(4, func(i int) string { return strings.Repeat("x", i) }))
	bools, _ := stripOf(t, encPacked, value.Bool, []value.Value{value.OfBool(true), value.OfBool(false)})
	const h = page.HeaderSize
	for _, c := range []struct {
		name string
		p    []byte
		at   int
		x    []byte
	}{
		{"type 0", ints, h + 2, []byte{0}},
		{"type 200", ints, h + 2, []byte{200}},
		{"text encoding of a number", ints, h + 3, []byte{byte(encText)}},
		{"number encoding of text", text, h + 3, []byte{byte(encPacked)}},
		{"unknown encoding", ints, h + 3, []byte{7}},
		{"all NULL but for 20", ints, h + 3, []byte{0}},
		{"size 0", ints, h + 4, []byte{0, 0}},
		{"size 15", ints, h + 4, []byte{15, 0}},
		{"size beyond the page", ints, h + 4, []byte{0xff, 0xff}},
		{"a byte less", ints, h + 4, []byte{ints[h+4] - 1}},
		{"rows beyond the segment", ints, h + 6, []byte{0xff, 0xff}},
		{"no rows", ints, h + 8, []byte{0, 0, 0, 0}},
		{"2^32 - 1 rows", ints, h + 8, []byte{0xff, 0xff, 0xff, 0xff}},
		{"more NULLs than rows", ints, h + 12, []byte{22}},
		{"2^32 - 1 NULLs", ints, h + 12, []byte{0xff, 0xff, 0xff, 0xff}},
		{"bounds out of order", ints, h + 16, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}},
		{"bounds 64 bits apart", ints, h + 16, append(make([]byte, 8), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)},
		{"null bitmap without a bit", ints, h + 16 + 16 + 2, []byte{0}},
		{"null bitmap with a bit too many", ints, h + 16 + 16, []byte{1}},
		{"null bitmap with a bit beyond the rows", ints, h + 16 + 16 + 2, []byte{0x30}},
		{"no distinct values", dict, h + 16 + 16, []byte{0, 0}},
		{"more distinct values than rows", dict, h + 16 + 16, []byte{0xff, 0xff}},
		{"bool above true", bools, h + 20, []byte{2}},
		{"lower bound too long", text, h + 16, []byte{boundBytes + 1}},
		{"upper bound too long", text, h + 17, []byte{boundBytes + 1}},
		{"string bounds out of order", text, h + 18, []byte{'a', 'a', 'a'}},
		{"text longer than the strip", text, h + 18 + 3, []byte{0xff, 0x1f}},
	} {
		p := append([]byte(nil), c.p...)
		copy(p[c.at:], c.x)
		if c.name == "string bounds out of order" { // "" and "xxx" become "z" and "xx"
			p[h+16], p[h+17] = 1, 2
			copy(p[h+18:], "zxx")
		}
		if s, err := parseStrip(p, h); err == nil {
			t.Errorf("%s: parsed as %+v", c.name, s.facts)
		}
	}
	for _, at := range []int{-1, 0, h - 1, len(ints) - stripHeader + 1, len(ints), 1 << 30} {
		if _, err := parseStrip(ints, at); err == nil {
			t.Errorf("a strip at offset %d of %d", at, len(ints))
		}
	}
}

// TestSelectStringsExhaustively runs every interval over a few strings against strips of every three of them.
func TestSelectStringsExhaustively(t *testing.T) {
	long := strings.Repeat("\xff", 30)
	q := strings.Repeat("q", 25)
	some := []string{"", "a", "a\x00", "b", q[:23], q[:24], q, "\xff", long}
	for i := range some {
		for j := i; j < len(some); j += 2 {
			k := (i + j) / 2
			vals := []value.Value{value.OfText(some[j]), value.OfText(some[i]), value.OfText(some[k])}
			s, _ := segmentOf(t, []SegmentColumn{{1, vectorOf(value.Text, vals)}})
			for _, lo := range some {
				for _, hi := range append(some, "no end") {
					for open := range 4 {
						iv := value.StringInterval{Lo: lo, Hi: hi, LoOpen: open&1 > 0, HiOpen: open&2 > 0}
						if hi == "no end" {
							iv.Hi, iv.HiInf = "", true
						}
						checkSelect(t, s, 1, value.OfStringIntervals(iv), nil, vals)
					}
				}
			}
		}
	}
}

// TestRepeatedLongStrings: what could stand in a dictionary, but is too long for a column page.
func TestRepeatedLongStrings(t *testing.T) {
	vals := texts(1000, func(i int) string { return strings.Repeat("y", 2500+i%2) })
	s, _ := segmentOf(t, []SegmentColumn{{1, vectorOf(value.Text, vals)}})
	verify(t, s, 1, value.Text, vals, rand.New(rand.NewPCG(1, 1)))
	if err := s.Check(context.Background()); err != nil {
		t.Fatal(err)
	}
}
