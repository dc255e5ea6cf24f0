package query

import (
	"cmp"
	"container/heap"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"wideleaf/tid"
	"wideleaf/value"
)

// orderedRows yields rows in the order of spec.OrderBy. It returns nil when the caller has seen enough.
func (e *executor) orderedRows(spec RowsSpec, f *fetcher, yield func([]value.Value, error) bool) error {
	wanted, skip := rowsWanted(spec.Limit, spec.Offset), max(spec.Offset, 0)
	top, err := e.firstRows(&spec, wanted)
	if err != nil {
		return err
	}
	if top.spilled != nil {
		defer top.spilled.close()
		return top.spilled.each(skip, wanted, func(ts []tid.TID) error { return e.fetchInOrder(ts, f, yield) })
	}
	ts, err := top.sorted(e.ctx, skip)
	if err == nil {
		err = e.fetchInOrder(ts, f, yield)
	}
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// topOfMatches finds the first rows of an order among the matches of a condition: in memory, or, if they don't fit there, by
// sorting all of them with a tape.
func (e *executor) topOfMatches(found candidates, order []OrderKey, limit int64) (_ *topRows, err error) {
	keys, err := newFetcher(e, attnosOf(order))
	if err != nil {
		return nil, err
	}
	top := &topRows{order: order, limit: limit}
	defer func() {
		if err != nil && top.spilled != nil {
			top.spilled.close()
		}
	}()
	var offs []uint16
	for m, err := range e.matches(found) {
		if err != nil {
			return nil, err
		}
		chunk := chunkRows(keys.cells, tid.SegmentRows)
		for from := 0; from < tid.SegmentRows; from = int(offs[len(offs)-1]) + 1 {
			offs = m.bits.AppendOffsets(offs[:0], from, chunk)
			if len(offs) == 0 {
				break
			}
			if err := keys.gather(m.src, offs); err != nil {
				return nil, err
			}
			if err := e.offer(top, m.src.Number(), offs, keys); err != nil {
				return nil, err
			}
		}
	}
	return top, nil
}

// offer offers the rows of a segment at offs, whose keys have been gathered, to a sort, which goes to tape when it doesn't fit in
// memory any more.
func (e *executor) offer(top *topRows, seg uint64, offs []uint16, keys *fetcher) (err error) {
	if top.spilled != nil {
		return top.spilled.addAll(seg, offs, top, keys)
	}
	top.addAll(seg, offs, keys)
	if e.t.Spilling.full(top.bytes) && len(e.t.Sources) <= maxSpillSources {
		top.spilled, err = e.spillRows(top)
	}
	return err
}

func attnosOf(keys []OrderKey) []int {
	out := make([]int, len(keys))
	for i, k := range keys {
		out[i] = k.Attno
	}
	return out
}

// fetchInOrder yields the rows of ts in their order, until errEnough, gathering those of a segment together, some thousands at a time.
func (e *executor) fetchInOrder(ts []tid.TID, f *fetcher, yield func([]value.Value, error) bool) error {
	var order []int // positions in the chunk, by TID
	var offs []uint16
	for chunk := 0; len(ts) > 0; {
		chunk = chunkRows(f.cells, chunk)
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
				return errEnough
			}
		}
	}
	return nil
}

// sortRow is a row that is being sorted. Its first key stands in it in short, which decides nearly always: whether it
// is NULL, and the code of a value, or the first eight bytes of a string, turned round if the key is descending. keys are
// the keys in full, where there is more to know than that.
type sortRow struct {
	tid  tid.TID
	code uint64
	rank rank
	keys []sortKey
}

type sortKey struct {
	rank rank
	text bool // there is more to know than the code: str
	code uint64
	str  string
}

// rank says where a key's value stands in regard to the others.
type rank uint8

const (
	nullFirst rank = iota
	present
	nullLast
)

// nullRank returns where NULLs stand.
func (k *OrderKey) nullRank() rank {
	if k.NullsFirst {
		return nullFirst
	}
	return nullLast
}

// distanceCode returns the code of a distance, by which it is sorted.
func distanceCode(d float64) uint64 { return value.KeyCode(value.Float8, value.Float8Code(d)) }

// keyOf returns row i of v as a key. The code of a string is its beginning.
func keyOf(v *value.Vector, i int, k OrderKey) (rank, uint64) {
	if v.IsNull(i) || k.Distance != nil && k.Distance.null {
		return k.nullRank(), 0
	}
	var code uint64
	if k.Distance != nil {
		code = distanceCode(k.Distance.of(v, i))
	} else if v.Type.Width() == value.Var {
		var head [8]byte
		copy(head[:], v.Str[i])
		code = binary.BigEndian.Uint64(head[:])
	} else {
		code = value.KeyCode(v.Type, v.Code(i))
	}
	if k.Desc {
		code = ^code
	}
	return present, code
}

// topRows keeps the first `limit` rows of an order: a heap whose root is the last of them, or, as long as there are
// fewer, just a list.
type topRows struct {
	order []OrderKey
	limit int64
	rows  []sortRow
	heap  bool  // rows is a heap
	bytes int64 // of memory that the rows take, about
	// spilled, if not nil, has all rows instead; whoever has the topRows closes it.
	spilled *spilledRows
}

func (t *topRows) compare(a, b sortRow) int {
	if a.rank != b.rank {
		return cmp.Compare(a.rank, b.rank)
	}
	if a.code != b.code {
		return cmp.Compare(a.code, b.code)
	}
	for i := range a.keys {
		x, y := &a.keys[i], &b.keys[i]
		if x.rank != y.rank {
			return cmp.Compare(x.rank, y.rank)
		}
		if x.code != y.code {
			return cmp.Compare(x.code, y.code)
		}
		if c := strings.Compare(x.str, y.str); c != 0 {
			if t.order[i].Desc {
				return -c
			}
			return c
		}
	}
	return cmp.Compare(a.tid, b.tid)
}

// addAll offers the rows of a segment at offs, whose keys have been gathered.
func (t *topRows) addAll(seg uint64, offs []uint16, keys *fetcher) {
	first := &keys.vectors[keys.place[0]]
	full := len(t.order) > 1 || first.Type.Width() == value.Var && t.order[0].Distance == nil
	for i, o := range offs {
		row := sortRow{tid: tid.New(seg, o)}
		row.rank, row.code = keyOf(first, i, t.order[0])
		if int64(len(t.rows)) >= t.limit {
			t.fill()
			root := &t.rows[0]
			if row.rank > root.rank || row.rank == root.rank && row.code > root.code {
				continue
			}
		}
		row.keys = t.fullKeys(full, i, keys)
		t.add(row)
	}
}

// add offers a row with its keys.
func (t *topRows) add(row sortRow) {
	if int64(len(t.rows)) < t.limit {
		t.rows = append(t.rows, row)
		t.bytes += rowBytes
		for k := range row.keys {
			t.bytes += keyBytes + int64(len(row.keys[k].str))
		}
		return
	}
	t.fill()
	if t.compare(row, t.rows[0]) < 0 {
		t.rows[0] = row
		heap.Fix(t, 0)
	}
}

// fill makes a heap of the rows once there are as many as wanted.
func (t *topRows) fill() {
	if !t.heap {
		heap.Init(t)
		t.heap = true
	}
}

func (t *topRows) fullKeys(full bool, i int, keys *fetcher) []sortKey {
	if !full {
		return nil
	}
	return t.keysOf(make([]sortKey, 0, len(t.order)), i, keys)
}

// keysOf appends the keys of row i of those gathered.
func (t *topRows) keysOf(out []sortKey, i int, keys *fetcher) []sortKey {
	for k, o := range t.order {
		v := &keys.vectors[keys.place[k]]
		var x sortKey
		x.rank, x.code = keyOf(v, i, o)
		if x.rank == present && v.Type.Width() == value.Var && o.Distance == nil {
			x.text, x.str = true, v.Str[i]
		}
		out = append(out, x)
	}
	return out
}

// sorted returns the rows in order, all but the first `skip`. Once the context is cancelled all rows compare as equal,
// which ends the sorting.
func (t *topRows) sorted(ctx context.Context, skip int64) ([]tid.TID, error) {
	if err := sortAll(ctx, t.rows, t.compare); err != nil {
		return nil, err
	}
	if int64(len(t.rows)) > t.limit {
		t.rows = t.rows[:t.limit] // the heaps of several
	}
	if skip >= int64(len(t.rows)) {
		return nil, nil
	}
	out := make([]tid.TID, 0, int64(len(t.rows))-skip)
	for _, r := range t.rows[skip:] {
		out = append(out, r.tid)
	}
	return out, nil
}

// Len, Less and Swap are heap.Interface's: the root is the row that comes last.
// sortAll sorts as slices.SortFunc does, until the context ends: then all looks equal, which makes short work of the rest.
func sortAll[T any](ctx context.Context, all []T, compare func(a, b T) int) error {
	compared, stop := 0, false
	slices.SortFunc(all, func(a, b T) int {
		if compared++; compared&(1<<16-1) == 0 && ctx.Err() != nil {
			stop = true
		}
		if stop {
			return 0
		}
		return compare(a, b)
	})
	return ctx.Err()
}

func (t *topRows) Len() int           { return len(t.rows) }
func (t *topRows) Less(i, j int) bool { return t.compare(t.rows[i], t.rows[j]) > 0 }
func (t *topRows) Swap(i, j int)      { t.rows[i], t.rows[j] = t.rows[j], t.rows[i] }

// Push and Pop are never called: rows are added before there is a heap, and replaced afterwards.
func (t *topRows) Push(any) {}
func (t *topRows) Pop() any { return nil }
