package vacuum

import (
	"fmt"
	"sync"

	"wideleaf/am"
	"wideleaf/am/filter"
	"wideleaf/catalog"
	"wideleaf/heap"
	"wideleaf/page"
	"wideleaf/store"
	"wideleaf/version"
)

// OpenSegment opens the segment that a record names.
func OpenSegment(db *store.DB, cache *page.Cache, def *catalog.Table, rec version.SegmentRecord) (*version.Segment, error) {
	r := db.Reader(rec.Ordinal, 0, rec.Meta.Blocks, page.Owner{Relation: rec.Table, Part: rec.Segment})
	if rec.Holes != nil { // written in place of another
		cache = cache.Apart(rec.Ordinal)
	}
	stored, err := heap.OpenSegment(rec.Meta, def.TypeOf, r, cache)
	if err != nil {
		return nil, err
	}
	s := &version.Segment{Source: stored, Stored: stored, Record: rec}
	if rec.Holes != nil {
		s.Source, err = heap.NewSparse(stored, rec.Extent, rec.Holes)
	}
	return s, err
}

// OpenRun opens the runs that a record names, those of indexes dropped since left out.
func OpenRun(db *store.DB, cache *page.Cache, g *version.Group, rec version.RunRecord) (*version.GroupRun, error) {
	gr := &version.GroupRun{Record: rec, Runs: make(map[uint32]am.Run, len(rec.Indexes))}
	for _, ix := range g.Indexes {
		for _, part := range rec.Indexes {
			if part.Index != ix.Def.ID {
				continue
			}
			r := db.Reader(rec.Ordinal, part.First, part.Meta.Blocks, page.Owner{Relation: ix.Def.ID, Part: rec.Ordinal})
			run, err := ix.Method.Open(ix.Def, part.Meta, rec.Span, r, cache)
			if err != nil {
				return nil, fmt.Errorf("index %q: %w", ix.Def.Name, err)
			}
			gr.Runs[ix.Def.ID] = run
			if part.FilterBlocks > 0 {
				all := db.Reader(rec.Ordinal, part.First, part.Meta.Blocks+part.FilterBlocks, r.Owner())
				if gr.Filters == nil {
					gr.Filters = map[uint32]func() (*filter.Filter, error){}
				}
				gr.Filters[ix.Def.ID] = sync.OnceValues(func() (*filter.Filter, error) {
					return filter.Read(all, part.Meta.Blocks, part.FilterBlocks)
				})
			}
		}
		if gr.Runs[ix.Def.ID] == nil {
			return nil, fmt.Errorf("index %q has no run in SST %d: %w", ix.Def.Name, rec.Ordinal, page.ErrCorrupt)
		}
	}
	return gr, nil
}
