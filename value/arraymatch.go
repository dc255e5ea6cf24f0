package value

import "slices"

// ArrayOp is what an ArrayMatch asks of an array's items.
type ArrayOp uint8

// The operators. NULL items equal nothing.
const (
	Contains       ArrayOp = iota // @>: all of Items are among them
	ContainedBy                   // <@: all are among Items
	Overlaps                      // &&: one is among Items
	OverlapsOrNull                // one is among Items or NULL: where x = ANY(array) isn't false
	Similar                       // %: Similarity is at least Like.Threshold
)

// ArrayMatch is a set of arrays: those for whose items Op holds, or with Not those for which it doesn't. NULL is in
// neither. It is immutable.
type ArrayMatch struct {
	Op    ArrayOp
	Not   bool
	Type  Type     // of the arrays
	Codes []uint64 // the distinct items to look for, ascending, of an int8[]
	Texts []string // the same of a text[]
	Null  bool     // NULL is among the items to look for
	Like  Like     // how Similar compares
}

// MatchArray returns the set of arrays of type t for which op holds with an array that is held as s.
func MatchArray(op ArrayOp, t Type, s string) *ArrayMatch {
	m := &ArrayMatch{Op: op, Type: t}
	for it := ItemsOf(t, s); it.Next(); {
		switch {
		case it.Null:
			m.Null = true
		case t == Int8Array:
			m.Codes = append(m.Codes, it.Code)
		default:
			m.Texts = append(m.Texts, it.Text)
		}
	}
	slices.Sort(m.Codes)
	slices.Sort(m.Texts)
	m.Codes, m.Texts = slices.Compact(m.Codes), slices.Compact(m.Texts)
	return m
}

// And returns the arrays that contain the items of both m and o, which are sets of arrays that contain items.
func (m *ArrayMatch) And(o *ArrayMatch) *ArrayMatch {
	c := *m
	c.Codes, c.Texts = slices.Concat(m.Codes, o.Codes), slices.Concat(m.Texts, o.Texts)
	c.Null = m.Null || o.Null
	slices.Sort(c.Codes)
	slices.Sort(c.Texts)
	c.Codes, c.Texts = slices.Compact(c.Codes), slices.Compact(c.Texts)
	return &c
}

// Complement returns the arrays, NULL aside, that are not in m.
func (m *ArrayMatch) Complement() *ArrayMatch {
	c := *m
	c.Not = !c.Not
	return &c
}

// Equal reports whether two matches are the same.
func (m *ArrayMatch) Equal(o *ArrayMatch) bool {
	return m.Op == o.Op && m.Not == o.Not && m.Type == o.Type && m.Null == o.Null && m.Like == o.Like &&
		slices.Equal(m.Codes, o.Codes) && slices.Equal(m.Texts, o.Texts)
}

// Items is the number of distinct items to look for, NULL aside.
func (m *ArrayMatch) Items() int { return len(m.Codes) + len(m.Texts) }

// find returns the place of an item among those to look for.
func (m *ArrayMatch) find(it *Items) (i int, found bool) {
	if it.Null {
		return 0, false
	}
	if m.Type == Int8Array {
		return slices.BinarySearch(m.Codes, it.Code)
	}
	return slices.BinarySearch(m.Texts, it.Text)
}

// Holds reports whether the array that is held as s is in the set.
func (m *ArrayMatch) Holds(s string) bool { return m.holds(s) != m.Not }

func (m *ArrayMatch) holds(s string) bool {
	it := ItemsOf(m.Type, s)
	switch m.Op {
	case Contains:
		return !m.Null && m.contained(&it)
	case ContainedBy:
		for it.Next() {
			if _, found := m.find(&it); !found {
				return false
			}
		}
		return true
	case Similar:
		common, length := m.common(s)
		return m.Items() > 0 && length > 0 && m.SimilarityOf(common, length) >= m.Like.Threshold
	}
	for it.Next() {
		if _, found := m.find(&it); found || it.Null && m.Op == OverlapsOrNull {
			return true
		}
	}
	return false
}

// contained reports whether all of Items are among it.
func (m *ArrayMatch) contained(it *Items) bool {
	var few [4]uint64
	seen, left := few[:], m.Items()
	if n := (left + 63) / 64; n > len(few) {
		seen = make([]uint64, n)
	}
	for left > 0 && it.Next() {
		if i, found := m.find(it); found && seen[i>>6]>>(i&63)&1 == 0 {
			seen[i>>6] |= 1 << (i & 63)
			left--
		}
	}
	return left == 0
}

// String returns the set in SQL's notation: "@> {a,b}", "not && {1}".
func (m *ArrayMatch) String() string {
	var b []byte
	for _, c := range m.Codes {
		b = AppendInt8Item(b, CodeInt8(c))
	}
	for _, s := range m.Texts {
		b = AppendTextItem(b, s)
	}
	if m.Null {
		b = AppendNullItem(b)
	}
	not := ""
	if m.Not {
		not = "not "
	}
	return not + [...]string{"@> ", "<@ ", "&& ", "= any or null ", m.Like.String() + " "}[m.Op] + formatArray(m.Type, string(b))
}
