package wideleaf

import (
	"sync"
	"time"

	"wideleaf/pgerr"
	"wideleaf/version"
)

// Snapshot is the database as it was at a moment: all whole commits up to then, of all tables, and none after it. It may be
// used concurrently and held as long as wanted. What is deleted, merged or dropped meanwhile stays on disk until it is
// released; Metrics tells (SnapshotsHeld, OldestSnapshot, RetiredFiles).
type Snapshot struct {
	db    *DB
	taken time.Time

	mu sync.Mutex // guards sn
	sn *version.Snapshot
}

// Snapshot takes a snapshot, which holds space until it is released.
func (db *DB) Snapshot() (*Snapshot, error) {
	if err := db.enter(); err != nil {
		return nil, err
	}
	defer db.leave()
	s := &Snapshot{db: db, taken: time.Now(), sn: db.versions.Acquire()}
	db.snapshots.Store(s, nil)
	return s, nil
}

// Release lets the snapshot go; queries of it that run go on. A second call does nothing.
func (s *Snapshot) Release() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sn != nil {
		s.sn.Release()
		s.sn = nil
		s.db.snapshots.Delete(s)
	}
}

// Query begins a query of a table as it was when the snapshot was taken, its columns included. It can't delete or update.
// Running it fails with 42P01 when there was no such table then, and with 55000 when the snapshot has been released.
func (s *Snapshot) Query(t *Table) *Query { return &Query{t: t, snap: s, at: true} }

// table returns the snapshot's view of a table.
func (s *Snapshot) table(t *Table) (ts version.TableSnapshot, err error) {
	if s == nil || s.db == nil || s.db != t.db {
		return ts, &Error{Kind: ErrInvalid, Code: pgerr.InvalidParameterValue, Object: t.Name(),
			Message: "the snapshot is not one of the table's database"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sn == nil {
		return ts, &Error{Kind: ErrInvalid, Code: pgerr.ObjectNotInPrerequisiteState, Message: "the snapshot has been released"}
	}
	ts, ok := s.sn.Table(t.id)
	if !ok {
		return ts, notFoundTable(t.Name())
	}
	return ts, nil
}

// held returns how many snapshots are held and how long ago the oldest was taken.
func (db *DB) held() (n int, oldest time.Duration) {
	db.snapshots.Range(func(s, _ any) bool {
		n++
		oldest = max(oldest, time.Since(s.(*Snapshot).taken))
		return true
	})
	return n, oldest
}
