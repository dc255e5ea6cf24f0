// Package version holds the immutable state that readers work on, and its changes.
//
// Words: a Version names all tables with their segments, sealed tails, active tail and index runs; a Snapshot is a
// Version held by a reader, together with how many rows of each active tail were committed when it was taken. While
// a snapshot is held, nothing that it names is dropped; what later versions no longer name is retired, and reported by
// Retired once the last snapshot that could read it is released.
//
// Locks: Set.mu guards the current version, the reference counts, the retired list and the visible lengths. It is held
// for a few instructions only, never during I/O. Structural changes (seal, flush, merge, DDL) are functions from the
// current version to the next, run under mu; whoever does I/O for one does it before.
//
// What must never break: a version is not changed once it is current; rows become visible in TID order, whole
// commits at a time.
package version

import (
	"cmp"
	"slices"
	"sync"

	"wideleaf/am"
	"wideleaf/am/filter"
	"wideleaf/catalog"
	"wideleaf/heap"
	"wideleaf/page"
	"wideleaf/tid"
	"wideleaf/value"
)

// Segment is a flushed segment of a table: the source of its rows, deleted ones included, and what is stored of it, which may
// be without rows that were deleted before it was written anew (Record.Holes).
type Segment struct {
	heap.Source
	Stored *heap.Segment
	Record SegmentRecord
	Lost   map[int]bool // columns that can't be read, by attno, in a database opened to salvage what is left
}

// Sealed is a full tail that waits to be flushed.
type Sealed struct {
	Tail *heap.Tail
	Rows int
}

// ActiveTail is a table's newest rows, and what commits change of a table without making a version: how many of these
// rows are visible, and which rows of the whole table are dead. Both are guarded by Set.mu.
type ActiveTail struct {
	Tail *heap.Tail
	seen
}

// seen is what a reader sees of a table beside its version.
type seen struct {
	visible int
	dead    *tid.Dead
}

// Group is a column group: the indexes that are flushed, merged and stored together, and their runs.
type Group struct {
	ID      uint32
	Indexes []*Index // by ID
	Runs    []*GroupRun
	Minis   []*MiniRun // ascending; those of one tail cover its first rows

	once    sync.Once
	byIndex [][]am.Run
	gone    []*tid.Dead
}

// MiniRun is a run of every index of a group over some rows of a tail, in memory. It goes when its segment is flushed.
type MiniRun struct {
	Segment  uint64
	From, To int // offsets
	Bytes    int64
	Runs     map[uint32]am.Run    // by index ID
	Stored   map[uint32]MiniPages // the same, as pages
}

// MiniPages is what a mini-run is made of.
type MiniPages struct {
	Meta  am.RunMeta
	Pages page.Reader
}

// Sorted returns how many of the first rows of a tail are in mini-runs.
func (g *Group) Sorted(segment uint64) int {
	n := 0
	for _, m := range g.Minis {
		if m.Segment == segment {
			n = max(n, m.To)
		}
	}
	return n
}

// PendingRows returns how many of the rows in a table's tails no run or mini-run of the group holds, its active tail
// having so many visible rows.
func (g *Group) PendingRows(t *Table, visible int) int64 {
	n := int64(visible)
	for _, s := range t.Sealed {
		n += int64(s.Rows)
	}
	for _, m := range g.Minis {
		n -= int64(m.To - m.From)
	}
	return max(n, 0)
}

// MiniBytesOf returns what the mini-runs of a segment take in memory, MiniBytes what all take.
func (g *Group) MiniBytesOf(segment uint64) int64 {
	n := int64(0)
	for _, m := range g.Minis {
		if m.Segment == segment {
			n += m.Bytes
		}
	}
	return n
}

// MiniBytes returns what all mini-runs take in memory.
func (g *Group) MiniBytes() int64 {
	n := int64(0)
	for _, m := range g.Minis {
		n += m.Bytes
	}
	return n
}

// RunsOf returns the runs of the i-th index: those of segments in the order of their spans, then those in memory. They
// are put together once a group, not once a query: with an index on every column that was half the time of a count.
// gone is, for each of the former, the deleted rows that it was written without.
func (g *Group) RunsOf(i int) (runs []am.Run, gone []*tid.Dead) {
	g.once.Do(func() {
		runs := make([]am.Run, 0, len(g.Indexes)*(len(g.Runs)+len(g.Minis)))
		for _, ix := range g.Indexes {
			first := len(runs)
			for _, r := range g.Runs {
				runs = append(runs, r.Runs[ix.Def.ID])
			}
			for _, m := range g.Minis {
				runs = append(runs, m.Runs[ix.Def.ID])
			}
			g.byIndex = append(g.byIndex, runs[first:len(runs):len(runs)])
		}
		g.gone = make([]*tid.Dead, len(g.Runs))
		for i, r := range g.Runs {
			g.gone[i] = r.Record.Gone
		}
	})
	return g.byIndex[i], g.gone
}

// Index is an index with its access method.
type Index struct {
	Def    *catalog.Index
	Method am.Method
}

// GroupRun is a run of every index of a group, in one SST.
type GroupRun struct {
	Record RunRecord
	Runs   map[uint32]am.Run // by index ID; an index dropped since is missing
	// Filters are those of unique indexes, read when first asked for and then kept.
	Filters map[uint32]func() (*filter.Filter, error)
}

// Table is a table in a version.
type Table struct {
	Def      *catalog.Table
	Segments []*Segment // flushed, ascending
	Sealed   []Sealed   // ascending, above all segments
	Active   *ActiveTail
	Groups   []*Group
}

// HasSegment reports whether the table has a segment of this number, flushed or not.
func (t *Table) HasSegment(n uint64) bool {
	_, found := slices.BinarySearchFunc(t.Segments, n, func(s *Segment, n uint64) int { return cmp.Compare(s.Record.Segment, n) })
	return found || n == t.Active.Tail.Segment() ||
		slices.ContainsFunc(t.Sealed, func(s Sealed) bool { return s.Tail.Segment() == n })
}

// Version is an immutable state of the whole database.
type Version struct {
	id     uint64
	refs   int // guarded by Set.mu
	tables map[uint32]*Table
}

// Table returns a table by its ID, or nil.
func (v *Version) Table(id uint32) *Table { return v.tables[id] }

// Tables returns all tables by ID.
func (v *Version) Tables() []*Table {
	ts := make([]*Table, 0, len(v.tables))
	for _, t := range v.tables {
		ts = append(ts, t)
	}
	slices.SortFunc(ts, func(a, b *Table) int { return cmp.Compare(a.Def.ID, b.Def.ID) })
	return ts
}

// Set holds the current version and those that are still read.
type Set struct {
	mu      sync.Mutex
	current *Version
	live    []*Version // by id, current last
	retired []retired
	gone    func() // called without mu when something may have become free
}

type retired struct {
	last    uint64 // id of the last version that names it
	ordinal uint64
}

// NewSet returns a set whose current version has the given tables. gone is called, often and without locks, when
// Retired may have something new to tell.
func NewSet(tables []*Table, gone func()) *Set {
	v := &Version{id: 1, refs: 1, tables: make(map[uint32]*Table, len(tables))}
	for _, t := range tables {
		v.tables[t.Def.ID] = t
	}
	return &Set{current: v, live: []*Version{v}, gone: gone}
}

// Snapshot is a version held by a reader. Release must be called once.
type Snapshot struct {
	set  *Set
	v    *Version
	seen map[uint32]seen
}

// Acquire takes a snapshot of the whole database.
func (s *Set) Acquire() *Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current.refs++
	sn := &Snapshot{set: s, v: s.current, seen: make(map[uint32]seen, len(s.current.tables))}
	for id, t := range s.current.tables {
		sn.seen[id] = t.Active.seen
	}
	return sn
}

// Release lets the snapshot go.
func (sn *Snapshot) Release() { sn.set.release(sn.v) }

// Version returns the snapshot's structure.
func (sn *Snapshot) Version() *Version { return sn.v }

// Table returns one table of the snapshot, whose Release lets go of a reference of its own; ok is false when there is
// none with this ID.
func (sn *Snapshot) Table(id uint32) (ts TableSnapshot, ok bool) {
	t := sn.v.tables[id]
	if t == nil {
		return ts, false
	}
	sn.set.mu.Lock()
	defer sn.set.mu.Unlock()
	sn.v.refs++
	return TableSnapshot{sn.set, sn.v, t, sn.seen[id]}, true
}

// Visible returns how many rows of a table's active tail the snapshot holds.
func (sn *Snapshot) Visible(table uint32) int { return sn.seen[table].visible }

// Dead returns the table's rows that are deleted for the snapshot.
func (sn *Snapshot) Dead(table uint32) *tid.Dead { return sn.seen[table].dead }

// TableSnapshot is one table of one version, held by a reader. Release must be called once.
type TableSnapshot struct {
	set   *Set
	v     *Version
	Table *Table
	seen
}

// AcquireTable takes a snapshot of one table; ok is false when there is none with this ID.
func (s *Set) AcquireTable(id uint32) (TableSnapshot, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.current.tables[id]
	if t == nil {
		return TableSnapshot{}, false
	}
	s.current.refs++
	return TableSnapshot{s, s.current, t, t.Active.seen}, true
}

// Release lets the snapshot go.
func (ts TableSnapshot) Release() { ts.set.release(ts.v) }

// Visible returns how many rows of the active tail the snapshot holds.
func (ts TableSnapshot) Visible() int { return ts.visible }

// Dead returns the rows that are deleted for the snapshot.
func (ts TableSnapshot) Dead() *tid.Dead { return ts.dead }

// PendingRows returns how many rows of the table no run holds yet.
func (ts TableSnapshot) PendingRows() int64 {
	n := int64(ts.visible)
	for _, s := range ts.Table.Sealed {
		n += int64(s.Rows)
	}
	return n
}

// Rows returns the number of rows that are not deleted.
func (ts TableSnapshot) Rows() int64 {
	n := ts.PendingRows() - ts.dead.Rows()
	for _, s := range ts.Table.Segments {
		n += int64(s.Rows())
	}
	return n
}

func (s *Set) release(v *Version) {
	s.mu.Lock()
	free := s.unref(v)
	s.mu.Unlock()
	if free {
		s.gone()
	}
}

// unref drops a reference and reports whether something retired became free. mu is held.
func (s *Set) unref(v *Version) bool {
	v.refs--
	if v.refs > 0 {
		return false
	}
	s.live = slices.DeleteFunc(s.live, func(o *Version) bool { return o == v })
	return len(s.retired) > 0 && s.retired[0].last < s.live[0].id
}

// Retired returns, once each, the ordinals of SSTs that no version names any more.
func (s *Set) Retired() []uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for n < len(s.retired) && s.retired[n].last < s.live[0].id {
		n++
	}
	out := make([]uint64, n)
	for i, r := range s.retired[:n] {
		out[i] = r.ordinal
	}
	s.retired = slices.Delete(s.retired, 0, n)
	return out
}

// Held returns how many versions are alive and how many retired SSTs wait for readers.
func (s *Set) Held() (versions, ssts int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.live), len(s.retired)
}

// Edit is a structural change in the making: the tables that the next version will have.
type Edit struct {
	tables  map[uint32]*Table
	retired []uint64
}

// Table returns a private copy of a table, which the edit may change (its slices by replacing them), or nil.
func (e *Edit) Table(id uint32) *Table {
	t := e.tables[id]
	if t == nil {
		return nil
	}
	c := *t
	e.tables[id] = &c
	return &c
}

// Add adds or replaces a table; Remove takes one out.
func (e *Edit) Add(t *Table)     { e.tables[t.Def.ID] = t }
func (e *Edit) Remove(id uint32) { delete(e.tables, id) }

// Retire says that the next version no longer names an SST.
func (e *Edit) Retire(ordinal uint64) { e.retired = append(e.retired, ordinal) }

// Change makes the version after the current one. f runs under the set's lock: it must be short and do no I/O.
func (s *Set) Change(f func(e *Edit)) {
	s.mu.Lock()
	free := s.change(f)
	s.mu.Unlock()
	if free {
		s.gone()
	}
}

func (s *Set) change(f func(e *Edit)) bool {
	old := s.current
	e := &Edit{tables: make(map[uint32]*Table, len(old.tables)+1)}
	for id, t := range old.tables {
		e.tables[id] = t
	}
	f(e)
	v := &Version{id: old.id + 1, refs: 1, tables: e.tables}
	for _, o := range e.retired {
		s.retired = append(s.retired, retired{old.id, o})
	}
	s.current = v
	s.live = append(s.live, v)
	return s.unref(old)
}

// Rows is what a group of commits did to one table: tails that it filled, the active tail with its new length, and the
// dead rows of the segments where it deleted some.
type Rows struct {
	Table   uint32
	Sealed  []Sealed
	Active  *heap.Tail
	Visible int
	Dead    []tid.DeadSegment
}

// Commit makes the work of a group of commits visible, all at once.
func (s *Set) Commit(rows []Rows) {
	s.mu.Lock()
	sealed := false
	for _, r := range rows {
		sealed = sealed || len(r.Sealed) > 0
	}
	free := false
	if sealed {
		free = s.change(func(e *Edit) {
			for _, r := range rows {
				if len(r.Sealed) == 0 {
					continue
				}
				t := e.Table(r.Table)
				t.Sealed = append(slices.Clip(t.Sealed), r.Sealed...)
				t.Active = t.Active.Next(r.Active)
			}
		})
	}
	for _, r := range rows {
		a := s.current.tables[r.Table].Active
		a.visible = r.Visible
		if len(r.Dead) > 0 {
			a.dead = a.dead.With(r.Dead...)
		}
	}
	s.mu.Unlock()
	if free {
		s.gone()
	}
}

// NewActive returns an active tail whose first rows are visible, of a table with dead rows.
func NewActive(t *heap.Tail, visible int, dead *tid.Dead) *ActiveTail {
	return &ActiveTail{t, seen{visible, dead}}
}

// Next returns the active tail that follows, empty; the table's dead rows stay. It belongs into an Edit.
func (a *ActiveTail) Next(t *heap.Tail) *ActiveTail { return NewActive(t, 0, a.dead) }

// Settled returns the active tail when the deletes that made part of a segment's dead rows are not logged one by one any
// more. It belongs into an Edit.
func (a *ActiveTail) Settled(part tid.DeadSegment) *ActiveTail {
	now := a.dead.Part(part.Segment)
	now.Commits -= part.Commits
	return a.Bury(now)
}

// Bury returns the active tail with other dead rows of some segments. It belongs into an Edit.
func (a *ActiveTail) Bury(parts ...tid.DeadSegment) *ActiveTail {
	return NewActive(a.Tail, a.visible, a.dead.With(parts...))
}

// LastTID returns the TID after the last row of the table, visible rows of the active tail counted. An empty active tail
// that follows a sealed one says nothing: until a segment or a row of the next says so, nothing on disk ends the sealed.
func (ts TableSnapshot) LastTID() tid.TID {
	if n := len(ts.Table.Sealed); n > 0 && ts.visible == 0 {
		last := ts.Table.Sealed[n-1]
		return tid.New(last.Tail.Segment(), 0) + tid.TID(last.Rows)
	}
	return tid.New(ts.Table.Active.Tail.Segment(), 0) + tid.TID(ts.visible)
}

// KeyBytes returns the size of the key that an index with an order would file a row's values under, 0 for one without.
func (ix *Index) KeyBytes(vals []value.Value) int {
	enc, ok := ix.Method.(am.KeyEncoder)
	if !ok {
		return 0
	}
	return len(enc.EncodeKey(ix.Def, vals, nil))
}

// HasAny reports whether one of the indexes is in the group.
func (g *Group) HasAny(ids []uint32) bool {
	return slices.ContainsFunc(g.Indexes, func(ix *Index) bool { return slices.Contains(ids, ix.Def.ID) })
}
