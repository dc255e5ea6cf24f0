package query

import (
	"context"
	"math"
	"slices"

	"wideleaf/am"
	"wideleaf/value"
)

// orderPlan is how an index may yield the first rows of an order, and what is known of that.
type orderPlan struct {
	scan   orderScan
	rest   []*Pred // conditions besides those that its rows satisfy
	rows   float64 // that the scans would yield to their ends
	match  float64 // that match the query's whole condition, a guess
	sought float64 // rows wanted
}

// planOrder looks for the index that likely gives the first rows at the least cost; nil if none has them in order.
func (e *executor) planOrder(spec *RowsSpec, wanted int64) (best *orderPlan, err error) {
	k := &spec.OrderBy[0]
	if wanted > topNRows || k.Attno == 0 || spec.Pred.Kind == False {
		return nil, nil
	}
	if d := k.Distance; d != nil && d.array != nil {
		return e.planSimilar(spec, wanted)
	}
	least := math.Inf(1)
	for i := range e.t.Indexes {
		ix := &e.t.Indexes[i]
		c := ix.Def.Place(k.Attno)
		if a := ix.Method.Abilities(); !a.Distance || c < 0 || c > 0 && !a.AnyColumn || ix.Def.Columns[c].Type.Width() == value.Var {
			continue
		}
		orders := append(attachedOrders(ix, c, spec.Pred.conjuncts()), servedOrder{order: am.Order{Column: c, To: -1}})
		for _, o := range orders {
			p, err := e.planOf(spec, ix, o, float64(wanted))
			if err != nil {
				return nil, err
			}
			if p == nil {
				continue
			}
			pages, err := e.pagesOf(p.rest)
			if err != nil {
				return nil, err
			}
			if cost := p.cost(p.match, pages); best == nil || cost < least {
				best, least = p, cost
			}
		}
	}
	return best, nil
}

// planSimilar looks for an index that tells how similar arrays are.
func (e *executor) planSimilar(spec *RowsSpec, wanted int64) (*orderPlan, error) {
	k := &spec.OrderBy[0]
	if k.Desc || k.NullsFirst || k.Distance.array.Items() == 0 {
		return nil, nil
	}
	for i := range e.t.Indexes {
		ix := &e.t.Indexes[i]
		c := ix.Def.Place(k.Attno)
		if c < 0 || ix.Method.Abilities().Attach == 0 { // whose postings carry nothing, not lengths either
			continue
		}
		overlaps := *k.Distance.array
		overlaps.Op = value.Overlaps
		est, err := e.estimate(&Pred{Kind: Array, Attno: k.Attno, Type: k.Distance.typ, Match: &overlaps})
		if err != nil {
			return nil, err
		}
		p := &orderPlan{rows: est.rows, sought: float64(wanted), rest: spec.Pred.conjuncts()}
		s := &p.scan
		s.e, s.index, s.order, s.typ = e, ix, spec.OrderBy, k.Distance.typ
		s.like, s.column = k.Distance.array, c
		p.match, err = e.likely(e.rows, p.rest)
		return p, err
	}
	return nil, nil
}

// servedOrder is an ordered scan, and the conditions that its rows satisfy.
type servedOrder struct {
	order am.Order
	preds []*Pred
}

// attachedOrders returns scans of the columns to which the one in place c of an index is attached, for those that have
// conditions which they serve. Conditions that each ask for some items of one column's arrays are one scan.
func attachedOrders(ix *Index, c int, all []*Pred) (orders []servedOrder) {
	for _, a := range ix.Def.Attach {
		if a.Attno != ix.Def.Columns[c].Attno {
			continue
		}
		var contains servedOrder
		to := ix.Def.Place(a.To)
		for _, p := range all {
			switch {
			case p.Attno != a.To:
			case p.Kind == Array && p.Match.Op == value.Contains && !p.Match.Not && !p.Match.Null:
				m := p.Match
				if len(contains.preds) > 0 {
					m = m.And(contains.order.Match)
				}
				contains.order = am.Order{Column: c, To: to, Match: m}
				contains.preds = append(contains.preds, p)
			case p.Kind == Array && p.Match.Op != value.Similar:
				orders = append(orders, servedOrder{am.Order{Column: c, To: to, Match: p.Match}, []*Pred{p}})
			case p.Kind == Column:
				orders = append(orders, servedOrder{am.Order{Column: c, To: to, Cond: &p.Ranges}, []*Pred{p}})
			}
		}
		if len(contains.preds) > 0 {
			orders = append(orders, contains)
		}
	}
	return slices.DeleteFunc(orders, func(o servedOrder) bool {
		for _, r := range ix.Runs {
			if _, ok := r.(am.OrderedRun).Ordered(context.Background(), &o.order); !ok {
				return true
			}
		}
		return false
	})
}

// planOf plans with one ordered scan; nil if it doesn't have the order.
func (e *executor) planOf(spec *RowsSpec, ix *Index, o servedOrder, sought float64) (*orderPlan, error) {
	p := &orderPlan{rows: e.rows, sought: sought}
	s := &p.scan
	s.e, s.index, s.order, s.typ = e, ix, spec.OrderBy, ix.Def.Columns[o.order.Column].Type
	s.served = o.preds
	var condition *Pred
	for _, a := range spec.Pred.conjuncts() {
		switch {
		case slices.Contains(o.preds, a):
		case a.Kind == Column && a.Attno == spec.OrderBy[0].Attno:
			condition = a
			s.served = append(slices.Clip(s.served), a)
		default:
			p.rest = append(p.rest, a)
		}
	}
	if !s.divide(o.order, condition) {
		return nil, nil
	}
	var err error
	if p.rows, err = e.likely(p.rows, s.served); err != nil {
		return nil, err
	}
	if p.match, err = e.likely(p.rows, p.rest); err != nil {
		return nil, err
	}
	p.match = max(p.match, 1)
	return p, nil
}

// likely returns how many of some rows are taken to satisfy conditions.
func (e *executor) likely(rows float64, all []*Pred) (float64, error) {
	for _, a := range all {
		est, err := e.estimate(a)
		if err != nil {
			return 0, err
		}
		if share := est.rows / max(e.rows, 1); share < 1 {
			rows *= share
		} else {
			rows *= guess(a)
		}
	}
	return rows, nil
}

// pagesOf returns how many pages the columns of conditions have.
func (e *executor) pagesOf(all []*Pred) (pages float64, err error) {
	for _, a := range all {
		est, err := e.estimate(a)
		if err != nil {
			return 0, err
		}
		pages += est.pages
	}
	return pages, nil
}

// guess is the share of the rows that are taken to satisfy a condition of which no index tells: PostgreSQL's.
func guess(p *Pred) float64 {
	const equality, inequality = 0.005, 1.0 / 3
	if p.Kind == Array || p.Kind == Column && isEquality(p.Ranges) {
		return equality
	}
	return inequality
}

// conjuncts returns the conditions that must all hold.
func (p *Pred) conjuncts() []*Pred {
	switch p.Kind {
	case True:
		return nil
	case And:
		return p.Args
	}
	return []*Pred{p}
}

// divide makes the parts of the rows that fulfil the condition. It returns false for orders that no scan has.
func (s *orderScan) divide(o am.Order, condition *Pred) bool {
	k := &s.order[0]
	ranges := value.NotNull(s.typ)
	ranges.Nulls = true
	if condition != nil {
		ranges = condition.Ranges
	}
	part := func(in value.Ranges, backward bool) {
		if r := ranges.Intersect(in); !r.Empty() {
			o.Ranges, o.Backward = &r, backward
			s.parts = append(s.parts, orderPart{scan: o, rank: present})
		}
	}
	s.whole = true
	switch d := k.Distance; {
	case d == nil:
		part(value.NotNull(s.typ), k.Desc)
	case !d.grows() || d.sided && k.Desc:
		return false
	default:
		low, high := d.sides()
		part(low, !k.Desc)
		part(high, k.Desc)
		if d.sided {
			far := ranges.Intersect(d.near.Complement(s.typ))
			s.whole = far.Empty()
		}
	}
	if ranges.Nulls {
		o.Ranges, o.Backward = &value.Ranges{Nulls: true}, false
		nulls := orderPart{scan: o, rank: k.nullRank()}
		if k.NullsFirst {
			s.parts = slices.Insert(s.parts, 0, nulls)
		} else {
			s.parts = append(s.parts, nulls)
		}
	}
	return true
}

// cost estimates what the scans cost until the wanted rows are found, each row that matches being as likely among the first
// as any other.
func (p *orderPlan) cost(match, restPages float64) float64 {
	s := &p.scan
	seen := min(p.rows, p.sought*p.rows/max(match, 1))
	if s.like != nil {
		// All rows that have items in common are counted, and all arrays' lengths read.
		return p.rows*costOrdered + s.e.rows*costEntry + filterCost(p.rows, restPages)
	}
	scans := float64(len(s.index.Runs) * len(s.parts))
	cost := seen*costOrdered + scans*costLeaf
	if restPages > 0 {
		cost += filterCost(seen, mostBatch) + max(seen/mostBatch-1, 0)*filterCost(mostBatch, restPages)
	}
	if len(s.order) > 1 {
		cost += filterCost(p.sought*float64(len(s.order)), math.Inf(1))
	}
	return cost + float64(s.index.Pending.Rows())*costPending*float64(1+len(p.rest))
}

// byOrder looks for the first rows by the plan, among the rows of a set if that is not nil and where the conditions rest
// hold, unless looking at all of them is likely to cost less. ok is false then, and if it turns out to cost more.
func (p *orderPlan) byOrder(found candidates, match, all float64) (top *topRows, ok bool, err error) {
	s := p.scan
	if s.restPages, err = s.e.pagesOf(found.rest); err != nil {
		return nil, false, err
	}
	if p.cost(match, s.restPages) >= all {
		return nil, false, nil
	}
	s.set, s.rest, s.budget, s.size = found.set, found.rest, all, firstBatch
	if s.keys, err = newFetcher(s.e, attnosOf(s.order)); err != nil {
		return nil, false, err
	}
	s.top = &topRows{order: s.order, limit: int64(p.sought)}
	ok, err = s.run()
	s.e.t.Counters.ordered(ok)
	return s.top, ok, err
}

// firstRows finds the first rows of an order: by an index that has the order where that is likely to be cheaper, else among
// all rows that match.
func (e *executor) firstRows(spec *RowsSpec, wanted int64) (*topRows, error) {
	plan, err := e.planOrder(spec, wanted)
	if err != nil {
		return nil, err
	}
	keyPages := 0.0
	if plan != nil {
		est, err := e.estimate(spec.Pred)
		if err != nil {
			return nil, err
		}
		keyPages = columnPages(e.stored, plan.scan.typ) * float64(len(spec.OrderBy))
		if plan.scan.like != nil {
			keyPages += plan.match * costSimilarity / costPage
		}
		all := min(est.index, filterCost(e.rows, est.pages)) + filterCost(plan.match, keyPages)
		top, ok, err := plan.byOrder(candidates{rest: plan.rest}, plan.match, all)
		if ok || err != nil {
			return top, err
		}
	}
	found, err := e.narrow(spec.Pred, nil)
	if err != nil {
		return nil, err
	}
	defer found.release()
	if found.set == nil && wanted <= topNRows {
		return e.topN(found, spec.OrderBy, wanted)
	}
	if plan != nil && found.set != nil {
		match := float64(found.set.Count())
		rest := slices.DeleteFunc(slices.Clone(found.rest), func(a *Pred) bool { return slices.Contains(plan.scan.served, a) })
		top, ok, err := plan.byOrder(candidates{set: found.set, rest: rest}, match, filterCost(match, keyPages))
		if ok || err != nil {
			return top, err
		}
	}
	return e.topOfMatches(found, spec.OrderBy, wanted)
}
