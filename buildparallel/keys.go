package buildparallel

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"wideleaf/am"
	"wideleaf/page"
	"wideleaf/tid"
	"wideleaf/tuplesort"
	"wideleaf/value"
	"wideleaf/version"
)

// keySorter sorts the entries of an index of byte keys.
type keySorter struct {
	b    *builder
	ix   *version.Index
	load am.Loader

	mu    sync.Mutex // guards what participants leave behind
	runs  []tuplesort.Run
	tapes []*tuplesort.Tape
}

// sortKeys sorts the entries of an index of byte keys and writes its run.
func (b *builder) sortKeys(ctx context.Context, ix *version.Index, load am.Load) (am.RunMeta, error) {
	s := &keySorter{b: b, ix: ix, load: ix.Method.(am.Loader)}
	defer func() {
		for _, t := range s.tapes {
			t.Close()
		}
		for i := range s.runs {
			s.runs[i].Release(&b.keys)
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

func (s *keySorter) scan(p *participant, c *chunks) error {
	tape, trace := tuplesort.NewTape(s.b.o.Store), tuplesort.NewTracer(s.b.o.Trace, s.b.worker(p))
	trace.Begin(s.ix.Def.Unique, s.b.share())
	s.mu.Lock()
	s.tapes = append(s.tapes, tape)
	s.mu.Unlock()
	w := tuplesort.NewBatch(tuplesort.BatchOptions{
		Limit: s.b.share(), Memory: &s.b.keys, Tape: tape, Owner: page.Owner{Relation: s.ix.Def.ID, Part: uint64(p.id)}, Trace: trace, Yield: p.yield,
	})
	for {
		from, to := c.take()
		if from == to {
			break
		}
		for _, seg := range s.b.job.Segments[from:to] {
			if err := s.add(p, w, seg); err != nil {
				return err
			}
			s.b.o.Progress.add(seg.Rows())
		}
	}
	s.b.o.Progress.sorting()
	runs, err := w.End()
	s.mu.Lock()
	s.runs = append(s.runs, runs...)
	s.mu.Unlock()
	return err
}

// add adds the entries of a segment to a batch.
func (s *keySorter) add(p *participant, w *tuplesort.Batch, seg *version.Segment) error {
	var cols []*value.Vector
	defer func() { s.b.release(cols...) }()
	for _, c := range s.ix.Def.Columns {
		v, err := s.b.column(p, seg, c.Attno)
		if err != nil {
			return err
		}
		cols = append(cols, v)
	}
	rel := uint32(seg.Record.Segment-s.b.span.First) << tid.SegmentBits
	dead := s.b.dead(seg)
	var i int
	key := func(dst []byte) ([]byte, error) { return s.load.AppendKey(s.ix.Def, cols, i, dst) }
	for i = range seg.Rows() {
		if dead != nil && dead[i>>6]>>(i&63)&1 != 0 {
			continue
		}
		if err := w.Add(rel+uint32(i), key); err != nil {
			return err
		}
	}
	return nil
}

// keySlice is how many entries of byte keys a slice has: its pages wait in memory for their turn.
const keySlice = 16 << 10

// merge merges slices and packs them into pages, which are written in order.
func (s *keySorter) merge(ctx context.Context, load am.Load) error {
	total, onTape := 0, 0
	for i := range s.runs {
		total += s.runs[i].Entries()
		if s.runs[i].OnTape() {
			onTape++
		}
	}
	s.b.o.Progress.phase(PhaseLoading, int64(total))
	if total == 0 {
		return nil
	}
	cuts := tuplesort.Cuts(s.runs, keySlice)
	trace := tuplesort.NewTracer(s.b.o.Trace, -1)
	trace.Merging(s.ix.Def.Unique, s.b.o.Memory, len(s.runs))
	var next atomic.Int64
	order := newTurns()
	var last tuplesort.Entry
	err := s.b.parallel(ctx, func(p *participant) error {
		defer context.AfterFunc(p.ctx, order.end)()
		part := load.NewPart(p.yield)
		defer part.Free()
		m := keyMerge{s: s, part: part, merger: tuplesort.Merger{Runs: s.runs, Yield: p.yield}}
		for {
			i := int(next.Add(1)) - 1
			if i > len(cuts) {
				return nil
			}
			var lo, hi *tuplesort.Entry
			if i > 0 {
				lo = &cuts[i-1]
			}
			if i < len(cuts) {
				hi = &cuts[i]
			}
			if err := m.run(lo, hi); err != nil {
				return err
			}
			if err := order.wait(p.ctx, i); err != nil {
				return err
			}
			if s.ix.Def.Unique && m.n > 0 {
				if err := s.unique(last, m.first); err != nil {
					return err
				}
				last = tuplesort.Entry{Key: slices.Clone(m.last.Key), TID: m.last.TID}
			}
			if err := load.Add(part); err != nil {
				return err
			}
			order.next()
			s.b.o.Progress.add(m.n)
		}
	})
	trace.Ended(onTape > 0, s.tapes)
	return err
}

// unique compares the keys of neighbours; no key is empty.
func (s *keySorter) unique(a, b tuplesort.Entry) error {
	if !bytes.Equal(a.Key, b.Key) || s.load.HasNull(s.ix.Def, b.Key) {
		return nil
	}
	return s.b.duplicate(s.ix, a.TID, b.TID)
}

// keyMerge merges slices, one after the other.
type keyMerge struct {
	s           *keySorter
	part        am.Part
	merger      tuplesort.Merger
	n           int             // entries of the slice
	first, last tuplesort.Entry // of unique indexes only
}

// run merges the entries from lo up to, not including, hi (nil: no limit) into the part.
func (m *keyMerge) run(lo, hi *tuplesort.Entry) error {
	m.n, m.last.Key = 0, m.last.Key[:0]
	unique := m.s.ix.Def.Unique
	return m.merger.Merge(lo, hi, func(e tuplesort.Entry) error {
		if unique {
			if err := m.s.unique(m.last, e); err != nil {
				return err
			}
			m.last = tuplesort.Entry{Key: append(m.last.Key[:0], e.Key...), TID: e.TID}
			if m.n == 0 {
				m.first = tuplesort.Entry{Key: slices.Clone(e.Key), TID: e.TID}
			}
		}
		m.n++
		return m.part.Key(e.Key, e.TID)
	})
}
