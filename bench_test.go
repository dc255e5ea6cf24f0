package wideleaf

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"wideleaf/value"
)

// BenchmarkInsertWide inserts rows of 128 random int4 columns, every one indexed, from eight goroutines: one operation
// is one row, background work until the last commit included. Run it with -benchtime 2000000x.
func BenchmarkInsertWide(b *testing.B) {
	for _, batch := range []int{1, 100} {
		b.Run(fmt.Sprint("batch", batch), func(b *testing.B) {
			ctx := context.Background()
			db, err := Open(b.TempDir(), &Options{Logger: quiet})
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			cols := intColumns(128)
			tb, err := db.CreateTable(ctx, "a", cols...)
			if err != nil {
				b.Fatal(err)
			}
			if err := db.CreateIndexes(ctx, "a", indexEvery("a", cols)...); err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			insertRandom(b, tb, batch, func(r *rand.Rand) uint64 { return uint64(value.Int4Code(r.Int32N(2_000_000_000))) })
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			b.StopTimer()
			if err := db.Settle(ctx); err != nil {
				b.Fatal(err)
			}
			m, err := db.Metrics()
			if err != nil {
				b.Fatal(err)
			}
			size, err := tb.Size()
			if err != nil {
				b.Fatal(err)
			}
			flushed := float64(size.Rows - size.LoggedRows)
			b.ReportMetric(float64(size.IndexBytes)/flushed, "index-B/row")
			b.ReportMetric(float64(size.HeapBytes)/flushed, "heap-B/row")
			b.ReportMetric(float64(m.FlushTime.Nanoseconds())/flushed/128, "flush-ns/entry")
			if m.EntriesMerged > 0 {
				b.ReportMetric(float64(m.MergeTime.Nanoseconds())/float64(m.EntriesMerged), "merge-ns/entry")
			}
		})
	}
}

// BenchmarkInsertUnique inserts rows of eight random int8 columns, the first of which has a btree, unique or not, from eight
// clients.
func BenchmarkInsertUnique(b *testing.B) {
	ctx := context.Background()
	for _, batch := range []int{1, 100} {
		for _, unique := range []bool{false, true} {
			b.Run(fmt.Sprintf("batch=%d/unique=%v", batch, unique), func(b *testing.B) {
				db, err := Open(b.TempDir(), &Options{Logger: quiet})
				if err != nil {
					b.Fatal(err)
				}
				defer db.Close()
				var cols []Column
				for c := range 8 {
					cols = append(cols, Column{Name: fmt.Sprint("c", c+1), Type: Int8})
				}
				tb, err := db.CreateTable(ctx, "a", cols...)
				if err != nil {
					b.Fatal(err)
				}
				if err := db.CreateIndex(ctx, "a", IndexDef{Name: "i", Unique: unique, Columns: []IndexColumn{{Name: "c1"}}}); err != nil {
					b.Fatal(err)
				}
				b.ResetTimer()
				insertRandom(b, tb, batch, func(r *rand.Rand) uint64 { return r.Uint64() })
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}

// insertRandom inserts b.N rows of random codes from eight clients.
func insertRandom(b *testing.B, tb *Table, batch int, code func(*rand.Rand) uint64) {
	ctx := context.Background()
	columns := len(tb.Columns())
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	for client := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			rnd := rand.New(rand.NewPCG(uint64(client), 1))
			rows := tb.NewBatch()
			for left.Add(-int64(batch)) > -int64(batch) {
				rows.Reset()
				for c := range columns {
					v := rows.Column(c)
					for range batch {
						v.AppendCode(code(rnd))
					}
				}
				if err := tb.InsertBatch(ctx, rows, NoSync); err != nil {
					b.Error(err)
					return
				}
			}
		}()
	}
	wg.Wait()
}

// BenchmarkCases asks the article's three cases of two million rows, settled, text and all.
func BenchmarkCases(b *testing.B) {
	ctx := context.Background()
	db, err := Open(b.TempDir(), &Options{Logger: quiet})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	cols := intColumns(8)
	tb, err := db.CreateTable(ctx, "a", cols...)
	if err != nil {
		b.Fatal(err)
	}
	if err := db.CreateIndexes(ctx, "a", indexEvery("a", cols)...); err != nil {
		b.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	rows := tb.NewBatch()
	for range 2_000 {
		rows.Reset()
		for c := range cols {
			for range 1000 {
				rows.Column(c).AppendCode(uint64(value.Int4Code(rnd.Int32N(2_000_000_000))))
			}
		}
		if err := tb.InsertBatch(ctx, rows, NoSync); err != nil {
			b.Fatal(err)
		}
	}
	if err := db.Settle(ctx); err != nil {
		b.Fatal(err)
	}
	for i, where := range []string{
		"c1 < 100000 and c2 < 10000000",
		"c1 < 100000000 and c2 < 100000000",
		"c1 < 100000000",
	} {
		b.Run(fmt.Sprint("case", i+1), func(b *testing.B) {
			for b.Loop() {
				if _, err := tb.Query().Where(where).Count(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
