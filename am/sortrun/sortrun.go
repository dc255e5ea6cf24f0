// Package sortrun has the kernels that sort and merge index entries packed into 64-bit words: the key above, the TID
// below.
//
// The functions are pure apart from the memory handed to them and the pool of buffers, and may be called
// concurrently. What must never break: both are stable in the bits that they don't look at.
package sortrun

import "sync"

// digit is the width of a radix digit: 2,048 counters of three digits fit the first-level cache beside the data.
const digit = 11

// Sorted reports whether a is in ascending order.
func Sorted(a []uint64) bool {
	for len(a) > 1 { // pieces, so that random input ends early and sorted input has no branch a word
		n := min(len(a), 64)
		var down uint64
		for i := 1; i < n; i++ {
			_, b := sub(a[i], a[i-1])
			down |= b
		}
		if down != 0 {
			return false
		}
		a = a[n-1:]
	}
	return true
}

func sub(x, y uint64) (diff, borrow uint64) {
	diff = x - y
	if x < y {
		borrow = 1
	}
	return diff, borrow
}

type counters [6][1 << digit]uint32

var counterPool = sync.Pool{New: func() any { return new(counters) }}

// Radix sorts a by its bits [low, high), keeping the order of words equal in them, and returns the sorted words in
// either a or tmp, which must be as long. yield is called between passes.
func Radix(a, tmp []uint64, low, high uint, yield func() error) ([]uint64, error) {
	if len(a) < 2 || low >= high {
		return a, nil
	}
	passes := (high - low + digit - 1) / digit
	width := (high - low + passes - 1) / passes
	if len(a) < 256 {
		insertion(a, low, high)
		return a, nil
	}
	tmp = tmp[:len(a)]
	c := counterPool.Get().(*counters)
	defer counterPool.Put(c)
	for p := range passes {
		clear(c[p][:1<<width])
	}
	m, top := uint64(1)<<width-1, uint64(1)<<(high-low-(passes-1)*width)-1 // masks of the digits, and of the topmost
	if passes == 3 {
		c0, c1, c2 := &c[0], &c[1], &c[2]
		for _, x := range a {
			x >>= low & 63
			c0[x&m&(1<<digit-1)]++
			c1[x>>(width&63)&m&(1<<digit-1)]++
			c2[x>>(2*width&63)&top&(1<<digit-1)]++
		}
	} else {
		for p := range passes {
			if p == passes-1 {
				count(a, &c[p], low+p*width, top)
			} else {
				count(a, &c[p], low+p*width, m)
			}
		}
	}
	for p := range passes {
		if p == passes-1 {
			m = top
		}
		cp := &c[p]
		shift := low + p*width
		if int(cp[a[0]>>shift&m&(1<<digit-1)]) == len(a) {
			continue // the same digit everywhere
		}
		if err := yield(); err != nil {
			return nil, err
		}
		sum := uint32(0)
		for i := range cp[:m+1] {
			cp[i], sum = sum, sum+cp[i]
		}
		for _, x := range a {
			d := x >> (shift & 63) & m & (1<<digit - 1)
			at := cp[d]
			cp[d] = at + 1
			tmp[at] = x
		}
		a, tmp = tmp, a
	}
	return a, nil
}

func count(a []uint64, c *[1 << digit]uint32, shift uint, m uint64) {
	for _, x := range a {
		c[x>>(shift&63)&m&(1<<digit-1)]++
	}
}

// insertion is for inputs so short that clearing counters costs more.
func insertion(a []uint64, low, high uint) {
	m := ^uint64(0) >> (64 - (high - low))
	for i := 1; i < len(a); i++ {
		x := a[i]
		k := x >> low & m
		j := i
		for ; j > 0 && a[j-1]>>low&m > k; j-- {
			a[j] = a[j-1]
		}
		a[j] = x
	}
}
