package query

import (
	"context"
	"encoding/csv"
	"errors"
	"math"
	"math/big"
	"os"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"wideleaf/am/btree"
	"wideleaf/catalog"
	"wideleaf/pgerr"
	"wideleaf/value"
)

// modelAggregate computes an aggregate over values by the plainest means; text is what it prints.
func modelAggregate(a Aggregate, typ value.Type, vals []value.Value) (text string, null bool) {
	if a.Func == CountRows {
		return big.NewInt(int64(len(vals))).String(), false
	}
	vals = slices.DeleteFunc(slices.Clone(vals), value.Value.IsNull)
	byValue := func(a, b value.Value) int { return modelCompare(a, b, OrderKey{}) }
	if a.Distinct {
		slices.SortStableFunc(vals, byValue)
		vals = slices.CompactFunc(vals, func(a, b value.Value) bool { return byValue(a, b) == 0 })
	}
	if a.Func == CountOf {
		return big.NewInt(int64(len(vals))).String(), false
	}
	if len(vals) == 0 {
		return "", true
	}
	switch a.Func {
	case Min:
		return slices.MinFunc(vals, byValue).String(), false
	case Max:
		return slices.MaxFunc(vals, byValue).String(), false
	}
	if typ == value.Float8 {
		sum := 0.0
		for _, v := range vals {
			finite := !math.IsInf(sum, 0) && !math.IsInf(v.Float(), 0)
			if sum += v.Float(); finite && math.IsInf(sum, 0) {
				return "overflow", false
			}
		}
		if a.Func == Avg {
			sum /= float64(len(vals))
		}
		return value.FormatFloat8(sum), false
	}
	sum := new(big.Int)
	for _, v := range vals {
		sum.Add(sum, big.NewInt(v.Int()))
	}
	if a.Func == Sum {
		return sum.String(), false
	}
	return "", false // TestMeanPrintsAsPostgreSQL has the texts
}

func TestAggregatesOfRandomConditions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, table := genTable(t)
		p := genCondition(t)
		var aggs []Aggregate
		for range rapid.IntRange(1, 6).Draw(t, "aggregates") {
			a := Aggregate{Func: Func(rapid.IntRange(0, int(Max)).Draw(t, "func")), Distinct: rapid.Bool().Draw(t, "distinct")}
			if a.Func == CountRows {
				a.Distinct = false
			} else {
				a.Attno = rapid.IntRange(1, len(columnTypes)).Draw(t, "attno")
				if _, err := a.Func.Result(columnTypes[a.Attno-1]); err != nil {
					continue
				}
			}
			aggs = append(aggs, a)
		}
		got, err := Aggregates(context.Background(), table, p, aggs)
		overflows := false
		rows := m.matching(p)
		for i, a := range aggs {
			var vals []value.Value
			for _, row := range rows {
				if a.Attno == 0 {
					vals = append(vals, value.OfBool(true))
				} else {
					vals = append(vals, m.value(row, a.Attno))
				}
			}
			var typ value.Type
			if a.Attno != 0 {
				typ = columnTypes[a.Attno-1]
			}
			want, null := modelAggregate(a, typ, vals)
			overflows = overflows || want == "overflow"
			if err != nil {
				continue
			}
			if a.Func == Avg && typ != value.Float8 && !null {
				continue
			}
			if f := got[i].Float(); f == 0 && typ == value.Float8 && (want == "0" || want == "-0") {
				continue
			}
			if got[i].String() != want || got[i].IsNull() != null {
				t.Fatalf("%v(distinct %v) of column %d: got %q, want %q", a.Func, a.Distinct, a.Attno, got[i], want)
			}
			if r, _ := a.Func.Result(typ); got[i].Type() != r {
				t.Fatalf("%v of %v: got type %v, want %v", a.Func, typ, got[i].Type(), r)
			}
		}
		if (err != nil) != overflows {
			t.Fatalf("got error %v, overflow expected: %v", err, overflows)
		}
	})
}

// testdata/mean.csv holds what PostgreSQL 15 prints for sum / n with sum a numeric and n a bigint, as its avg divides.
func TestMeanPrintsAsPostgreSQL(t *testing.T) {
	f, err := os.Open("testdata/mean.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cases, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		sum, _ := new(big.Int).SetString(c[0], 10)
		n, _ := strconv.ParseInt(c[1], 10, 64)
		if got := mean(sum, n); got != c[2] {
			t.Errorf("mean(%s, %s): got %s, want %s", c[0], c[1], got, c[2])
		}
	}
}

// The extremes of each column are in the pending list, or in a run.
func TestExtremesFromIndexAndPending(t *testing.T) {
	var rows [][]value.Value
	for _, x := range []int32{3, 9, 4, 1, 7, 5, 12, 6} {
		rows = append(rows, []value.Value{value.OfInt4(x), value.OfInt4(-x)})
	}
	rows = append(rows, []value.Value{value.Null(value.Int4), value.Null(value.Int4)})
	want := [4]int64{1, 12, -12, -1}
	for flushed := range 4 {
		for _, desc := range []bool{false, true} {
			m := newModel([]value.Type{value.Int4, value.Int4}, rows, []int{3, 3, 3}, flushed)
			cols := [][]catalog.IndexColumn{columns(1), columns(2)}
			for _, c := range cols {
				c[0].Desc, c[0].NullsFirst = desc, desc
			}
			got, err := Aggregates(context.Background(), m.table(btree.Method, cols...), &Pred{Kind: True}, []Aggregate{
				{Func: Min, Attno: 1}, {Func: Max, Attno: 1}, {Func: Min, Attno: 2}, {Func: Max, Attno: 2}})
			if err != nil {
				t.Fatal(err)
			}
			for i, w := range want {
				if got[i].Int() != w || got[i].IsNull() {
					t.Errorf("%d segments flushed, descending %v: result %d is %v, want %d", flushed, desc, i, got[i], w)
				}
			}
		}
	}
}

func TestAggregatesThatDoNotExist(t *testing.T) {
	for _, c := range []struct {
		f    Func
		typ  value.Type
		want string
	}{
		{Min, value.Bool, "function min(boolean) does not exist"},
		{Max, value.Bool, "function max(boolean) does not exist"},
		{Sum, value.Text, "function sum(text) does not exist"},
		{Avg, value.Bool, "function avg(boolean) does not exist"},
	} {
		m := newModel([]value.Type{c.typ}, nil, nil, 0)
		_, err := Aggregates(context.Background(), m.table(memMethod{}), &Pred{Kind: True}, []Aggregate{{Func: c.f, Attno: 1}})
		var e *pgerr.Error
		if !errors.As(err, &e) || e.Code != "42883" || e.Message != c.want {
			t.Errorf("%v(%v): got %v, want %s", c.f, c.typ, err, c.want)
		}
	}
}
