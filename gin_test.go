package wideleaf

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// A table with a GIN or RUM over all columns answers as one without an index, in every state: pending, flushed, merged,
// after deletes and a reopening.
func TestInvertedAgainstNoIndex(t *testing.T) {
	pairs := []Attach{{"d", "tags"}, {"i", "tags"}, {"f", "i"}, {"b", "s"}, {"i", "ids"}}
	for name, def := range map[string]IndexDef{
		"gin": {Method: "gin"}, "rum": {Method: "rum"},
		"attached": {Method: "rum", Attach: pairs}, "ordered": {Method: "rum", Attach: pairs, OrderByAttach: true},
	} {
		t.Run(name, func(t *testing.T) { invertedAgainstNoIndex(t, def) })
	}
}

func invertedAgainstNoIndex(t *testing.T, def IndexDef) {
	ctx, dir := t.Context(), t.TempDir()
	db := mustOpen(t, dir, testOptions(nil))
	cols := []Column{{Name: "i", Type: Int4}, {Name: "f", Type: Float8}, {Name: "b", Type: Bool}, {Name: "s", Type: Text},
		{Name: "tags", Type: TextArray}, {Name: "ids", Type: Int8Array}, {Name: "d", Type: Date}}
	var tables [2]*Table
	for i, name := range []string{"plain", "indexed"} {
		var err error
		if tables[i], err = db.CreateTable(ctx, name, cols...); err != nil {
			t.Fatal(err)
		}
	}
	def.Name = "g"
	for _, c := range cols {
		def.Columns = append(def.Columns, IndexColumn{Name: c.Name})
	}
	r := rand.New(rand.NewPCG(1, 2))
	insert := func(rows int) {
		var batches [2]*Batch
		for i, tb := range tables {
			batches[i] = tb.NewBatch()
		}
		for range rows {
			row := []any{r.IntN(50), float64(r.IntN(9)) / 4, r.IntN(3) == 0, strings.Repeat("x", r.IntN(2)*300) + fmt.Sprint(r.IntN(5)),
				nil, nil, time.Date(2024, 1, 1+r.IntN(30), 0, 0, 0, 0, time.UTC)}
			tags, ids := []*string{}, []*int64{}
			for range r.IntN(4) {
				tag, id := fmt.Sprintf("t%d", r.IntN(1+r.IntN(9))), int64(r.IntN(40))
				tags, ids = append(tags, &tag), append(ids, &id)
			}
			if r.IntN(9) == 0 {
				tags, ids = append(tags, nil), append(ids, nil)
			}
			row[4], row[5] = tags, ids
			for c := range row {
				if r.IntN(12) == 0 {
					row[c] = nil
				}
			}
			for i := range batches {
				if err := batches[i].Append(row...); err != nil {
					t.Fatal(err)
				}
			}
		}
		for i, tb := range tables {
			if err := tb.InsertBatch(ctx, batches[i], NoSync); err != nil {
				t.Fatal(err)
			}
		}
	}
	check := func(state string) {
		t.Helper()
		x := strings.Repeat("x", 300)
		for _, where := range []string{
			"i < 3", "i between 3 and 9 and f < 1", "b", "not b", "b is null", "i is null and f is null", "i in (1, 7, 49)",
			"f >= 1.25 and b", "s = '3'", "s > '" + x + "2'", "s = '" + x + "1'", "s is not null and i = 5",
			"tags @> '{t0}'", "tags @> '{t0,t1}'", "tags @> '{}'", "tags && '{t7,t8}'", "tags <@ '{t0,t1}'", "not tags @> '{t0}'",
			"'t3' = any (tags)", "not 't3' = any (tags)", "tags = '{t0}'", "tags is null", "ids @> '{3}' and tags @> '{t0}'",
			"ids && '{3,4}' or i = 7", "ids <@ '{1,2,3,4}'", "d = '2024-01-05'", "d > '2024-01-28' and b and ids && '{1,2,3}'", "ids = '{}'",
		} {
			if want, got := count(t, tables[0], where), count(t, tables[1], where); want != got {
				t.Errorf("%s: %s is true of %d rows, of %d without an index", state, where, got, want)
			}
		}
	}
	insert(3000)
	if err := db.CreateIndexes(ctx, "indexed", def); err != nil {
		t.Fatal(err)
	}
	check("pending")
	for i := range 9 {
		if err := tables[1].Flush(ctx); err != nil {
			t.Fatal(err)
		}
		insert(200)
		if i == 0 {
			check("flushed and pending")
		}
	}
	if err := db.Settle(ctx); err != nil {
		t.Fatal(err)
	}
	check("merged")
	for _, tb := range tables {
		if _, err := tb.Query().Where("i < 10").Delete(ctx); err != nil {
			t.Fatal(err)
		}
	}
	check("deleted")
	if err := db.Check(ctx); err != nil {
		t.Error(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = mustOpen(t, dir, testOptions(nil))
	defer db.Close()
	for i, name := range []string{"plain", "indexed"} {
		var err error
		if tables[i], err = db.Table(name); err != nil {
			t.Fatal(err)
		}
	}
	check("reopened")
	if got := tables[1].Indexes()[0]; !slices.Equal(got.Attach, def.Attach) || got.OrderByAttach != def.OrderByAttach {
		t.Errorf("index has attached %v (%v), expected %v", got.Attach, got.OrderByAttach, def.Attach)
	}
	if err := db.Check(ctx); err != nil {
		t.Error(err)
	}
}
