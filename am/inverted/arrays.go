package inverted

import (
	"cmp"
	"context"
	"slices"

	"wideleaf/am"
	"wideleaf/am/entrytree"
	"wideleaf/catalog"
	"wideleaf/tid"
	"wideleaf/value"
)

// arrayKeys is the keys of an array column of one segment, ascending, each with the rows that have it, and the rows of the
// other categories.
type arrayKeys struct {
	codes  []entrytree.CodeList
	texts  []entrytree.TextList
	others [categories][]uint32
	rows   []uint32 // those with keys, and
	counts []uint32 // how many
}

// gatherArrays returns the keys of a column.
func gatherArrays(prefix int, v *value.Vector, src *am.Source, yield func() error) (*arrayKeys, error) {
	k := new(arrayKeys)
	codes, texts := map[uint64]int{}, map[string]int{}
	for row := range v.N {
		if row&1023 == 0 {
			if err := yield(); err != nil {
				return nil, err
			}
		}
		off := src.Base.Offset() + uint16(row)
		if src.Dead != nil && src.Dead.Has(off) {
			continue
		}
		t := uint32(off)
		if v.IsNull(row) {
			k.others[nullItem] = append(k.others[nullItem], t)
			continue
		}
		empty, long, n := true, false, uint32(0)
		for it := value.ItemsOf(v.Type, v.Str[row]); it.Next(); empty = false {
			var list *[]uint32
			switch {
			case it.Null:
				list = &k.others[nullKey]
			case v.Type == value.Int8Array:
				at, ok := codes[it.Code]
				if !ok {
					at = len(k.codes)
					codes[it.Code] = at
					k.codes = append(k.codes, entrytree.CodeList{Code: it.Code})
				}
				list = &k.codes[at].TIDs
			default:
				text := it.Text[:min(len(it.Text), prefix)]
				long = long || len(it.Text) > prefix
				at, ok := texts[text]
				if !ok {
					at = len(k.texts)
					texts[text] = at
					k.texts = append(k.texts, entrytree.TextList{Text: text})
				}
				list = &k.texts[at].TIDs
			}
			if n := len(*list); n > 0 && (*list)[n-1] == t { // each once a row
				continue
			}
			*list = append(*list, t)
			if !it.Null {
				n++
			}
		}
		if empty {
			k.others[emptyItem] = append(k.others[emptyItem], t)
		}
		if long { // which may be more than there are keys
			n = distinct(v.Str[row])
		}
		if n > 0 {
			k.rows, k.counts = append(k.rows, t), append(k.counts, n)
		}
	}
	slices.SortFunc(k.codes, func(a, b entrytree.CodeList) int { return cmp.Compare(a.Code, b.Code) })
	slices.SortFunc(k.texts, func(a, b entrytree.TextList) int { return cmp.Compare(a.Text, b.Text) })
	return k, nil
}

// distinct returns how many different texts an array has.
func distinct(array string) uint32 {
	var texts []string
	for it := value.ItemsOf(value.TextArray, array); it.Next(); {
		if !it.Null {
			texts = append(texts, it.Text)
		}
	}
	slices.Sort(texts)
	return uint32(len(slices.Compact(texts)))
}

// write writes the tree of a category, with the values of an attached column if that is not nil.
func (k *arrayKeys) write(form *entrytree.Form, ix *catalog.Index, cat category, attached *value.Vector, src *am.Source, t entrytree.Target, yield func() error) (am.RunMeta, error) {
	var a *entrytree.Attached
	if attached != nil {
		a = &entrytree.Attached{Key: &ix.Columns[0], Column: &ix.Columns[1], Values: attached, First: uint32(src.Base.Offset())}
	}
	switch {
	case cat == lengths:
		return entrytree.BuildCodes(form, k.lengths(), nil, t, yield)
	case cat != normalKey:
		return entrytree.BuildCodes(form, []entrytree.CodeList{{TIDs: k.others[cat]}}, a, t, yield)
	case ix.Columns[0].Type == value.Int8:
		return entrytree.BuildCodes(form, k.codes, a, t, yield)
	}
	return entrytree.BuildTexts(form, k.texts, a, t, yield)
}

// lengths returns the rows by how many keys they have.
func (k *arrayKeys) lengths() (lists []entrytree.CodeList) {
	at := map[uint32]int{}
	for i, n := range k.counts {
		j, ok := at[n]
		if !ok {
			j = len(lists)
			at[n] = j
			lists = append(lists, entrytree.CodeList{Code: uint64(value.Int4Code(int32(n)))})
		}
		lists[j].TIDs = append(lists[j].TIDs, k.rows[i])
	}
	slices.SortFunc(lists, func(a, b entrytree.CodeList) int { return cmp.Compare(a.Code, b.Code) })
	return lists
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
