package query

import (
	"wideleaf/am"
	"wideleaf/catalog"
	"wideleaf/page"
	"wideleaf/page/pagetest"
	"wideleaf/tid"
	"wideleaf/value"
)

// realRun makes a run of a model's segments with a real access method, over pages in memory. It panics when it can't.
func realRun(m *model, method am.Method, def *catalog.Index, span am.Span, segs []modelSegment) am.Run {
	goOn := func() error { return nil }
	open := func(o page.Owner, span am.Span, write func(page.Writer) (am.RunMeta, error)) am.Run {
		pages := pagetest.New(o)
		meta, err := write(pages)
		if err != nil {
			panic(err)
		}
		run, err := method.Open(def, meta, span, pages, page.NewCache(1<<20))
		if err != nil {
			panic(err)
		}
		return run
	}
	var runs []am.Run
	for _, s := range segs {
		src := am.Source{Base: tid.New(s.number, 0)}
		for _, c := range def.Columns {
			v := new(value.Vector)
			v.Reset(c.Type)
			for row := s.start; row < s.end; row++ {
				v.Append(m.value(row, c.Attno))
			}
			src.Columns = append(src.Columns, v)
		}
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
