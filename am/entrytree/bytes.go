package entrytree

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"math/bits"
	"slices"

	"wideleaf/am"
	"wideleaf/am/leaf"
	"wideleaf/am/sortrun"
	"wideleaf/catalog"
	"wideleaf/page"
	"wideleaf/tid"
	"wideleaf/value"
)

// bytesWriter writes a run of byte keys from entries in order.
type bytesWriter struct {
	tree  treeWriter
	form  *Form
	yield func() error
	page  leaf.BytesBuilder
	first child  // of the page being assembled
	head  []byte // key written first, and
	last  []byte // last
	text  []byte // keys of the next block
	ends  []int
	tids  []uint32
	work  int // bytes and entries since the last yield

	listKey []byte // the key of the TIDs in list
	list    tidList
	listed  bool // some of the key's TIDs are in lists already
}

func newBytesWriter(form *Form, t Target, yield func() error) *bytesWriter {
	f := &bytesWriter{tree: newTreeWriter(form, t, true), form: form, yield: yield}
	f.page.Reset()
	return f
}

func (f *bytesWriter) add(key []byte, t uint32) error {
	if f.form.Postings {
		return f.addListed(key, t)
	}
	return f.addPlain(key, t)
}

func (f *bytesWriter) addPlain(key []byte, t uint32) error {
	f.text = append(f.text, key...)
	f.ends = append(f.ends, len(f.text))
	f.tids = append(f.tids, t)
	if len(f.tids) == leaf.BytesBlockEntries || len(f.text) >= leaf.BytesBlockBytes {
		return f.block()
	}
	return nil
}

func (f *bytesWriter) block() error {
	n := len(f.tids)
	if n == 0 {
		return nil
	}
	if !f.page.Add(f.text, f.ends, f.tids) {
		if err := f.endPage(); err != nil {
			return err
		}
		f.page.Add(f.text, f.ends, f.tids)
	}
	if f.page.Entries() == n {
		if f.tree.total == 0 {
			f.head = append(f.head[:0], f.text[:f.ends[0]]...)
		}
		f.first = child{sep: separator(f.last, f.text[:f.ends[0]])}
	}
	from := 0
	if n > 1 {
		from = f.ends[n-2]
	}
	f.last = append(f.last[:0], f.text[from:]...)
	f.work += len(f.text) + 32*n
	f.text, f.ends, f.tids = f.text[:0], f.ends[:0], f.tids[:0]
	if f.work < 64<<10 {
		return nil
	}
	f.work = 0
	return f.yield()
}

// separator returns the shortest string that is above last, unless first equals it, and not above first. It owns its
// memory. The very first leaf, which nothing precedes, gets the empty one.
func separator(last, first []byte) []byte {
	if len(last) == 0 {
		return nil
	}
	return bytes.Clone(first[:min(leaf.Common(last, first)+1, len(first))])
}

func (f *bytesWriter) endPage() error {
	f.first.entries = uint64(f.page.Entries())
	err := f.tree.leaf(f.page.Seal(f.form.Leaf, f.tree.Owner, f.tree.block), f.first)
	f.page.Reset()
	return err
}

// end writes the leaves that are left.
func (f *bytesWriter) end() error {
	if f.form.Postings {
		if err := f.endKey(); err != nil {
			return err
		}
	}
	if err := f.block(); err != nil {
		return err
	}
	if f.page.Entries() == 0 {
		return nil
	}
	return f.endPage()
}

func (f *bytesWriter) finish() (am.RunMeta, error) {
	if err := f.end(); err != nil {
		return am.RunMeta{}, err
	}
	return f.tree.finish()
}

// buildBytes writes the run of one segment's rows. It sorts words of the first six bytes in which keys differ and the
// row's offset; what is equal in these is put right by comparing keys.
func buildBytes(form *Form, ix *catalog.Index, cols []*value.Vector, src *am.Source, t Target, yield func() error) (am.RunMeta, error) {
	rows := src.Rows
	text := make([]byte, 0, 16*rows)
	ends := make([]uint32, rows+1)
	buf := wordPool.Get().(*words)
	defer wordPool.Put(buf)
	buf.grow(rows)
	a := buf.a
	for i := range rows {
		if dead(src, i>>6)>>(i&63)&1 == 0 {
			text = appendRow(form, ix, cols, i, text)
			a = append(a, uint64(start(src)+i))
		}
		ends[i+1] = uint32(len(text))
		if n := int(ends[i+1] - ends[i]); n > form.MaxKeyBytes {
			return am.RunMeta{}, &KeyTooLongError{Method: form.Method, Index: ix.Name, Size: n, Max: form.MaxKeyBytes}
		}
		if i&1023 == 1023 {
			if err := yield(); err != nil {
				return am.RunMeta{}, err
			}
		}
	}
	key := func(off uint16) []byte {
		i := int(off) - start(src)
		return text[ends[i]:ends[i+1]]
	}
	if len(a) > 0 {
		k0 := key(uint16(a[0]))
		common := len(k0)
		for _, x := range a[1:] {
			common = leaf.Common(k0[:common], key(uint16(x)))
		}
		var diff uint64
		for i, x := range a {
			var six uint64
			for _, c := range key(uint16(x))[common:min(common+6, len(key(uint16(x))))] {
				six = six<<8 | uint64(c)
			}
			six <<= 8 * max(0, 6-(len(key(uint16(x)))-common))
			a[i] = six<<offsetBits | x
			diff |= a[i] ^ a[0]
		}
		if !sortrun.Sorted(a) {
			var err error
			if a, err = sortrun.Radix(a, buf.tmp, offsetBits, uint(bits.Len64(diff)), yield); err != nil {
				return am.RunMeta{}, err
			}
		}
		sortTies(a, offsetBits, func(x, y uint64) int { return bytes.Compare(key(uint16(x)), key(uint16(y))) })
	}
	out := newBytesWriter(form, t, yield)
	for _, x := range a {
		if err := out.add(key(uint16(x)), uint32(uint16(x))); err != nil {
			return am.RunMeta{}, err
		}
	}
	return out.finish()
}

// appendRow appends the key of row i.
func appendRow(form *Form, ix *catalog.Index, cols []*value.Vector, i int, dst []byte) []byte {
	for j := range ix.Columns {
		c, v := &ix.Columns[j], cols[j]
		switch {
		case v.IsNull(i):
			dst = append(dst, nullMark(c))
		case c.Type.Width() == value.Var:
			s := v.Str[i]
			if form.Prefix > 0 && len(s) > form.Prefix {
				s = s[:form.Prefix]
			}
			dst = appendString(append(dst, markValue), s, c.Desc)
		default:
			dst = appendCode(append(dst, markValue), c, v.Code(i))
		}
	}
	return dst
}

// bytesRun is a run of byte keys.
type bytesRun struct{ tree }

// below returns the index of the first entry of b behind the bound.
func (at bound) below(b *leaf.BytesBlock) int {
	if at.kind == atEnd {
		return b.N
	}
	return b.Lower(at.key)
}

// keyScan is the memory of a scan over byte keys.
type keyScan struct {
	page leaf.BytesPage
	tids [leaf.BlockEntries]uint32
	list []uint32 // of a posting list
	key  []byte
	text []byte
}

// matches reports whether the columns of a key from one on satisfy the conditions.
func (s *keyScan) matches(r *bytesRun, c am.Conditions, from int, key []byte) (bool, error) {
	for i := range r.ix.Columns {
		if i >= len(c) {
			break
		}
		v, rest, text, err := decodeColumn(&r.ix.Columns[i], key, s.text)
		if err != nil {
			return false, r.corrupt(r.meta.Root, "%v", err)
		}
		key, s.text = rest, text
		if i >= from && c[i] != nil && !c[i].Contains(v) {
			return false, nil
		}
	}
	return true, nil
}

// Bitmap adds the TIDs that match to b.
func (r *bytesRun) Bitmap(ctx context.Context, c am.Conditions, b *tid.Builder) (recheck bool, err error) {
	if r.meta.Entries == 0 {
		return false, nil
	}
	pl := planKeys(r.ix, c)
	var s keyScan
	rows := 0.0
	for _, x := range pl.stretches {
		lo, hi, err := r.ends(x)
		if err != nil {
			return false, err
		}
		if rows += hi.rank() - lo.rank(); rows > denseFrom && pl.filter == len(r.ix.Columns) {
			b.Dense()
		}
		err = r.pages(lo.leaf, hi.leaf, func(p []byte) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := s.page.Open(p, r.form.Leaf); err != nil {
				return err
			}
			return r.fill(b, &s, x, c, pl.filter)
		})
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

func (r *bytesRun) fill(b *tid.Builder, s *keyScan, x stretch, c am.Conditions, filter int) error {
	base := first(r.span)
	for i := range s.page.Blocks() {
		k := s.page.Block(i)
		from, to := x.lo.below(&k), x.hi.below(&k)
		if to == 0 {
			break
		}
		if from >= to {
			continue
		}
		if k.Posting && filter == len(r.ix.Columns) {
			if err := r.addList(b, k.List(), &s.list); err != nil {
				return err
			}
			continue
		}
		tids, err := r.tids(s, &k)
		if err != nil {
			return err
		}
		if filter == len(r.ix.Columns) {
			b.AddRelative(base, tids[from:to])
			continue
		}
		for j := from; j < to; j++ {
			s.key = k.Key(s.key[:0], j)
			ok, err := s.matches(r, c, filter, s.key)
			if err != nil {
				return err
			}
			if ok {
				b.Add(base + tid.TID(tids[j]))
			}
		}
	}
	return nil
}

// tids unpacks a block's TIDs and checks that they are in the run.
func (r *bytesRun) tids(s *keyScan, b *leaf.BytesBlock) ([]uint32, error) {
	if b.Posting {
		return s.list, r.listTIDs(b.List(), &s.list)
	}
	tids := b.TIDs(&s.tids)
	limit := r.limit()
	for _, t := range tids {
		if uint64(t) >= limit {
			return nil, r.corrupt(page.ParseHeader(s.page.Bytes()).Block, "TID %d is outside of the run", t)
		}
	}
	return tids, nil
}

// Estimate returns the number of entries that match, from inner pages alone. Conditions that only a look at each
// entry can answer count for a third each, PostgreSQL's guess for a range it knows nothing of.
func (r *bytesRun) Estimate(c am.Conditions) (e am.Estimate, err error) {
	e.Exact = true
	if r.meta.Entries == 0 {
		return e, nil
	}
	pl := planKeys(r.ix, c)
	exact := pl.filter == len(r.ix.Columns)
	if exact && r.meta.Levels == 1 {
		n, _, err := r.Count(c)
		return am.Estimate{Rows: float64(n), Pages: 1, Exact: true}, err
	}
	for _, x := range pl.stretches {
		if err := r.estimate(x, &e); err != nil {
			return e, err
		}
	}
	for i := pl.filter; i < len(c); i++ {
		if c[i] != nil {
			e.Rows /= 3
			e.Exact = false
		}
	}
	return e, nil
}

// Count returns the number of entries that match; ok is false if the conditions are not all in the stretches.
func (r *bytesRun) Count(c am.Conditions) (n int64, ok bool, err error) {
	if r.meta.Entries == 0 {
		return 0, true, nil
	}
	pl := planKeys(r.ix, c)
	if pl.filter < len(r.ix.Columns) {
		return 0, false, nil
	}
	var s keyScan
	for _, x := range pl.stretches {
		lo, err := r.rank(&s, x.lo)
		if err != nil {
			return 0, true, err
		}
		hi, err := r.rank(&s, x.hi)
		if err != nil {
			return 0, true, err
		}
		n += hi - lo
	}
	return n, true, nil
}

func (r *bytesRun) rank(s *keyScan, b bound) (int64, error) {
	if b.kind == atEnd {
		return int64(r.meta.Entries), nil
	}
	at, err := r.descend(b)
	if err != nil {
		return 0, err
	}
	if at.at == 0 {
		return int64(at.before), nil
	}
	ref, err := r.r.Page(at.leaf)
	if err != nil {
		return 0, err
	}
	defer ref.Release()
	if err := s.page.Open(ref.Data, r.form.Leaf); err != nil {
		return 0, err
	}
	if uint64(s.page.Entries()) != at.count {
		return 0, r.corrupt(at.leaf, "leaf has %d entries, the page above counts %d", s.page.Entries(), at.count)
	}
	_, _, before := s.page.Lower(b.key)
	return int64(at.before) + int64(before), nil
}

// keyInput is a run of byte keys being merged: its entries one by one. It keeps a copy of the current leaf.
type keyInput struct {
	*bytesRun
	delta  uint32
	leaves uint32
	next   uint32 // leaf
	block  int
	i      int
	seen   uint64
	b      leaf.BytesBlock
	s      keyScan
	data   []byte
	live   []uint32
	last   []byte
	key    []byte // of the current entry
	tid    uint32
}

// advance goes to the next entry; false at the end.
func (in *keyInput) advance() (bool, error) {
	in.i++
	for in.i >= in.b.N {
		for in.block++; in.block >= in.s.page.Blocks(); in.block = 0 {
			if in.next == in.leaves {
				if in.seen != in.meta.Entries {
					return false, in.corrupt(in.meta.Root, "run has %d entries, expected %d", in.seen, in.meta.Entries)
				}
				return false, nil
			}
			ref, err := in.r.Page(in.next)
			if err != nil {
				return false, err
			}
			in.data = append(in.data[:0], ref.Data...)
			ref.Release()
			if err := in.s.page.Open(in.data, in.form.Leaf); err != nil {
				return false, err
			}
			in.next++
		}
		in.b = in.s.page.Block(in.block)
		var err error
		if in.live, err = in.tids(&in.s, &in.b); err != nil {
			return false, err
		}
		in.i = 0
	}
	in.last, in.key = in.key, in.b.Key(in.last[:0], in.i)
	before := in.tid
	in.tid = in.live[in.i] + in.delta
	c := 1
	if in.seen++; in.seen > 1 {
		c = bytes.Compare(in.key, in.last)
	}
	if c < 0 || c == 0 && in.tid <= before {
		return false, in.corrupt(in.next-1, "entry %d of block %d is out of order", in.i, in.block)
	}
	if len(in.key) > in.form.MaxKeyBytes {
		return false, in.corrupt(in.next-1, "entry %d of block %d has a key of %d bytes", in.i, in.block, len(in.key))
	}
	return true, nil
}

// keyHeap orders inputs by their current entries. Runs are in TID order, but comparing TIDs is as simple.
type keyHeap []*keyInput

func (h keyHeap) Len() int { return len(h) }
func (h keyHeap) Less(i, j int) bool {
	c := bytes.Compare(h[i].key, h[j].key)
	return c < 0 || c == 0 && h[i].tid < h[j].tid
}
func (h keyHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *keyHeap) Push(x any)   { *h = append(*h, x.(*keyInput)) }
func (h *keyHeap) Pop() any {
	x := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return x
}

// mergeBytes merges runs of byte keys entry by entry. It takes a leaf's memory a run.
func mergeBytes(form *Form, runs []Tree, span am.Span, dead func(tid.TID) bool, t Target, yield func() error) (am.RunMeta, error) {
	var h keyHeap
	for _, r := range runs {
		b, ok := r.(*bytesRun)
		if !ok {
			return am.RunMeta{}, fmt.Errorf("byte keys can't be merged with a %T", r)
		}
		leaves, err := b.leaves()
		if err != nil {
			return am.RunMeta{}, err
		}
		in := &keyInput{bytesRun: b, delta: uint32(first(b.span) - first(span)), leaves: leaves, next: b.base, block: -1}
		in.i = -1
		more, err := in.advance()
		if err != nil {
			return am.RunMeta{}, err
		}
		if more {
			h = append(h, in)
		}
	}
	slices.SortFunc(h, func(a, b *keyInput) int { return cmp.Compare(a.span.First, b.span.First) })
	heap.Init(&h)
	out := newBytesWriter(form, t, yield)
	for len(h) > 0 {
		in := h[0]
		if dead == nil || !dead(first(span)+tid.TID(in.tid)) {
			if err := out.add(in.key, in.tid); err != nil {
				return am.RunMeta{}, err
			}
		}
		more, err := in.advance()
		switch {
		case err != nil:
			return am.RunMeta{}, err
		case more:
			heap.Fix(&h, 0)
		default:
			heap.Pop(&h)
		}
	}
	return out.finish()
}
