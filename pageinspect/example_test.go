package pageinspect_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"wideleaf"
	"wideleaf/pageinspect"
)

// Rows that were just inserted wait in the pending list of an index until they are flushed.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	db, err := wideleaf.Open(dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	t, err := db.CreateTable(ctx, "posts", wideleaf.Column{Name: "tags", Type: wideleaf.TextArray})
	if err != nil {
		log.Fatal(err)
	}
	tags := wideleaf.IndexDef{Name: "posts_tags", Method: "gin", Columns: []wideleaf.IndexColumn{{Name: "tags"}}}
	if err := db.CreateIndex(ctx, "posts", tags); err != nil {
		log.Fatal(err)
	}
	for _, row := range [][]string{{"go", "sql"}, {"go"}, {"sql", "wide"}} {
		if err := t.Insert(ctx, []any{row}); err != nil {
			log.Fatal(err)
		}
	}

	in := pageinspect.New(db)
	for range 2 {
		res, err := in.Query(ctx, "gin_metapage_info(get_raw_page('posts_tags', 0))")
		if err != nil {
			log.Fatal(err)
		}
		row := res.Rows[0]
		fmt.Printf("%s: %s, %s: %s\n", res.Columns[0], row[0], res.Columns[4], row[4])
		if err := t.Flush(ctx); err != nil {
			log.Fatal(err)
		}
	}
	res, err := in.Call(ctx, "gin_entry_leaf_items", "posts_tags", 1)
	if err != nil {
		log.Fatal(err)
	}
	for _, row := range res.Rows {
		fmt.Println(row[3], row[4]) // key, first_tid
	}
	// Output:
	// pending_head: 1, n_pending_tuples: 3
	// pending_head: 4294967295, n_pending_tuples: 0
	// go (0,0)
	// go (0,1)
	// sql (0,0)
	// sql (0,2)
	// wide (0,2)
}
