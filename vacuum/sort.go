package vacuum

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"wideleaf/am"
	"wideleaf/heap"
	"wideleaf/page"
	"wideleaf/tid"
	"wideleaf/value"
	"wideleaf/version"
)

// SortUnit is how many rows a commit leaves to linear search when an index has fastupdate off, and the size of the
// smallest mini-runs. A search of so many rows of a column takes 0.2 us, less than a look into a run.
const SortUnit = 512

// Interval is rows [From, To) of a tail.
type Interval struct{ From, To int }

// sortFrom returns where the mini-run begins that takes up a tail's rows up to `to`, given the mini-runs that cover its
// first rows: at the end of those, or further back, so that it replaces fanIn-1 of its own size. So a row is sorted once
// a tier, and a tail has fewer than fanIn mini-runs a tier. What would be over half of a segment isn't worth it: the tail
// is soon flushed.
func sortFrom(minis []Interval, to, fanIn int) int {
	for {
		from := 0
		if n := len(minis); n > 0 {
			from = minis[n-1].To
		}
		keep := len(minis) - (fanIn - 1)
		if keep < 0 || to-minis[keep].From > tid.SegmentRows/2 {
			return from
		}
		t := sizeTier(to-from, fanIn)
		for _, m := range minis[keep:] {
			if sizeTier(m.To-m.From, fanIn) > t {
				return from
			}
		}
		minis = minis[:keep]
	}
}

// sizeTier is how many times fanIn units of rows make a size.
func sizeTier(rows, fanIn int) int {
	t := 0
	for n := rows / SortUnit; n >= fanIn; n /= fanIn {
		t++
	}
	return t
}

// maxMinis is what the mini-runs of a tail may take in memory, over all indexes: indexes over the same long strings could
// take many times what the tail does.
const maxMinis = 2 * heap.TailBytes

// MaySort reports whether more of a table's active tail may be taken up into mini-runs of a group.
func MaySort(t *version.Table, g *version.Group) bool {
	n := int64(0)
	for _, o := range t.Groups {
		n += o.MiniBytesOf(t.Active.Tail.Segment())
	}
	return n < maxMinis
}

// intervals returns the mini-runs of a tail.
func intervals(g *version.Group, segment uint64) []Interval {
	var out []Interval
	for _, m := range g.Minis {
		if m.Segment == segment {
			out = append(out, Interval{m.From, m.To})
		}
	}
	return out
}

// withoutMinis returns the mini-runs but those of a segment that begin at from or later.
func withoutMinis(minis []*version.MiniRun, segment uint64, from int) []*version.MiniRun {
	return slices.DeleteFunc(slices.Clone(minis), func(m *version.MiniRun) bool { return m.Segment == segment && m.From >= from })
}

// sort takes rows of a table's active tail up into a mini-run.
func (p *Pool) sort(j Job) error {
	ts, ok := p.o.Versions.AcquireTable(j.Table)
	if !ok {
		return nil
	}
	defer ts.Release()
	gi := slices.IndexFunc(ts.Table.Groups, func(g *version.Group) bool { return g.ID == j.Group })
	if gi < 0 || ts.Table.Active.Tail.Segment() != j.Segment || j.To > ts.Visible() {
		return nil
	}
	return p.sortRows(ts, ts.Table.Groups[gi], j.From, j.To)
}

// SortPending takes all rows of a table's active tail up into mini-runs, for the groups that want
// returns true for. What a job is taking up already, it leaves to that.
func (p *Pool) SortPending(table uint32, want func(*version.Group) bool) error {
	ts, ok := p.o.Versions.AcquireTable(table)
	if !ok {
		return nil
	}
	defer ts.Release()
	for _, g := range ts.Table.Groups {
		if g.Sorted(ts.Table.Active.Tail.Segment()) >= ts.Visible() || !want(g) || !MaySort(ts.Table, g) {
			continue
		}
		if err := p.sortGroup(table, g.ID); err != nil {
			return err
		}
	}
	return nil
}

// sortGroup takes the rows of a table's active tail up for one group, unless others are at it.
func (p *Pool) sortGroup(table, group uint32) error {
	key := busyKey{Sort, group, 0}
	p.mu.Lock()
	taken := p.busy[key]
	p.busy[key] = true
	p.mu.Unlock()
	if taken {
		return nil
	}
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.busy, key)
		p.tell()
	}()
	// Only now: what another made of the mini-runs just before must not be joined by one that overlaps them.
	ts, ok := p.o.Versions.AcquireTable(table)
	if !ok {
		return nil
	}
	defer ts.Release()
	gi := slices.IndexFunc(ts.Table.Groups, func(g *version.Group) bool { return g.ID == group })
	segment, to := ts.Table.Active.Tail.Segment(), ts.Visible()
	if gi < 0 || ts.Table.Groups[gi].Sorted(segment) >= to {
		return nil
	}
	g := ts.Table.Groups[gi]
	return p.sortRows(ts, g, sortFrom(intervals(g, segment), to, p.limits.FanIn), to)
}

// miniRuns numbers mini-runs: their pages' owners have parts that no SST has.
var miniRuns atomic.Uint64

const miniPart = 1 << 63 // docs/format.md, Images

// sortRows makes a mini-run of the rows [from, to) of the active tail and puts it in the place of those that begin at from
// or later.
func (p *Pool) sortRows(ts version.TableSnapshot, g *version.Group, from, to int) error {
	tail := ts.Table.Active.Tail.View(to)
	segment := tail.Number()
	span := am.Span{First: segment, End: segment + 1}
	mini := &version.MiniRun{Segment: segment, From: from, To: to, Runs: make(map[uint32]am.Run, len(g.Indexes)),
		Stored: make(map[uint32]version.MiniPages, len(g.Indexes))}
	part := miniPart | miniRuns.Add(1)
	columns := sortColumns{ctx: p.ctx, tail: tail, from: from, to: to}
	yield := p.yielder()
	for _, ix := range g.Indexes {
		mem := page.NewMemory(page.Owner{Relation: ix.Def.ID, Part: part})
		src := am.Source{
			Base: tid.New(segment, uint16(from)), Rows: to - from,
			Column: func(i int) (*value.Vector, error) {
				return columns.load(ix.Def.Columns[i].Attno, ix.Def.Columns[i].Type)
			},
			Release: columns.release,
		}
		meta, err := ix.Method.Build(ix.Def, mem.Owner(), src, mem, yield)
		if err != nil {
			return fmt.Errorf("index %q: %w", ix.Def.Name, err)
		}
		run, err := ix.Method.Open(ix.Def, meta, span, mem, p.o.Cache)
		if err != nil {
			return fmt.Errorf("index %q: %w", ix.Def.Name, err)
		}
		mini.Bytes += mem.Bytes()
		mini.Runs[ix.Def.ID], mini.Stored[ix.Def.ID] = run, version.MiniPages{Meta: meta, Pages: mem}
	}
	p.o.Versions.Change(func(e *version.Edit) {
		t := e.Table(ts.Table.Def.ID)
		if t == nil {
			return
		}
		gi := slices.IndexFunc(t.Groups, func(o *version.Group) bool { return o.ID == g.ID })
		if gi < 0 || !waits(t, segment) {
			return
		}
		cur := t.Groups[gi]
		for _, ix := range cur.Indexes {
			if mini.Runs[ix.Def.ID] == nil {
				return // created meanwhile
			}
		}
		t.Groups = slices.Clone(t.Groups)
		t.Groups[gi] = withRuns(cur, cur.Runs)
		t.Groups[gi].Minis = append(withoutMinis(cur.Minis, segment, from), mini)
	})
	return nil
}

// waits reports whether a segment's rows are still in a tail.
func waits(t *version.Table, segment uint64) bool {
	return t.Active.Tail.Segment() == segment ||
		slices.ContainsFunc(t.Sealed, func(s version.Sealed) bool { return s.Tail.Segment() == segment })
}

// sortColumns loads rows of a tail, into the same memory for one index after the other.
type sortColumns struct {
	ctx      context.Context
	tail     heap.TailView
	from, to int
	free     []*value.Vector
}

func (c *sortColumns) load(attno int, typ value.Type) (*value.Vector, error) {
	v := new(value.Vector)
	if n := len(c.free); n > 0 {
		v, c.free = c.free[n-1], c.free[:n-1]
	}
	v.Reset(typ)
	return v, c.tail.Interval(c.ctx, attno, c.from, c.to, v)
}

func (c *sortColumns) release(v *value.Vector) { c.free = append(c.free, v) }
