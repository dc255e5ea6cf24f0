package entrytree

import (
	"bytes"
	"context"
	"iter"
	"slices"

	"wideleaf/am"
	"wideleaf/am/leaf"
	"wideleaf/page"
	"wideleaf/tid"
	"wideleaf/value"
)

// view is a leaf page of either form as a walker sees it: one decoded block at a time.
type view interface {
	open(p []byte) error
	blocks() int
	// decode makes a block the current one and returns its number of entries.
	decode(block int) (int, error)
	// find returns the place of the first entry behind a bound; at the end of the page block is blocks().
	find(b bound) (block, index int)
	// before reports whether entry i of the current block lies before the bound.
	before(i int, b bound) bool
	// entry makes entry i of the current block an index entry.
	entry(i int) (am.Entry, error)
}

// walker stands on one entry of a run and goes either way. It keeps one leaf.
type walker struct {
	t      *tree
	v      view
	ctx    context.Context
	leaves uint32
	leaf   uint32
	ref    page.Ref
	have   bool
	block  int
	n, i   int // entries of the block, and the one stood on
}

func (w *walker) close() {
	if w.have {
		w.ref.Release()
	}
	w.ref, w.have = page.Ref{}, false
}

func (w *walker) hold(leaf uint32) error {
	if w.have && w.leaf == leaf {
		return nil
	}
	w.close()
	if err := w.ctx.Err(); err != nil {
		return err
	}
	ref, err := w.t.r.Page(leaf)
	if err != nil {
		return err
	}
	if err := w.v.open(ref.Data); err != nil {
		ref.Release()
		return err
	}
	w.ref, w.leaf, w.have, w.block = ref, leaf, true, -1
	return nil
}

// stand goes to an entry of the leaf that is held.
func (w *walker) stand(block, i int) (err error) {
	if block != w.block {
		w.block = block
		w.n, err = w.v.decode(block)
	}
	w.i = i
	return err
}

// seek goes to the first entry behind a bound, or to the last before it. ok is false if there is none.
func (w *walker) seek(b bound, last bool) (ok bool, err error) {
	at, err := w.t.descend(b)
	if err != nil {
		return false, err
	}
	if err := w.hold(at.leaf); err != nil {
		return false, err
	}
	block, i := w.v.find(b)
	switch {
	case last && i > 0:
		return true, w.stand(block, i-1)
	case last:
		return w.endOf(block - 1)
	case block == w.v.blocks():
		return w.beginOf(block)
	}
	return true, w.stand(block, i)
}

// beginOf goes to the first entry of a block of the leaf, or of the next leaf.
func (w *walker) beginOf(block int) (bool, error) {
	if block == w.v.blocks() {
		if w.leaf+1 >= w.leaves {
			return false, nil
		}
		if err := w.hold(w.leaf + 1); err != nil {
			return false, err
		}
		block = 0
	}
	return true, w.stand(block, 0)
}

// endOf goes to the last entry of a block of the leaf, or of the leaf before.
func (w *walker) endOf(block int) (bool, error) {
	if block < 0 {
		if w.leaf == w.t.base {
			return false, nil
		}
		if err := w.hold(w.leaf - 1); err != nil {
			return false, err
		}
		block = w.v.blocks() - 1
	}
	err := w.stand(block, 0)
	w.i = w.n - 1
	return true, err
}

// step goes to the next entry, or to the one before.
func (w *walker) step(back bool) (bool, error) {
	switch {
	case back && w.i > 0:
		w.i--
	case back:
		return w.endOf(w.block - 1)
	case w.i+1 < w.n:
		w.i++
	default:
		return w.beginOf(w.block + 1)
	}
	return true, nil
}

// walk calls visit for the entries of a stretch in leaf order, or backward. more is false when visit wants no more.
func (w *walker) walk(x stretch, back bool, visit func() (more bool, err error)) (more bool, err error) {
	from := x.lo
	if back {
		from = x.hi
	}
	ok, err := w.seek(from, back)
	for ; ok && err == nil; ok, err = w.step(back) {
		if back && w.v.before(w.i, x.lo) || !back && !w.v.before(w.i, x.hi) {
			break
		}
		if more, err := visit(); !more || err != nil {
			return false, err
		}
	}
	return err == nil, err
}

// entries returns what yields the entry stood on.
func (w *walker) entries(yield func(am.Entry, error) bool) func() (bool, error) {
	return func() (bool, error) {
		e, err := w.v.entry(w.i)
		return err == nil && yield(e, nil), err
	}
}

// all walks stretches in order. What goes wrong is returned as err, for the caller to yield.
func (w *walker) all(xs []stretch, walk func(x stretch) (more bool, err error)) (err error) {
	if w.t.meta.Entries == 0 {
		return nil
	}
	defer w.close()
	if w.leaves, err = w.t.leaves(); err != nil {
		return err
	}
	for _, x := range xs {
		if more, err := walk(x); !more || err != nil {
			return err
		}
	}
	return nil
}

// codeView is a view of the fixed form.
type codeView struct {
	r    *fixedRun
	page leaf.Page
	b    leaf.Block
	keys [leaf.BlockEntries]uint64
	few  [leaf.BlockEntries]uint32
	many []uint32 // of a posting list
	tids []uint32 // of the block
	key  []byte
	val  [1]value.Value
}

// code returns the code of entry i of the current block.
func (v *codeView) code(i int) uint64 {
	if v.b.Posting {
		return v.b.Base
	}
	return v.keys[i]
}

func (v *codeView) open(p []byte) error { return v.page.Open(p, v.r.form.Leaf) }
func (v *codeView) blocks() int         { return v.page.Blocks() }

func (v *codeView) decode(block int) (int, error) {
	v.b = v.page.Block(block)
	if v.b.Posting {
		err := v.r.listTIDs(v.b.List(), &v.many)
		v.tids = v.many
		return v.b.N, err
	}
	v.b.Keys(&v.keys)
	v.tids = v.b.TIDs(&v.few)
	if !v.b.Within(v.tids, v.r.limit()) {
		return 0, v.r.corrupt(page.ParseHeader(v.page.Bytes()).Block, "block %d has TIDs outside of the run", block)
	}
	return v.b.N, nil
}

func (v *codeView) find(b bound) (block, index int) {
	switch b.kind {
	case atEnd:
		return v.page.Blocks(), 0
	case atNulls:
		block, _ = v.page.Nulls()
		return block, 0
	}
	block, index, _ = v.page.Lower(b.code)
	return block, index
}

func (v *codeView) before(i int, b bound) bool {
	switch b.kind {
	case atEnd:
		return true
	case atNulls:
		return !v.b.Null
	}
	return !v.b.Null && v.code(i) < b.code
}

func (v *codeView) entry(i int) (am.Entry, error) {
	c := &v.r.ix.Columns[0]
	if v.b.Null {
		v.val[0] = value.Null(c.Type)
		v.key = append(v.key[:0], nullMark(c))
	} else {
		v.val[0] = value.OfCode(c.Type, v.code(i))
		v.key = appendCode(append(v.key[:0], markValue), c, v.code(i))
	}
	return am.Entry{TID: first(v.r.span) + tid.TID(v.tids[i]), Key: v.key, Values: v.val[:]}, nil
}

// Cursor yields entries in index order.
func (r *fixedRun) Cursor(ctx context.Context, c am.Conditions, backward bool) iter.Seq2[am.Entry, error] {
	return func(yield func(am.Entry, error) bool) {
		v := &codeView{r: r}
		w := &walker{t: &r.tree, v: v, ctx: ctx}
		col := &r.ix.Columns[0]
		xs := r.ordered(c)
		if backward {
			slices.Reverse(xs)
		}
		err := w.all(xs, func(x stretch) (bool, error) {
			if col.Desc && x.lo.kind == atCode {
				return w.walkGroups(v, x, !backward, yield)
			}
			return w.walk(x, backward, w.entries(yield))
		})
		if err != nil {
			yield(am.Entry{}, err)
		}
	}
}

// ordered returns the stretches of a condition in index order, codes and NULLs apart.
func (r *fixedRun) ordered(c am.Conditions) (xs []stretch) {
	nulls := stretch{bound{kind: atNulls}, bound{kind: atEnd}}
	withNulls := false
	r.stretches(c, func(x stretch) bool {
		if x.hi.kind == atEnd {
			withNulls = true
			x.hi = bound{kind: atNulls}
		}
		if x.lo.kind == atCode {
			xs = append(xs, x)
		}
		return true
	})
	col := &r.ix.Columns[0]
	if col.Desc {
		slices.Reverse(xs)
	}
	switch {
	case withNulls && col.NullsFirst:
		return append([]stretch{nulls}, xs...)
	case withNulls:
		return append(xs, nulls)
	}
	return xs
}

// walkGroups walks a stretch of a DESC column: codes one way, the TIDs of one code the other way. down is the
// codes' direction: downwards in a forward scan.
func (w *walker) walkGroups(v *codeView, x stretch, down bool, yield func(am.Entry, error) bool) (more bool, err error) {
	from := x.lo
	if down {
		from = x.hi
	}
	ok, err := w.seek(from, down)
	for last, some := uint64(0), false; ok && err == nil; some = true {
		if down && v.before(w.i, x.lo) || !down && !v.before(w.i, x.hi) {
			break
		}
		code := v.code(w.i)
		if some && (down && code >= last || !down && code <= last) {
			// Codes that aren't in order could lead round in circles.
			return false, w.t.corrupt(w.leaf, "codes of block %d are out of order", w.block)
		}
		last = code
		group := stretch{bound{code: code}, after(code)}
		// far is where the group's other end lies if it lies in this block.
		near, far := w.i, w.i
		for down && far > 0 && v.code(far-1) == code {
			far--
		}
		for !down && far < w.n-1 && v.code(far+1) == code {
			far++
		}
		if down && far == 0 || !down && far == w.n-1 {
			if more, err := w.walk(group, !down, w.entries(yield)); !more || err != nil {
				return false, err
			}
			if down {
				ok, err = w.seek(group.lo, true)
			} else {
				ok, err = w.seek(group.hi, false)
			}
			continue
		}
		for i := far; ; {
			e, err := v.entry(i)
			if err != nil {
				return false, err
			}
			if !yield(e, nil) {
				return false, nil
			}
			if i == near {
				break
			}
			if down {
				i++
			} else {
				i--
			}
		}
		w.i = far
		ok, err = w.step(down)
	}
	return err == nil, err
}

// keyView is a view of the bytes form.
type keyView struct {
	r      *bytesRun
	c      am.Conditions
	s      keyScan
	b      leaf.BytesBlock
	live   []uint32
	vals   []value.Value
	filter int
}

func (v *keyView) open(p []byte) error { return v.s.page.Open(p, v.r.form.Leaf) }
func (v *keyView) blocks() int         { return v.s.page.Blocks() }

func (v *keyView) decode(block int) (n int, err error) {
	v.b = v.s.page.Block(block)
	v.live, err = v.r.tids(&v.s, &v.b)
	return v.b.N, err
}

func (v *keyView) find(b bound) (block, index int) {
	if b.kind == atEnd {
		return v.s.page.Blocks(), 0
	}
	block, index, _ = v.s.page.Lower(b.key)
	return block, index
}

func (v *keyView) before(i int, b bound) bool {
	if b.kind == atEnd {
		return true
	}
	v.s.key = v.b.Key(v.s.key[:0], i)
	return bytes.Compare(v.s.key, b.key) < 0
}

func (v *keyView) entry(i int) (am.Entry, error) {
	v.s.key = v.b.Key(v.s.key[:0], i)
	v.vals = v.vals[:0]
	key := v.s.key
	for j := range v.r.ix.Columns {
		x, rest, text, err := decodeColumn(&v.r.ix.Columns[j], key, v.s.text)
		if err != nil {
			return am.Entry{}, v.r.corrupt(page.ParseHeader(v.s.page.Bytes()).Block, "%v", err)
		}
		v.vals = append(v.vals, x)
		key, v.s.text = rest, text
	}
	return am.Entry{TID: first(v.r.span) + tid.TID(v.live[i]), Key: v.s.key, Values: v.vals}, nil
}

// Cursor yields entries in index order.
func (r *bytesRun) Cursor(ctx context.Context, c am.Conditions, backward bool) iter.Seq2[am.Entry, error] {
	return func(yield func(am.Entry, error) bool) {
		pl := planKeys(r.ix, c)
		v := &keyView{r: r}
		w := &walker{t: &r.tree, v: v, ctx: ctx}
		if backward {
			slices.Reverse(pl.stretches)
		}
		visit := w.entries(func(e am.Entry, err error) bool {
			for i := pl.filter; i < len(c) && i < len(e.Values); i++ {
				if c[i] != nil && !c[i].Contains(e.Values[i]) {
					return true
				}
			}
			return yield(e, err)
		})
		err := w.all(pl.stretches, func(x stretch) (bool, error) { return w.walk(x, backward, visit) })
		if err != nil {
			yield(am.Entry{}, err)
		}
	}
}
