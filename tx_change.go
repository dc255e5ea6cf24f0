package wideleaf

import (
	"context"

	"wideleaf/catalog"
	"wideleaf/pgerr"
	"wideleaf/query"
	"wideleaf/tid"
	"wideleaf/value"
)

// txTable is what a transaction deletes of a table.
type txTable struct {
	table *Table
	def   *catalog.Table
	dead  *tid.Dead
}

// DeleteWhere deletes the rows for which a condition holds, those that the transaction has inserted included, and returns how
// many these were.
//
// The first DELETE or UPDATE of a transaction takes a snapshot, and all of them look at it, with the transaction's own
// changes (PostgreSQL's REPEATABLE READ). When another commit deletes or updates one of the rows before the transaction
// commits, DB.Update fails with ErrConflict, 40001, and nothing is done: it is to be called again.
func (tx *Tx) DeleteWhere(ctx context.Context, t *Table, condition string) (int64, error) {
	return tx.change(ctx, t, condition, nil)
}

// UpdateWhere gives columns of the rows for which a condition holds new values, as Table.UpdateWhere does, those that the
// transaction has inserted included, and returns how many these were. See DeleteWhere.
func (tx *Tx) UpdateWhere(ctx context.Context, t *Table, condition, set string) (int64, error) {
	return tx.change(ctx, t, condition, &set)
}

func (tx *Tx) change(ctx context.Context, t *Table, condition string, set *string) (n int64, err error) {
	own, err := tx.batch(t)
	if err != nil {
		return 0, err
	}
	ctx, done := tx.db.during(ctx)
	defer done()
	n, err = tx.changeOf(ctx, own, condition, set)
	return n, tx.db.cause(ctx, t.Name(), err)
}

// changeOf does the work of change; own is what the transaction inserts into the table.
func (tx *Tx) changeOf(ctx context.Context, own *Batch, condition string, text *string) (int64, error) {
	t, def := own.table, own.def
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if tx.snap == nil {
		tx.snap = tx.db.versions.Acquire()
	}
	ts, ok := tx.snap.Table(t.id)
	if !ok {
		return 0, notFoundTable(t.Name())
	}
	defer ts.Release()
	for _, b := range tx.batches {
		if b.table == t && b != own || ts.Table.Def != def {
			return 0, concurrentUpdate(t) // the table was altered
		}
	}
	p, err := t.Query().Where(condition).pred(def)
	if err != nil {
		return 0, err
	}
	set, err := bindSet(text, def)
	if err != nil {
		return 0, err
	}
	if own.err != nil {
		return 0, own.err
	}
	c := tx.tableOf(t, def)
	qt := queryTable(ts)
	qt.Dead = qt.Dead.Or(c.dead)
	rows, err := query.Where(ctx, qt, p, nil)
	if err != nil {
		return 0, err
	}
	defer rows.Release()
	var cols []*value.Vector
	size := int64(0)
	if n := int(rows.Count()); text != nil && n > 0 {
		if cols, err = updated(ctx, qt, rows, set, nil); err != nil {
			return 0, err
		}
		if size, err = checkRows(ctx, def, cols, n); err != nil {
			return 0, err
		}
		if tx.bytes+size > maxCommitBytes {
			return 0, tooLarge(def.Name, tx.bytes+size, "Update the rows in several commits.")
		}
	}
	n, err := changeRows(ctx, own, p, text != nil, set)
	if err != nil {
		return 0, err
	}
	for i, v := range cols {
		own.cols[i].AppendAll(v)
	}
	tx.bytes += size
	c.dead = c.dead.Or(rows.Dead())
	return n + rows.Count(), nil
}

// changeRows deletes or updates the rows of a batch for which p holds.
func changeRows(ctx context.Context, b *Batch, p *query.Pred, update bool, set []query.Assignment) (int64, error) {
	def := b.def
	at := map[int]int{}
	hits, kept := make([]*value.Vector, len(b.cols)), make([]*value.Vector, len(b.cols))
	for i, c := range def.Columns {
		at[c.Attno] = i
		hits[i], kept[i] = new(value.Vector), new(value.Vector)
		hits[i].Reset(c.Type)
		kept[i].Reset(c.Type)
	}
	n := 0
	for row := range b.Len() {
		if row%ctxRows == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		to := kept
		if p.Eval(func(attno int) value.Value { return b.cols[at[attno]].Value(row) }) {
			to = hits
			n++
		}
		for i := range to {
			to[i].Append(b.cols[i].Value(row))
		}
	}
	if n == 0 {
		return 0, nil
	}
	if update {
		changed, err := assigned(ctx, def, hits, n, set, nil)
		if err != nil {
			return 0, err
		}
		if _, err := checkRows(ctx, def, changed, n); err != nil {
			return 0, err
		}
		for i := range kept {
			kept[i].AppendAll(changed[i])
		}
	}
	b.cols = kept
	return int64(n), nil
}

func (tx *Tx) tableOf(t *Table, def *catalog.Table) *txTable {
	for _, c := range tx.tables {
		if c.table == t {
			return c
		}
	}
	tx.tables = append(tx.tables, &txTable{table: t, def: def})
	return tx.tables[len(tx.tables)-1]
}

// deletes returns the transaction's deletes.
func (tx *Tx) deletes() []deleteOp {
	var dels []deleteOp
	for _, c := range tx.tables {
		if c.dead.Rows() > 0 {
			dels = append(dels, deleteOp{c.table, c.def, c.dead})
		}
	}
	return dels
}

// end gives back what the transaction holds.
func (tx *Tx) end() {
	tx.done = true
	if tx.snap != nil {
		tx.snap.Release()
		tx.snap = nil
	}
}

func concurrentUpdate(t *Table) error {
	return &Error{Kind: ErrConflict, Code: pgerr.SerializationFailure, Object: t.Name(),
		Message: "could not serialize access due to concurrent update", Hint: "The transaction might succeed if retried."}
}
