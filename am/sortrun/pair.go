package sortrun

import "math/bits"

// Pair is an entry that doesn't fit one word: entries are in order by Key, then by Val.
type Pair struct{ Key, Val uint64 }

// Less reports whether p comes before q.
func (p Pair) Less(q Pair) bool { return p.Key < q.Key || p.Key == q.Key && p.Val < q.Val }

// few is how many pairs are sorted by insertion.
const few = 32

// SortPairs sorts a by Key, keeping the order of equal ones; tmp must be as long. The result is in a. What is in order
// already, or in reverse order, is noticed.
func SortPairs(a, tmp []Pair, yield func() error) error {
	if len(a) < 2 {
		return nil
	}
	up, down := 1, 1
	for up < len(a) && a[up].Key >= a[up-1].Key {
		up++
	}
	if up == len(a) {
		return nil
	}
	for down < len(a) && a[down].Key <= a[down-1].Key {
		down++
	}
	if down == len(a) {
		reversePairs(a)
		for i := 0; i < len(a); {
			j := i + 1
			for j < len(a) && a[j].Key == a[i].Key {
				j++
			}
			reversePairs(a[i:j])
			i = j
		}
		return yield()
	}
	return sortPairs(a, tmp[:len(a)], false, yield)
}

func reversePairs(a []Pair) {
	for i, j := 0, len(a)-1; i < j; i, j = i+1, j-1 {
		a[i], a[j] = a[j], a[i]
	}
}

// sortPairs deals pairs out by the topmost digit in which they differ, and goes on with each part. The result is in a or,
// if moved, in tmp. A radix sort from the lowest digit on would take a pass for each of the six digits of a key; two deals
// leave parts of random keys that insertion ends.
func sortPairs(a, tmp []Pair, moved bool, yield func() error) error {
	var diff uint64
	if len(a) > few {
		for i := range a {
			diff |= a[i].Key ^ a[0].Key
		}
	}
	if diff == 0 {
		if len(a) <= few {
			insertPairs(a)
		}
		if moved {
			copy(tmp, a)
		}
		return nil
	}
	width := min(digit, uint(bits.Len64(diff)), max(uint(bits.Len(uint(len(a)/few))), 2))
	shift := uint(bits.Len64(diff)) - width
	c := counterPool.Get().(*counters)
	ends := c[0][:1<<width]
	clear(ends)
	m := uint64(len(ends) - 1)
	for i := range a {
		ends[a[i].Key>>(shift&63)&m]++
	}
	sum := uint32(0)
	for i, n := range ends {
		ends[i] = sum
		sum += n
	}
	for i := range a {
		d := a[i].Key >> (shift & 63) & m
		tmp[ends[d]] = a[i]
		ends[d]++
	}
	from := 0
	for _, end := range ends {
		to := int(end)
		if to > from {
			if err := sortPairs(tmp[from:to], a[from:to], !moved, yield); err != nil {
				counterPool.Put(c)
				return err
			}
			from = to
		}
	}
	counterPool.Put(c)
	if len(a) < cached/2 {
		return nil
	}
	return yield()
}

func insertPairs(a []Pair) {
	for i := 1; i < len(a); i++ {
		x := a[i]
		j := i
		for ; j > 0 && a[j-1].Key > x.Key; j-- {
			a[j] = a[j-1]
		}
		a[j] = x
	}
}

// MergePairs is Merge for pairs.
func MergePairs(a, tmp []Pair, ends []int, yield func() error) ([]Pair, error) {
	tmp = tmp[:len(a)]
	for len(ends) > 1 {
		from, n := 0, 0
		for i := 0; i < len(ends); i += 2 {
			to := ends[i]
			if i+1 == len(ends) {
				copy(tmp[from:to], a[from:to])
			} else {
				to = ends[i+1]
				mergePairs(tmp[from:to], a[from:ends[i]], a[ends[i]:to])
			}
			from, ends[n] = to, to
			n++
			if err := yield(); err != nil {
				return nil, err
			}
		}
		ends = ends[:n]
		a, tmp = tmp, a
	}
	return a, nil
}

func mergePairs(dst, a, b []Pair) {
	for len(a) > 0 && len(b) > 0 {
		if b[0].Less(a[0]) {
			dst[0], b = b[0], b[1:]
		} else {
			dst[0], a = a[0], a[1:]
		}
		dst = dst[1:]
	}
	copy(dst[copy(dst, a):], b)
}
