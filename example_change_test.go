package wideleaf_test

import (
	"context"
	"fmt"
	"log"

	"wideleaf"
)

// visits makes a table of pages and how often they were seen, with a primary key.
func visits(db *wideleaf.DB) *wideleaf.Table {
	ctx := context.Background()
	t, err := db.CreateTable(ctx, "visits",
		wideleaf.Column{Name: "page", Type: wideleaf.Text},
		wideleaf.Column{Name: "hits", Type: wideleaf.Int8})
	if err != nil {
		log.Fatal(err)
	}
	err = t.CreateIndexes(ctx, wideleaf.IndexDef{Name: "visits_pkey", PrimaryKey: true, Columns: []wideleaf.IndexColumn{{Name: "page"}}})
	if err != nil {
		log.Fatal(err)
	}
	for i, page := range []string{"home", "news", "shop", "help"} {
		if err := t.Insert(ctx, []any{page, 10 * (i + 1)}); err != nil {
			log.Fatal(err)
		}
	}
	return t
}

func show(q *wideleaf.Query) {
	var all []any
	for row, err := range q.Select("page", "hits").OrderBy("page").Rows(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		all = append(all, fmt.Sprint(row[0], "=", row[1]))
	}
	fmt.Println(all...)
}

// Rows are updated by a condition, in SQL's words.
func ExampleTable_UpdateWhere() {
	db, closeDB := temporary()
	defer closeDB()
	t := visits(db)
	n, err := t.UpdateWhere(context.Background(), "hits >= 30", "hits = hits / 2, page = page || '!'")
	fmt.Println(n, err)
	show(t.Query())
	// Output:
	// 2 <nil>
	// help!=20 home=10 news=20 shop!=15
}

// Rows are deleted by a condition, and may be returned as they were.
func ExampleQuery_DeleteReturning() {
	db, closeDB := temporary()
	defer closeDB()
	t := visits(db)
	rows, err := t.Query().Where("hits between 15 and 35").Select("page").DeleteReturning(context.Background())
	fmt.Println(rows, err)
	show(t.Query())
	// Output:
	// [[news] [shop]] <nil>
	// help=40 home=10
}

// An upsert adds to the rows that are there and inserts the others.
func ExampleTable_InsertOnConflict() {
	db, closeDB := temporary()
	defer closeDB()
	t := visits(db)
	b := t.NewBatch()
	for _, row := range [][]any{{"home", 1}, {"jobs", 1}} {
		if err := b.Append(row...); err != nil {
			log.Fatal(err)
		}
	}
	inserted, updated, err := t.InsertOnConflict(context.Background(), b,
		wideleaf.OnConflict{Index: "visits_pkey", Set: "hits = visits.hits + excluded.hits"})
	fmt.Println(inserted, updated, err)
	show(t.Query())
	// Output:
	// 1 1 <nil>
	// help=40 home=11 jobs=1 news=20 shop=30
}

// A snapshot shows all tables as they were at one moment, for as long as it is held.
func ExampleDB_Snapshot() {
	db, closeDB := temporary()
	defer closeDB()
	t := visits(db)
	s, err := db.Snapshot()
	if err != nil {
		log.Fatal(err)
	}
	defer s.Release()
	if _, err := t.DeleteWhere(context.Background(), "hits > 10"); err != nil {
		log.Fatal(err)
	}
	show(s.Query(t))
	show(t.Query())
	// Output:
	// help=40 home=10 news=20 shop=30
	// home=10
}

// Deleted rows leave in the background; Vacuum has it done at once and tells what it did.
func ExampleTable_Vacuum() {
	ctx := context.Background()
	db, closeDB := temporary()
	defer closeDB()
	t := visits(db)
	if err := t.Flush(ctx); err != nil {
		log.Fatal(err)
	}
	if _, err := t.DeleteWhere(ctx, "hits > 10"); err != nil {
		log.Fatal(err)
	}
	r, err := t.Vacuum(ctx, wideleaf.VacuumOptions{Full: true})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d rows removed, %d remain\n", r.RowsRemoved, r.RowsRemain)
	// Output: 3 rows removed, 1 remain
}
