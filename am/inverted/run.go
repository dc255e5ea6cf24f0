package inverted

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"wideleaf/am"
	"wideleaf/catalog"
	"wideleaf/page"
	"wideleaf/tid"
	"wideleaf/value"
)

// run is an opened run.
type run struct {
	method
	ix    *catalog.Index
	meta  am.RunMeta
	span  am.Span
	r     page.Reader
	cache *page.Cache // nil: read the columns pages every time
}

var (
	_ am.Run        = (*run)(nil)
	_ am.Counter    = (*run)(nil)
	_ am.ArrayRun   = (*run)(nil)
	_ am.OrderedRun = (*run)(nil)
	_ am.ScoredRun  = (*run)(nil)
)

// Meta returns what the run was opened with, Span the segments it covers.
func (g *run) Meta() am.RunMeta { return g.meta }
func (g *run) Span() am.Span    { return g.span }

func (g *run) corrupt(block uint32, format string, args ...any) error {
	return &page.CorruptError{Owner: g.r.Owner(), Block: block, Detail: fmt.Sprintf(format, args...)}
}

// key is a condition on one column as its trees take it: the entries of any of the parts.
type key struct {
	parts    []part
	recheck  bool // some entries may be of rows that don't match
	array    bool // a row may have several entries
	estimate am.Estimate
}

// bitmap adds the TIDs of the entries to b.
func (k *key) bitmap(ctx context.Context, b *tid.Builder) error {
	for _, p := range k.parts {
		if _, err := p.tree.Bitmap(ctx, p.conds, b); err != nil {
			return err
		}
	}
	return nil
}

// keys returns the conditions column by column. Without any it is one that asks for all entries of the first column.
func (g *run) keys(c am.Conditions) ([]key, error) {
	d, err := g.directory()
	if err != nil {
		return nil, err
	}
	var ks []key
	for i, r := range c {
		switch {
		case r == nil || i >= len(g.ix.Columns):
		case isArray(g.ix, i):
			ks = append(ks, d.ranges(i, r))
		default:
			k := key{}
			if len(r.Strings) > 0 {
				r, k.recheck = prefixed(r, g.form.Prefix)
			}
			if t := d.tree(i, normalKey); t != nil {
				k.parts = []part{{t, am.Conditions{r}}}
			}
			ks = append(ks, k)
		}
	}
	if len(ks) == 0 {
		ks = []key{{array: isArray(g.ix, 0), parts: d.whole(0, items...)}}
	}
	return ks, nil
}

// prefixed returns the ranges of the prefixes of the strings in r, and whether they are those of other strings too. A
// string of which an interval's end is a proper prefix, or that differs within it, compares as its prefix does; so only
// ends of full length matter.
func prefixed(r *value.Ranges, n int) (out *value.Ranges, recheck bool) {
	long := func(iv value.StringInterval) bool { return len(iv.Lo) >= n || !iv.HiInf && len(iv.Hi) >= n }
	if !slices.ContainsFunc(r.Strings, long) {
		return r, false
	}
	ivs := slices.Clone(r.Strings)
	for i := range ivs {
		iv := &ivs[i]
		if len(iv.Lo) >= n {
			iv.Lo, iv.LoOpen = iv.Lo[:n], false
		}
		if !iv.HiInf && len(iv.Hi) >= n {
			iv.Hi, iv.HiOpen = iv.Hi[:n], false
		}
	}
	x := value.OfStringIntervals(ivs...)
	x.Nulls = r.Nulls
	return &x, true
}

// estimateAll estimates conditions and puts the rarest first.
func estimateAll(ks []key) error {
	for i := range ks {
		k := &ks[i]
		k.estimate.Exact = !k.array
		for _, p := range k.parts {
			e, err := p.tree.Estimate(p.conds)
			if err != nil {
				return err
			}
			k.estimate.Rows += e.Rows
			k.estimate.Pages += e.Pages
			k.estimate.Exact = k.estimate.Exact && e.Exact
		}
	}
	slices.SortStableFunc(ks, func(a, b key) int { return cmp.Compare(a.estimate.Rows, b.estimate.Rows) })
	return nil
}

// Bitmap adds the TIDs that match all conditions to b.
func (g *run) Bitmap(ctx context.Context, c am.Conditions, b *tid.Builder) (recheck bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	ks, err := g.keys(c)
	if err != nil {
		return false, err
	}
	for _, k := range ks {
		if len(k.parts) == 0 {
			return false, nil
		}
		recheck = recheck || k.recheck
	}
	if len(ks) > 1 {
		if err := estimateAll(ks); err != nil {
			return false, err
		}
	}
	return recheck, g.intersect(ctx, ks, b)
}

// intersect adds the TIDs to b that have entries of each of ks, of which there is one at least. They are looked up in
// order; the later ones leave out what can't match any more.
func (g *run) intersect(ctx context.Context, ks []key, b *tid.Builder) error {
	if len(ks) == 1 {
		return ks[0].bitmap(ctx, b)
	}
	var found *tid.Set
	for i := range ks {
		next := tid.NewBuilder(g.span.First, g.span.End)
		if found != nil {
			next.Within(found)
		}
		if err := ks[i].bitmap(ctx, next); err != nil {
			return err
		}
		s := next.Set()
		if found != nil {
			found.Release()
		}
		if found = s; s.Empty() {
			break
		}
	}
	defer found.Release()
	b.AddSet(found)
	return nil
}

// Estimate takes the columns to be independent of each other.
func (g *run) Estimate(c am.Conditions) (am.Estimate, error) {
	ks, err := g.keys(c)
	if err != nil || g.meta.Rows == 0 {
		return am.Estimate{Exact: err == nil}, err
	}
	if err := estimateAll(ks); err != nil {
		return am.Estimate{}, err
	}
	return g.together(ks, false), nil
}

// together is the estimate of all of some conditions, one at least.
func (g *run) together(ks []key, recheck bool) am.Estimate {
	rows := float64(g.meta.Rows)
	e := ks[0].estimate
	e.Rows = min(e.Rows, rows)
	e.Exact = e.Exact && len(ks) == 1 && !ks[0].recheck && !recheck
	for _, k := range ks[1:] {
		e.Rows *= min(k.estimate.Rows/rows, 1)
		e.Pages += k.estimate.Pages
	}
	return e
}

// Count counts a condition on one scalar column; ok is false for others, and for one that needs a recheck.
func (g *run) Count(c am.Conditions) (n int64, ok bool, err error) {
	ks, err := g.keys(c)
	switch {
	case err != nil || len(ks) > 1:
		return 0, false, err
	case len(ks[0].parts) == 0:
		return 0, true, nil
	case ks[0].recheck || ks[0].array && !slices.ContainsFunc(c, func(r *value.Ranges) bool { return r != nil }):
		return int64(g.meta.Rows), !ks[0].recheck, nil
	case ks[0].array:
		return 0, false, nil
	}
	return ks[0].parts[0].tree.Count(ks[0].parts[0].conds)
}

// Check verifies the run: the columns pages, each tree, and that every row has an entry in each column.
func (g *run) Check(ctx context.Context) error {
	if g.meta.Blocks != g.r.Blocks() {
		return g.corrupt(g.meta.Root, "run has %d blocks, expected %d", g.r.Blocks(), g.meta.Blocks)
	}
	if g.meta.Levels == 0 {
		return nil
	}
	d, err := g.open()
	if err != nil {
		return err
	}
	for _, o := range d {
		if err := o.tree.Check(ctx); err != nil {
			return err
		}
	}
	for i := range g.ix.Columns {
		for slot := range len(g.ix.Attached(i)) + 1 {
			if err := g.checkRows(ctx, d, i, slot); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkRows verifies that the trees of a slot of a column have entries of all rows; of arrays, that lengths are kept of those
// with keys.
func (g *run) checkRows(ctx context.Context, d directory, column, slot int) error {
	k, n := key{}, uint64(0)
	for _, at := range g.layout(g.ix, column) {
		if at.slot != slot || at.category == lengths {
			continue
		}
		if t := d.slot(column, slot, at.category); t != nil {
			k.parts = append(k.parts, part{t, every})
			n += t.Meta().Entries
		}
	}
	if slot == 0 && g.ix.OrderByAttach && len(g.ix.Attached(column)) > 0 {
		n = g.meta.Rows // nothing is kept without attached values
	} else if isArray(g.ix, column) {
		s, err := k.rows(ctx, g.span)
		if err != nil {
			return err
		}
		n = uint64(s.Count())
	}
	if n != g.meta.Rows {
		return g.corrupt(g.meta.Root, "column %d has entries of %d rows, expected %d", column+1, n, g.meta.Rows)
	}
	if slot > 0 || !g.payloads || !isArray(g.ix, column) {
		return nil
	}
	keyed, measured := key{parts: d.whole(column, normalKey)}, key{parts: d.whole(column, lengths)}
	a, err := keyed.rows(ctx, g.span)
	if err != nil {
		return err
	}
	b, err := measured.rows(ctx, g.span)
	if err != nil {
		return err
	}
	once := int64(0)
	for _, p := range measured.parts {
		once += int64(p.tree.Meta().Entries)
	}
	arrays, at := a.Count(), b.Count()
	if n := a.And(b).Count(); n != arrays || n != at || n != once {
		return g.corrupt(g.meta.Root, "column %d has %d lengths of %d arrays with items, expected one each", column+1, once, arrays)
	}
	return nil
}

// rows returns the rows that the entries are of.
func (k *key) rows(ctx context.Context, span am.Span) (*tid.Set, error) {
	b := tid.NewBuilder(span.First, span.End)
	err := k.bitmap(ctx, b)
	return b.Set(), err
}
