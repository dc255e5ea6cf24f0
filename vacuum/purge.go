package vacuum

import (
	"slices"

	"wideleaf/am"
	"wideleaf/store"
	"wideleaf/tid"
	"wideleaf/version"
)

// Dead rows leave in this order, so that the heap has the values of all rows that a run has entries of: runs are written
// without them, by merges that are due anyway or by a purge, a merge of one run; then segments are written anew without those
// that no run has, or dropped if they have no others.

// deadOf returns a table's dead rows as far as they are in flushed segments.
func deadOf(ts version.TableSnapshot) *tid.Dead {
	if n := len(ts.Table.Segments); n > 0 {
		return ts.Dead().In(0, ts.Table.Segments[n-1].Record.Segment+1)
	}
	return nil
}

// deadFunc returns what tells a merge over a span which rows to leave out; nil if there are none.
func deadFunc(dead *tid.Dead, span am.Span) func(tid.TID) bool {
	if dead.Rows() == 0 {
		return nil
	}
	bits := make([]*tid.Bits, span.End-span.First)
	for _, p := range dead.Parts() {
		bits[p.Segment-span.First] = p.Bits
	}
	return func(t tid.TID) bool {
		b := bits[t.Segment()-span.First]
		return b != nil && b.Has(t.Offset())
	}
}

// still returns how many dead rows a run still has, dead being those of its table.
func still(dead *tid.Dead, r *version.GroupRun) int64 {
	n := int64(0)
	for _, p := range dead.In(r.Record.Span.First, r.Record.Span.End).Parts() {
		_, gone := r.Record.Gone.Segment(p.Segment)
		n += int64(p.Rows - gone)
	}
	return n
}

// lacks reports whether a run has none of some dead rows, as far as their segments are still there.
func lacks(t *version.Table, r *version.GroupRun, dead *tid.Dead) bool {
	for _, p := range dead.In(r.Record.Span.First, r.Record.Span.End).Less(r.Record.Gone).Parts() {
		if t.HasSegment(p.Segment) {
			return false
		}
	}
	return true
}

// removable returns the dead rows of a segment that no run has, in a table with the given dead rows. What a run is without
// was all that was dead at some moment, so of several runs' sets the smallest is in all others.
func removable(t *version.Table, segment uint64, dead *tid.Dead) tid.DeadSegment {
	least := dead.Part(segment)
	for _, g := range t.Groups {
		i, _ := slices.BinarySearchFunc(g.Runs, segment, func(r *version.GroupRun, seg uint64) int {
			if r.Record.Span.End <= seg {
				return -1
			}
			return 1
		})
		if i == len(g.Runs) || g.Runs[i].Record.Span.First > segment {
			return tid.DeadSegment{Segment: segment} // still to be filled
		}
		if gone := g.Runs[i].Record.Gone.Part(segment); gone.Rows < least.Rows {
			least = gone
		}
	}
	return least
}

// deadState adds to a table's state what vacuum is to know of its dead rows. p.mu is held.
func (p *Pool) deadState(t *version.Table, dead *tid.Dead, ts *TableState) {
	all := p.asked[t.Def.ID]
	for gi, g := range t.Groups {
		for ri, r := range g.Runs {
			n := still(dead, r)
			if n == 0 {
				continue
			}
			st := &ts.Groups[gi].Runs[ri]
			st.Dead, st.Rows = n, rowsOf(t, r)
			st.Asked = slices.ContainsFunc(all, func(a *asked) bool { return !lacks(t, r, a.dead) })
		}
	}
	for _, part := range dead.Parts() {
		ts.Commits = max(ts.Commits, part.Commits)
	}
	ts.Busy = p.busy[busyKey{Consolidate, t.Def.ID, 0}]
	for i, s := range t.Segments {
		n := s.Record.Segment
		out := removable(t, n, dead)
		if out.Rows == 0 {
			continue
		}
		stored := s.Stored.Rows()
		dead := out.Rows - (s.Rows() - stored)
		due := slices.ContainsFunc(all, func(a *asked) bool { return float64(dead) > a.share*float64(stored) })
		ts.Segments = append(ts.Segments, SegmentState{Segment: n, Rows: stored, Dead: dead, Last: i == len(t.Segments)-1,
			Asked: due, Busy: p.busy[busyKey{Rewrite, t.Def.ID, n}]})
	}
}

// rowsOf returns how many rows a run has entries of.
func rowsOf(t *version.Table, r *version.GroupRun) int64 {
	n := int64(0)
	for _, s := range t.Segments {
		if seg := s.Record.Segment; seg >= r.Record.Span.First && seg < r.Record.Span.End {
			_, gone := r.Record.Gone.Segment(seg)
			n += int64(s.Rows() - gone)
		}
	}
	return n
}

// knowsHoles reports whether a run was written without the rows that its segments don't store any more.
func knowsHoles(t *version.Table, rec version.RunRecord) bool {
	for _, s := range t.Segments {
		n := s.Record.Segment
		if s.Record.Holes == nil || n < rec.Span.First || n >= rec.Span.End {
			continue
		}
		holes := *s.Record.Holes
		if gone, k := rec.Gone.Segment(n); k == 0 || holes.AndNot(gone) > 0 {
			return false
		}
	}
	return true
}

// rewrite writes a segment anew without dead rows that no run has, whose places stay empty, or drops it if it has no others.
func (p *Pool) rewrite(j Job) (bytes int64, err error) {
	ts, ok := p.o.Versions.AcquireTable(j.Table)
	if !ok {
		return 0, nil
	}
	defer ts.Release()
	si := slices.IndexFunc(ts.Table.Segments, func(s *version.Segment) bool { return s.Record.Segment == j.Segment })
	if si < 0 {
		return 0, nil
	}
	old, out := ts.Table.Segments[si], removable(ts.Table, j.Segment, ts.Dead())
	if out.Rows == old.Rows() && si < len(ts.Table.Segments)-1 {
		return 0, p.Publish(func() error { return p.publishRewrite(j, old.Record, nil, nil, out) })
	}
	if out.Rows <= old.Rows()-old.Stored.Rows() {
		return 0, nil
	}
	w := p.newWriter()
	defer w.abort()
	rows := newRows(p.ctx, ts.Table.Def, old, nil)
	live := new(tid.Bits)
	live.SetFirst(old.Rows())
	live.AndNot(out.Bits)
	rows.live = live.AppendOffsets([]uint16{}, 0, tid.SegmentRows)
	rec, err := w.segment(rows)
	if err != nil {
		return 0, err
	}
	rec.Holes = out.Bits
	if err := w.ingest(); err != nil {
		return 0, err
	}
	return w.bytes, p.Publish(func() error { return p.publishRewrite(j, old.Record, &rec, w, out) })
}

// publishRewrite publishes a segment's new record in place of the old one; nil: it is dropped. out is what it lacks.
// p.publish is held.
func (p *Pool) publishRewrite(j Job, old version.SegmentRecord, rec *version.SegmentRecord, w *writer, out tid.DeadSegment) error {
	cur, ok := p.o.Versions.AcquireTable(j.Table)
	if !ok {
		return nil
	}
	defer cur.Release()
	si := slices.IndexFunc(cur.Table.Segments, func(s *version.Segment) bool { return s.Record.Ordinal == old.Ordinal })
	if si < 0 || removable(cur.Table, j.Segment, cur.Dead()).Rows < out.Rows || rec == nil && si == len(cur.Table.Segments)-1 {
		return nil // dropped or truncated meanwhile, or an index was created
	}
	part := cur.Dead().Part(j.Segment)
	pub := store.Publication{Delete: [][]byte{version.DeadKey(j.Table, j.Segment)}}
	var s *version.Segment
	if rec == nil {
		pub.Delete = append(pub.Delete, old.Key())
		pub.DropDeletes = []store.DeleteRange{{Table: j.Table, First: j.Segment, End: j.Segment + 1}}
	} else {
		var err error
		if s, err = OpenSegment(p.o.Store, p.o.Cache, cur.Table.Def, *rec); err != nil {
			return err
		}
		pub.Put = []store.Record{{Key: rec.Key(), Value: rec.Value()}}
		if part.Rows > out.Rows { // deleted since
			pub.Put = append(pub.Put, store.Record{Key: version.DeadKey(j.Table, j.Segment), Value: version.EncodeDead(part)})
		}
		if part.Last > 0 {
			pub.DropDeletes = []store.DeleteRange{{Table: j.Table, First: j.Segment, Through: part.Last}}
		}
	}
	if err := p.o.Store.Publish(pub); err != nil {
		return err
	}
	if rec != nil {
		w.published(rec.Ordinal)
	}
	p.o.Versions.Change(func(e *version.Edit) {
		t := e.Table(j.Table)
		t.Segments = slices.Clone(t.Segments)
		if s == nil {
			t.Segments = slices.Delete(t.Segments, si, si+1)
			t.Active = t.Active.Bury(tid.DeadSegment{Segment: j.Segment})
		} else {
			t.Segments[si] = s
			t.Active = t.Active.Settled(part)
		}
		e.Retire(old.Ordinal)
	})
	return nil
}

// consolidate puts the logged deletes of a table's segments into one record each.
func (p *Pool) consolidate(j Job) error {
	return p.Publish(func() error {
		ts, ok := p.o.Versions.AcquireTable(j.Table)
		if !ok {
			return nil
		}
		defer ts.Release()
		var pub store.Publication
		var parts []tid.DeadSegment
		for _, part := range ts.Dead().Parts() {
			if part.Commits < manyCommits/4 {
				continue
			}
			parts = append(parts, part)
			pub.Put = append(pub.Put, store.Record{Key: version.DeadKey(j.Table, part.Segment), Value: version.EncodeDead(part)})
			pub.DropDeletes = append(pub.DropDeletes, store.DeleteRange{Table: j.Table, First: part.Segment, Through: part.Last})
		}
		if len(parts) == 0 {
			return nil
		}
		if err := p.o.Store.Publish(pub); err != nil {
			return err
		}
		p.o.Versions.Change(func(e *version.Edit) {
			t := e.Table(j.Table)
			for _, part := range parts {
				t.Active = t.Active.Settled(part)
			}
		})
		return nil
	})
}
