package wideleaf

import (
	"time"

	"wideleaf/pending"
	"wideleaf/store"
)

// Metrics is what the engine tells of itself at a moment. Counters count since Open.
type Metrics struct {
	Tables, Indexes int
	Segments        int
	Runs            int   // runs of all indexes, as groups keep them: one a group, merged together
	PendingRows     int64 // rows that no index run holds yet, over all tables with indexes
	PendingPages    int64 // pages that they would fill, over all indexes; strings are taken to have 16 bytes

	Flushes, Merges      int64
	Sorts                int64 // of pending rows into mini-runs, in the background
	FlushTime, MergeTime time.Duration
	EntriesMerged        int64
	BytesFlushed         int64         // pages written by flushes
	BytesMerged          int64         // pages written by merges
	VersionsHeld         int           // versions that readers hold, the current one included
	RetiredFiles         int           // files that wait for readers before they are freed
	SnapshotsHeld        int           // of DB.Snapshot
	OldestSnapshot       time.Duration // how long ago the oldest of these was taken
	DeadRows             int64         // deleted rows that are still stored, over all tables
	Purges, Rewrites     int64         // index runs, and segments, written anew without deleted rows or dropped
	VacuumTime           time.Duration
	Backlog              float64 // of sealed tails and runs: writers are slowed from 0.75 on and wait at 1
	BackgroundError      error   // of the last job, nil when it succeeded

	OrderedScans        int64 // queries with ORDER BY and LIMIT whose rows an index gave in order
	OrderedScansGivenUp int64 // queries for which that took too long, so that all rows that match were looked at

	Store store.Metrics // what Pebble tells
}

// Metrics returns the engine's metrics.
func (db *DB) Metrics() (Metrics, error) {
	var m Metrics
	if err := db.enter(); err != nil {
		return m, err
	}
	defer db.leave()
	sn := db.versions.Acquire()
	for _, t := range sn.Version().Tables() {
		m.Tables++
		m.DeadRows += sn.Dead(t.Def.ID).Rows()
		for _, seg := range t.Segments {
			m.DeadRows -= int64(seg.Rows() - seg.Stored.Rows())
		}
		m.Segments += len(t.Segments)
		visible, most, indexes := sn.Visible(t.Def.ID), int64(0), 0
		for _, g := range t.Groups {
			rows := g.PendingRows(t, visible)
			most = max(most, rows)
			indexes += len(g.Indexes)
			m.Runs += len(g.Runs)
			for _, ix := range g.Indexes {
				m.PendingPages += pending.EstimatePages(pending.IndexColumns(ix.Def), rows)
			}
		}
		m.Indexes += indexes
		m.PendingRows += most
	}
	sn.Release()
	st := db.pool.Stats()
	m.Sorts = st.Sorts
	m.Flushes, m.Merges, m.FlushTime, m.MergeTime = st.Flushes, st.Merges, st.FlushTime, st.MergeTime
	m.EntriesMerged, m.BytesFlushed, m.BytesMerged = st.EntriesMerged, st.BytesFlushed, st.BytesMerged
	m.VersionsHeld, m.RetiredFiles = db.versions.Held()
	m.SnapshotsHeld, m.OldestSnapshot = db.held()
	m.Purges, m.Rewrites, m.VacuumTime = st.Purges, st.Rewrites, st.VacuumTime
	m.Backlog = float64(db.pressure.Load()) / pressureFull
	m.BackgroundError = wrap("", db.pool.Err())
	m.OrderedScans, m.OrderedScansGivenUp = db.queries.Ordered.Load(), db.queries.GivenUp.Load()
	m.Store = db.store.Metrics()
	return m, nil
}
