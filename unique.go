package wideleaf

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"wideleaf/am"
	"wideleaf/am/filter"
	"wideleaf/catalog"
	"wideleaf/heap"
	"wideleaf/pgerr"
	"wideleaf/query"
	"wideleaf/tid"
	"wideleaf/value"
	"wideleaf/version"
)

// uniqueIndex is what the leader knows of a unique index: the keys of the rows in tails, by hash. Keys of flushed rows are
// asked of the runs, whose filters deny nearly all that they don't hold without reading a page.
//
// A hash says nothing until the rows' values have been compared; two different keys of one hash, one of 2^64, share a
// place.
type uniqueIndex struct {
	index *version.Index
	cols  []int // positions of its columns in the table
	hash  filter.Hasher
	known knownKeys
	tails []tailKeys
	batch keyTable // rows of the request at work, numbered through
	free  []rowKeys
}

// knownKeys denies nearly all keys that no row has, at a glance at a few filters: those that the runs had when the index
// was made or opened, and growing ones for what has come since. It takes 1.5 bytes a key in memory.
type knownKeys struct {
	runs  []*filter.Filter
	since []*filter.Filter
	room  uint64 // keys that the last of since still takes
	all   bool   // it can't deny any: a filter could not be read
}

// ctxRows is how many rows are worked on until contexts are looked at again.
const ctxRows = 1024

const leastKnown = 1 << 18

func (k *knownKeys) has(hash uint64) bool {
	for _, f := range k.since {
		if f.Has(hash) {
			return true
		}
	}
	for _, f := range k.runs {
		if f.Has(hash) {
			return true
		}
	}
	return k.all
}

func (k *knownKeys) add(hash uint64) {
	if k.room == 0 {
		k.room = leastKnown << min(len(k.since), 8)
		k.since = append(k.since, filter.New(k.room))
	}
	k.since[len(k.since)-1].Add(hash)
	k.room--
}

// rowKeys are the keys of the rows of an operation in one index.
type rowKeys struct {
	hashes []uint64
	nulls  []bool // no other row equals it
}

// tailKeys are the keys of the rows of one tail.
type tailKeys struct {
	segment uint64
	offsets *keyTable
}

// refreshUnique makes the leader's unique indexes those of a version, whose tails hold all rows.
func (t *Table) refreshUnique(ts version.TableSnapshot) {
	var now []*uniqueIndex
	for _, g := range ts.Table.Groups {
		for _, ix := range g.Indexes {
			if !ix.Def.Unique {
				continue
			}
			at := slices.IndexFunc(t.w.unique, func(u *uniqueIndex) bool { return u.index.Def.ID == ix.Def.ID })
			u := new(uniqueIndex)
			if at >= 0 {
				u = t.w.unique[at]
			}
			u.index, u.hash, u.cols = ix, filter.NewHasher(ix.Def, ix.Method), u.cols[:0]
			for _, c := range ix.Def.Columns {
				u.cols = append(u.cols, ts.Table.Def.Column(c.Attno))
			}
			if at < 0 {
				for _, src := range tailsOf(ts) {
					u.noteTail(ts.Table.Def, src)
				}
			}
			u.known.runs, u.known.all = nil, false
			for _, r := range runsOf(ts.Table, ix) {
				f, err := r.filter()
				if err != nil {
					u.known.all = true // it is asked again, and the error reported, when a row comes in
					continue
				}
				u.known.runs = append(u.known.runs, f)
			}
			now = append(now, u)
		}
	}
	t.w.unique = now
}

// tailsOf returns the rows that are not flushed.
func tailsOf(ts version.TableSnapshot) []heap.Source {
	q := queryTable(ts)
	return q.Sources[q.Flushed:]
}

// keysOf hashes the keys of rows, given the table's columns.
func (u *uniqueIndex) keysOf(cols []*value.Vector) rowKeys {
	key := make([]*value.Vector, len(u.cols))
	for i, c := range u.cols {
		key[i] = cols[c]
	}
	return u.hashRows(key)
}

// hashRows hashes the keys of rows, given the index's columns.
func (u *uniqueIndex) hashRows(key []*value.Vector) rowKeys {
	var k rowKeys
	if n := len(u.free); n > 0 {
		k, u.free = u.free[n-1], u.free[:n-1]
	}
	k.hashes, k.nulls = u.hash.Rows(key, k.hashes[:0], k.nulls[:0])
	if u.index.Def.NullsNotDistinct {
		clear(k.nulls)
	}
	return k
}

func sameKey(a, b []value.Value) bool {
	return slices.EqualFunc(a, b, func(x, y value.Value) bool { return value.Compare(x, y) == 0 })
}

// keyOf returns a row's values in the index's columns.
func (u *uniqueIndex) keyOf(cols []*value.Vector, row int) []value.Value {
	vals := make([]value.Value, len(u.cols))
	for i, c := range u.cols {
		vals[i] = cols[c].Value(row)
	}
	return vals
}

// noteTail adds the rows of a tail.
func (u *uniqueIndex) noteTail(def *catalog.Table, src heap.Source) {
	key := make([]*value.Vector, len(u.cols))
	for i, c := range u.index.Def.Columns {
		key[i] = new(value.Vector)
		key[i].Reset(c.Type)
		_ = src.Column(context.Background(), c.Attno, key[i]) // rows in memory are always there
	}
	u.note(u.hashRows(key), 0, src.Rows(), tid.New(src.Number(), 0))
}

// note adds n rows from row `from` on, which have consecutive TIDs.
func (u *uniqueIndex) note(keys rowKeys, from, n int, first tid.TID) {
	if n == 0 {
		return
	}
	k := u.tail(first.Segment())
	for i := range n {
		if keys.nulls[from+i] {
			continue
		}
		u.known.add(keys.hashes[from+i])
		k.offsets.add(keys.hashes[from+i], uint32(first.Offset())+uint32(i))
	}
}

func (u *uniqueIndex) tail(segment uint64) *tailKeys {
	if n := len(u.tails); n > 0 && u.tails[n-1].segment == segment {
		return &u.tails[n-1]
	}
	u.tails = append(u.tails, tailKeys{segment: segment, offsets: new(keyTable)})
	return &u.tails[len(u.tails)-1]
}

// forget drops the keys of tails that a version has no more.
func (u *uniqueIndex) forget(t *version.Table) {
	first := t.Active.Tail.Segment()
	if len(t.Sealed) > 0 {
		first = t.Sealed[0].Tail.Segment()
	}
	u.tails = slices.DeleteFunc(u.tails, func(k tailKeys) bool { return k.segment < first })
}

// candidates yields the rows in tails whose keys have a hash.
func (u *uniqueIndex) candidates(hash uint64) iter.Seq[tid.TID] {
	return func(yield func(tid.TID) bool) {
		for i := range u.tails {
			k := &u.tails[i]
			for at := 0; ; {
				offset, next, ok := k.offsets.find(hash, at)
				if !ok {
					break
				}
				if !yield(tid.New(k.segment, uint16(offset))) {
					return
				}
				at = next
			}
		}
	}
}

// checkUnique refuses a request one of whose rows in an operation has a key that is there already, in another row of
// the request or in the table.
func (g *commitGroup) checkUnique(r *request, at int) error {
	op := &r.ops[at]
	ts, err := op.table.acquire()
	if err != nil {
		return err
	}
	defer ts.Release()
	w := &op.table.w
	before := 0 // rows of the request that come before these
	for i := range r.ops[:at] {
		if r.ops[i].table == op.table {
			before += r.ops[i].rows
		}
	}
	for i, u := range w.unique {
		u.forget(ts.Table)
		if before == 0 {
			u.batch.reset(op.rows)
		}
		keys := u.keysOf(op.cols)
		if i == 0 {
			op.keys = op.keys[:0]
		}
		op.keys = append(op.keys, keys)
		c := uniqueCheck{ctx: g.db.ctx, u: u, ts: ts, w: w, dead: ts.Dead(), dels: r.dels}
		if len(w.buried) > 0 {
			c.dead = w.dead
		}
		row, err := c.conflict(r, op, keys, before)
		if err != nil {
			return wrap(u.index.Def.Name, err)
		}
		if row >= 0 {
			return duplicateKey(ts.Table.Def, u.index.Def, u.keyOf(op.cols, row))
		}
	}
	return nil
}

// conflict returns a row of an operation whose key is there already, or -1. before is how many rows of the request come
// before the operation's.
func (c *uniqueCheck) conflict(r *request, op *insertOp, keys rowKeys, before int) (int, error) {
	u := c.u
	kept := u.index.Def.Ready && op.keeps(u.index.Def)
	if kept && len(r.ops) == 1 {
		return -1, nil
	}
	for row, hash := range keys.hashes {
		if row%ctxRows == 0 {
			if err := r.ctx.Err(); err != nil {
				return row, err
			}
		}
		if keys.nulls[row] {
			continue
		}
		if kept { // no other row has it, but one of the request may want it
			u.batch.add(hash, uint32(before+row))
			continue
		}
		for at := 0; op.rows+before > 1; {
			other, next, ok := u.batch.find(hash, at)
			if !ok {
				u.batch.add(hash, uint32(before+row))
				break
			}
			if sameKey(u.keyIn(r, op.table, int(other)), u.keyOf(op.cols, row)) {
				return row, nil
			}
			at = next
		}
		if !u.known.has(hash) {
			continue
		}
		if _, found, err := c.existing(hash, u.keyOf(op.cols, row)); err != nil || found {
			return row, err
		}
	}
	return -1, nil
}

// keeps reports whether the operation's rows are new versions of rows that go in the same commit, with the same keys.
func (op *insertOp) keeps(ix *catalog.Index) bool {
	return op.assigned != nil && !slices.ContainsFunc(op.assigned, func(a query.Assignment) bool {
		return slices.ContainsFunc(ix.Columns, func(c catalog.IndexColumn) bool { return c.Attno == a.Attno })
	})
}

// keyIn returns the key of a row of a request, numbered through the operations on a table.
func (u *uniqueIndex) keyIn(r *request, t *Table, row int) []value.Value {
	for i := range r.ops {
		if op := &r.ops[i]; op.table == t {
			if row < op.rows {
				return u.keyOf(op.cols, row)
			}
			row -= op.rows
		}
	}
	return nil
}

// live reports whether a row is there when the request's deletes are done.
func (c *uniqueCheck) live(row tid.TID) bool {
	if c.dead.Has(row) {
		return false
	}
	for i := range c.dels {
		if c.dels[i].table.id == c.ts.Table.Def.ID && c.dels[i].rows.Has(row) {
			return false
		}
	}
	return true
}

// view returns the rows of a segment that are in memory, those included that no version shows yet.
func (w *tableWriter) view(t *version.Table, segment uint64) (heap.Source, bool) {
	missing := heap.NewMissing(t.Def)
	if w.tail.Segment() == segment {
		return missing.Source(w.tail.View(w.tail.Len())), true
	}
	for _, sealed := range [][]version.Sealed{w.sealed, t.Sealed} {
		for _, s := range sealed {
			if s.Tail.Segment() == segment {
				return missing.Source(s.Tail.View(s.Rows)), true
			}
		}
	}
	return nil, false
}

// uniqueCheck looks for rows with a key.
type uniqueCheck struct {
	ctx  context.Context
	u    *uniqueIndex
	ts   version.TableSnapshot
	w    *tableWriter
	dead *tid.Dead
	dels []deleteOp // of the request
}

// existing returns a live row with a key. ok is false if there is none.
func (c *uniqueCheck) existing(hash uint64, key []value.Value) (t tid.TID, ok bool, err error) {
	for t := range c.u.candidates(hash) {
		if !c.live(t) {
			continue
		}
		src, ok := c.w.view(c.ts.Table, t.Segment())
		if !ok {
			continue
		}
		if same, err := c.u.same(c.ctx, src, t, key); err != nil || same {
			return t, same, err
		}
	}
	return c.flushed(hash, key)
}

// flushed returns a live row with a key in the runs.
func (c *uniqueCheck) flushed(hash uint64, key []value.Value) (t tid.TID, ok bool, err error) {
	for _, r := range runsOf(c.ts.Table, c.u.index) {
		f, err := r.filter()
		if err != nil {
			return 0, false, err
		}
		if f.Has(hash) {
			if t, ok, err := c.inRun(r.run, key); ok || err != nil {
				return t, ok, err
			}
		}
	}
	return 0, false, nil
}

// filteredRun is a run of the index with its filter.
type filteredRun struct {
	run    am.Run
	filter func() (*filter.Filter, error)
}

// runsOf returns the runs of a unique index.
func runsOf(t *version.Table, ix *version.Index) []filteredRun {
	var out []filteredRun
	for _, g := range t.Groups {
		if g.HasAny([]uint32{ix.Def.ID}) {
			for _, r := range g.Runs {
				out = append(out, filteredRun{r.Runs[ix.Def.ID], r.Filters[ix.Def.ID]})
			}
		}
	}
	return out
}

// inRun looks a key up in a run.
func (c *uniqueCheck) inRun(run am.Run, key []value.Value) (tid.TID, bool, error) {
	conds := make(am.Conditions, len(key))
	for i, v := range key {
		r := value.Equal(v)
		conds[i] = &r
	}
	b := tid.NewBuilder(run.Span().First, run.Span().End)
	if _, err := run.Bitmap(c.ctx, conds, b); err != nil {
		return 0, false, err
	}
	s := b.Set()
	defer s.Release()
	for t := range s.All() {
		if c.live(t) {
			return t, true, nil
		}
	}
	return 0, false, nil
}

// same reports whether a row in memory has a key.
func (u *uniqueIndex) same(ctx context.Context, src heap.Source, t tid.TID, key []value.Value) (bool, error) {
	var v value.Vector
	for i, c := range u.index.Def.Columns {
		v.Reset(c.Type)
		if err := src.Gather(ctx, c.Attno, []uint16{t.Offset()}, &v); err != nil {
			return false, err
		}
		if value.Compare(v.Value(0), key[i]) != 0 {
			return false, nil
		}
	}
	return true, nil
}

// duplicateKey is the error of a row whose key is there already.
func duplicateKey(t *catalog.Table, ix *catalog.Index, key []value.Value) error {
	return &Error{Kind: ErrConstraint, Code: pgerr.UniqueViolation, Object: ix.Name,
		Message: fmt.Sprintf("duplicate key value violates unique constraint %q", ix.Name),
		Detail:  keyDetail(t, ix, key) + " already exists."}
}

// keyDetail is PostgreSQL's way of showing a key: Key (a, b)=(1, x).
func keyDetail(t *catalog.Table, ix *catalog.Index, key []value.Value) string {
	names, vals := make([]string, len(key)), make([]string, len(key))
	for i, c := range ix.Columns {
		names[i] = t.Columns[t.Column(c.Attno)].Name
		vals[i] = key[i].String()
		if key[i].IsNull() {
			vals[i] = "null"
		}
	}
	return fmt.Sprintf("Key (%s)=(%s)", strings.Join(names, ", "), strings.Join(vals, ", "))
}
