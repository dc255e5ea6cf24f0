package buildparallel

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"wideleaf/am"
	"wideleaf/am/filter"
	"wideleaf/catalog"
	"wideleaf/heap"
	"wideleaf/page"
	"wideleaf/pgerr"
	"wideleaf/store"
	"wideleaf/tid"
	"wideleaf/tuplesort"
	"wideleaf/value"
	"wideleaf/version"
)

// MinMemory is the least maintenance_work_mem, PostgreSQL's.
const MinMemory = 1 << 20

// Options are what a build works with.
type Options struct {
	Store   *store.DB
	Workers int   // beside the leader
	Memory  int64 // maintenance_work_mem: for the entries of all participants together, at least MinMemory
	// Trace, if not nil, gets the lines of PostgreSQL's trace_sort.
	Trace *slog.Logger
	// Progress, if not nil, is kept up to date.
	Progress *Progress
}

// Job is which indexes to build of which rows.
type Job struct {
	Table    *catalog.Table
	Segments []*version.Segment // ascending, at least one
	Groups   []*version.Group   // all their indexes are built
	Dead     *tid.Dead          // deleted rows of the table, which get no entries
}

// Result is what a build wrote: SSTs, which belong to nobody until they are ingested and their records published.
type Result struct {
	Tables []*store.PageTable
	Runs   []version.RunRecord
}

// Abort drops the SSTs that are not ingested.
func (r *Result) Abort() {
	for _, t := range r.Tables {
		t.Abort()
	}
}

// Build builds the indexes of a job: a run of each over all the segments. On an error nothing is left.
func Build(ctx context.Context, o Options, job Job) (res *Result, err error) {
	if o.Progress == nil {
		o.Progress = new(Progress)
	}
	b := &builder{o: o, job: job, missing: heap.NewMissing(job.Table), participants: max(o.Workers, 0) + 1}
	for _, s := range job.Segments {
		b.rows += int64(s.Rows())
	}
	b.span = am.Span{First: job.Segments[0].Record.Segment, End: job.Segments[len(job.Segments)-1].Record.Segment + 1}
	defer func() {
		if err != nil {
			b.res.Abort()
			res = nil
		}
	}()
	o.Progress.begin(job.Groups, b.rows)
	for _, g := range job.Groups {
		if loadable(g) && b.span.End-b.span.First <= maxSpan {
			err = b.group(ctx, g)
		} else {
			err = b.bySegment(ctx, g)
		}
		if err != nil {
			return nil, err
		}
	}
	return &b.res, nil
}

// maxSpan is the number of segments of a run, whose TIDs are 32 bits.
const maxSpan = 1 << 16

// loadable reports whether all indexes of a group can be loaded in key order.
func loadable(g *version.Group) bool {
	return !slices.ContainsFunc(g.Indexes, func(ix *version.Index) bool {
		_, ok := ix.Method.(am.Loader)
		return !ok
	})
}

// builder is a build under way.
type builder struct {
	o            Options
	job          Job
	missing      heap.Missing
	span         am.Span
	rows         int64
	participants int
	words        tuplesort.Pool[uint64]
	pairs        tuplesort.Pool[sortPair]
	keys         tuplesort.Memory
	vectors      sync.Pool

	mu  sync.Mutex // guards res while participants run
	res Result
}

// share is a participant's part of the memory.
func (b *builder) share() int64 { return b.o.Memory / int64(b.participants) }

// participant is the leader (number 0) or a worker, during one phase.
type participant struct {
	id    int
	ctx   context.Context
	yield func() error
}

// parallel runs f for all participants and returns the first error; the others' contexts end with it.
func (b *builder) parallel(ctx context.Context, f func(p *participant) error) error {
	g, ctx := errgroup.WithContext(ctx)
	run := func(id int) (err error) {
		defer pgerr.Recover(&err)
		return f(&participant{id: id, ctx: ctx, yield: yielder(ctx)})
	}
	for id := range b.participants {
		g.Go(func() error { return run(id) })
	}
	return g.Wait()
}

// yieldEvery is how long a participant keeps a processor, so that queries needn't wait for it.
const yieldEvery = 200 * time.Microsecond

// yielder returns the function to be called between small pieces of work; it ends the work when ctx does.
func yielder(ctx context.Context) func() error {
	last := time.Now()
	return func() error {
		if now := time.Now(); now.Sub(last) >= yieldEvery {
			runtime.Gosched()
			last = time.Now()
			return ctx.Err()
		}
		return nil
	}
}

// column loads a column of a segment; release takes its memory back.
func (b *builder) column(p *participant, s *version.Segment, attno int) (*value.Vector, error) {
	v, _ := b.vectors.Get().(*value.Vector)
	if v == nil {
		v = new(value.Vector)
	}
	v.Reset(b.job.Table.TypeOf(attno))
	switch n := s.Rows(); v.Type.Width() {
	case value.Word32:
		v.U32 = slices.Grow(v.U32, n)
	case value.Word64:
		v.U64 = slices.Grow(v.U64, n)
	default:
		v.Str = slices.Grow(v.Str, n)
	}
	return v, b.missing.Source(s).Column(p.ctx, attno, v)
}

func (b *builder) release(vs ...*value.Vector) {
	for _, v := range vs {
		b.vectors.Put(v)
	}
}

// dead returns the dead rows of a segment, nil for none.
func (b *builder) dead(s *version.Segment) *tid.Bits {
	bits, _ := b.job.Dead.Segment(s.Record.Segment)
	return bits
}

// worker is a participant's number in trace lines.
func (b *builder) worker(p *participant) int { return (p.id + b.participants - 1) % b.participants }

// chunks deals the segments out. A chunk is some neighbouring ones, so that rows that come in order stay together.
type chunks struct {
	next atomic.Int64
	all  int
	size int
}

func (b *builder) chunks() *chunks {
	n := len(b.job.Segments)
	return &chunks{all: n, size: max(1, n/(b.participants*16))}
}

// take returns the next chunk, segments [from, to); empty at the end.
func (c *chunks) take() (from, to int) {
	to = int(c.next.Add(int64(c.size)))
	return min(to-c.size, c.all), min(to, c.all)
}

// group builds the indexes of a group, one after the other, all participants working on each. Columns are stored apart, so
// that no row is read twice for that.
func (b *builder) group(ctx context.Context, g *version.Group) error {
	sst, err := b.table()
	if err != nil {
		return err
	}
	rec := version.RunRecord{Group: g.ID, Ordinal: sst.Ordinal(), Span: b.span, Gone: b.job.Dead.In(b.span.First, b.span.End)}
	w := &sizedWriter{w: sst}
	for _, ix := range g.Indexes {
		first := sst.Next()
		b.o.Progress.index(ix.Def.Name)
		load := ix.Method.(am.Loader).Load(ix.Def, page.Owner{Relation: ix.Def.ID, Part: rec.Ordinal}, w, yielder(ctx))
		meta, err := b.sort(ctx, ix, load)
		if err != nil {
			return fmt.Errorf("index %q: %w", ix.Def.Name, err)
		}
		part := version.IndexRun{Index: ix.Def.ID, First: first, Meta: meta}
		if ix.Def.Unique {
			f, err := b.filter(ctx, ix)
			if err != nil {
				return fmt.Errorf("index %q: %w", ix.Def.Name, err)
			}
			if part.FilterBlocks, err = f.Write(page.Owner{Relation: ix.Def.ID, Part: rec.Ordinal}, meta.Blocks, w); err != nil {
				return err
			}
		}
		rec.Indexes = append(rec.Indexes, part)
		rec.Entries += meta.Entries
	}
	rec.Bytes = uint64(w.bytes)
	b.res.Runs = append(b.res.Runs, rec)
	return sst.Finish()
}

// filter makes the filter of a unique index's run.
func (b *builder) filter(ctx context.Context, ix *version.Index) (*filter.Filter, error) {
	f, h := filter.New(uint64(b.rows)), filter.NewHasher(ix.Def, ix.Method)
	p := &participant{ctx: ctx, yield: yielder(ctx)}
	for _, s := range b.job.Segments {
		src := am.Source{
			Column:  func(i int) (*value.Vector, error) { return b.column(p, s, ix.Def.Columns[i].Attno) },
			Release: func(v *value.Vector) { b.release(v) },
		}
		if err := h.AddRows(f, src); err != nil {
			return nil, err
		}
		if err := p.yield(); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (b *builder) table() (*store.PageTable, error) {
	t, err := b.o.Store.NewScratchTable()
	if err == nil {
		b.mu.Lock()
		b.res.Tables = append(b.res.Tables, t)
		b.mu.Unlock()
	}
	return t, err
}

// sort sorts the entries of one index and writes its run.
func (b *builder) sort(ctx context.Context, ix *version.Index, load am.Load) (am.RunMeta, error) {
	if !ix.Method.(am.Loader).Codes(ix.Def) {
		return b.sortKeys(ctx, ix, load)
	}
	c := ix.Def.Columns[0]
	shift := uint(tid.SegmentBits + bits64(b.span.End-b.span.First-1))
	f := &words{span: c.Type.MaxCode(), shift: shift}
	if c.Type.Width() != value.Word32 {
		lo, hi, err := b.bounds(c.Attno)
		if err != nil {
			return am.RunMeta{}, err
		}
		f.base, f.span = lo, hi-lo
		if uint(bits64(f.span))+shift > 64 {
			return sortCodes(ctx, b, ix, load, pairs{}, &b.pairs)
		}
	}
	return sortCodes(ctx, b, ix, load, f, &b.words)
}

// bounds returns the least and the greatest key code of a column, from the summaries of its pages.
func (b *builder) bounds(attno int) (lo, hi uint64, err error) {
	t := b.job.Table.TypeOf(attno)
	lo, some := ^uint64(0), false
	take := func(c, d uint64) {
		lo, hi, some = min(lo, value.KeyCode(t, c)), max(hi, value.KeyCode(t, d)), true
	}
	if i := b.job.Table.Column(attno); i >= 0 {
		if v := b.job.Table.Columns[i].Missing; !v.IsNull() {
			take(v.Code(), v.Code())
		}
	}
	for _, s := range b.job.Segments {
		ps, err := s.Stored.Pages(attno)
		if err != nil {
			return 0, 0, err
		}
		for i := range ps {
			if ps[i].Nulls < ps[i].Rows {
				take(ps[i].Words.Lo, ps[i].Words.Hi)
			}
		}
	}
	if !some {
		return 0, 0, nil
	}
	return lo, hi, nil
}

// bySegment builds the runs of a group segment by segment, as flushes do: of indexes whose method can't be loaded in key
// order, or of more segments than a run may span. Later merges put them together.
func (b *builder) bySegment(ctx context.Context, g *version.Group) error {
	b.o.Progress.index(g.Indexes[0].Def.Name)
	b.o.Progress.phase(PhaseScanning, b.rows*int64(len(g.Indexes)))
	c := b.chunks()
	c.size = 1
	return b.parallel(ctx, func(p *participant) error {
		for {
			i, end := c.take()
			if i == end {
				return nil
			}
			if err := b.segment(p, g, i); err != nil {
				return err
			}
		}
	})
}

func (b *builder) segment(p *participant, g *version.Group, i int) error {
	s := b.job.Segments[i]
	sst, err := b.table()
	if err != nil {
		return err
	}
	seg := s.Record.Segment
	span := am.Span{First: seg, End: seg + 1}
	if i+1 < len(b.job.Segments) { // up to the next, for merges, if some between were dropped
		span.End = min(b.job.Segments[i+1].Record.Segment, seg+maxSpan)
	}
	rec := version.RunRecord{Group: g.ID, Ordinal: sst.Ordinal(), Span: span, Gone: b.job.Dead.In(seg, seg+1)}
	w := &sizedWriter{w: sst}
	for _, ix := range g.Indexes {
		first := sst.Next()
		src := am.Source{
			Base: tid.New(seg, 0), Rows: s.Rows(), Dead: b.dead(s),
			Column:  func(i int) (*value.Vector, error) { return b.column(p, s, ix.Def.Columns[i].Attno) },
			Release: func(v *value.Vector) { b.release(v) },
		}
		meta, err := ix.Method.Build(ix.Def, page.Owner{Relation: ix.Def.ID, Part: rec.Ordinal}, src, w, p.yield)
		if err != nil {
			return fmt.Errorf("index %q: %w", ix.Def.Name, err)
		}
		part := version.IndexRun{Index: ix.Def.ID, First: first, Meta: meta}
		if ix.Def.Unique {
			f := filter.New(uint64(src.Rows))
			if err := filter.NewHasher(ix.Def, ix.Method).AddRows(f, src); err != nil {
				return err
			}
			if part.FilterBlocks, err = f.Write(page.Owner{Relation: ix.Def.ID, Part: rec.Ordinal}, meta.Blocks, w); err != nil {
				return err
			}
		}
		rec.Indexes = append(rec.Indexes, part)
		rec.Entries += meta.Entries
		b.o.Progress.add(s.Rows())
	}
	rec.Bytes = uint64(w.bytes)
	b.mu.Lock()
	b.res.Runs = append(b.res.Runs, rec)
	b.mu.Unlock()
	return sst.Finish()
}

// sizedWriter counts the bytes of the pages it passes on.
type sizedWriter struct {
	w     page.Writer
	bytes int64
}

func (s *sizedWriter) WritePage(p []byte) error {
	s.bytes += int64(len(p))
	return s.w.WritePage(p)
}
