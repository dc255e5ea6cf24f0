package query

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"wideleaf/am"
	"wideleaf/am/btree"
	"wideleaf/am/gin"
	"wideleaf/am/rum"
	"wideleaf/tid"
	"wideleaf/value"
)

var (
	nan     = math.NaN()
	inf     = math.Inf(1)
	negZero = math.Copysign(0, -1)
)

// methods are the access methods of a random test.
func methods() []am.Method {
	return []am.Method{
		btree.Method,
		gin.Method,
		rum.Method,
		memMethod{wrong: 1, counts: true},
		memMethod{wrong: 1, lossy: true},
		memMethod{wrong: 0}, // estimates nothing: every index is used
		memMethod{wrong: 1e6, lossy: true},
	}
}

func genTable(t *rapid.T) (*model, *Table) {
	m := genModel(t)
	table := m.table(rapid.SampledFrom(methods()).Draw(t, "method"), genIndexes(t)...)
	if rapid.Bool().Draw(t, "real sources") {
		for i, s := range m.segs {
			table.Sources[i] = realSource(m, s, i < m.flushed)
		}
	}
	return m, table
}

func TestWhereAndCountOfRandomConditions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, table := genTable(t)
		p := genCondition(t)
		var want []tid.TID
		for _, i := range m.matching(p) {
			want = append(want, m.tids[i])
		}
		set, err := Where(context.Background(), table, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Collect(set.All()); !slices.Equal(got, want) {
			t.Fatalf("Where: got %v, want %v", got, want)
		}
		n, err := Count(context.Background(), table, p)
		if err != nil || n != int64(len(want)) {
			t.Fatalf("Count: got %d, %v, want %d", n, err, len(want))
		}
	})
}

func TestTwoScansAtOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := genModel(t)
		table := m.table(memMethod{wrong: 1}, columns(1), columns(2))
		p := &Pred{Kind: And, Args: []*Pred{
			{Kind: Column, Attno: 1, Type: value.Int4, Ranges: genRanges(t, value.Int4)},
			{Kind: Column, Attno: 2, Type: value.Int4, Ranges: genRanges(t, value.Int4)},
		}}
		e := newExecutor(context.Background(), table)
		terms, err := e.terms(p)
		if err != nil {
			t.Fatal(err)
		}
		set, err := e.fetchBoth(terms[0], terms[1])
		if err != nil {
			t.Fatal(err)
		}
		var want []tid.TID
		for _, i := range m.matching(p) {
			want = append(want, m.tids[i])
		}
		if got := slices.Collect(set.All()); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

func TestCancelledContext(t *testing.T) {
	m := newModel([]value.Type{value.Int4}, [][]value.Value{{value.OfInt4(1)}, {value.OfInt4(2)}}, []int{1, 1}, 1)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	table := m.table(memMethod{wrong: 1}, columns(1))
	for _, p := range []*Pred{{Kind: True}, int4Below(1, 5)} {
		if _, err := Count(ctx, table, p); !errors.Is(err, context.Canceled) {
			t.Errorf("Count: got %v", err)
		}
		if _, err := Where(ctx, table, p, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("Where: got %v", err)
		}
		if _, err := Aggregates(ctx, table, p, []Aggregate{{Func: Sum, Attno: 1}}); !errors.Is(err, context.Canceled) {
			t.Errorf("Aggregates: got %v", err)
		}
		for _, order := range [][]OrderKey{nil, {{Attno: 1}}} {
			last := error(nil)
			for _, err := range Rows(ctx, table, RowsSpec{Pred: p, Columns: []int{1}, OrderBy: order, Limit: -1}) {
				last = err
			}
			if !errors.Is(last, context.Canceled) {
				t.Errorf("Rows: got %v", last)
			}
		}
	}
}

// An index of several columns serves conditions on all of them, and is left alone when it is too dear.
func TestJointIndex(t *testing.T) {
	var rows [][]value.Value
	for i := range 300 {
		rows = append(rows, []value.Value{value.OfInt4(int32(i % 3)), value.OfInt4(int32(i % 5)), value.OfInt4(int32(i % 7))})
	}
	m := newModel([]value.Type{value.Int4, value.Int4, value.Int4}, rows, []int{100, 100, 50, 50}, 3)
	p := &Pred{Kind: And, Args: []*Pred{int4Below(3, 4), int4Below(2, 2), int4Is(1, 2)}}
	for _, c := range []struct {
		method  am.Method
		columns []int
		served  []int // attnos that the index serves together
	}{
		{memMethod{wrong: 1}, []int{1, 2, 3}, []int{1, 2}}, // nothing behind the first range
		{memMethod{wrong: 1e6}, []int{1, 2, 3}, []int{1, 2}},
		{btree.Method, []int{1, 3}, []int{1, 3}},
		{btree.Method, []int{2, 1}, nil}, // a range comes first
	} {
		table := m.table(c.method, columns(c.columns...))
		e := newExecutor(context.Background(), table)
		joint, left := e.jointTerms(p.Args)
		var served []int
		for _, j := range joint {
			for _, q := range j.preds {
				served = append(served, q.Attno)
			}
		}
		if !slices.Equal(served, c.served) || len(served)+len(left) != 3 {
			t.Errorf("index on %v: serves %v, want %v", c.columns, served, c.served)
		}
		var want []tid.TID
		for _, i := range m.matching(p) {
			want = append(want, m.tids[i])
		}
		set, err := Where(context.Background(), table, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Collect(set.All()); !slices.Equal(got, want) {
			t.Errorf("index on %v: got %d rows, want %d", c.columns, len(got), len(want))
		}
	}
}

func int4Is(attno int, v int32) *Pred {
	c := uint64(value.Int4Code(v))
	return &Pred{Kind: Column, Attno: attno, Type: value.Int4, Ranges: value.OfIntervals(value.Interval{Lo: c, Hi: c})}
}
