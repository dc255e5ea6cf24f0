package sortrun

// Merge2 merges two ascending inputs into dst, which is as long as both together. Equal words of a come first.
func Merge2(dst, a, b []uint64) {
	for len(a) > 0 && len(b) > 0 {
		// So many steps can't exhaust either input, and need no looking.
		n := min(len(a), len(b))
		i, j := 0, 0
		out := dst[:n]
		for k := range out {
			x, y := a[i], b[j]
			c := 0
			if y < x {
				c = 1
			}
			if y < x {
				x = y
			}
			out[k] = x
			j += c
			i += 1 - c
		}
		dst, a, b = dst[n:], a[i:], b[j:]
	}
	copy(dst[copy(dst, a):], b)
}

// Merge merges the consecutive ascending parts of a that end at ends (the last is len(a)), pairwise in passes, and
// returns the result in either a or tmp, which must be as long. It overwrites ends. yield is called between merges.
func Merge(a, tmp []uint64, ends []int, yield func() error) ([]uint64, error) {
	tmp = tmp[:len(a)]
	for len(ends) > 1 {
		from, n := 0, 0
		for i := 0; i < len(ends); i += 2 {
			if i+1 == len(ends) {
				copy(tmp[from:], a[from:ends[i]])
				ends[n] = ends[i]
			} else {
				Merge2(tmp[from:ends[i+1]], a[from:ends[i]], a[ends[i]:ends[i+1]])
				ends[n] = ends[i+1]
			}
			from = ends[n]
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

// Pair is an entry whose key and TID don't fit one word.
type Pair struct {
	Key uint64
	TID uint32
}

// MergePairs is Merge for pairs, in the order of their keys; equal keys keep the order of the parts.
func MergePairs(a, tmp []Pair, ends []int, yield func() error) ([]Pair, error) {
	tmp = tmp[:len(a)]
	for len(ends) > 1 {
		from, n := 0, 0
		for i := 0; i < len(ends); i += 2 {
			if i+1 == len(ends) {
				copy(tmp[from:], a[from:ends[i]])
				ends[n] = ends[i]
			} else {
				mergePairs2(tmp[from:ends[i+1]], a[from:ends[i]], a[ends[i]:ends[i+1]])
				ends[n] = ends[i+1]
			}
			from = ends[n]
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

func mergePairs2(dst, a, b []Pair) {
	for len(a) > 0 && len(b) > 0 {
		n := min(len(a), len(b))
		i, j := 0, 0
		out := dst[:n]
		for k := range out {
			x, y := a[i], b[j]
			c := 0
			if y.Key < x.Key {
				c = 1
			}
			if y.Key < x.Key {
				x.Key = y.Key
			}
			if c != 0 {
				x.TID = y.TID
			}
			out[k] = x
			j += c
			i += 1 - c
		}
		dst, a, b = dst[n:], a[i:], b[j:]
	}
	copy(dst[copy(dst, a):], b)
}
