package heap

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"wideleaf/tid"
	"wideleaf/value"
)

// A columnEncoder cuts one column into strips. What it does is a function of the values alone.
type columnEncoder interface {
	// plan decides on the strip that begins at row `from` and takes at most room bytes, and returns its number of
	// rows: 0 if not even a few fit.
	plan(from, room int) int
	// appendStrip appends the planned strip.
	appendStrip(dst []byte) ([]byte, facts)
}

// plan is a way to encode rows: how many, in how many bytes at most.
type plan struct {
	enc        encoding
	rows, size int
}

// cheaper reports whether p takes fewer bytes a row than q, and covers any rows at all.
func (p plan) cheaper(q plan) bool {
	return p.rows > 0 && (q.rows == 0 || p.size*q.rows < q.size*p.rows)
}

// blockRows is the granularity in which strips of codes are cut: strips begin at a multiple of it, so that their
// rows fill whole words of a bitset. 64 rows of 64 bits are a sixteenth of a page.
const blockRows = 64

// codeEncoder is the columnEncoder of fixed-width types. One pass over the column gathers what the planning needs
// of each block; a second one, over each strip, writes it.
type codeEncoder[T word] struct {
	head   strip // attno and typ
	vs     []T
	nulls  []uint64
	blocks []blockFacts[T]
	set    distinctSet
	dense  []T // values of the strip that are not NULL, when some are

	from   int
	next   plan
	lo, hi T
	n      int // values of the planned strip
}

type blockFacts[T word] struct {
	lo, hi  T
	n       int // values: rows that are not NULL
	changes int // values that differ from the one before, that of an earlier block included
}

func (e *codeEncoder[T]) reset(attno int, v *value.Vector, vs []T) {
	e.head = strip{attno: attno, typ: v.Type}
	e.vs, e.nulls = vs, v.Nulls
	e.blocks = slices.Grow(e.blocks[:0], bitWords(len(vs)))
	last, any := T(0), false
	for at := 0; at < len(vs); at += blockRows {
		vs := vs[at:min(at+blockRows, len(vs))]
		if x := bitsAt(v.Nulls, at, len(vs)); x != 0 {
			vs = e.compact(vs, x)
		}
		b := blockFacts[T]{lo: ^T(0), n: len(vs)}
		if !any && len(vs) > 0 {
			last, any = vs[0], true
		}
		lo, hi, changes := b.lo, b.hi, 0
		for _, x := range vs {
			lo, hi = min(lo, x), max(hi, x)
			if x != last {
				changes++
			}
			last = x
		}
		b.lo, b.hi, b.changes = lo, hi, changes
		e.blocks = append(e.blocks, b)
	}
}

// compact returns the values of a block that are not NULL.
func (e *codeEncoder[T]) compact(vs []T, nulls uint64) []T {
	e.dense = e.dense[:0]
	for i, x := range vs {
		if nulls>>i&1 == 0 {
			e.dense = append(e.dense, x)
		}
	}
	return e.dense
}

// headSize is the size of a strip before its body.
func (e *codeEncoder[T]) headSize(rows, n int) int {
	size := stripHeader + 2*codeBytes(e.head.typ)
	if n < rows {
		size += (rows + 7) / 8
	}
	return size
}

func (e *codeEncoder[T]) plan(from, room int) int {
	e.from = from
	e.next = plan{}
	// Plain packing and runs: take in block after block while they fit.
	packed, runs := plan{enc: encPacked}, plan{enc: encRuns}
	packing, running := true, true
	lo, hi := ^T(0), T(0)
	n, changes := 0, 0
	for i := from / blockRows; i < len(e.blocks) && (packing || running); i++ {
		b := &e.blocks[i]
		lo, hi = min(lo, b.lo), max(hi, b.hi)
		n += b.n
		changes += b.changes
		rows := min((i+1)*blockRows, len(e.vs)) - from
		if n == 0 {
			e.next = plan{encNull, rows, stripHeader}
			continue
		}
		width := bits.Len64(uint64(hi - lo))
		head := e.headSize(rows, n)
		if packing {
			size := head + packedBytes(n, width)
			if packing = size <= room; packing {
				packed.rows, packed.size = rows, size
			}
		}
		if running {
			r := min(changes+1, n)
			size := head + 2 + packedBytes(r, width) + packedBytes(r, bits.Len(uint(n-1)))
			if running = size <= room && r < tid.SegmentRows; running {
				runs.rows, runs.size = rows, size
			}
		}
	}
	if packed.rows > 0 {
		e.next = packed
	}
	if runs.cheaper(e.next) {
		e.next = runs
	}
	if e.promising(from, e.next.rows) {
		if dict := e.planDict(from, room); dict.cheaper(e.next) {
			e.next = dict
		}
	}
	e.lo, e.hi, e.n = ^T(0), 0, 0
	for i := from / blockRows; i < bitWords(from+e.next.rows); i++ {
		b := &e.blocks[i]
		e.lo, e.hi = min(e.lo, b.lo), max(e.hi, b.hi)
		e.n += b.n
	}
	return e.next.rows
}

// promising reports whether a dictionary is worth a try, from 64 values spread over the rows: the places of as many
// distinct values as they have must take at least a quarter fewer bits than the codes, and some must repeat.
func (e *codeEncoder[T]) promising(from, rows int) bool {
	const sample = 64
	if rows < sample || e.next.enc == encNull {
		return false
	}
	e.set.clear()
	lo, hi, n := ^T(0), T(0), 0
	for i := range sample {
		row := from + i*rows/sample
		if bitsAt(e.nulls, row, 1) != 0 {
			continue
		}
		x := e.vs[row]
		lo, hi = min(lo, x), max(hi, x)
		e.set.add(uint64(x))
		n++
	}
	if n == 0 {
		return false
	}
	d := len(e.set.values)
	return d <= n-n/8 && bits.Len(uint(d-1))*4 <= bits.Len64(uint64(hi-lo))*3
}

// planDict takes in block after block while a dictionary and the places fit.
func (e *codeEncoder[T]) planDict(from, room int) plan {
	p := plan{enc: encDict}
	e.set.clear()
	lo, hi, n := ^T(0), T(0), 0
	for i := from / blockRows; i < len(e.blocks); i++ {
		b := &e.blocks[i]
		at, end := i*blockRows, min((i+1)*blockRows, len(e.vs))
		nulls := bitsAt(e.nulls, at, end-at)
		for j, x := range e.vs[at:end] {
			if nulls>>j&1 == 0 {
				e.set.add(uint64(x))
			}
		}
		lo, hi = min(lo, b.lo), max(hi, b.hi)
		n += b.n
		d := len(e.set.values)
		if d > maxDistinct {
			break
		}
		if d == 0 {
			continue
		}
		size := e.headSize(end-from, n) + 2 + packedBytes(d, bits.Len64(uint64(hi-lo))) +
			packedBytes(n, bits.Len(uint(d-1)))
		if size > room {
			break
		}
		p.rows, p.size = end-from, size
	}
	return p
}

func (e *codeEncoder[T]) appendStrip(dst []byte) ([]byte, facts) {
	rows, nulls := e.next.rows, e.next.rows-e.n
	f := facts{first: e.from, rows: rows, nulls: nulls}
	at := len(dst)
	dst = appendStripHeader(dst, &e.head, e.next.enc, f)
	if e.n == 0 {
		return sizeStrip(dst, at), f
	}
	f.words = value.Interval{Lo: uint64(e.lo), Hi: uint64(e.hi)}
	if e.head.typ.Width() == value.Word32 {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(e.lo))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(e.hi))
	} else {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(e.lo))
		dst = binary.LittleEndian.AppendUint64(dst, uint64(e.hi))
	}
	vs := e.vs[e.from : e.from+rows]
	if nulls > 0 {
		dst = appendBits(dst, e.nulls, e.from, rows)
		vs = e.values(vs)
	}
	width := bits.Len64(uint64(e.hi - e.lo))
	switch e.next.enc {
	case encPacked:
		dst = appendPacked(dst, vs, e.lo, width)
	case encRuns:
		dst = e.appendRuns(dst, vs, width)
	case encDict:
		dst = e.appendDict(dst, vs, width)
	}
	return sizeStrip(dst, at), f
}

// values returns the planned strip's values that are not NULL.
func (e *codeEncoder[T]) values(vs []T) []T {
	e.dense = e.dense[:0]
	for i := 0; i < len(vs); i += 64 {
		block := vs[i:min(i+64, len(vs))]
		nulls := bitsAt(e.nulls, e.from+i, len(block))
		if nulls == 0 {
			e.dense = append(e.dense, block...)
			continue
		}
		for j, x := range block {
			if nulls>>j&1 == 0 {
				e.dense = append(e.dense, x)
			}
		}
	}
	return e.dense
}

func (e *codeEncoder[T]) appendRuns(dst []byte, vs []T, width int) []byte {
	var heads []T
	var lasts []uint32
	for i, x := range vs {
		if i+1 == len(vs) || vs[i+1] != x {
			heads, lasts = append(heads, x), append(lasts, uint32(i))
		}
	}
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(heads)))
	dst = appendPacked(dst, heads, e.lo, width)
	return appendPacked(dst, lasts, 0, bits.Len(uint(len(vs)-1)))
}

func (e *codeEncoder[T]) appendDict(dst []byte, vs []T, width int) []byte {
	e.set.clear()
	places := make([]uint32, len(vs))
	for i, x := range vs {
		places[i] = e.set.add(uint64(x))
	}
	dict, rank := e.set.sorted()
	for i, p := range places {
		places[i] = rank[p]
	}
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(dict)))
	dst = appendPacked(dst, dict, uint64(e.lo), width)
	return appendPacked(dst, places, 0, bits.Len(uint(len(dict)-1)))
}

// appendStripHeader appends a strip's first stripHeader bytes; sizeStrip puts in its size when it is complete.
func appendStripHeader(dst []byte, s *strip, enc encoding, f facts) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, uint16(s.attno))
	dst = append(dst, byte(s.typ), byte(enc), 0, 0)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(f.first))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(f.rows))
	return binary.LittleEndian.AppendUint32(dst, uint32(f.nulls))
}

func sizeStrip(dst []byte, at int) []byte {
	binary.LittleEndian.PutUint16(dst[at+4:], uint16(len(dst)-at))
	return dst
}

// maxDistinct bounds a dictionary of codes: with more, places and dictionary seldom take less than packed codes, and
// the hash table outgrows the processor's first cache.
const maxDistinct = 2048

// slotBits makes the hash table of distinct values twice as large as it can get full.
const slotBits = 12

// distinctSet numbers distinct values in the order of their coming. It takes up to a block more than maxDistinct of them.
type distinctSet struct {
	values []uint64
	slots  [1 << slotBits]uint32 // stamp<<16 | number of the value
	stamp  uint32
	last   uint64 // the value added last and its number: runs are common
	number uint32
}

func (s *distinctSet) clear() {
	s.values = s.values[:0]
	if s.stamp++; s.stamp == 1<<16 {
		s.stamp = 1
		clear(s.slots[:])
	}
}

func (s *distinctSet) add(x uint64) uint32 {
	if len(s.values) > 0 && x == s.last {
		return s.number
	}
	s.last = x
	h := x * 0x9e3779b97f4a7c15 >> (64 - slotBits)
	for {
		slot := s.slots[h]
		if slot>>16 != s.stamp {
			s.number = uint32(len(s.values))
			s.slots[h] = s.stamp<<16 | s.number
			s.values = append(s.values, x)
			return s.number
		}
		if n := slot & 0xffff; s.values[n] == x {
			s.number = n
			return n
		}
		h = (h + 1) % uint64(len(s.slots))
	}
}

// sorted returns the values in order and, by the number of a value, its place among them.
func (s *distinctSet) sorted() (values []uint64, rank []uint32) {
	values = slices.Clone(s.values)
	slices.Sort(values)
	rank = make([]uint32, len(values))
	for i, x := range s.values {
		place, _ := slices.BinarySearch(values, x)
		rank[i] = uint32(place)
	}
	return values, rank
}
