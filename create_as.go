package wideleaf

import (
	"context"
	"errors"
	"maps"
	"slices"

	"wideleaf/store"
	"wideleaf/version"
)

// CreateTableAs creates a table whole or not at all: fill puts rows and indexes into it, in as many commits as it likes,
// and when it returns without error the table is there for everybody, durable with all its rows (so fill's own commits
// may be NoSync). Until then nobody else finds the table, though its name is taken. It is removed again when fill fails
// or panics, when ctx has ended by then, and, if the process or the machine fails, by the next Open.
//
// fill is called by this goroutine; its context ends with ctx and when the database is closed. Errors are those of
// CreateTable, and fill's as it returns them.
func (db *DB) CreateTableAs(ctx context.Context, name string, cols []Column, fill func(context.Context, *Table) error) (*Table, error) {
	if err := db.writable(); err != nil {
		return nil, err
	}
	defer db.leave()
	ctx, done := db.during(ctx)
	defer done()
	t, err := db.createTable(ctx, name, cols, true)
	if err != nil {
		return nil, db.cause(ctx, name, err)
	}
	revealed := false
	defer func() {
		if !revealed {
			if err := db.dropTable(context.WithoutCancel(ctx), name, db.loading); err != nil {
				db.o.Logger.Error("could not remove a half-filled table; the next open will", "table", name, "err", err)
			}
		}
	}()
	if err := fill(ctx, t); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, db.cause(ctx, name, err)
	}
	if err := db.revealTable(ctx, t); err != nil {
		return nil, db.cause(ctx, name, err)
	}
	revealed = true
	return t, nil
}

// revealTable makes a table that was being filled one like all others. The change is durable and stands behind the
// table's rows in the log, which makes them durable too.
func (db *DB) revealTable(ctx context.Context, t *Table) error {
	return db.between(ctx, func(*commitGroup) error {
		return db.pool.Publish(func() error {
			db.mu.Lock()
			defer db.mu.Unlock()
			if err := db.store.Publish(store.Publication{Delete: [][]byte{version.LoadingKey(t.id)}}); err != nil {
				return err
			}
			delete(db.loading, t.def().Name)
			db.tables[t.def().Name] = t
			return nil
		})
	})
}

// dropLoading removes the tables whose filling was cut short before the database was opened.
func (db *DB) dropLoading() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(db.loading)) {
		errs = append(errs, db.dropTable(db.ctx, name, db.loading))
	}
	return errors.Join(errs...)
}
