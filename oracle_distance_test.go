package wideleaf

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wideleaf/value"
)

// What RUM's distances and similarities are asked of. Arrays have no NULL items, which RUM refuses, and have some: RUM takes an
// empty one to be at no distance from any other.
var distanceTypes = []*oracleType{
	typeNamed("int4"), typeNamed("int8"), typeNamed("float8"),
	{name: "timestamptz", typ: Timestamptz,
		all: []string{"2000-01-01 00:00:00+00", "1999-12-31 23:59:59.999999+00", "2024-02-29 12:00:00+00", "infinity", "-infinity"},
		vary: func(rnd *rand.Rand) string {
			return fmt.Sprintf("20%02d-0%d-1%d 00:00:%02d.%06d+00", rnd.IntN(30), 1+rnd.IntN(9), rnd.IntN(10), rnd.IntN(60), rnd.IntN(1e6))
		},
		read: func(s string) (any, error) { return value.Parse(Timestamptz, s) },
		also: []string{"'2010-01-01'", "'2010-01-01'::date", "'infinity'", "'2010-01-01 00:00:00.5+00'::timestamptz"}},
	{name: "date", typ: Date,
		all: []string{"2000-01-01", "1999-12-31", "2024-02-29", "0044-03-15 BC", "infinity", "-infinity"},
		vary: func(rnd *rand.Rand) string {
			return fmt.Sprintf("20%02d-0%d-1%d", rnd.IntN(30), 1+rnd.IntN(9), rnd.IntN(10))
		},
		read: func(s string) (any, error) { return value.Parse(Date, s) },
		also: []string{"'2010-01-01'", "'2010-01-01'::date", "'infinity'", "'2010-01-01 00:00:00.5+00'::timestamptz"}},
	arrayType("int8[]", Int8Array, "1", "2", "3", "4", "5", "0", "-1"),
	arrayType("text[]", TextArray, "a", "b", "c", "d", "e", `""`),
}

// distanceTable is a random table with a column of each type that has distances.
func distanceTable(rnd *rand.Rand) *oracleTable {
	o := &oracleTable{columns: []oracleColumn{{"id", typeNamed("int4")}}}
	for i, typ := range distanceTypes {
		o.columns = append(o.columns, oracleColumn{fmt.Sprintf("%c%d", typ.name[0], i), typ})
	}
	pools := make([][]string, len(o.columns))
	for i, c := range o.columns {
		pools[i] = c.pool(rnd)
	}
	for id := range []int{1, 60, 400, 3000}[rnd.IntN(4)] {
		row := make([]*string, len(o.columns))
		for i, c := range o.columns {
			var s string
			switch {
			case i == 0:
				s = fmt.Sprint(id + 1)
			case rnd.IntN(12) == 0:
				continue
			case rnd.IntN(2) == 0 && i < 6:
				s = pools[i][rnd.IntN(len(pools[i]))]
			default:
				s = usualValue(c, rnd)
			}
			row[i] = &s
		}
		o.rows = append(o.rows, row)
	}
	all := IndexDef{Name: "r", Method: []string{"rum", "gin"}[rnd.IntN(2)]}
	for i, c := range o.columns {
		all.Columns = append(all.Columns, IndexColumn{Name: c.name})
		if c.typ.Elem() == value.Unknown && rnd.IntN(2) == 0 {
			o.indexes = append(o.indexes, o.index(rnd, i))
		}
	}
	o.indexes = append(o.indexes, all)
	return o
}

// usualValue returns a value that, if it is an array, has items and no NULLs.
func usualValue(c oracleColumn, rnd *rand.Rand) string {
	for {
		if s := c.vary(rnd); c.typ.Elem() == value.Unknown || s != "{}" && !strings.Contains(s, "NULL") {
			return s
		}
	}
}

// distance returns a key that is a distance, and the types of its sides.
func (a asker) distance() string {
	c := rapid.SampledFrom(a.o.columns[1:]).Draw(a.T, "column")
	if c.typ.Elem() != value.Unknown {
		return c.name + " <=> " + literal(usualValue(c, rand.New(rand.NewPCG(rapid.Uint64().Draw(a.T, "array"), 1))))
	}
	x, op, y := c.name, a.of("op", "<=>", "<=>", "<=|", "|=>"), a.constant(c)
	if a.chance("constant first", 20) {
		x, y = y, x
	}
	return x + " " + op + " " + y
}

// Random orders by distance and conditions on similarity have the answers of a real PostgreSQL's extension rum, which are
// those of its operators: it has no index.
func TestOracleDistances(t *testing.T) {
	pg := startPostgres(t)
	answers, err := pg.ask("create extension rum")
	if err != nil {
		t.Fatal(err)
	}
	if answers[0].code != "" {
		t.Skip("PostgreSQL has no extension rum: ", answers[0].message)
	}
	tables := 6
	if nightly {
		tables = 200
	}
	for seed := range uint64(tables) {
		t.Run(fmt.Sprint("table", seed), func(t *testing.T) {
			o := distanceTable(rand.New(rand.NewPCG(seed, 3)))
			o.create(t, pg)
			scalars := *o
			scalars.columns = slices.DeleteFunc(slices.Clone(o.columns), func(c oracleColumn) bool { return c.also == nil })
			places := map[string]*Table{"no index": o.open(t, flushed, false)}
			for _, state := range []string{inTail, sealed, flushed, merged, reopened} {
				places[state] = o.open(t, state, true)
			}
			rapid.Check(t, func(rt *rapid.T) {
				q := question{selects: []string{"id"}}
				a := asker{rt, o, &q}
				if a.chance("where", 50) {
					q.where = asker{rt, &scalars, &q}.condition(a.upTo("depth", 2))
				}
				if a.chance("similar", 20) {
					c := o.columns[len(o.columns)-1-a.upTo("column", 1)]
					like := c.name + " % " + literal(usualValue(c, rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "array"), 1))))
					if a.chance("not", 20) {
						like = "not " + like
					}
					if q.where != "" {
						like = "(" + q.where + ") and " + like
					}
					q.where = like
				}
				keys := a.distance()
				if a.chance("direction", 30) {
					keys += a.of("direction", " desc", " nulls first", " desc nulls last")
				}
				q.orderBy = keys + ", id" + a.of("second", "", " desc")
				if a.chance("limit", 80) {
					n := int64(a.upTo("limit", 12))
					q.limit = &n
				}
				q.sql = "select id from t" + a.clause(" where ", q.where) + " order by " + q.orderBy
				if q.limit != nil {
					q.sql += fmt.Sprint(" limit ", *q.limit)
				}
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
