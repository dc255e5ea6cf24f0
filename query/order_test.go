package query

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wideleaf/am"
	"wideleaf/am/btree"
	"wideleaf/am/gin"
	"wideleaf/am/rum"
	"wideleaf/catalog"
	"wideleaf/query/sql"
	"wideleaf/tid"
	"wideleaf/value"
)

// modelDistance is a distance from b, by RUM's definitions, written down apart from the code under test.
type modelDistance struct {
	op   string // empty: none
	left bool   // b is on the left
	b    float64

	items map[string]bool // of the constant, if it is an array
}

func (d modelDistance) of(v value.Value) value.Value {
	if v.IsNull() {
		return value.Null(value.Float8)
	}
	if d.items != nil {
		all, n := map[string]bool{}, 0
		for _, it := range itemsOf(v) {
			if !it.IsNull() {
				all[it.Str()] = true
			}
		}
		for s := range all {
			if d.items[s] {
				n++
			}
		}
		if n == 0 {
			return value.OfFloat8(math.Inf(1))
		}
		return value.OfFloat8(1 / (float64(n) / math.Sqrt(float64(len(all)*len(d.items)))))
	}
	x, y := modelNumber(v), d.b
	if d.left {
		x, y = y, x
	}
	special := func(f float64) bool { return f != f || math.IsInf(f, 0) }
	far := math.Inf(1)
	switch {
	case special(x) && special(y):
		far = 0
	case special(x) || special(y):
	case d.op == "<=>":
		far = math.Abs(x - y)
	case d.op == "<=|" && x <= y:
		far = y - x
	case d.op == "|=>" && x > y:
		far = x - y
	}
	return value.OfFloat8(far)
}

func modelNumber(v value.Value) float64 {
	switch v.Type() {
	case value.Float8:
		return v.Float()
	case value.Timestamptz:
		t, finite := v.Time()
		if !finite {
			return math.Inf(1)
		}
		return float64(t.UnixMicro() - 946684800e6)
	}
	return float64(v.Int())
}

// genOrder draws an ORDER BY list.
func genOrder(t *rapid.T, m *model) (order []OrderKey, distances []modelDistance) {
	for range rapid.IntRange(0, 3).Draw(t, "keys") {
		k := OrderKey{Attno: rapid.IntRange(0, len(columnTypes)).Draw(t, "key"),
			Desc: rapid.Bool().Draw(t, "desc"), NullsFirst: rapid.Bool().Draw(t, "nulls first")}
		d := modelDistance{}
		if k.Attno > 0 && rapid.Bool().Draw(t, "distance") {
			switch typ := columnTypes[k.Attno-1]; typ {
			case value.Int4, value.Int8, value.Float8, value.Timestamptz, value.TextArray:
				d = modelDistance{op: rapid.SampledFrom([]string{"<=>", "<=>", "<=|", "|=>"}).Draw(t, "op"), left: rapid.Bool().Draw(t, "left")}
				v := genValue(t, typ)
				for v.IsNull() || strings.Contains(v.String(), "NULL") {
					v = genValue(t, typ)
				}
				if typ == value.TextArray {
					d.op, d.items = "<=>", map[string]bool{}
					for _, it := range itemsOf(v) {
						d.items[it.Str()] = true
					}
				} else {
					d.b = modelNumber(v)
				}
				x, y := m.def.Columns[k.Attno-1].Name, "'"+v.String()+"'"
				if d.left {
					x, y = y, x
				}
				keys, err := sql.ParseOrderBy(fmt.Sprintf("%s %s %s", x, d.op, y))
				if err != nil {
					t.Fatal(err)
				}
				bound, err := DefaultSettings.BindOrderBy(keys, m.def)
				if err != nil {
					t.Fatal(err)
				}
				k.Distance = bound[0].Distance
			}
		}
		order, distances = append(order, k), append(distances, d)
	}
	return order, distances
}

// sorted returns the positions of the rows for which p holds, in order.
func (m *model) sorted(p *Pred, order []OrderKey, distances []modelDistance) []int {
	rows := m.matching(p)
	slices.SortStableFunc(rows, func(a, b int) int {
		for i, k := range order {
			c := 0
			if k.Attno == 0 {
				if c = a - b; k.Desc {
					c = -c
				}
			} else {
				x, y := m.value(a, k.Attno), m.value(b, k.Attno)
				if d := distances[i]; d.op != "" {
					x, y = d.of(x), d.of(y)
				}
				c = modelCompare(x, y, k)
			}
			if c != 0 {
				return c
			}
		}
		return a - b
	})
	return rows
}

// genArrayPred draws a condition on the column of arrays.
func genArrayPred(t *rapid.T) *Pred {
	op := rapid.SampledFrom([]value.ArrayOp{value.Contains, value.Contains, value.Contains, value.Contains, value.Overlaps, value.OverlapsOrNull, value.ContainedBy, value.Similar}).Draw(t, "op")
	v := genValue(t, value.TextArray)
	for v.IsNull() {
		v = genValue(t, value.TextArray)
	}
	p := arrayPred(len(columnTypes), value.TextArray, value.MatchArray(op, value.TextArray, v.Str()))
	p.Match.Like = DefaultSettings.Similarity
	p.Match.Not = rapid.IntRange(0, 9).Draw(t, "not") == 0
	return p
}

// The first rows that an index gives in order are those of the model, whatever that costs; so are those among a set. Some
// rows are deleted.
func TestFirstRowsByIndex(t *testing.T) {
	planned, done, attached, similar := 0, 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		m := genModel(t)
		var spec RowsSpec
		var distances []modelDistance
		bySimilarity := rapid.IntRange(0, 3).Draw(t, "by similarity") == 0
		for len(spec.OrderBy) == 0 || spec.OrderBy[0].Attno == 0 ||
			columnTypes[spec.OrderBy[0].Attno-1].Width() == value.Var && spec.OrderBy[0].Distance == nil || bySimilarity && distances[0].items == nil {
			spec.OrderBy, distances = genOrder(t, m)
		}
		if bySimilarity {
			spec.OrderBy[0].Desc, spec.OrderBy[0].NullsFirst = false, false
		}
		spec.Pred = genCondition(t)
		if rapid.Bool().Draw(t, "on the key") {
			a := spec.OrderBy[0].Attno
			spec.Pred = &Pred{Kind: Column, Attno: a, Type: columnTypes[a-1], Ranges: genRanges(t, columnTypes[a-1])}
		}
		columns := []catalog.IndexColumn{{Attno: spec.OrderBy[0].Attno, Type: columnTypes[spec.OrderBy[0].Attno-1], Desc: rapid.Bool().Draw(t, "desc")}}
		if rapid.Bool().Draw(t, "two") {
			a := 1 + spec.OrderBy[0].Attno%len(columnTypes)
			columns = append(columns, catalog.IndexColumn{Attno: a, Type: columnTypes[a-1]})
		}
		def := catalog.Index{Columns: columns}
		method := rapid.SampledFrom([]am.Method{btree.Method, gin.Method, rum.Method, rum.Method}).Draw(t, "method")
		if bySimilarity {
			method = rum.Method
		}
		if to := len(columnTypes); method.Abilities().Attach > 0 && columns[0].Type.Width() != value.Var && rapid.IntRange(0, 3).Draw(t, "attach") > 0 {
			if rapid.IntRange(0, 4).Draw(t, "to a scalar") == 0 {
				to = 1 + spec.OrderBy[0].Attno%(to-1)
			}
			if len(columns) == 1 || columns[1].Attno != to {
				def.Columns = append(def.Columns, catalog.IndexColumn{Attno: to, Type: columnTypes[to-1]})
			}
			def.Attach = []catalog.Attach{{Attno: columns[0].Attno, To: to}}
			def.OrderByAttach = rapid.Bool().Draw(t, "order by attached")
			on := []*Pred{{Kind: Column, Attno: to, Type: columnTypes[to-1], Ranges: genRanges(t, columnTypes[to-1])}}
			if to == len(columnTypes) {
				on = []*Pred{genArrayPred(t), genArrayPred(t)}[:1+min(rapid.IntRange(0, 3).Draw(t, "arrays"), 1)]
			}
			spec.Pred = join(And, append(on, spec.Pred)...)
		}
		table := m.tableWith(method, def)
		dead := tid.NewBuilder(table.segments())
		for _, x := range m.tids {
			if rapid.IntRange(0, 3).Draw(t, "dead") == 0 {
				dead.Add(x)
			}
		}
		table.Dead = dead.Set().Dead()
		var want []tid.TID
		for _, row := range m.sorted(spec.Pred, spec.OrderBy, distances) {
			if x := m.tids[row]; !table.Dead.Has(x) {
				want = append(want, x)
			}
		}

		wanted := rapid.SampledFrom([]int64{1, 2, 7, 70, 1000}).Draw(t, "wanted")
		e := newExecutor(context.Background(), table)
		plan, err := e.planOrder(&spec, wanted)
		if err != nil {
			t.Fatal(err)
		}
		if plan == nil {
			return
		}
		planned++
		found := candidates{rest: plan.rest}
		if rapid.Bool().Draw(t, "set") {
			set, err := Where(context.Background(), table, spec.Pred, nil)
			if err != nil {
				t.Fatal(err)
			}
			found = candidates{set: set}
		}
		top, ok, err := plan.byOrder(found, 1, math.Inf(1))
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return
		}
		done++
		if plan.scan.like != nil {
			similar++
		}
		if plan.scan.parts != nil && plan.scan.parts[0].scan.To >= 0 {
			attached++
		}
		got, err := top.sorted(context.Background(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if want := want[:min(wanted, int64(len(want)))]; !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
	if planned < 20 || done < planned/2 || attached < 5 || similar == 0 {
		t.Errorf("%d of %d plans were carried out, %d by attached values, %d by similarity", done, planned, attached, similar)
	}
}

// Values that float8 can't tell apart are equally far, and come in TID order with those of the nearer value.
func TestRoundedDistances(t *testing.T) {
	const big = 1 << 53
	var rows [][]value.Value
	for _, x := range []int64{big + 1, big, big + 1, big, -big - 1, -big} {
		rows = append(rows, []value.Value{value.OfInt8(x)})
	}
	m := newModel([]value.Type{value.Int8}, rows, []int{len(rows)}, 1)
	table := m.table(btree.Method, []catalog.IndexColumn{{Attno: 1, Type: value.Int8}})
	keys, err := sql.ParseOrderBy("c0 <=> 0")
	if err != nil {
		t.Fatal(err)
	}
	spec := RowsSpec{Pred: &Pred{Kind: True}}
	if spec.OrderBy, err = DefaultSettings.BindOrderBy(keys, m.def); err != nil {
		t.Fatal(err)
	}
	for wanted := range m.tids {
		plan, err := newExecutor(context.Background(), table).planOrder(&spec, int64(wanted+1))
		if err != nil || plan == nil {
			t.Fatal(plan, err)
		}
		top, ok, err := plan.byOrder(candidates{}, 1, math.Inf(1))
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		got, err := top.sorted(context.Background(), 0)
		if err != nil || !slices.Equal(got, m.tids[:wanted+1]) {
			t.Fatalf("got %v, %v, want %v", got, err, m.tids[:wanted+1])
		}
	}
}

// The values within a distance are those that are at most so far.
func TestWithinADistance(t *testing.T) {
	types := []value.Type{value.Int4, value.Int8, value.Float8, value.Timestamptz}
	m := newModel(types, nil, nil, 0)
	rapid.Check(t, func(t *rapid.T) {
		attno := rapid.IntRange(1, len(types)).Draw(t, "attno")
		some := func() value.Value {
			for {
				if v := genValue(t, types[attno-1]); !v.IsNull() {
					return v
				}
			}
		}
		x, y := m.def.Columns[attno-1].Name, "'"+some().String()+"'"
		if rapid.Bool().Draw(t, "left") {
			x, y = y, x
		}
		keys, err := sql.ParseOrderBy(x + rapid.SampledFrom([]string{" <=> ", " <=| ", " |=> "}).Draw(t, "op") + y)
		if err != nil {
			t.Fatal(err)
		}
		order, err := DefaultSettings.BindOrderBy(keys, m.def)
		if err != nil {
			t.Fatal(err)
		}
		d := order[0].Distance
		if !d.grows() {
			return
		}
		far := d.ofCode(some().Code())
		in := d.within(far)
		for range 20 {
			if v := some(); in.ContainsCode(v.Code()) != (d.ofCode(v.Code()) <= far) {
				t.Fatalf("%s is %v away, and within %v: %v", v, d.ofCode(v.Code()), far, in.ContainsCode(v.Code()))
			}
		}
	})
}
