package wideleaf

import (
	"context"
	"fmt"
	"slices"

	"wideleaf/am"
	"wideleaf/catalog"
	"wideleaf/pending"
	"wideleaf/store"
	"wideleaf/tid"
	"wideleaf/vacuum"
	"wideleaf/version"
)

// IndexOptions are what can be changed of an index, named as PostgreSQL's storage parameters. A nil field leaves what is.
type IndexOptions struct {
	// FastUpdate lets new rows wait in the pending list, where queries search them linearly, half a nanosecond a row and
	// column, until they are over PendingListLimit or their segment is flushed. Off: the commit takes them up, in portions of
	// 512 rows. Default on.
	FastUpdate *bool
	// PendingListLimit is gin_pending_list_limit, in bytes of the rows' keys: a longer list is taken up into sorted runs in
	// the background, when nothing more urgent is due. At 64 times the limit writers wait, until some of it is done or their
	// context ends; from three quarters of that on they are slowed. 0: Options.PendingListLimit. From 64 KiB to 2 TiB.
	PendingListLimit *int64
}

// Bounds of gin_pending_list_limit: PostgreSQL's, which counts in kB.
const (
	minPendingListLimit = 64 << 10
	maxPendingListLimit = (1<<31 - 1) << 10
)

func (o IndexOptions) check(index string) error {
	if o.PendingListLimit == nil || *o.PendingListLimit == 0 ||
		*o.PendingListLimit >= minPendingListLimit && *o.PendingListLimit <= maxPendingListLimit {
		return nil
	}
	return &Error{Kind: ErrInvalid, Code: codeInvalidParameter, Object: index,
		Message: fmt.Sprintf("value %d bytes out of bounds for option \"gin_pending_list_limit\"", *o.PendingListLimit),
		Detail:  fmt.Sprintf("Valid values are between %d and %d bytes.", minPendingListLimit, int64(maxPendingListLimit))}
}

// apply sets the options in a definition.
func (o IndexOptions) apply(ix *catalog.Index) {
	if o.FastUpdate != nil {
		ix.NoFastUpdate = !*o.FastUpdate
	}
	if o.PendingListLimit != nil {
		ix.PendingListLimit = *o.PendingListLimit
	}
}

// optionsOf is what a definition has set.
func optionsOf(ix *catalog.Index) IndexOptions {
	fast, limit := !ix.NoFastUpdate, ix.PendingListLimit
	return IndexOptions{FastUpdate: &fast, PendingListLimit: &limit}
}

// AlterIndex changes options of an index while it is in use. Rows that wait in its pending list are taken up from the next
// commits on, if that is what the options now ask for; CleanPendingList does it at once.
func (db *DB) AlterIndex(ctx context.Context, name string, o IndexOptions) error {
	if err := db.writable(); err != nil {
		return err
	}
	defer db.leave()
	if err := ctx.Err(); err != nil {
		return wrap(name, err)
	}
	if err := o.check(name); err != nil {
		return err
	}
	return wrap(name, db.between(ctx, func(*commitGroup) error {
		return db.pool.Publish(func() error {
			t, ix := db.findIndex(name)
			if t == nil {
				return db.noIndex(name, "")
			}
			def := *ix.Def
			o.apply(&def)
			return t.redefineIndex(&def, ix.Method)
		})
	}))
}

// redefineIndex gives an index another definition. The leader calls it, with the pool's publish lock held.
func (t *Table) redefineIndex(def *catalog.Index, m am.Method) error {
	rec, err := version.EncodeIndex(def)
	if err != nil {
		return err
	}
	if err := t.db.store.Publish(store.Publication{Put: []store.Record{{Key: version.IndexKey(def.ID), Value: rec}}}); err != nil {
		return err
	}
	t.db.versions.Change(func(e *version.Edit) {
		replaceIndexes(e.Table(t.id), map[uint32]*version.Index{def.ID: {Def: def, Method: m}})
	})
	t.indexesChanged()
	return nil
}

// CleanPendingList takes all rows that wait in the pending list of an index up, PostgreSQL's gin_clean_pending_list, and
// returns how many pages of the list that freed: of those that package pageinspect shows, and counts in n_pending_pages. Rows committed meanwhile may wait again when it returns, and those for
// which there is no memory.
func (db *DB) CleanPendingList(ctx context.Context, index string) (pages int64, err error) {
	if err := db.writable(); err != nil {
		return 0, err
	}
	defer db.leave()
	ctx, done := db.during(ctx)
	defer done()
	if err := ctx.Err(); err != nil {
		return 0, db.cause(ctx, index, err)
	}
	t, ix := db.findIndex(index)
	if t == nil {
		return 0, db.noIndex(index, "")
	}
	ts, err := t.acquire()
	if err != nil {
		return 0, err
	}
	active, rows := ts.Table.Active.Tail.Segment(), ts.Visible()
	ts.Release()
	end := tid.New(active, 0) + tid.TID(rows)
	before, err := t.pendingPages(ctx, ix, end)
	if err != nil || before == 0 {
		return 0, db.cause(ctx, index, err)
	}
	has := func(g *version.Group) bool { return g.HasAny([]uint32{ix.Def.ID}) }
	var failed error
	err = db.pool.Wait(ctx, func() bool {
		if failed = db.pool.SortPending(t.id, has); failed != nil {
			return true
		}
		ts, ok := db.versions.AcquireTable(t.id)
		if !ok {
			return true
		}
		defer ts.Release()
		// Sealed tails are being flushed; the rest of the list is in mini-runs, or in a tail that was sealed since.
		for _, s := range ts.Table.Sealed {
			if s.Tail.Segment() <= active {
				return false
			}
		}
		if ts.Table.Active.Tail.Segment() != active {
			return true
		}
		return !slices.ContainsFunc(ts.Table.Groups, func(g *version.Group) bool {
			return has(g) && g.Sorted(active) < rows && vacuum.MaySort(ts.Table, g)
		})
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return 0, db.cause(ctx, index, err)
	}
	after, err := t.pendingPages(ctx, ix, end)
	return max(before-after, 0), db.cause(ctx, index, err)
}

// pendingPages returns how many pages the rows before end in the pending list of an index fill.
func (t *Table) pendingPages(ctx context.Context, ix *version.Index, end tid.TID) (int64, error) {
	ts, err := t.acquire()
	if err != nil {
		return 0, err
	}
	defer ts.Release()
	for _, qi := range queryTable(ts).Indexes {
		if qi.Def.ID == ix.Def.ID {
			return qi.Pending.Before(end).Pages(ctx, pending.IndexColumns(ix.Def))
		}
	}
	return 0, nil
}

// sorting is when the leader looks after a table's pending rows.
type sorting struct {
	every int  // rows of the tail between two looks; 0: never
	next  int  // length of the tail at the next look
	now   bool // an index has fastupdate off
}

// indexesChanged tells the leader, who calls it, what it has to know of the table's indexes after one was created, changed
// or dropped.
func (t *Table) indexesChanged() {
	ts, ok := t.db.versions.AcquireTable(t.id)
	if !ok {
		return
	}
	defer ts.Release()
	t.w.keys = t.w.keys[:0]
	for _, g := range ts.Table.Groups {
		for _, ix := range g.Indexes {
			t.w.limitKeys(ts.Table.Def, ix)
		}
	}
	t.refreshUnique(ts)
	t.planSorting(ts.Table.Groups)
}

// planSorting sets when to look.
func (t *Table) planSorting(groups []*version.Group) {
	s := sorting{}
	for _, g := range groups {
		rowBytes, limit, now := vacuum.PendingLimit(g, t.db.o.PendingListLimit)
		if rowBytes == 0 {
			continue
		}
		every := int(min(limit/rowBytes, 1<<30)) + 1
		if now {
			every, s.now = vacuum.SortUnit, true
		}
		if s.every == 0 || every < s.every {
			s.every = every
		}
	}
	t.w.sorting = s
}

// sortPending looks after the pending rows of a table whose tail has come to the next look. The leader calls it when the
// rows are visible.
func (t *Table) sortPending() {
	t.w.sorting.next = t.w.tail.Len() + t.w.sorting.every
	if t.w.sorting.now {
		err := t.db.pool.SortPending(t.id, func(g *version.Group) bool {
			_, _, now := vacuum.PendingLimit(g, t.db.o.PendingListLimit)
			return now
		})
		if err != nil { // they stay where they are, and are found there
			t.db.o.Logger.Error("could not take up pending rows", "table", t.def().Name, "err", err)
		}
	}
	t.db.measurePressure()
	t.db.pool.Notify()
}
