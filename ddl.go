package wideleaf

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"wideleaf/catalog"
	"wideleaf/heap"
	"wideleaf/pgerr"
	"wideleaf/store"
	"wideleaf/tid"
	"wideleaf/version"
)

// CreateTable creates an empty table with 1 to 1,600 columns.
//
// Errors: 42P07 when the name is taken (by an index, too: they share names), 42701 for two columns of one name, 54011
// for too many columns.
func (db *DB) CreateTable(ctx context.Context, name string, cols ...Column) (*Table, error) {
	if err := db.writable(); err != nil {
		return nil, err
	}
	defer db.leave()
	return db.createTable(ctx, name, cols, false)
}

// createTable creates a table; loading tells that it is to be found only when revealTable says so.
func (db *DB) createTable(ctx context.Context, name string, cols []Column, loading bool) (*Table, error) {
	if err := ctx.Err(); err != nil {
		return nil, wrap(name, err)
	}
	def := &catalog.Table{Name: name}
	if err := checkName("table", name); err != nil {
		return nil, err
	}
	switch {
	case len(cols) == 0:
		return nil, noColumns(name)
	case len(cols) > catalog.MaxColumns:
		return nil, tooManyColumns(name)
	}
	seen := map[string]bool{}
	for i, c := range cols {
		col, err := newColumn(c)
		if err != nil {
			return nil, err
		}
		if seen[c.Name] {
			return nil, twice(c.Name)
		}
		seen[c.Name] = true
		col.Attno = i + 1
		def.Columns = append(def.Columns, col)
	}
	var t *Table
	err := db.pool.Publish(func() error {
		db.mu.Lock()
		defer db.mu.Unlock()
		if err := db.nameFree(name); err != nil {
			return err
		}
		var pub store.Publication
		def.ID = db.sequence + 1
		rec, err := version.EncodeTable(def)
		if err != nil {
			return err
		}
		pub.Put = append(pub.Put, store.Record{Key: version.TableKey(def.ID), Value: rec}, sequenceRecord(def.ID))
		tables := db.tables
		if loading {
			pub.Put = append(pub.Put, store.Record{Key: version.LoadingKey(def.ID)})
			tables = db.loading
		}
		if err := db.store.Publish(pub); err != nil {
			return err
		}
		db.sequence = def.ID
		tail := heap.NewTail(def, 0)
		t = db.newTable(def, tableWriter{tail: tail})
		db.versions.Change(func(e *version.Edit) {
			e.Add(&version.Table{Def: def, Active: version.NewActive(tail, 0, nil)})
		})
		tables[name] = t
		return nil
	})
	if err != nil {
		return nil, wrap(name, err)
	}
	return t, nil
}

// ctid is the name of the system column that holds a row's TID.
const ctid = "ctid"

func noColumns(table string) error {
	return &Error{Kind: ErrInvalid, Code: pgerr.InvalidTableDefinition, Object: table, Message: fmt.Sprintf("table %q must have at least one column", table)}
}

func tooManyColumns(table string) error {
	return &Error{Kind: ErrInvalid, Code: pgerr.TooManyColumns, Object: table, Message: fmt.Sprintf("tables can have at most %d columns", catalog.MaxColumns)}
}

func twice(column string) error {
	return &Error{Kind: ErrExists, Code: pgerr.DuplicateColumn, Object: column, Message: fmt.Sprintf("column %q specified more than once", column)}
}

// newColumn checks a column's definition and makes the column, without its attno.
func newColumn(c Column) (catalog.Column, error) {
	col := catalog.Column{Name: c.Name, Type: c.Type, NotNull: c.NotNull}
	if err := checkColumnName(c.Name); err != nil {
		return col, err
	}
	if !c.Type.Valid() {
		return col, &Error{Kind: ErrInvalid, Code: pgerr.UndefinedObject, Object: c.Name, Message: fmt.Sprintf("column %q has the unknown type %q", c.Name, c.Type)}
	}
	var err error
	col.Default, err = defaultOf(c.Default, col)
	return col, err
}

// defaultOf returns a column's default, from a Go value; nil makes the zero Value.
func defaultOf(x any, c catalog.Column) (Value, error) {
	if x == nil {
		return Value{}, nil
	}
	v, err := valueOf(x, c)
	if err != nil {
		return Value{}, err
	}
	if v.IsNull() {
		return Value{}, nil
	}
	vec := &Vector{Type: c.Type}
	vec.Append(v)
	_, err = checkRows(context.Background(), &catalog.Table{Columns: []catalog.Column{c}}, []*Vector{vec}, 1)
	return v, err
}

func checkColumnName(name string) error {
	if name == ctid {
		return &Error{Kind: ErrInvalid, Code: pgerr.DuplicateColumn, Object: name, Message: fmt.Sprintf("column name %q conflicts with a system column name", name)}
	}
	return checkName("column", name)
}

func sequenceRecord(last uint32) store.Record {
	b, _ := json.Marshal(last) // a number always can be
	return store.Record{Key: version.SequenceKey(), Value: b}
}

// checkName refuses names that PostgreSQL would refuse or cut off.
func checkName(what, name string) error {
	switch {
	case name == "":
		return &Error{Kind: ErrInvalid, Code: pgerr.InvalidName, Message: fmt.Sprintf("a %s name must not be empty", what)}
	case len(name) > catalog.MaxNameBytes:
		return &Error{Kind: ErrInvalid, Code: pgerr.NameTooLong, Object: name, Message: fmt.Sprintf("identifier %q is too long: %d bytes, the maximum is %d", name, len(name), catalog.MaxNameBytes)}
	case !utf8.ValidString(name) || strings.ContainsRune(name, 0):
		return &Error{Kind: ErrInvalid, Code: pgerr.CharacterNotInRepertoire, Object: name, Message: fmt.Sprintf("the %s name %q is not valid UTF-8", what, name)}
	}
	return nil
}

// nameFree refuses a name that a table or index has. mu is held.
func (db *DB) nameFree(name string) error {
	_, index := db.indexes[name]
	if index || db.tables[name] != nil || db.loading[name] != nil {
		return &Error{Kind: ErrExists, Code: pgerr.DuplicateTable, Object: name, Message: fmt.Sprintf("relation %q already exists", name)}
	}
	return nil
}

// DropTable drops a table with its indexes. Queries under way go on reading it.
func (db *DB) DropTable(ctx context.Context, name string) error {
	if err := db.writable(); err != nil {
		return err
	}
	defer db.leave()
	if err := ctx.Err(); err != nil {
		return wrap(name, err)
	}
	return db.dropTable(ctx, name, db.tables)
}

// dropTable drops a table of one of the lists of tables by name.
func (db *DB) dropTable(ctx context.Context, name string, tables map[string]*Table) error {
	return wrap(name, db.between(ctx, func(*commitGroup) error {
		return db.pool.Publish(func() error {
			db.mu.Lock()
			defer db.mu.Unlock()
			t := tables[name]
			if t == nil {
				if _, index := db.indexes[name]; index {
					return wrongObject(name, "a table", "Use DROP INDEX to remove an index.")
				}
				return &Error{Kind: ErrNotFound, Code: pgerr.UndefinedTable, Object: name, Message: fmt.Sprintf("table %q does not exist", name)}
			}
			ts, err := t.acquire()
			if err != nil {
				return err
			}
			defer ts.Release()
			pub := store.Publication{
				Delete:   [][]byte{version.TableKey(t.id)},
				DropRows: []store.RowRange{{Table: t.id, First: 0, End: tid.New(1<<48-1, 0)}},

				DropDeletes: []store.DeleteRange{{Table: t.id, First: 0, End: 1 << 48}},
			}
			pub.Delete = append(pub.Delete, deadKeys(ts)...)
			if db.loading[name] == t {
				pub.Delete = append(pub.Delete, version.LoadingKey(t.id))
			}
			var retired []uint64
			for _, s := range ts.Table.Segments {
				pub.Delete = append(pub.Delete, s.Record.Key())
				retired = append(retired, s.Record.Ordinal)
			}
			for _, g := range ts.Table.Groups {
				for _, ix := range g.Indexes {
					pub.Delete = append(pub.Delete, version.IndexKey(ix.Def.ID))
				}
				for _, r := range g.Runs {
					pub.Delete = append(pub.Delete, r.Record.Key())
					retired = append(retired, r.Record.Ordinal)
				}
			}
			if err := db.store.Publish(pub); err != nil {
				return err
			}
			t.w.dropped = true
			delete(tables, name)
			for _, g := range ts.Table.Groups {
				for _, ix := range g.Indexes {
					delete(db.indexes, ix.Def.Name)
				}
			}
			db.versions.Change(func(e *version.Edit) {
				e.Remove(t.id)
				for _, o := range retired {
					e.Retire(o)
				}
			})
			return nil
		})
	}))
}

// wrongObject is the error of a name that is not of what it should be.
func wrongObject(name, what, hint string) error {
	return &Error{Kind: ErrInvalid, Code: pgerr.WrongObjectType, Object: name, Message: fmt.Sprintf("%q is not %s", name, what), Hint: hint}
}

// Rename gives the table another name.
//
// Errors: 42P07 when the name is taken, by the table itself too, 55006 while CreateTableAs fills the table.
func (t *Table) Rename(ctx context.Context, to string) error {
	if err := t.writable(); err != nil {
		return err
	}
	defer t.db.leave()
	if err := checkName("table", to); err != nil {
		return err
	}
	db := t.db
	return t.alter(ctx, func(a *alteration) error {
		from := a.def.Name
		db.mu.Lock()
		defer db.mu.Unlock()
		if err := db.nameFree(to); err != nil {
			return err
		}
		if db.tables[from] != t {
			return &Error{Kind: ErrInvalid, Code: pgerr.ObjectInUse, Object: from, Message: fmt.Sprintf("table %q is being created", from)}
		}
		a.def.Name = to
		a.done = func() {
			db.mu.Lock()
			defer db.mu.Unlock()
			delete(db.tables, from)
			db.tables[to] = t
		}
		return nil
	})
}
