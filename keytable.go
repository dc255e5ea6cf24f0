package wideleaf

import "math/bits"

// keyTable is a hash table of 64-bit hashes and a number for each, with open addressing: a tail's keys are looked up for
// every row that comes in, and Go's maps take four times as long. A hash may be in it several times.
type keyTable struct {
	hashes []uint64 // 0: free
	refs   []uint32
	n      int
	shift  int
}

const leastTable = 64

// slot is where a hash belongs; 0 is free's mark, so that it counts as 1.
func (t *keyTable) slot(hash uint64) int { return int(hash * 0x9E3779B97F4A7C15 >> t.shift) }

func mark(hash uint64) uint64 { return max(hash, 1) }

// reset empties the table and makes room for n.
func (t *keyTable) reset(n int) {
	size := max(leastTable, 1<<bits.Len(uint(n+n/2)))
	t.n = 0
	if size > len(t.hashes) || size*8 < len(t.hashes) {
		t.hashes, t.refs = make([]uint64, size), make([]uint32, size)
		t.shift = 64 - bits.Len(uint(size-1))
		return
	}
	clear(t.hashes)
}

// add adds a hash.
func (t *keyTable) add(hash uint64, ref uint32) {
	if (t.n+1)*4 > len(t.hashes)*3 {
		t.grow()
	}
	hash = mark(hash)
	i := t.slot(hash)
	for t.hashes[i] != 0 {
		i = (i + 1) & (len(t.hashes) - 1)
	}
	t.hashes[i], t.refs[i] = hash, ref
	t.n++
}

func (t *keyTable) grow() {
	old := *t
	*t = keyTable{}
	t.reset(len(old.hashes)) // twice as many places
	for i, h := range old.hashes {
		if h != 0 {
			t.add(h, old.refs[i])
		}
	}
}

// find returns the number of a hash from place `from` on, and the place to go on from; place 0 is the first. ok is false if
// there is no more.
func (t *keyTable) find(hash uint64, from int) (ref uint32, next int, ok bool) {
	if t.n == 0 {
		return 0, 0, false
	}
	hash = mark(hash)
	mask := len(t.hashes) - 1
	for i := t.slot(hash) + from; ; i++ {
		h := t.hashes[i&mask]
		from++
		if h == hash {
			return t.refs[i&mask], from, true
		}
		if h == 0 {
			return 0, 0, false
		}
	}
}
