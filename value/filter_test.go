package value

import (
	"testing"

	"pgregory.net/rapid"
)

// TestSelect compares with a row by row test, at offsets into a bitmap that has bits already.
func TestSelect(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := rapid.SampledFrom([]Type{Bool, Int4, Int8, Float8, Text}).Draw(t, "type")
		var r Ranges
		var in func(Value) bool
		var draw func() Value
		if typ == Text {
			ivs, set := genStrings(t, "ranges")
			r, in = OfStringIntervals(ivs...), func(v Value) bool { return set[v.Str()] }
			draw = func() Value { return OfText(rapid.SampledFrom(letters).Draw(t, "value")) }
		} else {
			ivs, set := genCodes(t, typ, "ranges")
			r, in = OfIntervals(ivs...), func(v Value) bool { return set[v.Code()] }
			u := universe(typ)
			draw = func() Value { return OfCode(typ, rapid.SampledFrom(u).Draw(t, "value")) }
		}
		r.Nulls = rapid.Bool().Draw(t, "nulls")
		var v Vector
		v.Reset(typ)
		var want []bool
		nulls := rapid.IntRange(0, 3).Draw(t, "null share")
		for range rapid.SampledFrom([]int{0, 1, 63, 64, 65, 130, 200}).Draw(t, "rows") {
			if rapid.IntRange(0, 3).Draw(t, "null") < nulls {
				v.AppendNull()
				want = append(want, r.Nulls)
				continue
			}
			x := draw()
			v.Append(x)
			want = append(want, in(x))
		}
		at := 64 * rapid.IntRange(0, 2).Draw(t, "at")
		const marks = 0x8000_0400_0000_0001 // bits that are set before and must stay
		out := make([]uint64, (at+len(want)+63)/64+1)
		for i := range out {
			out[i] = marks
		}
		if at == 0 {
			r.Select(&v, out)
		} else {
			r.SelectAt(&v, out, at)
		}
		for i := range 64 * len(out) {
			w := uint64(marks)>>(i&63)&1 != 0
			if i >= at && i < at+len(want) {
				w = w || want[i-at]
			}
			if got := out[i>>6]>>(i&63)&1 != 0; got != w {
				t.Fatalf("row %d of %d at %d: %v, want %v\n%+v", i-at, len(want), at, got, w, r)
			}
		}
	})
}

func BenchmarkSelect(b *testing.B) {
	var v Vector
	v.Reset(Int4)
	for i := range 65536 {
		v.AppendCode(uint64(i * 7919 % 65536))
	}
	out := make([]uint64, 1024)
	r := OfIntervals(Interval{1000, 30000})
	b.SetBytes(4 * 65536)
	for b.Loop() {
		r.Select(&v, out)
	}
}
