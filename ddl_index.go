package wideleaf

import (
	"context"
	"fmt"
	"slices"

	"wideleaf/catalog"
	"wideleaf/pending"
	"wideleaf/pgerr"
	"wideleaf/store"
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
	Method  string // access method: "btree" (the default), "gin" or "rum"
	Columns []IndexColumn
	// Unique lets no two rows have one key; NULLs are all different, unless NullsNotDistinct makes them equal.
	Unique, NullsNotDistinct bool
	// PrimaryKey makes it the table's primary key: unique, of columns that are NOT NULL.
	PrimaryKey bool
	// Attach lets entries of columns carry other columns' values; for access method "rum". OrderByAttach keeps such entries
	// in the order of the values only, not in that of TIDs too: the index is smaller, but conditions on To alone read more.
	Attach        []Attach
	OrderByAttach bool
	IndexOptions
}

// IndexInfo is an index as it is.
type IndexInfo struct {
	IndexDef
	// PendingRows and PendingPages are its pending list at this moment: rows, and the pages that they would fill, where strings
	// are taken to have 16 bytes.
	PendingRows, PendingPages int64
	Rows                      int64 // entries in its runs
	Runs                      int
	Bytes                     int64 // of the runs of its column group, which share their files
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

// newIndex checks a definition and makes the index, without its numbers.
func (t *Table) newIndex(d IndexDef) (*version.Index, error) {
	def := t.def()
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
	if err := d.IndexOptions.check(d.Name); err != nil {
		return nil, err
	}
	unique := d.Unique || d.PrimaryKey
	if unique && !ab.Unique {
		return nil, &Error{Kind: ErrInvalid, Code: pgerr.FeatureNotSupported, Object: d.Name, Message: fmt.Sprintf("access method %q does not support unique indexes", d.Method)}
	}
	ix := &catalog.Index{TableID: t.id, Name: d.Name, Method: d.Method,
		Unique: unique, NullsNotDistinct: d.NullsNotDistinct, Primary: d.PrimaryKey}
	d.IndexOptions.apply(ix)
	for _, c := range d.Columns {
		if c.Name == ctid {
			return nil, &Error{Kind: ErrInvalid, Code: pgerr.FeatureNotSupported, Object: c.Name, Message: "index creation on system columns is not supported"}
		}
		i := def.Named(c.Name)
		if i < 0 {
			return nil, &Error{Kind: ErrNotFound, Code: pgerr.UndefinedColumn, Object: c.Name, Message: fmt.Sprintf("column %q does not exist", c.Name)}
		}
		nullsFirst := c.Desc
		if c.NullsFirst != nil {
			nullsFirst = *c.NullsFirst
		}
		ix.Columns = append(ix.Columns, catalog.IndexColumn{
			Attno: def.Columns[i].Attno, Type: def.Columns[i].Type, Desc: c.Desc, NullsFirst: nullsFirst})
	}
	if err := d.attach(def, ix, ab.Attach); err != nil {
		return nil, err
	}
	return &version.Index{Def: ix, Method: m}, nil
}

// registerIndexes gives indexes their numbers and groups and makes them known, not ready for queries: from then on every
// flush writes their runs, and commits are checked for their keys.
func (db *DB) registerIndexes(ctx context.Context, t *Table, indexes []*version.Index) ([]uint32, error) {
	ids := make([]uint32, len(indexes))
	register := func(*commitGroup) error {
		if t.w.dropped {
			return notFoundTable(t.Name())
		}
		return db.pool.Publish(func() error {
			db.mu.Lock()
			defer db.mu.Unlock()
			for i, ix := range indexes {
				for _, c := range ix.Def.Columns {
					if t.def().Column(c.Attno) < 0 {
						return changedMeanwhile(ix.Def.Name)
					}
				}
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
					// Its mini-runs lack the new index: their rows wait again.
					vt.Groups[i] = &version.Group{ID: g.ID, Indexes: append(slices.Clip(g.Indexes), ix), Runs: g.Runs}
				}
			})
			t.indexesChanged()
			return nil
		})
	}
	return ids, db.between(ctx, register)
}

// changedMeanwhile is the error of an index whose column was dropped while it was being created.
func changedMeanwhile(index string) error {
	return &Error{Kind: ErrConflict, Code: pgerr.ObjectInUse, Object: index,
		Message: fmt.Sprintf("could not create index %q: its table was altered meanwhile", index)}
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
	def := ts.Table.Def
	for _, ix := range indexes {
		for _, c := range ix.Def.Columns {
			if def.Column(c.Attno) < 0 {
				return changedMeanwhile(ix.Def.Name)
			}
		}
		limits.limitKeys(def, ix)
	}
	if len(limits.keys) == 0 {
		return nil
	}
	q := queryTable(ts)
	for _, src := range q.Sources[q.Flushed:] {
		for i := range limits.keys {
			k := &limits.keys[i]
			cols := make([]*value.Vector, len(def.Columns))
			for _, c := range k.cols {
				cols[c] = &value.Vector{Type: def.Columns[c].Type}
				if err := src.Column(ctx, def.Columns[c].Attno, cols[c]); err != nil {
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

// replaceIndexes puts indexes with other definitions in the place of those with their IDs.
func replaceIndexes(t *version.Table, by map[uint32]*version.Index) {
	t.Groups = slices.Clone(t.Groups)
	for i, g := range t.Groups {
		indexes := slices.Clone(g.Indexes)
		for j, ix := range indexes {
			if r := by[ix.Def.ID]; r != nil {
				indexes[j] = r
			}
		}
		t.Groups[i] = &version.Group{ID: g.ID, Indexes: indexes, Runs: g.Runs, Minis: g.Minis}
	}
}

// removeIndexes takes indexes out. The pages of a group are free when its last index goes; those of one index among
// others at the group's next merge.
func (db *DB) removeIndexes(ctx context.Context, t *Table, ids []uint32) error {
	return db.between(ctx, func(*commitGroup) error {
		return db.pool.Publish(func() error {
			ts, err := t.acquire()
			if err != nil {
				return err
			}
			defer ts.Release()
			var pub store.Publication
			drop := dropIndexes(ts.Table, ids, &pub)
			if err := db.store.Publish(pub); err != nil {
				return err
			}
			db.versions.Change(func(e *version.Edit) { drop.edit(e, e.Table(t.id)) })
			drop.forget(t)
			return nil
		})
	})
}

// indexDrop is the removal of indexes of a table.
type indexDrop struct {
	ids     []uint32
	names   []string
	retired []uint64 // SSTs of groups of which nothing is left
}

// dropIndexes adds to pub what takes indexes out; edit and forget do the rest when that is published.
func dropIndexes(t *version.Table, ids []uint32, pub *store.Publication) indexDrop {
	d := indexDrop{ids: ids}
	for _, g := range t.Groups {
		left := len(g.Indexes)
		for _, ix := range g.Indexes {
			if slices.Contains(ids, ix.Def.ID) {
				pub.Delete = append(pub.Delete, version.IndexKey(ix.Def.ID))
				d.names = append(d.names, ix.Def.Name)
				left--
			}
		}
		if left == 0 {
			for _, r := range g.Runs {
				pub.Delete = append(pub.Delete, r.Record.Key())
				d.retired = append(d.retired, r.Record.Ordinal)
			}
		}
	}
	return d
}

// edit takes the indexes out of the next version.
func (d indexDrop) edit(e *version.Edit, t *version.Table) {
	if len(d.ids) == 0 {
		return
	}
	var groups []*version.Group
	for _, g := range t.Groups {
		indexes := slices.DeleteFunc(slices.Clone(g.Indexes), func(ix *version.Index) bool {
			return slices.Contains(d.ids, ix.Def.ID)
		})
		if len(indexes) > 0 {
			groups = append(groups, &version.Group{ID: g.ID, Indexes: indexes, Runs: g.Runs, Minis: g.Minis})
		}
	}
	t.Groups = groups
	for _, o := range d.retired {
		e.Retire(o)
	}
}

// forget frees the indexes' names and no longer checks their keys.
func (d indexDrop) forget(t *Table) {
	t.db.mu.Lock()
	for _, n := range d.names {
		delete(t.db.indexes, n)
	}
	t.db.mu.Unlock()
	t.indexesChanged()
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
	t, ix := db.findIndex(name)
	if t == nil {
		return db.noIndex(name, "Use DROP TABLE to remove a table.")
	}
	return wrap(name, db.removeIndexes(ctx, t, []uint32{ix.Def.ID}))
}

// noIndex is the error of a name that no index has.
func (db *DB) noIndex(name, hint string) error {
	if db.hasTable(name) {
		return wrongObject(name, "an index", hint)
	}
	return &Error{Kind: ErrNotFound, Code: pgerr.UndefinedObject, Object: name, Message: fmt.Sprintf("index %q does not exist", name)}
}

// findIndex returns an index that queries may use and its table, which is nil if there is none.
func (db *DB) findIndex(name string) (*Table, *version.Index) {
	db.mu.RLock()
	id, ok := db.indexes[name]
	db.mu.RUnlock()
	if ok {
		for _, t := range db.Tables() {
			for _, ix := range t.indexes() {
				if ix.Def.ID == id && ix.Def.Ready {
					return t, ix
				}
			}
		}
	}
	return nil, nil
}

func (db *DB) hasTable(name string) bool {
	db.mu.RLock()
	defer db.mu.RUnlock()
	return db.tables[name] != nil
}

// RenameIndex gives an index another name.
//
// Errors: 42P01 when there is no such index, 42P07 when the new name is taken.
func (db *DB) RenameIndex(ctx context.Context, name, to string) error {
	if err := db.writable(); err != nil {
		return err
	}
	defer db.leave()
	if err := checkName("index", to); err != nil {
		return err
	}
	t, ix := db.findIndex(name)
	if t == nil {
		if db.hasTable(name) {
			return wrongObject(name, "an index", "")
		}
		return notFoundTable(name) // PostgreSQL, too, calls it a relation
	}
	id := ix.Def.ID
	return t.alter(ctx, func(a *alteration) error {
		db.mu.Lock()
		defer db.mu.Unlock()
		if db.indexes[name] != id {
			return notFoundTable(name)
		}
		if err := db.nameFree(to); err != nil {
			return err
		}
		for _, g := range a.ts.Table.Groups {
			for _, ix := range g.Indexes {
				if ix.Def.ID != id {
					continue
				}
				def := *ix.Def
				def.Name = to
				rec, err := version.EncodeIndex(&def)
				if err != nil {
					return err
				}
				a.pub.Put = append(a.pub.Put, store.Record{Key: version.IndexKey(id), Value: rec})
				by := map[uint32]*version.Index{id: {Def: &def, Method: ix.Method}}
				a.edit = func(_ *version.Edit, vt *version.Table) { replaceIndexes(vt, by) }
			}
		}
		a.done = func() {
			db.mu.Lock()
			defer db.mu.Unlock()
			delete(db.indexes, name)
			db.indexes[to] = id
		}
		return nil
	})
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
	if t == nil || t.db == nil {
		return nil
	}
	ts, ok := t.db.versions.AcquireTable(t.id)
	if !ok {
		return nil
	}
	defer ts.Release()
	def := ts.Table.Def
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
			info := IndexInfo{IndexDef: IndexDef{Name: ix.Def.Name, Method: ix.Def.Method, IndexOptions: optionsOf(ix.Def),
				Unique: ix.Def.Unique, NullsNotDistinct: ix.Def.NullsNotDistinct, PrimaryKey: ix.Def.Primary, Attach: attachOf(def, ix.Def), OrderByAttach: ix.Def.OrderByAttach}, Runs: len(g.Runs), Bytes: bytes}
			info.PendingRows = g.PendingRows(ts.Table, ts.Visible())
			info.PendingPages = pending.EstimatePages(pending.IndexColumns(ix.Def), info.PendingRows)
			for _, c := range ix.Def.Columns {
				nf := c.NullsFirst
				info.Columns = append(info.Columns, IndexColumn{def.Columns[def.Column(c.Attno)].Name, c.Desc, &nf})
			}
			for _, r := range g.Runs {
				info.Rows += int64(r.Runs[ix.Def.ID].Meta().Rows)
			}
			out = append(out, info)
		}
	}
	return out
}
