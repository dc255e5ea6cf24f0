package wideleaf

import (
	"context"
	"iter"
	"strings"

	"wideleaf/catalog"
	"wideleaf/heap"
	"wideleaf/pending"
	"wideleaf/pgerr"
	"wideleaf/query"
	"wideleaf/query/sql"
	"wideleaf/value"
	"wideleaf/version"
)

// Row is one row of a result: a value for each column asked for.
type Row []Value

// Query is a query of one table in the making: its methods set a part of it and return it. Nothing is read, and no
// mistake reported, until Count, Aggregate or Rows runs it; each reads the table as it is at that moment: its columns, and
// whole commits up to the newest. A Query belongs to one goroutine; it may be run any number of times.
type Query struct {
	t       *Table
	at      bool // of a snapshot, not of the table as it is
	snap    *Snapshot
	where   []string
	exprs   []sql.Expr
	selects []string
	orderBy string
	limit   int64
	offset  int64
	limited bool
	similar *value.Like
}

// Query begins a query of the table: all rows and columns until told otherwise.
func (t *Table) Query() *Query { return &Query{t: t} }

// Similarity is a way of comparing arrays by the number of distinct items that they have in common, NULLs aside.
type Similarity = value.Similarity

// The similarities of arrays of a and b distinct items with n in common, by RUM's names.
const (
	Cosine  = value.Cosine  // n / sqrt(a*b)
	Jaccard = value.Jaccard // n / (a+b-n)
	Overlap = value.Overlap // n
)

// Similarity sets what the operators % and <=> of arrays mean: x % y is true when f of the two is at least the threshold,
// a number from 0 to 1; x <=> y is 1/f. Without it they are RUM's defaults, Cosine and 0.5.
func (q *Query) Similarity(f Similarity, threshold float64) *Query {
	q.similar = &value.Like{Function: f, Threshold: threshold}
	return q
}

// settings returns what the query's text is bound under.
func (q *Query) settings() (query.Settings, error) {
	s := query.DefaultSettings
	if l := q.similar; l != nil {
		if !(l.Threshold >= 0 && l.Threshold <= 1) {
			return s, pgerr.New(pgerr.ErrInvalid, pgerr.InvalidParameterValue, "a similarity threshold of %v is outside the valid range (0 .. 1)", l.Threshold)
		}
		if l.Function > Overlap {
			return s, pgerr.New(pgerr.ErrInvalid, pgerr.InvalidParameterValue, "there is no %v", l.Function)
		}
		s.Similarity = *l
	}
	return s, nil
}

// Where adds a condition in SQL, such as "c1 < 100000 and c2 between 5 and 7"; all conditions added must hold.
func (q *Query) Where(condition string) *Query {
	q.where = append(q.where, condition)
	return q
}

// Filter adds a condition built by Col, And, Or and Not.
func (q *Query) Filter(e Condition) *Query {
	q.exprs = append(q.exprs, e)
	return q
}

// Select names the columns of Rows, in SQL's way of writing names; ctid is the row's TID.
func (q *Query) Select(columns ...string) *Query {
	q.selects = append(q.selects, columns...)
	return q
}

// OrderBy sets the order of Rows, such as "c5 desc nulls last, c1". Rows that it finds equal come in TID order.
//
// A key may be the distance of a column from a constant, of numbers, dates or times: "c1 <=> 1000" is |c1 - 1000|,
// "c1 <=| 1000" is that of values up to the constant and "c1 |=> 1000" that of those above it. Values on the other side, and
// infinite ones and NaN, are infinitely far; NULLs come last. Of arrays, "tags <=> '{a,b}'" is 1 divided by their similarity (see
// Similarity). Types without a distance are refused with 42883. The operators are those of PostgreSQL's extension rum, but
// that arrays without items are infinitely far from all others.
func (q *Query) OrderBy(keys string) *Query {
	q.orderBy = keys
	return q
}

// Limit sets how many rows Rows yields at most; Offset how many it leaves out first. Negative ones are refused.
func (q *Query) Limit(n int64) *Query {
	q.limit, q.limited = n, true
	return q
}

// Offset leaves out the first n rows.
func (q *Query) Offset(n int64) *Query {
	q.offset = n
	return q
}

// Condition is a condition in the form that Col, And, Or and Not build.
type Condition = sql.Expr

// Col names a column, exactly as it is written in the table; its methods compare it.
func Col(name string) *sql.Column { return sql.Col(name) }

// And, Or and Not combine conditions.
func And(cs ...Condition) Condition { return sql.And(cs...) }
func Or(cs ...Condition) Condition  { return sql.Or(cs...) }
func Not(c Condition) Condition     { return sql.Not(c) }

// pendingList returns the rows of tails that no run of a group holds.
func pendingList(g *version.Group, tails []heap.Source) pending.List {
	l := make(pending.List, len(tails))
	for i, s := range tails {
		l[i] = pending.Part{Source: s, From: g.Sorted(s.Number())}
	}
	return l
}

// queryTable returns a snapshot's table as the executor reads it.
func queryTable(ts version.TableSnapshot) *query.Table {
	t := ts.Table
	q := &query.Table{Def: t.Def, Flushed: len(t.Segments), Dead: ts.Dead()}
	q.Sources = make([]heap.Source, 0, len(t.Segments)+len(t.Sealed)+1)
	missing := heap.NewMissing(t.Def)
	for _, s := range t.Segments {
		src := missing.Source(s.Source)
		if len(s.Lost) > 0 {
			src = heap.Without(src, s.Lost)
		}
		q.Sources = append(q.Sources, src)
	}
	for _, s := range t.Sealed {
		q.Sources = append(q.Sources, missing.Source(s.Tail.View(s.Rows)))
	}
	if ts.Visible() > 0 {
		q.Sources = append(q.Sources, t.Active.Tail.View(ts.Visible()))
	}
	indexes := 0
	for _, g := range t.Groups {
		indexes += len(g.Indexes)
	}
	q.Indexes = make([]query.Index, 0, indexes)
	for _, g := range t.Groups {
		waiting := pendingList(g, q.Sources[q.Flushed:])
		for i, ix := range g.Indexes {
			if ix.Def.Ready {
				runs, gone := g.RunsOf(i)
				q.Indexes = append(q.Indexes, query.Index{Def: ix.Def, Method: ix.Method, Runs: runs, Gone: gone, Pending: waiting})
			}
		}
	}
	return q
}

// Errors come in PostgreSQL's order: mistakes of grammar, then names and types of the select list, of the conditions and
// of ORDER BY, then what is found by evaluating.

// condition is what a query's conditions say together.
type condition struct {
	expr sql.Expr
	none bool // there are no conditions; a nil expr is a mistake
}

// condition parses the conditions.
func (q *Query) condition() (condition, error) {
	exprs := append([]sql.Expr(nil), q.exprs...)
	for _, text := range q.where {
		e, err := sql.ParseCondition(text)
		if err != nil {
			return condition{}, err
		}
		exprs = append(exprs, e)
	}
	switch len(exprs) {
	case 0:
		return condition{none: true}, nil
	case 1:
		return condition{expr: exprs[0]}, nil
	}
	return condition{expr: sql.And(exprs...)}, nil
}

func bindCondition(c condition, s query.Settings, def *catalog.Table) (*query.Pred, error) {
	if c.none {
		return &query.Pred{Kind: query.True}, nil
	}
	return s.Bind(c.expr, def)
}

// pred binds the conditions to a definition of the table.
func (q *Query) pred(def *catalog.Table) (*query.Pred, error) {
	e, err := q.condition()
	if err != nil {
		return nil, err
	}
	s, err := q.settings()
	if err != nil {
		return nil, err
	}
	return bindCondition(e, s, def)
}

// acquire takes a snapshot of the table as the query reads it.
func (q *Query) acquire() (version.TableSnapshot, error) {
	if q.at {
		return q.snap.table(q.t)
	}
	return q.t.acquire()
}

// run calls f with the table as it is now, or was, under a context that also ends when the database is closed.
func (q *Query) run(ctx context.Context, f func(context.Context, *query.Table) error) error {
	if err := q.t.enter(); err != nil {
		return err
	}
	db := q.t.db
	defer db.leave()
	ts, err := q.acquire()
	if err != nil {
		return err
	}
	defer ts.Release()
	ctx, done := db.during(ctx)
	defer done()
	table := queryTable(ts)
	table.Counters = &db.queries
	if !db.o.ReadOnly && db.store.Err() == nil {
		table.Spilling = query.Spilling{Store: db.store, WorkMem: db.o.WorkMem}
	}
	return db.cause(ctx, ts.Table.Def.Name, f(ctx, table))
}

// Count returns the number of rows for which the conditions hold. Select, OrderBy, Limit and Offset don't matter.
func (q *Query) Count(ctx context.Context) (n int64, err error) {
	err = q.run(ctx, func(ctx context.Context, t *query.Table) error {
		p, err := q.pred(t.Def)
		if err != nil {
			return err
		}
		n, err = query.Count(ctx, t, p)
		return err
	})
	return n, err
}

// Aggregate returns aggregates over the rows for which the conditions hold: count(*), count(c), count(distinct c),
// sum(c), avg(c), min(c), max(c), median(c), percentile(c, 0.9); the last two as PostgreSQL's percentile_disc. Results have PostgreSQL's types: sums of int8 and means of integers are numeric, whose
// Value holds the exact decimal text; no rows make NULL, and a count 0.
func (q *Query) Aggregate(ctx context.Context, exprs ...string) (out []Value, err error) {
	err = q.run(ctx, func(ctx context.Context, t *query.Table) error {
		parsed, err := sql.ParseAggregates(strings.Join(exprs, ", "))
		if err != nil {
			return err
		}
		cond, err := q.condition()
		if err != nil {
			return err
		}
		aggs, err := query.BindAggregates(parsed, t.Def)
		if err != nil {
			return err
		}
		s, err := q.settings()
		if err != nil {
			return err
		}
		p, err := bindCondition(cond, s, t.Def)
		if err != nil {
			return err
		}
		out, err = query.Aggregates(ctx, t, p, aggs)
		return err
	})
	return out, err
}

// spec binds what Rows needs to a definition of the table.
func (q *Query) spec(def *catalog.Table) (spec query.RowsSpec, names []string, err error) {
	selects := "*"
	if len(q.selects) > 0 {
		selects = strings.Join(q.selects, ", ")
	}
	items, err := sql.ParseSelectList(selects)
	if err != nil {
		return spec, nil, err
	}
	cond, err := q.condition()
	if err != nil {
		return spec, nil, err
	}
	var keys []sql.SortKey
	if q.orderBy != "" {
		if keys, err = sql.ParseOrderBy(q.orderBy); err != nil {
			return spec, nil, err
		}
	}
	if spec.Columns, names, err = query.BindSelectList(items, def); err != nil {
		return spec, nil, err
	}
	s, err := q.settings()
	if err != nil {
		return spec, nil, err
	}
	if spec.Pred, err = bindCondition(cond, s, def); err != nil {
		return spec, nil, err
	}
	if spec.OrderBy, err = s.BindOrderBy(keys, def); err != nil {
		return spec, nil, err
	}
	spec.Limit, spec.Offset = -1, -1
	if q.offset < 0 {
		return spec, nil, &Error{Kind: ErrInvalid, Code: pgerr.InvalidRowCountInOffset, Message: "OFFSET must not be negative"}
	}
	if q.offset > 0 {
		spec.Offset = q.offset
	}
	if q.limited {
		spec.Limit = q.limit
		if q.limit < 0 {
			return spec, nil, &Error{Kind: ErrInvalid, Code: pgerr.InvalidRowCountInLimit, Message: "LIMIT must not be negative"}
		}
	}
	return spec, names, nil
}

// Columns returns the names of the columns that Rows yields.
func (q *Query) Columns() ([]string, error) {
	if err := q.t.enter(); err != nil {
		return nil, err
	}
	defer q.t.db.leave()
	_, names, err := q.spec(q.t.def())
	return names, err
}

// Rows yields the rows for which the conditions hold, in the order asked for, else in TID order. An error is the last
// thing yielded. While the loop runs, what the query reads is held; leaving it early is fine.
func (q *Query) Rows(ctx context.Context) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		stopped := false
		err := q.run(ctx, func(ctx context.Context, t *query.Table) error {
			spec, _, err := q.spec(t.Def)
			if err != nil {
				return err
			}
			for row, err := range query.Rows(ctx, t, spec) {
				if err != nil {
					return err
				}
				if !yield(row, nil) {
					stopped = true
					return nil
				}
			}
			return nil
		})
		if err != nil && !stopped {
			yield(nil, err)
		}
	}
}
