package wideleaf

import (
	"fmt"
	"testing"
)

// BenchmarkFirstRows asks for the first rows of an order of a table of a million rows.
func BenchmarkFirstRows(b *testing.B) {
	const rows = 1 << 20
	for _, method := range []string{"btree", "rum"} {
		db, err := Open(b.TempDir(), nil)
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		tb, err := db.CreateTable(b.Context(), "t", Column{Name: "c1", Type: Int4}, Column{Name: "c2", Type: Int4})
		if err != nil {
			b.Fatal(err)
		}
		if err := db.CreateIndexes(b.Context(), "t", IndexDef{Name: "i", Method: method, Columns: []IndexColumn{{Name: "c1"}}}); err != nil {
			b.Fatal(err)
		}
		batch := tb.NewBatch()
		x := uint32(1)
		for i := range rows {
			x = x*1664525 + 1013904223
			if err := batch.Append(int32(x>>1), int32(i%1000)); err != nil {
				b.Fatal(err)
			}
			if batch.Len() == 1<<14 {
				if err := tb.InsertBatch(b.Context(), batch, NoSync); err != nil {
					b.Fatal(err)
				}
				batch.Reset()
			}
		}
		if err := db.Settle(b.Context()); err != nil {
			b.Fatal(err)
		}
		for _, q := range []struct{ where, order string }{
			{"", "c1"}, {"", "c1 desc"}, {"", "c1 <=> 1000000000"}, {"", "c1 <=| 1000000000"}, {"c2 < 100", "c1 <=> 1000000000"}, {"c2 = 7", "c1"}, {"c2 = 7 and c1 > 2147483000", "c1"},
		} {
			b.Run(fmt.Sprintf("%s/%s order by %s", method, q.where, q.order), func(b *testing.B) {
				for b.Loop() {
					query := tb.Query().Select("c1").OrderBy(q.order).Limit(10)
					if q.where != "" {
						query.Where(q.where)
					}
					for _, err := range query.Rows(b.Context()) {
						if err != nil {
							b.Fatal(err)
						}
					}
				}
				m, err := db.Metrics()
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(m.OrderedScans), "ordered")
				b.ReportMetric(float64(m.OrderedScansGivenUp), "givenup")
			})
		}
	}
}
