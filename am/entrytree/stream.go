package entrytree

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"wideleaf/am"
	"wideleaf/tid"
	"wideleaf/value"
)

// Stream goes through the rows that have one key in the first of a tree's two columns, in the order of the second, whose
// values are codes: forward as am.OrderedRun promises, or backward. It belongs to one goroutine.
type Stream struct {
	r      *bytesRun
	v      keyView
	w      walker
	prefix []byte    // what keys begin with
	xs     []stretch // of keys, those to come; the first is being walked if in is true
	in     bool
	back   bool
	target []byte
	last   am.Posting // of Next, if any is true
	any    bool
}

// NewStream returns a stream over a tree of two columns, the rows whose key in the first is one that c holds, with values
// in ranges (nil: any, NULL included) in the second. c holds one key.
func NewStream(ctx context.Context, t Tree, c, ranges *value.Ranges, back bool) (*Stream, error) {
	r, ok := t.(*bytesRun)
	if !ok || len(r.ix.Columns) != 2 {
		return nil, fmt.Errorf("a %T has no attached values", t)
	}
	s := &Stream{r: r, back: back, v: keyView{r: r}}
	s.w = walker{t: &r.tree, v: &s.v, ctx: ctx}
	keys := columnStretches(&r.ix.Columns[0], c, nil)
	if len(keys) == 0 {
		return s, nil
	}
	s.prefix = keys[0].lo.key
	s.xs = []stretch{begins(s.prefix)}
	if ranges != nil {
		s.xs = columnStretches(&r.ix.Columns[1], ranges, s.prefix)
	}
	if back {
		slices.Reverse(s.xs)
	}
	var err error
	s.w.leaves, err = r.leaves()
	return s, err
}

// Close lets go of what the stream holds.
func (s *Stream) Close() { s.w.close() }

// Next returns the next row; ok is false when there is none.
func (s *Stream) Next() (p am.Posting, ok bool, err error) {
	for len(s.xs) > 0 {
		x := &s.xs[0]
		switch {
		case s.in:
			ok, err = s.w.step(s.back)
		case s.back:
			ok, err = s.w.seek(x.hi, true)
		default:
			ok, err = s.w.seek(x.lo, false)
		}
		if err != nil {
			return p, false, err
		}
		if ok {
			s.v.s.key = s.v.b.Key(s.v.s.key[:0], s.w.i)
			ok = bytes.Compare(s.v.s.key, x.lo.key) >= 0 && bytes.Compare(s.v.s.key, x.hi.key) < 0
		}
		if s.in = ok; !ok {
			s.xs = s.xs[1:]
			continue
		}
		v, _, _, err := decodeColumn(&s.r.ix.Columns[1], s.v.s.key[len(s.prefix):], nil)
		if err != nil {
			return p, false, s.r.corrupt(s.w.leaf, "%v", err)
		}
		p = am.Posting{Code: v.Code(), Null: v.IsNull(), TID: first(s.r.span) + tid.TID(s.v.live[s.w.i])}
		if s.any && s.reached(s.last, p) {
			// Streams that go through such a page together could lead each other round in circles.
			return p, false, s.r.corrupt(s.w.leaf, "entries of block %d are out of order", s.w.block)
		}
		s.last, s.any = p, true
		return p, true, nil
	}
	return p, false, nil
}

// near is how many rows Seek looks at before it descends.
const near = 16

// Seek returns the first row from the next one on that is to or comes behind it in the stream's direction.
func (s *Stream) Seek(to am.Posting) (p am.Posting, ok bool, err error) {
	for i := 0; ; i++ {
		p, ok, err = s.Next()
		if !ok || err != nil || s.reached(p, to) {
			return p, ok, err
		}
		switch {
		case p.Code == to.Code && p.Null == to.Null:
			s.within(to.TID)
		case i == near:
			s.skip(to)
		}
	}
}

// within leaves out what comes before a TID in the posting list stood on, whose key is the one that is looked for.
func (s *Stream) within(to tid.TID) {
	if !s.v.b.Posting {
		return
	}
	i, found := slices.BinarySearch(s.v.live, uint32(to-first(s.r.span)))
	switch {
	case !s.back: // Next goes on to the first that isn't less
		s.w.i = max(i-1, s.w.i)
	case found:
		s.w.i = min(i+1, s.w.i)
	default:
		s.w.i = min(i, s.w.i)
	}
}

func (s *Stream) reached(p, to am.Posting) bool {
	c := p.Compare(to)
	return c == 0 || c > 0 != s.back
}

// skip leaves out what has other values than to and comes before it.
func (s *Stream) skip(to am.Posting) {
	col := &s.r.ix.Columns[1]
	s.target = append(s.target[:0], s.prefix...)
	if to.Null {
		s.target = append(s.target, nullMark(col))
	} else {
		s.target = appendCode(append(s.target, markValue), col, to.Code)
	}
	if s.back {
		s.target = successor(s.target)
	}
	s.in = false
	for len(s.xs) > 0 {
		x := &s.xs[0]
		switch {
		case s.back && bytes.Compare(x.lo.key, s.target) < 0:
			if bytes.Compare(x.hi.key, s.target) > 0 {
				x.hi.key = bytes.Clone(s.target)
			}
			return
		case !s.back && bytes.Compare(x.hi.key, s.target) > 0:
			if bytes.Compare(x.lo.key, s.target) < 0 {
				x.lo.key = bytes.Clone(s.target)
			}
			return
		}
		s.xs = s.xs[1:]
	}
}
