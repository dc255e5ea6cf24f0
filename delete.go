package wideleaf

import (
	"context"

	"wideleaf/pgerr"
	"wideleaf/query"
	"wideleaf/tid"
	"wideleaf/version"
)

// TID names a row of a table: segment << 16 | offset. A row that is updated gets another one; none is used twice.
type TID = tid.TID

// DeleteWhere deletes the rows for which a condition in SQL holds, all or none, and returns how many these were.
//
// It is PostgreSQL's DELETE at READ COMMITTED: the condition is evaluated on the table as it is at that moment, whole commits
// up to the newest. When other commits delete or update some of the rows before this one does, it begins anew on what they
// left, so that no row is deleted twice and none that still satisfies the condition is missed for that reason. Rows inserted
// meanwhile are not deleted.
//
// A delete writes little: the rows' places, not their values. Queries leave them out from then on; their space comes back
// by vacuum, see Table.Vacuum.
//
// Errors: those of a condition (42703, 42601 and others); 42P01 when the table was dropped; ErrCanceled; ErrReadOnly.
func (t *Table) DeleteWhere(ctx context.Context, condition string, opts ...CommitOption) (int64, error) {
	return t.Query().Where(condition).Delete(ctx, opts...)
}

// Delete deletes rows by TID and returns how many of them were there.
func (t *Table) Delete(ctx context.Context, rows []TID, opts ...CommitOption) (int64, error) {
	s := &statement{q: t.Query(), tids: tid.Of(rows...)}
	err := s.run(ctx, opts)
	return s.rows, err
}

// Delete deletes the rows for which the conditions hold, as Table.DeleteWhere does, and returns how many these were. A query
// with OrderBy, Limit or Offset is refused.
func (q *Query) Delete(ctx context.Context, opts ...CommitOption) (int64, error) {
	s := &statement{q: q}
	err := s.run(ctx, opts)
	return s.rows, err
}

// DeleteReturning is Delete that returns the deleted rows, in TID order, with the columns that Select names (SQL's RETURNING).
func (q *Query) DeleteReturning(ctx context.Context, opts ...CommitOption) ([]Row, error) {
	s := &statement{q: q, returning: true}
	err := s.run(ctx, opts)
	return s.returned, err
}

// statement is a DELETE in the making.
type statement struct {
	q         *Query
	tids      *tid.Set // the rows to look at; nil: all
	returning bool

	rows     int64 // that it changed
	returned []Row
}

// attempts is how often a statement is tried beside others. Then it is done between two commits, where nobody gets ahead.
const attempts = 4

func (s *statement) run(ctx context.Context, opts []CommitOption) (err error) {
	t := s.q.t
	if err := t.writable(); err != nil {
		return err
	}
	db := t.db
	defer db.leave()
	ctx, done := db.during(ctx)
	defer done()
	defer func() {
		if err = db.cause(ctx, t.Name(), err); err != nil {
			s.rows, s.returned = 0, nil
		}
	}()
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.q.orderBy != "" || s.q.limited || s.q.offset != 0 {
		return &Error{Kind: ErrInvalid, Code: pgerr.FeatureNotSupported, Object: t.Name(),
			Message: "DELETE and UPDATE take no ORDER BY, LIMIT or OFFSET"}
	}
	for range attempts {
		var r request
		if err := s.plan(ctx, &r); err != nil {
			return err
		}
		if err := db.change(ctx, r.ops, r.dels, opts); err != errMoved && err != errAltered {
			return err
		}
	}
	if err := db.admit(ctx); err != nil {
		return err
	}
	return db.between(func(*commitGroup) error {
		r := &request{sync: syncs(opts)}
		if err := s.plan(ctx, r); err != nil || len(r.dels) == 0 {
			return err
		}
		defer release(r.ops)
		db.committer.commitRows([]*request{r})
		return r.err
	})
}

// plan evaluates the statement on the table as it is now and puts what it changes into r.
func (s *statement) plan(ctx context.Context, r *request) error {
	t := s.q.t
	ts, err := t.acquire()
	if err != nil {
		return err
	}
	defer ts.Release()
	def, qt := ts.Table.Def, queryTable(ts)
	p, err := s.q.pred(def)
	if err != nil {
		return err
	}
	set, err := query.Where(ctx, qt, p, s.among(ts, qt))
	if err != nil {
		return err
	}
	defer set.Release()
	s.rows, s.returned = set.Count(), nil
	if s.returning {
		spec, _, err := s.q.spec(def)
		if err != nil {
			return err
		}
		rows, err := query.RowsOf(ctx, qt, set, spec.Columns)
		if err != nil {
			return err
		}
		for _, row := range rows {
			s.returned = append(s.returned, row)
		}
	}
	if s.rows > 0 {
		r.dels = append(r.dels, deleteOp{table: t, def: def, rows: set.Dead()})
	}
	return nil
}

// among returns those of the statement's TIDs that are rows of the table; nil: it looks at all rows.
func (s *statement) among(ts version.TableSnapshot, qt *query.Table) *tid.Set {
	if s.tids == nil {
		return nil
	}
	rows := map[uint64]int{}
	for _, src := range qt.Sources {
		rows[src.Number()] = src.Rows()
	}
	var there []tid.TID
	for t := range s.tids.All() {
		if int(t.Offset()) < rows[t.Segment()] && !ts.Dead().Has(t) {
			there = append(there, t)
		}
	}
	return tid.Of(there...)
}
