package query

import (
	"math"
	"testing"

	"wideleaf/value"
)

func TestRowsWanted(t *testing.T) {
	const most = math.MaxInt64
	for _, c := range []struct{ limit, offset, want int64 }{
		{0, 0, 0}, {10, 0, 10}, {10, -1, 10}, {10, 5, 15}, {-1, -1, most}, {-1, 7, most},
		{most, 0, most}, {most, 1, most}, {most, most, most}, {1, most, most}, {2, most - 1, most}, {1, most - 1, most},
	} {
		if got := rowsWanted(c.limit, c.offset); got != c.want {
			t.Errorf("rowsWanted(%d, %d): got %d, want %d", c.limit, c.offset, got, c.want)
		}
	}
}

// The plans that the three cases of the benchmark need, at 2 M rows in 10 runs.
func TestPlansOfTheCases(t *testing.T) {
	const rows, runs = 2e6, 10
	column := columnPages(rows, value.Int4)
	for _, c := range []struct {
		name            string
		share           float64 // of the rows that the index finds
		candidates      float64
		index, parallel bool
	}{
		{"case 1, first condition", 0.00005, rows, true, false},
		{"case 1, second condition", 0.005, 100, true, false},
		{"case 2, first condition", 0.05, rows, true, true},
		{"case 2, second condition", 0.05, 100_000, true, true},
		{"90 % of the table", 0.9, rows, false, true},
		{"a wide condition on three candidates", 0.05, 3, false, true},
	} {
		cost := indexCost(c.share*rows, runs+c.share*rows/1600)
		if got := useIndex(cost, filterCost(c.candidates, column)); got != c.index {
			t.Errorf("%s: by index: %v (index %.0f ns, heap %.0f ns)", c.name, got, cost, filterCost(c.candidates, column))
		}
		if got := inParallel(cost, cost, cost); got != c.parallel {
			t.Errorf("%s: in parallel: %v (%.0f ns)", c.name, got, cost)
		}
	}
}

func TestChunkRows(t *testing.T) {
	for _, columns := range []int{0, 1, 128, 1600} {
		n := 0
		for range 20 {
			next := chunkRows(columns, n)
			if next < 64 || next < n || max(columns, 1)*next > 1<<18 {
				t.Errorf("%d columns: %d rows after %d", columns, next, n)
			}
			n = next
		}
	}
}
