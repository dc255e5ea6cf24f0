package wideleaf

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"wideleaf/buildparallel"
	"wideleaf/pgerr"
	"wideleaf/store"
	"wideleaf/tid"
	"wideleaf/vacuum"
	"wideleaf/value"
	"wideleaf/version"
)

// BuildOptions say how the indexes of one CreateIndexesWith are built. The zero value of a field is the database's
// setting.
type BuildOptions struct {
	// ParallelWorkers, if not nil, is the number of workers beside the caller, as the storage parameter parallel_workers of a
	// table is in PostgreSQL: the rules about the table's size and the memory don't apply, MaxParallelMaintenanceWorkers
	// does; 0 means that the caller does it alone. From 0 to 1024.
	ParallelWorkers *int
	// MaintenanceWorkMem and MaxParallelMaintenanceWorkers: see Options.
	MaintenanceWorkMem            int64
	MaxParallelMaintenanceWorkers int
}

func (o BuildOptions) check(object string) error {
	bad := func(name string, v, lo, hi int64) error {
		return &Error{Kind: ErrInvalid, Code: codeInvalidParameter, Object: object,
			Message: fmt.Sprintf("%d is outside the valid range for parameter %q (%d .. %d)", v, name, lo, hi)}
	}
	switch m := o.MaintenanceWorkMem; {
	case o.ParallelWorkers != nil && (*o.ParallelWorkers < 0 || *o.ParallelWorkers > maxBuildWorkers):
		return bad("parallel_workers", int64(*o.ParallelWorkers), 0, maxBuildWorkers)
	case m != 0 && (m < buildparallel.MinMemory || m > maxMemoryLimit):
		return bad("maintenance_work_mem", m, buildparallel.MinMemory, maxMemoryLimit)
	case o.MaxParallelMaintenanceWorkers < -1 || o.MaxParallelMaintenanceWorkers > maxBuildWorkers:
		return bad("max_parallel_maintenance_workers", int64(o.MaxParallelMaintenanceWorkers), -1, maxBuildWorkers)
	}
	return nil
}

// CreateIndexes creates indexes on the table; see DB.CreateIndexes.
func (t *Table) CreateIndexes(ctx context.Context, defs ...IndexDef) error {
	return t.CreateIndexesWith(ctx, BuildOptions{}, defs...)
}

// CreateIndexesWith is CreateIndexes with settings of its own.
func (t *Table) CreateIndexesWith(ctx context.Context, o BuildOptions, defs ...IndexDef) error {
	if err := t.writable(); err != nil {
		return err
	}
	db, table := t.db, t.Name()
	defer db.leave()
	if err := o.check(table); err != nil {
		return err
	}
	if len(defs) == 0 {
		return nil
	}
	ctx, done := db.during(ctx)
	defer done()
	if err := ctx.Err(); err != nil {
		return db.cause(ctx, table, err)
	}
	indexes := make([]*version.Index, len(defs))
	for i, d := range defs {
		var err error
		if indexes[i], err = t.newIndex(d); err != nil {
			return err
		}
	}
	undoNotNull, err := t.primaryKeyColumns(ctx, indexes)
	if err != nil {
		return err
	}
	ids, err := db.registerIndexes(ctx, t, indexes)
	if err != nil {
		undoNotNull()
		return db.cause(ctx, table, err)
	}
	if err = t.checkPendingKeys(ctx, indexes); err == nil {
		err = db.buildIndexes(ctx, t, ids, o)
	}
	for _, ix := range indexes {
		if err == nil && ix.Def.Unique {
			err = t.makeUnique(ctx, ix)
		}
	}
	if err != nil {
		undoNotNull()
		if undo := db.removeIndexes(context.WithoutCancel(ctx), t, ids); undo != nil {
			db.o.Logger.Error("could not remove a half-built index; the next open will", "table", table, "err", undo)
		}
		return db.cause(ctx, table, err)
	}
	return nil
}

// IndexBuild is an index build under way, as PostgreSQL's pg_stat_progress_create_index tells of it.
type IndexBuild struct {
	Table   string
	Index   string // the one that is being built
	Built   int    // indexes of the same call that are done
	Indexes int    // indexes of the call
	Workers int    // beside the caller
	// Phase is "initializing", "building index: scanning table", "building index: sorting live tuples" (when no more segments
	// wait to be read) or "building index: loading tuples in tree".
	Phase string
	// TuplesDone and TuplesTotal are of the phase.
	TuplesDone, TuplesTotal int64
}

type indexBuild struct {
	table    *Table
	workers  int
	progress buildparallel.Progress
}

// IndexBuilds returns the index builds under way.
func (db *DB) IndexBuilds() []IndexBuild {
	if db == nil {
		return nil
	}
	db.building.Lock()
	defer db.building.Unlock()
	var out []IndexBuild
	for _, b := range db.builds {
		s := b.progress.State()
		out = append(out, IndexBuild{b.table.Name(), s.Index, s.Built, s.Indexes, b.workers, s.Phase, s.TuplesDone, s.TuplesTotal})
	}
	return out
}

// buildIndexes builds registered indexes over the rows that are flushed, those that are flushed from now on having runs
// anyway, and opens them to queries.
func (db *DB) buildIndexes(ctx context.Context, t *Table, ids []uint32, o BuildOptions) error {
	ts, err := t.acquire()
	if err != nil {
		return err
	}
	defer ts.Release()
	// Groups come into being with the indexes, so that all gaps are of the segments that were flushed before.
	job := buildparallel.Job{Table: ts.Table.Def, Dead: ts.Dead()}
	size := int64(0)
	for _, g := range ts.Table.Groups {
		gaps := vacuum.Gaps(ts.Table, g)
		if !g.HasAny(ids) || len(gaps) == 0 {
			continue
		}
		job.Groups = append(job.Groups, g)
		if job.Segments == nil {
			for _, s := range ts.Table.Segments {
				if _, missing := slices.BinarySearch(gaps, s.Record.Segment); missing {
					job.Segments = append(job.Segments, s)
					size += int64(s.Record.Bytes)
				}
			}
		}
	}
	res := new(buildparallel.Result)
	if len(job.Groups) > 0 {
		b := &indexBuild{table: t, workers: db.buildWorkers(o, size)}
		opts := buildparallel.Options{Store: db.store, Workers: b.workers, Memory: db.o.MaintenanceWorkMem, Progress: &b.progress}
		if o.MaintenanceWorkMem != 0 {
			opts.Memory = o.MaintenanceWorkMem
		}
		if db.o.TraceSort {
			opts.Trace = db.o.Logger
		}
		db.o.Logger.Debug(buildMessage(ts, ids, b.workers), "table", t.Name())
		db.building.Lock()
		db.builds = append(db.builds, b)
		db.building.Unlock()
		defer func() {
			db.building.Lock()
			db.builds = slices.DeleteFunc(db.builds, func(o *indexBuild) bool { return o == b })
			db.building.Unlock()
		}()
		if res, err = buildparallel.Build(ctx, opts, job); err != nil {
			return db.duplicateKey(ctx, ts, err)
		}
	}
	return db.publishIndexes(ctx, t, ids, res)
}

func buildMessage(ts version.TableSnapshot, ids []uint32, workers int) string {
	var names []string
	for _, g := range ts.Table.Groups {
		for _, ix := range g.Indexes {
			if slices.Contains(ids, ix.Def.ID) {
				names = append(names, fmt.Sprintf("%q", ix.Def.Name))
			}
		}
	}
	if len(names) > 3 {
		names = append(names[:3], "...")
	}
	on := fmt.Sprintf("building index %s on table %q ", strings.Join(names, ", "), ts.Table.Def.Name)
	if workers == 0 {
		return on + "serially"
	}
	return on + fmt.Sprintf("with request for %d parallel workers", workers)
}

// buildWorkers returns the number of workers for a table whose pages take so many bytes.
func (db *DB) buildWorkers(o BuildOptions, size int64) int {
	rule := buildparallel.WorkerRule{
		TableBytes: size, ParallelWorkers: o.ParallelWorkers,
		MaxMaintenanceWorkers: db.o.MaxParallelMaintenanceWorkers, MinTableScanSize: db.o.MinParallelTableScanSize,
		MaintenanceWorkMem: db.o.MaintenanceWorkMem, Cores: runtime.GOMAXPROCS(0),
	}
	if o.MaintenanceWorkMem != 0 {
		rule.MaintenanceWorkMem = o.MaintenanceWorkMem
	}
	if o.MaxParallelMaintenanceWorkers != 0 {
		rule.MaxMaintenanceWorkers = o.MaxParallelMaintenanceWorkers
	}
	return rule.Workers()
}

// publishIndexes makes what was built part of the database and opens the indexes to queries, in one step; unique ones are
// still to be checked, and are opened then.
func (db *DB) publishIndexes(ctx context.Context, t *Table, ids []uint32, res *buildparallel.Result) error {
	if err := db.store.Ingest(ctx, res.Tables...); err != nil {
		res.Abort()
		return err
	}
	unnamed := map[uint64]bool{} // SSTs that no record names yet
	for _, r := range res.Runs {
		unnamed[r.Ordinal] = true
	}
	defer func() {
		for o := range unnamed {
			_ = db.store.Excise(context.WithoutCancel(ctx), o) // else found as an orphan at the next open
		}
	}()
	return db.pool.Publish(func() error {
		ts, err := t.acquire()
		if err != nil {
			return err
		}
		defer ts.Release()
		var pub store.Publication
		ready := map[uint32]*version.Index{}
		runs := map[uint32][]*version.GroupRun{}
		for _, g := range ts.Table.Groups {
			for _, r := range res.Runs {
				if r.Group != g.ID || r.Span.First < ts.Table.Def.First {
					continue // truncated meanwhile
				}
				run, err := vacuum.OpenRun(db.store, db.cache, g, r)
				if err != nil {
					return err
				}
				runs[g.ID] = append(runs[g.ID], run)
				pub.Put = append(pub.Put, store.Record{Key: r.Key(), Value: r.Value()})
			}
			for _, ix := range g.Indexes {
				if !slices.Contains(ids, ix.Def.ID) {
					continue
				}
				def := *ix.Def
				def.Ready = !def.Unique
				rec, err := version.EncodeIndex(&def)
				if err != nil {
					return err
				}
				pub.Put = append(pub.Put, store.Record{Key: version.IndexKey(def.ID), Value: rec})
				ready[def.ID] = &version.Index{Def: &def, Method: ix.Method}
			}
		}
		if len(ready) < len(ids) {
			return changedMeanwhile(t.Name())
		}
		if err := db.store.Publish(pub); err != nil {
			return err
		}
		db.versions.Change(func(e *version.Edit) {
			vt := e.Table(t.id)
			vt.Groups = slices.Clone(vt.Groups)
			for i, g := range vt.Groups {
				if more := runs[g.ID]; len(more) > 0 {
					all := slices.Concat(g.Runs, more)
					slices.SortFunc(all, func(a, b *version.GroupRun) int { return compareSegments(a.Record.Span.First, b.Record.Span.First) })
					vt.Groups[i] = &version.Group{ID: g.ID, Indexes: g.Indexes, Runs: all, Minis: g.Minis}
				}
			}
			replaceIndexes(vt, ready)
		})
		for _, list := range runs {
			for _, r := range list {
				delete(unnamed, r.Record.Ordinal)
			}
		}
		db.pool.Notify()
		return nil
	})
}

func compareSegments(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// maxDetail is how long a value may be in the detail of an error, in bytes.
const maxDetail = 256

// duplicateKey gives the error of a unique build the key that is there twice.
func (db *DB) duplicateKey(ctx context.Context, ts version.TableSnapshot, err error) error {
	var d *buildparallel.DuplicateError
	if !errors.As(err, &d) {
		return err
	}
	e := &Error{Kind: ErrConstraint, Code: pgerr.UniqueViolation, Object: d.Index, Message: d.Error(), Detail: "Duplicate keys exist."}
	for _, g := range ts.Table.Groups {
		for _, ix := range g.Indexes {
			if ix.Def.Name != d.Index {
				continue
			}
			names := make([]string, len(ix.Def.Columns))
			values := make([]string, len(ix.Def.Columns))
			for i, c := range ix.Def.Columns {
				v, err := valueAt(ctx, ts, d.Rows[0], c.Attno)
				if err != nil {
					return e
				}
				names[i], values[i] = ts.Table.Def.Columns[ts.Table.Def.Column(c.Attno)].Name, v.String()
				if len(values[i]) > maxDetail {
					return e
				}
			}
			e.Detail = fmt.Sprintf("Key (%s)=(%s) is duplicated.", strings.Join(names, ", "), strings.Join(values, ", "))
		}
	}
	return e
}

// valueAt returns a row's value in a column.
func valueAt(ctx context.Context, ts version.TableSnapshot, at tid.TID, attno int) (value.Value, error) {
	var v value.Vector
	v.Reset(ts.Table.Def.TypeOf(attno))
	for _, src := range queryTable(ts).Sources {
		if src.Number() == at.Segment() {
			if err := src.Gather(ctx, attno, []uint16{at.Offset()}, &v); err != nil {
				return value.Value{}, err
			}
			return v.Value(0), nil
		}
	}
	return value.Value{}, fmt.Errorf("row %s is missing", at)
}
