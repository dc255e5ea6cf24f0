package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"wideleaf"
	"wideleaf/cmd/wideload/internal/report"
)

// InsertConfig is an insert test.
type InsertConfig struct {
	Mode     Mode
	Columns  int
	Rows     int64         // to insert; 0: as many as Duration allows
	Duration time.Duration // how long to insert; 0: until Rows are in
	Clients  int
	Batch    int // rows a commit
	Sync     bool
	Seed     uint64
	Ask      bool // the cases, once settled
	// Sample, if not nil, gets a line of CSV a second, and case 1 is asked all along.
	Sample io.Writer
	// Progress may be nil.
	Progress *report.Progress
}

// Check returns all that is wrong with the configuration.
func (c *InsertConfig) Check() error {
	var errs []error
	complain := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	complain(c.Columns < 1, "columns is %d, must be at least 1", c.Columns)
	complain(c.Rows < 0, "rows is %d, must not be negative", c.Rows)
	complain(c.Duration < 0, "duration is %v, must not be negative", c.Duration)
	complain((c.Rows == 0) == (c.Duration == 0), "either rows or a duration must be given")
	complain(c.Clients < 1 || c.Clients > 10_000, "clients is %d, must be from 1 to 10000", c.Clients)
	complain(c.Batch < 1, "batch is %d, must be at least 1", c.Batch)
	complain((c.Sample != nil || c.Ask) && c.Columns < 2, "the cases ask for c1 and c2, the table has %d column", c.Columns)
	return errors.Join(errs...)
}

// InsertResult is what an insert test measured.
type InsertResult struct {
	Config   InsertConfig
	Rows     int64
	Commits  int64
	Inserted time.Duration // until the last row was committed
	Settled  time.Duration // until no background work was due
	Latency  *Latency      // of commits
	Case1    *Latency      // of case 1 all along, if it was asked
	Answers  []Answer      // to the cases, if they were asked
	Size     wideleaf.TableSize
	Metrics  wideleaf.Metrics
	PeakRSS  int64 // of the process; 0: unknown
}

// Insert creates the mode's table and indexes and runs the insert test on it.
func Insert(ctx context.Context, db *wideleaf.DB, c InsertConfig) (*InsertResult, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	t, err := db.CreateTable(ctx, c.Mode.Table, columns(c.Columns)...)
	if err != nil {
		return nil, err
	}
	if defs := c.Mode.indexes(c.Columns); defs != nil {
		if err := db.CreateIndexes(ctx, c.Mode.Table, defs...); err != nil {
			return nil, err
		}
	}
	r := &InsertResult{Config: c, Latency: NewLatency()}
	run := &insertRun{c: c, db: db, table: t, clients: make([]*client, c.Clients), start: time.Now()}
	for i := range run.clients {
		run.clients[i] = newClient(c.Seed, i)
	}
	if err := run.insert(ctx, r); err != nil {
		return nil, err
	}
	for _, cl := range run.clients {
		r.Latency.Merge(cl.latency)
		r.Rows += cl.rows.Load()
	}
	r.Commits = r.Latency.Count()
	if c.Ask {
		if r.Answers, err = Ask(ctx, t); err != nil {
			return nil, err
		}
	}
	return r, r.measure(ctx, db, t)
}

// measure takes the sizes. The rows that are in memory still are flushed for that, after all times were taken, so that
// the sizes are those of all rows.
func (r *InsertResult) measure(ctx context.Context, db *wideleaf.DB, t *wideleaf.Table) (err error) {
	if r.Metrics, err = db.Metrics(); err != nil {
		return err
	}
	r.PeakRSS, _ = PeakRSS()
	if err := t.Flush(ctx); err != nil {
		return err
	}
	r.Size, err = t.Size()
	return err
}

// insertRun is an insert test under way.
type insertRun struct {
	c       InsertConfig
	db      *wideleaf.DB
	table   *wideleaf.Table
	clients []*client
	start   time.Time
}

// insert runs the clients, and beside them whoever watches.
func (run *insertRun) insert(ctx context.Context, r *InsertResult) error {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	watchers, watching := errgroup.WithContext(watching)
	if run.c.Progress != nil {
		watchers.Go(func() error { run.showProgress(watching); return nil })
	}
	if run.c.Sample != nil {
		s := newSampler(run)
		r.Case1 = s.all
		watchers.Go(func() error { return s.ask(watching) })
		watchers.Go(func() error { return s.write(watching) })
	}

	opt := wideleaf.NoSync
	if run.c.Sync {
		opt = wideleaf.Sync
	}
	next := run.supply()
	clients, inserting := errgroup.WithContext(watching) // a watcher that fails ends it all
	for _, c := range run.clients {
		clients.Go(func() error { return c.run(inserting, run.table, next, opt) })
	}
	err := clients.Wait()
	r.Inserted = time.Since(run.start)
	if err == nil {
		run.c.Progress.Name("settling")
		err = run.db.Settle(watching)
		r.Settled = time.Since(run.start)
	}
	stop()
	if failed := watchers.Wait(); failed != nil {
		return failed
	}
	return err
}

// supply returns the function by which clients are told how many rows their next batch has; 0 ends them.
func (run *insertRun) supply() func() int {
	batch := int64(run.c.Batch)
	if run.c.Rows == 0 {
		end := run.start.Add(run.c.Duration)
		return func() int {
			if time.Now().After(end) {
				return 0
			}
			return int(batch)
		}
	}
	var taken atomic.Int64
	return func() int {
		left := run.c.Rows - (taken.Add(batch) - batch)
		return int(max(0, min(batch, left)))
	}
}

// rows returns how many rows are committed.
func (run *insertRun) rows() int64 {
	var n int64
	for _, c := range run.clients {
		n += c.rows.Load()
	}
	return n
}

// showProgress draws the progress line until ctx ends.
func (run *insertRun) showProgress(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	defer run.c.Progress.Done()
	for {
		rows := run.rows()
		share := float64(rows) / float64(max(run.c.Rows, 1))
		if run.c.Rows == 0 {
			share = time.Since(run.start).Seconds() / run.c.Duration.Seconds()
		}
		run.c.Progress.Show(share, rows)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
