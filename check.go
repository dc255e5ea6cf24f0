package wideleaf

import (
	"context"
	"fmt"

	"wideleaf/am"
)

// Check verifies what is stored: every page of every segment and run, the order and counts in the runs, and that each
// run holds an entry for each row of its segments that it was not written without (amcheck). It reads the whole database.
func (db *DB) Check(ctx context.Context) error {
	if err := db.enter(); err != nil {
		return err
	}
	defer db.leave()
	ctx, done := db.during(ctx)
	defer done()
	sn := db.versions.Acquire()
	defer sn.Release()
	for _, t := range sn.Version().Tables() {
		for _, s := range t.Segments {
			if err := s.Stored.Check(ctx); err != nil {
				return db.cause(ctx, t.Def.Name, err)
			}
		}
		for _, g := range t.Groups {
			for _, r := range g.Runs {
				rows := uint64(0)
				for _, s := range t.Segments {
					if n := s.Record.Segment; n >= r.Record.Span.First && n < r.Record.Span.End {
						_, gone := r.Record.Gone.Segment(n)
						rows += uint64(s.Rows() - gone)
					}
				}
				for _, ix := range g.Indexes {
					if err := checkRun(ctx, r.Runs[ix.Def.ID], rows); err != nil {
						return db.cause(ctx, ix.Def.Name, err)
					}
				}
			}
		}
	}
	return nil
}

func checkRun(ctx context.Context, r am.Run, rows uint64) error {
	if n := r.Meta().Rows; n != rows {
		return damaged(fmt.Sprintf("a run over the segments %d to %d is of %d rows, expected %d", r.Span().First, r.Span().End-1, n, rows), nil)
	}
	return r.Check(ctx)
}
