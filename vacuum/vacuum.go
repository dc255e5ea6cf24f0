// Package vacuum does the background work: it turns sealed tails into pages and runs,
// merges runs, and frees what nobody reads any more.
//
// Words: a job is one unit of that work; a pool runs jobs on a limited number of workers. What is due is decided by a
// pure function (Plan) over a description of the current version; how it is done stands in flush.go and merge.go.
//
// A job writes SSTs of pages, ingests them, publishes records that name them, and only then changes the version: a
// crash in between leaves pages that nobody names, which Open frees. Inserters never do any of this themselves.
// All methods of Pool may be called concurrently.
//
// What must never break: a published segment is covered by exactly one run of every ready index; a failed job changes
// nothing; jobs never hold the version lock during I/O.
package vacuum

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"wideleaf/page"
	"wideleaf/pgerr"
	"wideleaf/store"
	"wideleaf/version"
)

// Options are what a pool works with.
type Options struct {
	Store    *store.DB
	Versions *version.Set
	Cache    *page.Cache
	Workers  int // jobs at a time, at least 1
	FanIn    int // see Limits
	// PendingListLimit is gin_pending_list_limit, in bytes, of indexes that have none of their own.
	PendingListLimit int64
	Dead             DeadLimits
	Logger           *slog.Logger
	Changed          func() // called after every job, without locks
}

// Pool runs background jobs until it is closed.
type Pool struct {
	o      Options
	limits Limits
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	// publish serialises the structural changes of the database, those of jobs and of DDL: records are published and
	// the version is changed under it. It is taken before Set.mu, and may be held during I/O.
	publish sync.Mutex

	mu      sync.Mutex // guards what follows
	busy    map[busyKey]bool
	asked   map[uint32][]*asked // by table: vacuums under way
	running int
	paused  int
	failed  error // the last job's error; cleared when a job succeeds
	wake    *sync.Cond
	changed chan struct{} // closed and replaced when a job or a structural change ended
	stats   Stats
	retryAt time.Time
}

// Stats counts what a pool has done.
type Stats struct {
	Flushes, Merges           int64
	Sorts                     int64
	EntriesMerged             int64
	FlushTime, MergeTime      time.Duration
	BytesFlushed, BytesMerged int64
	Purges, Rewrites          int64 // runs and segments written anew without dead rows; segments dropped count too
	VacuumTime                time.Duration
	BytesVacuumed             int64 // written by these
}

type busyKey struct {
	kind  Kind
	owner uint32 // table or group
	what  uint64 // segment or ordinal
}

// maxSpan keeps the TIDs of a run within 32 bits of its first.
const maxSpan = 1 << 16

// NewPool returns a pool; Start starts its work.
func NewPool(o Options) *Pool {
	p := &Pool{
		o:       o,
		limits:  Limits{FanIn: o.FanIn, MaxSpan: maxSpan, Dead: o.Dead},
		asked:   map[uint32][]*asked{},
		busy:    map[busyKey]bool{},
		changed: make(chan struct{}),
	}
	p.wake = sync.NewCond(&p.mu)
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// Start starts the workers.
func (p *Pool) Start() {
	for range max(p.o.Workers, 1) {
		p.wg.Add(1)
		go p.work()
	}
}

// Notify tells the pool that there may be something to do.
func (p *Pool) Notify() {
	p.mu.Lock()
	p.wake.Broadcast()
	p.mu.Unlock()
}

// Close stops the workers; jobs under way are abandoned and leave nothing behind.
func (p *Pool) Close() {
	p.cancel()
	p.Notify()
	p.wg.Wait()
}

// Pause keeps new jobs from starting until Resume is called as often.
func (p *Pool) Pause() {
	p.mu.Lock()
	p.paused++
	p.mu.Unlock()
}

// Resume undoes one Pause.
func (p *Pool) Resume() {
	p.mu.Lock()
	p.paused--
	p.wake.Broadcast()
	p.mu.Unlock()
}

// Err returns the error of the last job, nil if it succeeded.
func (p *Pool) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// Stats returns what the pool has done so far.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}

// Changed returns a channel that is closed when the next job, or structural change by others, has ended.
func (p *Pool) Changed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

// Settle returns when no job runs and none is due, with the error of a job that fails meanwhile.
func (p *Pool) Settle(ctx context.Context) error {
	return p.Wait(ctx, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.running == 0 && len(Plan(p.state(), p.limits)) == 0
	})
}

// Wait returns when done reports true, which is asked again after every job and structural change, or with a failing job's error. It wakes the
// workers: between two looks of a leader at its pending rows, work may be due that nobody told them of.
func (p *Pool) Wait(ctx context.Context, done func() bool) error {
	for {
		changed := p.Changed()
		if done() {
			return nil
		}
		if err := p.Err(); err != nil {
			return err
		}
		p.Notify()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.ctx.Done():
			return errStopped
		case <-changed:
		}
	}
}

var errStopped = errors.New("background work has been stopped")

// Publish runs f, which publishes records and changes the version, with no other structural change beside it. DDL
// uses it. Who waits for work that f made needless is told.
func (p *Pool) Publish(f func() error) error {
	p.publish.Lock()
	defer func() {
		p.publish.Unlock()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.tell()
	}()
	return f()
}

// retryDelay is how long a failed job is left alone, so that a full disk is not a storm of retries.
const retryDelay = time.Second

func (p *Pool) work() {
	defer p.wg.Done()
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.ctx.Err() == nil {
		if p.free() {
			continue // p.mu was let go: what was true may not be
		}
		job, ok := p.next()
		if !ok {
			p.wake.Wait()
			continue
		}
		keys := job.keys()
		for _, k := range keys {
			p.busy[k] = true
		}
		p.running++
		p.mu.Unlock()
		err := p.run(job)
		p.o.Changed()
		p.mu.Lock()
		p.running--
		for _, k := range keys {
			delete(p.busy, k)
		}
		if err != nil && p.ctx.Err() == nil {
			p.failed = fmt.Errorf("%s: %w", job.Kind, err)
			p.retryAt = time.Now().Add(retryDelay)
			time.AfterFunc(retryDelay, p.Notify)
			p.o.Logger.Error("background job failed", "job", job.Kind.String(), "table", job.Table, "err", err)
		} else {
			p.failed = nil
		}
		p.tell()
	}
}

// tell wakes the workers and all that wait for something to change. p.mu is held.
func (p *Pool) tell() {
	close(p.changed)
	p.changed = make(chan struct{})
	p.wake.Broadcast()
}

// free gives back the space of SSTs that no version names, and reports whether there were any. p.mu is held, and let go
// meanwhile.
func (p *Pool) free() bool {
	ordinals := p.o.Versions.Retired()
	if len(ordinals) == 0 {
		return false
	}
	p.mu.Unlock()
	for _, o := range ordinals {
		if err := p.o.Store.Excise(p.ctx, o); err != nil && p.ctx.Err() == nil {
			// The space is found again as an orphan when the database is next opened.
			p.o.Logger.Warn("could not free pages", "sst", o, "err", err)
		}
	}
	p.mu.Lock()
	return true
}

// next picks the most urgent job that may run now. p.mu is held.
func (p *Pool) next() (Job, bool) {
	if p.paused > 0 || time.Now().Before(p.retryAt) {
		return Job{}, false
	}
	jobs := Plan(p.state(), p.limits)
	if len(jobs) == 0 {
		return Job{}, false
	}
	return jobs[0], true
}

func (j Job) keys() []busyKey {
	switch j.Kind {
	case Flush:
		return []busyKey{{Flush, j.Table, j.Segment}}
	case Sort:
		return []busyKey{{j.Kind, j.Group, 0}}
	case Rewrite:
		return []busyKey{{Rewrite, j.Table, j.Segment}}
	case Consolidate:
		return []busyKey{{Consolidate, j.Table, 0}}
	}
	keys := make([]busyKey, len(j.Runs))
	for i, o := range j.Runs {
		keys[i] = busyKey{Merge, j.Group, o}
	}
	return keys
}

// state describes the current version for planning. p.mu is held.
func (p *Pool) state() State {
	sn := p.o.Versions.Acquire()
	defer sn.Release()
	var s State
	for _, t := range sn.Version().Tables() {
		ts := TableState{ID: t.Def.ID}
		for _, sl := range t.Sealed {
			seg := sl.Tail.Segment()
			ts.Sealed = append(ts.Sealed, SealedState{seg, p.busy[busyKey{Flush, t.Def.ID, seg}]})
		}
		for _, g := range t.Groups {
			gs := GroupState{ID: g.ID}
			for _, r := range g.Runs {
				gs.Runs = append(gs.Runs, RunState{Ordinal: r.Record.Ordinal, Span: r.Record.Span, Entries: r.Record.Entries,
					Busy: p.busy[busyKey{Merge, g.ID, r.Record.Ordinal}]})
			}
			gs.Tail = p.tailState(t, g, sn.Visible(t.Def.ID))
			ts.Groups = append(ts.Groups, gs)
		}
		if dead := sn.Dead(t.Def.ID); dead.Rows() > 0 {
			p.deadState(t, dead, &ts)
		}
		s.Tables = append(s.Tables, ts)
	}
	return s
}

// tailState describes what a table's active tail, of so many visible rows, has for a group. p.mu is held.
func (p *Pool) tailState(t *version.Table, g *version.Group, visible int) TailState {
	s := TailState{Segment: t.Active.Tail.Segment(), Rows: visible, Busy: p.busy[busyKey{Sort, g.ID, 0}] || !MaySort(t, g)}
	s.Minis = intervals(g, s.Segment)
	s.RowBytes, s.Limit, _ = PendingLimit(g, p.o.PendingListLimit)
	s.Waiting = g.PendingRows(t, visible) * s.RowBytes
	return s
}

// PendingLimit returns what the pending list of a group is measured by: the bytes of a row's keys in its widest index, the
// least of its indexes' gin_pending_list_limits (0 for a group without indexes), and whether commits take rows up.
func PendingLimit(g *version.Group, byDefault int64) (rowBytes, limit int64, sorted bool) {
	for _, ix := range g.Indexes {
		rowBytes = max(rowBytes, ix.Def.KeyBytes())
		l := ix.Def.PendingListLimit
		if l == 0 {
			l = byDefault
		}
		if limit == 0 || l < limit {
			limit = l
		}
		sorted = sorted || ix.Def.NoFastUpdate
	}
	return rowBytes, limit, sorted
}

// Gaps returns the flushed segments that no run of the group covers.
func Gaps(t *version.Table, g *version.Group) []uint64 {
	var out []uint64
	i := 0
	for _, s := range t.Segments {
		for i < len(g.Runs) && g.Runs[i].Record.Span.End <= s.Record.Segment {
			i++
		}
		if i == len(g.Runs) || g.Runs[i].Record.Span.First > s.Record.Segment {
			out = append(out, s.Record.Segment)
		}
	}
	return out
}

func (p *Pool) run(j Job) (err error) {
	defer pgerr.Recover(&err)
	start := time.Now()
	var st Stats
	switch j.Kind {
	case Flush:
		st.BytesFlushed, err = p.flush(j)
		st.Flushes, st.FlushTime = 1, time.Since(start)
	case Sort:
		err = p.sort(j)
		st.Sorts = 1
	case Merge:
		st.BytesMerged, err = p.merge(j)
		st.Merges, st.EntriesMerged, st.MergeTime = 1, int64(j.Entries), time.Since(start)
	case Purge:
		st.BytesVacuumed, err = p.merge(j)
		st.Purges, st.VacuumTime = 1, time.Since(start)
	case Rewrite:
		st.BytesVacuumed, err = p.rewrite(j)
		st.Rewrites, st.VacuumTime = 1, time.Since(start)
	case Consolidate:
		err = p.consolidate(j)
	}
	if err != nil {
		return err
	}
	p.o.Logger.Debug("background job done", "job", j.Kind.String(), "table", j.Table, "elapsed", time.Since(start))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Flushes += st.Flushes
	p.stats.Sorts += st.Sorts
	p.stats.Merges += st.Merges
	p.stats.EntriesMerged += st.EntriesMerged
	p.stats.FlushTime += st.FlushTime
	p.stats.MergeTime += st.MergeTime
	p.stats.BytesFlushed += st.BytesFlushed
	p.stats.BytesMerged += st.BytesMerged
	p.stats.Purges += st.Purges
	p.stats.Rewrites += st.Rewrites
	p.stats.VacuumTime += st.VacuumTime
	p.stats.BytesVacuumed += st.BytesVacuumed
	return nil
}

// yieldEvery is how long background loops keep a processor. Without yielding, a query waited up to 20 ms for the Go
// scheduler's own preemption; with it 0.3 ms.
const yieldEvery = 200 * time.Microsecond

// yielder returns the function that jobs call between small pieces of work: it lets others run and ends the job when
// the pool is closed.
func (p *Pool) yielder() func() error {
	last := time.Now()
	return func() error {
		if now := time.Now(); now.Sub(last) >= yieldEvery {
			runtime.Gosched()
			last = time.Now()
			return p.ctx.Err()
		}
		return nil
	}
}
