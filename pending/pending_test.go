package pending

import (
	"context"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"wideleaf/catalog"
	"wideleaf/heap"
	"wideleaf/tid"
	"wideleaf/value"
)

var table = &catalog.Table{ID: 1, Name: "t", Columns: []catalog.Column{
	{Attno: 1, Name: "a", Type: value.Int4},
	{Attno: 2, Name: "b", Type: value.Text},
	{Attno: 3, Name: "c", Type: value.Int8},
}}

// list returns a list of all rows of tails with the given values of column a; b is "x", c its row number in the tail.
func list(tails ...[]value.Value) List {
	var l List
	for i, vals := range tails {
		cols := make([]*value.Vector, 3)
		for c := range cols {
			cols[c] = new(value.Vector)
			cols[c].Reset(table.Columns[c].Type)
		}
		for n, v := range vals {
			cols[0].Append(v)
			cols[1].Append(value.OfText("x"))
			cols[2].Append(value.OfInt8(int64(n)))
		}
		tail := heap.NewTail(table, uint64(7+2*i))
		tail.Append(cols, 0, len(vals))
		l = append(l, Part{Source: tail.View(len(vals))})
	}
	return l
}

func TestSelectAndCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Custom(func(t *rapid.T) value.Value {
			if x := rapid.Int32Range(-20, 20).Draw(t, "x"); x != 0 {
				return value.OfInt4(x)
			}
			return value.Null(value.Int4)
		})
		tails := rapid.SliceOfN(rapid.SliceOfN(v, 0, 200), 0, 3).Draw(t, "tails")
		lo := rapid.Int32Range(-20, 20).Draw(t, "lo")
		hi := rapid.Int32Range(lo, 20).Draw(t, "hi")
		r := value.OfIntervals(value.Interval{Lo: uint64(value.Int4Code(lo)), Hi: uint64(value.Int4Code(hi))})
		r.Nulls = rapid.Bool().Draw(t, "nulls")
		want := []tid.TID(nil)
		rows := 0
		l := list(tails...)
		for i, vals := range tails {
			l[i].From = rapid.IntRange(0, len(vals)).Draw(t, "from")
			rows += len(vals) - l[i].From
			for n, v := range vals {
				if n >= l[i].From && (v.IsNull() && r.Nulls || !v.IsNull() && int64(lo) <= v.Int() && v.Int() <= int64(hi)) {
					want = append(want, tid.New(uint64(7+2*i), uint16(n)))
				}
			}
		}

		b := tid.NewBuilder(0, 20)
		if err := l.Select(context.Background(), 1, r, b); err != nil {
			t.Fatal(err)
		}
		if got := slices.Collect(b.Set().All()); !slices.Equal(got, want) {
			t.Fatalf("Select: got %v, want %v", got, want)
		}
		if n, err := l.Count(context.Background(), 1, r); err != nil || n != int64(len(want)) {
			t.Fatalf("Count: got %d, %v, want %d", n, err, len(want))
		}
		if l.Rows() != int64(rows) {
			t.Fatalf("Rows: got %d, want %d", l.Rows(), rows)
		}
	})
}

func TestCancelledContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	l := list([]value.Value{value.OfInt4(1)})
	if _, err := l.Count(ctx, 1, value.NotNull(value.Int4)); !errors.Is(err, context.Canceled) {
		t.Errorf("Count: got %v", err)
	}
	if err := l.Select(ctx, 1, value.NotNull(value.Int4), tid.NewBuilder(0, 20)); !errors.Is(err, context.Canceled) {
		t.Errorf("Select: got %v", err)
	}
}
