package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"wideleaf"
	"wideleaf/cmd/internal/resultset"
	"wideleaf/cmd/wideload/internal/report"
	"wideleaf/query/sql"
	"wideleaf/value"
)

// queryFlags are a query.
type queryFlags struct {
	where, selects, aggregates, orderBy string
	similarity                          string
	threshold                           float64
	count                               bool
	limit, offset                       int64
}

func newQueryCommand() *cobra.Command {
	var (
		engine     engineFlags
		q          queryFlags
		dir, table string
		format     string
		timing     bool
		repeat     int
	)
	cmd := &cobra.Command{
		Use:   "query",
		Short: "Query a table",
		Example: `  wideload query --db DIR --table a --where "c1 < 100000 and c2 < 10000000" --count
  wideload query --db DIR --table a --select c1,c2,ctid --order-by "c1 desc" --limit 5
  wideload query --db DIR --table a --order-by "c1 <=> 1000000000" --limit 10
  wideload query --db DIR --table a --agg "sum(c3), avg(c4)" --format json`,
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringVar(&dir, "db", "", "`directory` of the database, which is opened read-only")
	f.StringVar(&table, "table", "", "name of the table")
	f.StringVar(&q.where, "where", "", "`condition` in SQL that rows must meet; all rows if it is not given")
	f.BoolVar(&q.count, "count", false, "print only how many rows there are")
	f.StringVar(&q.selects, "select", "*", "`columns` to print; ctid is the row's identifier")
	f.StringVar(&q.aggregates, "agg", "", "`aggregates` to print instead of rows: count(*), sum, avg, min, max, count(distinct c1), median(c1), percentile(c1, 0.9)")
	f.StringVar(&q.orderBy, "order-by", "", "`keys` that order the rows, such as \"c5 desc, c1\" or \"c1 <=> 1000\"; else they come in the order of ctid")
	f.StringVar(&q.similarity, "similarity", wideleaf.Cosine.String(), "what % and <=> of arrays are about: cosine, jaccard or overlap")
	f.Float64Var(&q.threshold, "threshold", 0.5, "`similarity` from which on % is true, 0 to 1")
	f.Int64Var(&q.limit, "limit", 0, "print at most this many rows")
	f.Int64Var(&q.offset, "offset", 0, "leave out this many rows first")
	f.StringVar(&format, "format", string(resultset.Table), "`form` of the result: table, csv or json (an array of objects)")
	f.BoolVar(&timing, "timing", false, "print on standard error how long the query took, without opening the database, how many blocks it read, and whether an index gave the rows in order")
	f.IntVar(&repeat, "repeat", 1, "ask so `often`, and print the median of the times: all but the first find in memory what they read")
	engine.bind(cmd)
	must(cmd.MarkFlagRequired("db"))
	must(cmd.MarkFlagRequired("table"))
	cmd.MarkFlagsMutuallyExclusive("count", "select", "agg")
	for _, rows := range []string{"order-by", "limit", "offset"} {
		cmd.MarkFlagsMutuallyExclusive("count", rows)
		cmd.MarkFlagsMutuallyExclusive("agg", rows)
	}

	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := oneOf("format", resultset.Format(format), resultset.Formats...); err != nil {
			return err
		}
		return engine.with(cmd, dir, true, func(db *wideleaf.DB) error {
			t, err := db.Table(table)
			if err != nil {
				return err
			}
			var times []time.Duration
			for range repeat - 1 {
				start := time.Now()
				_, rows, err := q.run(cmd.Context(), t, f.Changed("limit"))
				if err != nil {
					return err
				}
				for _, err := range rows {
					if err != nil {
						return err
					}
				}
				times = append(times, time.Since(start))
			}
			before, err := db.Metrics()
			if err != nil {
				return err
			}
			start := time.Now()
			names, rows, err := q.run(cmd.Context(), t, f.Changed("limit"))
			if err != nil {
				return err
			}
			if err := resultset.Write(cmd.OutOrStdout(), resultset.Format(format), names, rows); err != nil {
				return err
			}
			if times = append(times, time.Since(start)); !timing {
				return nil
			}
			m, err := db.Metrics()
			if err != nil {
				return err
			}
			blocks, ordered := m.Store.CacheHits+m.Store.CacheMisses-before.Store.CacheHits-before.Store.CacheMisses, ""
			if m.OrderedScans > before.OrderedScans {
				ordered = ", rows in the order of an index"
			}
			slices.Sort(times)
			fmt.Fprintf(cmd.ErrOrStderr(), "Time: %s, %d blocks read%s\n", report.Milliseconds(times[len(times)/2]), blocks, ordered)
			return nil
		})
	}
	return cmd
}

// run asks the query.
func (f *queryFlags) run(ctx context.Context, t *wideleaf.Table, limited bool) (names []string, rows resultset.Rows, err error) {
	similarity, ok := value.ParseSimilarity(f.similarity)
	if !ok {
		return nil, nil, fmt.Errorf("there is no similarity %q: it is cosine, jaccard or overlap", f.similarity)
	}
	q := t.Query().Similarity(similarity, f.threshold)
	if f.where != "" {
		q.Where(f.where)
	}
	switch {
	case f.count:
		n, err := q.Count(ctx)
		return []string{"count"}, resultset.One(value.OfInt8(n)), err
	case f.aggregates != "":
		if names, err = aggregateNames(f.aggregates); err != nil {
			return nil, nil, err
		}
		values, err := q.Aggregate(ctx, f.aggregates)
		return names, resultset.One(values...), err
	}
	q.Select(f.selects).OrderBy(f.orderBy).Offset(f.offset)
	if limited {
		q.Limit(f.limit)
	}
	names, err = q.Columns()
	return names, q.Rows(ctx), err
}

// aggregateNames names aggregates as PostgreSQL does, by function or alias, but by the whole call where several have one
// name: JSON objects need different ones.
func aggregateNames(list string) ([]string, error) {
	aggregates, err := sql.ParseAggregates(list)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(aggregates))
	uses := map[string]int{}
	for i, a := range aggregates {
		names[i] = a.Func
		if a.Alias != "" {
			names[i] = a.Alias
		}
		uses[names[i]]++
	}
	for i, a := range aggregates {
		if uses[names[i]] > 1 && a.Alias == "" {
			names[i] = callText(a)
		}
	}
	return names, nil
}

// callText writes an aggregate as people do: count(distinct c1).
func callText(a sql.Aggregate) string {
	switch {
	case a.Star:
		return a.Func + "(*)"
	case a.Distinct:
		return a.Func + "(distinct " + a.Arg.String() + ")"
	}
	if a.Func == "percentile" {
		return fmt.Sprintf("%s(%s, %v)", a.Func, a.Arg, a.Fraction)
	}
	return a.Func + "(" + a.Arg.String() + ")"
}
