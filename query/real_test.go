package query

import (
	"iter"
	"slices"
	"wideleaf/am"
	"wideleaf/am/amtest"
	"wideleaf/catalog"
	"wideleaf/heap"
	"wideleaf/page"
	"wideleaf/page/pagetest"
	"wideleaf/tid"
	"wideleaf/value"
)

// must panics when making a test's table fails.
func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

func goOn() error { return nil }

// vector returns a column of a model's segment.
func (m *model) vector(s modelSegment, attno int) *value.Vector {
	v := new(value.Vector)
	v.Reset(m.def.Columns[m.def.Column(attno)].Type)
	for row := s.start; row < s.end; row++ {
		v.Append(m.value(row, attno))
	}
	return v
}

// realSource makes a heap segment, over pages in memory, or a tail of a model's segment.
func realSource(m *model, s modelSegment, flushed bool) heap.Source {
	n := s.end - s.start
	if !flushed {
		tail := heap.NewTail(m.def, s.number)
		var cols []*value.Vector
		for _, c := range m.def.Columns {
			cols = append(cols, m.vector(s, c.Attno))
		}
		tail.Append(cols, 0, n)
		return tail.View(n)
	}
	var cols []heap.SegmentColumn
	for _, c := range m.def.Columns {
		cols = append(cols, heap.SegmentColumn{Attno: c.Attno, Values: m.vector(s, c.Attno)})
	}
	o := page.Owner{Relation: m.def.ID, Part: s.number}
	pages := pagetest.New(o)
	meta := must(heap.WriteSegment(o, columnsOf(cols), n, pages, goOn))
	typeOf := func(attno int) value.Type { return m.def.Columns[m.def.Column(attno)].Type }
	return must(heap.OpenSegment(meta, typeOf, pages, page.NewCache(1<<20)))
}

// realRun makes a run of a model's segments with a real access method, over pages in memory.
func realRun(m *model, method am.Method, def *catalog.Index, span am.Span, segs []modelSegment) am.Run {
	open := func(o page.Owner, span am.Span, write func(page.Writer) (am.RunMeta, error)) am.Run {
		pages := pagetest.New(o)
		return must(method.Open(def, must(write(pages)), span, pages, page.NewCache(1<<20)))
	}
	var runs []am.Run
	for _, s := range segs {
		begin := s.start - m.segs[slices.IndexFunc(m.segs, func(o modelSegment) bool { return o.number == s.number })].start
		var cols []*value.Vector
		for _, c := range def.Columns {
			cols = append(cols, m.vector(s, c.Attno))
		}
		src := amtest.Source(tid.New(s.number, uint16(begin)), nil, cols...)
		o := page.Owner{Relation: def.ID, Part: s.number}
		runs = append(runs, open(o, am.Span{First: s.number, End: s.number + 1}, func(w page.Writer) (am.RunMeta, error) {
			return method.Build(def, o, src, w, goOn)
		}))
	}
	if len(runs) == 1 {
		return runs[0]
	}
	o := page.Owner{Relation: def.ID, Part: 1000 + span.First}
	return open(o, span, func(w page.Writer) (am.RunMeta, error) {
		return method.Merge(def, o, runs, span, nil, w, goOn)
	})
}

// columnsOf yields columns that are in memory.
func columnsOf(cols []heap.SegmentColumn) iter.Seq2[heap.SegmentColumn, error] {
	return func(yield func(heap.SegmentColumn, error) bool) {
		for _, c := range cols {
			if !yield(c, nil) {
				return
			}
		}
	}
}
