package heap

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"wideleaf/value"
)

// TestPacking compares packed bytes with one big number in which value i stands at bit i*width.
func TestPacking(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(1, 64).Draw(t, "width")
		mask := uint64(math.MaxUint64) >> (64 - width)
		base := rapid.Uint64().Draw(t, "base")
		vs := rapid.SliceOfN(rapid.Uint64(), 1, 200).Draw(t, "values")
		sum := new(big.Int)
		for i := range vs {
			vs[i] &= mask
			sum.Or(sum, new(big.Int).Lsh(new(big.Int).SetUint64(vs[i]), uint(i*width)))
			vs[i] += base
		}
		want := make([]byte, (len(vs)*width+7)/8)
		sum.FillBytes(want)
		slices.Reverse(want)
		got := appendPacked([]byte("before"), vs, base, width)
		if string(got) != "before"+string(want) {
			t.Fatalf("%d values of %d bits are packed as %x, want %x", len(vs), width, got[6:], want)
		}
		got = got[6:]
		if rapid.Bool().Draw(t, "more follows") { // must not matter
			got = append(got, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
		}
		out := make([]uint64, len(vs))
		unpack(out, got, base, width)
		if !slices.Equal(out, vs) {
			t.Fatalf("%d bits: unpacked %d, want %d", width, out, vs)
		}
		for i, v := range vs {
			if x := packedAt(got, i, width); x != v-base {
				t.Fatalf("%d bits: value %d is %d, want %d", width, i, x, v-base)
			}
		}
		if width <= 32 {
			out := make([]uint32, len(vs))
			unpack(out, got, uint32(base), width)
			for i, v := range vs {
				if out[i] != uint32(v) {
					t.Fatalf("%d bits: 32-bit value %d is %d, want %d", width, i, out[i], uint32(v))
				}
			}
		}
	})
}

// TestBitsets compares the bitset functions with slices of bool.
func TestBitsets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "rows")
		at := rapid.IntRange(0, 130).Draw(t, "at")
		model := rapid.SliceOfN(rapid.Bool(), n, n)
		words := func(bs []bool) []uint64 {
			set := make([]uint64, bitWords(len(bs)))
			for i, b := range bs {
				if b {
					set[i/64] |= 1 << (i % 64)
				}
			}
			return set
		}
		count := func(bs []bool) (c int) {
			for _, b := range bs {
				if b {
					c++
				}
			}
			return c
		}
		x, nulls := model.Draw(t, "x"), model.Draw(t, "nulls")
		moved := append(make([]bool, at), x...)

		out := make([]uint64, bitWords(at+n))
		orBits(out, at, words(x), n)
		if !slices.Equal(out, words(moved)) {
			t.Fatalf("orBits at %d of %v: %x", at, x, out)
		}
		if c := countBits(out, at, n); c != count(x) {
			t.Fatalf("countBits is %d, want %d", c, count(x))
		}
		if anyBit(out, at, n) != (count(x) > 0) || anyBit(out, 0, at) {
			t.Fatal("anyBit")
		}
		b := appendBits(nil, out, at, n)
		if len(b) != (n+7)/8 || !slices.Equal(loadBits(make([]uint64, 10), b, n), words(x)) {
			t.Fatalf("appendBits and loadBits: %x", b)
		}
		if c := countBitmap(b, n); c != count(x) {
			t.Fatalf("countBitmap is %d, want %d", c, count(x))
		}
		if n%8 != 0 {
			b[len(b)-1] |= 0x80
			if countBitmap(b, n) != -1 {
				t.Fatal("countBitmap misses a bit beyond the rows")
			}
		}
		end := rapid.IntRange(at, at+n).Draw(t, "end")
		set, want := make([]uint64, bitWords(at+n)), make([]bool, at+n)
		setBits(set, at, end)
		for i := at; i < end; i++ {
			want[i] = true
		}
		if !slices.Equal(set, words(want)) {
			t.Fatalf("setBits from %d to %d: %x", at, end, set)
		}

		dense, spread := []bool{}, make([]bool, n)
		vals, spreadVals := make([]int, n), make([]int, n)
		counter, rows := valueCounter{nulls: words(nulls)}, rowCounter{nulls: words(nulls)}
		for i, null := range nulls {
			j := counter.at(i)
			if null {
				if j != -1 {
					t.Fatalf("row %d is NULL and value %d", i, j)
				}
				vals[i] = -1 // whatever the memory held
				continue
			}
			if j != len(dense) {
				t.Fatalf("row %d is value %d, want %d", i, j, len(dense))
			}
			if r := rows.next(); r != i {
				t.Fatalf("value %d is row %d, want %d", j, r, i)
			}
			dense, spread[i], spreadVals[i] = append(dense, x[i]), x[i], i+1
		}
		for i, j := 0, 0; i < n; i++ {
			if !nulls[i] {
				vals[j] = i + 1
				j++
			}
		}
		got := make([]uint64, bitWords(n))
		spreadBits(got, words(append(dense, make([]bool, n-len(dense))...)), words(nulls), n)
		if !slices.Equal(got, words(spread)) {
			t.Fatalf("spreadBits of %v over %v: %x", dense, nulls, got)
		}
		spreadValues(vals, len(dense), words(nulls))
		if !slices.Equal(vals, spreadVals) {
			t.Fatalf("spreadValues over %v: %v, want %v", nulls, vals, spreadVals)
		}
	})
}

func TestTextBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOfN(rapid.SampledFrom([]rune{0, 'a', 'b', 0x7f}), 0, 40, -1).Draw(t, "s")
		if rapid.Bool().Draw(t, "high") {
			b := []byte(s)
			for i := range b {
				b[i] ^= 0xff // 0 becomes the byte that can't be raised
			}
			s = string(b)
		}
		lo := lowerBound(s)
		hi, inf := upperBound(s)
		if lo > s || !inf && hi < s || len(lo) > boundBytes || len(hi) > boundBytes {
			t.Fatalf("%q has bounds %q, %q, %t", s, lo, hi, inf)
		}
		if len(s) < boundBytes && (lo != s || hi != s || inf) {
			t.Fatalf("short %q has bounds %q, %q, %t", s, lo, hi, inf)
		}
		iv := value.StringInterval{Lo: lo, Hi: hi, HiInf: inf}
		c := cut{b: appendTextBounds(nil, iv)}
		if got, ok := c.textBounds(); !ok || got != iv || len(c.b) > 0 {
			t.Fatalf("%+v comes back as %+v", iv, got)
		}
	})
}

// TestDistinctSet runs the set over many clearings, more than its stamps have numbers.
func TestDistinctSet(t *testing.T) {
	var s distinctSet
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 1<<16 + 10 {
		s.clear()
		for i := range uint64(3) {
			if n := s.add(i * 7); n != uint32(i) {
				t.Fatalf("a value that was added to an earlier set has number %d, want %d", n, i)
			}
		}
	}
	s.clear()
	var order []uint64
	for range 10000 {
		x := rnd.Uint64N(maxDistinct) << 50
		i := slices.Index(order, x)
		if i < 0 {
			i, order = len(order), append(order, x)
		}
		if n := s.add(x); n != uint32(i) {
			t.Fatalf("%d has number %d, want %d", x, n, i)
		}
	}
	values, rank := s.sorted()
	if !slices.IsSorted(values) || len(values) != len(order) {
		t.Fatalf("%d values of %d, sorted: %t", len(values), len(order), slices.IsSorted(values))
	}
	for i, x := range order {
		if values[rank[i]] != x {
			t.Fatalf("value %d has rank %d", x, rank[i])
		}
	}
}

// TestPlansFit: no strip takes more than it was planned to, and none more than the room.
func TestPlansFit(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 5))
	for pattern := range patterns {
		for nulls := range 8 {
			for _, typ := range []value.Type{value.Int4, value.Int8, value.Text} {
				vals := someColumn(typ, 4000, pattern, nulls, rnd)
				v := vectorOf(typ, vals)
				w := segmentWriter{}
				for i, s := range v.Str {
					if len(s) > maxInline {
						v.Str[i] = s[:maxInline]
					}
				}
				e, err := w.encoder(1, v)
				if err != nil {
					t.Fatal(err)
				}
				for from := 0; from < v.N; {
					room := 2200 + rnd.IntN(stripRoom-2200+1)
					n := e.plan(from, room)
					if n == 0 {
						t.Fatalf("%s, pattern %d: nothing fits in %d bytes", typ, pattern, room)
					}
					planned := w.text.next.size
					switch typ {
					case value.Int4:
						planned = w.u32.next.size
					case value.Int8:
						planned = w.u64.next.size
					}
					b, f := e.appendStrip(nil)
					if len(b) > planned || planned > room || f.rows != n {
						t.Fatalf("%s, pattern %d: %d rows take %d bytes, planned %d rows in %d of %d", typ, pattern, f.rows,
							len(b), n, planned, room)
					}
					from += n
				}
			}
		}
	}
}
