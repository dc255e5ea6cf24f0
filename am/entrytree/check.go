package entrytree

import (
	"bytes"
	"context"

	"wideleaf/am/leaf"
	"wideleaf/page"
)

// checker walks a whole run from the root and compares what each page says with what lies below it.
type checker struct {
	ctx   context.Context
	t     *tree
	next  []uint32 // per level, the block that must come next: every page is reached exactly once
	leaf  func(p []byte) (entries uint64, err error)
	enter func(in *inner, i int) error // what inner says about child i; called before the child is looked at
}

// check verifies the tree: levels, children, counts. Leaves and separators are the form's business.
func (c *checker) check() error {
	t := c.t
	if t.meta.Entries == 0 {
		return nil
	}
	// Each level begins where the one below ends.
	c.next = make([]uint32, t.meta.Levels)
	c.next[0] = t.base
	block, entries := t.meta.Root, t.meta.Entries
	for level := int(t.meta.Levels) - 1; level > 0; level-- {
		in, err := t.fresh(block, level, entries)
		if err != nil {
			return err
		}
		c.next[level] = block
		block, entries = in.first, in.count(0)
	}
	if block != t.base {
		return t.corrupt(block, "it should be the first leaf")
	}
	starts := append([]uint32(nil), c.next...)
	if err := c.walk(t.meta.Root, int(t.meta.Levels)-1, t.meta.Entries); err != nil {
		return err
	}
	for level, end := range c.next {
		want := t.meta.Blocks
		if level+1 < len(starts) {
			want = starts[level+1]
		}
		if end != want {
			return t.corrupt(end, "no page of level %d leads to it", level+1)
		}
	}
	return nil
}

// fresh reads an inner page around the cache.
func (t *tree) fresh(block uint32, level int, entries uint64) (*inner, error) {
	u := *t
	u.cache = nil
	return u.inner(block, level, entries)
}

func (c *checker) walk(block uint32, level int, entries uint64) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	if block != c.next[level] {
		return c.t.corrupt(block, "level %d goes on with it, expected block %d", level, c.next[level])
	}
	c.next[level]++
	if level > 0 {
		in, err := c.t.fresh(block, level, entries)
		if err != nil {
			return err
		}
		for i := range in.children() {
			if err := c.enter(in, i); err != nil {
				return err
			}
			if err := c.walk(in.first+uint32(i), level-1, in.count(i)); err != nil {
				return err
			}
		}
		return nil
	}
	ref, err := c.t.r.Page(block)
	if err != nil {
		return err
	}
	defer ref.Release()
	n, err := c.leaf(ref.Data)
	if err != nil {
		return err
	}
	if n != entries {
		return c.t.corrupt(block, "leaf has %d entries, the page above counts %d", n, entries)
	}
	return nil
}

// Check verifies the run.
func (r *fixedRun) Check(ctx context.Context) error {
	var (
		lp      leaf.Page
		keys    [leaf.BlockEntries]uint64
		tids    [leaf.BlockEntries]uint32
		list    []uint32 // of a posting list
		key     uint64
		t       uint32
		null    bool
		some    bool
		nulls   uint64
		sep     uint64 // what the pages above say the next leaf begins with
		sepNull bool
		said    bool
	)
	maxCode := r.ix.Columns[0].Type.MaxCode()
	c := checker{ctx: ctx, t: &r.tree}
	c.enter = func(in *inner, i int) error {
		isNull := i >= len(in.codes)
		var code uint64
		if !isNull {
			code = in.codes[i]
		}
		if said && i == 0 && (isNull != sepNull || code != sep) {
			return r.corrupt(in.first, "first separators of a page and the one above differ")
		}
		sep, sepNull, said = code, isNull, true
		return nil
	}
	c.leaf = func(p []byte) (uint64, error) {
		block := page.ParseHeader(p).Block
		if err := lp.Open(p, r.form.Leaf); err != nil {
			return 0, err
		}
		for i := range lp.Blocks() {
			b := lp.Block(i)
			if i == 0 && said && (b.Null != sepNull || !b.Null && b.Base != sep) {
				return 0, r.corrupt(block, "first entry differs from the separator above")
			}
			var ks []uint64
			var ts []uint32
			if b.Posting {
				if err := r.listTIDs(b.List(), &list); err != nil {
					return 0, err
				}
				ts = list
			} else {
				ks, ts = b.Keys(&keys), b.TIDs(&tids)
			}
			if b.Null {
				nulls += uint64(b.N)
			}
			k := b.Base
			for j := range ts {
				if !b.Posting {
					k = ks[j]
				}
				switch {
				case uint64(ts[j]) >= r.limit():
					return 0, r.corrupt(block, "TID %d is outside of the run", ts[j])
				case !b.Null && k > maxCode:
					return 0, r.corrupt(block, "code %#x is not one of type %s", k, r.ix.Columns[0].Type)
				case some && (null && !b.Null || null == b.Null && (k < key || k == key && ts[j] <= t)):
					return 0, r.corrupt(block, "entry %d of block %d is out of order", j, i)
				}
				key, t, null, some = k, ts[j], b.Null, true
			}
		}
		said = false
		return uint64(lp.Entries()), nil
	}
	if err := c.check(); err != nil {
		return err
	}
	if nulls != r.meta.Nulls {
		return r.corrupt(r.meta.Root, "run has %d NULLs, expected %d", nulls, r.meta.Nulls)
	}
	return nil
}

// Check verifies the run.
func (r *bytesRun) Check(ctx context.Context) error {
	var (
		s         keyScan
		key, last []byte
		lastTID   uint32
		some      bool
		sep       []byte
		said      bool
	)
	c := checker{ctx: ctx, t: &r.tree}
	c.enter = func(in *inner, i int) error {
		if said && i == 0 && !bytes.Equal(in.sep(i), sep) {
			return r.corrupt(in.first, "first separators of a page and the one above differ")
		}
		sep, said = in.sep(i), true
		if some && bytes.Compare(sep, last) < 0 {
			return r.corrupt(in.first+uint32(i), "separator lies below an entry before it")
		}
		return nil
	}
	c.leaf = func(p []byte) (uint64, error) {
		block := page.ParseHeader(p).Block
		if err := s.page.Open(p, r.form.Leaf); err != nil {
			return 0, err
		}
		for i := range s.page.Blocks() {
			b := s.page.Block(i)
			tids, err := r.tids(&s, &b)
			if err != nil {
				return 0, err
			}
			for j := range b.N {
				key = b.Key(key[:0], j)
				if some {
					if c := bytes.Compare(key, last); c < 0 || c == 0 && tids[j] <= lastTID {
						return 0, r.corrupt(block, "entry %d of block %d is out of order", j, i)
					}
				}
				if i == 0 && j == 0 && said && bytes.Compare(key, sep) < 0 {
					return 0, r.corrupt(block, "first entry lies below the separator above")
				}
				rest := key
				for k := range r.ix.Columns {
					if _, rest, s.text, err = decodeColumn(&r.ix.Columns[k], rest, s.text); err != nil {
						return 0, r.corrupt(block, "entry %d of block %d: %v", j, i, err)
					}
				}
				if len(rest) > 0 {
					return 0, r.corrupt(block, "entry %d of block %d has %d bytes after its key", j, i, len(rest))
				}
				last, key, lastTID, some = key, last, tids[j], true
			}
		}
		said = false
		return uint64(s.page.Entries()), nil
	}
	return c.check()
}
