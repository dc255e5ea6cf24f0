package wideleaf

import (
	"context"
	"fmt"
	"slices"

	"wideleaf/catalog"
	"wideleaf/heap"
	"wideleaf/pgerr"
	"wideleaf/query"
	"wideleaf/store"
	"wideleaf/tid"
	"wideleaf/value"
	"wideleaf/version"
)

// Alterations change a table's definition between two commits. None rewrites a row: when columns come or go the tail is
// sealed, so that all rows of a segment are written with the same columns, and what a segment lacks is known from the
// definition (catalog.Table.Stored). A batch made before an alteration is fitted to the new definition when it is
// inserted; queries under way go on with the definition that they began with.

// alteration is a change of a table in the making.
type alteration struct {
	ts   version.TableSnapshot
	def  catalog.Table // a copy of the definition, to be changed; its slices are the alteration's own
	next uint64        // first segment without rows: the first that new columns are in
	pub  store.Publication
	edit func(e *version.Edit, t *version.Table) // what else is to be changed in the next version, if anything
	done func()                                  // to be called at the end, if there is anything left to do
}

// alter changes the table as f wants it. f is called between two commits, with no other structural change beside it.
func (t *Table) alter(ctx context.Context, f func(a *alteration) error) error {
	db := t.db
	if err := ctx.Err(); err != nil {
		return wrap(t.Name(), err)
	}
	return wrap(t.Name(), db.between(ctx, func(*commitGroup) error {
		return db.pool.Publish(func() error {
			ts, err := t.acquire()
			if err != nil {
				return err
			}
			defer ts.Release()
			w := &t.w
			a := &alteration{ts: ts, def: *t.def(), next: w.tail.Segment()}
			if w.tail.Len() > 0 {
				a.next++
			}
			a.def.Columns, a.def.Dropped = slices.Clone(a.def.Columns), slices.Clone(a.def.Dropped)
			if err := f(a); err != nil {
				return err
			}
			rec, err := version.EncodeTable(&a.def)
			if err != nil {
				return err
			}
			a.pub.Put = append(a.pub.Put, store.Record{Key: version.TableKey(t.id), Value: rec})
			if err := db.store.Publish(a.pub); err != nil {
				return err
			}
			t.altered(a)
			return nil
		})
	}))
}

// altered makes an alteration that was published the table's state.
func (t *Table) altered(a *alteration) {
	w := &t.w
	def := &a.def
	old := w.tail
	if def.Newest() > old.Segment() || def.Newest() == a.next && old.Len() == 0 {
		w.tail = heap.NewTail(def, a.next)
	}
	t.db.versions.Change(func(e *version.Edit) {
		vt := e.Table(t.id)
		vt.Def = def
		if w.tail != old {
			if old.Len() > 0 {
				vt.Sealed = append(slices.Clip(vt.Sealed), version.Sealed{Tail: old, Rows: old.Len()})
			}
			vt.Active = vt.Active.Next(w.tail)
		}
		if a.edit != nil {
			a.edit(e, vt)
		}
	})
	t.cur.Store(def)
	if a.done != nil {
		a.done()
	}
	t.indexesChanged()
	t.db.measurePressure()
	t.db.pool.Notify()
}

// column returns the column of a name.
func (a *alteration) column(name string) (*catalog.Column, error) {
	if i := a.def.Named(name); i >= 0 {
		return &a.def.Columns[i], nil
	}
	return nil, noColumn(a.def.Name, name)
}

func noColumn(table, name string) error {
	return &Error{Kind: ErrNotFound, Code: pgerr.UndefinedColumn, Object: name,
		Message: fmt.Sprintf("column %q of relation %q does not exist", name, table)}
}

// systemColumn refuses to do something with ctid.
func systemColumn(verb, name string) error {
	if name != ctid {
		return nil
	}
	return &Error{Kind: ErrInvalid, Code: pgerr.FeatureNotSupported, Object: name, Message: fmt.Sprintf("cannot %s system column %q", verb, name)}
}

// nullsIn is PostgreSQL's error for a column that is to be NOT NULL and can't be.
func nullsIn(table, column string) error {
	return &Error{Kind: ErrConstraint, Code: pgerr.NotNullViolation, Object: column,
		Message: fmt.Sprintf("column %q of relation %q contains null values", column, table)}
}

// AddColumns adds columns at the end of the table, at once: rows that are there are not rewritten, and have the
// columns' defaults as they are now, whatever becomes of the defaults.
//
// Errors: 42701 when there is a column of that name, 54011 when the table would have had more than 1,600 columns,
// dropped ones counted, 23502 for a NOT NULL column without a default in a table that has rows.
func (t *Table) AddColumns(ctx context.Context, cols ...Column) error {
	if err := t.writable(); err != nil {
		return err
	}
	defer t.db.leave()
	if len(cols) == 0 {
		return nil
	}
	return t.alter(ctx, func(a *alteration) error {
		if a.def.LastAttno()+len(cols) > catalog.MaxColumns {
			return tooManyColumns(a.def.Name)
		}
		for _, c := range cols {
			col, err := newColumn(c)
			if err != nil {
				return err
			}
			if a.def.Named(c.Name) >= 0 {
				return columnExists(a.def.Name, c.Name)
			}
			if col.NotNull && col.Default.IsNull() {
				rows, err := query.Count(ctx, queryTable(a.ts), &query.Pred{Kind: query.True})
				if err != nil {
					return err
				}
				if rows > 0 {
					return nullsIn(a.def.Name, c.Name)
				}
			}
			col.Attno, col.Missing, col.First = a.def.LastAttno()+1, col.Default, a.next
			a.def.Columns = append(a.def.Columns, col)
		}
		return nil
	})
}

func columnExists(table, name string) error {
	return &Error{Kind: ErrExists, Code: pgerr.DuplicateColumn, Object: name,
		Message: fmt.Sprintf("column %q of relation %q already exists", name, table)}
}

// DropColumns drops columns, at once, with all indexes that have one of them. The space of what is stored is not given
// back.
//
// Errors: 42703 for a column that is not there, 42P16 when none would be left.
func (t *Table) DropColumns(ctx context.Context, names ...string) error {
	if err := t.writable(); err != nil {
		return err
	}
	defer t.db.leave()
	if len(names) == 0 {
		return nil
	}
	return t.alter(ctx, func(a *alteration) error {
		gone := map[int]bool{}
		for _, name := range names {
			if err := systemColumn("drop", name); err != nil {
				return err
			}
			i := a.def.Named(name)
			if i < 0 {
				return noColumn(a.def.Name, name)
			}
			c := a.def.Columns[i]
			gone[c.Attno] = true
			a.def.Columns = slices.Delete(a.def.Columns, i, i+1)
			a.def.Dropped = append(a.def.Dropped, catalog.Dropped{Attno: c.Attno, Type: c.Type, First: c.First, End: a.next})
		}
		if len(a.def.Columns) == 0 {
			return noColumns(a.def.Name)
		}
		slices.SortFunc(a.def.Dropped, func(x, y catalog.Dropped) int { return x.Attno - y.Attno })
		var ids []uint32
		for _, g := range a.ts.Table.Groups {
			for _, ix := range g.Indexes {
				if slices.ContainsFunc(ix.Def.Columns, func(c catalog.IndexColumn) bool { return gone[c.Attno] }) {
					ids = append(ids, ix.Def.ID)
				}
			}
		}
		drop := dropIndexes(a.ts.Table, ids, &a.pub)
		a.edit, a.done = drop.edit, func() { drop.forget(t) }
		return nil
	})
}

// RenameColumn gives a column another name. Indexes of it stay as they are.
//
// Errors: 42703 when there is no such column, 42701 when the new name is taken.
func (t *Table) RenameColumn(ctx context.Context, name, to string) error {
	if err := t.writable(); err != nil {
		return err
	}
	defer t.db.leave()
	return t.alter(ctx, func(a *alteration) error {
		if err := systemColumn("rename", name); err != nil {
			return err
		}
		c, err := a.column(name)
		if err != nil {
			return &Error{Kind: ErrNotFound, Code: pgerr.UndefinedColumn, Object: name, Message: fmt.Sprintf("column %q does not exist", name)}
		}
		if err := checkColumnName(to); err != nil {
			return err
		}
		if a.def.Named(to) >= 0 {
			return columnExists(a.def.Name, to)
		}
		c.Name = to
		return nil
	})
}

// SetNotNull makes a column refuse NULL. It reads the column; writing goes on meanwhile.
//
// Errors: 23502 when the column contains NULL, 42703 when there is no such column.
func (t *Table) SetNotNull(ctx context.Context, column string) error {
	if err := t.writable(); err != nil {
		return err
	}
	defer t.db.leave()
	ctx, done := t.db.during(ctx)
	defer done()
	if err := systemColumn("alter", column); err != nil {
		return err
	}
	// First without holding up anybody, then what has been written since.
	ts, err := t.acquire()
	if err != nil {
		return err
	}
	def := ts.Table.Def
	seen, i := ts.Table.Active.Tail.Segment(), def.Named(column)
	if i < 0 {
		err = noColumn(def.Name, column)
	} else {
		err = noNulls(ctx, queryTable(ts), def.Columns[i])
	}
	ts.Release()
	if err != nil {
		return t.db.cause(ctx, t.Name(), err)
	}
	return t.db.cause(ctx, t.Name(), t.alter(ctx, func(a *alteration) error {
		c, err := a.column(column)
		if err != nil {
			return err
		}
		c.NotNull = true
		q := queryTable(a.ts)
		first := 0
		if c.Attno == def.Columns[i].Attno {
			for first < len(q.Sources) && q.Sources[first].Number() < seen {
				first++
			}
		}
		q.Sources, q.Flushed, q.Indexes = q.Sources[first:], 0, nil
		return noNulls(ctx, q, *c)
	}))
}

// noNulls fails when a column contains NULL.
func noNulls(ctx context.Context, t *query.Table, c catalog.Column) error {
	n, err := query.Count(ctx, t, &query.Pred{Kind: query.Column, Attno: c.Attno, Ranges: value.Ranges{Nulls: true}})
	if err == nil && n > 0 {
		err = nullsIn(t.Def.Name, c.Name)
	}
	return err
}

// DropNotNull makes a column accept NULL.
func (t *Table) DropNotNull(ctx context.Context, column string) error {
	return t.alterColumn(ctx, column, func(c *catalog.Column) error {
		if err := t.inPrimaryKey(c); err != nil {
			return err
		}
		c.NotNull = false
		return nil
	})
}

// SetDefault sets what later rows get in a column that they come without a value for, a Go value as Batch.Append takes
// it; nil is NULL, as it is without a default. Rows that are there stay as they are.
func (t *Table) SetDefault(ctx context.Context, column string, v any) error {
	return t.alterColumn(ctx, column, func(c *catalog.Column) (err error) {
		c.Default, err = defaultOf(v, *c)
		return err
	})
}

// alterColumn changes one column's definition, in what does not matter to rows that are there.
func (t *Table) alterColumn(ctx context.Context, column string, f func(c *catalog.Column) error) error {
	if err := t.writable(); err != nil {
		return err
	}
	defer t.db.leave()
	return t.alter(ctx, func(a *alteration) error {
		if err := systemColumn("alter", column); err != nil {
			return err
		}
		c, err := a.column(column)
		if err != nil {
			return err
		}
		return f(c)
	})
}

// Truncate removes all rows at once and gives their space back, when the last query that reads them has ended. Their
// TIDs are not used again.
func (t *Table) Truncate(ctx context.Context) error {
	if err := t.writable(); err != nil {
		return err
	}
	defer t.db.leave()
	return t.alter(ctx, func(a *alteration) error {
		w := &t.w
		a.def.First = a.next
		a.pub.DropRows = []store.RowRange{{Table: t.id, First: 0, End: tid.New(a.next, 0)}}
		a.pub.DropDeletes = []store.DeleteRange{{Table: t.id, First: 0, End: a.next}}
		a.pub.Delete = append(a.pub.Delete, deadKeys(a.ts)...)
		for _, s := range a.ts.Table.Segments {
			a.pub.Delete = append(a.pub.Delete, s.Record.Key())
		}
		for _, g := range a.ts.Table.Groups {
			for _, r := range g.Runs {
				a.pub.Delete = append(a.pub.Delete, r.Record.Key())
			}
		}
		a.edit = func(e *version.Edit, vt *version.Table) {
			for _, s := range vt.Segments {
				e.Retire(s.Record.Ordinal)
			}
			vt.Segments, vt.Sealed = nil, nil
			vt.Active = version.NewActive(w.tail, 0, nil)
			vt.Groups = slices.Clone(vt.Groups)
			for i, g := range vt.Groups {
				vt.Groups[i] = &version.Group{ID: g.ID, Indexes: g.Indexes}
				for _, r := range g.Runs {
					e.Retire(r.Record.Ordinal)
				}
			}
		}
		return nil
	})
}
