package tuplesort

import (
	"slices"
	"sync"

	"wideleaf/am/sortrun"
)

// Memory is what batches take their memory from.
type Memory struct {
	pairs Pool[sortrun.Pair]
	texts Pool[byte]
}

// Pool keeps the memory of one sort for the next one. Its methods may be called concurrently.
type Pool[E any] struct {
	mu   sync.Mutex
	free [][]E
}

// Take returns empty memory for n entries.
func (p *Pool[E]) Take(n int) []E {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.free) - 1; i >= 0; i-- {
		if a := p.free[i]; cap(a) >= n {
			p.free = slices.Delete(p.free, i, i+1)
			return a[:0]
		}
	}
	p.free = nil // smaller ones would only add to the memory
	return make([]E, 0, n)
}

// Give takes memory back.
func (p *Pool[E]) Give(a []E) {
	if cap(a) > 0 {
		p.mu.Lock()
		p.free = append(p.free, a)
		p.mu.Unlock()
	}
}
