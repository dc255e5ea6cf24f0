package wideleaf

import (
	"context"
	"fmt"
	"sync/atomic"

	"wideleaf/catalog"
	"wideleaf/heap"
	"wideleaf/pgerr"
	"wideleaf/version"
)

// MaxValueBytes is the longest a text value may be.
const MaxValueBytes = heap.MaxValueBytes

// Column is a column of a table.
type Column struct {
	Name    string // 1 to 63 bytes, unique in the table
	Type    Type
	NotNull bool
	Default any // what a row gets that comes without a value: a Go value as Batch.Append takes it; nil: NULL
}

// Table is a table of an open database. Its methods may be called concurrently.
type Table struct {
	db  *DB
	id  uint32                        // relation number
	cur atomic.Pointer[catalog.Table] // as of the newest version; only the leader changes it
	w   tableWriter                   // the leader's
}

func (db *DB) newTable(def *catalog.Table, w tableWriter) *Table {
	t := &Table{db: db, id: def.ID, w: w}
	t.cur.Store(def)
	return t
}

// def returns the table's newest definition. What works on a version of the table uses that version's.
func (t *Table) def() *catalog.Table { return t.cur.Load() }

// Name returns the table's name.
func (t *Table) Name() string {
	if t == nil || t.db == nil {
		return ""
	}
	return t.def().Name
}

// Columns returns the table's columns in order; their defaults are Values.
func (t *Table) Columns() []Column {
	if t == nil || t.db == nil {
		return nil
	}
	def := t.def()
	cols := make([]Column, len(def.Columns))
	for i, c := range def.Columns {
		cols[i] = Column{Name: c.Name, Type: c.Type, NotNull: c.NotNull}
		if !c.Default.IsNull() {
			cols[i].Default = c.Default
		}
	}
	return cols
}

// enter and writable are those of the table's database.
func (t *Table) enter() error {
	if t == nil || t.db == nil {
		return errNoTable()
	}
	return t.db.enter()
}

func (t *Table) writable() error {
	if t == nil || t.db == nil {
		return errNoTable()
	}
	return t.db.writable()
}

func errNoTable() error {
	return &Error{Kind: ErrInvalid, Code: codeInvalidParameter, Message: "the table is not one of an open database"}
}

// acquire takes a snapshot of the table.
func (t *Table) acquire() (version.TableSnapshot, error) {
	ts, ok := t.db.versions.AcquireTable(t.id)
	if !ok {
		return ts, notFoundTable(t.def().Name)
	}
	return ts, nil
}

// InsertBatch commits the rows of a batch, all or none, in their order. When it returns without error every query sees
// them, and with Sync (the default) they are durable. The batch may be reset and used again then.
//
// Errors: 23502 for NULL in a NOT NULL column, 22021 for text that is not UTF-8, 54000 for values and keys that are too
// long, 42P01 when the table was dropped; ErrCanceled when the context ended before the commit was being written; ErrReadOnly
// once a write to the disk has failed.
func (t *Table) InsertBatch(ctx context.Context, b *Batch, opts ...CommitOption) error {
	if err := t.writable(); err != nil {
		return err
	}
	defer t.db.leave()
	for {
		var ops [1]insertOp
		n, err := t.op(ctx, b, &ops[0])
		if err != nil || n == 0 {
			return wrap(t.Name(), err)
		}
		if err := t.db.insert(ctx, ops[:], opts); err != errAltered {
			return err
		}
	}
}

// op makes the operation that inserts a batch, whose rows it returns.
func (t *Table) op(ctx context.Context, b *Batch, op *insertOp) (rows int, err error) {
	if b == nil || b.table != t {
		if b != nil && b.err != nil {
			return 0, b.err
		}
		return 0, &Error{Kind: ErrInvalid, Code: pgerr.InvalidParameterValue, Object: t.Name(),
			Message: fmt.Sprintf("the batch was not made for table %q", t.Name())}
	}
	if b.err != nil {
		return 0, b.err
	}
	n, def := b.Len(), t.def()
	cols, err := b.complete(def)
	if err != nil {
		return 0, err
	}
	size, err := checkRows(ctx, def, cols, n)
	if err != nil || n == 0 {
		return 0, err
	}
	if size > maxCommitBytes {
		return 0, tooLarge(def.Name, size, "Insert the rows in several batches.")
	}
	*op = insertOp{table: t, def: def, cols: cols, rows: n}
	op.encode(size + size/8 + 64) // and null bitmaps, lengths, heads
	return n, nil
}

// Insert commits one row of Go values, as Batch.Append takes them.
func (t *Table) Insert(ctx context.Context, row []any, opts ...CommitOption) error {
	b := t.NewBatch()
	if err := b.Append(row...); err != nil {
		return err
	}
	return t.InsertBatch(ctx, b, opts...)
}

// Tx collects the changes of one commit.
type Tx struct {
	db      *DB
	batches []*Batch // one a definition of a table, in the order of first use
	bytes   int64
	tables  []*txTable        // of which rows are deleted
	snap    *version.Snapshot // that these were found in
	done    bool
}

// Update runs f and commits what it did through the transaction, all or nothing, also over several tables. When f
// returns an error nothing happens, and Update returns that error.
func (db *DB) Update(ctx context.Context, f func(*Tx) error, opts ...CommitOption) error {
	if err := db.writable(); err != nil {
		return err
	}
	defer db.leave()
	if f == nil {
		return &Error{Kind: ErrInvalid, Code: codeInvalidParameter, Message: "Update needs a function"}
	}
	tx := &Tx{db: db}
	defer tx.end()
	err := f(tx)
	tx.done = true
	if err != nil {
		return err
	}
	for {
		var ops []insertOp
		for _, b := range tx.batches {
			var op insertOp
			n, err := b.table.op(ctx, b, &op)
			if err != nil {
				release(ops)
				return wrap(b.table.Name(), err)
			}
			if n > 0 {
				ops = append(ops, op)
			}
		}
		dels := tx.deletes()
		err := db.change(ctx, ops, dels, opts)
		switch {
		case (err == errMoved || err == errAltered) && len(dels) > 0:
			return concurrentUpdate(dels[0].table)
		case err != errAltered:
			return err
		}
	}
}

// InsertBatch adds the rows of a batch to the transaction; the batch may be reset at once.
func (tx *Tx) InsertBatch(t *Table, b *Batch) error {
	dst, err := tx.batch(t)
	if err != nil {
		return err
	}
	if b == nil || b.table != t || b.err != nil {
		_, err := t.op(context.Background(), b, nil)
		return err
	}
	cols, err := b.complete(dst.def)
	if err != nil {
		return err
	}
	size, err := checkRows(context.Background(), dst.def, cols, b.Len())
	if err != nil {
		return err
	}
	if tx.bytes += size; tx.bytes > maxCommitBytes {
		return tooLarge(t.Name(), tx.bytes, "Insert the rows in several commits.")
	}
	for i, v := range cols {
		dst.cols[i].AppendAll(v)
	}
	return nil
}

// Insert adds one row to the transaction.
func (tx *Tx) Insert(t *Table, row []any) error {
	b, err := tx.batch(t)
	if err != nil {
		return err
	}
	return b.Append(row...)
}

func (tx *Tx) batch(t *Table) (*Batch, error) {
	if tx == nil || tx.db == nil || tx.done {
		return nil, &Error{Kind: ErrInvalid, Code: pgerr.InvalidParameterValue, Message: "the transaction has ended"}
	}
	if t == nil || t.db == nil {
		return nil, errNoTable()
	}
	if t.db != tx.db {
		return nil, &Error{Kind: ErrInvalid, Code: pgerr.InvalidParameterValue, Object: t.Name(),
			Message: fmt.Sprintf("table %q is of another database", t.Name())}
	}
	def := t.def()
	for _, b := range tx.batches {
		if b.table == t && b.def == def {
			return b, nil
		}
	}
	tx.batches = append(tx.batches, t.NewBatch())
	return tx.batches[len(tx.batches)-1], nil
}

// Flush writes the table's newest rows into a segment of their own, with their index entries, and returns when that is
// done. It is never needed for durability or queries.
func (t *Table) Flush(ctx context.Context) error {
	if err := t.writable(); err != nil {
		return err
	}
	defer t.db.leave()
	ctx, done := t.db.during(ctx)
	defer done()
	if err := ctx.Err(); err != nil {
		return t.db.cause(ctx, t.Name(), err)
	}
	last, err := t.seal(ctx)
	if err != nil {
		return t.db.cause(ctx, t.Name(), err)
	}
	return t.db.cause(ctx, t.def().Name, t.db.pool.Wait(ctx, func() bool {
		ts, ok := t.db.versions.AcquireTable(t.id)
		if !ok {
			return true
		}
		defer ts.Release()
		return len(ts.Table.Sealed) == 0 || ts.Table.Sealed[0].Tail.Segment() > last
	}))
}

// seal seals the active tail if it has rows, and returns the segment that it is or would be.
func (t *Table) seal(ctx context.Context) (segment uint64, err error) {
	err = t.db.between(ctx, func(g *commitGroup) error {
		w := &t.w
		segment = w.tail.Segment()
		if w.dropped {
			return notFoundTable(t.def().Name)
		}
		if w.tail.Len() == 0 {
			return nil
		}
		g.reset()
		w.seal(t)
		w.touched = true
		g.touched = append(g.touched, t)
		g.publish()
		return nil
	})
	return segment, err
}

// TableSize is what a table takes.
type TableSize struct {
	Rows       int64
	HeapBytes  int64 // stored pages of its segments; rows in the log are not counted
	IndexBytes int64 // stored pages of its indexes
	LoggedRows int64 // rows that are in memory and the log only
}

// Size returns the table's size.
func (t *Table) Size() (TableSize, error) {
	if err := t.enter(); err != nil {
		return TableSize{}, err
	}
	defer t.db.leave()
	ts, err := t.acquire()
	if err != nil {
		return TableSize{}, err
	}
	defer ts.Release()
	s := TableSize{Rows: ts.Rows(), LoggedRows: ts.PendingRows()}
	for _, seg := range ts.Table.Segments {
		s.HeapBytes += int64(seg.Record.Bytes)
	}
	for _, g := range ts.Table.Groups {
		for _, r := range g.Runs {
			s.IndexBytes += int64(r.Record.Bytes)
		}
	}
	return s, nil
}
