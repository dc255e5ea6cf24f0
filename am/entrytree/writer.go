package entrytree

import (
	"encoding/binary"
	"sync"

	"wideleaf/am"
	"wideleaf/am/leaf"
	"wideleaf/page"
)

// treeWriter writes the pages of a run. What it keeps of a leaf until the end, one child, is the only memory of a
// merge that grows with the run: about 48 bytes a leaf of some 1,600 entries.
type treeWriter struct {
	Target
	kind  page.Kind // of inner pages
	bytes bool
	block uint32  // next
	level []child // pages of the level that is being written
	total uint64
	nulls uint64
}

func newTreeWriter(form *Form, t Target, bytes bool) treeWriter {
	return treeWriter{Target: t, kind: form.Inner, bytes: bytes, block: t.First}
}

// child is what an inner page says about a page below it.
type child struct {
	code    uint64
	null    bool   // it begins with NULL
	sep     []byte // bytes form
	entries uint64
}

// leaf writes the next leaf.
func (t *treeWriter) leaf(p []byte, c child) error {
	t.total += c.entries
	t.level = append(t.level, c)
	t.block++
	return t.Writer.WritePage(p)
}

// finish writes the inner levels.
func (t *treeWriter) finish() (am.RunMeta, error) {
	if len(t.level) == 0 {
		return am.RunMeta{}, nil
	}
	meta := am.RunMeta{Levels: 1, Entries: t.total, Nulls: t.nulls, Rows: t.total}
	var buf [page.Size]byte
	for first := t.First; len(t.level) > 1; meta.Levels++ {
		below := t.level
		start := t.block
		var above []child
		for len(below) > 0 {
			p, n, c := t.inner(buf[:], below, first, meta.Levels)
			if err := t.Writer.WritePage(p); err != nil {
				return am.RunMeta{}, err
			}
			above = append(above, c)
			below = below[n:]
			first += uint32(n)
			t.block++
		}
		t.level, first = above, start
	}
	meta.Blocks, meta.Root = t.block, t.block-1
	return meta, nil
}

// inner makes one inner page over as many of the children as fit, and returns how many.
func (t *treeWriter) inner(buf []byte, below []child, first, level uint32) (p []byte, n int, c child) {
	c = child{code: below[0].code, null: below[0].null, sep: below[0].sep}
	size, codes := innerHead, 0
	for _, b := range below {
		s := fixedChild
		if t.bytes {
			s = bytesChild + len(b.sep)
		}
		if size+s > page.Size {
			break
		}
		size += s
		n++
		c.entries += b.entries
		if !t.bytes && !b.null {
			codes++
		}
	}
	p = buf[:size]
	binary.LittleEndian.PutUint32(p[page.HeaderSize:], first)
	binary.LittleEndian.PutUint32(p[page.HeaderSize+4:], uint32(codes))
	flags := uint8(level << 1)
	body := p[innerHead:]
	var counts []byte
	if t.bytes {
		flags |= flagBytes
		counts = body[2*n:]
		text := body[bytesChild*n:]
		end := 0
		for i, b := range below[:n] {
			end += copy(text[end:], b.sep)
			binary.LittleEndian.PutUint16(body[2*i:], uint16(end))
		}
	} else {
		counts = body[8*n:]
		for i, b := range below[:n] {
			binary.LittleEndian.PutUint64(body[8*i:], b.code)
		}
	}
	for i, b := range below[:n] { // a run has at most 2^32 entries, one of several children fewer
		binary.LittleEndian.PutUint32(counts[4*i:], uint32(b.entries))
	}
	page.Seal(p, page.Header{Kind: t.kind, Flags: flags, Reserved: uint16(n), Owner: t.Owner, Block: t.block})
	return p, n, c
}

// staged is how many entries a fixedWriter gathers before it packs them: some 0.1 ms of work.
const staged = 8192

// fixedWriter writes a run of codes from entries in order: codes first, then NULLs.
type fixedWriter struct {
	tree  treeWriter
	form  *Form
	yield func() error
	page  leaf.Builder
	first child // of the page being assembled
	nulls bool  // the entries staged, and all to come, are NULL
	n     int
	keys  [staged]uint64
	tids  [staged]uint32

	listKey uint64 // the key of the TIDs in list
	list    tidList
}

var fixedWriters = sync.Pool{New: func() any { return new(fixedWriter) }}

func newFixedWriter(form *Form, t Target, yield func() error) *fixedWriter {
	f := fixedWriters.Get().(*fixedWriter)
	f.tree = newTreeWriter(form, t, false)
	f.form, f.yield, f.n, f.nulls = form, yield, 0, false
	f.page.Reset()
	f.list.tids = f.list.tids[:0]
	return f
}

// free gives the writer's memory back.
func (f *fixedWriter) free() {
	f.tree, f.form, f.yield = treeWriter{}, nil, nil
	fixedWriters.Put(f)
}

// packed adds entries as (code-base)<<shift | TID.
func (f *fixedWriter) packed(a []uint64, base uint64, shift uint) error {
	if f.form.Postings {
		return f.packedLists(a, base, shift)
	}
	return f.plain(a, base, shift)
}

// plain is packed without posting lists.
func (f *fixedWriter) plain(a []uint64, base uint64, shift uint) error {
	// What an earlier call left, less than a block, is filled up to one.
	if err := f.blocks(leaf.BlockEntries); err != nil {
		return err
	}
	if f.n > 0 {
		n := min(len(a), leaf.BlockEntries-f.n)
		f.stage(a[:n], base, shift)
		a = a[n:]
		if len(a) == 0 {
			return nil
		}
		if err := f.blocks(1); err != nil {
			return err
		}
	}
	for work := 0; len(a) >= leaf.BlockEntries; work++ {
		n := f.page.AddPacked(a, base, shift)
		if n == 0 {
			if err := f.endPage(); err != nil {
				return err
			}
			continue
		}
		if f.page.Entries() == n {
			f.first = child{code: base + a[0]>>(shift&63)}
		}
		a = a[n:]
		if work == staged/leaf.BlockEntries {
			work = 0
			if err := f.yield(); err != nil {
				return err
			}
		}
	}
	f.stage(a, base, shift)
	return nil
}

// stage stages packed entries, for which there must be room.
func (f *fixedWriter) stage(a []uint64, base uint64, shift uint) {
	keys, tids := f.keys[f.n:], f.tids[f.n:]
	for i, x := range a {
		keys[i], tids[i] = base+x>>(shift&63), uint32(x)&uint32(1<<shift-1)
	}
	f.n += len(a)
}

// rows adds the entries that words stand for.
func (f *fixedWriter) rows(a []uint64, entry func(x uint64) (code uint64, t uint32)) error {
	for len(a) > 0 {
		n := min(len(a), staged-f.n)
		keys, tids := f.keys[f.n:f.n+n], f.tids[f.n:f.n+n]
		for i, x := range a[:n] {
			keys[i], tids[i] = entry(x)
		}
		a = a[n:]
		if err := f.staged(n); err != nil {
			return err
		}
	}
	return nil
}

// same adds entries that all have one code.
func (f *fixedWriter) same(code uint64, tids []uint32) error {
	for len(tids) > 0 {
		n := min(len(tids), staged-f.n)
		copy(f.tids[f.n:], tids[:n])
		for i := f.n; i < f.n+n; i++ {
			f.keys[i] = code
		}
		tids = tids[n:]
		if err := f.staged(n); err != nil {
			return err
		}
	}
	return nil
}

// entries adds entries by code and TID.
func (f *fixedWriter) entries(codes []uint64, tids []uint32) error {
	for len(codes) > 0 {
		n := min(len(codes), staged-f.n)
		copy(f.keys[f.n:], codes[:n])
		copy(f.tids[f.n:], tids[:n])
		codes, tids = codes[n:], tids[n:]
		if err := f.staged(n); err != nil {
			return err
		}
	}
	return nil
}

// beginNulls ends the codes: what follows, added by same, is NULL.
func (f *fixedWriter) beginNulls() error {
	if err := f.blocks(1); err != nil {
		return err
	}
	if err := f.cutList(true); err != nil {
		return err
	}
	f.nulls = true
	return nil
}

// staged takes note of n more entries and packs them when the stage is full.
func (f *fixedWriter) staged(n int) error {
	f.n += n
	if f.nulls {
		f.tree.nulls += uint64(n)
	}
	if f.n < staged {
		return nil
	}
	if err := f.blocks(leaf.BlockEntries); err != nil {
		return err
	}
	return f.yield()
}

// blocks packs the staged entries while there are at least so many, and moves the rest to the front.
func (f *fixedWriter) blocks(least int) error {
	at, end := 0, 0 // what comes before the next posting list
	for f.n-at >= least {
		if at == end {
			end = f.n
			if f.form.Postings {
				var err error
				if at, end, err = f.stagedLists(at); err != nil {
					return err
				}
				if end == f.n && f.n-at < least {
					break
				}
			}
		}
		n := f.page.Add(f.keys[at:end], f.tids[at:end], f.nulls)
		if n == 0 {
			if err := f.endPage(); err != nil {
				return err
			}
			continue
		}
		if f.page.Entries() == n {
			f.first = child{code: f.keys[at], null: f.nulls}
		}
		at += n
	}
	copy(f.keys[:], f.keys[at:f.n])
	copy(f.tids[:], f.tids[at:f.n])
	f.n -= at
	return nil
}

func (f *fixedWriter) endPage() error {
	f.first.entries = uint64(f.page.Entries())
	p := f.page.Seal(f.form.Leaf, f.tree.Owner, f.tree.block)
	err := f.tree.leaf(p, f.first)
	f.page.Reset()
	return err
}

// end writes the leaves that are left.
func (f *fixedWriter) end() error {
	if err := f.blocks(1); err != nil {
		return err
	}
	if err := f.cutList(true); err != nil {
		return err
	}
	if f.page.Entries() == 0 {
		return nil
	}
	return f.endPage()
}

// finish writes what is left and the inner levels.
func (f *fixedWriter) finish() (am.RunMeta, error) {
	if err := f.end(); err != nil {
		return am.RunMeta{}, err
	}
	return f.tree.finish()
}
