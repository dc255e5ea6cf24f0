package wideleaf

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"wideleaf/catalog"
	"wideleaf/heap"
	"wideleaf/pgerr"
	"wideleaf/query"
	"wideleaf/store"
	"wideleaf/tid"
	"wideleaf/vacuum"
	"wideleaf/value"
	"wideleaf/version"
)

// CommitOption changes how a commit is done.
type CommitOption uint8

const (
	// Sync makes a commit return only when it is durable. It is the default.
	Sync CommitOption = iota
	// NoSync lets a commit return as soon as it is in the log's buffers: the latest such commits may be lost in a crash.
	NoSync
)

// maxCommitBytes bounds one commit: it is one record of the log, held in memory several times over.
const maxCommitBytes = 256 << 20

// request is what waits for the leader: rows to commit, or (exec) something to do between two commits.
type request struct {
	ctx  context.Context // when it ends before the leader writes, nothing is done
	ops  []insertOp
	dels []deleteOp
	sync bool
	exec func(*commitGroup) error
	err  error
	done chan bool // true: this request's writer leads now; false: it is done, with err
}

type insertOp struct {
	table *Table
	def   *catalog.Table // that cols are columns of
	cols  []*value.Vector
	rows  int
	block *[]byte   // cols as a row block, from blockPool
	keys  []rowKeys // of its rows, one for each unique index; the leader's

	// assigned are the columns that an update changes, if these rows are new versions of all those that the request deletes.
	// nil: they are others.
	assigned []query.Assignment

	placed *[]placement // told where the rows went, if not nil
}

// placement is rows that got consecutive TIDs.
type placement struct {
	first tid.TID
	rows  int
}

// blockPool keeps the memory of row blocks, which writers encode before they queue up.
var blockPool = sync.Pool{New: func() any { return new([]byte) }}

// encode makes the operation's row block.
func (op *insertOp) encode(size int64) {
	op.block = blockPool.Get().(*[]byte)
	*op.block = heap.AppendRows(slices.Grow((*op.block)[:0], int(size)), op.cols, 0, op.rows)
}

// release gives the block's memory back.
func (op *insertOp) release() {
	if cap(*op.block) <= 1<<20 {
		blockPool.Put(op.block)
	}
	op.block = nil
}

// committer is the one door through which rows come in. Writers queue up; the first becomes the leader and commits
// all that wait as a group: it alone assigns TIDs, writes the log, extends the tails and makes rows visible, so that TID
// order is log order is visibility order. When its group is done it passes the lead to the first that waits by then.
// (LevelDB's writers queue.)
//
// mu guards queue and leading, and is never held while anything is done. Who has to wait may leave the queue while nobody has
// taken the request; once it is in a group, its writer learns what became of it.
type committer struct {
	db *DB

	mu      sync.Mutex
	queue   []*request
	spare   []*request
	leading bool

	group   commitGroup // the leader's
	yielded time.Time   // when a leader last let others run
}

// leadFor is how long leaders keep a processor. A lone writer never waits for anything: without yielding it ran until the
// scheduler stopped it, and a query waited its 10 ms or more.
const leadFor = 200 * time.Microsecond

// commitGroup is what the leader works with.
type commitGroup struct {
	db      *DB
	touched []*Table
	blocks  []rowBlock
	commit  *store.Commit
	rows    []version.Rows
	deletes []loggedDelete
}

type rowBlock struct {
	table *Table
	first tid.TID
	next  tid.TID
	data  []byte
}

var requests = sync.Pool{New: func() any { return &request{done: make(chan bool, 1)} }}

// do commits a request, or has it committed by the leader.
func (c *committer) do(r *request) error {
	c.mu.Lock()
	c.queue = append(c.queue, r)
	lead := !c.leading
	c.leading = true
	c.mu.Unlock()
	if !lead {
		select {
		case lead = <-r.done:
		case <-r.ctx.Done():
			if c.withdraw(r) {
				return wrap("", r.ctx.Err())
			}
			lead = <-r.done
		}
		if !lead {
			return r.err
		}
	}
	c.mu.Lock()
	group := c.queue
	c.queue, c.spare = c.spare[:0], nil
	c.mu.Unlock()

	c.process(group)
	for _, o := range group {
		if o != r {
			o.done <- false
		}
	}
	clear(group)
	now := time.Now()
	yield := now.Sub(c.yielded) >= leadFor
	if yield {
		c.yielded = now
	}

	c.mu.Lock()
	c.spare = group[:0]
	if len(c.queue) > 0 {
		c.queue[0].done <- true
	} else {
		c.leading = false
	}
	c.mu.Unlock()
	if yield {
		runtime.Gosched()
	}
	return r.err
}

// withdraw takes a request out of the queue. It is too late when the leader has it, or when its writer is to lead.
func (c *committer) withdraw(r *request) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.Index(c.queue, r)
	if at < 0 || len(r.done) > 0 {
		return false
	}
	c.queue = slices.Delete(c.queue, at, at+1)
	return true
}

// process commits a group. Requests with exec split it, since they need all before them to be visible.
func (c *committer) process(group []*request) {
	for len(group) > 0 {
		if x := group[0].exec; x != nil {
			group[0].err = x(&c.group)
			group = group[1:]
			continue
		}
		n := 1
		for n < len(group) && group[n].exec == nil {
			n++
		}
		c.commitRows(group[:n])
		group = group[n:]
	}
}

// commitRows writes the rows of requests to the log and the tails and makes them visible, all at once.
func (c *committer) commitRows(group []*request) {
	g := &c.group
	g.reset()
	sync := false
	accepted := 0
	for _, r := range group {
		if r.err = c.db.store.Err(); r.err != nil {
			r.err = wrap("", r.err)
			continue
		}
		if r.err = r.ctx.Err(); r.err != nil {
			r.err = wrap("", r.err)
			continue
		}
		if r.err = g.admissible(r); r.err != nil {
			continue
		}
		accepted++
		sync = sync || r.sync
		for i := range r.dels {
			g.bury(&r.dels[i])
		}
		for i := range r.ops {
			g.add(&r.ops[i])
		}
	}
	if accepted == 0 {
		return
	}
	err := g.apply(sync)
	if err == nil {
		g.publish()
		return
	}
	// The store takes no more writes now, so that the rows which are in the tails beyond what is visible stay unseen.
	for _, r := range group {
		if r.err == nil {
			r.err = wrap("", err)
		}
	}
}

func (g *commitGroup) reset() {
	g.touched, g.rows, g.deletes = g.touched[:0], g.rows[:0], g.deletes[:0]
	for i := range g.blocks {
		g.blocks[i].table = nil
		if cap(g.blocks[i].data) > 1<<20 {
			g.blocks[i].data = nil
		}
	}
	g.blocks = g.blocks[:0]
}

// admissible checks what may have changed since the request was made.
func (g *commitGroup) admissible(r *request) error {
	for i := range r.ops {
		op := &r.ops[i]
		if op.table.w.dropped {
			return notFoundTable(op.table.def().Name)
		}
		if op.def != op.table.def() {
			return errAltered
		}
		if err := op.table.w.checkKeys(op); err != nil {
			return err
		}
	}
	for i := range r.dels {
		if err := g.buriable(&r.dels[i]); err != nil {
			return err
		}
	}
	for i := range r.ops {
		if len(r.ops[i].table.w.unique) > 0 {
			if err := g.checkUnique(r, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// tableWriter is the leader's view of a table.
type tableWriter struct {
	tail    *heap.Tail
	sealed  []version.Sealed // sealed by the group at work
	touched bool
	dropped bool
	keys    []keyLimit // indexes whose keys may be too long
	unique  []*uniqueIndex
	sorting sorting
	dead    *tid.Dead         // with the deletes of the group at work, while it has some
	buried  []tid.DeadSegment // what these make of their segments
}

// add assigns TIDs to an operation's rows and puts them into blocks and tails.
func (g *commitGroup) add(op *insertOp) {
	w := &op.table.w
	g.touch(op.table)
	for from := 0; from < op.rows; {
		n := w.tail.Fit(op.cols, from, op.rows)
		if n == 0 {
			w.seal(op.table)
			continue
		}
		b := g.block(op.table, tid.New(w.tail.Segment(), 0)+tid.TID(w.tail.Len()))
		if n == op.rows {
			b.data = append(b.data, *op.block...)
		} else {
			b.data = heap.AppendRows(b.data, op.cols, from, from+n)
		}
		if op.placed != nil {
			*op.placed = append(*op.placed, placement{b.next, n})
		}
		b.next += tid.TID(n)
		for i, u := range w.unique {
			u.note(op.keys[i], from, n, tid.New(w.tail.Segment(), 0)+tid.TID(w.tail.Len()))
		}
		w.tail.Append(op.cols, from, from+n)
		from += n
	}
	for i, u := range w.unique {
		u.free = append(u.free, op.keys[i])
	}
}

func (g *commitGroup) touch(t *Table) {
	if !t.w.touched {
		t.w.touched = true
		g.touched = append(g.touched, t)
	}
}

// seal ends the table's active tail and begins the next.
func (w *tableWriter) seal(t *Table) {
	w.sealed = append(w.sealed, version.Sealed{Tail: w.tail, Rows: w.tail.Len()})
	w.sorting.next = w.sorting.every
	w.tail = heap.NewTail(t.def(), w.tail.Segment()+1)
}

// maxBlock bounds a row block that gathers several batches.
const maxBlock = 256 << 10

// block returns the block that rows from a TID on go to: the last one if it ends there, or a new one.
func (g *commitGroup) block(t *Table, first tid.TID) *rowBlock {
	for i := len(g.blocks) - 1; i >= 0; i-- {
		if b := &g.blocks[i]; b.table == t {
			if b.next == first && first.Offset() != 0 && len(b.data) < maxBlock {
				return b
			}
			break
		}
	}
	if n := len(g.blocks); n < cap(g.blocks) {
		g.blocks = g.blocks[:n+1]
	} else {
		g.blocks = append(g.blocks, rowBlock{})
	}
	b := &g.blocks[len(g.blocks)-1]
	b.table, b.first, b.next, b.data = t, first, first, b.data[:0]
	return b
}

func (g *commitGroup) apply(sync bool) error {
	if g.commit == nil {
		g.commit = g.db.store.NewCommit()
	}
	for i := range g.blocks {
		b := &g.blocks[i]
		g.commit.AddRows(b.table.id, b.first, b.data)
	}
	for i := range g.deletes {
		d := &g.deletes[i]
		g.commit.AddDelete(d.table, d.segment, d.number, d.rows)
	}
	return g.commit.Apply(sync)
}

// publish makes the rows of the touched tables visible and wakes the pool when tails were sealed.
func (g *commitGroup) publish() {
	sealed := false
	for _, t := range g.touched {
		w := &t.w
		g.rows = append(g.rows, version.Rows{Table: t.id, Sealed: w.sealed, Active: w.tail, Visible: w.tail.Len(), Dead: w.buried})
		sealed = sealed || len(w.sealed) > 0 || len(w.buried) > 0
		w.sealed, w.touched, w.dead, w.buried = nil, false, nil, nil
	}
	g.db.versions.Commit(g.rows)
	for _, t := range g.touched {
		if w := &t.w; w.sorting.every > 0 && w.tail.Len() >= w.sorting.next {
			t.sortPending()
		}
	}
	if sealed {
		g.db.measurePressure()
		g.db.pool.Notify()
	}
}

// keyLimit is an index whose keys may be too long for its access method.
type keyLimit struct {
	index *version.Index
	cols  []int // positions of its columns in the table
}

// checkKeys refuses rows whose keys an index can't hold.
func (w *tableWriter) checkKeys(op *insertOp) error {
	for i := range w.keys {
		if err := w.keys[i].check(op.cols, op.rows); err != nil {
			return err
		}
	}
	return nil
}

func (k *keyLimit) check(cols []*value.Vector, rows int) error {
	limit := k.index.Method.Abilities().MaxKeyBytes
	for row := range rows {
		size := 0
		for _, c := range k.cols {
			if v := cols[c]; v.Type.Width() == value.Var {
				size += len(v.Str[row])
			}
		}
		// Escapes at most double a string; markers and fixed-width columns take at most 9 bytes each.
		if 2*size+12*len(k.cols) <= limit {
			continue
		}
		vals := make([]value.Value, len(k.cols))
		for i, c := range k.cols {
			vals[i] = cols[c].Value(row)
		}
		if n := k.index.KeyBytes(vals); n > limit {
			return &Error{Kind: ErrInvalid, Code: pgerr.ProgramLimitExceeded, Object: k.index.Def.Name,
				Message: fmt.Sprintf("index row size %d exceeds %s maximum %d for index %q", n, k.index.Def.Method, limit, k.index.Def.Name),
				Hint:    "Values larger than 1/3 of a buffer page cannot be indexed."}
		}
	}
	return nil
}

// errAltered is the error of operations that were made for an older definition of a table: they are to be made anew.
var errAltered = errors.New("the table was altered meanwhile")

func release(ops []insertOp) {
	for i := range ops {
		ops[i].release()
	}
}

// insert commits operations as one. It may return errAltered.
func (db *DB) insert(ctx context.Context, ops []insertOp, opts []CommitOption) error {
	return db.change(ctx, ops, nil, opts)
}

// change commits deletes and then inserts as one. It may return errAltered, or errMoved when a row to be deleted is dead.
func (db *DB) change(ctx context.Context, ops []insertOp, dels []deleteOp, opts []CommitOption) error {
	if len(ops) == 0 && len(dels) == 0 {
		return nil
	}
	defer release(ops)
	if err := db.admit(ctx); err != nil {
		return err
	}
	r := requests.Get().(*request)
	r.ctx, r.ops, r.dels, r.exec, r.err = ctx, ops, dels, nil, nil
	r.sync = syncs(opts)
	err := db.committer.do(r)
	r.ctx, r.ops, r.dels = nil, nil, nil
	requests.Put(r)
	return err
}

// syncs reports whether a commit with these options is to be on disk when it returns.
func syncs(opts []CommitOption) bool {
	return len(opts) == 0 || opts[len(opts)-1] != NoSync
}

// between runs f between two commits, unless the context ends before.
func (db *DB) between(ctx context.Context, f func(*commitGroup) error) error {
	r := requests.Get().(*request)
	r.ctx, r.ops, r.dels, r.exec, r.err = ctx, nil, nil, f, nil
	err := db.committer.do(r)
	r.ctx, r.exec = nil, nil
	requests.Put(r)
	return err
}

// Backpressure. Sealed tails hold memory, and runs that wait for merging slow queries down, so both are bounded: writers
// are slowed from three quarters of a bound on, by a delay for each commit that grows to slowest, and wait at the bound,
// until the pool has caught up or their context ends.
const (
	slowest  = 2 * time.Millisecond
	maxRuns  = 64 // runs of a group
	waitStep = 50 * time.Millisecond
)

// admit slows the caller down, or makes it wait, when the background work is behind.
func (db *DB) admit(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return wrap("", err)
	}
	p := db.pressure.Load()
	if p < pressureSlow {
		return nil
	}
	if p < pressureFull {
		return sleep(ctx, slowest*time.Duration(p-pressureSlow+1)/(pressureFull-pressureSlow))
	}
	for db.pressure.Load() >= pressureFull {
		if err := db.store.Err(); err != nil {
			return wrap("", err)
		}
		changed := db.pool.Changed()
		db.pool.Notify()
		select {
		case <-ctx.Done():
			return wrap("", ctx.Err())
		case <-db.ctx.Done():
			return errClosed()
		case <-changed:
		case <-time.After(waitStep):
		}
		db.measurePressure()
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return wrap("", ctx.Err())
	case <-t.C:
		return nil
	}
}

// Pressure is in sixteenths of a bound.
const (
	pressureSlow = 12
	pressureFull = 16
)

// measurePressure is called whenever a tail was sealed or a job ended.
func (db *DB) measurePressure() {
	sn := db.versions.Acquire()
	defer sn.Release()
	var sealed int64
	runs := 0
	p := int64(0)
	for _, t := range sn.Version().Tables() {
		for _, s := range t.Sealed {
			sealed += s.Tail.Bytes()
		}
		for _, g := range t.Groups {
			runs = max(runs, len(g.Runs))
			sealed += g.MiniBytes() - g.MiniBytesOf(t.Active.Tail.Segment()) // those go when it is sealed and flushed
			rowBytes, limit, _ := vacuum.PendingLimit(g, db.o.PendingListLimit)
			if limit > 0 && vacuum.MaySort(t, g) {
				waiting := g.PendingRows(t, sn.Visible(t.Def.ID)) * rowBytes
				p = max(p, waiting*pressureFull/(limit*vacuum.HardLimit))
			}
		}
	}
	p = max(p, int64(runs*pressureFull/maxRuns))
	if sealed > 0 {
		// At least two tails may wait, whatever the limit, so that two workers find work.
		p = max(p, (sealed+heap.TailBytes)*pressureFull/max(db.o.share(tailShare), 3*heap.TailBytes))
	}
	db.pressure.Store(p)
}
