package query

import (
	"math"

	"wideleaf/page"
	"wideleaf/value"
)

// The small decisions of a query, as pure functions of counts. A cost is nanoseconds of one core.

// What things cost, measured on the benchmark's table (BenchmarkCosts) with all pages cached: 100 us for 26,500 entries
// in 17 leaves, 2 us for the first entry of a leaf; 4 us for one row of a heap page, 5 us for all of them. Fetching a
// page from the store's cache instead of the benchmark's memory adds 1 to 2 us to each.
const (
	costEntry = 3.0  // decoding an index entry and adding its TID to a set
	costLeaf  = 3000 // reaching an index leaf: fetching and verifying its page, finding the place in it
	costPage  = 5000 // the same for a page of a heap column, and comparing its values
	costPlace = 500  // finding the place of one interval of a condition in an index run

	costOrdered = 20 // the next entry of an ordered scan, and comparing it with the last of the rows found
	costPending = 2  // comparing a value of a pending row

	costSimilarity = 150 // comparing the items of an array
)

// parallelFrom is what two index scans at the same time must save: starting a goroutine and joining it costs some microseconds,
// and much more when the other cores are busy.
const parallelFrom = 100e3

// indexCost is the cost of fetching the TIDs of a condition from an index.
func indexCost(entries, leaves float64) float64 { return entries*costEntry + leaves*costLeaf }

// intervalsCost is what the intervals of a condition add to indexCost in so many runs.
func intervalsCost(intervals, runs int) float64 {
	return costPlace * float64(intervals) * float64(runs)
}

// pageWeight is how many times costPage a page costs for a condition of so many intervals: each value is looked up among
// them.
func pageWeight(intervals int) float64 { return 1 + math.Log2(float64(max(intervals, 1))) }

// sampled is how many of a condition's intervals are asked an estimate for; the others are taken to be like them.
const sampled = 32

// sample returns `sampled` of a condition's intervals, evenly spread, and how many each stands for.
func sample(r *value.Ranges) (*value.Ranges, float64) {
	n := len(r.Words) + len(r.Strings)
	if n <= sampled {
		return r, 1
	}
	s := &value.Ranges{}
	for i := range sampled {
		if at := i * n / sampled; len(r.Words) > 0 {
			s.Words = append(s.Words, r.Words[at])
		} else {
			s.Strings = append(s.Strings, r.Strings[at])
		}
	}
	return s, float64(n) / sampled
}

// filterCost is the cost of checking a condition on n candidates in a heap column of the given number of pages: a
// page for each candidate at the most, and no more than there are.
func filterCost(n, pages float64) float64 { return costPage * min(n, pages) }

// columnPages estimates how many pages a column of some rows takes.
func columnPages(rows float64, t value.Type) float64 {
	width := 16.0 // of a string: a guess
	switch t.Width() {
	case value.Word32:
		width = 4
	case value.Word64:
		width = 8
	}
	return math.Ceil(rows * width / (page.Size - page.HeaderSize))
}

// useIndex decides how the next condition of an AND is evaluated: by its index, or in the heap's columns on the
// candidates that are left.
func useIndex(index, filter float64) bool { return index <= filter }

// inParallel decides whether two index scans run at the same time: a and b are what they cost by themselves, after what the
// second one costs when only what the first has found matters.
func inParallel(a, b, after float64) bool { return a+after-max(a, b) >= parallelFrom }

// rowsWanted is how many rows a query with LIMIT and OFFSET has to find, limit < 0 meaning no limit: OFFSET + LIMIT, or the
// largest number if that is larger.
func rowsWanted(limit, offset int64) int64 {
	offset = max(offset, 0)
	if limit < 0 || limit > math.MaxInt64-offset {
		return math.MaxInt64
	}
	return offset + limit
}

// wideCells is how many cells a string counts as in chunkRows.
const wideCells = 16

// chunkRows is how many rows of so many cells are gathered at once: what takes some megabytes in memory, and at first few,
// since the caller may want no more.
func chunkRows(cells, previous int) int {
	const (
		first = 64
		most  = 1 << 18 // cells
	)
	if previous == 0 {
		return first
	}
	return min(previous*4, max(most/max(cells, 1), first))
}
