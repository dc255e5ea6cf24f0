package pending

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wideleaf/catalog"
	"wideleaf/heap"
	"wideleaf/page"
	"wideleaf/tid"
	"wideleaf/value"
)

func TestPages(t *testing.T) {
	vals := slices.Repeat([]value.Value{value.OfInt4(1)}, 10_000)
	l := list(vals, vals)
	for _, c := range []struct {
		attnos []int
		want   int64 // twice 10,000 rows, 8,160 bytes a page
	}{
		{[]int{1}, 2 * 21},    // 17 bytes: 480 rows a page
		{[]int{3}, 2 * 26},    // 21: 388
		{[]int{2}, 2 * 20},    // 16: 510
		{[]int{1, 3}, 2 * 32}, // 26: 313
	} {
		ix := &catalog.Index{}
		for _, a := range c.attnos {
			ix.Columns = append(ix.Columns, catalog.IndexColumn{Attno: a, Type: table.Columns[a-1].Type})
		}
		cols := IndexColumns(ix)
		if got, err := l.Pages(context.Background(), cols); err != nil || got != c.want {
			t.Errorf("columns %v: got %d, %v, want %d", c.attnos, got, err, c.want)
		}
		if got, err := list().Pages(context.Background(), cols); err != nil || got != 0 {
			t.Errorf("nothing pending: got %d, %v", got, err)
		}
		if c.attnos[0] != 2 {
			if got := EstimatePages(cols, 10_000); 2*got != c.want {
				t.Errorf("columns %v: estimated %d for 10,000 rows, want %d", c.attnos, got, c.want/2)
			}
		}
		if got, err := l.Before(tid.New(9, 100)).Pages(context.Background(), cols); err != nil || got != c.want/2+1 {
			t.Errorf("columns %v, 10,100 rows: got %d, %v", c.attnos, got, err)
		}
	}
	wide := slices.Repeat([]Column{{3, value.Int8}}, 1600) // 14,412 bytes a row
	if got := EstimatePages(wide, 10); got != 20 {
		t.Errorf("rows of 1,600 columns: estimated %d", got)
	}
}

// Rows come back as they were, from pages that are full; and it makes no difference how often a layout is extended.
func TestPagesHoldTheRows(t *testing.T) {
	ctx := context.Background()
	rapid.Check(t, func(t *rapid.T) {
		def := &catalog.Table{ID: 1, Name: "t"}
		types := []value.Type{value.Bool, value.Int4, value.Int8, value.Float8, value.Text, value.Bytea, value.Date, value.Timestamptz, value.Int8Array, value.TextArray}
		for attno := range rapid.OneOf(rapid.IntRange(1, 8), rapid.Just(900)).Draw(t, "columns") {
			if rapid.IntRange(0, 9).Draw(t, "dropped") > 0 || attno == 0 {
				def.Columns = append(def.Columns, catalog.Column{Attno: attno + 1, Type: rapid.SampledFrom(types).Draw(t, "type")})
			}
		}
		n := rapid.IntRange(0, 60).Draw(t, "rows")
		long := rapid.SampledFrom([]int{0, 10, 2000, 3000}).Draw(t, "long")
		cols := make([]*value.Vector, len(def.Columns))
		for i, c := range def.Columns {
			cols[i] = new(value.Vector)
			cols[i].Reset(c.Type)
			for row := range n {
				x := (i + row) % 7
				str := strings.Repeat(string(rune('a'+x)), (x*x*37+row)%(long+1))
				v := value.Null(c.Type)
				switch {
				case x == 3:
				case c.Type == value.Bool:
					v = value.OfBool(x > 3)
				case c.Type == value.Float8:
					v = value.OfFloat8(math.Sqrt(float64(x)))
				case c.Type == value.TextArray:
					v = value.OfTextArray(slices.Repeat([]string{str}, x%2))
				case c.Type == value.Int8Array:
					v = value.OfInt8Array(slices.Repeat([]int64{int64(x) - 4}, len(str)/9))
				case c.Type.Width() == value.Var:
					v = value.OfStr(c.Type, str)
				case c.Type.Width() == value.Word32:
					v = value.OfCode(c.Type, uint64(value.Int4Code(int32(x*1000-3000))))
				default:
					v = value.OfCode(c.Type, value.Int8Code(int64(x-3)<<40))
				}
				cols[i].Append(v)
			}
		}
		tail := heap.NewTail(def, 5)
		tail.Append(cols, 0, n)
		columns, from := TableColumns(def), rapid.IntRange(0, n).Draw(t, "from")
		l, once := NewLayout(columns, from), NewLayout(columns, from)
		for at := from; at < n; {
			at = rapid.IntRange(at+1, n).Draw(t, "extended to")
			if err := l.Extend(ctx, tail.View(at)); err != nil {
				t.Fatal(err)
			}
		}
		if err := once.Extend(ctx, tail.View(n)); err != nil {
			t.Fatal(err)
		}
		pages := l.Pages()
		if want := once.Pages(); pages.Len() != want.Len() || !slices.Equal(pages.whole, want.whole) || pages.last != want.last {
			t.Fatalf("%+v, at once: %+v", pages, want)
		}
		row, column := from, 0
		for i := range pages.Len() {
			b, pieces, err := l.Append(ctx, nil, tail.View(n), pages.At(i))
			if err != nil || len(b) != pages.At(i).Bytes || len(b) > page.Size-page.HeaderSize {
				t.Fatalf("page %d: %d bytes, %v: %+v", i, len(b), err, pages.At(i))
			}
			ps, err := Pieces(b, pieces)
			if err != nil {
				t.Fatalf("page %d: %v", i, err)
			}
			for _, p := range ps {
				if p.TID != tid.New(5, uint16(row)) || p.Column != column {
					t.Fatalf("page %d: row %s from column %d, want row %d, column %d", i, p.TID, p.Column, row, column)
				}
				for _, v := range p.Values {
					want := value.Value{}
					if c := def.Column(columns[column].Attno); columns[column].Type != value.Unknown {
						want = cols[c].Value(row)
					}
					str := want.Str()
					if v.Cut != (len(str) > maxString) || v.IsNull() != want.IsNull() || !v.Cut && !want.IsNull() && v.Value != want ||
						v.Cut && v.Str() != str[:maxString] {
						t.Fatalf("row %d, column %d: %v (cut %t), want %v", row, column, v.Value, v.Cut, want)
					}
					column++
				}
				if column == len(columns) {
					row, column = row+1, 0
				}
			}
		}
		if row != n || column != 0 {
			t.Fatalf("the pages end before row %d, column %d; there are %d rows", row, column, n)
		}
	})
}

func FuzzPieces(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x01\x00\x02\x01\x02\x03\x04"), 1)
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x02\x00\x80\x45\x01\x00a"), 1)
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		if len(b) > PageRoom {
			return
		}
		ps, err := Pieces(b, n&0xffff)
		if err != nil {
			return
		}
		at := 0
		for _, p := range ps {
			if p.Offset != at || p.Size < PieceHead {
				t.Fatalf("a piece at %d of %d bytes, behind %d", p.Offset, p.Size, at)
			}
			at += p.Size
			for _, v := range p.Values {
				_ = v.String()
			}
		}
	})
}
