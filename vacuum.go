package wideleaf

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"wideleaf/version"
)

// VacuumOptions say how Table.Vacuum works.
type VacuumOptions struct {
	// Full writes every segment anew that has a deleted row. Without it those are left alone of whose rows no more than
	// Options.AutovacuumVacuumScaleFactor are deleted.
	Full bool
}

// VacuumReport says what a vacuum has done, and what else was done meanwhile.
type VacuumReport struct {
	Table       string
	RowsRemoved int64 // deleted rows that the heap stores no more
	RowsRemain  int64 // rows that are not deleted
	RowsDead    int64 // deleted rows that the heap still stores
	Pages       VacuumedPages
	Bytes       VacuumedPages // the same in bytes, of heap and indexes
	Indexes     []VacuumedIndex
	Elapsed     time.Duration
}

// VacuumedPages counts pages before and after a vacuum.
type VacuumedPages struct{ Before, Remain int64 }

// VacuumedIndex is what a vacuum has done to an index.
type VacuumedIndex struct {
	Name           string
	Pages          VacuumedPages
	EntriesRemoved int64
}

// Vacuum removes the rows that have been deleted: from all index runs, and from the heap's segments where it is worth writing
// these anew; segments without other rows go. Rows keep their TIDs. The space is given back to the file system as soon as
// no query or snapshot reads it any more.
//
// The background workers do it, and nobody is held up; the same happens by and by without being asked for, see
// Options.AutovacuumVacuumThreshold. When it returns without error, no row that was deleted when it was called has an
// index entry. The report is one of PostgreSQL's VACUUM VERBOSE.
func (t *Table) Vacuum(ctx context.Context, o VacuumOptions) (*VacuumReport, error) {
	if err := t.writable(); err != nil {
		return nil, err
	}
	defer t.db.leave()
	ctx, done := t.db.during(ctx)
	defer done()
	begin := time.Now()
	r, err := t.vacuum(ctx, o)
	if err != nil {
		return nil, t.db.cause(ctx, t.Name(), err)
	}
	r.Elapsed = time.Since(begin)
	return r, nil
}

func (t *Table) vacuum(ctx context.Context, o VacuumOptions) (*VacuumReport, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	was, err := t.stored()
	if err != nil {
		return nil, err
	}
	if was.deadInTails {
		if err := t.Flush(ctx); err != nil {
			return nil, err
		}
	}
	share := t.db.o.AutovacuumVacuumScaleFactor
	if o.Full {
		share = 0
	}
	if err := t.db.pool.Vacuum(ctx, t.id, share); err != nil {
		return nil, err
	}
	is, err := t.stored()
	if err != nil {
		return nil, err
	}
	r := &VacuumReport{
		Table:       t.Name(),
		RowsRemoved: max(was.dead-is.dead, 0),
		RowsRemain:  is.rows,
		RowsDead:    is.dead,
		Pages:       VacuumedPages{was.pages, is.pages},
		Bytes:       VacuumedPages{was.bytes, is.bytes},
	}
	for name, n := range is.indexes {
		old := was.indexes[name]
		r.Indexes = append(r.Indexes, VacuumedIndex{name, VacuumedPages{old.pages, n.pages}, max(old.entries-n.entries, 0)})
	}
	slices.SortFunc(r.Indexes, func(a, b VacuumedIndex) int { return cmp.Compare(a.Name, b.Name) })
	return r, nil
}

// storage is what is stored of a table.
type storage struct {
	rows, dead   int64 // not deleted; deleted and still in the heap
	deadInTails  bool
	pages, bytes int64
	indexes      map[string]indexStorage
}

type indexStorage struct{ pages, entries int64 }

func (t *Table) stored() (storage, error) {
	ts, err := t.acquire()
	if err != nil {
		return storage{}, err
	}
	defer ts.Release()
	s := storage{rows: ts.Rows(), dead: ts.Dead().Rows(), indexes: map[string]indexStorage{}}
	flushed := uint64(0)
	for _, seg := range ts.Table.Segments {
		s.pages += int64(seg.Record.Meta.Blocks)
		s.bytes += int64(seg.Record.Bytes)
		s.dead -= int64(seg.Rows() - seg.Stored.Rows())
		flushed = seg.Record.Segment + 1
	}
	if parts := ts.Dead().Parts(); len(parts) > 0 {
		s.deadInTails = parts[len(parts)-1].Segment >= flushed
	}
	for _, g := range ts.Table.Groups {
		for _, r := range g.Runs {
			s.bytes += int64(r.Record.Bytes)
		}
		for _, ix := range g.Indexes {
			s.indexes[ix.Def.Name] = storageOf(g, ix)
		}
	}
	return s, nil
}

func storageOf(g *version.Group, ix *version.Index) (s indexStorage) {
	for _, r := range g.Runs {
		if run := r.Runs[ix.Def.ID]; run != nil {
			s.pages += int64(run.Meta().Blocks)
			s.entries += int64(run.Meta().Entries)
		}
	}
	return s
}

// String returns the report in the words of PostgreSQL's VACUUM VERBOSE.
func (r *VacuumReport) String() string {
	var b strings.Builder
	scans := 0
	for _, ix := range r.Indexes {
		if ix.EntriesRemoved > 0 {
			scans = 1
		}
	}
	fmt.Fprintf(&b, "finished vacuuming \"%s\": index scans: %d\n", r.Table, scans)
	fmt.Fprintf(&b, "pages: %d removed, %d remain\n", max(r.Pages.Before-r.Pages.Remain, 0), r.Pages.Remain)
	fmt.Fprintf(&b, "tuples: %d removed, %d remain, %d are dead but not yet removed\n", r.RowsRemoved, r.RowsRemain, r.RowsDead)
	for _, ix := range r.Indexes {
		if ix.EntriesRemoved > 0 {
			fmt.Fprintf(&b, "index \"%s\": pages: %d in total, %d newly deleted; %d entries removed\n", ix.Name, ix.Pages.Remain,
				max(ix.Pages.Before-ix.Pages.Remain, 0), ix.EntriesRemoved)
		}
	}
	fmt.Fprintf(&b, "bytes: %d before, %d remain\n", r.Bytes.Before, r.Bytes.Remain)
	fmt.Fprintf(&b, "elapsed: %.2f s", r.Elapsed.Seconds())
	return b.String()
}
