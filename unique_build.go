package wideleaf

import (
	"container/heap"
	"context"
	"fmt"
	"iter"
	"slices"

	"wideleaf/am"
	"wideleaf/am/filter"
	"wideleaf/catalog"
	"wideleaf/pgerr"
	"wideleaf/tid"
	"wideleaf/value"
	"wideleaf/version"
)

// makeUnique checks a unique index that has been built on the rows that are there now, and opens it to queries.
func (t *Table) makeUnique(ctx context.Context, ix *version.Index) error {
	// From here on commits know the keys of all runs.
	if err := t.db.between(ctx, func(*commitGroup) error { t.indexesChanged(); return nil }); err != nil {
		return err
	}
	ts, err := t.acquire()
	if err != nil {
		return err
	}
	defer ts.Release()
	if err := t.checkUniqueBuild(ctx, ts, ix); err != nil {
		return err
	}
	return t.db.between(ctx, func(*commitGroup) error {
		return t.db.pool.Publish(func() error {
			at := slices.IndexFunc(t.indexes(), func(o *version.Index) bool { return o.Def.ID == ix.Def.ID })
			if at < 0 {
				return changedMeanwhile(t.Name())
			}
			def := *t.indexes()[at].Def
			def.Ready = true
			return t.redefineIndex(&def, ix.Method)
		})
	})
}

// primaryKeyColumns makes the columns of a primary key among new indexes NOT NULL; undo takes that back.
func (t *Table) primaryKeyColumns(ctx context.Context, indexes []*version.Index) (undo func(), err error) {
	var set []string
	undo = func() {
		for _, c := range set {
			if err := t.DropNotNull(context.WithoutCancel(ctx), c); err != nil {
				t.db.o.Logger.Error("a column stays NOT NULL", "table", t.def().Name, "column", c, "err", err)
			}
		}
	}
	all := append(t.indexes(), indexes...)
	for i, ix := range indexes {
		if !ix.Def.Primary {
			continue
		}
		if slices.ContainsFunc(all[:len(all)-len(indexes)+i], func(o *version.Index) bool { return o.Def.Primary }) {
			return undo, &Error{Kind: ErrInvalid, Code: pgerr.InvalidTableDefinition, Object: t.def().Name,
				Message: fmt.Sprintf("multiple primary keys for table %q are not allowed", t.def().Name)}
		}
		for _, c := range ix.Def.Columns {
			col := t.def().Columns[t.def().Column(c.Attno)]
			if col.NotNull {
				continue
			}
			if err := t.SetNotNull(ctx, col.Name); err != nil {
				undo()
				return undo, err
			}
			set = append(set, col.Name)
		}
	}
	return undo, nil
}

// inPrimaryKey refuses to let a column of the primary key take NULL.
func (t *Table) inPrimaryKey(c *catalog.Column) error {
	for _, ix := range t.indexes() {
		if ix.Def.Primary && slices.ContainsFunc(ix.Def.Columns, func(k catalog.IndexColumn) bool { return k.Attno == c.Attno }) {
			return &Error{Kind: ErrInvalid, Code: pgerr.InvalidTableDefinition, Object: c.Name,
				Message: fmt.Sprintf("column %q is in a primary key", c.Name)}
		}
	}
	return nil
}

// checkUniqueBuild refuses to make an index unique over rows of which two have one key. From before the snapshot was taken
// commits have been checked against each other, and from it on against all.
func (t *Table) checkUniqueBuild(ctx context.Context, ts version.TableSnapshot, ix *version.Index) error {
	dead := ts.Dead()
	live := func(row tid.TID) bool { return !dead.Has(row) }
	u := &uniqueIndex{index: ix, hash: filter.NewHasher(ix.Def, ix.Method)}
	for _, c := range ix.Def.Columns {
		u.cols = append(u.cols, ts.Table.Def.Column(c.Attno))
	}
	duplicated := func(key []value.Value) error {
		return &Error{Kind: ErrConstraint, Code: pgerr.UniqueViolation, Object: ix.Def.Name,
			Message: fmt.Sprintf("could not create unique index %q", ix.Def.Name),
			Detail:  keyDetail(ts.Table.Def, ix.Def, key) + " is duplicated."}
	}
	for _, g := range ts.Table.Groups {
		if g.HasAny([]uint32{ix.Def.ID}) {
			var runs []am.Run
			for _, r := range g.Runs {
				runs = append(runs, r.Runs[ix.Def.ID])
			}
			if len(runs) == 1 && !ix.Def.NullsNotDistinct {
				continue // the build has looked
			}
			if key, ok, err := firstDuplicate(ctx, ix, runs, live); err != nil {
				return err
			} else if ok {
				return duplicated(key)
			}
		}
	}
	check := uniqueCheck{ctx: ctx, u: u, ts: ts, dead: dead}
	seen := map[uint64]tid.TID{}
	tails := map[uint64]int{}
	sources := tailsOf(ts)
	for n, src := range sources {
		tails[src.Number()] = n
		cols := make([]*value.Vector, len(ix.Def.Columns))
		for i, c := range ix.Def.Columns {
			cols[i] = new(value.Vector)
			cols[i].Reset(c.Type)
			if err := src.Column(ctx, c.Attno, cols[i]); err != nil {
				return err
			}
		}
		keys := u.hashRows(cols)
		key := make([]value.Value, len(cols))
		for row, hash := range keys.hashes {
			at := tid.New(src.Number(), uint16(row))
			if keys.nulls[row] || !live(at) {
				continue
			}
			for i, c := range cols {
				key[i] = c.Value(row)
			}
			found := false
			if old, ok := seen[hash]; ok {
				var err error
				if found, err = u.same(ctx, sources[tails[old.Segment()]], old, key); err != nil {
					return err
				}
			}
			seen[hash] = at
			if !found {
				var err error
				if _, found, err = check.flushed(hash, key); err != nil {
					return err
				}
			}
			if found {
				return duplicated(key)
			}
		}
	}
	return nil
}

// keyStream is a cursor over the keys of a run.
type keyStream struct {
	key  []byte
	vals []value.Value
	next func() (am.Entry, error, bool)
}

type keyStreams []*keyStream

func (s keyStreams) Len() int           { return len(s) }
func (s keyStreams) Less(i, j int) bool { return string(s[i].key) < string(s[j].key) }
func (s keyStreams) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *keyStreams) Push(x any)        { *s = append(*s, x.(*keyStream)) }
func (s *keyStreams) Pop() any {
	x := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return x
}

// firstDuplicate returns the first key that two live rows in an index's runs have. ok is false if there is none.
func firstDuplicate(ctx context.Context, ix *version.Index, runs []am.Run, live func(tid.TID) bool) (key []value.Value, ok bool, err error) {
	var streams keyStreams
	for _, r := range runs {
		next, stop := iter.Pull2(r.(am.Cursor).Cursor(ctx, make(am.Conditions, len(ix.Def.Columns)), false))
		defer stop()
		s := &keyStream{next: next}
		if more, err := s.advance(ix, live); err != nil {
			return nil, false, err
		} else if more {
			streams = append(streams, s)
		}
	}
	heap.Init(&streams)
	var last []byte
	for first := true; len(streams) > 0; first = false {
		s := streams[0]
		if !first && string(last) == string(s.key) {
			return s.vals, true, nil
		}
		last = append(last[:0], s.key...)
		more, err := s.advance(ix, live)
		switch {
		case err != nil:
			return nil, false, err
		case more:
			heap.Fix(&streams, 0)
		default:
			heap.Pop(&streams)
		}
	}
	return nil, false, nil
}

// advance goes to the next live entry that could equal another.
func (s *keyStream) advance(ix *version.Index, live func(tid.TID) bool) (bool, error) {
	for {
		e, err, ok := s.next()
		if err != nil || !ok {
			return false, err
		}
		if !live(e.TID) || !ix.Def.NullsNotDistinct && slices.ContainsFunc(e.Values, value.Value.IsNull) {
			continue
		}
		s.key, s.vals = append(s.key[:0], e.Key...), append(s.vals[:0], e.Values...)
		return true, nil
	}
}
