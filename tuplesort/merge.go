package tuplesort

import (
	"slices"
	"sort"
	"sync"

	"wideleaf/am/leaf"
	"wideleaf/page"
)

// Cuts returns where slices of about n entries of the runs begin, the first one excepted.
func Cuts(runs []Run, n int) []Entry {
	type sample struct {
		e Entry
		n int
	}
	var samples []sample
	for i := range runs {
		r := &runs[i]
		if r.tape != nil {
			for _, e := range r.firsts {
				samples = append(samples, sample{e, r.n / len(r.firsts)})
			}
			continue
		}
		step := max(leaf.BytesBlockEntries, len(r.pairs)/4096)
		for at := 0; at < len(r.pairs); at += step {
			samples = append(samples, sample{r.entry(at), min(step, len(r.pairs)-at)})
		}
	}
	slices.SortFunc(samples, func(x, y sample) int { return x.e.Compare(y.e) })
	var out []Entry
	sum := 0
	for _, x := range samples {
		if sum > 0 && sum+x.n > n {
			out = append(out, x.e)
			sum = 0
		}
		sum += x.n
	}
	return out
}

// Merger merges runs, entry by entry through a loser tree: a comparison of keys costs more than the steps of the tree. It
// belongs to one goroutine; several may merge the same runs.
type Merger struct {
	Runs  []Run
	Yield func() error // called between small pieces of work; an error ends it
	in    []cursor
}

// Merge calls f with the entries from lo on up to, not including, hi (nil: no limit), in order. What it is given is valid until
// the next call. An error of f ends it.
func (m *Merger) Merge(lo, hi *Entry, f func(Entry) error) error {
	if m.in == nil {
		m.in = make([]cursor, 0, len(m.Runs))
	}
	in := m.in[:0]
	for i := range m.Runs {
		in = append(in, cursor{r: &m.Runs[i], hi: hi})
		c := &in[len(in)-1]
		if err := c.begin(lo); err != nil {
			return err
		}
		if c.done {
			in = in[:len(in)-1]
		}
	}
	if len(in) == 0 {
		return nil
	}
	tree := newLoserTree(len(in), func(i, j int) bool {
		a, b := &in[i], &in[j]
		if a.done || b.done {
			return !a.done
		}
		if a.prefix != b.prefix {
			return a.prefix < b.prefix
		}
		return a.cur.Compare(b.cur) < 0
	})
	for n := 1; ; n++ {
		c := &in[tree.winner()]
		if c.done {
			return nil
		}
		if err := f(c.cur); err != nil {
			return err
		}
		if err := c.next(); err != nil {
			return err
		}
		tree.fix()
		if n&511 == 0 {
			if err := m.Yield(); err != nil {
				return err
			}
		}
	}
}

// cursor goes through a run's entries below a bound.
type cursor struct {
	r      *Run
	hi     *Entry
	done   bool
	cur    Entry
	prefix uint64 // of cur.Key

	i     int // next entry of the run in memory, or of the block
	page  int // next page
	block int // next block of the page
	buf   *[page.Size]byte
	leaf  leaf.BytesPage
	b     leaf.BytesBlock
	tids  [leaf.BlockEntries]uint32
	key   []byte
}

// begin goes to the first entry from lo on.
func (c *cursor) begin(lo *Entry) error {
	r := c.r
	if r.tape == nil {
		if lo != nil {
			c.i = sort.Search(len(r.pairs), func(i int) bool { return r.entry(i).Compare(*lo) >= 0 })
		}
		return c.next()
	}
	if lo != nil {
		c.page = max(sort.Search(len(r.firsts), func(i int) bool { return r.firsts[i].Compare(*lo) >= 0 }), 1) - 1
	}
	if c.hi != nil && r.firsts[c.page].Compare(*c.hi) >= 0 {
		c.done = true
		return nil
	}
	c.buf = pageBuffers.Get().(*[page.Size]byte)
	for {
		if err := c.next(); err != nil || c.done || lo == nil || c.cur.Compare(*lo) >= 0 {
			return err
		}
	}
}

var pageBuffers = sync.Pool{New: func() any { return new([page.Size]byte) }}

// next goes to the next entry.
func (c *cursor) next() error {
	r := c.r
	if r.tape == nil {
		if c.i == len(r.pairs) {
			c.done = true
			return nil
		}
		c.cur = r.entry(c.i)
		c.i++
	} else {
		for c.i >= c.b.N {
			if c.block >= c.leaf.Blocks() {
				if c.page == len(r.places) {
					c.end()
					return nil
				}
				p, err := r.tape.Read(r.places[c.page], c.buf, r.owner, uint32(c.page))
				if err != nil {
					return err
				}
				if err := c.leaf.Open(p, page.KindBtreeLeaf); err != nil {
					return err
				}
				c.page++
				c.block = 0
			}
			c.b = c.leaf.Block(c.block)
			c.b.TIDs(&c.tids)
			c.block++
			c.i = 0
		}
		c.key = c.b.Key(c.key[:0], c.i)
		c.cur = Entry{c.key, c.tids[c.i]}
		c.i++
	}
	if c.hi != nil && c.cur.Compare(*c.hi) >= 0 {
		c.end()
		return nil
	}
	c.prefix = prefix(c.cur.Key)
	return nil
}

func (c *cursor) end() {
	c.done = true
	if c.buf != nil {
		pageBuffers.Put(c.buf)
		c.buf = nil
	}
}
