package wideleaf

import (
	"slices"
	"sync"

	"wideleaf/am"
	"wideleaf/catalog"
	"wideleaf/page"
	"wideleaf/pending"
	"wideleaf/version"
)

// Stored is a relation as it is at one moment: what package pageinspect reads. It holds that state until Close, as a
// Snapshot does, keeps the database open as a running query does, and may be used concurrently.
type Stored struct {
	Table *catalog.Table
	Index *catalog.Index // nil for a table's heap
	// Parts are a table's segments, or an index's runs, in the order of the rows that they hold. The last runs may be
	// in memory, over rows that are in no segment yet; they are not stored, and have no Bytes.
	Parts []StoredPart
	// Pending are the rows that wait in the index's pending list, or of a table those that are in no segment yet.
	Pending pending.List

	close func()
}

// StoredPart is a segment of a heap or a run of an index.
type StoredPart struct {
	Span  am.Span // the segments whose rows it holds
	Rows  uint64  // deleted ones included that it was not written without
	Bytes uint64  // of its stored pages; for a run its share of its column group's file, by pages
	Run   am.RunMeta
	Pages page.Reader
}

// Close lets the state go; its pages must not be read afterwards. A second call does nothing.
func (s *Stored) Close() {
	if s != nil && s.close != nil {
		s.close()
	}
}

// Name is the relation's name, Method "heap" or the index's access method.
func (s *Stored) Name() string {
	if s.Index != nil {
		return s.Index.Name
	}
	return s.Table.Name
}

// Method: see Name.
func (s *Stored) Method() string {
	if s.Index != nil {
		return s.Index.Method
	}
	return "heap"
}

// Relations returns the names of all tables, each followed by its indexes.
func (db *DB) Relations() ([]string, error) {
	if err := db.enter(); err != nil {
		return nil, err
	}
	defer db.leave()
	sn := db.versions.Acquire()
	defer sn.Release()
	var names []string
	for _, t := range sn.Version().Tables() {
		names = append(names, t.Def.Name)
		for _, g := range t.Groups {
			for _, ix := range g.Indexes {
				names = append(names, ix.Def.Name)
			}
		}
	}
	return names, nil
}

// Stored returns a table's heap or an index as it is now. An unknown name gives an error that matches ErrNotFound.
func (db *DB) Stored(name string) (s *Stored, err error) {
	if err := db.enter(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			db.leave()
		}
	}()
	sn := db.versions.Acquire()
	id, found := uint32(0), false
	for _, t := range sn.Version().Tables() {
		if t.Def.Name == name || slices.ContainsFunc(t.Groups, func(g *version.Group) bool {
			return slices.ContainsFunc(g.Indexes, func(ix *version.Index) bool { return ix.Def.Name == name })
		}) {
			id, found = t.Def.ID, true
		}
	}
	sn.Release()
	notFound := &Error{Kind: ErrNotFound, Code: "42P01", Message: "relation \"" + name + "\" does not exist", Object: name}
	if !found {
		return nil, notFound
	}
	ts, ok := db.versions.AcquireTable(id)
	if !ok {
		return nil, notFound
	}
	s = &Stored{Table: ts.Table.Def, close: sync.OnceFunc(func() {
		ts.Release()
		db.leave()
	})}
	if s.Table.Name == name {
		for _, seg := range ts.Table.Segments {
			r := seg.Record
			s.Parts = append(s.Parts, StoredPart{
				Span: am.Span{First: r.Segment, End: r.Segment + 1}, Rows: uint64(r.Meta.Rows), Bytes: r.Bytes,
				Pages: db.store.Reader(r.Ordinal, 0, r.Meta.Blocks, page.Owner{Relation: r.Table, Part: r.Segment}),
			})
		}
		q := queryTable(ts)
		for _, src := range q.Sources[q.Flushed:] {
			s.Pending = append(s.Pending, pending.Part{Source: src})
		}
		return s, nil
	}
	for _, qi := range queryTable(ts).Indexes {
		if qi.Def.Name == name {
			s.Index, s.Pending = qi.Def, qi.Pending
		}
	}
	if s.Index == nil { // renamed, dropped or being built
		ts.Release()
		return nil, notFound
	}
	for _, g := range ts.Table.Groups {
		for _, run := range g.Runs {
			total := uint64(0)
			for _, ix := range run.Record.Indexes {
				total += uint64(ix.Meta.Blocks + ix.FilterBlocks)
			}
			for _, ix := range run.Record.Indexes {
				if ix.Index != s.Index.ID {
					continue
				}
				blocks := ix.Meta.Blocks + ix.FilterBlocks
				s.Parts = append(s.Parts, StoredPart{
					Span: run.Record.Span, Rows: ix.Meta.Rows, Bytes: run.Record.Bytes * uint64(blocks) / max(total, 1), Run: ix.Meta,
					Pages: db.store.Reader(run.Record.Ordinal, ix.First, blocks, page.Owner{Relation: ix.Index, Part: run.Record.Ordinal}),
				})
			}
		}
		for _, m := range g.Minis {
			if p, ok := m.Stored[s.Index.ID]; ok {
				s.Parts = append(s.Parts, StoredPart{Span: am.Span{First: m.Segment, End: m.Segment + 1}, Rows: p.Meta.Rows, Run: p.Meta, Pages: p.Pages})
			}
		}
	}
	return s, nil
}

// RelationName returns the name of the table or index with a number, as pages have it, empty if there is none.
func (db *DB) RelationName(id uint32) string {
	if db.enter() != nil {
		return ""
	}
	defer db.leave()
	return db.relation(id, "")
}
