package gin

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"wideleaf/am"
	"wideleaf/am/entrytree"
	"wideleaf/catalog"
	"wideleaf/page"
	"wideleaf/tid"
	"wideleaf/value"
)

// run is an opened run.
type run struct {
	form  *entrytree.Form
	ix    *catalog.Index
	meta  am.RunMeta
	span  am.Span
	r     page.Reader
	cache *page.Cache // nil: read the columns pages every time
}

var (
	_ am.Run     = (*run)(nil)
	_ am.Counter = (*run)(nil)
)

// Meta returns what the run was opened with, Span the segments it covers.
func (g *run) Meta() am.RunMeta { return g.meta }
func (g *run) Span() am.Span    { return g.span }

func (g *run) corrupt(block uint32, format string, args ...any) error {
	return &page.CorruptError{Owner: g.r.Owner(), Block: block, Detail: fmt.Sprintf(format, args...)}
}

// key is a condition on one column as its tree takes it.
type key struct {
	tree     entrytree.Tree // nil: the run has no entries of the column
	conds    am.Conditions
	recheck  bool // some entries may be of rows that don't match
	estimate am.Estimate
}

// keys returns the conditions column by column. Without any it is one that asks for all entries of the first column.
func (g *run) keys(c am.Conditions) ([]key, error) {
	d, err := g.directory()
	if err != nil {
		return nil, err
	}
	var ks []key
	for i, r := range c {
		if r == nil || i >= len(g.ix.Columns) {
			continue
		}
		k := key{tree: d.tree(i, normalKey)}
		if len(r.Strings) > 0 {
			r, k.recheck = prefixed(r, g.form.Prefix)
		}
		k.conds = am.Conditions{r}
		ks = append(ks, k)
	}
	if len(ks) == 0 {
		ks = []key{{tree: d.tree(0, normalKey), conds: am.Conditions{nil}}}
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

// estimated returns the conditions with their estimates, the rarest first.
func (g *run) estimated(c am.Conditions) ([]key, error) {
	ks, err := g.keys(c)
	if err != nil {
		return nil, err
	}
	for i := range ks {
		if k := &ks[i]; k.tree == nil {
			k.estimate.Exact = true
		} else if k.estimate, err = k.tree.Estimate(k.conds); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(ks, func(a, b key) int { return cmp.Compare(a.estimate.Rows, b.estimate.Rows) })
	return ks, nil
}

// Bitmap adds the TIDs that match all conditions to b. The rarest condition is looked up first; the others leave out what
// can't match any more.
func (g *run) Bitmap(ctx context.Context, c am.Conditions, b *tid.Builder) (recheck bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	conditions := 0
	for _, r := range c {
		if r != nil {
			conditions++
		}
	}
	var ks []key
	if conditions > 1 {
		ks, err = g.estimated(c)
	} else {
		ks, err = g.keys(c)
	}
	if err != nil {
		return false, err
	}
	for _, k := range ks {
		if k.tree == nil {
			return false, nil
		}
		recheck = recheck || k.recheck
	}
	if len(ks) == 1 {
		_, err := ks[0].tree.Bitmap(ctx, ks[0].conds, b)
		return recheck, err
	}
	var found *tid.Set
	for _, k := range ks {
		next := tid.NewBuilder(g.span.First, g.span.End)
		if found != nil {
			next.Within(found)
		}
		_, err := k.tree.Bitmap(ctx, k.conds, next)
		if err != nil {
			return false, err
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
	return recheck, nil
}

// Estimate takes the columns to be independent of each other.
func (g *run) Estimate(c am.Conditions) (am.Estimate, error) {
	ks, err := g.estimated(c)
	if err != nil || g.meta.Rows == 0 {
		return am.Estimate{Exact: err == nil}, err
	}
	e := ks[0].estimate
	e.Exact = e.Exact && len(ks) == 1 && !ks[0].recheck
	for _, k := range ks[1:] {
		e.Rows *= min(k.estimate.Rows/float64(g.meta.Rows), 1)
		e.Pages += k.estimate.Pages
	}
	return e, nil
}

// Count counts a condition on one column; ok is false for several, and for one that needs a recheck.
func (g *run) Count(c am.Conditions) (n int64, ok bool, err error) {
	ks, err := g.keys(c)
	switch {
	case err != nil:
		return 0, false, err
	case len(ks) > 1:
		return 0, false, nil
	case ks[0].tree == nil:
		return 0, true, nil
	case ks[0].recheck:
		return 0, false, nil
	}
	return ks[0].tree.Count(ks[0].conds)
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
	rows := make([]uint64, len(g.ix.Columns))
	for _, o := range d {
		if err := o.tree.Check(ctx); err != nil {
			return err
		}
		rows[o.column] += o.meta.Entries
	}
	for i, n := range rows {
		if n != g.meta.Rows {
			return g.corrupt(g.meta.Root, "column %d has entries of %d rows, expected %d", i+1, n, g.meta.Rows)
		}
	}
	return nil
}
