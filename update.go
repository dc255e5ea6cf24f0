package wideleaf

import (
	"context"

	"wideleaf/tid"
)

// UpdateWhere gives columns of the rows for which a condition in SQL holds new values, all or none, and returns how many rows
// these were. Set is what follows SET in SQL, such as "c2 = c2 / 2, name = 'x'": expressions of the row's old values,
// constants, + - * / % (of integers as PostgreSQL's, which round towards zero), || of texts and casts; or DEFAULT.
//
// Among other commits it behaves as DeleteWhere does: rows that another one updates first are looked at again, as they are
// then. An updated row gets a new TID, behind all others.
//
// Errors, besides those of a condition: 22003 for a result that is out of range, 22012 for a division by zero, 42804 for an
// expression of another type than its column, 54000 when the new rows are larger than a commit may be (256 MiB); and those
// of InsertBatch.
func (t *Table) UpdateWhere(ctx context.Context, condition, set string, opts ...CommitOption) (int64, error) {
	return t.Query().Where(condition).Update(ctx, set, opts...)
}

// Update updates rows by TID as UpdateWhere does and returns how many of them were there.
func (t *Table) Update(ctx context.Context, rows []TID, set string, opts ...CommitOption) (int64, error) {
	s := &statement{q: t.Query(), tids: tid.Of(rows...), set: &set}
	err := s.run(ctx, opts)
	return s.rows, err
}

// Update updates the rows for which the conditions hold as Table.UpdateWhere does, and returns how many these were. A query
// with OrderBy, Limit or Offset is refused.
func (q *Query) Update(ctx context.Context, set string, opts ...CommitOption) (int64, error) {
	s := &statement{q: q, set: &set}
	err := s.run(ctx, opts)
	return s.rows, err
}

// UpdateReturning is Update that returns the rows as they are afterwards, with the columns that Select names (SQL's
// RETURNING), in the order of their old TIDs, which is the order of the new ones.
func (q *Query) UpdateReturning(ctx context.Context, set string, opts ...CommitOption) ([]Row, error) {
	s := &statement{q: q, set: &set, returning: true}
	err := s.run(ctx, opts)
	return s.returned, err
}
