package value

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The model of a Ranges over codes is the list of those codes, of a small universe at both ends of the type, that it
// should hold; of one over strings, which of all strings of up to three letters.

var fixedTypes = []Type{Bool, Int4, Int8, Float8}

// universe returns codes of a type around its ends and middle, ascending.
func universe(t Type) []uint64 {
	if t == Bool {
		return []uint64{0, 1}
	}
	top := uint64(math.MaxUint64)
	if t == Int4 {
		top = math.MaxUint32
	}
	var out []uint64
	for i := range uint64(12) {
		out = append(out, i)
	}
	for i := range uint64(8) {
		out = append(out, top/2-3+i)
	}
	for i := uint64(11); i < math.MaxUint64; i-- {
		out = append(out, top-i)
	}
	return out
}

func genCodes(t *rapid.T, typ Type, label string) ([]Interval, map[uint64]bool) {
	u := universe(typ)
	var ivs []Interval
	in := map[uint64]bool{}
	for range rapid.IntRange(0, 6).Draw(t, label) {
		iv := Interval{rapid.SampledFrom(u).Draw(t, "lo"), rapid.SampledFrom(u).Draw(t, "hi")} // reversed ones hold nothing
		ivs = append(ivs, iv)
		for _, c := range u {
			if iv.Lo <= c && c <= iv.Hi {
				in[c] = true
			}
		}
	}
	return ivs, in
}

func checkCodes(t *rapid.T, what string, typ Type, r Ranges, in func(uint64) bool) {
	t.Helper()
	for _, c := range universe(typ) {
		if r.ContainsCode(c) != in(c) || r.Contains(OfCode(typ, c)) != in(c) {
			t.Fatalf("%s: %v: %d is %v, want %v", what, r.Words, c, r.ContainsCode(c), in(c))
		}
	}
	if len(r.Strings) != 0 {
		t.Fatalf("%s: strings in ranges of codes", what)
	}
	for i, iv := range r.Words {
		if iv.Lo > iv.Hi || iv.Hi > typ.MaxCode() || i > 0 && (iv.Lo <= r.Words[i-1].Hi || iv.Lo-r.Words[i-1].Hi < 2) {
			t.Fatalf("%s: not in normal form: %v", what, r.Words)
		}
	}
}

func TestRangesOfCodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := rapid.SampledFrom(fixedTypes).Draw(t, "type")
		xs, x := genCodes(t, typ, "x")
		ys, y := genCodes(t, typ, "y")
		given := slices.Clone(xs)
		a, b := OfIntervals(xs...), OfIntervals(ys...)
		if !slices.Equal(given, xs) {
			t.Fatal("OfIntervals changed its arguments")
		}
		a.Nulls, b.Nulls = rapid.Bool().Draw(t, "null"), rapid.Bool().Draw(t, "null")
		words := slices.Clone(a.Words)
		checkCodes(t, "of", typ, a, func(c uint64) bool { return x[c] })
		checkCodes(t, "union", typ, a.Union(b), func(c uint64) bool { return x[c] || y[c] })
		checkCodes(t, "intersection", typ, a.Intersect(b), func(c uint64) bool { return x[c] && y[c] })
		checkCodes(t, "complement", typ, a.Complement(typ), func(c uint64) bool { return !x[c] })
		checkCodes(t, "all", typ, a.Union(a.Complement(typ)), func(uint64) bool { return true })
		if !slices.Equal(words, a.Words) {
			t.Fatal("an operation changed its operand")
		}
		if !slices.Equal(a.Union(b).Words, b.Union(a).Words) || !slices.Equal(a.Intersect(b).Words, b.Intersect(a).Words) {
			t.Fatal("the order matters")
		}
		if a.Union(b).Nulls != (a.Nulls || b.Nulls) || a.Intersect(b).Nulls != (a.Nulls && b.Nulls) || a.Complement(typ).Nulls {
			t.Fatal("NULL")
		}
		if a.Contains(Null(typ)) != a.Nulls || a.Empty() != (len(x) == 0 && !a.Nulls) {
			t.Fatalf("%v: empty %v", a, a.Empty())
		}
	})
}

// letters are all strings of up to three of these bytes, so that some lie within, at and next to every bound.
var letters = func() []string {
	out := []string{""}
	for i := 0; i < len(out); i++ {
		if len(out[i]) < 3 {
			for _, c := range []string{"\x00", "a", "\xff"} {
				out = append(out, out[i]+c)
			}
		}
	}
	return out
}()

func genStrings(t *rapid.T, label string) ([]StringInterval, map[string]bool) {
	var ivs []StringInterval
	in := map[string]bool{}
	for range rapid.IntRange(0, 5).Draw(t, label) {
		iv := StringInterval{Lo: rapid.SampledFrom(letters[:13]).Draw(t, "lo"), Hi: rapid.SampledFrom(letters[:13]).Draw(t, "hi"),
			LoOpen: rapid.Bool().Draw(t, "open"), HiOpen: rapid.Bool().Draw(t, "open"), HiInf: rapid.IntRange(0, 3).Draw(t, "inf") == 0}
		ivs = append(ivs, iv)
		for _, s := range letters {
			above := s > iv.Lo || s == iv.Lo && !iv.LoOpen
			below := iv.HiInf || s < iv.Hi || s == iv.Hi && !iv.HiOpen
			if above && below {
				in[s] = true
			}
		}
	}
	return ivs, in
}

func checkStrings(t *rapid.T, what string, r Ranges, in func(string) bool) {
	t.Helper()
	for _, s := range letters {
		if r.ContainsString(s) != in(s) || r.Contains(OfText(s)) != in(s) {
			t.Fatalf("%s: %+v: %q is %v, want %v", what, r.Strings, s, r.ContainsString(s), in(s))
		}
	}
	for i, iv := range r.Strings {
		if !iv.HiInf && (iv.Lo > iv.Hi || iv.Lo == iv.Hi && (iv.LoOpen || iv.HiOpen)) {
			t.Fatalf("%s: empty interval in %+v", what, r.Strings)
		}
		if i == 0 {
			continue
		}
		// Something must lie between an interval and the one before: at least the bound itself.
		p := r.Strings[i-1]
		if p.HiInf || p.Hi > iv.Lo || p.Hi == iv.Lo && !(p.HiOpen && iv.LoOpen) {
			t.Fatalf("%s: not in normal form: %+v", what, r.Strings)
		}
	}
}

func TestRangesOfStrings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs, x := genStrings(t, "x")
		ys, y := genStrings(t, "y")
		given := slices.Clone(xs)
		a, b := OfStringIntervals(xs...), OfStringIntervals(ys...)
		if !slices.Equal(given, xs) {
			t.Fatal("OfStringIntervals changed its arguments")
		}
		a.Nulls, b.Nulls = rapid.Bool().Draw(t, "null"), rapid.Bool().Draw(t, "null")
		strings := slices.Clone(a.Strings)
		checkStrings(t, "of", a, func(s string) bool { return x[s] })
		checkStrings(t, "union", a.Union(b), func(s string) bool { return x[s] || y[s] })
		checkStrings(t, "intersection", a.Intersect(b), func(s string) bool { return x[s] && y[s] })
		checkStrings(t, "complement", a.Complement(Text), func(s string) bool { return !x[s] })
		checkStrings(t, "complement of complement", a.Complement(Text).Complement(Text), func(s string) bool { return x[s] })
		checkStrings(t, "all", a.Union(a.Complement(Text)), func(string) bool { return true })
		if !slices.Equal(strings, a.Strings) {
			t.Fatal("an operation changed its operand")
		}
		if a.Union(b).Nulls != (a.Nulls || b.Nulls) || a.Intersect(b).Nulls != (a.Nulls && b.Nulls) || a.Complement(Text).Nulls {
			t.Fatal("NULL")
		}
		if a.Contains(Null(Text)) != a.Nulls {
			t.Fatal("NULL")
		}
	})
}

func TestNotNull(t *testing.T) {
	for _, typ := range []Type{Bool, Int4, Int8, Float8, Text} {
		r := NotNull(typ)
		if r.Empty() || r.Nulls || r.Contains(Null(typ)) || !r.Complement(typ).Empty() {
			t.Errorf("%v: %+v", typ, r)
		}
		if got := (Ranges{}).Complement(typ); !slices.Equal(got.Words, r.Words) || !slices.Equal(got.Strings, r.Strings) {
			t.Errorf("%v: complement of nothing: %+v", typ, got)
		}
		if all := r.Union(Ranges{Nulls: true}); !all.Nulls || !slices.Equal(all.Words, r.Words) || !slices.Equal(all.Strings, r.Strings) {
			t.Errorf("%v: with NULL: %+v", typ, all)
		}
	}
	if !(Ranges{}).Empty() || (Ranges{Nulls: true}).Empty() {
		t.Error("Empty")
	}
}

func TestEqual(t *testing.T) {
	zero, minus := OfFloat8(0), OfFloat8(math.Copysign(0, -1))
	vals := []Value{Null(Int4), OfInt4(5), OfInt4(6), zero, minus, OfFloat8(math.NaN()), OfFloat8(1), OfText(""), OfText("a"), OfText("ab"), Null(Text)}
	for _, a := range vals {
		for _, b := range vals {
			if a.Type() != b.Type() {
				continue
			}
			if got, want := Equal(a).Contains(b), Compare(a, b) == 0; got != want {
				t.Errorf("%v = %v: got %v", a, b, got)
			}
		}
	}
}
