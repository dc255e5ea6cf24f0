package sortrun

// Merge merges the consecutive ascending parts of a that end at ends (the last is len(a)), pairwise in passes, and
// returns the result in either a or tmp, which must be as long. It overwrites ends. yield is called between merges.
func Merge(a, tmp []uint64, ends []int, yield func() error) ([]uint64, error) {
	tmp = tmp[:len(a)]
	for len(ends) > 1 {
		from, n := 0, 0
		for i := 0; i < len(ends); i += 2 {
			to := ends[i]
			if i+1 == len(ends) {
				copy(tmp[from:to], a[from:to])
			} else {
				to = ends[i+1]
				merge2(tmp[from:to], a[from:to], ends[i]-from)
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

// cut returns how many of a's first middle elements are among the first n of the merge of a[:middle] and a[middle:].
func cut(a []uint64, middle, n int) int {
	lo, hi := max(0, n-(len(a)-middle)), min(n, middle)
	for lo < hi {
		i := int(uint(lo+hi) >> 1)
		// a[i] is among the first n unless n-i of the others come before it.
		if a[i] <= a[middle+n-i-1] {
			lo = i + 1
		} else {
			hi = i
		}
	}
	return lo
}

// merge2 merges a[:middle] and a[middle:] into dst. A step waits for the comparison of the one before it, some ten
// cycles; so the output is cut into thirds, which are merged independently in one loop.
func merge2(dst, a []uint64, middle int) {
	third := len(a) / 3
	i1 := cut(a, middle, third)
	i2 := cut(a, middle, 2*third)
	j1, j2 := middle+third-i1, middle+2*third-i2
	i, j := 0, middle
	p, q := i1, j1
	r, s := i2, j2
	d0, d1, d2 := dst[:third], dst[third:2*third], dst[2*third:]
	k := 0
	for {
		// So many steps exhaust no input, and need no looking.
		n := min(i1-i, j1-j, i2-p, j2-q, middle-r, len(a)-s)
		if n <= 0 {
			break
		}
		e0, e1, e2 := d0[k:k+n], d1[k:k+n], d2[k:k+n]
		for t := range e0 {
			x, y := a[i], a[j]
			c := 0
			if y < x {
				c = 1
			}
			e0[t] = min(x, y)
			j += c
			i += 1 - c

			x, y = a[p], a[q]
			c = 0
			if y < x {
				c = 1
			}
			e1[t] = min(x, y)
			q += c
			p += 1 - c

			x, y = a[r], a[s]
			c = 0
			if y < x {
				c = 1
			}
			e2[t] = min(x, y)
			s += c
			r += 1 - c
		}
		k += n
	}
	finish(d0[k:], a[i:i1], a[j:j1])
	finish(d1[k:], a[p:i2], a[q:j2])
	finish(d2[k:], a[r:middle], a[s:])
}

// finish is a plain merge.
func finish(dst, a, b []uint64) {
	for len(a) > 0 && len(b) > 0 {
		n := min(len(a), len(b))
		i, j := 0, 0
		out := dst[:n]
		for k := range out {
			x, y := a[i], b[j]
			c := 0
			if y < x {
				c = 1
			}
			out[k] = min(x, y)
			j += c
			i += 1 - c
		}
		dst, a, b = dst[n:], a[i:], b[j:]
	}
	copy(dst[copy(dst, a):], b)
}
