package wideleaf

import (
	"errors"

	"wideleaf/catalog"
	"wideleaf/tid"
	"wideleaf/version"
)

// deleteOp is rows of one table to be deleted. All of them were there when their statement read the table.
type deleteOp struct {
	table *Table
	def   *catalog.Table // by which they were chosen
	rows  *tid.Dead
}

// loggedDelete is what the log gets of a commit's deletes in one segment.
type loggedDelete struct {
	table           uint32
	segment, number uint64
	rows            []byte
}

// errMoved is the error of a statement whose rows another one deleted or updated first: it is to be done anew.
var errMoved = errors.New("rows were deleted or updated meanwhile")

// buriable checks that all rows of a delete are still there.
func (g *commitGroup) buriable(op *deleteOp) error {
	w := &op.table.w
	if w.dropped {
		return notFoundTable(op.table.def().Name)
	}
	if op.def != op.table.def() {
		return errAltered
	}
	ts, err := op.table.acquire()
	if err != nil {
		return err
	}
	defer ts.Release()
	if len(w.buried) == 0 {
		w.dead = ts.Dead()
	}
	if w.dead.Overlaps(op.rows) {
		return errMoved
	}
	for _, p := range op.rows.Parts() {
		if !ts.Table.HasSegment(p.Segment) { // wholly dead, and gone
			return errMoved
		}
	}
	return nil
}

// bury adds a delete to the log and to the table's dead rows.
func (g *commitGroup) bury(op *deleteOp) {
	w := &op.table.w
	g.touch(op.table)
	for _, p := range op.rows.Parts() {
		old := w.dead.Part(p.Segment)
		g.db.deletes++
		g.deletes = append(g.deletes, loggedDelete{op.table.id, p.Segment, g.db.deletes, version.EncodeDelete(old.Rows, p.Bits)})
		b := new(tid.Bits)
		*b = *p.Bits
		if old.Bits != nil {
			b.Or(old.Bits)
		}
		w.buried = append(w.buried, tid.DeadSegment{Segment: p.Segment, Rows: old.Rows + p.Rows, Bits: b,
			Commits: old.Commits + 1, Last: g.db.deletes})
	}
	w.dead = w.dead.With(w.buried...)
}

// deadKeys returns the keys of the records that a table's dead rows may have.
func deadKeys(ts version.TableSnapshot) [][]byte {
	var keys [][]byte
	for _, p := range ts.Dead().Parts() {
		keys = append(keys, version.DeadKey(ts.Table.Def.ID, p.Segment))
	}
	return keys
}
