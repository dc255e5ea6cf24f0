package inverted

import (
	"cmp"
	"context"
	"slices"

	"wideleaf/am"
	"wideleaf/am/entrytree"
	"wideleaf/tid"
	"wideleaf/value"
)

// buildArrays writes the trees of an array column.
func (m method) buildArrays(i int, v *value.Vector, src *am.Source, out *runWriter, yield func() error) error {
	codes, texts := map[uint64]int{}, map[string]int{}
	var codeLists []entrytree.CodeList
	var textLists []entrytree.TextList
	var others [categories][]uint32
	for row := range v.N {
		if row&1023 == 0 {
			if err := yield(); err != nil {
				return err
			}
		}
		off := src.Base.Offset() + uint16(row)
		if src.Dead != nil && src.Dead.Has(off) {
			continue
		}
		t := uint32(off)
		if v.IsNull(row) {
			others[nullItem] = append(others[nullItem], t)
			continue
		}
		empty := true
		for it := value.ItemsOf(v.Type, v.Str[row]); it.Next(); empty = false {
			var list *[]uint32
			switch {
			case it.Null:
				list = &others[nullKey]
			case v.Type == value.Int8Array:
				at, ok := codes[it.Code]
				if !ok {
					at = len(codeLists)
					codes[it.Code] = at
					codeLists = append(codeLists, entrytree.CodeList{Code: it.Code})
				}
				list = &codeLists[at].TIDs
			default:
				text := it.Text[:min(len(it.Text), m.form.Prefix)]
				at, ok := texts[text]
				if !ok {
					at = len(textLists)
					texts[text] = at
					textLists = append(textLists, entrytree.TextList{Text: text})
				}
				list = &textLists[at].TIDs
			}
			if n := len(*list); n == 0 || (*list)[n-1] != t { // each once a row
				*list = append(*list, t)
			}
		}
		if empty {
			others[emptyItem] = append(others[emptyItem], t)
		}
	}
	slices.SortFunc(codeLists, func(a, b entrytree.CodeList) int { return cmp.Compare(a.Code, b.Code) })
	slices.SortFunc(textLists, func(a, b entrytree.TextList) int { return cmp.Compare(a.Text, b.Text) })
	for cat := range categories {
		var meta am.RunMeta
		var err error
		switch {
		case cat != normalKey:
			meta, err = entrytree.BuildCodes(m.form, []entrytree.CodeList{{TIDs: others[cat]}}, out.target(), yield)
		case v.Type == value.Int8Array:
			meta, err = entrytree.BuildCodes(m.form, codeLists, out.target(), yield)
		default:
			meta, err = entrytree.BuildTexts(m.form, textLists, out.target(), yield)
		}
		if err != nil {
			return err
		}
		out.add(i, cat, meta)
	}
	return nil
}

// part is some entries of one tree.
type part struct {
	tree  entrytree.Tree // not nil
	conds am.Conditions
}

var every = am.Conditions{nil}

// whole returns all entries of categories of a column.
func (d directory) whole(column int, cats ...category) (ps []part) {
	for _, c := range cats {
		if t := d.tree(column, c); t != nil {
			ps = append(ps, part{t, every})
		}
	}
	return ps
}

// ranges returns the rows of an array column that satisfy ranges of whole arrays: its categories as wholes.
func (d directory) ranges(column int, r *value.Ranges) key {
	k := key{array: true}
	if len(r.Strings) > 0 {
		k.parts = d.whole(column, normalKey, nullKey, emptyItem)
		all := r.Strings[0]
		k.recheck = len(r.Strings) > 1 || all.Lo != "" || all.LoOpen || !all.HiInf
	}
	if r.Nulls {
		k.parts = append(k.parts, d.whole(column, nullItem)...)
	}
	return k
}

// items returns the conditions of a match, one for each item to look for.
func (g *run) items(d directory, column int, m *value.ArrayMatch) (ks []key) {
	add := func(r *value.Ranges, recheck bool) {
		k := key{recheck: recheck}
		if t := d.tree(column, normalKey); t != nil {
			k.parts = []part{{t, am.Conditions{r}}}
		}
		ks = append(ks, k)
	}
	for _, c := range m.Codes {
		add(&value.Ranges{Words: []value.Interval{{Lo: c, Hi: c}}}, false)
	}
	for _, s := range m.Texts {
		add(prefixed(&value.Ranges{Strings: []value.StringInterval{{Lo: s, Hi: s}}}, g.form.Prefix))
	}
	return ks
}

// match returns what a match comes down to: conditions of which all hold, or with any one of them.
func (g *run) match(column int, m *value.ArrayMatch) (ks []key, any, recheck bool, err error) {
	d, err := g.directory()
	if err != nil {
		return nil, false, false, err
	}
	ks = g.items(d, column, m)
	notNull := key{array: true, parts: d.whole(column, normalKey, nullKey, emptyItem)}
	switch {
	case m.Not:
		return []key{notNull}, false, true, nil
	case m.Op == value.Contains && m.Null:
		return nil, true, false, nil
	case m.Op == value.Contains && len(ks) == 0:
		return []key{notNull}, false, false, nil
	case m.Op == value.Contains:
		return ks, false, false, nil
	case m.Op == value.ContainedBy:
		return append(ks, key{parts: d.whole(column, emptyItem)}), true, len(ks) > 0, nil
	case m.Op == value.Similar && m.Like.Threshold == 0: // without an item in common, too
		return []key{notNull}, false, true, nil
	case m.Op == value.Similar:
		return ks, true, true, nil
	case m.Op == value.OverlapsOrNull:
		ks = append(ks, key{parts: d.whole(column, nullKey)})
	}
	return ks, true, false, nil
}

// BitmapArray adds the TIDs of the rows whose array is in m to b. Only what an array is contained by or
// similar to, and texts longer than a key, need a recheck.
func (g *run) BitmapArray(ctx context.Context, column int, m *value.ArrayMatch, b *tid.Builder) (recheck bool, err error) {
	ks, any, recheck, err := g.match(column, m)
	if err != nil {
		return false, err
	}
	for _, k := range ks {
		recheck = recheck || k.recheck
	}
	if !any {
		if err := estimateAll(ks); err != nil {
			return false, err
		}
		return recheck, g.intersect(ctx, ks, b)
	}
	for i := range ks {
		if err := ks[i].bitmap(ctx, b); err != nil {
			return false, err
		}
	}
	return recheck, nil
}

// EstimateArray takes items to be independent of each other.
func (g *run) EstimateArray(column int, m *value.ArrayMatch) (e am.Estimate, err error) {
	ks, any, recheck, err := g.match(column, m)
	if err != nil || g.meta.Rows == 0 {
		return e, err
	}
	if err := estimateAll(ks); err != nil {
		return e, err
	}
	rows := float64(g.meta.Rows)
	if !any {
		return g.together(ks, recheck), nil
	}
	for _, k := range ks {
		e.Rows += k.estimate.Rows
		e.Pages += k.estimate.Pages
	}
	e.Rows = min(e.Rows, rows)
	return e, nil
}
