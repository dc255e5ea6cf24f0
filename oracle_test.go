package wideleaf

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"
)

// The oracle: random tables are given to a real PostgreSQL and to databases of ours, one for each state that rows can be
// in, and random questions must get the same answers, errors included.

// oracleTable is a random table.
type oracleTable struct {
	columns []oracleColumn // the first is id, 1, 2, ...
	rows    [][]*string    // as text
	indexes []IndexDef     // some databases have them
}

type oracleColumn struct {
	name string
	*oracleType
}

// literal writes a text as an SQL string.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// randomTable makes a table. Small pools of values make duplicates and constants that meet them.
func randomTable(rnd *rand.Rand) *oracleTable {
	o := &oracleTable{columns: []oracleColumn{{"id", typeNamed("int4")}}}
	for i := range 2 + rnd.IntN(5) {
		typ := &oracleTypes[rnd.IntN(len(oracleTypes))]
		o.columns = append(o.columns, oracleColumn{fmt.Sprintf("%s%d", typ.name[:1], i+1), typ})
	}
	rows := []int{0, 1, 5, 60, 200, 200, 3000}[rnd.IntN(7)]
	nulls := make([]int, len(o.columns)) // in twelfths
	pools := make([][]string, len(o.columns))
	for i, c := range o.columns {
		nulls[i] = []int{0, 1, 6, 12}[min(rnd.IntN(12)/3, 2+rnd.IntN(12)/11)]
		pools[i] = c.pool(rnd)
		if rows > 200 {
			pools[i] = slices.DeleteFunc(pools[i], func(s string) bool { return len(s) > maxOracleKey })
			pools[i] = append(pools[i], c.all[0])
		}
	}
	for id := range rows {
		row := make([]*string, len(o.columns))
		for i, c := range o.columns {
			var s string
			switch {
			case i == 0:
				s = fmt.Sprint(id + 1)
			case rnd.IntN(12) < nulls[i]:
				continue
			default:
				if s = pools[i][rnd.IntN(len(pools[i]))]; c.vary != nil && rnd.IntN(3) == 0 {
					s = c.vary(rnd)
				}
			}
			row[i] = &s
		}
		o.rows = append(o.rows, row)
	}
	for i := range o.columns {
		if rnd.IntN(3) > 0 {
			o.indexes = append(o.indexes, o.index(rnd, i))
		}
	}
	for range rnd.IntN(3) {
		o.indexes = append(o.indexes, o.index(rnd, rnd.Perm(len(o.columns))[:1+rnd.IntN(len(o.columns))]...))
	}
	o.indexes = slices.DeleteFunc(o.indexes, func(d IndexDef) bool { return o.tooLong(d) })
	return o
}

// index returns an index of columns.
func (o *oracleTable) index(rnd *rand.Rand, columns ...int) IndexDef {
	d := IndexDef{Name: fmt.Sprint("i", len(o.indexes)), Method: []string{"btree", "btree", "gin", "rum"}[rnd.IntN(4)]}
	if d.Method == "gin" {
		fast := rnd.IntN(2) == 0
		d.FastUpdate = &fast
	}
	for _, i := range columns {
		c := IndexColumn{Name: o.columns[i].name, Desc: rnd.IntN(2) == 0}
		if first := rnd.IntN(4); first < 2 {
			c.NullsFirst = new(bool)
			*c.NullsFirst = first == 1
		}
		d.Columns = append(d.Columns, c)
	}
	return d
}

// maxOracleKey is how long a text may be in an index here; a key of several may be longer than it.
const maxOracleKey = 400

func (o *oracleTable) tooLong(d IndexDef) bool {
	for _, row := range o.rows {
		for i, s := range row {
			indexed := slices.ContainsFunc(d.Columns, func(c IndexColumn) bool { return c.Name == o.columns[i].name })
			if indexed && s != nil && len(*s) > maxOracleKey {
				return true
			}
		}
	}
	return false
}

// create makes the table in PostgreSQL.
func (o *oracleTable) create(t *testing.T, pg *postgres) {
	var cols []string
	for _, c := range o.columns {
		cols = append(cols, c.name+" "+c.sqlName())
	}
	statements := []string{"drop table if exists t", "create table t (" + strings.Join(cols, ", ") + ")"}
	for part := range slices.Chunk(o.rows, 500) {
		var rows []string
		for _, row := range part {
			vals := make([]string, len(row))
			for i, s := range row {
				if vals[i] = "null"; s != nil {
					vals[i] = literal(*s)
				}
			}
			rows = append(rows, "("+strings.Join(vals, ",")+")")
		}
		statements = append(statements, "insert into t values "+strings.Join(rows, ","))
	}
	answers, err := pg.ask(append(statements, "analyze t")...)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range answers {
		if a.code != "" {
			t.Fatalf("%.300s: %s", statements[i], a.message)
		}
	}
}

// open makes the table in a database of ours, its rows in a state, with or without the indexes.
func (o *oracleTable) open(t *testing.T, state string, indexed bool) *Table {
	ctx := t.Context()
	opt := testOptions(vfs.NewMem())
	if state == merged {
		opt.MergeFanIn = 2
	}
	db := mustOpen(t, "db", opt)
	var cols []Column
	for _, c := range o.columns {
		cols = append(cols, Column{Name: c.name, Type: c.typ})
	}
	tb, err := db.CreateTable(ctx, "t", cols...)
	if err != nil {
		t.Fatal(err)
	}
	if indexed && state != inTail { // there, the indexes come last
		if err := db.CreateIndexes(ctx, "t", o.indexes...); err != nil {
			t.Fatal(err)
		}
	}
	parts := 1
	if state == flushed || state == merged {
		parts = 4
	}
	if state == sealed {
		db.pool.Pause()
	}
	for p := range parts {
		b := tb.NewBatch()
		for _, row := range o.rows[len(o.rows)*p/parts : len(o.rows)*(p+1)/parts] {
			vals := make([]any, len(row))
			for i, s := range row {
				if s != nil {
					if vals[i], err = o.columns[i].read(*s); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := b.Append(vals...); err != nil {
				t.Fatal(err)
			}
		}
		if err := tb.InsertBatch(ctx, b); err != nil {
			t.Fatal(err)
		}
		if parts > 1 && (state == merged || p < parts-1) { // flushed: the last part stays in the tail
			if err := tb.Flush(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	if indexed && state == inTail {
		if err := db.CreateIndexes(ctx, "t", o.indexes...); err != nil {
			t.Fatal(err)
		}
	}
	switch state {
	case sealed:
		if _, err := tb.seal(t.Context()); err != nil {
			t.Fatal(err)
		}
	case merged:
		if err := db.Settle(ctx); err != nil {
			t.Fatal(err)
		}
	case reopened:
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		db = mustOpen(t, "db", opt)
		if tb, err = db.Table("t"); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if state == sealed {
			db.pool.Resume()
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return tb
}

// print writes the table for a report.
func (o *oracleTable) print() string {
	var b strings.Builder
	for _, c := range o.columns {
		fmt.Fprintf(&b, "%s %s  ", c.name, c.sqlName())
	}
	for _, row := range o.rows[:min(len(o.rows), 12)] {
		b.WriteString("\n  ")
		for _, s := range row {
			if s == nil {
				b.WriteString("NULL, ")
			} else {
				fmt.Fprintf(&b, "%.40q, ", *s)
			}
		}
	}
	return b.String()
}

func TestOracle(t *testing.T) {
	pg := startPostgres(t)
	tables := 24
	if nightly {
		tables = 400
	}
	for seed := range uint64(tables) {
		t.Run(fmt.Sprint("table", seed), func(t *testing.T) {
			o := randomTable(rand.New(rand.NewPCG(seed, 1)))
			o.create(t, pg)
			type place struct {
				name string
				*Table
			}
			var places []place
			for i, state := range []string{inTail, sealed, flushed, merged, reopened} {
				indexed := (seed+uint64(i))%3 > 0
				places = append(places, place{fmt.Sprintf("%s, indexes: %t", state, indexed), o.open(t, state, indexed)})
			}
			rapid.Check(t, func(rt *rapid.T) {
				q := randomQuestion(rt, o)
				answers, err := pg.ask(q.sql)
				if err != nil {
					rt.Fatal(err)
				}
				for _, p := range places {
					if err := q.compare(t.Context(), p.Table, answers[0]); err != nil {
						rt.Fatalf("%s: %s: %v\n%s", p.name, q.sql, err, o.print())
					}
				}
			})
		})
	}
}
