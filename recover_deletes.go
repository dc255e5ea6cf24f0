package wideleaf

import (
	"errors"
	"fmt"

	"wideleaf/store"
	"wideleaf/tid"
	"wideleaf/version"
)

// recoverDeletes puts the dead rows of all tables together: those that segments were rewritten without, those in records,
// and then the deletes in the log.
func (db *DB) recoverDeletes(r *recovered) error {
	parts := map[uint32]map[uint64]tid.DeadSegment{}
	rows := map[uint32]map[uint64]int{}
	for id, t := range r.tables {
		parts[id], rows[id] = map[uint64]tid.DeadSegment{}, map[uint64]int{}
		for _, s := range t.Segments {
			n := s.Record.Segment
			rows[id][n] = s.Rows()
			if s.Record.Holes != nil {
				parts[id][n] = tid.DeadSegment{Segment: n, Rows: s.Record.Holes.Count(), Bits: s.Record.Holes}
			}
		}
		for _, s := range t.Sealed {
			rows[id][s.Tail.Segment()] = s.Rows
		}
		rows[id][t.Active.Tail.Segment()] = t.Active.Tail.Len()
	}
	lost := func(table uint32, segment uint64, err error) error {
		name := fmt.Sprintf("relation %d", table)
		if t := r.tables[table]; t != nil {
			name = fmt.Sprintf("table %q", t.Def.Name)
		}
		return damaged(fmt.Sprintf("the deletes of segment %d of %s are damaged", segment, name), err)
	}
	if err := db.records(version.DeadPrefix, func(rec store.Record) error {
		table, p, err := version.DecodeDead(rec.Key, rec.Value)
		if err != nil || parts[table] == nil {
			return db.bad(lost(table, p.Segment, err))
		}
		if holes := parts[table][p.Segment].Bits; holes != nil {
			p.Bits.Or(holes)
			p.Rows = p.Bits.Count()
		}
		parts[table][p.Segment] = p
		db.deletes = max(db.deletes, p.Last)
		return nil
	}); err != nil {
		return err
	}
	if err := db.store.Deletes(func(d store.Delete) error {
		db.deletes = max(db.deletes, d.Number)
		before, gone, err := version.DecodeDelete(d.Rows)
		if err != nil || parts[d.Table] == nil {
			return db.bad(lost(d.Table, d.Segment, err))
		}
		p := parts[d.Table][d.Segment]
		if p.Rows != before || p.Last >= d.Number || p.Bits != nil && p.Bits.Overlaps(gone) {
			err := db.bad(lost(d.Table, d.Segment, fmt.Errorf("one of %d rows follows %d deleted rows, of which %d are there", gone.Count(), before, p.Rows)))
			if err != nil {
				return err
			}
		}
		if p.Bits != nil {
			gone.Or(p.Bits)
		}
		parts[d.Table][d.Segment] = tid.DeadSegment{Segment: d.Segment, Rows: gone.Count(), Bits: gone, Commits: p.Commits + 1, Last: d.Number}
		return nil
	}); errors.Is(err, store.ErrCorrupt) {
		if err := db.bad(err); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	for id, t := range r.tables {
		var all []tid.DeadSegment
		for _, p := range r.lost[id].Parts() {
			if q := parts[id][p.Segment]; q.Bits != nil {
				p.Bits.Or(q.Bits)
				p.Rows = p.Bits.Count()
			}
			parts[id][p.Segment] = p
		}
		for seg, p := range parts[id] {
			if n := rows[id][seg]; p.Bits.Max() >= n {
				if err := db.bad(lost(id, seg, fmt.Errorf("row %s of them is not there", tid.New(seg, uint16(p.Bits.Max()))))); err != nil {
					return err
				}
				continue
			}
			all = append(all, p)
		}
		if len(all) == 0 {
			continue
		}
		dead := (*tid.Dead)(nil).With(all...)
		t.Active = version.NewActive(t.Active.Tail, t.Active.Tail.Len(), dead)
		for _, g := range t.Groups {
			for _, run := range g.Runs {
				run.Record.Gone = run.Record.Gone.Sharing(dead)
			}
		}
	}
	return nil
}
