package value

import (
	"fmt"
	"math"
)

// Similarity is how alike two arrays are, by the number of items that they have in common.
type Similarity uint8

// The similarities of arrays of a and b distinct items, n of them in common. Those of RUM.
const (
	Cosine  Similarity = iota // n / sqrt(a*b)
	Jaccard                   // n / (a+b-n)
	Overlap                   // n
)

var similarities = [...]string{Cosine: "cosine", Jaccard: "jaccard", Overlap: "overlap"}

func (s Similarity) String() string {
	if int(s) < len(similarities) {
		return similarities[s]
	}
	return fmt.Sprintf("similarity %d", s)
}

// ParseSimilarity returns the similarity of a name.
func ParseSimilarity(name string) (Similarity, bool) {
	for i, s := range similarities {
		if s == name {
			return Similarity(i), true
		}
	}
	return 0, false
}

// Like is when two arrays count as similar: when their Function is at least Threshold.
type Like struct {
	Function  Similarity
	Threshold float64 // 0 to 1
}

func (l Like) String() string { return fmt.Sprintf("%% (%s >= %v)", l.Function, l.Threshold) }

// similarity returns the similarity of arrays of a and b distinct items with n in common; 0 if there are none.
func (l Like) similarity(n, a, b int) float64 {
	if n == 0 {
		return 0
	}
	switch l.Function {
	case Jaccard:
		return float64(n) / float64(a+b-n)
	case Overlap:
		return float64(n)
	}
	return float64(n) / math.Sqrt(float64(a)*float64(b))
}

// Similarity returns how similar the items to look for and those of an array that is held as s are. NULL items don't
// count; an array without items is like none, itself included.
func (m *ArrayMatch) Similarity(s string) float64 { return m.SimilarityOf(m.common(s)) }

// SimilarityOf returns how similar the items to look for and those of an array are that has n of them among its length
// distinct ones.
func (m *ArrayMatch) SimilarityOf(n, length int) float64 {
	return m.Like.similarity(n, m.Items(), length)
}

// common returns how many distinct items an array has, NULL aside, and how many of them are to be looked for.
func (m *ArrayMatch) common(s string) (n, length int) {
	const few = 32
	var seen map[Items]bool // items by their values, once there are many
	for it := ItemsOf(m.Type, s); it.Next(); {
		if it.Null {
			continue
		}
		if length < few {
			if before(m.Type, s, &it) {
				continue
			}
		} else {
			if seen == nil {
				seen = map[Items]bool{}
				for o := ItemsOf(m.Type, s); o.Next() && len(o.rest) > len(it.rest); {
					if !o.Null {
						seen[Items{Code: o.Code, Text: o.Text}] = true
					}
				}
			}
			key := Items{Code: it.Code, Text: it.Text}
			if seen[key] {
				continue
			}
			seen[key] = true
		}
		length++
		if _, found := m.find(&it); found {
			n++
		}
	}
	return n, length
}

// before reports whether an item of an array is equal to one before it.
func before(t Type, s string, it *Items) bool {
	for o := ItemsOf(t, s); o.Next() && len(o.rest) > len(it.rest); {
		if !o.Null && o.Code == it.Code && o.Text == it.Text {
			return true
		}
	}
	return false
}
