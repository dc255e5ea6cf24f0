package query

import (
	"hash/maphash"
	"math/bits"
	"slices"

	"wideleaf/catalog"
	"wideleaf/value"
)

func constantPred(holds bool) *Pred {
	if holds {
		return &Pred{Kind: True, sum: 1}
	}
	return &Pred{Kind: False, sum: 2}
}

// column returns the Pred for a column's value to be in r.
func column(c *catalog.Column, r value.Ranges) *Pred { return columnPred(c.Attno, c.Type, r) }

func columnPred(attno int, t value.Type, r value.Ranges) *Pred {
	if r.Empty() {
		return constantPred(false)
	}
	if r.Nulls && wholeType(t, r) {
		return constantPred(true)
	}
	p := &Pred{Kind: Column, Attno: attno, Type: t, Ranges: r}
	h := mix(3, uint64(attno))
	for _, iv := range r.Words {
		h = mix(mix(h, iv.Lo), iv.Hi)
	}
	for _, iv := range r.Strings {
		h = mix(mix(h, maphash.String(seed, iv.Lo)), maphash.String(seed, iv.Hi))
	}
	if r.Nulls {
		h = mix(h, 5)
	}
	p.sum = h
	return p
}

// wholeType reports whether r has every value of the type but NULL.
func wholeType(t value.Type, r value.Ranges) bool {
	if t.Width() == value.Var {
		return len(r.Strings) == 1 && r.Strings[0].Lo == "" && !r.Strings[0].LoOpen && r.Strings[0].HiInf
	}
	return len(r.Words) == 1 && r.Words[0].Lo == 0 && r.Words[0].Hi >= t.MaxCode()
}

var seed = maphash.MakeSeed()

func mix(h, x uint64) uint64 {
	hi, lo := bits.Mul64(h^x^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	return hi ^ lo
}

// equal reports whether two Preds are the same but for the order of arguments that hashes alike.
func equal(p, q *Pred) bool {
	if p.Kind == Array && q.Kind == Array {
		return p.Attno == q.Attno && p.Match.Equal(q.Match)
	}
	return p == q || p.sum == q.sum && p.Kind == q.Kind && p.Attno == q.Attno && p.Ranges.Nulls == q.Ranges.Nulls &&
		slices.Equal(p.Ranges.Words, q.Ranges.Words) && slices.Equal(p.Ranges.Strings, q.Ranges.Strings) &&
		slices.EqualFunc(p.Args, q.Args, equal)
}

// join returns the And or Or of args in its simplest form: flat, with one term for each column, without constants and
// repeated terms. Terms stay in the order of their first use.
func join(kind Kind, args ...*Pred) *Pred {
	neutral, final := True, False
	if kind == Or {
		neutral, final = False, True
	}
	var terms []*Pred
	columns := map[int]int{}           // attno -> its place in terms
	ranges := map[int][]value.Ranges{} // attno -> what its terms ask for
	seen := map[uint64][]*Pred{}
	add := func(p *Pred) {
		if p.Kind != Column {
			if !slices.ContainsFunc(seen[p.sum], func(q *Pred) bool { return equal(p, q) }) {
				seen[p.sum] = append(seen[p.sum], p)
				terms = append(terms, p)
			}
			return
		}
		if _, ok := columns[p.Attno]; !ok {
			columns[p.Attno] = len(terms)
			terms = append(terms, p)
		}
		ranges[p.Attno] = append(ranges[p.Attno], p.Ranges)
	}
	for _, p := range args {
		switch p.Kind {
		case neutral:
		case final:
			return p
		case kind:
			for _, a := range p.Args {
				add(a)
			}
		default:
			add(p)
		}
	}
	out := terms[:0]
	for _, p := range terms {
		if p.Kind == Column && len(ranges[p.Attno]) > 1 {
			p = columnPred(p.Attno, p.Type, combine(kind, ranges[p.Attno]))
		}
		switch p.Kind {
		case neutral:
		case final:
			return p
		default:
			out = append(out, p)
		}
	}
	switch len(out) {
	case 0:
		return constantPred(neutral == True)
	case 1:
		return out[0]
	}
	h := uint64(kind)
	for _, p := range out {
		h = mix(h, p.sum)
	}
	return &Pred{Kind: kind, Args: slices.Clip(out), sum: h}
}

// combine returns the union (Or) or intersection (And) of rs. It halves, so that n terms cost n log n and not n².
func combine(kind Kind, rs []value.Ranges) value.Ranges {
	if len(rs) == 1 {
		return rs[0]
	}
	a, b := combine(kind, rs[:len(rs)/2]), combine(kind, rs[len(rs)/2:])
	if kind == Or {
		return a.Union(b)
	}
	return a.Intersect(b)
}

// negate returns where p does not hold. This is the complement of a set of rows and not NOT: a row whose value is NULL
// is in one of the two.
func negate(p *Pred) *Pred {
	switch p.Kind {
	case True, False:
		return constantPred(p.Kind == False)
	case Array:
		return join(Or, arrayPred(p.Attno, p.Type, p.Match.Complement()), columnPred(p.Attno, p.Type, value.Ranges{Nulls: true}))
	case Column:
		r := p.Ranges.Complement(p.Type)
		r.Nulls = !p.Ranges.Nulls
		return columnPred(p.Attno, p.Type, r)
	}
	args := make([]*Pred, len(p.Args))
	for i, a := range p.Args {
		args[i] = negate(a)
	}
	return join(And+Or-p.Kind, args...)
}
