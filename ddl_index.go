package wideleaf

import (
	"context"
	"fmt"
	"slices"

	"wideleaf/catalog"
	"wideleaf/pgerr"
	"wideleaf/store"
	"wideleaf/vacuum"
	"wideleaf/value"
	"wideleaf/version"
)

// IndexColumn is a key column of an index.
type IndexColumn struct {
	Name string
	Desc bool
	// NullsFirst places NULLs before all values; nil is PostgreSQL's default: last, and first when Desc.
	NullsFirst *bool
}

// IndexDef is what an index is to be.
type IndexDef struct {
	Name    string // 1 to 63 bytes, unique in the database
	Method  string // access method: "btree" (the default)
	Columns []IndexColumn
}

// IndexInfo is an index as it is.
type IndexInfo struct {
	IndexDef
	Rows  int64 // entries in its runs
	Runs  int
	Bytes int64 // of the runs of its column group, which share their files
}

// groupSize is how many indexes make a column group. A group is one file a flush and one job a merge: fewer would make
// more files, more would give the workers of a large machine too few jobs.
const groupSize = 32

// CreateIndex creates one index; see CreateIndexes.
func (db *DB) CreateIndex(ctx context.Context, table string, def IndexDef) error {
	return db.CreateIndexes(ctx, table, def)
}

// CreateIndexes creates indexes on a table, which may hold rows; reading and writing go on meanwhile. It returns when
// all are ready for queries. Indexes created by one call share files, so that creating many at once is better than one
// after the other on a filled table. On an error, or when the context ends, none is left.
func (db *DB) CreateIndexes(ctx context.Context, table string, defs ...IndexDef) error {
	t, err := db.Table(table)
	if err != nil {
		return err
	}
	return t.CreateIndexes(ctx, defs...)
}

// CreateIndexes creates indexes on the table; see DB.CreateIndexes.
func (t *Table) CreateIndexes(ctx context.Context, defs ...IndexDef) error {
	db, table := t.db, t.def().Name
	if err := db.writable(); err != nil {
		return err
	}
	defer db.leave()
	if len(defs) == 0 {
		return nil
	}
	ctx, done := db.during(ctx)
	defer done()
	if err := ctx.Err(); err != nil {
		return cause(ctx, table, err)
	}
	indexes := make([]*version.Index, len(defs))
	for i, d := range defs {
		var err error
		if indexes[i], err = t.newIndex(d); err != nil {
			return err
		}
	}
	ids, err := db.registerIndexes(t, indexes)
	if err != nil {
		return cause(ctx, table, err)
	}
	if err = t.checkPendingKeys(ctx, indexes); err == nil {
		db.pool.Notify()
		err = db.pool.Wait(ctx, func() bool { return !t.hasGaps(ids) })
	}
	if err == nil {
		err = db.readyIndexes(t, ids)
	}
	if err != nil {
		if undo := db.removeIndexes(t, ids); undo != nil {
			db.o.Logger.Error("could not remove a half-built index; the next open will", "table", table, "err", undo)
		}
		return cause(ctx, table, err)
	}
	return nil
}

// newIndex checks a definition and makes the index, without its numbers.
func (t *Table) newIndex(d IndexDef) (*version.Index, error) {
	if err := checkName("index", d.Name); err != nil {
		return nil, err
	}
	if d.Method == "" {
		d.Method = "btree"
	}
	m := methods[d.Method]
	if m == nil {
		return nil, &Error{Kind: ErrNotFound, Code: pgerr.UndefinedObject, Object: d.Method, Message: fmt.Sprintf("access method %q does not exist", d.Method)}
	}
	ab := m.Abilities()
	if len(d.Columns) == 0 {
		return nil, &Error{Kind: ErrInvalid, Code: pgerr.SyntaxError, Object: d.Name, Message: fmt.Sprintf("index %q must have at least one column", d.Name)}
	}
	if len(d.Columns) > 1 && !ab.MultiColumn {
		return nil, &Error{Kind: ErrInvalid, Code: pgerr.FeatureNotSupported, Object: d.Name, Message: fmt.Sprintf("access method %q does not support multicolumn indexes", d.Method)}
	}
	if len(d.Columns) > ab.MaxColumns {
		return nil, &Error{Kind: ErrInvalid, Code: pgerr.TooManyColumns, Object: d.Name, Message: fmt.Sprintf("cannot use more than %d columns in an index", ab.MaxColumns)}
	}
	ix := &catalog.Index{TableID: t.id, Name: d.Name, Method: d.Method}
	for _, c := range d.Columns {
		i := slices.IndexFunc(t.def().Columns, func(x catalog.Column) bool { return x.Name == c.Name })
		if i < 0 {
			return nil, &Error{Kind: ErrNotFound, Code: pgerr.UndefinedColumn, Object: c.Name, Message: fmt.Sprintf("column %q does not exist", c.Name)}
		}
		nullsFirst := c.Desc
		if c.NullsFirst != nil {
			nullsFirst = *c.NullsFirst
		}
		ix.Columns = append(ix.Columns, catalog.IndexColumn{
			Attno: t.def().Columns[i].Attno, Type: t.def().Columns[i].Type, Desc: c.Desc, NullsFirst: nullsFirst})
	}
	return &version.Index{Def: ix, Method: m}, nil
}

// registerIndexes gives indexes their numbers and groups and makes them known, not ready for queries: from then on every
// flush writes their runs, and commits are checked for their keys.
func (db *DB) registerIndexes(t *Table, indexes []*version.Index) ([]uint32, error) {
	ids := make([]uint32, len(indexes))
	register := func(*commitGroup) error {
		if t.w.dropped {
			return notFoundTable(t.def().Name)
		}
		return db.pool.Publish(func() error {
			db.mu.Lock()
			defer db.mu.Unlock()
			for i, ix := range indexes {
				if err := db.nameFree(ix.Def.Name); err != nil {
					return err
				}
				for _, o := range indexes[:i] {
					if o.Def.Name == ix.Def.Name {
						return &Error{Kind: ErrExists, Code: pgerr.DuplicateTable, Object: ix.Def.Name, Message: fmt.Sprintf("relation %q already exists", ix.Def.Name)}
					}
				}
			}
			last, room := db.openGroup(t)
			seq := db.sequence
			var pub store.Publication
			for i, ix := range indexes {
				seq++
				ix.Def.ID, ids[i] = seq, seq
				if room == 0 {
					seq++
					last, room = seq, groupSize
				}
				ix.Def.Group = last
				room--
				rec, err := version.EncodeIndex(ix.Def)
				if err != nil {
					return err
				}
				pub.Put = append(pub.Put, store.Record{Key: version.IndexKey(ix.Def.ID), Value: rec})
			}
			pub.Put = append(pub.Put, sequenceRecord(seq))
			if err := db.store.Publish(pub); err != nil {
				return err
			}
			db.sequence = seq
			for _, ix := range indexes {
				db.indexes[ix.Def.Name] = ix.Def.ID
				t.w.limitKeys(t.def(), ix)
			}
			db.versions.Change(func(e *version.Edit) {
				vt := e.Table(t.id)
				vt.Groups = slices.Clone(vt.Groups)
				for _, ix := range indexes {
					i := slices.IndexFunc(vt.Groups, func(g *version.Group) bool { return g.ID == ix.Def.Group })
					if i < 0 {
						i = len(vt.Groups)
						vt.Groups = append(vt.Groups, &version.Group{ID: ix.Def.Group})
					}
					g := vt.Groups[i]
					vt.Groups[i] = &version.Group{ID: g.ID, Indexes: append(slices.Clip(g.Indexes), ix), Runs: g.Runs}
				}
			})
			return nil
		})
	}
	return ids, db.between(register)
}

// openGroup returns a group of the table that new indexes may join, and how many: only one without runs, and while no
// sealed tail waits, whose flush might have begun without them. The leader calls it.
func (db *DB) openGroup(t *Table) (id uint32, room int) {
	ts, ok := db.versions.AcquireTable(t.id)
	if !ok {
		return 0, 0
	}
	defer ts.Release()
	if n := len(ts.Table.Groups); n > 0 && len(ts.Table.Segments) == 0 && len(ts.Table.Sealed) == 0 {
		g := ts.Table.Groups[n-1]
		return g.ID, max(groupSize-len(g.Indexes), 0)
	}
	return 0, 0
}

// checkPendingKeys refuses indexes that can't hold the keys of rows which are not flushed; of those that are, the
// builds find out, and of later ones their commits.
func (t *Table) checkPendingKeys(ctx context.Context, indexes []*version.Index) error {
	ts, err := t.acquire()
	if err != nil {
		return err
	}
	defer ts.Release()
	var limits tableWriter
	for _, ix := range indexes {
		limits.limitKeys(t.def(), ix)
	}
	if len(limits.keys) == 0 {
		return nil
	}
	q := queryTable(ts)
	for _, src := range q.Sources[q.Flushed:] {
		for i := range limits.keys {
			k := &limits.keys[i]
			cols := make([]*value.Vector, len(t.def().Columns))
			for _, c := range k.cols {
				cols[c] = &value.Vector{Type: t.def().Columns[c].Type}
				if err := src.Column(ctx, t.def().Columns[c].Attno, cols[c]); err != nil {
					return err
				}
			}
			if err := k.check(cols, src.Rows()); err != nil {
				return err
			}
		}
	}
	return nil
}

// hasGaps reports whether flushed segments lack runs of the groups of indexes being built.
func (t *Table) hasGaps(ids []uint32) bool {
	ts, ok := t.db.versions.AcquireTable(t.id)
	if !ok {
		return false
	}
	defer ts.Release()
	for _, g := range ts.Table.Groups {
		if g.HasAny(ids) && len(vacuum.Gaps(ts.Table, g)) > 0 {
			return true
		}
	}
	return false
}

// readyIndexes opens indexes to queries.
func (db *DB) readyIndexes(t *Table, ids []uint32) error {
	return db.pool.Publish(func() error {
		ts, err := t.acquire()
		if err != nil {
			return err
		}
		defer ts.Release()
		ready := map[uint32]*version.Index{}
		var pub store.Publication
		for _, g := range ts.Table.Groups {
			for _, ix := range g.Indexes {
				if !slices.Contains(ids, ix.Def.ID) {
					continue
				}
				def := *ix.Def
				def.Ready = true
				rec, err := version.EncodeIndex(&def)
				if err != nil {
					return err
				}
				pub.Put = append(pub.Put, store.Record{Key: version.IndexKey(def.ID), Value: rec})
				ready[def.ID] = &version.Index{Def: &def, Method: ix.Method}
			}
		}
		if err := db.store.Publish(pub); err != nil {
			return err
		}
		db.versions.Change(func(e *version.Edit) {
			vt := e.Table(t.id)
			vt.Groups = slices.Clone(vt.Groups)
			for i, g := range vt.Groups {
				if !g.HasAny(ids) {
					continue
				}
				indexes := slices.Clone(g.Indexes)
				for j, ix := range indexes {
					if r := ready[ix.Def.ID]; r != nil {
						indexes[j] = r
					}
				}
				vt.Groups[i] = &version.Group{ID: g.ID, Indexes: indexes, Runs: g.Runs}
			}
		})
		return nil
	})
}

// removeIndexes takes indexes out. The pages of a group are free when its last index goes; those of one index among
// others at the group's next merge.
func (db *DB) removeIndexes(t *Table, ids []uint32) error {
	return db.between(func(*commitGroup) error {
		return db.pool.Publish(func() error {
			ts, err := t.acquire()
			if err != nil {
				return err
			}
			defer ts.Release()
			var pub store.Publication
			var names []string
			var retired []uint64
			for _, g := range ts.Table.Groups {
				left := len(g.Indexes)
				for _, ix := range g.Indexes {
					if slices.Contains(ids, ix.Def.ID) {
						pub.Delete = append(pub.Delete, version.IndexKey(ix.Def.ID))
						names = append(names, ix.Def.Name)
						left--
					}
				}
				if left == 0 {
					for _, r := range g.Runs {
						pub.Delete = append(pub.Delete, r.Record.Key())
						retired = append(retired, r.Record.Ordinal)
					}
				}
			}
			if err := db.store.Publish(pub); err != nil {
				return err
			}
			db.mu.Lock()
			for _, n := range names {
				delete(db.indexes, n)
			}
			db.mu.Unlock()
			t.w.keys = slices.DeleteFunc(t.w.keys, func(k keyLimit) bool { return slices.Contains(ids, k.index.Def.ID) })
			db.versions.Change(func(e *version.Edit) {
				vt := e.Table(t.id)
				var groups []*version.Group
				for _, g := range vt.Groups {
					indexes := slices.DeleteFunc(slices.Clone(g.Indexes), func(ix *version.Index) bool {
						return slices.Contains(ids, ix.Def.ID)
					})
					if len(indexes) > 0 {
						groups = append(groups, &version.Group{ID: g.ID, Indexes: indexes, Runs: g.Runs})
					}
				}
				vt.Groups = groups
				for _, o := range retired {
					e.Retire(o)
				}
			})
			return nil
		})
	})
}

// DropIndex drops an index. Queries under way go on using it. Its space is free when its column group is next merged,
// or at once when it was the group's last index.
func (db *DB) DropIndex(ctx context.Context, name string) error {
	if err := db.writable(); err != nil {
		return err
	}
	defer db.leave()
	if err := ctx.Err(); err != nil {
		return wrap(name, err)
	}
	db.mu.RLock()
	id, ok := db.indexes[name]
	db.mu.RUnlock()
	if ok {
		for _, t := range db.Tables() {
			for _, ix := range t.indexes() {
				if ix.Def.ID == id && ix.Def.Ready {
					return wrap(name, db.removeIndexes(t, []uint32{id}))
				}
			}
		}
	}
	return &Error{Kind: ErrNotFound, Code: pgerr.UndefinedObject, Object: name, Message: fmt.Sprintf("index %q does not exist", name)}
}

// indexes returns the table's indexes, those being built included.
func (t *Table) indexes() []*version.Index {
	ts, ok := t.db.versions.AcquireTable(t.id)
	if !ok {
		return nil
	}
	defer ts.Release()
	var out []*version.Index
	for _, g := range ts.Table.Groups {
		out = append(out, g.Indexes...)
	}
	return out
}

// Indexes returns the table's indexes that queries may use, in the order of their creation.
func (t *Table) Indexes() []IndexInfo {
	ts, ok := t.db.versions.AcquireTable(t.id)
	if !ok {
		return nil
	}
	defer ts.Release()
	var out []IndexInfo
	for _, g := range ts.Table.Groups {
		var bytes int64
		for _, r := range g.Runs {
			bytes += int64(r.Record.Bytes)
		}
		for _, ix := range g.Indexes {
			if !ix.Def.Ready {
				continue
			}
			info := IndexInfo{IndexDef: IndexDef{Name: ix.Def.Name, Method: ix.Def.Method}, Runs: len(g.Runs), Bytes: bytes}
			for _, c := range ix.Def.Columns {
				nf := c.NullsFirst
				info.Columns = append(info.Columns, IndexColumn{t.def().Columns[t.def().Column(c.Attno)].Name, c.Desc, &nf})
			}
			for _, r := range g.Runs {
				info.Rows += int64(r.Runs[ix.Def.ID].Meta().Entries)
			}
			out = append(out, info)
		}
	}
	return out
}
