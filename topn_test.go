package wideleaf

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"wideleaf/value"
)

// The first rows of an order are those that sorting all rows gives, with NULLs, ties, both directions and a condition
// beside, over more segments than one goroutine takes; later some of the least and greatest are deleted.
func TestFirstRowsOfManySegments(t *testing.T) {
	db := mustOpen(t, t.TempDir(), nil)
	defer db.Close()
	cols := []Column{{Name: "a", Type: Int8}, {Name: "b", Type: Int4}, {Name: "f", Type: Float8}, {Name: "s", Type: Text}, {Name: "n", Type: Int4, NotNull: true}}
	tb, err := db.CreateTable(t.Context(), "t", cols...)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(5, 6))
	var rows [][]value.Value
	zeros := []float64{0, -1 / inf(), 1.5, -2, nan(), inf()}
	for seg := range 40 {
		b := tb.NewBatch()
		for range 1 + r.IntN(400) {
			row := []any{int64(r.Uint64()) >> r.IntN(64), int32(r.IntN(5) - seg/10), zeros[r.IntN(len(zeros))], fmt.Sprint(r.IntN(30)), int32(len(rows))}
			vals := []value.Value{value.OfInt8(row[0].(int64)), value.OfInt4(row[1].(int32)), value.OfFloat8(row[2].(float64)),
				value.OfText(row[3].(string)), value.OfInt4(row[4].(int32))}
			for c := range 4 {
				if r.IntN(40) == 0 {
					row[c], vals[c] = nil, value.Null(cols[c].Type)
				}
			}
			rows = append(rows, vals)
			if err := b.Append(row...); err != nil {
				t.Fatal(err)
			}
		}
		if err := tb.InsertBatch(t.Context(), b, NoSync); err != nil {
			t.Fatal(err)
		}
		if seg < 37 {
			if err := tb.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range 500 {
		if i == 400 {
			if _, err := tb.DeleteWhere(t.Context(), "a < 0 AND b >= 0 OR f > 1 AND n < 4000"); err != nil {
				t.Fatal(err)
			}
			rows = slices.DeleteFunc(rows, func(r []value.Value) bool {
				return !r[0].IsNull() && r[0].Int() < 0 && !r[1].IsNull() && r[1].Int() >= 0 ||
					!r[2].IsNull() && !(r[2].Float() <= 1) && r[4].Int() < 4000
			})
		}
		var keys []string
		var order []func(a, b []value.Value) int
		for range 1 + r.IntN(2) {
			c, desc, first := r.IntN(4), r.IntN(2) == 0, r.IntN(2) == 0
			key := cols[c].Name
			if desc {
				key += " DESC"
			}
			if first {
				key += " NULLS FIRST"
			} else {
				key += " NULLS LAST"
			}
			keys = append(keys, key)
			order = append(order, func(a, b []value.Value) int {
				x, y := a[c], b[c]
				if x.IsNull() != y.IsNull() {
					if x.IsNull() == first {
						return -1
					}
					return 1
				}
				if desc {
					x, y = y, x
				}
				return value.Compare(x, y)
			})
		}
		limit, least := []int{1, 2, 10, 100, 3000, 20_000}[r.IntN(6)], int64(-3+r.IntN(9))
		var want [][]value.Value
		for _, row := range rows {
			if least > 1 || !row[1].IsNull() && row[1].Int() >= least {
				want = append(want, row)
			}
		}
		slices.SortStableFunc(want, func(a, b []value.Value) int {
			for _, f := range order {
				if c := f(a, b); c != 0 {
					return c
				}
			}
			return 0
		})
		want = want[:min(limit, len(want))]
		q := tb.Query().Select("n").OrderBy(strings.Join(keys, ", ")).Limit(int64(limit))
		if least <= 1 {
			q = q.Where(fmt.Sprintf("b >= %d", least))
		}
		i := 0
		for row, err := range q.Rows(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if i >= len(want) || row[0].Int() != want[i][4].Int() {
				t.Fatalf("ORDER BY %s LIMIT %d, b >= %d: row %d is %v", strings.Join(keys, ", "), limit, least, i, row[0])
			}
			i++
		}
		if i != len(want) {
			t.Fatalf("ORDER BY %s LIMIT %d: %d rows, expected %d", strings.Join(keys, ", "), limit, i, len(want))
		}
	}
}

func inf() float64 { x := 0.0; return 1 / x }
func nan() float64 { return inf() - inf() }
