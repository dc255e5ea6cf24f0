package vacuum

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"wideleaf/am"
	"wideleaf/am/filter"
	"wideleaf/catalog"
	"wideleaf/heap"
	"wideleaf/page"
	"wideleaf/store"
	"wideleaf/tid"
	"wideleaf/value"
	"wideleaf/version"
)

// flush turns a sealed tail into a heap segment and one run of every group, and publishes them together with the
// removal of the rows' blocks from the log.
func (p *Pool) flush(j Job) (bytes int64, err error) {
	ts, ok := p.o.Versions.AcquireTable(j.Table)
	if !ok {
		return 0, nil // dropped meanwhile
	}
	defer ts.Release()
	i := sealedIndex(ts.Table, j.Segment)
	if i < 0 {
		return 0, nil
	}
	sealed := ts.Table.Sealed[i]
	w := p.newWriter()
	defer w.abort()
	rows := newRows(p.ctx, ts.Table.Def, sealed.Tail.View(sealed.Rows), ts.Dead())
	seg, err := w.segment(rows)
	if err != nil {
		return 0, err
	}
	for _, g := range ts.Table.Groups {
		if err := w.run(g, rows); err != nil {
			return 0, err
		}
	}
	// Segments appear in order, so that what is flushed is always a prefix of the table.
	err = p.Wait(p.ctx, func() bool {
		cur, ok := p.o.Versions.AcquireTable(j.Table)
		if !ok {
			return true
		}
		defer cur.Release()
		return sealedIndex(cur.Table, j.Segment) <= 0 // it is the next, or was truncated
	})
	if err != nil {
		return 0, err
	}
	for {
		if err := w.ingest(); err != nil {
			return 0, err
		}
		// A group that was created meanwhile gets its run as well, before the segment appears.
		var missing []*version.Group
		err := p.Publish(func() error {
			cur, ok := p.o.Versions.AcquireTable(j.Table)
			if !ok || sealedIndex(cur.Table, j.Segment) != 0 {
				return errDropped
			}
			defer cur.Release()
			rows.define(cur.Table.Def)
			missing = missing[:0]
			for _, g := range cur.Table.Groups {
				if !slices.ContainsFunc(w.runs, func(r version.RunRecord) bool { return r.Group == g.ID }) {
					missing = append(missing, g)
				}
			}
			if len(missing) > 0 {
				return nil
			}
			return p.publishFlush(j, cur.Table, seg, w)
		})
		if err == errDropped {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		if len(missing) == 0 {
			return w.bytes, nil
		}
		for _, g := range missing {
			if err := w.run(g, rows); err != nil {
				return 0, err
			}
		}
	}
}

var errDropped = fmt.Errorf("the rows were dropped")

// sealedIndex returns the place of a segment among a table's sealed tails, or -1.
func sealedIndex(t *version.Table, segment uint64) int {
	return slices.IndexFunc(t.Sealed, func(s version.Sealed) bool { return s.Tail.Segment() == segment })
}

// publishFlush publishes a flush; p.publish is held.
func (p *Pool) publishFlush(j Job, t *version.Table, seg version.SegmentRecord, w *writer) error {
	hs, err := OpenSegment(p.o.Store, p.o.Cache, t.Def, seg)
	if err != nil {
		return err
	}
	pub := store.Publication{
		Put: []store.Record{{Key: seg.Key(), Value: seg.Value()}},
		DropRows: []store.RowRange{{Table: j.Table,
			First: tid.New(j.Segment, 0), End: tid.New(j.Segment+1, 0)}},
	}
	runs := map[uint32]*version.GroupRun{}
	for _, g := range t.Groups {
		for _, r := range w.runs {
			if r.Group != g.ID {
				continue
			}
			if runs[g.ID], err = OpenRun(p.o.Store, p.o.Cache, g, r); err != nil {
				return err
			}
			pub.Put = append(pub.Put, store.Record{Key: r.Key(), Value: r.Value()})
		}
	}
	if err := p.o.Store.Publish(pub); err != nil {
		return err
	}
	w.published(seg.Ordinal)
	for _, r := range runs {
		w.published(r.Record.Ordinal)
	}
	p.o.Versions.Change(func(e *version.Edit) {
		t := e.Table(j.Table)
		t.Sealed = slices.DeleteFunc(slices.Clone(t.Sealed), func(s version.Sealed) bool {
			return s.Tail.Segment() == j.Segment
		})
		t.Segments = insertSorted(t.Segments, hs,
			func(s *version.Segment) uint64 { return s.Record.Segment })
		t.Groups = slices.Clone(t.Groups)
		for i, g := range t.Groups {
			if r := runs[g.ID]; r != nil {
				t.Groups[i] = withRuns(g, insertSorted(g.Runs, r, runFirst))
				t.Groups[i].Minis = withoutMinis(g.Minis, j.Segment, 0)
			}
		}
	})
	return nil
}

func runFirst(r *version.GroupRun) uint64 { return r.Record.Span.First }

func withRuns(g *version.Group, runs []*version.GroupRun) *version.Group {
	return &version.Group{ID: g.ID, Indexes: g.Indexes, Runs: runs, Minis: g.Minis}
}

// insertSorted returns a copy of s with x in its place.
func insertSorted[T any](s []T, x T, key func(T) uint64) []T {
	i, _ := slices.BinarySearchFunc(s, key(x), func(a T, k uint64) int { return cmp.Compare(key(a), k) })
	return slices.Insert(slices.Clone(s), i, x)
}

// publishRun publishes the one run that w wrote for a group, in place of old ones.
func (p *Pool) publishRun(j Job, w *writer, old []*version.GroupRun) error {
	cur, ok := p.o.Versions.AcquireTable(j.Table)
	if !ok {
		return nil
	}
	defer cur.Release()
	gi := slices.IndexFunc(cur.Table.Groups, func(g *version.Group) bool { return g.ID == j.Group })
	rec := w.runs[0]
	if gi < 0 || rec.Span.First < cur.Table.Def.First || !knowsHoles(cur.Table, rec) {
		return nil // dropped, truncated, or a segment was rewritten meanwhile
	}
	run, err := OpenRun(p.o.Store, p.o.Cache, cur.Table.Groups[gi], rec)
	if err != nil {
		return err
	}
	pub := store.Publication{Put: []store.Record{{Key: rec.Key(), Value: rec.Value()}}}
	for _, r := range old {
		pub.Delete = append(pub.Delete, r.Record.Key())
	}
	if err := p.o.Store.Publish(pub); err != nil {
		return err
	}
	w.published(rec.Ordinal)
	p.o.Versions.Change(func(e *version.Edit) {
		t := e.Table(j.Table)
		t.Groups = slices.Clone(t.Groups)
		g := t.Groups[gi]
		runs := slices.DeleteFunc(slices.Clone(g.Runs), func(r *version.GroupRun) bool { return slices.Contains(old, r) })
		t.Groups[gi] = withRuns(g, insertSorted(runs, run, runFirst))
		for _, r := range old {
			e.Retire(r.Record.Ordinal)
		}
	})
	return nil
}

// merge makes one run of several of a group.
func (p *Pool) merge(j Job) (bytes int64, err error) {
	ts, ok := p.o.Versions.AcquireTable(j.Table)
	if !ok {
		return 0, nil
	}
	defer ts.Release()
	gi := slices.IndexFunc(ts.Table.Groups, func(g *version.Group) bool { return g.ID == j.Group })
	if gi < 0 {
		return 0, nil
	}
	g := ts.Table.Groups[gi]
	var old []*version.GroupRun
	for _, o := range j.Runs {
		ri := slices.IndexFunc(g.Runs, func(r *version.GroupRun) bool { return r.Record.Ordinal == o })
		if ri < 0 {
			return 0, nil
		}
		old = append(old, g.Runs[ri])
	}
	w := p.newWriter()
	defer w.abort()
	if err := w.merged(g, old, deadOf(ts)); err != nil {
		return 0, err
	}
	if err := w.ingest(); err != nil {
		return 0, err
	}
	return w.bytes, p.Publish(func() error { return p.publishRun(j, w, old) })
}

// rows are the rows of one segment on their way into pages. Columns are loaded one at a time, into the same memory: the
// width of a table doesn't matter.
type rows struct {
	ctx    context.Context
	def    *catalog.Table
	stored heap.Source
	src    heap.Source // stored, with the values of columns that were added since
	free   []*value.Vector
	dead   *tid.Dead // of the segment's rows: runs are written without them, pages with them
	live   []uint16  // if not nil, the only rows that pages are written of
}

func newRows(ctx context.Context, def *catalog.Table, stored heap.Source, dead *tid.Dead) *rows {
	r := &rows{ctx: ctx, stored: stored, dead: dead.In(stored.Number(), stored.Number()+1)}
	r.define(def)
	return r
}

// define says what the table's definition is by now.
func (r *rows) define(def *catalog.Table) {
	r.def, r.src = def, heap.NewMissing(def).Source(r.stored)
}

// column loads a column; release takes its memory back.
func (r *rows) column(attno int) (*value.Vector, error) {
	v := new(value.Vector)
	if n := len(r.free); n > 0 {
		v, r.free = r.free[n-1], r.free[:n-1]
	}
	v.Reset(r.def.TypeOf(attno))
	switch n := r.src.Rows(); v.Type.Width() {
	case value.Word32:
		v.U32 = slices.Grow(v.U32, n)
	case value.Word64:
		v.U64 = slices.Grow(v.U64, n)
	default:
		v.Str = slices.Grow(v.Str, n)
	}
	if r.live != nil {
		if len(r.live) == 0 {
			return v, nil
		}
		return v, r.src.Gather(r.ctx, attno, r.live, v)
	}
	return v, r.src.Column(r.ctx, attno, v)
}

// count returns how many rows pages are written of.
func (r *rows) count() int {
	if r.live != nil {
		return len(r.live)
	}
	return r.src.Rows()
}

func (r *rows) release(vs ...*value.Vector) { r.free = append(r.free, vs...) }

// all yields all columns that the rows were written with, each until the next.
func (r *rows) all() iter.Seq2[heap.SegmentColumn, error] {
	return func(yield func(heap.SegmentColumn, error) bool) {
		for _, c := range r.def.Stored(r.stored.Number()) {
			v, err := r.column(c.Attno)
			if !yield(heap.SegmentColumn{Attno: c.Attno, Values: v}, err) || err != nil {
				return
			}
			r.release(v)
		}
	}
}

// writer collects the SSTs of one job.
type writer struct {
	p        *Pool
	yield    func() error
	tables   []*store.PageTable // not yet ingested
	ingested []uint64           // ordinals ingested and not yet published
	runs     []version.RunRecord
	bytes    int64
}

func (p *Pool) newWriter() *writer { return &writer{p: p, yield: p.yielder()} }

// abort drops what was not published.
func (w *writer) abort() {
	for _, t := range w.tables {
		t.Abort()
	}
	for _, o := range w.ingested {
		_ = w.p.o.Store.Excise(context.Background(), o) // else found as an orphan at the next open
	}
	w.tables, w.ingested = nil, nil
}

// published says that an ingested SST is named by the manifest now: abort leaves it alone.
func (w *writer) published(ordinal uint64) {
	w.ingested = slices.DeleteFunc(w.ingested, func(o uint64) bool { return o == ordinal })
}

func (w *writer) table() (*store.PageTable, error) {
	t, err := w.p.o.Store.NewTable()
	if err == nil {
		w.tables = append(w.tables, t)
	}
	return t, err
}

// ingest makes the pages written so far part of the database.
func (w *writer) ingest() error {
	if err := w.p.o.Store.Ingest(w.p.ctx, w.tables...); err != nil {
		return err
	}
	for _, t := range w.tables {
		w.ingested = append(w.ingested, t.Ordinal())
	}
	w.tables = nil
	return nil
}

// segment writes the heap's pages.
func (w *writer) segment(r *rows) (version.SegmentRecord, error) {
	rec := version.SegmentRecord{Table: r.def.ID, Segment: r.src.Number()}
	sst, err := w.table()
	if err != nil {
		return rec, err
	}
	rec.Ordinal = sst.Ordinal()
	sized := &sizedWriter{w: sst}
	rec.Meta, err = heap.WriteSegment(page.Owner{Relation: rec.Table, Part: rec.Segment}, r.all(), r.count(), sized, w.yield)
	if err != nil {
		return rec, err
	}
	rec.Bytes = uint64(sized.bytes)
	rec.Extent = r.src.Rows()
	w.bytes += sized.bytes
	return rec, sst.Finish() // at once: its buffers are free then
}

// run writes a run of every index of a group over one segment.
func (w *writer) run(g *version.Group, r *rows) error {
	seg := r.src.Number()
	rec := version.RunRecord{Group: g.ID, Span: am.Span{First: seg, End: seg + 1}, Gone: r.dead}
	dead, _ := r.dead.Segment(seg)
	return w.groupRun(g, rec, func(ix *version.Index, o page.Owner, pw page.Writer) (am.RunMeta, *filter.Filter, error) {
		src := am.Source{
			Base: tid.New(seg, 0), Rows: r.src.Rows(), Dead: dead,
			Column:  func(i int) (*value.Vector, error) { return r.column(ix.Def.Columns[i].Attno) },
			Release: func(v *value.Vector) { r.release(v) },
		}
		meta, err := ix.Method.Build(ix.Def, o, src, pw, w.yield)
		if err != nil || !ix.Def.Unique {
			return meta, nil, err
		}
		f := filter.New(uint64(src.Rows))
		err = filter.NewHasher(ix.Def, ix.Method).AddRows(f, src)
		return meta, f, err
	})
}

// merged writes one run of every index of a group from its old runs, without the dead rows.
func (w *writer) merged(g *version.Group, old []*version.GroupRun, dead *tid.Dead) error {
	rec := version.RunRecord{Group: g.ID, Span: am.Span{
		First: old[0].Record.Span.First, End: old[len(old)-1].Record.Span.End}}
	rec.Gone = dead.In(rec.Span.First, rec.Span.End)
	isDead := deadFunc(rec.Gone, rec.Span)
	return w.groupRun(g, rec, func(ix *version.Index, o page.Owner, pw page.Writer) (am.RunMeta, *filter.Filter, error) {
		runs := make([]am.Run, len(old))
		for i, r := range old {
			runs[i] = r.Runs[ix.Def.ID]
		}
		meta, err := ix.Method.Merge(ix.Def, o, runs, rec.Span, isDead, pw, w.yield)
		if err != nil || !ix.Def.Unique {
			return meta, nil, err
		}
		f, hasher := filter.New(meta.Entries), filter.NewHasher(ix.Def, ix.Method)
		for _, r := range runs {
			for e, err := range r.(am.Cursor).Cursor(w.p.ctx, make(am.Conditions, len(ix.Def.Columns)), false) {
				if err != nil {
					return meta, nil, err
				}
				if isDead == nil || !isDead(e.TID) {
					f.Add(hasher.Entry(e))
				}
				if err := w.yield(); err != nil {
					return meta, nil, err
				}
			}
		}
		return meta, f, nil
	})
}

func (w *writer) groupRun(g *version.Group, rec version.RunRecord,
	write func(*version.Index, page.Owner, page.Writer) (am.RunMeta, *filter.Filter, error)) error {
	sst, err := w.table()
	if err != nil {
		return err
	}
	rec.Ordinal = sst.Ordinal()
	sized := &sizedWriter{w: sst}
	for _, ix := range g.Indexes {
		first := sst.Next()
		part := version.IndexRun{Index: ix.Def.ID, First: first}
		o := page.Owner{Relation: ix.Def.ID, Part: rec.Ordinal}
		meta, f, err := write(ix, o, sized)
		if err == nil && f != nil {
			part.FilterBlocks, err = f.Write(o, meta.Blocks, sized)
		}
		if err != nil {
			return fmt.Errorf("index %q: %w", ix.Def.Name, err)
		}
		part.Meta = meta
		rec.Indexes = append(rec.Indexes, part)
		rec.Entries += meta.Entries
	}
	rec.Bytes = uint64(sized.bytes)
	w.bytes += sized.bytes
	w.runs = append(w.runs, rec)
	return sst.Finish()
}

// sizedWriter counts the bytes of the pages it passes on.
type sizedWriter struct {
	w     page.Writer
	bytes int64
}

func (s *sizedWriter) WritePage(p []byte) error {
	s.bytes += int64(len(p))
	return s.w.WritePage(p)
}
