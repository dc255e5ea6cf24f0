package wideleaf

import (
	"context"

	"wideleaf/tid"
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
