package query

import (
	"math"
	"runtime"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"wideleaf/heap"
	"wideleaf/pgerr"
	"wideleaf/tid"
	"wideleaf/value"
)

const (
	// topNRows is up to how many rows are wanted for a top-N heapsort: beyond, heaps are no faster than sorting all.
	topNRows = 1 << 14
	// firstRows is how many rows are looked at before there is a bound, if as many are wanted as that.
	firstRows = 1024
	// boundRows is up to how many rows are wanted for the pages' bounds to give a first bound.
	boundRows = 128
	// parallelSources is from how many segments on a search for the first rows is worth a second goroutine's start.
	parallelSources = 8
)

// topN finds the first rows of an order without sorting all (PostgreSQL's top-N heapsort), in all segments at a time. As
// soon as a heap is full, its last row bounds the first key of the rows still to come: the heap's columns are searched
// for those, which leaves out the pages whose bounds say that they have none. The heaps share the best bound.
func (e *executor) topN(found candidates, order []OrderKey, limit int64) (*topRows, error) {
	b := &topBound{order: order, typ: value.Tid}
	if a := order[0].Attno; a != 0 {
		var err error
		if b.typ, err = e.t.typeOf(a); err != nil {
			return nil, err
		}
	}
	b.shared.Store(math.MaxUint64)
	if len(found.rest) == 0 && limit <= boundRows {
		if err := e.boundByPages(b, int(limit)); err != nil {
			return nil, err
		}
	}
	workers := 1
	if len(e.t.Sources) >= parallelSources && !e.half {
		workers = min(runtime.GOMAXPROCS(0), len(e.t.Sources)/(parallelSources/2))
	}
	tops := make([]*topRows, workers)
	var next atomic.Int64
	g, ctx := errgroup.WithContext(e.ctx)
	for i := range tops {
		tops[i] = &topRows{order: order, limit: limit}
		own := *e
		own.ctx, own.estimates, own.half = ctx, nil, true
		g.Go(func() (err error) {
			defer pgerr.Recover(&err)
			return own.topOfSources(found, tops[i], b, &next)
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	all := tops[0]
	for _, t := range tops[1:] {
		all.rows = append(all.rows, t.rows...)
	}
	return all, nil
}

// summarized is a source that knows without reading its rows that none of them can satisfy a condition.
type summarized interface {
	MayHold(attno int, r *value.Ranges) (bool, error)
}

// topBound is what a row's first key must not lie behind, by rows that were found already.
type topBound struct {
	order  []OrderKey
	typ    value.Type
	shared atomic.Uint64 // code, turned round if the key is descending; of values that are not NULL
}

// bounded is a source that knows some values of its rows without reading them.
type bounded interface {
	Bounds(attno int, f func(value.Interval)) error
}

// boundByPages finds a bound before any row is read: every page has a row with the least (or greatest) value that its summary tells,
// so that the k-th of these is not before the k-th row. Of segments with deleted rows nobody knows that.
func (e *executor) boundByPages(b *topBound, k int) error {
	key := b.order[0]
	if key.Attno == 0 || key.Distance != nil || b.typ.Width() == value.Var {
		return nil
	}
	firsts := make([]uint64, 0, k) // ascending
	add := func(iv value.Interval) {
		code := value.KeyCode(b.typ, iv.Lo)
		if key.Desc {
			code = ^value.KeyCode(b.typ, iv.Hi)
		}
		if len(firsts) == k {
			if code >= firsts[k-1] {
				return
			}
			firsts = firsts[:k-1]
		}
		at, _ := slices.BinarySearch(firsts, code)
		firsts = slices.Insert(firsts, at, code)
	}
	for _, src := range e.t.Sources {
		s, ok := src.(bounded)
		if !ok {
			continue
		}
		if dead, _ := e.t.Dead.Segment(src.Number()); dead != nil {
			continue
		}
		if err := s.Bounds(key.Attno, add); err != nil {
			return err
		}
	}
	if len(firsts) == k {
		b.shared.Store(firsts[k-1])
	}
	return nil
}

// ranges returns what the first key may be for a row to be among the first; ok is false if anything.
func (b *topBound) ranges(t *topRows) (r value.Ranges, ok bool) {
	k := b.order[0]
	if k.Attno == 0 || k.Distance == nil && b.typ.Width() == value.Var || k.Distance != nil && (k.Desc || !k.Distance.grows()) {
		return r, false
	}
	bound := b.shared.Load()
	bounded := bound != math.MaxUint64
	if int64(len(t.rows)) >= t.limit {
		t.fill()
		root := &t.rows[0]
		switch root.rank {
		case nullFirst:
			return value.Ranges{Nulls: true}, true
		case present:
			code := root.code
			for now := bound; code < now && !b.shared.CompareAndSwap(now, code); {
				now = b.shared.Load()
			}
			if len(b.order) == 1 {
				// Of rows with equal keys the one with the least TID comes first, and segments are taken in order.
				if code == 0 {
					return value.Ranges{Nulls: k.NullsFirst}, true
				}
				code--
			}
			bound, bounded = min(bound, code), true
		}
	}
	if !bounded {
		return r, false
	}
	if k.Distance != nil {
		r = k.Distance.within(value.CodeFloat8(bound))
		r.Nulls = k.NullsFirst
		return r, true
	}
	r.Nulls = k.NullsFirst
	iv := value.Interval{Lo: 0, Hi: min(bound, b.typ.MaxCode())}
	if k.Desc {
		iv = value.Interval{Lo: ^bound, Hi: b.typ.MaxCode()}
		if b.typ == value.Float8 && iv.Lo == value.PosZeroCode {
			iv.Lo = value.NegZeroCode // which is filed as 0
		}
		if iv.Lo > iv.Hi {
			return r, true
		}
	}
	r.Words = []value.Interval{iv}
	return r, true
}

// topOfSources offers the rows of segments to t until there are no more segments.
func (e *executor) topOfSources(found candidates, t *topRows, b *topBound, next *atomic.Int64) error {
	keys, err := newFetcher(e, attnosOf(t.order))
	if err != nil {
		return err
	}
	cand := tid.NewBits()
	defer cand.Release()
	for {
		i := int(next.Add(1)) - 1
		if i >= len(e.t.Sources) {
			return nil
		}
		if err := e.ctx.Err(); err != nil {
			return err
		}
		src := e.t.Sources[i]
		if s, ok := src.(summarized); ok {
			if r, ok := b.ranges(t); ok {
				if may, err := s.MayHold(t.order[0].Attno, &r); err != nil {
					return err
				} else if !may {
					continue
				}
			}
		}
		if e.t.live(src, cand).Empty() {
			continue
		}
		if err := e.topOfSource(src, cand, found.rest, t, b, keys); err != nil {
			return err
		}
	}
}

// topOfSource offers the rows of one segment that are in cand and satisfy the rest to t.
func (e *executor) topOfSource(src heap.Source, cand *tid.Bits, rest []*Pred, t *topRows, b *topBound, keys *fetcher) error {
	narrowed := tid.NewBits()
	defer narrowed.Release()
	words := (src.Rows() + 63) >> 6
	bounded := false
	narrow := func() error {
		r, ok := b.ranges(t)
		if !ok {
			return nil
		}
		bounded = true
		in := cand[:words]
		if full(in, src.Rows()) {
			in = nil
		}
		clear(narrowed[:])
		if err := src.Select(e.ctx, t.order[0].Attno, r, in, narrowed[:words]); err != nil {
			return err
		}
		cand, narrowed = narrowed, cand
		return nil
	}
	if err := narrow(); err != nil {
		return err
	}
	if cand.Empty() {
		return nil
	}
	if len(rest) > 0 {
		clear(narrowed[:])
		if err := e.allOf(src, rest, cand[:words], narrowed[:words]); err != nil {
			return err
		}
		cand, narrowed = narrowed, cand
	}
	var offs []uint16
	chunk := chunkRows(keys.cells, tid.SegmentRows)
	for from := 0; from < tid.SegmentRows; from = int(offs[len(offs)-1]) + 1 {
		n := chunk
		if !bounded {
			n = min(n, int(max(t.limit-int64(len(t.rows)), firstRows)))
		}
		offs = cand.AppendOffsets(offs[:0], from, n)
		if len(offs) == 0 {
			return nil
		}
		if err := keys.gather(src, offs); err != nil {
			return err
		}
		t.addAll(src.Number(), offs, keys)
		if !bounded { // now there may be a bound for the segment's other rows
			if err := narrow(); err != nil {
				return err
			}
		}
	}
	return nil
}
