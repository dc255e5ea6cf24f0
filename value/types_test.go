package value

import (
	"bytes"
	"cmp"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// What String prints Parse reads as the same value, and values compare as simple models of them do.
func TestTypesRoundTripAndOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.StringOfN(rapid.RuneFrom([]rune("aN\"\\{}, \té")), 0, 4, -1), rapid.SampledFrom([]string{"null", "NULL"}))
		days := rapid.OneOf(rapid.Int32Range(minDays, maxDays), rapid.SampledFrom([]int32{minDays, maxDays, -730120, -730121, 0, math.MinInt32, math.MaxInt32}))
		micros := rapid.OneOf(rapid.Int64Range(minMicros, maxMicros), rapid.Int64Range(-2e6, 2e6), rapid.SampledFrom([]int64{minMicros, maxMicros, math.MinInt64, math.MaxInt64}))
		bytea := rapid.SliceOfN(rapid.Byte(), 0, 5)
		ints := rapid.SliceOfN(rapid.Ptr(rapid.OneOf(rapid.Int64Range(-2, 2), rapid.Int64()), true), 0, 4)
		texts := rapid.SliceOfN(rapid.Ptr(text, true), 0, 4)
		switch rapid.IntRange(0, 4).Draw(t, "type") {
		case 0:
			a, b := days.Draw(t, "a"), days.Draw(t, "b")
			check(t, OfDate(a), OfDate(b), cmp.Compare(a, b))
		case 1:
			a, b := micros.Draw(t, "a"), micros.Draw(t, "b")
			check(t, OfTimestamptz(a), OfTimestamptz(b), cmp.Compare(a, b))
		case 2:
			a, b := bytea.Draw(t, "a"), bytea.Draw(t, "b")
			check(t, OfBytea(a), OfBytea(b), bytes.Compare(a, b))
		case 3:
			a, b := ints.Draw(t, "a"), ints.Draw(t, "b")
			check(t, arrayOf(Int8Array, a, OfInt8), arrayOf(Int8Array, b, OfInt8), compareItems(a, b))
		case 4:
			a, b := texts.Draw(t, "a"), texts.Draw(t, "b")
			check(t, arrayOf(TextArray, a, OfText), arrayOf(TextArray, b, OfText), compareItems(a, b))
		}
	})
}

func check(t *rapid.T, a, b Value, order int) {
	if c := Compare(a, b); c != order {
		t.Fatalf("%s and %s compare as %d, want %d", a, b, c, order)
	}
	v, err := Parse(a.Type(), a.String())
	if err != nil || v != a {
		t.Fatalf("%s %q is read as %q, %v", a.Type(), a, v, err)
	}
	one := &Vector{Type: a.Type()}
	one.Append(a)
	if _, err := one.Check(); err != nil {
		t.Fatalf("%s: %v", a, err)
	}
	if at, finite := a.Time(); finite { // Go's calendar is the model of ours
		back, err := TimestamptzOfTime(at)
		if a.Type() == Date {
			back, err = DateOfTime(at)
		}
		if err != nil || back != a {
			t.Fatalf("%s is %s in Go, and that is %s, %v", a, at.Format(time.RFC3339Nano), back, err)
		}
	}
}

func arrayOf[T any](typ Type, items []*T, of func(T) Value) Value {
	out := make([]Value, len(items))
	for i, x := range items {
		out[i] = Null(typ.Elem())
		if x != nil {
			out[i] = of(*x)
		}
	}
	return OfArray(typ, out)
}

// compareItems is PostgreSQL's order of arrays: item by item, NULL above all, then the shorter one first.
func compareItems[T cmp.Ordered](a, b []*T) int {
	for i := range min(len(a), len(b)) {
		switch x, y := a[i], b[i]; {
		case x == nil && y == nil:
		case x == nil:
			return 1
		case y == nil:
			return -1
		case *x != *y:
			return cmp.Compare(*x, *y)
		}
	}
	return cmp.Compare(len(a), len(b))
}

// Whatever a text or the bytes of an array are, there is a value or an error.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"2020-01-02 03:04:05.6-08 BC", "J2451187.5", "{1,NULL,\"a\\\"\"}", `\x00 ff`, "jan-1-20", "20200102t030405-08", "\x01a\x00\x02", "-", "+", "1.", "t", "{", "x/y/z"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for typ := Unknown; typ <= TextArray; typ++ {
			if v, err := Parse(typ, s); err == nil {
				if again, err := Parse(typ, v.String()); err != nil || Compare(v, again) != 0 {
					t.Fatalf("%s %q gives %q, and that %q, %v", typ, s, v, again, err)
				}
			}
			if typ.Valid() && typ.Width() == Var {
				held := OfStr(typ, s)
				_, _ = held.String(), held.Any()
				_, _ = (&Vector{Type: typ, N: 1, Str: []string{s}}).Check()
			}
		}
	})
}
