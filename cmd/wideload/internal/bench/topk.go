package bench

import (
	"context"
	"fmt"
	"math"
	"time"

	"wideleaf"
	"wideleaf/cmd/wideload/internal/report"
	"wideleaf/value"
)

// TopKConfig is a search for the first rows of an order without an index.
type TopKConfig struct {
	Rows    int64
	K       int64
	Workers int    // beside the caller; names the figures, the engine takes the processors there are
	Order   string // rand or asc
	// Progress may be nil.
	Progress *report.Progress
}

// topKRuns is how often a query is asked; the best time counts, as in the article.
const topKRuns = 7

// TopK fills a table and asks for its first rows, by a column whose pages' bounds tell where they are, and by one where
// they don't: every page has lower values, in rows that a condition excludes.
func TopK(ctx context.Context, db *wideleaf.DB, c TopKConfig) ([]report.Figure, error) {
	t, err := db.CreateTable(ctx, "t", wideleaf.Column{Name: "id", Type: wideleaf.Int8},
		wideleaf.Column{Name: "spread", Type: wideleaf.Int8}, wideleaf.Column{Name: "low", Type: wideleaf.Bool})
	if err != nil {
		return nil, err
	}
	const each, period = 8192, 512
	b := t.NewBatch()
	for from := int64(0); from < c.Rows; from += each {
		b.Reset()
		for i := from; i < min(from+each, c.Rows); i++ {
			n := i
			if c.Order == "rand" {
				n = int64(scatter(uint64(i), 40))
			}
			low := i%period == 0
			b.Column(0).AppendCode(value.Int8Code(n))
			if low {
				n -= 1 << 41
			}
			b.Column(1).AppendCode(value.Int8Code(n))
			b.Column(2).Append(value.OfBool(low))
		}
		if err := t.InsertBatch(ctx, b, wideleaf.NoSync); err != nil {
			return nil, err
		}
		c.Progress.Show(float64(from)/float64(c.Rows), from)
	}
	if err := t.Flush(ctx); err != nil {
		return nil, err
	}
	if err := db.Settle(ctx); err != nil {
		return nil, err
	}
	var figures []report.Figure
	for _, q := range []struct{ name, column, where string }{{"", "id", ""}, {"-unpruned", "spread", "NOT low"}} {
		best := time.Duration(math.MaxInt64)
		for range topKRuns {
			query := t.Query().Select("id").OrderBy(q.column).Limit(c.K)
			if q.where != "" {
				query = query.Where(q.where)
			}
			start := time.Now()
			n := int64(0)
			for _, err := range query.Rows(ctx) {
				if err != nil {
					return nil, err
				}
				n++
			}
			best = min(best, time.Since(start))
			if n != min(c.K, c.Rows) && q.where == "" {
				return nil, fmt.Errorf("the query returned %d rows, expected %d", n, min(c.K, c.Rows))
			}
		}
		figures = append(figures, report.Figure{Suite: "topk", Unit: "ms", Value: float64(best) / float64(time.Millisecond),
			Name: fmt.Sprintf("top%d%s-rows%d-workers%d", c.K, q.name, c.Rows, c.Workers)})
	}
	return figures, nil
}
