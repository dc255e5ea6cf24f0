package query

import (
	"context"
	"iter"
	"math/bits"

	"wideleaf/heap"
	"wideleaf/tid"
	"wideleaf/value"
)

// executor answers one question about one table. It belongs to one goroutine.
//
// A condition is evaluated in two steps. narrow fetches from indexes what is cheaper found there than in the heap's
// columns, and says which conditions are left; matches then goes through the segments, checking what is left on each
// one's candidates. So nothing of the size of the table is built for a condition without an index, and a reader that
// has seen enough stops the work.
type executor struct {
	ctx       context.Context
	t         *Table
	first     uint64 // segments [first, end)
	end       uint64
	rows      float64 // not deleted
	stored    float64 // deleted or not
	estimates map[*Pred]estimate
	half      bool         // it runs beside another, and starts no more
	arrays    value.Vector // the column that matchArrays looks at
}

func newExecutor(ctx context.Context, t *Table) *executor {
	first, end := t.segments()
	return &executor{ctx: ctx, t: t, first: first, end: end, rows: float64(t.Rows()), stored: float64(t.stored())}
}

// Where returns the exact set of the rows of among (nil: of the table) for which p holds. The caller may release it;
// among, which must hold rows of the table that are not deleted, stays as it is.
func Where(ctx context.Context, t *Table, p *Pred, among *tid.Set) (*tid.Set, error) {
	return newExecutor(ctx, t).where(p, among)
}

// Count returns the number of rows for which p holds.
func Count(ctx context.Context, t *Table, p *Pred) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	switch p.Kind {
	case False:
		return 0, nil
	case True:
		return t.Rows(), nil
	}
	e := newExecutor(ctx, t)
	if n, ok, err := e.countByIndex(p); ok || err != nil {
		return n, err
	}
	found, err := e.narrow(p, nil)
	if err != nil {
		return 0, err
	}
	defer found.release()
	if len(found.rest) == 0 && found.set != nil {
		return found.set.Count(), nil
	}
	n := int64(0)
	for m, err := range e.matches(found) {
		if err != nil {
			return 0, err
		}
		n += int64(m.bits.Count())
	}
	return n, nil
}

// where returns the rows of within (nil: of the table) for which p holds; within stays as it is.
func (e *executor) where(p *Pred, within *tid.Set) (*tid.Set, error) {
	found, err := e.narrow(p, within)
	if err != nil {
		return nil, err
	}
	if found.set != nil && len(found.rest) == 0 && found.owned {
		return found.set, nil
	}
	defer found.release()
	b := tid.NewBuilder(e.first, e.end)
	for m, err := range e.matches(found) {
		if err != nil {
			return nil, err
		}
		b.AddBits(m.src.Number(), m.bits)
	}
	return b.Set(), nil
}

// candidates are rows that may satisfy a condition, and what is still to be checked on them.
type candidates struct {
	set   *tid.Set // nil: all rows of the table
	owned bool     // the set is nobody else's
	rest  []*Pred  // conditions not yet looked at, all of which must hold
}

func (c candidates) release() {
	if c.owned && c.set != nil {
		c.set.Release()
	}
}

// match is the rows of one segment that satisfy a condition.
type match struct {
	src  heap.Source
	bits *tid.Bits // not to be changed, valid until the next step
}

// matches checks what is left to be checked and yields the segments that have matching rows, ascending.
func (e *executor) matches(c candidates) iter.Seq2[match, error] {
	return func(yield func(match, error) bool) {
		if c.set == nil {
			all := tid.NewBits()
			defer all.Release()
			for _, src := range e.t.Sources {
				if e.t.live(src, all).Empty() {
					continue
				}
				if !e.matchesOf(src, all, c.rest, yield) {
					return
				}
			}
			return
		}
		sources := e.t.Sources
		for seg, p := range c.set.Segments() {
			for len(sources) > 0 && sources[0].Number() < seg {
				sources = sources[1:]
			}
			if len(sources) == 0 {
				return
			}
			if sources[0].Number() == seg && !e.matchesOf(sources[0], p, c.rest, yield) {
				return
			}
		}
	}
}

// matchesOf does the work of matches on one segment and reports whether to go on.
func (e *executor) matchesOf(src heap.Source, cand *tid.Bits, rest []*Pred, yield func(match, error) bool) bool {
	if err := e.ctx.Err(); err != nil {
		yield(match{}, err)
		return false
	}
	if len(rest) == 0 {
		return yield(match{src, cand}, nil)
	}
	out := tid.NewBits()
	defer out.Release()
	words := (src.Rows() + 63) >> 6
	err := e.allOf(src, rest, cand[:words], out[:words])
	switch {
	case err != nil:
		yield(match{}, err)
		return false
	case out.Empty():
		return true
	}
	return yield(match{src, out}, nil)
}

// holds sets the bits in out of the rows in cand for which p holds, leaving other bits as they are. cand is not nil.
func (e *executor) holds(src heap.Source, p *Pred, cand, out []uint64) error {
	switch p.Kind {
	case True:
		for w := range cand {
			out[w] |= cand[w]
		}
	case And:
		return e.allOf(src, p.Args, cand, out)
	case Or:
		for _, a := range p.Args {
			if err := e.holds(src, a, cand, out); err != nil {
				return err
			}
		}
	case Column:
		if full(cand, src.Rows()) {
			cand = nil
		}
		return src.Select(e.ctx, p.Attno, p.Ranges, cand, out)
	case Array:
		return e.matchArrays(src, p, cand, out)
	}
	return nil
}

// matchArrays is holds for a condition on arrays.
func (e *executor) matchArrays(src heap.Source, p *Pred, cand, out []uint64) error {
	if none(cand) {
		return nil
	}
	v := &e.arrays
	v.Reset(p.Type)
	if n := count(cand); n <= src.Rows()/fewRows {
		return e.matchFewArrays(src, p, cand, out, n)
	}
	if err := src.Column(e.ctx, p.Attno, v); err != nil {
		return err
	}
	for w, x := range cand {
		for ; x != 0; x &= x - 1 {
			if i := w<<6 + bits.TrailingZeros64(x); i < v.N && !v.IsNull(i) && p.Match.Holds(v.Str[i]) {
				out[w] |= x & -x
			}
		}
	}
	return nil
}

// fewRows is of how many rows one is looked at where a whole column isn't decoded for it.
const fewRows = 32

// matchFewArrays is matchArrays for n rows.
func (e *executor) matchFewArrays(src heap.Source, p *Pred, cand, out []uint64, n int) error {
	offs := make([]uint16, 0, n)
	for w, x := range cand {
		for ; x != 0; x &= x - 1 {
			offs = append(offs, uint16(w<<6+bits.TrailingZeros64(x)))
		}
	}
	v := &e.arrays
	if err := src.Gather(e.ctx, p.Attno, offs, v); err != nil {
		return err
	}
	for i, o := range offs {
		if !v.IsNull(i) && p.Match.Holds(v.Str[i]) {
			out[o>>6] |= 1 << (o & 63)
		}
	}
	return nil
}

// allOf is holds for an AND of conditions.
func (e *executor) allOf(src heap.Source, all []*Pred, cand, out []uint64) error {
	if len(all) == 1 {
		return e.holds(src, all[0], cand, out)
	}
	a, b := tid.NewBits(), tid.NewBits()
	defer a.Release()
	defer b.Release()
	for _, p := range all[:len(all)-1] {
		next := a[:len(cand)]
		clear(next)
		if err := e.holds(src, p, cand, next); err != nil {
			return err
		}
		if none(next) {
			return nil
		}
		cand = next
		a, b = b, a
	}
	return e.holds(src, all[len(all)-1], cand, out)
}

func count(words []uint64) (n int) {
	for _, w := range words {
		n += bits.OnesCount64(w)
	}
	return n
}

func none(words []uint64) bool {
	for _, w := range words {
		if w != 0 {
			return false
		}
	}
	return true
}

// full reports whether the first n bits are all set.
func full(words []uint64, n int) bool {
	for _, w := range words[:n>>6] {
		if w != ^uint64(0) {
			return false
		}
	}
	return n&63 == 0 || bits.TrailingZeros64(^words[n>>6]) >= n&63
}
