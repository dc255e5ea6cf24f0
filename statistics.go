package wideleaf

import (
	"context"
	"fmt"

	"wideleaf/query"
)

// maxBuckets is how many buckets a histogram has at most, as PostgreSQL's statistics target.
const maxBuckets = 10000

// Percentiles returns the values of a column at fractions of their order, among the rows for which the conditions hold, from
// one sort: as PostgreSQL's percentile_disc, the first value that is at or beyond the fraction; 0.5 is the median. NULLs
// don't count; all results are NULL if there is nothing else. A fraction that is not from 0 to 1 is an error.
func (q *Query) Percentiles(ctx context.Context, column string, fractions ...float64) (out []Value, err error) {
	for _, f := range fractions {
		if err := query.CheckFraction(f); err != nil {
			return nil, err
		}
	}
	err = q.ofColumn(ctx, column, func(ctx context.Context, t *query.Table, p *query.Pred, attno int) error {
		out, err = query.Percentiles(ctx, t, p, attno, fractions)
		return err
	})
	return out, err
}

// Histogram returns the bounds of so many buckets (1 to 10,000) with equally many of a column's values each, among the rows
// for which the conditions hold: as histogram_bounds of PostgreSQL's pg_stats, but exact, and of all values. There is one
// bound more than buckets, the first being the least value and the last the greatest; none if there are only NULLs.
func (q *Query) Histogram(ctx context.Context, column string, buckets int) (out []Value, err error) {
	if buckets < 1 || buckets > maxBuckets {
		return nil, &Error{Kind: ErrInvalid, Code: codeInvalidParameter, Object: column,
			Message: fmt.Sprintf("%d is outside the valid range for the number of buckets (1 .. %d)", buckets, maxBuckets)}
	}
	err = q.ofColumn(ctx, column, func(ctx context.Context, t *query.Table, p *query.Pred, attno int) error {
		out, err = query.Histogram(ctx, t, p, attno, buckets)
		return err
	})
	return out, err
}

// Rank returns the place that a value would have among a column's values in ascending order, beginning with 1, as PostgreSQL's
// rank(v) WITHIN GROUP: one more than how many rows, of those for which the conditions hold, have a lesser one. An index on
// the column answers it from inner pages.
func (q *Query) Rank(ctx context.Context, column string, v any) (int64, error) {
	if v == nil {
		return 0, &Error{Kind: ErrInvalid, Code: codeInvalidParameter, Object: column, Message: "the rank of NULL is not defined"}
	}
	below := *q
	below.exprs = append(q.exprs[:len(q.exprs):len(q.exprs)], Col(column).Lt(v))
	n, err := below.Count(ctx)
	return n + 1, err
}

// ofColumn calls f with the table, the conditions and a column.
func (q *Query) ofColumn(ctx context.Context, column string, f func(context.Context, *query.Table, *query.Pred, int) error) error {
	return q.run(ctx, func(ctx context.Context, t *query.Table) error {
		attno, err := query.BindColumn(column, t.Def)
		if err != nil {
			return err
		}
		p, err := q.pred(t.Def)
		if err != nil {
			return err
		}
		return f(ctx, t, p, attno)
	})
}
