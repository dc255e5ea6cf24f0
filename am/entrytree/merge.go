package entrytree

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"wideleaf/am"
	"wideleaf/am/leaf"
	"wideleaf/am/sortrun"
	"wideleaf/catalog"
	"wideleaf/tid"
)

// SliceEntries is how many entries a merge aims to have in memory at a time. A merge of k runs of codes takes at most
//
//	16 x (2 x SliceEntries + k x the largest leaf's entries) bytes
//
// for them, 28 instead of 16 for codes that don't pack: 2 to 5 MB as a rule. Half as many entries would be faster in the sort but
// have the leaves on the edges of slices read more often.
const SliceEntries = 96 << 10

// Merge writes one tree of the entries of several, which have the same columns.
func Merge(form *Form, ix *catalog.Index, runs []Tree, span am.Span, dead func(tid.TID) bool, t Target, yield func() error) (am.RunMeta, error) {
	if span.End < span.First || span.End-span.First > maxSpan {
		return am.RunMeta{}, fmt.Errorf("a run can't cover segments %d to %d", span.First, span.End)
	}
	for _, r := range runs {
		if s := r.Span(); s.First < span.First || s.End > span.End {
			return am.RunMeta{}, fmt.Errorf("run of segments %d to %d is outside of the merge's %d to %d", s.First, s.End, span.First, span.End)
		}
	}
	if !fixed(ix) {
		return mergeBytes(form, runs, span, dead, t, yield)
	}
	m := merger{slices: form.Slice, span: span, dead: dead, yield: yield, shift: 16 + uint(bits.Len64(span.End-span.First-1))}
	if span.End == span.First {
		m.shift = 16
	}
	for _, r := range runs {
		f, ok := r.(*fixedRun)
		if !ok {
			return am.RunMeta{}, fmt.Errorf("codes can't be merged with a %T", r)
		}
		if f.meta.Entries > 0 {
			m.runs = append(m.runs, &input{fixedRun: f, delta: uint32(first(f.span) - first(span))})
		}
	}
	slices.SortFunc(m.runs, func(a, b *input) int { return cmp.Compare(a.span.First, b.span.First) })
	m.out = newFixedWriter(form, t, yield)
	defer m.out.free()
	m.buf = wordPool.Get().(*words)
	defer wordPool.Put(m.buf)
	if err := m.codes(); err != nil {
		return am.RunMeta{}, err
	}
	if err := m.out.beginNulls(); err != nil {
		return am.RunMeta{}, err
	}
	for _, r := range m.runs {
		if err := m.copy(r, bound{kind: atNulls}, bound{kind: atEnd}, 0); err != nil {
			return am.RunMeta{}, err
		}
		if r.seen != r.meta.Entries {
			return am.RunMeta{}, r.corrupt(r.meta.Root, "run has %d entries in order, expected %d", r.seen, r.meta.Entries)
		}
	}
	return m.out.finish()
}

// input is a run being merged.
type input struct {
	*fixedRun
	delta uint32 // what its TIDs grow by
	seen  uint64 // entries read
}

// merger merges runs of codes by slices of the key space. TIDs of different runs are disjoint and the runs are in TID
// order, so entries with equal codes keep the order of the runs.
type merger struct {
	slices uint64 // entries of a slice
	span   am.Span
	runs   []*input
	dead   func(tid.TID) bool
	yield  func() error
	out    *fixedWriter
	shift  uint // width of a TID
	buf    *words
	ends   []int
	keys   []uint64 // of the entries of a slice, in the order of runs
	tids   []uint32
	list   []uint32 // of a posting list
	kept   []uint32 // of these, the live ones
	page   leaf.Page
	block  struct {
		keys [leaf.BlockEntries]uint64
		tids [leaf.BlockEntries]uint32
	}
}

// codes merges all entries but the NULLs.
func (m *merger) codes() error {
	lo, hi, some := uint64(math.MaxUint64), uint64(0), false
	for _, r := range m.runs {
		l, h, ok, err := r.extremes()
		if err != nil {
			return err
		}
		if ok {
			lo, hi, some = min(lo, l), max(hi, h), true
		}
	}
	if !some {
		return nil
	}
	s, err := newSplitter(m.runs, m.slices)
	if err != nil {
		return err
	}
	for from := lo; ; {
		last, heavy, err := s.next(from)
		if err != nil {
			return err
		}
		last = min(last, hi)
		if heavy {
			for _, r := range m.runs {
				if err = m.copy(r, bound{code: from}, after(from), from); err != nil {
					return err
				}
			}
		} else if err = m.slice(from, last); err != nil {
			return err
		}
		if last == hi {
			return nil
		}
		from = last + 1
	}
}

// slice merges the entries with codes from lo to hi.
func (m *merger) slice(lo, hi uint64) error {
	if uint(bits.Len64(hi-lo))+m.shift > 64 {
		return m.sliceCut(lo, hi)
	}
	a := m.buf.a[:0]
	m.ends = m.ends[:0]
	for _, r := range m.runs {
		n := len(a)
		form := leaf.Packing{Base: lo, Span: hi - lo, Shift: m.shift, Delta: r.delta, Limit: r.limit()}
		good := true
		err := m.read(r, bound{code: lo}, after(hi), func(b *leaf.Block, from, to int) error {
			if b.Posting {
				if err := r.listTIDs(b.List(), &m.list); err != nil {
					return err
				}
				for _, t := range m.list {
					a = append(a, (b.Base-lo)<<m.shift|uint64(t+r.delta))
				}
				return nil
			}
			var ok bool
			a, ok = b.Packed(a, from, to, &form)
			good = good && ok
			return nil
		})
		if err != nil {
			return err
		}
		if !good || !sortrun.Sorted(a[n:]) {
			return r.corrupt(r.meta.Root, "entries with codes from %#x to %#x are out of order or of the run", lo, hi)
		}
		if m.dead != nil {
			kept := a[:n]
			mask := uint64(1)<<m.shift - 1
			for _, x := range a[n:] {
				if !m.dead(first(m.span) + tid.TID(x&mask)) {
					kept = append(kept, x)
				}
			}
			a = kept
		}
		if len(a) > n {
			m.ends = append(m.ends, len(a))
		}
		if err := m.yield(); err != nil {
			return err
		}
	}
	m.buf.a = a
	if cap(m.buf.tmp) < len(a) {
		m.buf.tmp = make([]uint64, cap(a))
	}
	sorted, err := sortrun.Merge(a, m.buf.tmp[:len(a)], m.ends, m.yield)
	if err != nil {
		return err
	}
	return m.out.packed(sorted, lo, m.shift)
}

// sliceCut is slice where code and TID don't fit one word. Instead of the TID the word has the entry's number in the
// slice, and of the code the upper part; entries that are equal in it are put right afterwards.
func (m *merger) sliceCut(lo, hi uint64) error {
	m.keys, m.tids = m.keys[:0], m.tids[:0]
	m.ends = m.ends[:0]
	for _, r := range m.runs {
		n := len(m.keys)
		last, lastTID := lo, int64(-1)
		disorder := func() error {
			return r.corrupt(r.meta.Root, "entries with codes from %#x to %#x are out of order", lo, hi)
		}
		err := m.read(r, bound{code: lo}, after(hi), func(b *leaf.Block, from, to int) error {
			if b.Posting {
				first, end, err := m.listed(r, b)
				if err != nil {
					return err
				}
				if b.Base < last || b.Base == last && first <= lastTID {
					return disorder()
				}
				last, lastTID = b.Base, end
				for _, t := range m.kept {
					m.keys, m.tids = append(m.keys, b.Base), append(m.tids, t)
				}
				return nil
			}
			tids := b.TIDs(&m.block.tids)
			if !b.Within(tids, r.limit()) {
				return r.strayTID()
			}
			for i, k := range b.Keys(&m.block.keys)[from:to] {
				t := tids[from+i] + r.delta
				if k < last || k > hi || k == last && int64(t) <= lastTID {
					return disorder()
				}
				last, lastTID = k, int64(t)
				if m.dead != nil && m.dead(first(m.span)+tid.TID(t)) {
					continue
				}
				m.keys, m.tids = append(m.keys, k), append(m.tids, t)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if len(m.keys) > n {
			m.ends = append(m.ends, len(m.keys))
		}
		if err := m.yield(); err != nil {
			return err
		}
	}
	m.buf.grow(len(m.keys))
	number := uint(bits.Len(uint(len(m.keys))))
	cut := max(uint(bits.Len64(hi-lo))+number, 64) - 64
	a := m.buf.a[:len(m.keys)]
	for i, k := range m.keys {
		a[i] = (k-lo)>>(cut&63)<<(number&63) | uint64(i)
	}
	sorted, err := sortrun.Merge(a, m.buf.tmp, m.ends, m.yield)
	if err != nil {
		return err
	}
	mask := uint64(1)<<number - 1
	if cut > 0 {
		sortTies(sorted, number, func(x, y uint64) int { return cmp.Compare(m.keys[x&mask], m.keys[y&mask]) })
	}
	return m.out.rows(sorted, func(x uint64) (uint64, uint32) { x &= mask; return m.keys[x], m.tids[x] })
}

// copy copies a run's entries of one code, or its NULLs.
func (m *merger) copy(r *input, lo, hi bound, code uint64) error {
	last := int64(-1)
	return m.read(r, lo, hi, func(b *leaf.Block, from, to int) error {
		if b.Posting {
			first, end, err := m.listed(r, b)
			if err != nil {
				return err
			}
			if first <= last {
				return r.unordered()
			}
			last = end
			return m.out.same(code, m.kept)
		}
		n := 0
		tids := b.TIDs(&m.block.tids)
		if !b.Within(tids, r.limit()) {
			return r.strayTID()
		}
		for _, t := range tids[from:to] {
			t += r.delta
			if int64(t) <= last {
				return r.unordered()
			}
			if last = int64(t); m.dead == nil || !m.dead(first(m.span)+tid.TID(t)) {
				m.block.tids[n] = t
				n++
			}
		}
		return m.out.same(code, m.block.tids[:n])
	})
}

// listed sets kept to the live TIDs of a posting list, whose TIDs must ascend, and returns the first and the last one of all.
func (m *merger) listed(r *input, b *leaf.Block) (begin, end int64, err error) {
	m.kept = m.kept[:0]
	if err := r.listTIDs(b.List(), &m.list); err != nil {
		return 0, 0, err
	}
	begin, end = -1, -1
	for _, t := range m.list {
		if t += r.delta; int64(t) <= end {
			return 0, 0, r.unordered()
		}
		if end = int64(t); begin < 0 {
			begin = end
		}
		if m.dead == nil || !m.dead(first(m.span)+tid.TID(t)) {
			m.kept = append(m.kept, t)
		}
	}
	return begin, end, nil
}

// read calls f for the entries of a run between two bounds, by block: the entries [from, to) of b.
func (m *merger) read(r *input, lo, hi bound, f func(b *leaf.Block, from, to int) error) error {
	begin, end, err := r.ends(stretch{lo, hi})
	if err != nil {
		return err
	}
	return r.pages(begin.leaf, end.leaf, func(p []byte) error {
		if err := m.page.Open(p, r.form.Leaf); err != nil {
			return err
		}
		for i := range m.page.Blocks() {
			b := m.page.Block(i)
			from, to := lo.in(&b), hi.in(&b)
			if from >= to {
				continue
			}
			r.seen += uint64(to - from)
			if err := f(&b, from, to); err != nil {
				return err
			}
		}
		return nil
	})
}

func (r *input) unordered() error {
	return r.corrupt(r.meta.Root, "the TIDs of one key are out of order")
}

func (r *input) strayTID() error {
	return r.corrupt(r.meta.Root, "an entry's TID is outside of the run")
}

// in returns the index of the first entry of b behind the bound.
func (at bound) in(b *leaf.Block) int {
	switch {
	case at.kind == atEnd:
		return b.N
	case b.Null:
		return 0
	case at.kind == atNulls:
		return b.N
	case b.Last() < at.code:
		return b.N
	}
	return b.Lower(at.code)
}

// splitter cuts the key space into slices by the first codes of the runs' leaves, which it walks in order.
type splitter struct {
	entries uint64 // in a slice
	heads   []*leafWalk
	begun   uint64 // code that the last leaf taken begins with, and
	same    uint64 // how many entries the leaves have that begin with it
}

// leafWalk yields a run's leaves from inner pages: their first codes and counts.
type leafWalk struct {
	t     *tree
	in    *inner
	block uint32
	i     int
}

func newSplitter(runs []*input, entries uint64) (*splitter, error) {
	s := &splitter{entries: entries}
	for _, r := range runs {
		if r.meta.Levels < 2 {
			continue // one leaf more or less makes no slice too large
		}
		n, err := r.leaves()
		if err != nil {
			return nil, err
		}
		w := &leafWalk{t: &r.tree, block: n}
		if w.in, err = w.t.decoded(n); err != nil {
			return nil, err
		}
		s.heads = append(s.heads, w)
	}
	return s, nil
}

// head returns the code that the next leaf begins with, and false at the end of the codes.
func (w *leafWalk) head() (uint64, bool) {
	if w.in == nil || w.i >= len(w.in.codes) {
		return 0, false
	}
	return w.in.codes[w.i], true
}

// step goes to the next leaf. Inner pages of one level follow each other.
func (w *leafWalk) step() error {
	w.i++
	if w.i < w.in.children() {
		return nil
	}
	w.i = 0
	w.block++
	if w.block > w.t.meta.Root {
		w.in = nil
		return nil
	}
	in, err := w.t.decoded(w.block)
	if err != nil {
		return err
	}
	if in.level != 1 {
		in = nil
	}
	w.in = in
	return nil
}

// least returns the leaf that begins with the least code among those not yet taken, or nil.
func (s *splitter) least() (least *leafWalk, code uint64) {
	for _, w := range s.heads {
		if c, ok := w.head(); ok && (least == nil || c < code) {
			least, code = w, c
		}
	}
	return least, code
}

// next returns the last code of the slice that begins with code from. heavy says that so many entries have that
// one code that they, a slice of their own, must be copied instead of merged.
func (s *splitter) next(from uint64) (last uint64, heavy bool, err error) {
	n := uint64(0)
	for {
		least, code := s.least()
		switch {
		case s.begun == from && s.same >= s.entries && (least == nil || code > from):
			return from, true, nil
		case least == nil:
			return math.MaxUint64, false, nil
		case n >= s.entries && code > from:
			return code - 1, false, nil
		}
		if code != s.begun {
			s.begun, s.same = code, 0
		}
		n += least.in.count(least.i)
		s.same += least.in.count(least.i)
		if err := least.step(); err != nil {
			return 0, false, err
		}
	}
}
