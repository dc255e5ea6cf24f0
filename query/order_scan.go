package query

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"

	"wideleaf/am"
	"wideleaf/tid"
	"wideleaf/value"
)

// orderScan finds the first rows of an order by scans of an index that yield rows in this order. The scans of all runs
// fill one heap, and each is broken off where it passes the heap's last row. So k rows cost little more than k entries of
// the first run, the others' scans end at what is known by then, and nothing is merged.
type orderScan struct {
	e     *executor
	index *Index
	typ   value.Type // of the first key's column
	order []OrderKey
	parts []orderPart
	whole bool // parts are all rows; else those whose first key is a finite distance

	like   *value.ArrayMatch // instead of parts: the rows with items in common, nearest by similarity
	column int               // of the arrays, in the index

	served    []*Pred  // conditions that the parts' rows satisfy
	set       *tid.Set // no other rows match; nil: any may
	rest      []*Pred  // to be checked in the heap's columns
	restPages float64  // that these have
	rechecked bool     // a scan's rows may not satisfy served: it is in rest, too

	top    *topRows
	keys   *fetcher
	budget float64   // nanoseconds that it may cost still
	batch  []sortRow // rows that are to be looked at in the heap's columns
	size   int       // of the next batch
	offs   []uint16
}

// orderPart is some of the rows: along one scan of a run their first keys ascend, as the order has it.
type orderPart struct {
	scan am.Order
	rank rank // of their first keys
}

const (
	firstBatch = 32
	mostBatch  = 4096
	// manyAlike is how many rows of one value are turned round in memory. The rows of one value come in TID order even if
	// the values descend, and more of them are scanned anew for that.
	manyAlike = 32
)

// run fills the heap with the first rows. ok is false if it was given up.
func (s *orderScan) run() (ok bool, err error) {
	if err := s.pending(); err != nil {
		return false, err
	}
	for _, r := range s.index.Runs {
		if s.like != nil {
			if exact, err := s.similar(r); !exact || err != nil {
				return false, err
			}
		}
		for i := range s.parts {
			p := &s.parts[i]
			if last := s.last(); last != nil && p.rank > last.rank {
				continue
			}
			if err := s.scan(r.(am.OrderedRun), p.scan); err != nil {
				return false, err
			}
			if err := s.look(); err != nil {
				return false, err
			}
			if s.budget < 0 {
				return false, nil
			}
		}
	}
	last := s.last()
	return s.whole || last != nil && last.rank == present && last.code < infinitelyFar, nil
}

var infinitelyFar = distanceCode(math.Inf(1))

// last returns the heap's last row, nil as long as there are fewer rows than wanted.
func (s *orderScan) last() *sortRow {
	if int64(len(s.top.rows)) < s.top.limit {
		return nil
	}
	s.top.fill()
	return &s.top.rows[0]
}

// pending offers the rows that no run holds.
func (s *orderScan) pending() error {
	b := &topBound{order: s.order, typ: s.keys.types[s.keys.place[0]]}
	b.shared.Store(math.MaxUint64)
	rest := slices.Concat(s.rest, s.served)
	cand := tid.NewBits()
	defer cand.Release()
	for part, words := range s.index.Pending.All() {
		*cand = tid.Bits{}
		copy(cand[:], words)
		if dead, _ := s.e.t.Dead.Segment(part.Number()); dead != nil {
			cand.AndNot(dead)
		}
		if s.set != nil && !s.set.Keep(part.Number(), cand) {
			continue
		}
		if err := s.e.topOfSource(part.Source, cand, rest, s.top, b, s.keys); err != nil {
			return err
		}
	}
	return nil
}

// scan offers the rows of a scan until they lie behind the heap's last one.
func (s *orderScan) scan(r am.OrderedRun, o am.Order) error {
	for again := true; again; {
		again = false
		for p, err := range s.inOrder(r, o) {
			if err != nil {
				return err
			}
			if s.budget -= costOrdered; s.budget < 0 {
				return nil
			}
			row := sortRow{tid: p.TID}
			row.rank, row.code = s.key(&p)
			if last := s.last(); last != nil {
				if c := cmp.Or(cmp.Compare(row.rank, last.rank), cmp.Compare(row.code, last.code)); c > 0 {
					break
				} else if c == 0 && len(s.order) == 1 && row.tid > last.tid {
					// So are the others of this value. Another value may be as far.
					again = s.order[0].Distance != nil && !p.Null && s.skip(&o, p.Code)
					break
				}
			}
			if p.Recheck && !s.rechecked {
				s.rest, s.rechecked = slices.Concat(s.rest, s.served), true
			}
			if err := s.offer(row); err != nil {
				return err
			}
		}
	}
	return nil
}

// offer offers a row of a run.
func (s *orderScan) offer(row sortRow) error {
	switch {
	case s.e.t.Dead.Has(row.tid) || s.set != nil && !s.set.Contains(row.tid):
		return nil
	case len(s.rest) == 0 && len(s.order) == 1:
		s.top.add(row)
		return nil
	}
	if s.batch = append(s.batch, row); len(s.batch) < s.size {
		return nil
	}
	return s.look()
}

// similar offers the rows of a run that have items in common with s.like. exact is false if that can't be told from its
// pages.
func (s *orderScan) similar(r am.Run) (exact bool, err error) {
	scored, ok := r.(am.ScoredRun)
	if !ok {
		return false, nil
	}
	exact, err = scored.Similar(s.e.ctx, s.column, s.like, func(t tid.TID, common, length int) error {
		row := sortRow{tid: t, rank: present, code: distanceCode(1 / s.like.SimilarityOf(common, length))}
		if last := s.last(); last != nil && row.code > last.code {
			return nil
		}
		return s.offer(row)
	})
	if err != nil {
		return exact, err
	}
	return exact, s.look()
}

// key returns a posting's first key.
func (s *orderScan) key(p *am.Posting) (rank, uint64) {
	k := &s.order[0]
	if p.Null {
		return k.nullRank(), 0
	}
	code := p.Code
	if k.Distance != nil {
		code = distanceCode(k.Distance.ofCode(code))
	}
	if k.Desc {
		code = ^code
	}
	return present, code
}

// look checks the rows of the batch in the heap's columns and offers those that match.
func (s *orderScan) look() error {
	if len(s.batch) == 0 {
		return nil
	}
	slices.SortFunc(s.batch, func(a, b sortRow) int { return cmp.Compare(a.tid, b.tid) })
	in, out := tid.NewBits(), tid.NewBits()
	defer in.Release()
	defer out.Release()
	for rows := s.batch; len(rows) > 0; {
		seg := rows[0].tid.Segment()
		n := 1
		for n < len(rows) && rows[n].tid.Segment() == seg {
			n++
		}
		if err := s.lookAt(seg, rows[:n], in, out); err != nil {
			return err
		}
		rows = rows[n:]
	}
	s.batch = s.batch[:0]
	s.size = min(2*s.size, mostBatch)
	return nil
}

// lookAt is look for rows of one segment.
func (s *orderScan) lookAt(seg uint64, rows []sortRow, in, out *tid.Bits) error {
	src, err := s.e.source(seg)
	if err != nil {
		return err
	}
	*in, *out = tid.Bits{}, tid.Bits{}
	for _, r := range rows {
		o := r.tid.Offset()
		in[o>>6] |= 1 << (o & 63)
	}
	if len(s.rest) > 0 {
		s.budget -= filterCost(float64(len(rows)), s.restPages/float64(len(s.e.t.Sources)))
		words := (src.Rows() + 63) >> 6
		if err := s.e.allOf(src, s.rest, in[:words], out[:words]); err != nil {
			return err
		}
		in = out
	}
	if len(s.order) == 1 {
		for _, r := range rows {
			if in.Has(r.tid.Offset()) {
				s.top.add(r)
			}
		}
		return nil
	}
	if s.offs = in.AppendOffsets(s.offs[:0], 0, tid.SegmentRows); len(s.offs) == 0 {
		return nil
	}
	s.budget -= filterCost(float64(len(s.offs)*len(s.order)), math.Inf(1))
	if err := s.keys.gather(src, s.offs); err != nil {
		return err
	}
	s.top.addAll(seg, s.offs, s.keys)
	return nil
}

// inOrder yields the rows of a scan, in TID order where their values are equal.
func (s *orderScan) inOrder(r am.OrderedRun, o am.Order) iter.Seq2[am.Posting, error] {
	if !o.Backward {
		return s.ordered(r, o)
	}
	return func(yield func(am.Posting, error) bool) {
		var alike []am.Posting
		turn := func() bool {
			for len(alike) > 0 {
				p := alike[len(alike)-1]
				alike = alike[:len(alike)-1]
				if !yield(p, nil) {
					return false
				}
			}
			return true
		}
		for {
			many := false
			for p, err := range s.ordered(r, o) {
				if err != nil {
					turn()
					yield(p, err)
					return
				}
				if len(alike) > 0 && p.Code != alike[0].Code && !turn() {
					return
				}
				if alike = append(alike, p); len(alike) > manyAlike {
					many = true
					break
				}
			}
			if !many {
				turn()
				return
			}
			code := alike[0].Code
			alike = alike[:0]
			same := o
			ranges := value.OfIntervals(s.codes(code))
			same.Backward, same.Ranges = false, &ranges
			for p, err := range s.ordered(r, same) {
				if !yield(p, err) || err != nil {
					return
				}
			}
			if !s.skip(&o, code) {
				return
			}
		}
	}
}

// ordered is Ordered for orders that the run must be able to keep.
func (s *orderScan) ordered(r am.OrderedRun, o am.Order) iter.Seq2[am.Posting, error] {
	rows, ok := r.Ordered(s.e.ctx, &o)
	if !ok {
		return func(yield func(am.Posting, error) bool) {
			yield(am.Posting{}, fmt.Errorf("a run of index %q does not keep the order that its method promises", s.index.Def.Name))
		}
	}
	return rows
}

// codes returns the codes of the values that are filed under a code.
func (s *orderScan) codes(code uint64) value.Interval {
	if s.typ == value.Float8 && code == value.PosZeroCode {
		return value.Interval{Lo: value.NegZeroCode, Hi: code}
	}
	return value.Interval{Lo: code, Hi: code}
}

// skip takes the values up to that of a code out of a scan and reports whether there are others.
func (s *orderScan) skip(o *am.Order, code uint64) bool {
	same, left := s.codes(code), value.Interval{Lo: 1}
	if o.Backward && same.Lo > 0 {
		left = value.Interval{Hi: same.Lo - 1}
	} else if !o.Backward && same.Hi < s.typ.MaxCode() {
		left = value.Interval{Lo: same.Hi + 1, Hi: s.typ.MaxCode()}
	}
	r := o.Ranges.Intersect(value.OfIntervals(left))
	o.Ranges = &r
	return !r.Empty()
}
