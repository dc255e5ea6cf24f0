package value

import (
	"cmp"
	"math"
	"slices"
)

// Interval is a closed interval of codes, Lo <= Hi.
type Interval struct{ Lo, Hi uint64 }

// StringInterval is an interval of strings in byte order, its ends included unless open. Hi is ignored when HiInf.
type StringInterval struct {
	Lo, Hi         string
	LoOpen, HiOpen bool
	HiInf          bool // no upper end
}

// Ranges is the set of values of one column that satisfy a condition: every comparison, BETWEEN, IN, IS [NOT] NULL
// and any AND, OR and NOT of these over one column comes down to one. Intervals are sorted, disjoint and, for codes,
// not adjacent. Words serves fixed-width types, Strings the others. The zero Ranges holds nothing.
type Ranges struct {
	Words   []Interval
	Strings []StringInterval
	Nulls   bool // NULL satisfies the condition
}

// MaxCode returns the largest code a type's values can have; its smallest is 0.
func (t Type) MaxCode() uint64 {
	switch {
	case t == Bool:
		return 1
	case t.Width() == Word32:
		return math.MaxUint32
	}
	return math.MaxUint64
}

// NotNull returns the ranges of all values of a type but NULL.
func NotNull(t Type) Ranges {
	if t.Width() == Var {
		return Ranges{Strings: []StringInterval{{HiInf: true}}}
	}
	return Ranges{Words: []Interval{{0, t.MaxCode()}}}
}

// Equal returns the ranges of the values that are equal to v, and of NULL if it is NULL.
func Equal(v Value) Ranges {
	switch {
	case v.IsNull():
		return Ranges{Nulls: true}
	case v.typ.Width() == Var:
		return Ranges{Strings: []StringInterval{{Lo: v.str, Hi: v.str}}}
	case v.typ == Float8 && KeyCode(Float8, v.code) == PosZeroCode:
		return Ranges{Words: []Interval{{NegZeroCode, PosZeroCode}}}
	}
	return Ranges{Words: []Interval{{v.code, v.code}}}
}

// Empty reports whether nothing satisfies the condition.
func (r Ranges) Empty() bool { return len(r.Words) == 0 && len(r.Strings) == 0 && !r.Nulls }

// ContainsCode reports whether a fixed-width value that is not NULL satisfies the condition.
func (r Ranges) ContainsCode(c uint64) bool {
	i, found := slices.BinarySearchFunc(r.Words, c, func(iv Interval, c uint64) int { return cmp.Compare(iv.Lo, c) })
	if found {
		return true
	}
	return i > 0 && c <= r.Words[i-1].Hi
}

// ContainsString reports whether a string satisfies the condition.
func (r Ranges) ContainsString(s string) bool {
	// The first interval that begins after s; only the one before it can hold s.
	i, _ := slices.BinarySearchFunc(r.Strings, s, func(iv StringInterval, s string) int {
		if iv.Lo < s || iv.Lo == s && !iv.LoOpen {
			return -1
		}
		return 1
	})
	return i > 0 && !r.Strings[i-1].endsBefore(s)
}

// Contains reports whether v satisfies the condition.
func (r Ranges) Contains(v Value) bool {
	switch {
	case v.IsNull():
		return r.Nulls
	case v.typ.Width() == Var:
		return r.ContainsString(v.str)
	}
	return r.ContainsCode(v.code)
}

func (iv StringInterval) endsBefore(s string) bool {
	return !iv.HiInf && (iv.Hi < s || iv.Hi == s && iv.HiOpen)
}

func (iv StringInterval) empty() bool {
	return !iv.HiInf && (iv.Lo > iv.Hi || iv.Lo == iv.Hi && (iv.LoOpen || iv.HiOpen))
}

// compareLo orders two intervals by where they begin.
func (iv StringInterval) compareLo(o StringInterval) int {
	if c := cmp.Compare(iv.Lo, o.Lo); c != 0 {
		return c
	}
	switch {
	case iv.LoOpen == o.LoOpen:
		return 0
	case iv.LoOpen:
		return 1
	}
	return -1
}

// compareHi orders two intervals by where they end.
func (iv StringInterval) compareHi(o StringInterval) int {
	switch {
	case iv.HiInf && o.HiInf:
		return 0
	case iv.HiInf:
		return 1
	case o.HiInf:
		return -1
	}
	if c := cmp.Compare(iv.Hi, o.Hi); c != 0 {
		return c
	}
	switch {
	case iv.HiOpen == o.HiOpen:
		return 0
	case iv.HiOpen:
		return -1
	}
	return 1
}

// OfIntervals returns the ranges of intervals in any order, overlapping or empty (Lo > Hi) ones included.
func OfIntervals(ivs ...Interval) Ranges {
	ivs = slices.DeleteFunc(slices.Clone(ivs), func(iv Interval) bool { return iv.Lo > iv.Hi })
	slices.SortFunc(ivs, func(a, b Interval) int { return cmp.Compare(a.Lo, b.Lo) })
	var out []Interval
	for _, iv := range ivs {
		if n := len(out); n > 0 && (out[n-1].Hi == math.MaxUint64 || iv.Lo <= out[n-1].Hi+1) {
			out[n-1].Hi = max(out[n-1].Hi, iv.Hi)
			continue
		}
		out = append(out, iv)
	}
	return Ranges{Words: out}
}

// OfStringIntervals is OfIntervals for strings.
func OfStringIntervals(ivs ...StringInterval) Ranges {
	ivs = slices.DeleteFunc(slices.Clone(ivs), StringInterval.empty)
	slices.SortFunc(ivs, StringInterval.compareLo)
	var out []StringInterval
	for _, iv := range ivs {
		if n := len(out); n > 0 && !out[n-1].gapBefore(iv) {
			if out[n-1].compareHi(iv) < 0 {
				out[n-1].Hi, out[n-1].HiOpen, out[n-1].HiInf = iv.Hi, iv.HiOpen, iv.HiInf
			}
			continue
		}
		out = append(out, iv)
	}
	return Ranges{Strings: out}
}

// gapBefore reports whether some string lies after iv and before o, which begins no earlier than iv.
func (iv StringInterval) gapBefore(o StringInterval) bool {
	if iv.HiInf || iv.Hi > o.Lo {
		return false
	}
	return iv.Hi < o.Lo || iv.HiOpen && o.LoOpen
}

// Union returns the values that are in either.
func (r Ranges) Union(o Ranges) Ranges {
	var u Ranges
	if len(r.Words)+len(o.Words) > 0 {
		u = OfIntervals(slices.Concat(r.Words, o.Words)...)
	} else {
		u = OfStringIntervals(slices.Concat(r.Strings, o.Strings)...)
	}
	u.Nulls = r.Nulls || o.Nulls
	return u
}

// Intersect returns the values that are in both.
func (r Ranges) Intersect(o Ranges) Ranges {
	x := Ranges{Nulls: r.Nulls && o.Nulls}
	for i, j := 0, 0; i < len(r.Words) && j < len(o.Words); {
		a, b := r.Words[i], o.Words[j]
		if lo, hi := max(a.Lo, b.Lo), min(a.Hi, b.Hi); lo <= hi {
			x.Words = append(x.Words, Interval{lo, hi})
		}
		if a.Hi < b.Hi {
			i++
		} else {
			j++
		}
	}
	for i, j := 0, 0; i < len(r.Strings) && j < len(o.Strings); {
		a, b := r.Strings[i], o.Strings[j]
		iv := a
		if a.compareLo(b) < 0 {
			iv.Lo, iv.LoOpen = b.Lo, b.LoOpen
		}
		if a.compareHi(b) > 0 {
			iv.Hi, iv.HiOpen, iv.HiInf = b.Hi, b.HiOpen, b.HiInf
		}
		if !iv.empty() {
			x.Strings = append(x.Strings, iv)
		}
		if a.compareHi(b) < 0 {
			i++
		} else {
			j++
		}
	}
	return x
}

// Complement returns the values of type t, NULL aside, that are not in r: what NOT of a condition is satisfied by,
// since NULL satisfies neither a comparison nor its negation.
func (r Ranges) Complement(t Type) Ranges {
	if t.Width() == Var {
		var out []StringInterval
		next := StringInterval{}
		for _, iv := range r.Strings {
			gap := next
			gap.Hi, gap.HiOpen = iv.Lo, !iv.LoOpen
			if !gap.empty() {
				out = append(out, gap)
			}
			if iv.HiInf {
				return Ranges{Strings: out}
			}
			next = StringInterval{Lo: iv.Hi, LoOpen: !iv.HiOpen}
		}
		next.HiInf = true
		return Ranges{Strings: append(out, next)}
	}
	var out []Interval
	lo := uint64(0)
	for _, iv := range r.Words {
		if iv.Lo > lo {
			out = append(out, Interval{lo, iv.Lo - 1})
		}
		if iv.Hi >= t.MaxCode() {
			return Ranges{Words: out}
		}
		lo = iv.Hi + 1
	}
	return Ranges{Words: append(out, Interval{lo, t.MaxCode()})}
}
