package sortrun

import "math/bits"

// cached is how many words are sorted digit by digit from the lowest on: they and as many beside them stay in the
// second-level cache. More are first dealt out by their topmost digit, into parts of about half of that, so that the main
// memory is gone through once instead of once a digit. Of 10 M random words that leaves 14 ns a word of 30.
const cached = 1 << 15

// Large sorts a as Radix does, however many they are. The result is in a. What is in order already, or in reverse order of
// the bits from low on, is noticed.
func Large(a, tmp []uint64, low, high uint, yield func() error) error {
	if Sorted(a) {
		return nil
	}
	if reverse(a, low) {
		return yield()
	}
	return large(a, tmp[:len(a)], low, high, yield)
}

func large(a, tmp []uint64, low, high uint, yield func() error) error {
	var diff uint64
	for _, x := range a {
		diff |= x ^ a[0]
	}
	if diff &= 1<<(high&63) - 1 | -(uint64(high) >> 6); diff>>(low&63) == 0 {
		return nil
	}
	high = uint(bits.Len64(diff))
	if len(a) <= cached {
		sorted, err := Radix(a, tmp, low, high, yield)
		if err == nil && &sorted[0] != &a[0] {
			copy(a, sorted)
		}
		return err
	}
	width := min(digit, high-low, uint(bits.Len(uint(len(a)/(cached/2)))))
	shift := high - width
	c := counterPool.Get().(*counters)
	defer counterPool.Put(c)
	ends := c[0][:1<<width]
	clear(ends)
	m := uint64(len(ends) - 1)
	for _, x := range a {
		ends[x>>(shift&63)&m]++
	}
	sum := uint32(0)
	for i, n := range ends {
		ends[i] = sum
		sum += n
	}
	if err := yield(); err != nil {
		return err
	}
	for _, x := range a {
		d := x >> (shift & 63) & m
		tmp[ends[d]] = x
		ends[d]++
	}
	from := 0
	for _, end := range ends {
		to := int(end)
		part, other := tmp[from:to], a[from:to]
		from = to
		switch {
		case len(part) == 0:
		case len(part) > cached:
			copy(other, part)
			if err := large(other, part, low, shift, yield); err != nil {
				return err
			}
		default:
			sorted, err := Radix(part, other, low, shift, yield)
			if err != nil {
				return err
			}
			if &sorted[0] != &other[0] {
				copy(other, sorted)
			}
			if err := yield(); err != nil {
				return err
			}
		}
	}
	return nil
}

// reverse turns a round if its bits from low on never ascend, keeping the order of words that are equal in them.
func reverse(a []uint64, low uint) bool {
	for i := 1; i < len(a); i++ {
		if a[i]>>(low&63) > a[i-1]>>(low&63) {
			return false
		}
	}
	for i, j := 0, len(a)-1; i < j; i, j = i+1, j-1 {
		a[i], a[j] = a[j], a[i]
	}
	for i := 0; i < len(a); {
		j := i + 1
		for j < len(a) && a[j]>>(low&63) == a[i]>>(low&63) {
			j++
		}
		for k, l := i, j-1; k < l; k, l = k+1, l-1 {
			a[k], a[l] = a[l], a[k]
		}
		i = j
	}
	return true
}
