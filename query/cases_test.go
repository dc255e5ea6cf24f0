package query

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"wideleaf/value"
)

// Cases c07 (sums past 2^63) and c27 (LIMIT and OFFSET near 2^63), from testdata: PostgreSQL's answers.

type dataCase struct {
	Table struct {
		Columns []struct{ Name, Type string }
		Rows    [][]any
	}
	Index []struct{ Columns []string }
	Query caseQuery
	Expect
	More []struct {
		Query caseQuery
		Expect
	}
}

type caseQuery struct {
	Where, OrderBy string
	Select         []string
	GroupBy        string
	Limit, Offset  *int64
}

type Expect struct{ Expect map[string]any }

func (q *caseQuery) UnmarshalJSON(b []byte) error {
	var raw struct {
		Where         string
		Select        []string
		OrderBy       string `json:"order_by"`
		GroupBy       string `json:"group_by"`
		Limit, Offset *int64
	}
	err := json.Unmarshal(b, &raw)
	*q = caseQuery{raw.Where, raw.OrderBy, raw.Select, raw.GroupBy, raw.Limit, raw.Offset}
	return err
}

// loadCase returns a case with its rows in segments of `per` rows, the first `flushed` of them flushed.
func loadCase(t *testing.T, name string, per, flushed int) (*dataCase, *Table) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	c := new(dataCase)
	if err := d.Decode(c); err != nil {
		t.Fatal(err)
	}
	var types []value.Type
	for _, col := range c.Table.Columns {
		typ, ok := value.ParseType(col.Type)
		if !ok {
			t.Fatalf("type %q", col.Type)
		}
		types = append(types, typ)
	}
	var rows [][]value.Value
	for _, r := range c.Table.Rows {
		var row []value.Value
		for i, x := range r {
			v := value.Null(types[i])
			if n, ok := x.(json.Number); ok {
				k, err := n.Int64()
				if err != nil {
					t.Fatal(err)
				}
				if v = value.OfInt8(k); types[i] == value.Int4 {
					v = value.OfInt4(int32(k))
				}
			}
			row = append(row, v)
		}
		rows = append(rows, row)
	}
	var sizes []int
	for left := len(rows); left > 0; left -= per {
		sizes = append(sizes, min(per, left))
	}
	m := newModel(types, rows, sizes, min(flushed, len(sizes)))
	for i, col := range c.Table.Columns {
		m.def.Columns[i].Name = col.Name
	}
	table := m.table(memMethod{wrong: 1, counts: true})
	for _, ix := range c.Index {
		cols := columns(1 + c.column(t, ix.Columns[0]))
		cols[0].Type = types[cols[0].Attno-1]
		table.Indexes = append(table.Indexes, m.table(memMethod{wrong: 1, counts: true}, cols).Indexes[0])
	}
	return c, table
}

func (c *dataCase) column(t *testing.T, name string) int {
	i := slices.IndexFunc(c.Table.Columns, func(col struct{ Name, Type string }) bool { return col.Name == name })
	if i < 0 {
		t.Fatalf("no column %q", name)
	}
	return i
}

// conditions are the cases' WHERE texts.
var conditions = map[string]*Pred{
	"":        {Kind: True},
	"g = 1":   int4Is(2, 1),
	"g = 2":   int4Is(2, 2),
	"g = 3":   int4Is(2, 3),
	"g = 4":   int4Is(2, 4),
	"g = 99":  int4Is(2, 99),
	"a > 100": {Kind: Column, Attno: 2, Type: value.Int8, Ranges: value.OfIntervals(value.Interval{Lo: value.Int8Code(101), Hi: 1<<64 - 1})},
}

func int4Is(attno int, v int32) *Pred {
	c := uint64(value.Int4Code(v))
	return &Pred{Kind: Column, Attno: attno, Type: value.Int4, Ranges: value.OfIntervals(value.Interval{Lo: c, Hi: c})}
}

func TestCases(t *testing.T) {
	for _, name := range []string{"c07.json", "c27.json"} {
		for _, per := range []int{100, 2, 1} {
			for _, flushed := range []int{0, 1, 100} {
				c, table := loadCase(t, name, per, flushed)
				c.check(t, table, c.Query, c.Expect.Expect)
				for _, q := range c.More {
					c.check(t, table, q.Query, q.Expect.Expect)
				}
			}
		}
	}
}

func (c *dataCase) check(t *testing.T, table *Table, q caseQuery, expect map[string]any) {
	t.Helper()
	if _, fails := expect["error"]; fails || q.GroupBy != "" {
		return // negative LIMITs are refused before they get here; groups come later
	}
	pred, ok := conditions[q.Where]
	if !ok {
		t.Fatalf("condition %q", q.Where)
	}
	var got []string
	if strings.Contains(q.Select[0], "(") {
		vals, err := Aggregates(context.Background(), table, pred, c.aggregates(t, q.Select))
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range vals {
			got = append(got, orNull(v))
		}
	} else {
		spec := RowsSpec{Pred: pred, Columns: []int{1 + c.column(t, q.Select[0])}, Limit: -1, Offset: -1}
		if q.Limit != nil {
			spec.Limit = *q.Limit
		}
		if q.Offset != nil {
			spec.Offset = *q.Offset
		}
		if name, desc := strings.CutSuffix(q.OrderBy, " DESC"); name != "" {
			spec.OrderBy = []OrderKey{{Attno: 1 + c.column(t, name), Desc: desc, NullsFirst: desc}}
		}
		for _, row := range collect(t, table, spec) {
			got = append(got, orNull(row[0]))
		}
	}
	if best, ok := expect["any_of"].([]any); ok {
		expect = best[0].(map[string]any) // PostgreSQL's
	}
	if near, ok := expect["approx"]; ok {
		if !strings.HasPrefix(got[0], near.(json.Number).String()) {
			t.Errorf("%+v: got %v, want about %v", q, got, near)
		}
		return
	}
	var want []string
	for _, key := range []string{"ids", "rows", "value"} {
		switch x := expect[key].(type) {
		case json.Number:
			want = []string{x.String()}
		case []any:
			if key == "rows" {
				x = x[0].([]any)
			}
			for _, v := range x {
				if v == nil {
					want = append(want, "NULL")
				} else {
					want = append(want, v.(json.Number).String())
				}
			}
		}
	}
	for i := range got { // avg prints zeros after the point
		if head, zeros, ok := strings.Cut(got[i], "."); ok && strings.Trim(zeros, "0") == "" {
			got[i] = head
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v: got %v, want %v", q, got, want)
	}
}

func (c *dataCase) aggregates(t *testing.T, list []string) []Aggregate {
	var out []Aggregate
	for _, text := range list {
		name, arg, _ := strings.Cut(strings.TrimSuffix(text, ")"), "(")
		if arg == "*" {
			out = append(out, Aggregate{Func: CountRows})
			continue
		}
		f := map[string]Func{"count": CountOf, "sum": Sum, "avg": Avg, "min": Min, "max": Max}[name]
		out = append(out, Aggregate{Func: f, Attno: 1 + c.column(t, arg)})
	}
	return out
}

func orNull(v value.Value) string {
	if v.IsNull() {
		return "NULL"
	}
	return v.String()
}
