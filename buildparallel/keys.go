package buildparallel

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"wideleaf/am"
	"wideleaf/am/leaf"
	"wideleaf/am/sortrun"
	"wideleaf/page"
	"wideleaf/tid"
	"wideleaf/value"
	"wideleaf/version"
)

// keySorter sorts the entries of an index of byte keys. In memory they are sorted as pairs of a prefix, the eight bytes
// behind what all keys of a batch begin with, and the key's place; what is equal in the prefix is put right by comparing
// keys. On tape they are pages of keys, and are merged entry by entry through a loser tree: a comparison of keys costs
// more than the steps of the tree.
type keySorter struct {
	b     *builder
	ix    *version.Index
	load  am.Loader
	batch int // bytes of keys and pairs that a participant sorts at a time
	grain int // entries between samples, and at most on a page on tape

	mu    sync.Mutex // guards what participants leave behind
	runs  []keyRun
	tapes []*tape
}

// keyBound is a place in the order of all entries.
type keyBound struct {
	key []byte
	tid uint32
}

func (b keyBound) compare(o keyBound) int {
	if c := bytes.Compare(b.key, o.key); c != 0 {
		return c
	}
	switch {
	case b.tid < o.tid:
		return -1
	case b.tid > o.tid:
		return 1
	}
	return 0
}

// keyRun is a sorted run, in memory or on tape.
type keyRun struct {
	text  []byte // keys, each behind its length in two bytes
	pairs []sortrun.Pair

	tape   *tape
	owner  page.Owner
	places []place
	firsts []keyBound
	n      int
}

const (
	lengthBytes = 2
	maxText     = math.MaxUint32 - page.Size // places in the text take 32 bits
	pairBytes   = 16
)

func val(at int, t uint32) uint64 { return uint64(at)<<32 | uint64(t) }

// entry returns an entry of a run in memory.
func (r *keyRun) entry(i int) keyBound {
	x := r.pairs[i]
	return keyBound{r.keyAt(x), uint32(x.Val)}
}

func (r *keyRun) keyAt(x sortrun.Pair) []byte {
	at := x.Val >> 32
	n := uint64(binary.LittleEndian.Uint16(r.text[at:]))
	at += lengthBytes
	return r.text[at : at+n]
}

// sortKeys sorts the entries of an index of byte keys and writes its run.
func (b *builder) sortKeys(ctx context.Context, ix *version.Index, load am.Load) (am.RunMeta, error) {
	s := &keySorter{b: b, ix: ix, load: ix.Method.(am.Loader), batch: int(min(max(b.share(), 64<<10), 2*maxText))}
	s.grain = leaf.BytesBlockEntries
	defer func() {
		for _, t := range s.tapes {
			t.close()
		}
		for _, r := range s.runs {
			b.pairs.give(r.pairs)
			b.texts.give(r.text)
		}
	}()
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

// keyBatch is the entries that a participant gathers.
type keyBatch struct {
	s     *keySorter
	p     *participant
	run   keyRun
	tape  *tape
	runs  int
	trace *tracer
}

func (s *keySorter) scan(p *participant, c *chunks) error {
	w := &keyBatch{s: s, p: p, tape: &tape{db: s.b.o.Store}, trace: newTracer(s.b.o.Trace, s.b.worker(p))}
	w.trace.begin(s.ix.Def.Unique, s.b.share())
	s.mu.Lock()
	s.tapes = append(s.tapes, w.tape)
	s.mu.Unlock()
	for {
		from, to := c.take()
		if from == to {
			break
		}
		for _, seg := range s.b.job.Segments[from:to] {
			if err := w.add(seg); err != nil {
				return err
			}
			s.b.o.Progress.add(seg.Rows())
		}
	}
	return w.end()
}

func (w *keyBatch) add(seg *version.Segment) error {
	s := w.s
	var cols []*value.Vector
	defer func() { s.b.release(cols...) }()
	for _, c := range s.ix.Def.Columns {
		v, err := s.b.column(w.p, seg, c.Attno)
		if err != nil {
			return err
		}
		cols = append(cols, v)
	}
	rel := uint32(seg.Record.Segment-s.b.span.First) << tid.SegmentBits
	dead := s.b.dead(seg)
	r := &w.run
	for i := range seg.Rows() {
		if dead != nil && dead[i>>6]>>(i&63)&1 != 0 {
			continue
		}
		for cap(r.text)-len(r.text) < page.Size || len(r.pairs) == cap(r.pairs) {
			if err := w.room(); err != nil {
				return err
			}
		}
		at := len(r.text)
		text, err := s.load.AppendKey(s.ix.Def, cols, i, append(r.text, 0, 0))
		if err != nil {
			return err
		}
		binary.LittleEndian.PutUint16(text[at:], uint16(len(text)-at-lengthBytes))
		r.text = text
		r.pairs = append(r.pairs, sortrun.Pair{Val: val(at, rel+uint32(i))})
		if i&1023 == 1023 {
			if err := w.p.yield(); err != nil {
				return err
			}
		}
	}
	return nil
}

// room makes room for another key: it grows the batch, of which a quarter is pairs and as much the memory to sort them, or
// writes it to tape.
func (w *keyBatch) room() error {
	r := &w.run
	limit := min(w.s.batch/2, maxText)
	maxPairs := w.s.batch / 4 / pairBytes
	switch {
	case cap(r.text)-len(r.text) < page.Size && cap(r.text) < limit+page.Size:
		n := min(max(2*cap(r.text), 256<<10), limit) + page.Size
		old := r.text
		r.text = append(w.s.b.texts.take(n), old...)
		w.s.b.texts.give(old)
	case len(r.pairs) == cap(r.pairs) && len(r.pairs) < maxPairs:
		n := min(max(2*cap(r.pairs), 4096), maxPairs)
		old := r.pairs
		r.pairs = append(w.s.b.pairs.take(n), old...)
		w.s.b.pairs.give(old)
	default:
		return w.spill()
	}
	return nil
}

// sort sorts the batch.
func (w *keyBatch) sort() error {
	w.trace.sorting(w.runs)
	r := &w.run
	// What all keys begin with says nothing.
	common := -1
	var first []byte
	for i := range r.pairs {
		key := r.keyAt(r.pairs[i])
		if common < 0 {
			first, common = key, len(key)
		}
		common = leaf.Common(first[:common], key)
	}
	for i := range r.pairs {
		r.pairs[i].Key = prefix(r.keyAt(r.pairs[i])[common:])
	}
	tmp := w.s.b.pairs.take(len(r.pairs))
	defer w.s.b.pairs.give(tmp)
	if err := sortrun.SortPairs(r.pairs, tmp[:len(r.pairs)], w.p.yield); err != nil {
		return err
	}
	order := func(x, y sortrun.Pair) int {
		if c := bytes.Compare(r.keyAt(x), r.keyAt(y)); c != 0 {
			return c
		}
		if x.Val < y.Val { // keys come in TID order
			return -1
		}
		return 1
	}
	work := 0
	for i := 1; i < len(r.pairs); i++ {
		if r.pairs[i].Key != r.pairs[i-1].Key {
			continue
		}
		from := i - 1
		for i < len(r.pairs) && r.pairs[i].Key == r.pairs[from].Key {
			i++
		}
		tied := r.pairs[from:i]
		if !slices.IsSortedFunc(tied, order) {
			slices.SortFunc(tied, order)
		}
		if work += len(tied); work > 4096 {
			work = 0
			if err := w.p.yield(); err != nil {
				return err
			}
		}
	}
	w.trace.sorted(w.runs)
	return nil
}

// prefix returns the first eight bytes as a number, zeros standing for what is missing.
func prefix(b []byte) uint64 {
	if len(b) >= 8 {
		return binary.BigEndian.Uint64(b)
	}
	var p [8]byte
	copy(p[:], b)
	return binary.BigEndian.Uint64(p[:])
}

// spill writes the batch to tape as a sorted run.
func (w *keyBatch) spill() error {
	if w.runs == 0 {
		w.trace.external()
	}
	if err := w.sort(); err != nil {
		return err
	}
	in := &w.run
	r := keyRun{tape: w.tape, n: len(in.pairs), owner: page.Owner{Relation: w.s.ix.Def.ID, Part: uint64(w.p.id)<<32 | uint64(w.runs)}}
	var bl leaf.BytesBuilder
	var text []byte
	var ends []int
	var tids []uint32
	var first keyBound
	endPage := func() error {
		at, err := w.tape.write(bl.Seal(page.KindBtreeLeaf, r.owner, uint32(len(r.places))))
		r.places = append(r.places, at)
		bl.Reset()
		if err != nil {
			return err
		}
		return w.p.yield()
	}
	block := func() error {
		if len(tids) == 0 {
			return nil
		}
		if bl.Entries() >= w.s.grain*16 || !bl.Add(text, ends, tids) {
			if err := endPage(); err != nil {
				return err
			}
			bl.Add(text, ends, tids)
		}
		if bl.Entries() == len(tids) {
			r.firsts = append(r.firsts, keyBound{slices.Clone(first.key), first.tid})
		}
		text, ends, tids = text[:0], ends[:0], tids[:0]
		return nil
	}
	bl.Reset()
	for i := range in.pairs {
		b := in.entry(i)
		if len(tids) == 0 {
			first = b
		}
		text = append(text, b.key...)
		ends, tids = append(ends, len(text)), append(tids, b.tid)
		if len(tids) == leaf.BytesBlockEntries || len(text) >= leaf.BytesBlockBytes {
			if err := block(); err != nil {
				return err
			}
		}
	}
	if err := block(); err != nil {
		return err
	}
	if bl.Entries() > 0 {
		if err := endPage(); err != nil {
			return err
		}
	}
	w.runs++
	w.trace.wrote(w.runs)
	in.text, in.pairs = in.text[:0], in.pairs[:0]
	w.s.mu.Lock()
	w.s.runs = append(w.s.runs, r)
	w.s.mu.Unlock()
	return w.tape.flush()
}

// end sorts what is left, which stays in memory.
func (w *keyBatch) end() error {
	w.trace.performing()
	w.s.b.o.Progress.sorting()
	if r := &w.run; len(r.pairs) > 0 {
		if err := w.sort(); err != nil {
			return err
		}
		r.n = len(r.pairs)
		w.s.mu.Lock()
		w.s.runs = append(w.s.runs, *r)
		w.s.mu.Unlock()
	}
	w.trace.performed(w.tape, int64(cap(w.run.text))+int64(cap(w.run.pairs))*pairBytes)
	return nil
}

// cuts returns where slices of about n entries begin, the first one excepted.
func (s *keySorter) cuts(n int) []keyBound {
	type sample struct {
		b keyBound
		n int
	}
	var samples []sample
	for i := range s.runs {
		r := &s.runs[i]
		if r.tape != nil {
			for _, b := range r.firsts {
				samples = append(samples, sample{b, r.n / len(r.firsts)})
			}
			continue
		}
		step := max(s.grain, len(r.pairs)/4096)
		for at := 0; at < len(r.pairs); at += step {
			b := r.entry(at)
			samples = append(samples, sample{b, min(step, len(r.pairs)-at)})
		}
	}
	slices.SortFunc(samples, func(x, y sample) int { return x.b.compare(y.b) })
	var out []keyBound
	sum := 0
	for _, x := range samples {
		if sum > 0 && sum+x.n > n {
			out = append(out, x.b)
			sum = 0
		}
		sum += x.n
	}
	return out
}

// keySlice is how many entries of byte keys a slice has: its pages wait in memory for their turn.
const keySlice = 16 << 10

// merge merges slices and packs them into pages, which are written in order.
func (s *keySorter) merge(ctx context.Context, load am.Load) error {
	total, onTape := 0, 0
	for i := range s.runs {
		total += s.runs[i].n
		if s.runs[i].tape != nil {
			onTape++
		}
	}
	s.b.o.Progress.phase(PhaseLoading, int64(total))
	if total == 0 {
		return nil
	}
	cuts := s.cuts(keySlice)
	trace := newTracer(s.b.o.Trace, -1)
	trace.merging(s.ix.Def.Unique, s.b.o.Memory, len(s.runs))
	var next atomic.Int64
	order := newTurns()
	var last keyBound
	err := s.b.parallel(ctx, func(p *participant) error {
		defer context.AfterFunc(p.ctx, order.end)()
		part := load.NewPart(p.yield)
		defer part.Free()
		in := make([]keyCursor, 0, len(s.runs))
		for {
			i := int(next.Add(1)) - 1
			if i > len(cuts) {
				return nil
			}
			var lo, hi *keyBound
			if i > 0 {
				lo = &cuts[i-1]
			}
			if i < len(cuts) {
				hi = &cuts[i]
			}
			m := keyMerge{s: s, part: part, yield: p.yield}
			if err := m.run(in, lo, hi); err != nil {
				return err
			}
			if err := order.wait(p.ctx, i); err != nil {
				return err
			}
			if s.ix.Def.Unique && m.n > 0 {
				if err := s.unique(last, m.first); err != nil {
					return err
				}
				last = keyBound{slices.Clone(m.last.key), m.last.tid}
			}
			if err := load.Add(part); err != nil {
				return err
			}
			order.next()
			s.b.o.Progress.add(m.n)
		}
	})
	trace.ended(onTape > 0, s.tapes)
	return err
}

// unique compares the keys of neighbours; no key is empty.
func (s *keySorter) unique(a, b keyBound) error {
	if !bytes.Equal(a.key, b.key) || s.load.HasNull(s.ix.Def, b.key) {
		return nil
	}
	return s.b.duplicate(s.ix, a.tid, b.tid)
}

// keyMerge is the merge of a slice.
type keyMerge struct {
	s           *keySorter
	part        am.Part
	yield       func() error
	n           int
	first, last keyBound // entries; of unique indexes only
}

// run merges the entries from lo up to, not including, hi (nil: no limit) into the part.
func (m *keyMerge) run(in []keyCursor, lo, hi *keyBound) error {
	in = in[:0]
	for i := range m.s.runs {
		in = append(in, keyCursor{r: &m.s.runs[i], hi: hi})
		c := &in[len(in)-1]
		if err := c.begin(lo); err != nil {
			return err
		}
		if c.done {
			in = in[:len(in)-1]
		}
	}
	if len(in) == 0 {
		return nil
	}
	tree := newLoserTree(len(in), func(i, j int) bool {
		a, b := &in[i], &in[j]
		if a.done || b.done {
			return !a.done
		}
		if a.prefix != b.prefix {
			return a.prefix < b.prefix
		}
		return a.cur.compare(b.cur) < 0
	})
	unique := m.s.ix.Def.Unique
	for {
		c := &in[tree.winner()]
		if c.done {
			return nil
		}
		if unique {
			if err := m.s.unique(m.last, c.cur); err != nil {
				return err
			}
			m.last = keyBound{append(m.last.key[:0], c.cur.key...), c.cur.tid}
			if m.n == 0 {
				m.first = keyBound{slices.Clone(c.cur.key), c.cur.tid}
			}
		}
		if err := m.part.Key(c.cur.key, c.cur.tid); err != nil {
			return err
		}
		m.n++
		if err := c.next(); err != nil {
			return err
		}
		tree.fix()
		if m.n&511 == 0 {
			if err := m.yield(); err != nil {
				return err
			}
		}
	}
}

// keyCursor goes through a run's entries below a bound.
type keyCursor struct {
	r      *keyRun
	hi     *keyBound
	done   bool
	cur    keyBound
	prefix uint64 // of cur.key

	i     int // next entry of the run in memory, or of the block
	page  int // next page
	block int // next block of the page
	buf   *[page.Size]byte
	leaf  leaf.BytesPage
	b     leaf.BytesBlock
	tids  [leaf.BlockEntries]uint32
	key   []byte
}

// begin goes to the first entry from lo on.
func (c *keyCursor) begin(lo *keyBound) error {
	r := c.r
	if r.tape == nil {
		if lo != nil {
			c.i = sort.Search(len(r.pairs), func(i int) bool { return r.entry(i).compare(*lo) >= 0 })
		}
		return c.next()
	}
	if lo != nil {
		c.page = max(sort.Search(len(r.firsts), func(i int) bool { return r.firsts[i].compare(*lo) >= 0 }), 1) - 1
	}
	if c.hi != nil && r.firsts[c.page].compare(*c.hi) >= 0 {
		c.done = true
		return nil
	}
	c.buf = pageBuffers.Get().(*[page.Size]byte)
	for {
		if err := c.next(); err != nil || c.done || lo == nil || c.cur.compare(*lo) >= 0 {
			return err
		}
	}
}

var pageBuffers = sync.Pool{New: func() any { return new([page.Size]byte) }}

// next goes to the next entry.
func (c *keyCursor) next() error {
	r := c.r
	if r.tape == nil {
		if c.i == len(r.pairs) {
			c.done = true
			return nil
		}
		c.cur = r.entry(c.i)
		c.i++
	} else {
		for c.i >= c.b.N {
			if c.block >= c.leaf.Blocks() {
				if c.page == len(r.places) {
					c.end()
					return nil
				}
				p, err := r.tape.read(r.places[c.page], c.buf, r.owner, uint32(c.page))
				if err != nil {
					return err
				}
				if err := c.leaf.Open(p, page.KindBtreeLeaf); err != nil {
					return err
				}
				c.page++
				c.block = 0
			}
			c.b = c.leaf.Block(c.block)
			c.b.TIDs(&c.tids)
			c.block++
			c.i = 0
		}
		c.key = c.b.Key(c.key[:0], c.i)
		c.cur = keyBound{c.key, c.tids[c.i]}
		c.i++
	}
	if c.hi != nil && c.cur.compare(*c.hi) >= 0 {
		c.end()
		return nil
	}
	c.prefix = prefix(c.cur.key)
	return nil
}

func (c *keyCursor) end() {
	c.done = true
	if c.buf != nil {
		pageBuffers.Put(c.buf)
		c.buf = nil
	}
}
