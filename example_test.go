package wideleaf_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"wideleaf"
)

// temporary opens a database in a folder of its own.
func temporary() (*wideleaf.DB, func()) {
	dir, err := os.MkdirTemp("", "wideleaf")
	if err != nil {
		log.Fatal(err)
	}
	db, err := wideleaf.Open(dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	return db, func() {
		if err := db.Close(); err != nil {
			log.Fatal(err)
		}
		os.RemoveAll(dir)
	}
}

// A table of sensors' readings, every column indexed, asked by any combination of columns.
func Example() {
	ctx := context.Background()
	db, closeDB := temporary()
	defer closeDB()

	readings, err := db.CreateTable(ctx, "readings",
		wideleaf.Column{Name: "sensor", Type: wideleaf.Int4, NotNull: true},
		wideleaf.Column{Name: "celsius", Type: wideleaf.Float8},
		wideleaf.Column{Name: "place", Type: wideleaf.Text})
	if err != nil {
		log.Fatal(err)
	}
	err = db.CreateIndexes(ctx, "readings",
		wideleaf.IndexDef{Name: "by_sensor", Columns: []wideleaf.IndexColumn{{Name: "sensor"}}},
		wideleaf.IndexDef{Name: "by_celsius", Columns: []wideleaf.IndexColumn{{Name: "celsius"}}},
		wideleaf.IndexDef{Name: "by_place", Columns: []wideleaf.IndexColumn{{Name: "place"}}})
	if err != nil {
		log.Fatal(err)
	}
	for i := range 1000 {
		if err := readings.Insert(ctx, []any{i % 10, float64(i%50) / 2, fmt.Sprintf("hall %d", i%4)}, wideleaf.NoSync); err != nil {
			log.Fatal(err)
		}
	}
	n, err := readings.Query().Where("celsius > 20 and place = 'hall 3'").Count(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(n, "rows")
	for row, err := range readings.Query().Select("ctid", "sensor", "celsius").Where("sensor = 7 and place = 'hall 1'").
		OrderBy("celsius desc").Limit(3).Rows(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(row[0], row[1], row[2])
	}
	// Output:
	// 50 rows
	// (0,97) 7 23.5
	// (0,197) 7 23.5
	// (0,297) 7 23.5
}

// Columnar batches are the fast way in.
func ExampleTable_InsertBatch() {
	ctx := context.Background()
	db, closeDB := temporary()
	defer closeDB()
	t, err := db.CreateTable(ctx, "t",
		wideleaf.Column{Name: "a", Type: wideleaf.Int4},
		wideleaf.Column{Name: "b", Type: wideleaf.Int8})
	if err != nil {
		log.Fatal(err)
	}
	b := t.NewBatch()
	for i := range 1000 {
		if err := b.Append(i, i*i); err != nil {
			log.Fatal(err)
		}
	}
	if err := t.InsertBatch(ctx, b); err != nil {
		log.Fatal(err)
	}
	sums, err := t.Query().Where("a between 10 and 19").Aggregate(ctx, "count(*)", "sum(b)", "avg(a)")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(sums[0], sums[1], sums[2])
	// Output: 10 2185 14.5000000000000000
}

// Several tables change together or not at all.
func ExampleDB_Update() {
	ctx := context.Background()
	db, closeDB := temporary()
	defer closeDB()
	orders, _ := db.CreateTable(ctx, "orders", wideleaf.Column{Name: "id", Type: wideleaf.Int8})
	lines, _ := db.CreateTable(ctx, "lines", wideleaf.Column{Name: "order", Type: wideleaf.Int8}, wideleaf.Column{Name: "item", Type: wideleaf.Text})
	err := db.Update(ctx, func(tx *wideleaf.Tx) error {
		if err := tx.Insert(orders, []any{1}); err != nil {
			return err
		}
		return tx.Insert(lines, []any{1, "pear"})
	})
	n, _ := lines.Query().Where(`"order" = 1`).Count(ctx)
	fmt.Println(n, err)
	// Output: 1 <nil>
}

// Conditions can be built in Go as well.
func ExampleQuery_Filter() {
	ctx := context.Background()
	db, closeDB := temporary()
	defer closeDB()
	t, _ := db.CreateTable(ctx, "t", wideleaf.Column{Name: "a", Type: wideleaf.Int4}, wideleaf.Column{Name: "s", Type: wideleaf.Text})
	for i, s := range []any{"x", nil, "y", "x"} {
		if err := t.Insert(ctx, []any{i, s}); err != nil {
			log.Fatal(err)
		}
	}
	n, err := t.Query().Filter(wideleaf.Or(wideleaf.Col("s").IsNull(), wideleaf.Col("a").Gt(2))).Count(ctx)
	fmt.Println(n, err)
	// Output: 2 <nil>
}
