package value

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// TestFormatFloat8 has what PostgreSQL 15 prints.
func TestFormatFloat8(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0", "-0": "-0", "1": "1", "-1": "-1", "0.1": "0.1", "0.3": "0.3",
		"1e-4": "0.0001", "0.0001": "0.0001", "0.00009999": "9.999e-05", "-0.00012345": "-0.00012345", "1e-5": "1e-05", "123456": "123456",
		"1e14": "100000000000000", "999999999999999": "999999999999999", "1e15": "1e+15", "1234567890123456": "1.234567890123456e+15", "1e16": "1e+16", "123456789012345680": "1.2345678901234568e+17",
		"9007199254740993": "9.007199254740992e+15", "1e22": "1e+22", "1e23": "9.999999999999999e+22", "1.7976931348623157e308": "1.7976931348623157e+308", "5e-324": "5e-324", "2.2250738585072014e-308": "2.2250738585072014e-308",
		"1e-307": "1e-307", "0.30000000000000004": "0.30000000000000004", "3.141592653589793": "3.141592653589793", "1e100": "1e+100", "1e-10": "1e-10", "NaN": "NaN",
		"Inf": "Infinity", "-Inf": "-Infinity", "4503599627370497.5": "4.503599627370498e+15", "99999999999999.98": "99999999999999.98", "1e21": "1e+21", "-1e-7": "-1e-07",
		"100000": "100000", "2.5": "2.5",
	} {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		if got := FormatFloat8(f); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
		if got := OfFloat8(f).String(); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// TestOrder walks values in PostgreSQL's order.
func TestOrder(t *testing.T) {
	negZero := math.Copysign(0, -1)
	for _, vs := range [][]Value{
		{OfBool(false), OfBool(true), Null(Bool)},
		{OfInt4(math.MinInt32), OfInt4(-1), OfInt4(0), OfInt4(1), OfInt4(math.MaxInt32), Null(Int4)},
		{OfInt8(math.MinInt64), OfInt8(-1), OfInt8(0), OfInt8(1), OfInt8(math.MaxInt64), Null(Int8)},
		{OfFloat8(math.Inf(-1)), OfFloat8(-math.MaxFloat64), OfFloat8(-1), OfFloat8(-5e-324), OfFloat8(0), OfFloat8(5e-324), OfFloat8(1),
			OfFloat8(math.MaxFloat64), OfFloat8(math.Inf(1)), OfFloat8(math.NaN()), Null(Float8)},
		{OfText(""), OfText("\x00"), OfText("A"), OfText("a"), OfText("a\x00"), OfText("aa"), OfText("b"), OfText("é"), OfText("😀"), Null(Text)},
	} {
		for i, x := range vs {
			for j, y := range vs {
				if got := Compare(x, y); got != cmp.Compare(i, j) {
					t.Errorf("%v %q and %q: %d", x.Type(), x, y, got)
				}
				if x.Type() != Text && !x.IsNull() && !y.IsNull() && cmp.Compare(x.Code(), y.Code()) != cmp.Compare(i, j) {
					t.Errorf("%v %q and %q: codes %d, %d", x.Type(), x, y, x.Code(), y.Code())
				}
			}
		}
	}
	minus := OfFloat8(negZero)
	if Compare(minus, OfFloat8(0)) != 0 || minus.Code() != NegZeroCode || OfFloat8(0).Code() != PosZeroCode || NegZeroCode+1 != PosZeroCode ||
		KeyCode(Float8, NegZeroCode) != PosZeroCode || KeyCode(Int8, NegZeroCode) != NegZeroCode || !math.Signbit(minus.Float()) {
		t.Error("-0")
	}
	if other := math.Float64frombits(0xFFF8_0000_0000_0001); OfFloat8(other).Code() != OfFloat8(math.NaN()).Code() {
		t.Error("NaNs have different codes")
	}
}

func TestCodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int32().Draw(t, "a"), rapid.Int32().Draw(t, "b")
		if CodeInt4(Int4Code(a)) != a || cmp.Compare(Int4Code(a), Int4Code(b)) != cmp.Compare(a, b) || OfInt4(a).Int() != int64(a) {
			t.Fatal(a, b)
		}
		c, d := rapid.Int64().Draw(t, "c"), rapid.Int64().Draw(t, "d")
		if CodeInt8(Int8Code(c)) != c || cmp.Compare(Int8Code(c), Int8Code(d)) != cmp.Compare(c, d) || OfInt8(c).Int() != c {
			t.Fatal(c, d)
		}
		f, g := rapid.Float64().Draw(t, "f"), rapid.Float64().Draw(t, "g")
		if CodeFloat8(Float8Code(f)) != f || OfFloat8(f).Float() != f {
			t.Fatal(f)
		}
		if f != 0 && g != 0 && cmp.Compare(Float8Code(f), Float8Code(g)) != cmp.Compare(f, g) {
			t.Fatal(f, g)
		}
	})
	if f := CodeFloat8(Float8Code(math.NaN())); f == f {
		t.Error(f)
	}
}

func TestTypes(t *testing.T) {
	for _, c := range []struct {
		t               Type
		name, long, alt string
		width           Width
		max             uint64
	}{
		{Bool, "bool", "boolean", "boolean", Word32, 1}, {Int4, "int4", "integer", "int", Word32, math.MaxUint32},
		{Int8, "int8", "bigint", "bigint", Word64, math.MaxUint64}, {Float8, "float8", "double precision", "float8", Word64, math.MaxUint64},
		{Text, "text", "text", "text", Var, math.MaxUint64},
	} {
		if c.t.String() != c.name || c.t.SQLName() != c.long || c.t.Width() != c.width || !c.t.Valid() || c.t.MaxCode() != c.max {
			t.Errorf("%v %v %v %v", c.t, c.t.SQLName(), c.t.Width(), c.t.MaxCode())
		}
		for _, s := range []string{c.name, c.long, c.alt} {
			if got, ok := ParseType(s); !ok || got != c.t {
				t.Errorf("%s: %v", s, got)
			}
		}
	}
	if _, ok := ParseType("unknown"); ok || Unknown.Valid() || Type(99).Valid() || Type(99).String() != "type 99" {
		t.Error("unknown types")
	}
}

func TestValues(t *testing.T) {
	for _, c := range []struct {
		v    Value
		any  any
		text string
	}{
		{Value{}, nil, ""}, {Null(Int4), nil, ""}, {OfBool(true), true, "t"}, {OfBool(false), false, "f"}, {OfInt4(-5), int32(-5), "-5"},
		{OfInt8(math.MinInt64), int64(math.MinInt64), "-9223372036854775808"}, {OfFloat8(2.5), 2.5, "2.5"}, {OfText("é"), "é", "é"},
		{OfText(""), "", ""},
	} {
		if c.v.Any() != c.any || c.v.String() != c.text || c.v.IsNull() != (c.any == nil) {
			t.Errorf("%#v: %v %q", c.v, c.v.Any(), c.v)
		}
	}
	if n := Null(Int4); n.Int() != 0 || Null(Float8).Float() != 0 || Null(Bool).Bool() {
		t.Error("NULL has a value")
	}
}

// TestVector fills a vector again and again and compares with a list of values.
func TestVector(t *testing.T) {
	var v Vector
	rapid.Check(t, func(t *rapid.T) {
		typ := rapid.SampledFrom([]Type{Bool, Int4, Int8, Float8, Text}).Draw(t, "type")
		v.Reset(typ)
		var want []Value
		nulls := false
		for range rapid.IntRange(0, 150).Draw(t, "rows") {
			x := Null(typ)
			switch {
			case rapid.IntRange(0, 9).Draw(t, "null") == 0:
				nulls = true
			case typ == Text:
				x = OfText(rapid.SampledFrom(letters).Draw(t, "value"))
			default:
				x = OfCode(typ, rapid.SampledFrom(universe(typ)).Draw(t, "value"))
			}
			want = append(want, x)
			if typ != Text && !x.IsNull() && rapid.Bool().Draw(t, "code") {
				v.AppendCode(x.Code())
			} else {
				v.Append(x)
			}
		}
		var got []Value
		for i := range v.N {
			got = append(got, v.Value(i))
		}
		if !slices.Equal(got, want) || v.HasNulls() != nulls {
			t.Fatalf("got %v\nwant %v", got, want)
		}
	})
}
