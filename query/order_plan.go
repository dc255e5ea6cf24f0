package query

import (
	"math"
	"slices"

	"wideleaf/am"
	"wideleaf/catalog"
	"wideleaf/value"
)

// orderPlan is how an index may yield the first rows of an order, and what is known of that.
type orderPlan struct {
	scan   orderScan
	rest   []*Pred // conditions besides that on the first key's column
	rows   float64 // that the scans would yield to their ends
	match  float64 // that match the query's whole condition, a guess
	sought float64 // rows wanted
}

// planOrder looks for an index that has rows in the order of the first key; nil if there is none.
func (e *executor) planOrder(spec *RowsSpec, wanted int64) (*orderPlan, error) {
	k := &spec.OrderBy[0]
	if wanted > topNRows || k.Attno == 0 || spec.Pred.Kind == False {
		return nil, nil
	}
	index, column := e.indexInOrder(k.Attno)
	if index == nil {
		return nil, nil
	}
	p := &orderPlan{rows: e.rows, sought: float64(wanted)}
	s := &p.scan
	s.e, s.index, s.order, s.typ = e, index, spec.OrderBy, index.Def.Columns[column].Type
	p.rest = spec.Pred.conjuncts()
	if i := slices.IndexFunc(p.rest, func(a *Pred) bool { return a.Kind == Column && a.Attno == k.Attno }); i >= 0 {
		s.condition = p.rest[i]
		p.rest = slices.Delete(slices.Clone(p.rest), i, i+1)
	}
	if !s.divide(am.Order{Column: column, To: -1}) {
		return nil, nil
	}
	if s.condition != nil {
		est, err := e.estimate(s.condition)
		if err != nil {
			return nil, err
		}
		p.rows = est.rows
	}
	p.match = p.rows
	for _, a := range p.rest {
		est, err := e.estimate(a)
		if err != nil {
			return nil, err
		}
		if share := est.rows / max(e.rows, 1); share < 1 {
			p.match *= share
		} else {
			p.match *= guess(a)
		}
	}
	p.match = max(p.match, 1)
	return p, nil
}

// guess is the share of the rows that are taken to satisfy a condition of which no index tells: PostgreSQL's.
func guess(p *Pred) float64 {
	const equality, inequality = 0.005, 1.0 / 3
	if p.Kind == Array || p.Kind == Column && isEquality(p.Ranges) {
		return equality
	}
	return inequality
}

// indexInOrder returns an index that yields rows in the order of a column, and the column's place in it: the one with the
// fewest columns.
func (e *executor) indexInOrder(attno int) (best *Index, column int) {
	for i := range e.t.Indexes {
		ix := &e.t.Indexes[i]
		a := ix.Method.Abilities()
		c := slices.IndexFunc(ix.Def.Columns, func(c catalog.IndexColumn) bool { return c.Attno == attno })
		if !a.Distance || c < 0 || c > 0 && !a.AnyColumn || ix.Def.Columns[c].Type.Width() == value.Var {
			continue
		}
		if best == nil || len(ix.Def.Columns) < len(best.Def.Columns) {
			best, column = ix, c
		}
	}
	return best, column
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
func (s *orderScan) divide(o am.Order) bool {
	k := &s.order[0]
	ranges := value.NotNull(s.typ)
	ranges.Nulls = true
	if s.condition != nil {
		ranges = s.condition.Ranges
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
	seen := min(p.rows, p.sought*p.rows/max(match, 1))
	s := &p.scan
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
	for _, a := range found.rest {
		est, err := s.e.estimate(a)
		if err != nil {
			return nil, false, err
		}
		s.restPages += est.pages
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
		rest := slices.DeleteFunc(slices.Clone(found.rest), func(a *Pred) bool { return a == plan.scan.condition })
		top, ok, err := plan.byOrder(candidates{set: found.set, rest: rest}, match, filterCost(match, keyPages))
		if ok || err != nil {
			return top, err
		}
	}
	return e.topOfMatches(found, spec.OrderBy, wanted)
}
