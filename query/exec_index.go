package query

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"wideleaf/am"
	"wideleaf/catalog"
	"wideleaf/heap"
	"wideleaf/pending"
	"wideleaf/tid"
	"wideleaf/value"
)

// term is a part of a condition that is evaluated at once: a Pred, or several columns' that one index serves together.
type term struct {
	preds []*Pred // all of which must hold
	path  *path   // how an index serves them; nil: a Pred that has no single index
	estimate
}

// path is a scan of an index: the columns' conditions as the index takes them.
type path struct {
	index *Index
	conds am.Conditions

	array  *value.ArrayMatch // the condition, instead of conds, if it is on arrays
	column int               // and the place of their column in the index
}

// bitmap adds what a run of the index holds of the condition to b.
func (p *path) bitmap(ctx context.Context, r am.Run, b *tid.Builder) (recheck bool, err error) {
	if p.array == nil {
		return r.Bitmap(ctx, p.conds, b)
	}
	a, ok := r.(am.ArrayRun)
	if !ok {
		return false, fmt.Errorf("a %s index serves no condition on arrays", p.index.Def.Method)
	}
	if s, ok := r.(am.ScoredRun); ok && p.array.Op == value.Similar && !p.array.Not && p.array.Like.Threshold > 0 {
		exact, err := s.Similar(ctx, p.column, p.array, func(t tid.TID, common, length int) error {
			if p.array.SimilarityOf(common, length) >= p.array.Like.Threshold {
				b.Add(t)
			}
			return nil
		})
		if exact || err != nil {
			return false, err
		}
	}
	return a.BitmapArray(ctx, p.column, p.array, b)
}

// estimate estimates the condition, or conds in place of it.
func (p *path) estimate(r am.Run, conds am.Conditions) (am.Estimate, error) {
	if a, ok := r.(am.ArrayRun); ok && p.array != nil {
		return a.EstimateArray(p.column, p.array)
	}
	return r.Estimate(conds)
}

// estimate is what is known of a condition before it is evaluated.
type estimate struct {
	rows    float64 // that satisfy it
	index   float64 // cost of evaluating it by indexes alone, but for pending rows; infinite if that can't be
	waiting float64 // cost of looking at all pending rows
	share   float64 // of the table's rows that are pending
	pages   float64 // heap pages of the columns that it looks at
}

// cost is that of evaluating the condition by indexes when n rows are candidates: of pending rows, only those are looked at.
func (e estimate) cost(n float64) float64 {
	return e.index + min(e.waiting, filterCost(e.share*n, math.Inf(1)))
}

// narrow fetches the rows of within (nil: of the table) that satisfy p as far as indexes serve. within stays as it is.
func (e *executor) narrow(p *Pred, within *tid.Set) (candidates, error) {
	found := candidates{set: within}
	switch p.Kind {
	case False:
		return candidates{set: &tid.Set{}, owned: true}, nil
	case True:
		return found, nil
	}
	terms, err := e.terms(p)
	if err != nil {
		return found, err
	}
	n := e.rows
	if within != nil {
		n = float64(within.Count())
	}
	if within == nil && !e.half && len(terms) > 1 &&
		inParallel(terms[0].cost(n), terms[1].cost(n), terms[1].cost(terms[0].rows)) &&
		useIndex(terms[0].cost(n), filterCost(n, terms[0].pages)) &&
		useIndex(terms[1].cost(terms[0].rows), filterCost(terms[0].rows, terms[1].pages)) {
		if found.set, err = e.fetchBoth(terms[0], terms[1]); err != nil {
			return found, err
		}
		found.owned, terms = true, terms[2:]
		n = float64(found.set.Count())
	}
	for _, t := range terms {
		if n == 0 {
			break
		}
		if !useIndex(t.cost(n), filterCost(n, t.pages)) {
			found.rest = append(found.rest, t.preds...)
			continue
		}
		next, err := e.fetch(t, found.set)
		found.release()
		if err != nil {
			return candidates{}, err
		}
		found.set, found.owned = next, true
		n = float64(next.Count())
	}
	if n == 0 {
		found.release()
		return candidates{set: &tid.Set{}, owned: true}, nil
	}
	return found, nil
}

// fetchBoth evaluates two terms and returns what satisfies both. Another goroutine evaluates the second one if it gets to it
// before the first is done: when all processors are busy, waiting for it would take longer than the work.
func (e *executor) fetchBoth(a, b term) (*tid.Set, error) {
	g, ctx := errgroup.WithContext(e.ctx)
	one, other := *e, *e // executors belong to one goroutine
	for _, x := range []*executor{&one, &other} {
		x.ctx, x.estimates, x.half, x.arrays = ctx, nil, true, value.Vector{}
	}
	var begun atomic.Bool
	var second *tid.Set
	g.Go(func() (err error) {
		if begun.CompareAndSwap(false, true) {
			second, err = other.fetch(b, nil)
		}
		return err
	})
	first, err := one.fetch(a, nil)
	if begun.CompareAndSwap(false, true) {
		if err != nil {
			return nil, err
		}
		defer first.Release()
		return one.fetch(b, first)
	}
	if other := g.Wait(); err == nil {
		err = other
	}
	if err != nil {
		return nil, err
	}
	both := first.And(second)
	second.Release()
	return both, nil
}

// fetch evaluates a term by indexes and returns its rows that are in within, if that is not nil.
func (e *executor) fetch(t term, within *tid.Set) (*tid.Set, error) {
	if t.path != nil {
		return e.scan(t.path, t.preds, within)
	}
	union := &tid.Set{}
	for _, a := range t.preds[0].Args {
		s, err := e.where(a, within)
		if err != nil {
			return nil, err
		}
		union = union.Or(s)
	}
	return union, nil
}

// scan returns the rows that the runs and the pending list of an index hold of a condition.
func (e *executor) scan(p *path, preds []*Pred, within *tid.Set) (*tid.Set, error) {
	b := tid.NewBuilder(e.first, e.end)
	if within != nil {
		b.Within(within)
	}
	var recheck []am.Span
	for _, r := range p.index.Runs {
		if err := e.ctx.Err(); err != nil {
			return nil, err
		}
		if sp := r.Span(); within != nil && !within.AnyIn(sp.First, sp.End) {
			continue
		}
		again, err := p.bitmap(e.ctx, r, b)
		if err != nil {
			return nil, err
		}
		if again {
			recheck = append(recheck, r.Span())
		}
	}
	if err := e.scanPending(p.index.Pending, preds, within, b); err != nil {
		return nil, err
	}
	s := b.Set().Less(e.t.Dead)
	if len(recheck) == 0 {
		return s, nil
	}
	return e.recheck(s, preds, recheck)
}

// scanPending adds the pending rows of within (nil: all) that satisfy all of preds.
func (e *executor) scanPending(waiting pending.List, preds []*Pred, within *tid.Set, b *tid.Builder) error {
	if within == nil && len(preds) == 1 && preds[0].Kind == Column {
		return waiting.Select(e.ctx, preds[0].Attno, preds[0].Ranges, b)
	}
	out := tid.NewBits()
	defer out.Release()
	for part, cand := range waiting.All() {
		if within != nil {
			if !within.AnyIn(part.Number(), part.Number()+1) {
				continue
			}
			within.Mask(part.Number(), cand)
		}
		words := out[:len(cand)]
		if err := e.allOf(part.Source, preds, cand, words); err != nil {
			return err
		}
		b.AddBits(part.Number(), out)
		clear(words)
	}
	return nil
}

// recheck drops the rows in the given spans that do not satisfy all of preds.
func (e *executor) recheck(s *tid.Set, preds []*Pred, spans []am.Span) (*tid.Set, error) {
	defer s.Release()
	b := tid.NewBuilder(e.first, e.end)
	for m, err := range e.matches(candidates{set: s}) {
		if err != nil {
			return nil, err
		}
		seg := m.src.Number()
		if !slices.ContainsFunc(spans, func(sp am.Span) bool { return sp.First <= seg && seg < sp.End }) {
			b.AddBits(seg, m.bits)
			continue
		}
		out := tid.NewBits()
		words := (m.src.Rows() + 63) >> 6
		err := e.allOf(m.src, preds, m.bits[:words], out[:words])
		b.AddBits(seg, out)
		out.Release()
		if err != nil {
			return nil, err
		}
	}
	return b.Set(), nil
}

// countByIndex counts a condition on one column exactly in the inner pages of an index on that column alone. ok is
// false if there is none that can.
func (e *executor) countByIndex(p *Pred) (n int64, ok bool, err error) {
	if p.Kind != Column {
		return 0, false, nil
	}
	pa := e.pathOf(p)
	if pa == nil || !pa.index.Method.Abilities().Counts {
		return 0, false, nil
	}
	for i, r := range pa.index.Runs {
		if err := e.ctx.Err(); err != nil {
			return 0, false, err
		}
		c, can := r.(am.Counter)
		if !can {
			return 0, false, nil
		}
		k, ok, err := e.countRun(c, pa.conds)
		if !ok || err != nil {
			return 0, false, err
		}
		if k > 0 {
			if k, err = e.lessDead(p, pa, i, k); err != nil {
				return 0, false, err
			}
		}
		n += k
	}
	k, err := e.countPending(pa.index.Pending, p)
	return n + k, err == nil, err
}

// countedIntervals is how many intervals of a long list are counted until the context is looked at again.
const countedIntervals = 4096

// countRun is Counter.Count for conditions on one column.
func (e *executor) countRun(c am.Counter, conds am.Conditions) (n int64, ok bool, err error) {
	at := slices.IndexFunc(conds, func(r *value.Ranges) bool { return r != nil })
	if at < 0 || len(conds[at].Words) <= countedIntervals {
		return c.Count(conds)
	}
	rest, part := *conds[at], slices.Clone(conds)
	for len(rest.Words) > 0 {
		if err := e.ctx.Err(); err != nil {
			return 0, false, err
		}
		now := value.Ranges{Words: rest.Words[:min(countedIntervals, len(rest.Words))], Nulls: rest.Nulls}
		rest = value.Ranges{Words: rest.Words[len(now.Words):]}
		part[at] = &now
		k, ok, err := c.Count(part)
		if !ok || err != nil {
			return 0, ok, err
		}
		n += k
	}
	return n, true, nil
}

// lessDead takes the dead rows off a run's count of a condition: those that the run still has. Either these are looked at in
// the heap's columns, or the entries are fetched after all, whichever costs less.
func (e *executor) lessDead(p *Pred, pa *path, run int, n int64) (int64, error) {
	r := pa.index.Runs[run]
	sp := r.Span()
	dead := e.t.Dead.In(sp.First, sp.End)
	if dead.Rows() == 0 {
		return n, nil
	}
	flushed := run < len(pa.index.Gone)
	still := dead
	if flushed {
		if still = dead.LessPart(pa.index.Gone[run]); still.Rows() == 0 {
			return n, nil
		}
	}
	leaves := float64(r.Meta().Blocks) * float64(n) / float64(max(r.Meta().Entries, 1))
	stored := tid.SegmentRows * float64(len(still.Parts()))
	if !flushed || indexCost(float64(n), leaves+1) <= filterCost(float64(still.Rows()), columnPages(stored, p.Type)) {
		b := tid.NewBuilder(sp.First, sp.End)
		if _, err := r.Bitmap(e.ctx, pa.conds, b); err != nil {
			return 0, err
		}
		s := b.Set().Less(still)
		defer s.Release()
		return s.Count(), nil
	}
	for _, part := range still.Parts() {
		src, err := e.source(part.Segment)
		if err != nil {
			return 0, err
		}
		k, err := e.countAmong(src, p, part.Bits)
		if err != nil {
			return 0, err
		}
		n -= k
	}
	return n, nil
}

// countAmong counts the rows of a segment among cand for which a condition on one column holds.
func (e *executor) countAmong(src heap.Source, p *Pred, cand *tid.Bits) (int64, error) {
	out := tid.NewBits()
	defer out.Release()
	words := (src.Rows() + 63) >> 6
	if err := src.Select(e.ctx, p.Attno, p.Ranges, cand[:words], out[:words]); err != nil {
		return 0, err
	}
	return int64(out.Count()), nil
}

// countPending counts the pending rows for which a condition on one column holds.
func (e *executor) countPending(waiting pending.List, p *Pred) (n int64, err error) {
	if len(waiting) == 0 || e.t.Dead.In(waiting[0].Number(), e.end).Rows() == 0 {
		return waiting.Count(e.ctx, p.Attno, p.Ranges)
	}
	live := tid.NewBits()
	defer live.Release()
	for part, cand := range waiting.All() {
		copy(live[:], cand)
		clear(live[len(cand):])
		if dead, _ := e.t.Dead.Segment(part.Number()); dead != nil {
			live.AndNot(dead)
		}
		k, err := e.countAmong(part.Source, p, live)
		if err != nil {
			return 0, err
		}
		n += k
	}
	return n, nil
}

// terms returns the parts of a condition with their estimates, those that leave the fewest rows first.
func (e *executor) terms(p *Pred) ([]term, error) {
	var terms []term
	if p.Kind == And {
		var left []*Pred
		terms, left = e.jointTerms(p.Args)
		for _, a := range left {
			terms = append(terms, term{preds: []*Pred{a}, path: e.pathOf(a)})
		}
	} else {
		terms = []term{{preds: []*Pred{p}, path: e.pathOf(p)}}
	}
	for i := range terms {
		t := &terms[i]
		var err error
		if len(t.preds) == 1 {
			t.estimate, err = e.estimate(t.preds[0])
		} else {
			t.estimate, err = e.estimatePath(t.path, t.preds)
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(terms, func(a, b term) int {
		switch {
		case a.rows < b.rows:
			return -1
		case a.rows > b.rows:
			return 1
		}
		return 0
	})
	return terms, nil
}

// pathOf returns how an index serves a condition on one column: an index on that column alone, or else one that
// begins with it, or else one that serves any of its columns; nil if there is none.
func (e *executor) pathOf(p *Pred) *path {
	if p.Kind == Array {
		return e.arrayPath(p)
	}
	if p.Kind != Column {
		return nil
	}
	var best *Index
	bestAny, at := false, 0
	for i := range e.t.Indexes {
		ix := &e.t.Indexes[i]
		anyColumn, c := ix.Method.Abilities().AnyColumn, 0
		if anyColumn {
			c = slices.IndexFunc(ix.Def.Columns, func(c catalog.IndexColumn) bool { return c.Attno == p.Attno })
		} else if ix.Def.Columns[0].Attno != p.Attno {
			c = -1
		}
		if c < 0 {
			continue
		}
		if best == nil || bestAny && !anyColumn || bestAny == anyColumn && len(ix.Def.Columns) < len(best.Def.Columns) {
			best, bestAny, at = ix, anyColumn, c
		}
	}
	if best == nil {
		return nil
	}
	conds := make(am.Conditions, at+1)
	conds[at] = &p.Ranges
	return &path{index: best, conds: conds}
}

// arrayPath returns how an index serves a condition on arrays; what a set leaves out is not looked up.
func (e *executor) arrayPath(p *Pred) *path {
	for i := range e.t.Indexes {
		ix := &e.t.Indexes[i]
		if p.Match.Not || !ix.Method.Abilities().Arrays {
			continue
		}
		if c := slices.IndexFunc(ix.Def.Columns, func(c catalog.IndexColumn) bool { return c.Attno == p.Attno }); c >= 0 {
			return &path{index: ix, array: p.Match, column: c}
		}
	}
	return nil
}

// jointTerms finds the indexes that serve several of the conditions of an AND at once, by equality on leading columns
// and then any condition on one more, and returns these and the conditions that are left.
func (e *executor) jointTerms(args []*Pred) (terms []term, left []*Pred) {
	left = args
	for {
		var best term
		for i := range e.t.Indexes {
			ix := &e.t.Indexes[i]
			if len(ix.Def.Columns) < 2 || ix.Method.Abilities().AnyColumn {
				continue
			}
			pa := &path{index: ix, conds: make(am.Conditions, len(ix.Def.Columns))}
			var served []*Pred
			for c, col := range ix.Def.Columns {
				at := slices.IndexFunc(left, func(p *Pred) bool { return p.Kind == Column && p.Attno == col.Attno })
				if at < 0 {
					break
				}
				pa.conds[c] = &left[at].Ranges
				served = append(served, left[at])
				if !isEquality(left[at].Ranges) {
					break
				}
			}
			if len(served) > max(1, len(best.preds)) {
				best = term{preds: served, path: pa}
			}
		}
		if best.path == nil {
			return terms, left
		}
		terms = append(terms, best)
		left = slices.DeleteFunc(slices.Clone(left), func(p *Pred) bool { return slices.Contains(best.preds, p) })
	}
}

// isEquality reports whether a single value satisfies r: the two zeros of float8 count as one.
func isEquality(r value.Ranges) bool {
	switch {
	case r.Nulls:
		return false
	case len(r.Words) == 1:
		iv := r.Words[0]
		return iv.Lo == iv.Hi || iv.Lo == value.NegZeroCode && iv.Hi == value.PosZeroCode
	case len(r.Strings) == 1:
		iv := r.Strings[0]
		return !iv.HiInf && iv.Lo == iv.Hi
	}
	return false
}

// estimate estimates a condition, once.
func (e *executor) estimate(p *Pred) (estimate, error) {
	if p.Kind == Column || p.Kind == Array {
		return e.estimatePath(e.pathOf(p), []*Pred{p})
	}
	if est, ok := e.estimates[p]; ok {
		return est, nil
	}
	est := estimate{}
	if p.Kind == And || p.Kind == True {
		est.rows, est.index = e.rows, math.Inf(1)
	}
	for _, a := range p.Args {
		x, err := e.estimate(a)
		if err != nil {
			return est, err
		}
		est.pages += x.pages
		if p.Kind == Or {
			est.rows += x.rows
			est.index += x.index
			est.waiting += x.waiting
		} else {
			est.rows = min(est.rows, x.rows)
			if x.cost(e.rows) < est.cost(e.rows) {
				est.index, est.waiting = x.index, x.waiting
			}
		}
		est.share = max(est.share, x.share)
	}
	est.rows = min(est.rows, e.rows)
	if p.Kind == And {
		// Its cheapest index, and then the rest of its columns on what that leaves.
		est.index += filterCost(est.rows, est.pages)
	}
	if e.estimates == nil {
		e.estimates = map[*Pred]estimate{}
	}
	e.estimates[p] = est
	return est, nil
}

// estimatePath asks the runs of an index for their estimates, and takes pending rows to be like the others.
func (e *executor) estimatePath(p *path, preds []*Pred) (estimate, error) {
	est := estimate{rows: e.rows, index: math.Inf(1)}
	intervals := 0
	for _, c := range preds {
		n := len(c.Ranges.Words) + len(c.Ranges.Strings)
		est.pages += columnPages(e.rows, c.Type) * pageWeight(n)
		intervals = max(intervals, n)
	}
	if p == nil {
		return est, nil
	}
	conds, times := slices.Clone(p.conds), 1.0
	for i, c := range conds {
		if c != nil {
			var k float64
			conds[i], k = sample(c)
			times *= k
		}
	}
	var rows, leaves float64
	for _, r := range p.index.Runs {
		x, err := p.estimate(r, conds)
		if err != nil {
			return est, err
		}
		rows += min(x.Rows*times, float64(r.Meta().Entries))
		leaves += min(x.Pages*times, float64(r.Meta().Blocks))
	}
	est.index = indexCost(rows, leaves)
	if intervals > 1 {
		est.index += intervalsCost(intervals, len(p.index.Runs))
	}
	if waiting := float64(p.index.Pending.Rows()); waiting > 0 {
		for _, c := range preds {
			est.waiting += costPage * columnPages(waiting, c.Type) * pageWeight(len(c.Ranges.Words)+len(c.Ranges.Strings))
		}
		share := 1.0
		if waiting < e.stored {
			share = rows / (e.stored - waiting)
		}
		est.share = min(waiting/e.stored, 1)
		rows += share * waiting
	}
	est.rows = min(rows, e.rows)
	return est, nil
}
