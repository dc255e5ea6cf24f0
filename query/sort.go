package query

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"

	"wideleaf/tid"
	"wideleaf/value"
)

// orderedRows yields rows in the order of spec.OrderBy. It returns nil when the caller has seen enough.
func (e *executor) orderedRows(spec RowsSpec, f *fetcher, yield func([]value.Value, error) bool) error {
	keys, err := newFetcher(e, attnosOf(spec.OrderBy))
	if err != nil {
		return err
	}
	found, err := e.narrow(spec.Pred, nil)
	if err != nil {
		return err
	}
	defer found.release()
	top := &topRows{keys: spec.OrderBy, limit: rowsWanted(spec.Limit, spec.Offset)}
	var offs []uint16
	scratch := make([]sortKey, len(spec.OrderBy))
	for m, err := range e.matches(found) {
		if err != nil {
			return err
		}
		chunk := chunkRows(len(spec.OrderBy), tid.SegmentRows)
		for from := 0; from < tid.SegmentRows; from = int(offs[len(offs)-1]) + 1 {
			offs = m.bits.AppendOffsets(offs[:0], from, chunk)
			if len(offs) == 0 {
				break
			}
			if err := keys.gather(m.src, offs); err != nil {
				return err
			}
			for i, o := range offs {
				for k, key := range spec.OrderBy {
					scratch[k] = keyOf(&keys.vectors[keys.place[k]], i, key)
				}
				top.add(tid.New(m.src.Number(), o), scratch)
			}
		}
	}
	return e.fetchInOrder(top.sorted(max(spec.Offset, 0)), f, yield)
}

func attnosOf(keys []OrderKey) []int {
	out := make([]int, len(keys))
	for i, k := range keys {
		out[i] = k.Attno
	}
	return out
}

// fetchInOrder yields the rows of ts in their order, gathering those of a segment together, some thousands at a time.
func (e *executor) fetchInOrder(ts []tid.TID, f *fetcher, yield func([]value.Value, error) bool) error {
	var order []int // positions in the chunk, by TID
	var offs []uint16
	for chunk := 0; len(ts) > 0; {
		chunk = chunkRows(len(f.place), chunk)
		now := ts[:min(chunk, len(ts))]
		ts = ts[len(now):]
		order = order[:0]
		for i := range now {
			order = append(order, i)
		}
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(now[a], now[b]) })
		rows := make([][]value.Value, len(now))
		for len(order) > 0 {
			seg := now[order[0]].Segment()
			offs = offs[:0]
			for len(offs) < len(order) && now[order[len(offs)]].Segment() == seg {
				offs = append(offs, now[order[len(offs)]].Offset())
			}
			src, err := e.source(seg)
			if err != nil {
				return err
			}
			if err := f.gather(src, offs); err != nil {
				return err
			}
			for i := range offs {
				rows[order[i]] = f.row(i)
			}
			order = order[len(offs):]
		}
		for _, r := range rows {
			if !yield(r, nil) {
				return nil
			}
		}
	}
	return nil
}

// sortKey is a value made ready for comparison: sortKeys of one OrderKey compare by rank, code, and str in the key's
// direction.
type sortKey struct {
	rank uint8 // 0: NULL that comes first, 1: a value, 2: NULL that comes last
	code uint64
	str  string
}

func keyOf(v *value.Vector, i int, k OrderKey) sortKey {
	switch {
	case v.IsNull(i) && k.NullsFirst:
		return sortKey{rank: 0}
	case v.IsNull(i):
		return sortKey{rank: 2}
	case v.Type.Width() == value.Var:
		return sortKey{rank: 1, str: v.Str[i]}
	}
	code := value.KeyCode(v.Type, v.Code(i))
	if k.Desc {
		code = ^code
	}
	return sortKey{rank: 1, code: code}
}

// topRows keeps the first `limit` rows of an order: a heap whose root is the last of them, or, as long as there are
// fewer, just a list.
type topRows struct {
	keys  []OrderKey
	limit int64
	rows  []sortRow
	heap  bool // rows is a heap
}

type sortRow struct {
	tid  tid.TID
	keys []sortKey
}

func (t *topRows) compare(a, b sortRow) int {
	for i := range a.keys {
		x, y := &a.keys[i], &b.keys[i]
		if x.rank != y.rank {
			return cmp.Compare(x.rank, y.rank)
		}
		if x.code != y.code {
			return cmp.Compare(x.code, y.code)
		}
		if c := strings.Compare(x.str, y.str); c != 0 {
			if t.keys[i].Desc {
				return -c
			}
			return c
		}
	}
	return cmp.Compare(a.tid, b.tid)
}

// add offers a row. keys stay the caller's.
func (t *topRows) add(id tid.TID, keys []sortKey) {
	if int64(len(t.rows)) < t.limit {
		t.rows = append(t.rows, sortRow{id, slices.Clone(keys)})
		return
	}
	if !t.heap {
		heap.Init(t)
		t.heap = true
	}
	if root := &t.rows[0]; t.compare(sortRow{id, keys}, *root) < 0 {
		root.tid = id
		copy(root.keys, keys)
		heap.Fix(t, 0)
	}
}

// sorted returns the rows in order, all but the first `skip`.
func (t *topRows) sorted(skip int64) []tid.TID {
	slices.SortFunc(t.rows, t.compare)
	if skip >= int64(len(t.rows)) {
		return nil
	}
	out := make([]tid.TID, 0, int64(len(t.rows))-skip)
	for _, r := range t.rows[skip:] {
		out = append(out, r.tid)
	}
	return out
}

// Len, Less, Swap, Push and Pop are heap.Interface's: the root is the row that comes last.
func (t *topRows) Len() int           { return len(t.rows) }
func (t *topRows) Less(i, j int) bool { return t.compare(t.rows[i], t.rows[j]) > 0 }
func (t *topRows) Swap(i, j int)      { t.rows[i], t.rows[j] = t.rows[j], t.rows[i] }

// Push is never called: rows are added before the heap is made, and replaced afterwards.
func (t *topRows) Push(any) {}

// Pop is never called.
func (t *topRows) Pop() any { return nil }
