package query

import (
	"context"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"wideleaf/value"
)

func collect(t interface{ Fatal(...any) }, table *Table, spec RowsSpec) [][]value.Value {
	var out [][]value.Value
	for row, err := range Rows(context.Background(), table, spec) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, row)
	}
	return out
}

func TestRowsOfRandomQueries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, table := genTable(t)
		count := rapid.SampledFrom([]int64{-1, 0, 1, 3, 70, 1000, math.MaxInt64 - 1, math.MaxInt64})
		spec := RowsSpec{
			Pred:    genCondition(t),
			Columns: rapid.SliceOfN(rapid.IntRange(0, len(columnTypes)), 0, 4).Draw(t, "columns"),
			Limit:   count.Draw(t, "limit"),
			Offset:  count.Draw(t, "offset"),
		}
		var distances []modelDistance
		spec.OrderBy, distances = genOrder(t, m)
		rows := m.sorted(spec.Pred, spec.OrderBy, distances)
		rows = rows[min(max(spec.Offset, 0), int64(len(rows))):]
		if spec.Limit >= 0 {
			rows = rows[:min(spec.Limit, int64(len(rows)))]
		}

		got := collect(t, table, spec)
		if len(got) != len(rows) {
			t.Fatalf("got %d rows, want %d", len(got), len(rows))
		}
		for i, row := range rows {
			for c, attno := range spec.Columns {
				want := m.tids[row].String()
				if attno != 0 {
					want = m.value(row, attno).String()
				}
				if got[i][c].String() != want {
					t.Fatalf("row %d, column %d: got %q, want %q", i, attno, got[i][c], want)
				}
			}
		}

		// A reader that breaks off sees the same rows until then.
		stop := rapid.IntRange(1, 100).Draw(t, "stop")
		seen := 0
		for row, err := range Rows(context.Background(), table, spec) {
			if err != nil || !slices.Equal(row, got[seen]) {
				t.Fatalf("row %d: got %v, %v, want %v", seen, row, err, got[seen])
			}
			if seen++; seen == stop {
				break
			}
		}
	})
}

// Rows that are equal in the first key are told apart by the second when the heap is full already.
func TestTopRowsBySecondKey(t *testing.T) {
	var rows [][]value.Value
	for i := range 100 {
		rows = append(rows, []value.Value{value.OfInt4(int32(i % 2)), value.OfInt4(int32(99 - i))})
	}
	m := newModel([]value.Type{value.Int4, value.Int4}, rows, []int{60, 40}, 1)
	got := collect(t, m.table(memMethod{wrong: 1}), RowsSpec{Pred: &Pred{Kind: True}, Columns: []int{2},
		OrderBy: []OrderKey{{Attno: 1}, {Attno: 2}}, Limit: 3, Offset: 1})
	for i, want := range []int64{3, 5, 7} { // of 1, 3, 5 ..., the rows whose first key is 0
		if len(got) != 3 || got[i][0].Int() != want {
			t.Fatalf("got %v, want 3, 5, 7", got)
		}
	}
}

// A row that comes late must be gathered in chunks and found again in all of them.
func TestRowsAcrossChunks(t *testing.T) {
	const n = 40_000
	var rows [][]value.Value
	for i := range n {
		rows = append(rows, []value.Value{value.OfInt4(int32(i * 7919 % n))})
	}
	m := newModel([]value.Type{value.Int4}, rows, []int{30_000, 10_000}, 1)
	table := m.table(memMethod{wrong: 1})
	got := collect(t, table, RowsSpec{Pred: &Pred{Kind: True}, Columns: []int{1}, Limit: -1, Offset: 9_000})
	if len(got) != n-9_000 {
		t.Fatalf("got %d rows", len(got))
	}
	for i, row := range got {
		if want := int64((i + 9_000) * 7919 % n); row[0].Int() != want {
			t.Fatalf("row %d: got %d, want %d", i, row[0].Int(), want)
		}
	}
	got = collect(t, table, RowsSpec{Pred: &Pred{Kind: True}, Columns: []int{1}, OrderBy: []OrderKey{{Attno: 1}}, Limit: -1})
	for i, row := range got {
		if row[0].Int() != int64(i) {
			t.Fatalf("row %d in order: got %d", i, row[0].Int())
		}
	}
}
