package buildparallel

import (
	"context"
	"math/bits"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"wideleaf/am"
	"wideleaf/am/leaf"
	"wideleaf/am/sortrun"
	"wideleaf/page"
	"wideleaf/tuplesort"
	"wideleaf/value"
	"wideleaf/version"
)

type sortPair = sortrun.Pair

func bits64(x uint64) int { return bits.Len64(x) }

const (
	// minBatch is how many entries a participant sorts at a time however little memory there is.
	minBatch = 4096
	// sliceEntries is how many entries a slice has where memory allows: they stay in the second-level cache.
	sliceEntries = 64 << 10
)

// sorter sorts the entries of one index.
type sorter[E any] struct {
	b     *builder
	ix    *version.Index
	attno int
	form  form[E]
	pool  *tuplesort.Pool[E]
	batch int // entries that a participant sorts at a time: with as much memory beside it, its share
	grain int // entries of a page on tape, and between samples of a run in memory

	mu    sync.Mutex // guards what participants leave behind
	runs  []codeRun[E]
	tapes []*tuplesort.Tape
	nulls []nullRows
}

// nullRows are the NULLs of a segment, dead rows left out.
type nullRows struct {
	rel  uint32 // TID of its row 0
	bits []uint64
}

func sortCodes[E any](ctx context.Context, b *builder, ix *version.Index, load am.Load, f form[E], pl *tuplesort.Pool[E]) (am.RunMeta, error) {
	s := &sorter[E]{b: b, ix: ix, attno: ix.Def.Columns[0].Attno, form: f, pool: pl}
	s.batch = int(min(max(b.share()/(2*f.size()), minBatch), 1<<31)) &^ 63
	s.grain = max(leaf.BlockEntries, min(s.batch/64, 1024))
	defer s.close()
	b.o.Progress.phase(PhaseScanning, b.rows)
	c := b.chunks()
	if err := b.parallel(ctx, func(p *participant) error { return s.scan(p, c) }); err != nil {
		return am.RunMeta{}, err
	}
	if err := s.merge(ctx, load); err != nil {
		return am.RunMeta{}, err
	}
	return load.Finish()
}

// close gives memory and files back.
func (s *sorter[E]) close() {
	for _, r := range s.runs {
		s.pool.Give(r.a)
	}
	for _, t := range s.tapes {
		t.Close()
	}
}

// batch is the entries that a participant gathers.
type batch[E any] struct {
	s     *sorter[E]
	p     *participant
	a     []E
	tape  *tuplesort.Tape
	runs  int
	trace *tuplesort.Tracer
}

// scan is steps 1 and 2 of a participant: it sorts its share of the segments into runs.
func (s *sorter[E]) scan(p *participant, c *chunks) error {
	w := &batch[E]{s: s, p: p, tape: tuplesort.NewTape(s.b.o.Store), trace: tuplesort.NewTracer(s.b.o.Trace, s.b.worker(p))}
	w.trace.Begin(s.ix.Def.Unique, s.b.share())
	s.mu.Lock()
	s.tapes = append(s.tapes, w.tape)
	s.mu.Unlock()
	for {
		from, to := c.take()
		if from == to {
			break
		}
		for _, seg := range s.b.job.Segments[from:to] {
			v, err := s.b.column(p, seg, s.attno)
			if err == nil {
				err = w.add(seg, v)
			}
			s.b.release(v)
			if err != nil {
				return err
			}
			s.b.o.Progress.add(v.N)
		}
	}
	return w.end()
}

// add takes the rows of a segment.
func (w *batch[E]) add(seg *version.Segment, v *value.Vector) error {
	s := w.s
	rel := uint32(seg.Record.Segment-s.b.span.First) << 16
	dead := s.b.dead(seg)
	if v.HasNulls() {
		n := nullRows{rel: rel, bits: slices.Clone(v.Nulls)}
		if dead != nil {
			for i := range n.bits {
				n.bits[i] &^= dead[i]
			}
		}
		s.mu.Lock()
		s.nulls = append(s.nulls, n)
		s.mu.Unlock()
	}
	for from := 0; from < v.N; {
		if cap(w.a)-len(w.a) < min(64, v.N-from) {
			if err := w.room(v.N - from); err != nil {
				return err
			}
		}
		to := min(v.N, from+(cap(w.a)-len(w.a))&^63)
		if v.N-from <= cap(w.a)-len(w.a) {
			to = v.N
		}
		var ok bool
		if w.a, ok = s.form.scan(w.a, v, from, to, rel, dead); !ok {
			return &page.CorruptError{Owner: page.Owner{Relation: seg.Record.Table, Part: seg.Record.Segment}, Block: seg.Record.Meta.Summary,
				Detail: "a column has values outside of what the summary says"}
		}
		from = to
		if err := w.p.yield(); err != nil {
			return err
		}
	}
	return nil
}

// room makes room for more entries, by growing the batch as long as it may or else by writing it to tape.
func (w *batch[E]) room(rows int) error {
	s := w.s
	if cap(w.a) == 0 {
		// A little more than its part, since chunks aren't dealt out evenly.
		n := s.b.rows/int64(s.b.participants)*9/8 + 128<<10
		w.a = s.pool.Take(int(min(n, s.b.rows+64, int64(s.batch))) &^ 63)
		if cap(w.a) > 0 {
			return nil
		}
		w.a = s.pool.Take(64)
		return nil
	}
	if n := cap(w.a); n < s.batch {
		a := append(s.pool.Take(min(n+n/2+(rows+63)&^63, s.batch)), w.a...)
		s.pool.Give(w.a)
		w.a = a
		return nil
	}
	return w.spill()
}

// sort sorts the batch.
func (w *batch[E]) sort() error {
	w.trace.Sorting(w.runs)
	tmp := w.s.pool.Take(len(w.a))
	defer w.s.pool.Give(tmp)
	if err := w.s.form.sort(w.a, tmp[:len(w.a)], w.p.yield); err != nil {
		return err
	}
	w.trace.Sorted(w.runs)
	return nil
}

// spill writes the batch to tape as a sorted run.
func (w *batch[E]) spill() error {
	if w.runs == 0 {
		w.trace.External()
	}
	if err := w.sort(); err != nil {
		return err
	}
	r := codeRun[E]{tape: w.tape, n: len(w.a), owner: page.Owner{Relation: w.s.ix.Def.ID, Part: uint64(w.p.id)<<32 | uint64(w.runs)}}
	var bl leaf.Builder
	bl.Reset()
	endPage := func() error {
		at, err := w.tape.Write(bl.Seal(page.KindBtreeLeaf, r.owner, uint32(len(r.places))))
		r.places = append(r.places, at)
		bl.Reset()
		if err != nil {
			return err
		}
		return w.p.yield()
	}
	for a := w.a; len(a) > 0; {
		n := 0
		if bl.Entries() < w.s.grain {
			n = w.s.form.pack(&bl, a)
		}
		if n == 0 {
			if err := endPage(); err != nil {
				return err
			}
			continue
		}
		if bl.Entries() == n {
			r.firsts = append(r.firsts, a[0])
		}
		a = a[n:]
	}
	if bl.Entries() > 0 {
		if err := endPage(); err != nil {
			return err
		}
	}
	w.runs++
	w.trace.Wrote(w.runs)
	w.a = w.a[:0]
	w.s.mu.Lock()
	w.s.runs = append(w.s.runs, r)
	w.s.mu.Unlock()
	return w.tape.Flush()
}

// end sorts what is left, which stays in memory.
func (w *batch[E]) end() error {
	w.trace.Performing()
	w.s.b.o.Progress.sorting()
	if len(w.a) > 0 {
		if err := w.sort(); err != nil {
			return err
		}
		w.s.mu.Lock()
		w.s.runs = append(w.s.runs, codeRun[E]{a: w.a, n: len(w.a)})
		w.s.mu.Unlock()
	} else {
		w.s.pool.Give(w.a)
	}
	w.trace.Performed(w.tape, int64(cap(w.a))*w.s.form.size())
	return nil
}

// slice is the entries from one on up to, not including, another.
type slice[E any] struct {
	lo, hi E
	last   bool // there is no end
}

// slices cuts the entries into slices of about n, by samples of all runs. Since no two entries are equal, the TID being
// part of them, any number of equal keys can be cut.
func (s *sorter[E]) slices(n int) []slice[E] {
	type sample struct {
		e E
		n int // entries from it to the run's next sample
	}
	var samples []sample
	for i := range s.runs {
		r := &s.runs[i]
		if r.tape != nil {
			each := r.n / len(r.firsts)
			for _, e := range r.firsts {
				samples = append(samples, sample{e, each})
			}
			continue
		}
		for at := 0; at < len(r.a); at += s.grain {
			samples = append(samples, sample{r.a[at], min(s.grain, len(r.a)-at)})
		}
	}
	if len(samples) == 0 {
		return nil
	}
	slices.SortFunc(samples, func(x, y sample) int {
		switch {
		case s.form.less(x.e, y.e):
			return -1
		case s.form.less(y.e, x.e):
			return 1
		}
		return 0
	})
	var zero E
	out := []slice[E]{{lo: zero}}
	sum := 0
	for _, x := range samples {
		if sum > 0 && sum+x.n > n {
			out[len(out)-1].hi = x.e
			out = append(out, slice[E]{lo: x.e})
			sum = 0
		}
		sum += x.n
	}
	out[len(out)-1].last = true
	return out
}

// merge is steps 3 and 4: all participants merge slices and pack them into pages, which are written in order.
func (s *sorter[E]) merge(ctx context.Context, load am.Load) error {
	total, onTape := 0, 0
	for i := range s.runs {
		total += s.runs[i].n
		if s.runs[i].tape != nil {
			onTape++
		}
	}
	s.b.o.Progress.phase(PhaseLoading, int64(total))
	// A slice and as much again are what is left of a participant's share once its batch is sorted.
	n := min(sliceEntries, s.batch/4)
	cuts := s.slices(n)
	trace := tuplesort.NewTracer(s.b.o.Trace, -1)
	trace.Merging(s.ix.Def.Unique, s.b.o.Memory, len(s.runs))
	sort.Slice(s.nulls, func(i, j int) bool { return s.nulls[i].rel < s.nulls[j].rel })
	var next atomic.Int64
	order := newTurns()
	var last E
	seen := false
	err := s.b.parallel(ctx, func(p *participant) error {
		defer context.AfterFunc(p.ctx, order.end)()
		m := &merging[E]{s: s, p: p, part: load.NewPart(p.yield), n: n}
		defer m.free()
		for {
			i := int(next.Add(1)) - 1
			if i >= len(cuts) {
				return nil
			}
			a, err := m.entries(cuts[i])
			if err != nil {
				return err
			}
			if s.ix.Def.Unique {
				if err := s.unique(a); err != nil {
					return err
				}
			}
			if err := s.form.put(m.part, a); err != nil {
				return err
			}
			if err := order.wait(p.ctx, i); err != nil {
				return err
			}
			if s.ix.Def.Unique && len(a) > 0 {
				if seen && s.form.sameKey(last, a[0]) {
					return s.duplicate(last, a[0])
				}
				last, seen = a[len(a)-1], true
			}
			if err := load.Add(m.part); err != nil {
				return err
			}
			order.next()
			s.b.o.Progress.add(len(a))
		}
	})
	if err == nil {
		err = s.addNulls(ctx, load)
	}
	trace.Ended(onTape > 0, s.tapes)
	return err
}

// merging is what a participant merges with.
type merging[E any] struct {
	s      *sorter[E]
	p      *participant
	part   am.Part
	n      int
	a, tmp []E
	ends   []int
	leaf   leaf.Page
	buf    [page.Size]byte
}

func (m *merging[E]) free() {
	m.part.Free()
	m.s.pool.Give(m.a)
	m.s.pool.Give(m.tmp)
}

// entries returns the entries of a slice in order; they are valid until the next call.
func (m *merging[E]) entries(c slice[E]) ([]E, error) {
	s := m.s
	m.ends = m.ends[:0]
	m.a = m.a[:0]
	var only []E // the part of a run in memory, as long as there is no other
	for i := range s.runs {
		r := &s.runs[i]
		if r.tape == nil {
			from := s.search(r.a, c.lo)
			to := len(r.a)
			if !c.last {
				to = from + s.search(r.a[from:], c.hi)
			}
			switch {
			case from == to:
				continue
			case len(m.a) == 0 && only == nil:
				only = r.a[from:to]
				continue
			}
			m.copy(&only)
			m.grow(to - from)
			m.a = append(m.a, r.a[from:to]...)
		} else if err := m.read(r, c, &only); err != nil {
			return nil, err
		}
		n := 0
		if len(m.ends) > 0 {
			n = m.ends[len(m.ends)-1]
		}
		if len(m.a) > n {
			m.ends = append(m.ends, len(m.a))
		}
		if err := m.p.yield(); err != nil {
			return nil, err
		}
	}
	if only != nil {
		return only, nil
	}
	if len(m.ends) < 2 {
		return m.a, nil
	}
	if cap(m.tmp) < len(m.a) {
		s.pool.Give(m.tmp)
		m.tmp = s.pool.Take(max(cap(m.a), 2*m.n))
	}
	return s.form.merge(m.a, m.tmp[:len(m.a)], m.ends, m.p.yield)
}

// copy puts the entries of a run in memory that was the only one into the buffer.
func (m *merging[E]) copy(only *[]E) {
	if *only != nil {
		m.grow(len(*only))
		m.a = append(m.a, *only...)
		m.ends = append(m.ends, len(m.a))
		*only = nil
	}
}

func (m *merging[E]) grow(n int) {
	if cap(m.a)-len(m.a) >= n {
		return
	}
	a := append(m.s.pool.Take(max(2*m.n, len(m.a)+n, cap(m.a)*3/2)), m.a...)
	m.s.pool.Give(m.a)
	m.a = a
}

// search returns the place of the first entry that doesn't come before e.
func (s *sorter[E]) search(a []E, e E) int {
	return sort.Search(len(a), func(i int) bool { return !s.form.less(a[i], e) })
}

// read appends the entries of a slice of a run on tape.
func (m *merging[E]) read(r *codeRun[E], c slice[E], only *[]E) error {
	s := m.s
	i := max(s.search(r.firsts, c.lo), 1) - 1
	for ; i < len(r.firsts) && (c.last || s.form.less(r.firsts[i], c.hi)); i++ {
		p, err := r.tape.Read(r.places[i], &m.buf, r.owner, uint32(i))
		if err != nil {
			return err
		}
		if err := m.leaf.Open(p, page.KindBtreeLeaf); err != nil {
			return err
		}
		for j := range m.leaf.Blocks() {
			b := m.leaf.Block(j)
			m.copy(only)
			m.grow(b.N)
			n := len(m.a)
			var ok bool
			if m.a, ok = s.form.unpack(m.a, &b); !ok {
				return &page.CorruptError{Owner: r.owner, Block: uint32(i), Detail: "entries on tape are out of range"}
			}
			got := m.a[n:]
			if s.form.less(got[0], c.lo) {
				got = got[:copy(got, got[s.search(got, c.lo):])]
			}
			if !c.last {
				got = got[:s.search(got, c.hi)]
			}
			m.a = m.a[:n+len(got)]
		}
	}
	return nil
}

// unique looks for equal keys next to each other.
func (s *sorter[E]) unique(a []E) error {
	for i := 1; i < len(a); i++ {
		if s.form.sameKey(a[i-1], a[i]) {
			return s.duplicate(a[i-1], a[i])
		}
	}
	return nil
}

func (s *sorter[E]) duplicate(x, y E) error {
	return s.b.duplicate(s.ix, s.form.tid(x), s.form.tid(y))
}

// addNulls writes the NULLs behind all codes, in TID order.
func (s *sorter[E]) addNulls(ctx context.Context, load am.Load) error {
	if len(s.nulls) == 0 {
		return nil
	}
	yield := yielder(ctx)
	part := load.NewPart(yield)
	defer part.Free()
	var tids [64]uint32
	for i, r := range s.nulls {
		for w, x := range r.bits {
			n := 0
			for ; x != 0; x &= x - 1 {
				tids[n] = r.rel + uint32(64*w+bits.TrailingZeros64(x))
				n++
			}
			if err := part.Nulls(tids[:n]); err != nil {
				return err
			}
		}
		if i%8 == 7 || i == len(s.nulls)-1 {
			if err := load.Add(part); err != nil {
				return err
			}
		}
	}
	return nil
}

// turns lets participants write their slices one after the other, in order.
type turns struct {
	mu   sync.Mutex
	turn int
	wake *sync.Cond
	over bool
}

func newTurns() *turns {
	t := new(turns)
	t.wake = sync.NewCond(&t.mu)
	return t
}

// wait returns when it is i's turn, or with an error when ctx, that of all participants, has ended and with it the turns.
func (t *turns) wait(ctx context.Context, i int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.turn != i && !t.over {
		t.wake.Wait()
	}
	return ctx.Err()
}

func (t *turns) next() {
	t.mu.Lock()
	t.turn++
	t.wake.Broadcast()
	t.mu.Unlock()
}

func (t *turns) end() {
	t.mu.Lock()
	t.over = true
	t.wake.Broadcast()
	t.mu.Unlock()
}
