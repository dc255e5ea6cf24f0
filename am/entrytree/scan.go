package entrytree

import (
	"context"
	"sync"

	"wideleaf/am"
	"wideleaf/am/leaf"
	"wideleaf/am/posting"
	"wideleaf/page"
	"wideleaf/tid"
	"wideleaf/value"
)

// fixedRun is a run of codes.
type fixedRun struct{ tree }

// stretch is the entries between two bounds.
type stretch struct{ lo, hi bound }

// everything is the stretch of all entries, NULLs included.
var everything = stretch{bound{kind: atCode}, bound{kind: atEnd}}

// stretches calls f for the stretches that a condition asks for, in leaf order, until it returns false.
func (r *fixedRun) stretches(c am.Conditions, f func(stretch) bool) {
	if len(c) == 0 || c[0] == nil {
		f(everything)
		return
	}
	t := r.ix.Columns[0].Type
	for _, iv := range c[0].Words {
		if iv.Lo > t.MaxCode() {
			break
		}
		if !f(stretch{bound{code: value.KeyCode(t, iv.Lo)}, after(value.KeyCode(t, iv.Hi))}) {
			return
		}
	}
	if c[0].Nulls && r.meta.Nulls > 0 {
		f(stretch{bound{kind: atNulls}, bound{kind: atEnd}})
	}
}

// pages calls f for the leaves first..last. One page is cheaper to get by its number than by a scan.
func (t *tree) pages(first, last uint32, f func(p []byte) error) error {
	if first == last {
		ref, err := t.r.Page(first)
		if err != nil {
			return err
		}
		defer ref.Release()
		return f(ref.Data)
	}
	return t.r.Scan(first, last, func(_ uint32, p []byte) (bool, error) {
		return true, f(p)
	})
}

// scan is the memory of a bitmap scan. It holds the last leaf: the next stretch often begins in it.
type scan struct {
	page leaf.Page
	tids [leaf.BlockEntries]uint32
	list []uint32 // of a posting list
	held uint32
	ref  page.Ref
	have bool
}

var scans = sync.Pool{New: func() any { return new(scan) }}

func (s *scan) release() {
	if s.have {
		s.ref.Release()
	}
	s.ref, s.have = page.Ref{}, false
}

// hold makes s.page the given leaf.
func (s *scan) hold(t *tree, block uint32) error {
	if s.have && s.held == block {
		return nil
	}
	s.release()
	ref, err := t.cache.Page(t.r, block)
	if err != nil {
		return err
	}
	if err := s.page.Open(ref.Data, t.form.Leaf); err != nil {
		ref.Release()
		return err
	}
	s.ref, s.held, s.have = ref, block, true
	return nil
}

// denseFrom is the number of TIDs from which a scan fills bitsets at once.
const denseFrom = 2048

// Bitmap adds the TIDs that match to b. Keys are whole values, so nothing needs a recheck.
func (r *fixedRun) Bitmap(ctx context.Context, c am.Conditions, b *tid.Builder) (recheck bool, err error) {
	if r.meta.Entries == 0 {
		return false, nil
	}
	s := scans.Get().(*scan)
	defer scans.Put(s)
	defer s.release()
	rows := 0.0
	r.stretches(c, func(x stretch) bool {
		var lo, hi place
		if lo, hi, err = r.ends(x); err != nil {
			return false
		}
		if err = ctx.Err(); err != nil {
			return false
		}
		if rows += hi.rank() - lo.rank(); rows > denseFrom {
			b.Dense()
		}
		if lo.leaf == hi.leaf {
			if err = s.hold(&r.tree, lo.leaf); err == nil {
				err = r.fill(b, s, x)
			}
			return err == nil
		}
		s.release()
		err = r.r.Scan(lo.leaf, hi.leaf, func(_ uint32, p []byte) (bool, error) {
			if err := ctx.Err(); err != nil {
				return false, err
			}
			if err := s.page.Open(p, r.form.Leaf); err != nil {
				return false, err
			}
			return true, r.fill(b, s, x)
		})
		return err == nil
	})
	return false, err
}

// fill adds the TIDs of a stretch that are in s.page.
func (r *fixedRun) fill(b *tid.Builder, s *scan, x stretch) error {
	base, limit := first(r.span), r.limit()
	for i := range s.page.Blocks() {
		k := s.page.Block(i)
		from, to := x.lo.in(&k), x.hi.in(&k)
		if to == 0 {
			break
		}
		if from >= to {
			continue
		}
		if k.Posting {
			if err := r.addList(b, k.List(), &s.list); err != nil {
				return err
			}
			continue
		}
		tids := k.TIDs(&s.tids)
		if !k.Within(tids, limit) {
			return r.corrupt(page.ParseHeader(s.page.Bytes()).Block, "block %d has TIDs outside of the run", i)
		}
		b.AddRelative(base, tids[from:to])
	}
	return nil
}

// addList adds the TIDs of a posting list, which is skipped when none of them can be in the set.
func (t *tree) addList(b *tid.Builder, l posting.List, buf *[]uint32) error {
	if l.Window() && uint64(l.First) < t.limit() {
		seg := t.span.First + uint64(l.First>>tid.SegmentBits)
		if !b.Wants(seg) {
			return nil
		}
		if l.N >= denseFrom {
			if !l.Fill(b.Segment(seg)) {
				return t.badList(l)
			}
			return nil
		}
	}
	err := t.listTIDs(l, buf)
	if err == nil {
		b.AddRelative(first(t.span), *buf)
	}
	return err
}

// listTIDs unpacks a posting list into buf.
func (t *tree) listTIDs(l posting.List, buf *[]uint32) error {
	var ok bool
	if *buf, ok = l.Append((*buf)[:0]); !ok {
		return t.badList(l)
	}
	limit := t.limit()
	for _, x := range *buf {
		if uint64(x) >= limit {
			return t.badList(l)
		}
	}
	return nil
}

func (t *tree) badList(l posting.List) error {
	return t.corrupt(t.meta.Root, "posting list of %d TIDs from +%d on is not whole or not of the run", l.N, l.First)
}

// rank is the estimated number of entries before the bound.
func (p place) rank() float64 { return float64(p.before) + p.at*float64(p.count) }

// Estimate returns the number of entries that match, from inner pages alone.
func (r *fixedRun) Estimate(c am.Conditions) (e am.Estimate, err error) {
	e.Exact = true
	if r.meta.Entries == 0 {
		return e, nil
	}
	if len(c) > 0 && c[0] != nil && r.meta.Levels == 1 {
		// The root is the only leaf.
		n, _, err := r.Count(c)
		return am.Estimate{Rows: float64(n), Pages: 1, Exact: true}, err
	}
	r.stretches(c, func(x stretch) bool {
		err = r.estimate(x, &e)
		return err == nil
	})
	return e, err
}

// estimate adds a stretch to e.
func (t *tree) estimate(x stretch, e *am.Estimate) error {
	lo, hi, err := t.ends(x)
	if err != nil {
		return err
	}
	e.Rows += max(hi.rank()-lo.rank(), 0)
	e.Pages += float64(hi.leaf-lo.leaf) + 1
	e.Exact = e.Exact && lo.exact && hi.exact
	return nil
}

// Count returns the number of entries that match: two descents a stretch.
func (r *fixedRun) Count(c am.Conditions) (n int64, ok bool, err error) {
	if r.meta.Entries == 0 {
		return 0, true, nil
	}
	if len(c) == 0 || c[0] == nil {
		return int64(r.meta.Entries), true, nil
	}
	s := scans.Get().(*scan)
	defer scans.Put(s)
	defer s.release()
	r.stretches(c, func(x stretch) bool {
		var lo, hi int64
		if lo, err = r.rank(s, x.lo); err == nil {
			hi, err = r.rank(s, x.hi)
		}
		n += hi - lo
		return err == nil
	})
	return n, true, err
}

// rank returns the number of entries before the bound.
func (r *fixedRun) rank(s *scan, b bound) (int64, error) {
	switch b.kind {
	case atEnd:
		return int64(r.meta.Entries), nil
	case atNulls:
		return int64(r.meta.Entries - r.meta.Nulls), nil
	}
	at, err := r.descend(b)
	if err != nil {
		return 0, err
	}
	if at.at == 0 { // the leaf begins behind the bound
		return int64(at.before), nil
	}
	if err := s.hold(&r.tree, at.leaf); err != nil {
		return 0, err
	}
	if uint64(s.page.Entries()) != at.count {
		return 0, r.corrupt(at.leaf, "leaf has %d entries, the page above counts %d", s.page.Entries(), at.count)
	}
	_, _, before := s.page.Lower(b.code)
	return int64(at.before) + int64(before), nil
}

// extremes returns the least and the greatest code; ok is false when there are only NULLs.
func (r *fixedRun) extremes() (lo, hi uint64, ok bool, err error) {
	if r.meta.Entries == r.meta.Nulls {
		return 0, 0, false, nil
	}
	s := scans.Get().(*scan)
	defer scans.Put(s)
	defer s.release()
	if err := s.hold(&r.tree, r.base); err != nil {
		return 0, 0, false, err
	}
	b := s.page.Block(0)
	lo = b.Base
	at, err := r.descend(bound{kind: atNulls})
	if err != nil {
		return 0, 0, false, err
	}
	if err := s.hold(&r.tree, at.leaf); err != nil {
		return 0, 0, false, err
	}
	n, _ := s.page.Nulls()
	if n == 0 {
		return 0, 0, false, r.corrupt(at.leaf, "leaf begins with NULL, the page above says it has a code")
	}
	b = s.page.Block(n - 1)
	return lo, b.Last(), true, nil
}
