package wideleaf

import (
	"context"
	"errors"
	"slices"

	"wideleaf/am/filter"
	"wideleaf/catalog"
	"wideleaf/pgerr"
	"wideleaf/query"
	"wideleaf/query/sql"
	"wideleaf/tid"
	"wideleaf/value"
	"wideleaf/version"
)

// OnConflict says what an insert does with rows whose key is there already, as SQL's ON CONFLICT.
type OnConflict struct {
	// Index is the unique index whose keys count. Empty: any of the table's, which DO NOTHING only allows.
	Index string
	// Set makes it DO UPDATE: what follows SET in SQL, where excluded.name is the value that was to be inserted, such as
	// "hits = hits + excluded.hits". Empty: DO NOTHING.
	Set string
}

// InsertOnConflict commits the rows of a batch as InsertBatch does, but for those whose key is there already: these are left
// out, or update the row that is there. It returns how many rows were inserted and how many updated.
//
// Errors, besides those of InsertBatch and UpdateWhere: 21000 when DO UPDATE would change a row twice, or one that it has
// inserted; 42P10 when there is no such unique index; 23505 for the key of a unique index that doesn't count.
func (t *Table) InsertOnConflict(ctx context.Context, b *Batch, oc OnConflict, opts ...CommitOption) (inserted, updated int64, err error) {
	if err := t.writable(); err != nil {
		return 0, 0, err
	}
	db := t.db
	defer db.leave()
	ctx, done := db.during(ctx)
	defer done()
	u := &upsert{t: t, b: b, oc: oc}
	defer func() {
		if err = db.cause(ctx, t.Name(), err); err != nil {
			inserted, updated = 0, 0
		}
	}()
	if err := ctx.Err(); err != nil {
		return 0, 0, err
	}
	for range attempts {
		var r request
		if err := u.plan(ctx, &r); err != nil {
			return 0, 0, err
		}
		if err := db.change(ctx, r.ops, r.dels, opts); !u.again(err) {
			return u.inserted, u.updated, err
		}
	}
	if err := db.admit(ctx); err != nil {
		return 0, 0, err
	}
	err = db.between(ctx, func(*commitGroup) error {
		r := &request{ctx: ctx, sync: syncs(opts)}
		if err := u.plan(ctx, r); err != nil || len(r.ops) == 0 {
			return err
		}
		defer release(r.ops)
		db.committer.commitRows([]*request{r})
		return r.err
	})
	return u.inserted, u.updated, err
}

// upsert is an INSERT ... ON CONFLICT in the making.
type upsert struct {
	t  *Table
	b  *Batch
	oc OnConflict

	arbiters          []*version.Index
	inserted, updated int64
}

// again reports whether others have changed what an attempt was based on.
func (u *upsert) again(err error) bool {
	if err == errMoved || err == errAltered {
		return true
	}
	var e *Error
	return errors.As(err, &e) && e.Code == pgerr.UniqueViolation &&
		slices.ContainsFunc(u.arbiters, func(ix *version.Index) bool { return ix.Def.Name == e.Object })
}

// plan looks for conflicts with the table as it is now and puts what is to be done into r.
func (u *upsert) plan(ctx context.Context, r *request) error {
	u.inserted, u.updated = 0, 0
	var whole insertOp
	n, err := u.t.op(ctx, u.b, &whole)
	if err != nil || n == 0 {
		return err
	}
	defer whole.release()
	ts, err := u.t.acquire()
	if err != nil {
		return err
	}
	defer ts.Release()
	def := ts.Table.Def
	if err := u.findArbiters(ts); err != nil {
		return err
	}
	set, err := u.bind(def)
	if err != nil {
		return err
	}
	fresh := make([]bool, n) // to be inserted
	for i := range fresh {
		fresh[i] = true
	}
	hit := map[tid.TID]int{} // row of the table to row of the batch
	for _, ix := range u.arbiters {
		k, err := newKeySearch(ctx, ts, ix, whole.cols)
		if err != nil {
			return err
		}
		if row := k.repeated(); row >= 0 && u.oc.Set != "" {
			return u.twice()
		}
		for row := range k.repeats {
			fresh[row] = false
		}
		found, err := k.find(ctx)
		if err != nil {
			return err
		}
		for row, at := range found {
			fresh[row] = false
			hit[at] = row
		}
	}
	if u.oc.Set != "" && len(hit) > 0 {
		if err := u.update(ctx, ts, r, whole.cols, hit, set); err != nil {
			return err
		}
	}
	return u.insert(ctx, def, r, whole.cols, fresh)
}

func (u *upsert) twice() error {
	return &Error{Kind: ErrInvalid, Code: pgerr.CardinalityViolation, Object: u.t.Name(),
		Message: "ON CONFLICT DO UPDATE command cannot affect row a second time",
		Hint:    "Ensure that no rows proposed for insertion within the same command have duplicate constrained values."}
}

// findArbiters finds the unique indexes whose keys count.
func (u *upsert) findArbiters(ts version.TableSnapshot) error {
	u.arbiters = nil
	for _, g := range ts.Table.Groups {
		for _, ix := range g.Indexes {
			if ix.Def.Unique && ix.Def.Ready && (u.oc.Index == "" || ix.Def.Name == u.oc.Index) {
				u.arbiters = append(u.arbiters, ix)
			}
		}
	}
	switch {
	case u.oc.Index == "" && u.oc.Set != "":
		return &Error{Kind: ErrInvalid, Code: pgerr.SyntaxError, Object: ts.Table.Def.Name,
			Message: "ON CONFLICT DO UPDATE requires inference specification or constraint name", Hint: "Name a unique index."}
	case u.oc.Index != "" && len(u.arbiters) == 0:
		return &Error{Kind: ErrInvalid, Code: pgerr.InvalidColumnReference, Object: u.oc.Index,
			Message: "there is no unique or exclusion constraint matching the ON CONFLICT specification"}
	}
	return nil
}

func (u *upsert) bind(def *catalog.Table) ([]query.Assignment, error) {
	if u.oc.Set == "" {
		return nil, nil
	}
	parsed, err := sql.ParseAssignments(u.oc.Set)
	if err != nil {
		return nil, err
	}
	return query.BindConflictAssignments(parsed, def)
}

// update puts the new versions of the rows that are there into r.
func (u *upsert) update(ctx context.Context, ts version.TableSnapshot, r *request, cols []*value.Vector, hit map[tid.TID]int, set []query.Assignment) error {
	at := make([]tid.TID, 0, len(hit))
	for t := range hit {
		at = append(at, t)
	}
	rows := tid.Of(at...)
	defer rows.Release()
	excluded := make([]*value.Vector, len(cols))
	for i, c := range cols {
		if err := ctx.Err(); err != nil {
			return err
		}
		excluded[i] = new(value.Vector)
		excluded[i].Reset(c.Type)
		for t := range rows.All() {
			excluded[i].Append(c.Value(hit[t]))
		}
	}
	def := ts.Table.Def
	next, err := updated(ctx, queryTable(ts), rows, set, excluded)
	if err != nil {
		return err
	}
	op, err := u.t.updateOp(ctx, def, next, len(at))
	if err != nil {
		return err
	}
	op.assigned = set
	r.dels = append(r.dels, deleteOp{table: u.t, def: def, rows: rows.Dead()})
	r.ops = append(r.ops, op)
	u.updated = int64(len(at))
	return nil
}

// insert puts the rows of the batch that are to be inserted into r.
func (u *upsert) insert(ctx context.Context, def *catalog.Table, r *request, cols []*value.Vector, fresh []bool) error {
	rows := make([]*value.Vector, len(cols))
	for i, c := range cols {
		if err := ctx.Err(); err != nil {
			return err
		}
		rows[i] = new(value.Vector)
		rows[i].Reset(c.Type)
		for row, ok := range fresh {
			if ok {
				rows[i].Append(c.Value(row))
			}
		}
	}
	n := rows[0].N
	if n == 0 {
		return nil
	}
	op, err := u.t.updateOp(ctx, def, rows, n)
	if err != nil {
		release(r.ops)
		r.ops = nil
		return err
	}
	r.ops = append(r.ops, op)
	u.inserted = int64(n)
	return nil
}

// keySearch looks for the rows of a table that have the keys of a batch in a unique index.
type keySearch struct {
	ts      version.TableSnapshot
	u       *uniqueIndex
	cols    []*value.Vector
	keys    rowKeys
	rows    keyTable // of the batch
	repeats map[int]bool
}

func newKeySearch(ctx context.Context, ts version.TableSnapshot, ix *version.Index, cols []*value.Vector) (*keySearch, error) {
	k := &keySearch{ts: ts, cols: cols, repeats: map[int]bool{}, u: &uniqueIndex{index: ix, hash: filter.NewHasher(ix.Def, ix.Method)}}
	for _, c := range ix.Def.Columns {
		k.u.cols = append(k.u.cols, ts.Table.Def.Column(c.Attno))
	}
	k.keys = k.u.keysOf(cols)
	k.rows.reset(len(k.keys.hashes))
	for row, hash := range k.keys.hashes {
		if row%ctxRows == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if k.keys.nulls[row] {
			continue
		}
		if _, ok := k.rowOf(hash, k.u.keyOf(cols, row)); ok {
			k.repeats[row] = true
		} else {
			k.rows.add(hash, uint32(row))
		}
	}
	return k, nil
}

// repeated returns a row whose key an earlier one of the batch has, or -1.
func (k *keySearch) repeated() int {
	for row := range k.repeats {
		return row
	}
	return -1
}

// rowOf returns the row of the batch with a key.
func (k *keySearch) rowOf(hash uint64, key []value.Value) (int, bool) {
	for at := 0; ; {
		row, next, ok := k.rows.find(hash, at)
		if !ok {
			return 0, false
		}
		if sameKey(k.u.keyOf(k.cols, int(row)), key) {
			return int(row), true
		}
		at = next
	}
}

// find returns the table's row for each row of the batch whose key is there.
func (k *keySearch) find(ctx context.Context) (map[int]tid.TID, error) {
	found := map[int]tid.TID{}
	c := uniqueCheck{ctx: ctx, u: k.u, ts: k.ts, dead: k.ts.Dead()}
	for row, hash := range k.keys.hashes {
		if row%ctxRows == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if k.keys.nulls[row] || k.repeats[row] {
			continue
		}
		at, ok, err := c.flushed(hash, k.u.keyOf(k.cols, row))
		if err != nil {
			return nil, err
		}
		if ok {
			found[row] = at
		}
	}
	return found, k.inTails(ctx, found)
}

// inTails looks in the rows that are not flushed: those whose first key column has a value of the batch are compared.
func (k *keySearch) inTails(ctx context.Context, found map[int]tid.TID) error {
	first := k.cols[k.u.cols[0]]
	var want value.Ranges
	var words []value.Interval
	var strings []value.StringInterval
	for row := range k.keys.hashes {
		r := value.Equal(first.Value(row))
		want.Nulls = want.Nulls || r.Nulls
		words, strings = append(words, r.Words...), append(strings, r.Strings...)
	}
	if len(words) > 0 {
		want.Words = value.OfIntervals(words...).Words
	}
	if len(strings) > 0 {
		want.Strings = value.OfStringIntervals(strings...).Strings
	}
	ix := k.u.index.Def
	dead := k.ts.Dead()
	bits := tid.NewBits()
	defer bits.Release()
	for _, src := range tailsOf(k.ts) {
		*bits = tid.Bits{}
		if err := src.Select(ctx, ix.Columns[0].Attno, want, nil, bits[:(src.Rows()+63)>>6]); err != nil {
			return err
		}
		offs := bits.AppendOffsets(nil, 0, src.Rows())
		if len(offs) == 0 {
			continue
		}
		key := make([]*value.Vector, len(ix.Columns))
		for i, c := range ix.Columns {
			key[i] = new(value.Vector)
			key[i].Reset(c.Type)
			if err := src.Gather(ctx, c.Attno, offs, key[i]); err != nil {
				return err
			}
		}
		keys := k.u.hashRows(key)
		vals := make([]value.Value, len(key))
		for i, o := range offs {
			at := tid.New(src.Number(), o)
			if keys.nulls[i] || dead.Has(at) {
				continue
			}
			for c := range key {
				vals[c] = key[c].Value(i)
			}
			if row, ok := k.rowOf(keys.hashes[i], vals); ok {
				found[row] = at
			}
		}
	}
	return nil
}
