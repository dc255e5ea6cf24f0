package inverted

import (
	"context"
	"iter"
	"slices"

	"wideleaf/am"
	"wideleaf/am/entrytree"
	"wideleaf/value"
)

// Ordered yields rows in the order of a column: from its tree, or from the trees of the column that it is attached to.
func (g *run) Ordered(ctx context.Context, o *am.Order) (rows iter.Seq2[am.Posting, error], ok bool) {
	if g.ix.Columns[o.Column].Type.Width() == value.Var {
		return nil, false
	}
	if o.To < 0 {
		return g.scan(func(d directory, yield func(am.Posting, error) bool) error {
			if t := d.tree(o.Column, normalKey); t != nil {
				if rows, ok := t.Ordered(ctx, &am.Order{Ranges: o.Ranges, Backward: o.Backward, To: -1}); ok {
					rows(yield)
				}
			}
			return nil
		}), true
	}
	slot := 1 + slices.Index(g.ix.Attached(o.To), o.Column)
	ks, any, ok := g.orderedKeys(o)
	if slot == 0 || !ok {
		return nil, false
	}
	return g.scan(func(d directory, yield func(am.Posting, error) bool) error {
		m := merged{back: o.Backward}
		defer m.close()
		for _, k := range ks {
			t := d.slot(o.To, slot, k.category)
			if t == nil && any {
				continue
			}
			if t == nil {
				return nil
			}
			s, err := entrytree.NewStream(ctx, t, k.key, o.Ranges, o.Backward)
			if err != nil {
				return err
			}
			m.streams = append(m.streams, s)
			m.recheck = m.recheck || k.recheck
		}
		if any {
			return m.union(yield)
		}
		return m.intersect(yield)
	}), true
}

// scan is an ordered scan by f, which returns what else goes wrong than what it yields.
func (g *run) scan(f func(d directory, yield func(am.Posting, error) bool) error) iter.Seq2[am.Posting, error] {
	return func(yield func(am.Posting, error) bool) {
		d, err := g.directory()
		if err == nil {
			err = f(d, yield)
		}
		if err != nil {
			yield(am.Posting{}, err)
		}
	}
}

// orderedKey is one key of those that an ordered scan goes through.
type orderedKey struct {
	category category
	key      *value.Ranges
	recheck  bool
}

// orderedKeysMost is how many streams an ordered scan merges at most.
const orderedKeysMost = 64

// orderedKeys returns the keys of which rows in order have all, or any one of them. ok is false for other conditions.
func (g *run) orderedKeys(o *am.Order) (ks []orderedKey, any, ok bool) {
	add := func(r value.Ranges) {
		x, recheck := prefixed(&r, g.form.Prefix)
		ks = append(ks, orderedKey{normalKey, x, recheck})
	}
	if m := o.Match; m != nil && isArray(g.ix, o.To) {
		for _, c := range m.Codes {
			add(value.Ranges{Words: []value.Interval{{Lo: c, Hi: c}}})
		}
		for _, s := range m.Texts {
			add(value.Ranges{Strings: []value.StringInterval{{Lo: s, Hi: s}}})
		}
		any = m.Op != value.Contains
		if m.Op == value.OverlapsOrNull {
			ks = append(ks, orderedKey{nullKey, &value.Ranges{Words: []value.Interval{{}}}, false})
		}
		return ks, any, !m.Not && m.Op != value.ContainedBy && (any || !m.Null) && len(ks) > 0 && len(ks) <= orderedKeysMost
	}
	if o.Cond == nil || isArray(g.ix, o.To) {
		return nil, false, false
	}
	for _, iv := range o.Cond.Words {
		if value.KeyCode(g.ix.Columns[o.To].Type, iv.Lo) != value.KeyCode(g.ix.Columns[o.To].Type, iv.Hi) {
			return nil, false, false
		}
		add(value.Ranges{Words: []value.Interval{iv}})
	}
	for _, iv := range o.Cond.Strings {
		if iv.HiInf || iv.Lo != iv.Hi {
			return nil, false, false
		}
		add(value.Ranges{Strings: []value.StringInterval{iv}})
	}
	if o.Cond.Nulls {
		add(value.Ranges{Nulls: true})
	}
	return ks, true, len(ks) > 0 && len(ks) <= orderedKeysMost
}

// merged is streams that are gone through together.
type merged struct {
	streams []*entrytree.Stream
	back    bool
	recheck bool
}

func (m *merged) close() {
	for _, s := range m.streams {
		s.Close()
	}
}

// intersect yields what is in all streams, of which there is one at least. Each goes to where the one before is.
func (m *merged) intersect(yield func(am.Posting, error) bool) error {
	p, ok, err := m.streams[0].Next()
	for ok && err == nil {
		at := p
		same := 1
		for i := 1; same < len(m.streams); i++ {
			s := m.streams[i%len(m.streams)]
			if p, ok, err = s.Seek(at); !ok || err != nil {
				return err
			}
			if p.Compare(at) == 0 {
				same++
			} else {
				at, same = p, 1
			}
		}
		at.Recheck = m.recheck
		if !yield(at, nil) {
			return nil
		}
		p, ok, err = m.streams[0].Next()
	}
	return err
}

// union yields what is in any stream, once.
func (m *merged) union(yield func(am.Posting, error) bool) error {
	heads := make([]am.Posting, len(m.streams))
	for i := 0; i < len(m.streams); {
		more, err := m.advance(heads, i)
		if err != nil {
			return err
		}
		if more {
			i++
		}
	}
	for len(m.streams) > 0 {
		next := heads[0]
		for _, p := range heads[1:len(m.streams)] {
			if c := p.Compare(next); c != 0 && c < 0 != m.back {
				next = p
			}
		}
		for i := 0; i < len(m.streams); {
			more := true
			if heads[i].Compare(next) == 0 {
				var err error
				if more, err = m.advance(heads, i); err != nil {
					return err
				}
			}
			if more {
				i++
			}
		}
		next.Recheck = m.recheck
		if !yield(next, nil) {
			return nil
		}
	}
	return nil
}

// advance makes heads[i] the next row of stream i. If there is none it takes the stream out and the last one to its place.
func (m *merged) advance(heads []am.Posting, i int) (more bool, err error) {
	p, ok, err := m.streams[i].Next()
	if ok || err != nil {
		heads[i] = p
		return ok, err
	}
	n := len(m.streams) - 1
	m.streams[i].Close()
	m.streams[i], heads[i] = m.streams[n], heads[n]
	m.streams = m.streams[:n]
	return false, nil
}
