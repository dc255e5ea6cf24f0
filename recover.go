package wideleaf

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"wideleaf/catalog"
	"wideleaf/heap"
	"wideleaf/pgerr"
	"wideleaf/store"
	"wideleaf/tid"
	"wideleaf/vacuum"
	"wideleaf/value"
	"wideleaf/version"
)

// recovered is what the records say, while it is put together.
type recovered struct {
	tables  map[uint32]*version.Table
	groups  map[uint32]*version.Group
	owner   map[uint32]uint32    // table of a group
	loading map[uint32]bool      // tables that a crash left half filled
	lost    map[uint32]*tid.Dead // rows in tails that salvage could not read
	drop    [][]byte             // records of what a crash left half built
	retired []uint64             // SSTs of those
}

// recover builds the current version from the store's records and row blocks.
func (db *DB) recover() error {
	r := &recovered{
		tables:  map[uint32]*version.Table{},
		groups:  map[uint32]*version.Group{},
		owner:   map[uint32]uint32{},
		loading: map[uint32]bool{},
		lost:    map[uint32]*tid.Dead{},
	}
	for _, err := range db.store.Damage() {
		db.damage = append(db.damage, wrap(db.dir, err))
	}
	steps := []func(*recovered) error{db.recoverCatalog, db.recoverIndexes, db.recoverSegments, db.recoverRuns, db.recoverTails, db.recoverDeletes}
	if db.o.Salvage {
		steps = []func(*recovered) error{db.recoverCatalog, db.recoverSegments, db.leaveOutColumns, db.salvageTails, db.recoverDeletes}
	}
	for _, step := range steps {
		if err := step(r); err != nil {
			return err
		}
	}
	var tables []*version.Table
	for _, t := range r.tables {
		slices.SortFunc(t.Groups, func(a, b *version.Group) int { return int(a.ID) - int(b.ID) })
		tables = append(tables, t)
	}
	db.versions = version.NewSet(tables, func() {
		if db.pool != nil {
			go db.pool.Notify() // the pool may hold its lock while it lets a snapshot go
		}
	})
	db.pool = vacuum.NewPool(vacuum.Options{
		Store:            db.store,
		Versions:         db.versions,
		Cache:            db.cache,
		Workers:          db.o.Workers,
		FanIn:            db.o.MergeFanIn,
		PendingListLimit: db.o.PendingListLimit,
		Dead: vacuum.DeadLimits{Threshold: int64(db.o.AutovacuumVacuumThreshold), Scale: db.o.AutovacuumVacuumScaleFactor,
			Off: db.o.AutovacuumOff},
		Logger:  db.o.Logger,
		Changed: db.measurePressure,
	})
	for _, t := range tables {
		w := tableWriter{tail: t.Active.Tail}
		tables := db.tables
		if r.loading[t.Def.ID] {
			tables = db.loading
		}
		tables[t.Def.Name] = db.newTable(t.Def, w)
		tables[t.Def.Name].indexesChanged()
	}
	if err := db.compareLastClose(); err != nil {
		return err
	}
	db.measurePressure()
	if db.o.ReadOnly {
		return nil
	}
	if len(r.drop) > 0 {
		if err := db.store.Publish(store.Publication{Delete: r.drop}); err != nil {
			return err
		}
	}
	live := map[uint64]bool{}
	for _, t := range tables {
		for _, s := range t.Segments {
			live[s.Record.Ordinal] = s.Record.Bytes > 0 // else there is no SST
		}
		for _, g := range t.Groups {
			for _, run := range g.Runs {
				live[run.Record.Ordinal] = run.Record.Bytes > 0
			}
		}
	}
	return db.store.ExciseOrphans(context.Background(), live)
}

func damaged(what string, err error) error {
	return &Error{Kind: ErrCorrupt, Code: pgerr.DataCorrupted, Message: what, Err: err}
}

// bad returns what is wrong, or notes it in a database that is opened to salvage what is left.
func (db *DB) bad(err error) error {
	if !db.o.Salvage {
		return err
	}
	db.damage = append(db.damage, wrap(db.dir, err))
	return nil
}

// records calls f for the records of a kind. When they can't be read to the end, a database that is opened to salvage
// what is left goes without the others.
func (db *DB) records(kind byte, f func(store.Record) error) error {
	err := db.store.Records(kind, f)
	if errors.Is(err, store.ErrCorrupt) {
		return db.bad(err)
	}
	return err
}

func (db *DB) recoverCatalog(r *recovered) error {
	err := db.records(version.TablePrefix, func(rec store.Record) error {
		def, err := version.DecodeTable(rec.Value)
		if err != nil {
			return db.bad(damaged("the definition of a table is damaged", err))
		}
		r.tables[def.ID] = &version.Table{Def: def}
		return nil
	})
	if err != nil {
		return err
	}
	if err := db.records(version.LoadingPrefix, func(rec store.Record) error {
		id, ok := version.LoadingTable(rec.Key)
		if !ok || r.tables[id] == nil {
			return db.bad(damaged("the mark of a table being filled is damaged", nil))
		}
		r.loading[id] = true
		return nil
	}); err != nil {
		return err
	}
	return db.records(version.MiscPrefix, func(rec store.Record) error {
		if err := json.Unmarshal(rec.Value, &db.sequence); err != nil {
			return db.bad(damaged("the record of the last relation number is damaged", err))
		}
		return nil
	})
}

func (db *DB) recoverIndexes(r *recovered) error {
	return db.records(version.IndexPrefix, func(rec store.Record) error {
		def, err := version.DecodeIndex(rec.Value)
		if err != nil {
			return damaged("the definition of an index is damaged", err)
		}
		if !def.Ready {
			r.drop = append(r.drop, slices.Clone(rec.Key))
			return nil
		}
		t, m := r.tables[def.TableID], methods[def.Method]
		switch {
		case t == nil:
			return damaged(fmt.Sprintf("the table of index %q is missing", def.Name), nil)
		case m == nil:
			return &Error{Kind: ErrInvalid, Code: pgerr.UndefinedObject, Object: def.Name,
				Message: fmt.Sprintf("index %q has the unknown access method %q", def.Name, def.Method)}
		}
		for _, c := range def.Columns {
			if t.Def.Column(c.Attno) < 0 {
				return damaged(fmt.Sprintf("a column of index %q is missing", def.Name), nil)
			}
		}
		g := r.groups[def.Group]
		if g == nil {
			g = &version.Group{ID: def.Group}
			r.groups[g.ID], r.owner[g.ID] = g, def.TableID
			t.Groups = append(t.Groups, g)
		}
		g.Indexes = append(g.Indexes, &version.Index{Def: def, Method: m})
		db.indexes[def.Name] = def.ID
		return nil
	})
}

func (db *DB) recoverSegments(r *recovered) error {
	return db.records(version.SegmentPrefix, func(rec store.Record) error {
		sr, err := version.DecodeSegmentRecord(rec.Key, rec.Value)
		if err != nil {
			return db.bad(damaged("the record of a segment is damaged", err))
		}
		t := r.tables[sr.Table]
		if t == nil {
			return db.bad(damaged(fmt.Sprintf("the table of segment %d of relation %d is missing", sr.Segment, sr.Table), nil))
		}
		s, err := vacuum.OpenSegment(db.store, db.cache, t.Def, sr)
		if err != nil {
			return db.bad(fmt.Errorf("table %q, segment %d: %w", t.Def.Name, sr.Segment, err))
		}
		t.Segments = append(t.Segments, s)
		return nil
	})
}

func (db *DB) recoverRuns(r *recovered) error {
	err := db.records(version.RunPrefix, func(rec store.Record) error {
		rr, err := version.DecodeRunRecord(rec.Key, rec.Value)
		if err != nil {
			return damaged("the record of a run is damaged", err)
		}
		g := r.groups[rr.Group]
		if g == nil {
			r.drop = append(r.drop, slices.Clone(rec.Key)) // of indexes that were being built
			return nil
		}
		run, err := vacuum.OpenRun(db.store, db.cache, g, rr)
		if err != nil {
			return err
		}
		g.Runs = append(g.Runs, run)
		return nil
	})
	if err != nil {
		return err
	}
	for _, g := range r.groups {
		slices.SortFunc(g.Runs, func(a, b *version.GroupRun) int {
			switch {
			case a.Record.Span.First < b.Record.Span.First:
				return -1
			case a.Record.Span.First > b.Record.Span.First:
				return 1
			}
			return 0
		})
		for i := 1; i < len(g.Runs); i++ {
			if g.Runs[i].Record.Span.First < g.Runs[i-1].Record.Span.End {
				return damaged(fmt.Sprintf("two runs of index %q cover segment %d", g.Indexes[0].Def.Name, g.Runs[i].Record.Span.First), nil)
			}
		}
		t := r.tables[r.owner[g.ID]]
		if gaps := vacuum.Gaps(t, g); len(gaps) > 0 {
			return damaged(fmt.Sprintf("the run of index %q over segment %d of table %q is missing", g.Indexes[0].Def.Name, gaps[0], t.Def.Name), nil)
		}
	}
	return nil
}

// recoverTails rebuilds the tails from the row blocks.
func (db *DB) recoverTails(r *recovered) error {
	for _, t := range r.tables {
		b := newTailBuilder(t)
		if err := db.store.RowBlocks(t.Def.ID, 0, b.add); err != nil {
			return err
		}
		b.end()
	}
	return nil
}

// tailBuilder rebuilds a table's tails from row blocks in TID order. Where one segment ends and the next begins stands in
// the TIDs.
type tailBuilder struct {
	t     *version.Table
	first uint64 // segment: none before it can be in a tail
	tail  *heap.Tail
	types []value.Type
	cols  []*value.Vector
	lost  map[uint64]*tid.Bits // rows by segment that could not be read; nil: there must be none
}

func newTailBuilder(t *version.Table) *tailBuilder {
	b := &tailBuilder{t: t, first: t.Def.First}
	if n := len(t.Segments); n > 0 {
		b.first = t.Segments[n-1].Record.Segment + 1
	}
	b.begin(b.first)
	return b
}

// begin begins the tail of a segment.
func (b *tailBuilder) begin(segment uint64) {
	if b.tail != nil && b.tail.Len() > 0 {
		b.t.Sealed = append(b.t.Sealed, version.Sealed{Tail: b.tail, Rows: b.tail.Len()})
	}
	b.tail = heap.NewTail(b.t.Def, segment)
	b.types, b.cols = b.types[:0], b.cols[:0]
	for _, c := range b.t.Def.Stored(segment) {
		b.types, b.cols = append(b.types, c.Type), append(b.cols, new(value.Vector))
	}
}

// add adds the block whose first row is first; after an error none of its rows is there.
func (b *tailBuilder) add(first tid.TID, block []byte) error {
	name := b.t.Def.Name
	if first.Segment() < b.first {
		return damaged(fmt.Sprintf("row %s of table %q is both in the log and in a segment", first, name), nil)
	}
	if first.Segment() > b.tail.Segment() && first.Offset() == 0 {
		b.begin(first.Segment())
	}
	if b.lost != nil {
		b.skip(first)
	}
	if want := b.next(); first != want {
		return damaged(fmt.Sprintf("the rows of table %q from %s to %s are missing", name, want, first), nil)
	}
	for i := range b.cols {
		b.cols[i].Reset(b.types[i])
	}
	rows, err := heap.DecodeRows(block, b.types, b.cols)
	if err == nil && (rows == 0 || b.tail.Len()+rows > tid.SegmentRows) {
		err = errors.New("it has too many rows")
	}
	if err != nil {
		return damaged(fmt.Sprintf("the row block at %s of table %q is damaged", first, name), err)
	}
	b.tail.Append(b.cols, 0, rows)
	return nil
}

// next returns the TID after the last row.
func (b *tailBuilder) next() tid.TID { return tid.New(b.tail.Segment(), 0) + tid.TID(b.tail.Len()) }

// end makes the last tail the active one.
func (b *tailBuilder) end() {
	if n := b.t.Def.Newest(); b.tail.Segment() < n { // columns were added or dropped after the last row
		b.begin(n)
	}
	b.t.Active = version.NewActive(b.tail, b.tail.Len(), nil)
}

// compareLastClose refuses a database that has lost rows since it was closed.
func (db *DB) compareLastClose() error {
	final, ok := db.store.LastClose()
	if !ok {
		return nil
	}
	var last lastClose
	if err := json.Unmarshal(final, &last); err != nil {
		return db.bad(damaged("the account of the last close is damaged", err))
	}
	for id, next := range last.Next {
		ts, ok := db.versions.AcquireTable(id)
		if !ok {
			if err := db.bad(damaged(fmt.Sprintf("the table with relation number %d is missing", id), nil)); err != nil {
				return err
			}
			continue
		}
		got, dead := ts.LastTID(), ts.Dead().Rows()
		ts.Release()
		if want := last.Dead[id]; dead != want {
			if err := db.bad(damaged(fmt.Sprintf("table %q has %d deleted rows, it had %d at the last close", ts.Table.Def.Name, dead, want), nil)); err != nil {
				return err
			}
		}
		if got < next {
			if err := db.bad(damaged(fmt.Sprintf("the rows of table %q from %s to %s were there at the last close and are missing", ts.Table.Def.Name, got, next), nil)); err != nil {
				return err
			}
		}
	}
	return nil
}

// limitKeys notes that keys of an index may be too long; only strings can be.
func (w *tableWriter) limitKeys(t *catalog.Table, ix *version.Index) {
	k := keyLimit{index: ix}
	strings := false
	for _, c := range ix.Def.Columns {
		k.cols = append(k.cols, t.Column(c.Attno))
		strings = strings || c.Type.Width() == value.Var
	}
	if strings && ix.Method.Abilities().MaxKeyBytes > 0 {
		w.keys = append(w.keys, k)
	}
}
