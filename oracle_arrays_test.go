package wideleaf

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wideleaf/value"
)

// arrayType is a type of random arrays. The items come from a small pool, so that constants meet them.
func arrayType(name string, typ Type, items ...string) *oracleType {
	some := func(rnd *rand.Rand) string {
		out := make([]string, rnd.IntN(5))
		for i := range out {
			if out[i] = items[rnd.IntN(1+rnd.IntN(len(items)))]; rnd.IntN(12) == 0 {
				out[i] = "NULL"
			}
		}
		return "{" + strings.Join(out, ",") + "}"
	}
	return &oracleType{name: name, typ: typ, vary: some, all: []string{"{}", "{NULL}", "{" + items[0] + "}", "{" + items[0] + "," + items[0] + "}"},
		read: func(s string) (any, error) { return value.Parse(typ, s) }}
}

var (
	longItem   = strings.Repeat("long ", 60) // beyond what a GIN keeps of a text
	arrayTypes = []*oracleType{
		arrayType("int8[]", Int8Array, "1", "2", "3", "0", "-1", "7", "9223372036854775807", "-9223372036854775808"),
		arrayType("text[]", TextArray, "a", "b", "c", `""`, `"NULL"`, `"a,b"`, "é", `"`+longItem+`"`, `"`+longItem+`b"`),
	}
	arrayItems = map[Type][]string{
		Int8Array: {"1", "2", "3", "0", "-1", "7", "99", "9223372036854775807", "null"},
		TextArray: {"'a'", "'b'", "'c'", "''", "'NULL'", "'a,b'", "'nosuch'", "'" + longItem + "'", "'" + longItem + "b'", "null"},
	}
)

// arrayTable is a random table whose columns are arrays and some scalars.
func arrayTable(rnd *rand.Rand) *oracleTable {
	o := &oracleTable{columns: []oracleColumn{{"id", typeNamed("int4")}, {"i", typeNamed("int4")}, {"x", arrayTypes[0]}, {"y", arrayTypes[1]}, {"z", arrayTypes[rnd.IntN(2)]}}}
	for id := range []int{1, 60, 400, 3000}[rnd.IntN(4)] {
		row := make([]*string, len(o.columns))
		for i, c := range o.columns {
			var s string
			switch {
			case i == 0:
				s = fmt.Sprint(id + 1)
			case rnd.IntN(12) == 0:
				continue
			case i == 1:
				s = fmt.Sprint(rnd.IntN(9))
			default:
				s = c.vary(rnd)
			}
			row[i] = &s
		}
		o.rows = append(o.rows, row)
	}
	all := IndexDef{Name: "g", Method: "gin"}
	for i, c := range o.columns {
		all.Columns = append(all.Columns, IndexColumn{Name: c.name})
		if rnd.IntN(2) == 0 {
			o.indexes = append(o.indexes, IndexDef{Name: fmt.Sprint("g", i), Method: "gin", Columns: []IndexColumn{{Name: c.name}}})
		}
	}
	if off := rnd.IntN(2) == 0; off || len(o.indexes) == 0 {
		fast := !off
		all.FastUpdate = &fast
		o.indexes = append(o.indexes, all)
	}
	return o
}

// arrays returns a condition on arrays of at most so many levels.
func (a asker) arrays(depth int) string {
	if depth > 0 {
		switch a.upTo("form", 7) {
		case 0, 1, 2:
			return "(" + a.arrays(depth-1) + ") and (" + a.arrays(depth-1) + ")"
		case 3, 4:
			return "(" + a.arrays(depth-1) + ") or (" + a.arrays(depth-1) + ")"
		case 5:
			return "not (" + a.arrays(depth-1) + ")"
		}
	}
	c := rapid.SampledFrom(a.o.columns[1:]).Draw(a.T, "column")
	if c.typ == Int4 {
		return fmt.Sprintf("%s %s %d", c.name, a.of("op", comparisons...), a.upTo("number", 9))
	}
	switch a.upTo("leaf", 9) {
	case 0:
		return c.name + " is " + a.of("not", "", "not ") + "null"
	case 1, 2:
		return a.of("item", arrayItems[c.typ]...) + " = any (" + c.name + ")"
	}
	rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(a.T, "array"), 1))
	array := c.vary(rnd)
	if a.chance("simple", 30) {
		array = a.of("value", c.all...)
	}
	return c.name + " " + a.of("op", "@>", "@>", "&&", "&&", "<@", "<@", "=", "<>", "<", ">=") + " " + literal(array)
}

// Random conditions on arrays in a GIN have the answers of a real PostgreSQL, in every state and without an index too.
func TestOracleArrays(t *testing.T) {
	pg := startPostgres(t)
	tables := 8
	if nightly {
		tables = 200
	}
	for seed := range uint64(tables) {
		t.Run(fmt.Sprint("table", seed), func(t *testing.T) {
			o := arrayTable(rand.New(rand.NewPCG(seed, 2)))
			o.create(t, pg)
			places := map[string]*Table{"no index": o.open(t, flushed, false)}
			for _, state := range []string{inTail, sealed, flushed, merged, reopened} {
				places[state] = o.open(t, state, true)
			}
			rapid.Check(t, func(rt *rapid.T) {
				q := question{selects: []string{"id"}}
				q.where = asker{rt, o, &q}.arrays(rapid.IntRange(0, 3).Draw(rt, "depth"))
				q.orderBy = "id"
				q.sql = "select id from t where " + q.where + " order by id"
				answers, err := pg.ask(q.sql)
				if err != nil {
					rt.Fatal(err)
				}
				for name, tb := range places {
					if err := q.compare(t.Context(), tb, answers[0]); err != nil {
						rt.Fatalf("%s: %s: %v\n%s", name, q.sql, err, o.print())
					}
				}
			})
		})
	}
}
