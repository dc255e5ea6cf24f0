package amtest

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"wideleaf/am"
	"wideleaf/catalog"
	"wideleaf/tid"
	"wideleaf/value"
)

// row is an entry as the model knows it.
type row struct {
	tid  tid.TID
	vals []value.Value
}

// compareRows orders two rows as an index orders them, by the words of SQL: each column by value, DESC turned round,
// NULLs where the column says; then by TID.
func compareRows(ix *catalog.Index, a, b row) int {
	for i, c := range ix.Columns {
		x, y := a.vals[i], b.vals[i]
		switch {
		case x.IsNull() && y.IsNull():
			continue
		case x.IsNull() || y.IsNull():
			if x.IsNull() == c.NullsFirst {
				return -1
			}
			return 1
		}
		if o := value.Compare(x, y); o != 0 {
			if c.Desc {
				return -o
			}
			return o
		}
	}
	switch {
	case a.tid < b.tid:
		return -1
	case a.tid > b.tid:
		return 1
	}
	return 0
}

// matching returns the rows that satisfy conditions.
func matching(rows []row, c am.Conditions) []row {
	var out []row
	for _, r := range rows {
		ok := true
		for i, x := range c {
			ok = ok && (x == nil || x.Contains(r.vals[i]))
		}
		if ok {
			out = append(out, r)
		}
	}
	return out
}

// domain makes values of one column: from few or many, with extremes among them.
type domain struct {
	typ   value.Type
	nulls float64 // share of NULLs
	shape int
	long  int // about the length of long strings
}

const shapes = 5

var (
	ints   = []int64{math.MinInt64, math.MinInt64 + 1, math.MinInt32, -1, 0, 1, 255, 256, math.MaxInt32, math.MaxInt64 - 1, math.MaxInt64}
	floats = []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, math.MaxFloat64, -math.MaxFloat64, 1, -1}
	strs   = []string{"", "\x00", "\x00\x01", "\x00\xff", "\x00\xfe", "\x00\xff\x00", "\x01", "\xff", "\xff\xff", "\xff\x00", "a", "a\x00", "a\x00\x01", "a\x00\xff", "ab", "ä", "ﬀ", "𐐷", "\ufffd"}
)

func (d domain) value(r *rand.Rand) value.Value {
	if r.Float64() < d.nulls {
		return value.Null(d.typ)
	}
	var n int64
	switch d.shape {
	case 0: // any
		n = int64(r.Uint64())
	case 1: // few
		n = r.Int64N(5) - 2
	case 2: // extremes
		n = ints[r.IntN(len(ints))]
	case 3: // the load's
		n = r.Int64N(2_000_000_000)
	case 4: // many small
		n = r.Int64N(1000)
	}
	switch d.typ {
	case value.Bool:
		return value.OfBool(n&1 != 0)
	case value.Int4:
		return value.OfInt4(int32(n))
	case value.Int8:
		return value.OfInt8(n)
	case value.Float8:
		switch d.shape {
		case 0:
			return value.OfFloat8(math.Float64frombits(uint64(n)))
		case 2:
			return value.OfFloat8(floats[r.IntN(len(floats))])
		}
		return value.OfFloat8(float64(n) / 4)
	case value.Date:
		return value.OfDate(int32(n))
	case value.Timestamptz:
		return value.OfTimestamptz(n)
	case value.Int8Array, value.TextArray:
		return d.array(r, n)
	}
	return value.OfStr(d.typ, d.str(r, n))
}

// str draws a string. An index takes any bytes, also those that text can't have.
func (d domain) str(r *rand.Rand, n int64) string {
	switch d.shape {
	case 0:
		b := make([]byte, r.IntN(20))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return string(b)
	case 2:
		return strs[r.IntN(len(strs))]
	case 3: // long, with much in common
		return strings.Repeat("x", r.IntN(4)*d.long/6) + strs[r.IntN(len(strs))] + strings.Repeat("y", r.IntN(2)*d.long/4)
	}
	return "key" + value.OfInt8(n).String()
}

// array draws an array of which n is an item, unless it is empty.
func (d domain) array(r *rand.Rand, n int64) value.Value {
	items := make([]value.Value, r.IntN(4))
	d.long /= 3
	for i := range items {
		switch {
		case r.IntN(5) == 0:
			items[i] = value.Null(d.typ.Elem())
		case d.typ == value.Int8Array:
			items[i] = value.OfInt8(n >> (8 * i))
		default:
			items[i] = value.OfText(strings.ReplaceAll(d.str(r, n), "\x00", ""))
		}
	}
	return value.OfArray(d.typ, items)
}

// code draws a code near the column's values.
func (d domain) code(r *rand.Rand) uint64 {
	for {
		d.nulls = 0
		c := d.value(r).Code()
		switch r.IntN(6) {
		case 0:
			return 0
		case 1:
			return d.typ.MaxCode()
		case 2:
			c++
		case 3:
			c--
		}
		if c <= d.typ.MaxCode() {
			return c
		}
	}
}

// ranges draws a condition on the column.
func (d domain) ranges(r *rand.Rand) value.Ranges {
	var x value.Ranges
	n := r.IntN(4)
	if r.IntN(8) == 0 {
		n = 60
	}
	if d.typ.Width() == value.Var {
		d.nulls = 0
		var ivs []value.StringInterval
		for range n {
			iv := value.StringInterval{Lo: d.value(r).Str(), Hi: d.value(r).Str(), LoOpen: r.IntN(2) == 0, HiOpen: r.IntN(2) == 0, HiInf: r.IntN(6) == 0}
			if r.IntN(2) == 0 {
				iv = value.StringInterval{Lo: iv.Lo, Hi: iv.Lo}
			}
			ivs = append(ivs, iv)
		}
		x = value.OfStringIntervals(ivs...)
	} else {
		var ivs []value.Interval
		for range n {
			iv := value.Interval{Lo: d.code(r), Hi: d.code(r)}
			if r.IntN(2) == 0 {
				iv.Hi = iv.Lo
			}
			if d.typ == value.Float8 { // -0 and 0 are one value
				if iv.Lo == value.PosZeroCode {
					iv.Lo = value.NegZeroCode
				}
				if iv.Hi == value.NegZeroCode {
					iv.Hi = value.PosZeroCode
				}
			}
			ivs = append(ivs, iv)
		}
		x = value.OfIntervals(ivs...)
	}
	switch r.IntN(8) {
	case 0:
		x = x.Complement(d.typ)
	case 1:
		x = value.NotNull(d.typ)
	case 2:
		x = value.Ranges{}
	}
	x.Nulls = r.IntN(3) == 0
	return x
}

// segment is the vectors of a segment and the rows that they are.
type segment struct {
	number  uint64
	columns []*value.Vector
	rows    []row
}

func makeSegment(number uint64, n int, ds []domain, r *rand.Rand, sorted bool) segment {
	s := segment{number: number}
	vals := make([][]value.Value, n)
	for i := range vals {
		vals[i] = make([]value.Value, len(ds))
		for j, d := range ds {
			vals[i][j] = d.value(r)
		}
	}
	if sorted {
		slices.SortStableFunc(vals, func(a, b []value.Value) int { return value.Compare(a[0], b[0]) })
	}
	for j, d := range ds {
		v := &value.Vector{Type: d.typ}
		for i := range vals {
			v.Append(vals[i][j])
		}
		s.columns = append(s.columns, v)
	}
	for i := range vals {
		s.rows = append(s.rows, row{tid.New(number, uint16(i)), vals[i]})
	}
	return s
}

// deadOf draws a dead set.
func deadOf(n int, share float64, r *rand.Rand) *tid.Bits {
	var b tid.Bits
	for i := range n {
		if r.Float64() < share {
			b[i>>6] |= 1 << (i & 63)
		}
	}
	return &b
}
