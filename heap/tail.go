package heap

import (
	"context"
	"math/bits"
	"sync/atomic"

	"wideleaf/catalog"
	"wideleaf/tid"
	"wideleaf/value"
)

// TailBytes is where a tail is sealed before it has 65,536 rows: the sum of its rows' sizes (RowBytes) never goes
// over it, a single larger row aside. It is a constant of the format, so that segment borders are a function of the
// rows alone; it is the size of 65,536 rows of 128 int4 columns.
const TailBytes = 32 << 20

// Tail holds the newest rows of a table, column by column, in chunks that never move.
//
// One goroutine (the leader-committer) appends; any number read, through TailView, the rows that were published to
// them. What makes this safe: a row's cells are written before the row is published (under the engine's version
// lock), chunks are allocated once, and the one thing that neighbouring rows share, the words of a null bitmap, is
// accessed atomically.
type Tail struct {
	segment uint64
	types   []value.Type
	place   map[int]int // attno to position of the column
	chunks  [maxChunks]*chunk
	fixed   int64 // bytes a row without its strings
	strings []int // positions of Var columns
	rows    int
	bytes   int64
}

// chunk holds the rows [start, start+size) of all columns, by chunkOf.
type chunk struct{ columns []cells }

// cells are one column's part of a chunk.
type cells struct {
	u32   []uint32
	u64   []uint64
	str   []string
	null  atomic.Bool // whether any row of the chunk is NULL: most searches need no look at nulls
	nulls []uint64    // accessed atomically
}

// Chunks of 64, 64, 128, ... 1,024 rows, then of 2,048: a small table stays small, and a wide one, whose tail has few rows,
// wastes little. Larger ones are searched faster, each being a new place in memory.
const (
	firstChunk = 64
	fullChunk  = 2048
	growing    = 6 // chunks before the first of fullChunk rows, together fullChunk rows
	maxChunks  = growing + (tid.SegmentRows-fullChunk)/fullChunk
)

// chunkOf returns which chunk holds row i, and the chunk's first row and size.
func chunkOf(i int) (c, start, size int) {
	switch {
	case i < firstChunk:
		return 0, 0, firstChunk
	case i < fullChunk:
		c = bits.Len(uint(i)) - bits.Len(firstChunk) + 1
		return c, firstChunk << (c - 1), firstChunk << (c - 1)
	}
	c = i/fullChunk - 1
	return growing + c, (c + 1) * fullChunk, fullChunk
}

// NewTail returns an empty tail for a table's rows of one segment.
func NewTail(t *catalog.Table, segment uint64) *Tail {
	columns := t.Stored(segment)
	tl := &Tail{segment: segment, types: make([]value.Type, len(columns)), place: make(map[int]int, len(columns))}
	for i, c := range columns {
		tl.types[i] = c.Type
		tl.place[c.Attno] = i
		switch c.Type.Width() {
		case value.Word32:
			tl.fixed += 4
		case value.Word64:
			tl.fixed += 8
		default:
			tl.fixed += 4
			tl.strings = append(tl.strings, i)
		}
	}
	return tl
}

// Segment returns the number of the segment that the tail's rows belong to.
func (t *Tail) Segment() uint64 { return t.segment }

// Len returns the number of rows appended; only the appending goroutine may ask.
func (t *Tail) Len() int { return t.rows }

// Bytes returns the size of the rows appended; only the appending goroutine may ask.
func (t *Tail) Bytes() int64 { return t.bytes }

// Fit returns how many of the rows [from, n) of a batch, whose columns are the table's, the tail still takes. A tail
// that takes none of them is full.
func (t *Tail) Fit(cols []*value.Vector, from, n int) int {
	n = min(n, from+tid.SegmentRows-t.rows)
	left := TailBytes - t.bytes
	if len(t.strings) == 0 {
		k := min(n-from, int(left/max(t.fixed, 1)))
		if k <= 0 && t.rows == 0 {
			k = min(1, n-from)
		}
		return max(k, 0)
	}
	i := from
	for ; i < n; i++ {
		left -= t.rowBytes(cols, i)
		if left < 0 && (i > from || t.rows > 0) {
			break
		}
	}
	return i - from
}

// rowBytes is a row's size: four or eight bytes a column, and its strings' lengths.
func (t *Tail) rowBytes(cols []*value.Vector, row int) int64 {
	n := t.fixed
	for _, c := range t.strings {
		n += int64(len(cols[c].Str[row]))
	}
	return n
}

// Append adds the rows [from, to) of a batch, which must fit. It keeps their strings.
func (t *Tail) Append(cols []*value.Vector, from, to int) {
	for at := t.rows; from < to; {
		c, start, size := chunkOf(at)
		n := min(to-from, start+size-at)
		if t.chunks[c] == nil {
			t.chunks[c] = newChunk(t.types, size)
		}
		columns := t.chunks[c].columns
		for i, v := range cols {
			k := &columns[i]
			if n == 1 && k.u32 != nil && len(v.Nulls) == 0 { // the commonest case, without a call
				k.u32[at-start] = v.U32[from]
				continue
			}
			k.put(v, from, n, at-start)
		}
		if len(t.strings) == 0 {
			t.bytes += t.fixed * int64(n)
		} else {
			for i := from; i < from+n; i++ {
				t.bytes += t.rowBytes(cols, i)
			}
		}
		from, at = from+n, at+n
		t.rows = at
	}
}

// newChunk allocates the cells of all columns, those of one width in one piece. Between two columns lies a cache line: a
// row's cells would otherwise be a power of two apart, and all compete for the same few lines of the processor's cache.
func newChunk(types []value.Type, size int) *chunk {
	const line = 64
	k := &chunk{columns: make([]cells, len(types))}
	var n32, n64 int
	for _, t := range types {
		switch t.Width() {
		case value.Word32:
			n32++
		case value.Word64:
			n64++
		}
	}
	u32 := make([]uint32, n32*(size+line/4))
	u64 := make([]uint64, n64*(size+line/8))
	nulls := make([]uint64, len(types)*size/64)
	for i, t := range types {
		c := &k.columns[i]
		c.nulls, nulls = nulls[:size/64:size/64], nulls[size/64:]
		switch t.Width() {
		case value.Word32:
			c.u32, u32 = u32[:size:size], u32[size+line/4:]
		case value.Word64:
			c.u64, u64 = u64[:size:size], u64[size+line/8:]
		default:
			c.str = make([]string, size)
		}
	}
	return k
}

// put writes n rows of v, from row `from` on, to the chunk's rows from `at` on.
func (k *cells) put(v *value.Vector, from, n, at int) {
	switch {
	case k.u32 != nil:
		copy(k.u32[at:at+n], v.U32[from:from+n])
	case k.u64 != nil:
		copy(k.u64[at:at+n], v.U64[from:from+n])
	default:
		copy(k.str[at:at+n], v.Str[from:from+n])
	}
	if len(v.Nulls) == 0 {
		return
	}
	for i := range n {
		if v.IsNull(from + i) {
			k.null.Store(true)
			atomic.OrUint64(&k.nulls[(at+i)>>6], 1<<((at+i)&63))
		}
	}
}

// View returns the first rows of the tail, which must have been published to the caller.
func (t *Tail) View(rows int) TailView { return TailView{t, rows} }

// TailView is the published part of a tail, as a Source. It stays as it is whatever is appended.
type TailView struct {
	tail *Tail
	rows int
}

var _ Source = TailView{}

// Number returns the segment's number.
func (v TailView) Number() uint64 { return v.tail.segment }

// Rows returns the number of rows.
func (v TailView) Rows() int { return v.rows }

// vector returns the view's rows in one chunk as a vector over the chunk's memory; nulls is scratch.
func (v TailView) vector(p, c, start, size int, nulls []uint64) value.Vector {
	n := min(size, v.rows-start)
	k := &v.tail.chunks[c].columns[p]
	vec := value.Vector{Type: v.tail.types[p], N: n}
	switch {
	case k.u32 != nil:
		vec.U32 = k.u32[:n]
	case k.u64 != nil:
		vec.U64 = k.u64[:n]
	default:
		vec.Str = k.str[:n]
	}
	if !k.null.Load() {
		return vec
	}
	words := (n + 63) >> 6
	any := uint64(0)
	for w := range words {
		x := atomic.LoadUint64(&k.nulls[w])
		if w == words-1 && n&63 != 0 {
			x &= 1<<(n&63) - 1
		}
		nulls[w] = x
		any |= x
	}
	if any != 0 {
		vec.Nulls = nulls[:words]
	}
	return vec
}

// Select is Source's: a linear search, half a nanosecond a row of a 32-bit column.
func (v TailView) Select(ctx context.Context, attno int, r value.Ranges, cand, out []uint64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p, ok := v.tail.place[attno]
	if !ok {
		selectMissing(v.rows, r, cand, out)
		return nil
	}
	var nulls, hits [fullChunk / 64]uint64
	for start := 0; start < v.rows; {
		c, _, size := chunkOf(start)
		words := (min(size, v.rows-start) + 63) >> 6
		if cand == nil {
			vec := v.vector(p, c, start, size, nulls[:])
			r.SelectAt(&vec, out, start)
		} else if anySet(cand[start>>6 : start>>6+words]) {
			vec := v.vector(p, c, start, size, nulls[:])
			clear(hits[:words])
			r.SelectAt(&vec, hits[:], 0)
			for w := range words {
				out[start>>6+w] |= hits[w] & cand[start>>6+w]
			}
		}
		start += size
	}
	return nil
}

func anySet(words []uint64) bool {
	for _, w := range words {
		if w != 0 {
			return true
		}
	}
	return false
}

// selectMissing answers for a column that a segment lacks: it is NULL in every row.
func selectMissing(rows int, r value.Ranges, cand, out []uint64) {
	if r.Nulls {
		selectAll(rows, cand, out)
	}
}

// selectAll sets the bits of all rows, or of those in cand.
func selectAll(rows int, cand, out []uint64) {
	for w := 0; w<<6 < rows; w++ {
		x := ^uint64(0)
		if left := rows - w<<6; left < 64 {
			x = 1<<left - 1
		}
		if cand != nil {
			x &= cand[w]
		}
		out[w] |= x
	}
}

// Gather is Source's.
func (v TailView) Gather(ctx context.Context, attno int, offs []uint16, dst *value.Vector) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p, ok := v.tail.place[attno]
	if !ok {
		for range offs {
			dst.AppendNull()
		}
		return nil
	}
	for _, o := range offs {
		c, start, _ := chunkOf(int(o))
		k, i := &v.tail.chunks[c].columns[p], int(o)-start
		switch {
		case k.null.Load() && atomic.LoadUint64(&k.nulls[i>>6])>>(i&63)&1 != 0:
			dst.AppendNull()
		case k.u32 != nil:
			dst.AppendCode(uint64(k.u32[i]))
		case k.u64 != nil:
			dst.AppendCode(k.u64[i])
		default:
			dst.Str = append(dst.Str, k.str[i])
			dst.N++
		}
	}
	return nil
}

// Column is Source's.
func (v TailView) Column(ctx context.Context, attno int, dst *value.Vector) error {
	return v.Interval(ctx, attno, 0, v.rows, dst)
}

// Interval appends the values of the rows [from, to) to dst, which has been Reset to the column's type.
func (v TailView) Interval(ctx context.Context, attno, from, to int, dst *value.Vector) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p, ok := v.tail.place[attno]
	if !ok {
		for range to - from {
			dst.AppendNull()
		}
		return nil
	}
	var nulls [fullChunk / 64]uint64
	for from < to {
		c, start, size := chunkOf(from)
		vec := v.vector(p, c, start, size, nulls[:])
		lo, hi := from-start, min(to-start, vec.N)
		base := dst.N
		switch {
		case vec.U32 != nil:
			dst.U32 = append(dst.U32, vec.U32[lo:hi]...)
		case vec.U64 != nil:
			dst.U64 = append(dst.U64, vec.U64[lo:hi]...)
		default:
			dst.Str = append(dst.Str, vec.Str[lo:hi]...)
		}
		dst.N += hi - lo
		for w := lo >> 6; w < len(vec.Nulls) && w<<6 < hi; w++ {
			for x := vec.Nulls[w]; x != 0; x &= x - 1 {
				if i := w<<6 + bits.TrailingZeros64(x); i >= lo && i < hi {
					dst.SetNull(base + i - lo)
				}
			}
		}
		from = start + hi
	}
	return nil
}
