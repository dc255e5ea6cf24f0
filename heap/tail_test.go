package heap

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"wideleaf/catalog"
	"wideleaf/tid"
	"wideleaf/value"
)

var tailTypes = []value.Type{value.Int4, value.Int8, value.Float8, value.Text, value.Bool, value.Bytea, value.Date, value.Timestamptz,
	value.Int8Array, value.TextArray}

func tailTable(types []value.Type) *catalog.Table {
	t := &catalog.Table{ID: 1, Name: "t"}
	for i, ty := range types {
		t.Columns = append(t.Columns, catalog.Column{Attno: i + 1, Name: fmt.Sprintf("c%d", i+1), Type: ty})
	}
	return t
}

// drawValue draws a value of a type, NULL at times.
func drawValue(t *rapid.T, ty value.Type) value.Value {
	if rapid.IntRange(0, 4).Draw(t, "null") == 0 {
		return value.Null(ty)
	}
	switch ty {
	case value.Int4:
		return value.OfInt4(rapid.Int32Range(-3, 3).Draw(t, "i4"))
	case value.Int8:
		return value.OfInt8(rapid.Int64().Draw(t, "i8"))
	case value.Float8:
		return value.OfFloat8(rapid.Float64Range(-2, 2).Draw(t, "f8"))
	case value.Bool:
		return value.OfBool(rapid.Bool().Draw(t, "b"))
	case value.Date:
		return value.OfDate(rapid.Int32().Draw(t, "d"))
	case value.Timestamptz:
		return value.OfTimestamptz(rapid.Int64().Draw(t, "t"))
	case value.Bytea:
		return value.OfBytea(rapid.SliceOfN(rapid.Byte(), 0, 4).Draw(t, "bytes"))
	case value.Int8Array:
		return value.OfInt8Array(rapid.SliceOfN(rapid.Int64(), 0, 3).Draw(t, "ints"))
	case value.TextArray:
		return value.OfTextArray(rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "é"}), 0, 3).Draw(t, "texts"))
	}
	return value.OfText(rapid.StringN(0, 4, -1).Draw(t, "s"))
}

func TestChunksCoverATail(t *testing.T) {
	next, chunks := 0, 0
	for next < tid.SegmentRows {
		c, start, size := chunkOf(next)
		if c != chunks || start != next {
			t.Fatalf("row %d: chunk %d from %d, want chunk %d from %d", next, c, start, chunks, next)
		}
		if c2, s2, z2 := chunkOf(next + size - 1); c2 != c || s2 != start || z2 != size {
			t.Fatalf("the last row of chunk %d is in chunk %d", c, c2)
		}
		next, chunks = next+size, chunks+1
	}
	if chunks != maxChunks || next != tid.SegmentRows {
		t.Fatalf("%d chunks for %d rows, want %d for %d", chunks, next, maxChunks, tid.SegmentRows)
	}
}

// A tail fed in any batches, and a row block written and read back, hold what a plain list of rows holds.
func TestTailAndRowBlocksAgreeWithRows(t *testing.T) {
	ctx := context.Background()
	rapid.Check(t, func(t *rapid.T) {
		def := tailTable(tailTypes)
		tail := NewTail(def, 7)
		var model [][]value.Value
		var block []byte
		for range rapid.IntRange(1, 6).Draw(t, "batches") {
			n := rapid.SampledFrom([]int{1, 2, 63, 64, 65, 200}).Draw(t, "rows")
			cols := make([]*value.Vector, len(tailTypes))
			for i, ty := range tailTypes {
				cols[i] = &value.Vector{Type: ty}
			}
			for range n {
				row := make([]value.Value, len(tailTypes))
				for i, ty := range tailTypes {
					row[i] = drawValue(t, ty)
					cols[i].Append(row[i])
				}
				model = append(model, row)
			}
			cut := rapid.IntRange(0, n).Draw(t, "cut")
			for _, part := range [][2]int{{0, cut}, {cut, n}} {
				if part[0] == part[1] {
					continue
				}
				tail.Append(cols, part[0], part[1])
				block = AppendRows(block, cols, part[0], part[1])
			}
		}
		visible := rapid.IntRange(1, len(model)).Draw(t, "visible")
		view := tail.View(visible)
		back := make([]*value.Vector, len(tailTypes))
		for i, ty := range tailTypes {
			back[i] = &value.Vector{Type: ty}
		}
		if n, err := DecodeRows(block, tailTypes, back); err != nil || n != len(model) {
			t.Fatalf("DecodeRows: %d rows, %v; want %d", n, err, len(model))
		}
		for c, ty := range tailTypes {
			var col, some value.Vector
			col.Reset(ty)
			some.Reset(ty)
			if err := view.Column(ctx, c+1, &col); err != nil {
				t.Fatal(err)
			}
			var offs []uint16
			for i := 0; i < visible; i += 3 {
				offs = append(offs, uint16(i))
			}
			if err := view.Gather(ctx, c+1, offs, &some); err != nil {
				t.Fatal(err)
			}
			r := value.Ranges{Nulls: rapid.Bool().Draw(t, "nulls")}
			pick := drawValue(t, ty)
			switch {
			case pick.IsNull():
			case ty.Width() == value.Var:
				r.Strings = []value.StringInterval{{Lo: pick.Str(), HiInf: true}}
			default:
				r.Words = []value.Interval{{Lo: pick.Code(), Hi: ty.MaxCode()}}
			}
			var out, cand, limited tid.Bits
			for i := range model {
				if i%5 != 0 {
					cand[i>>6] |= 1 << (i & 63)
				}
			}
			if err := view.Select(ctx, c+1, r, nil, out[:]); err != nil {
				t.Fatal(err)
			}
			if err := view.Select(ctx, c+1, r, cand[:], limited[:]); err != nil {
				t.Fatal(err)
			}
			for i, row := range model {
				if got := back[c].Value(i); got != row[c] {
					t.Fatalf("row block, column %d row %d: %v, want %v", c, i, got, row[c])
				}
				if i >= visible {
					continue
				}
				if got := col.Value(i); got != row[c] {
					t.Fatalf("column %d row %d: %v, want %v", c, i, got, row[c])
				}
				want := r.Contains(row[c])
				if got := out[i>>6]>>(i&63)&1 != 0; got != want {
					t.Fatalf("select column %d row %d (%v): %v, want %v", c, i, row[c], got, want)
				}
				if got := limited[i>>6]>>(i&63)&1 != 0; got != (want && i%5 != 0) {
					t.Fatalf("select among candidates, column %d row %d: %v", c, i, got)
				}
			}
			for i, o := range offs {
				if got := some.Value(i); got != model[o][c] {
					t.Fatalf("gather column %d row %d: %v, want %v", c, o, got, model[o][c])
				}
			}
			if out.Count() > visible {
				t.Fatalf("rows beyond the view were selected")
			}
		}
	})
}

// Where a tail is full depends on the rows alone: 65,536 of them, or the bytes.
func TestFit(t *testing.T) {
	for _, tc := range []struct {
		name  string
		types []value.Type
		text  int
		want  int
	}{
		{"one int4", []value.Type{value.Int4}, 0, tid.SegmentRows},
		{"128 int4", repeatType(value.Int4, 128), 0, tid.SegmentRows},
		{"1,600 int4", repeatType(value.Int4, 1600), 0, TailBytes / 6400},
		{"text of 1 MiB", []value.Type{value.Text}, 1<<20 - 4, 32},
		{"text larger than a tail", []value.Type{value.Text}, TailBytes + 1, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, batch := range []int{1, 7, 1000} {
				if tc.text > 0 && batch > 7 {
					continue
				}
				cols := make([]*value.Vector, len(tc.types))
				long := string(make([]byte, tc.text))
				for i, ty := range tc.types {
					cols[i] = &value.Vector{Type: ty}
					for range batch {
						if ty == value.Text {
							cols[i].Append(value.OfText(long))
						} else {
							cols[i].Append(value.OfInt4(1))
						}
					}
				}
				if len(tc.types) > 1000 && batch == 1 {
					continue // slow, and the others show it
				}
				tail := NewTail(tailTable(tc.types), 0)
				for {
					n := tail.Fit(cols, 0, batch)
					if n == 0 {
						break
					}
					tail.Append(cols, 0, n)
				}
				if tail.Len() != tc.want {
					t.Errorf("batches of %d: sealed at %d rows, want %d", batch, tail.Len(), tc.want)
				}
			}
		})
	}
}

func repeatType(t value.Type, n int) []value.Type {
	out := make([]value.Type, n)
	for i := range out {
		out[i] = t
	}
	return out
}

// Readers of a published length see only that, while rows go on being appended (run with -race).
func TestTailReadersBesideAppends(t *testing.T) {
	def := tailTable([]value.Type{value.Int4})
	tail := NewTail(def, 0)
	var mu sync.Mutex
	visible := 0
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for {
				select {
				case <-done:
					return
				default:
				}
				mu.Lock()
				n := visible
				mu.Unlock()
				var v value.Vector
				v.Reset(value.Int4)
				if err := tail.View(n).Column(context.Background(), 1, &v); err != nil {
					t.Error(err)
				}
				for i := range n {
					if want := i%3 == 0; v.IsNull(i) != want || !want && v.Value(i).Int() != int64(i) {
						t.Errorf("row %d of %d is %v", i, n, v.Value(i))
						return
					}
				}
			}
		}()
	}
	v := &value.Vector{Type: value.Int4}
	for i := range 20000 {
		v.Reset(value.Int4)
		if i%3 == 0 {
			v.AppendNull()
		} else {
			v.Append(value.OfInt4(int32(i)))
		}
		tail.Append([]*value.Vector{v}, 0, 1)
		mu.Lock()
		visible = i + 1
		mu.Unlock()
	}
	close(done)
	wg.Wait()
}

// Whatever the bytes, decoding a row block gives rows or an error.
func FuzzDecodeRows(f *testing.F) {
	v := []*value.Vector{{Type: value.Int4}, {Type: value.Text}}
	v[0].Append(value.OfInt4(5))
	v[1].AppendNull()
	f.Add(AppendRows(nil, v, 0, 1))
	f.Add([]byte{1, 2, 1, 1, 0, 3})
	all := make([]*value.Vector, len(tailTypes))
	for i, typ := range tailTypes {
		all[i] = &value.Vector{Type: typ}
		switch typ {
		case value.Int8Array:
			all[i].Append(value.OfInt8Array([]int64{1, 2}))
		case value.TextArray:
			all[i].Append(value.OfTextArray([]string{"a", ""}))
		default:
			all[i].AppendNull()
		}
	}
	f.Add(AppendRows(nil, all, 0, 1))
	all[8], all[9] = all[9], all[8] // items of the wrong type
	f.Add(AppendRows(nil, all, 0, 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, types := range [][]value.Type{{value.Int4, value.Text}, tailTypes} {
			cols := make([]*value.Vector, len(types))
			for i, typ := range types {
				cols[i] = &value.Vector{Type: typ}
			}
			n, err := DecodeRows(b, types, cols)
			if err != nil {
				continue
			}
			for _, c := range cols {
				if c.N != n {
					t.Fatalf("%d rows, but a column of %d", n, c.N)
				}
				for i := range n { // damaged values too can be looked at
					_, _ = c.Value(i).String(), c.Value(i).Any()
				}
			}
		}
	})
}

func BenchmarkTailAppendRow128(b *testing.B) {
	types := repeatType(value.Int4, 128)
	cols := make([]*value.Vector, len(types))
	for i := range cols {
		cols[i] = &value.Vector{Type: value.Int4}
		cols[i].AppendCode(uint64(i) * 7919)
	}
	def := tailTable(types)
	tail := NewTail(def, 0)
	for b.Loop() {
		if tail.Fit(cols, 0, 1) == 0 {
			tail = NewTail(def, 0)
		}
		tail.Append(cols, 0, 1)
	}
}

func BenchmarkAppendRows128(b *testing.B) {
	cols := make([]*value.Vector, 128)
	for i := range cols {
		cols[i] = &value.Vector{Type: value.Int4}
		cols[i].AppendCode(uint64(i) * 7919)
	}
	var buf []byte
	for b.Loop() {
		buf = AppendRows(buf[:0], cols, 0, 1)
	}
}
