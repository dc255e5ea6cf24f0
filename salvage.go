package wideleaf

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"wideleaf/catalog"
	"wideleaf/store"
	"wideleaf/tid"
	"wideleaf/value"
	"wideleaf/version"
)

// A database that is opened to salvage what is left (Options.Salvage) has no indexes, and of its rows those that can be
// read. What can't be is found out when it is opened, so that all queries see the same.

// leaveOutColumns reads all columns of all segments, and leaves out those that can't be read: their values are NULL. A
// segment of which nothing can be read is left out as a whole.
func (db *DB) leaveOutColumns(r *recovered) error {
	for _, t := range r.tables {
		def := *t.Def
		def.Columns = slices.Clone(def.Columns)
		t.Segments = slices.DeleteFunc(t.Segments, func(s *version.Segment) bool {
			s.Lost = db.lostColumns(&def, s)
			for attno := range s.Lost {
				def.Columns[def.Column(attno)].NotNull = false
			}
			return s.Lost != nil && len(s.Lost) == int(s.Record.Meta.Columns)
		})
		t.Def = &def
	}
	return nil
}

// lostColumns returns the columns of a segment that can't be read, and notes why.
func (db *DB) lostColumns(def *catalog.Table, s *version.Segment) (lost map[int]bool) {
	for _, stored := range def.Stored(s.Record.Segment) {
		c := def.Column(stored.Attno)
		if c < 0 {
			continue
		}
		v := &value.Vector{Type: stored.Type}
		err := s.Column(context.Background(), stored.Attno, v)
		if err == nil && v.N != s.Rows() {
			err = fmt.Errorf("it has %d values for %d rows", v.N, s.Rows())
		}
		if err == nil {
			continue
		}
		if lost == nil {
			lost = map[int]bool{}
		}
		lost[stored.Attno] = true
		db.damage = append(db.damage, damaged(fmt.Sprintf("column %q of table %q cannot be read in its rows from %s on, %d rows",
			def.Columns[c].Name, def.Name, tid.New(s.Record.Segment, 0), s.Rows()), err))
	}
	return lost
}

// salvageTails rebuilds the tails from the row blocks that can be read. Rows that can't be are NULL, and dead.
func (db *DB) salvageTails(r *recovered) error {
	for _, t := range r.tables {
		b := newTailBuilder(t)
		b.lost = map[uint64]*tid.Bits{}
		from := tid.TID(0)
		for step := tid.TID(1); step != 0; step *= 2 { // what can be read after the damage is found by trying farther and farther
			err := db.store.RowBlocks(t.Def.ID, from, func(first tid.TID, block []byte) error {
				from, step = first+1, 1
				if want := b.next(); first.Segment() == want.Segment() && first > want {
					db.damage = append(db.damage, damaged(fmt.Sprintf("the rows of table %q from %s to %s are missing", t.Def.Name, want, first), nil))
				}
				if err := b.add(first, block); err != nil {
					db.damage = append(db.damage, err)
				}
				return nil
			})
			if err == nil {
				break
			}
			if !errors.Is(err, store.ErrCorrupt) {
				return err
			}
			if step == 1 {
				db.damage = append(db.damage, damaged(fmt.Sprintf("rows of table %q from about %s on cannot be read", t.Def.Name, max(from, b.next())), err))
			}
			from = max(from, b.next()) + step
		}
		b.end()
		var lost []tid.DeadSegment
		for segment, bits := range b.lost {
			lost = append(lost, tid.DeadSegment{Segment: segment, Rows: bits.Count(), Bits: bits})
		}
		r.lost[t.Def.ID] = (*tid.Dead)(nil).With(lost...)
	}
	return nil
}

// skip puts rows of NULL in place of those up to first that could not be read.
func (b *tailBuilder) skip(first tid.TID) {
	if first.Segment() > b.tail.Segment() {
		b.begin(first.Segment())
	}
	from, to := b.tail.Len(), int(first.Offset())
	if from >= to {
		return
	}
	for i, v := range b.cols {
		v.Reset(b.types[i])
		for range to - from {
			v.AppendNull()
		}
	}
	b.tail.Append(b.cols, 0, to-from)
	bits := b.lost[first.Segment()]
	if bits == nil {
		bits = new(tid.Bits)
		b.lost[first.Segment()] = bits
	}
	for i := from; i < to; i++ {
		bits[i>>6] |= 1 << (i & 63)
	}
}
