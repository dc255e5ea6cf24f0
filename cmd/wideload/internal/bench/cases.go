package bench

import (
	"context"
	"time"

	"wideleaf"
)

// Case is one of the article's queries: select count(*) where ...
type Case struct {
	Name  string // as in figures: query/NAME-MODE
	Title string // the article's words, in the summary table
	Where string
}

var case1 = Case{"case1", "several columns, some selective", "c1 < 100000 and c2 < 10000000"}

// Cases are the queries of the article's summary table, in its order. The numbers are those of the article's text.
var Cases = []Case{
	{"selective", "single column, selective", "c1 < 100000"},
	{"case3", "single column, not selective", "c1 < 100000000"},
	{"case2", "several columns, none selective, few rows together", "c1 < 100000000 and c2 < 100000000"},
	case1,
}

// Answer is how long a case took, at best, and what it found.
type Answer struct {
	Case  Case
	Best  time.Duration
	Count int64
}

// repeats is how often a case is asked; the best time counts, as in the PostgreSQL baseline.
const repeats = 5

// Ask asks all cases.
func Ask(ctx context.Context, t *wideleaf.Table) ([]Answer, error) {
	answers := make([]Answer, 0, len(Cases))
	for _, c := range Cases {
		a := Answer{Case: c, Best: longest}
		for range repeats {
			start := time.Now()
			n, err := t.Query().Where(c.Where).Count(ctx)
			if err != nil {
				return nil, err
			}
			a.Best, a.Count = min(a.Best, time.Since(start)), n
		}
		answers = append(answers, a)
	}
	return answers, nil
}
