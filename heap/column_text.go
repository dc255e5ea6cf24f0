package heap

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"wideleaf/value"
)

// textEncoder is the columnEncoder of strings. Strips are cut where the next string would not fit.
type textEncoder struct {
	head strip // attno and typ
	v    *value.Vector
	long map[int]overflowRef // by row: where the long values are
	from int
	next plan

	// Of the planned strip: the values that are not NULL and their rows; the text and its ends.
	strs []string
	rows []int
	text []byte
	ends []uint32

	// Of the dictionary that was planned last: distinct strings and their numbers, in the order of their coming, and
	// the number of each value's.
	distinct []string
	number   map[string]uint32
	places   []uint32
}

func (e *textEncoder) reset(attno int, v *value.Vector, long map[int]overflowRef) {
	e.head = strip{attno: attno, typ: v.Type}
	e.v, e.long = v, long
	if e.number == nil {
		e.number = map[string]uint32{}
	}
}

// headSize is the most that a strip takes before its ends.
func (e *textEncoder) headSize(rows, n int) int {
	size := stripHeader + 2 + 2*boundBytes + 2
	if n < rows {
		size += (rows + 7) / 8
	}
	return size
}

// textSize is the size of n strings of total bytes and their ends.
func textSize(n, total int) int { return packedBytes(n, bits.Len(uint(total))) + total }

func (e *textEncoder) plan(from, room int) int {
	e.from, e.next = from, e.planText(from, room)
	if dict := e.planDict(from, room); dict.cheaper(e.next) {
		e.next = dict
	}
	return e.next.rows
}

func (e *textEncoder) planText(from, room int) (p plan) {
	n, total, longs := 0, 0, 0
	for row := from; row < e.v.N; row++ {
		rows := row + 1 - from
		if !e.v.IsNull(row) {
			n++
			if size := len(e.v.Str[row]); size > maxInline {
				longs++
			} else {
				total += size
			}
		}
		next := plan{encText, rows, e.headSize(rows, n) + textSize(n, total)}
		switch {
		case n == 0:
			next = plan{encNull, rows, stripHeader}
		case longs > 0:
			next = plan{encLongText, rows, e.headSize(rows, n) + textSize(n, total+n+longs*overflowRefBytes)}
		}
		if next.size > room {
			break
		}
		p = next
	}
	return p
}

// planDict leaves the distinct strings, in the order of their coming, and each value's number among them in e.
func (e *textEncoder) planDict(from, room int) (p plan) {
	clear(e.number)
	e.distinct, e.places = e.distinct[:0], e.places[:0]
	total := 0
	for row := from; row < e.v.N; row++ {
		// What it would be with this row.
		n, d, size := len(e.places), len(e.distinct), total
		var s string
		var k uint32
		null, known := e.v.IsNull(row), true
		if !null {
			if s = e.v.Str[row]; len(s) > maxInline {
				break
			}
			n++
			if k, known = e.number[s]; !known {
				k = uint32(d)
				d++
				size += len(s)
			}
		}
		if n == 64 && d > 56 {
			return plan{} // strings that hardly repeat are not worth the hashing
		}
		if n == 0 {
			continue
		}
		rows := row + 1 - from
		all := e.headSize(rows, n) + 2 + textSize(d, size) + packedBytes(n, bits.Len(uint(d-1)))
		if all > room {
			break
		}
		p = plan{encTextDict, rows, all}
		if !known {
			e.number[s] = k
			e.distinct = append(e.distinct, s)
			total = size
		}
		if !null {
			e.places = append(e.places, k)
		}
	}
	return p
}

func (e *textEncoder) appendStrip(dst []byte) ([]byte, facts) {
	strs, rows := e.strs[:0], e.rows[:0]
	for row := e.from; row < e.from+e.next.rows; row++ {
		if !e.v.IsNull(row) {
			strs, rows = append(strs, e.v.Str[row]), append(rows, row)
		}
	}
	e.strs, e.rows = strs, rows
	f := facts{first: e.from, rows: e.next.rows, nulls: e.next.rows - len(strs)}
	at := len(dst)
	dst = appendStripHeader(dst, &e.head, e.next.enc, f)
	if len(strs) == 0 {
		return sizeStrip(dst, at), f
	}
	f.strings.Lo = lowerBound(slices.Min(strs))
	f.strings.Hi, f.strings.HiInf = upperBound(slices.Max(strs))
	dst = appendTextBounds(dst, f.strings)
	if f.nulls > 0 {
		dst = appendBits(dst, e.v.Nulls, e.from, e.next.rows)
	}
	if e.next.enc == encTextDict {
		return sizeStrip(e.appendDict(dst), at), f
	}
	e.text, e.ends = e.text[:0], e.ends[:0]
	for i, s := range strs {
		switch {
		case e.next.enc == encText:
			e.text = append(e.text, s...)
		case len(s) <= maxInline:
			e.text = append(append(e.text, textHere), s...)
		default:
			e.text = append(e.text, textOverflow)
			ref := e.long[rows[i]]
			e.text = binary.LittleEndian.AppendUint32(e.text, ref.block)
			e.text = binary.LittleEndian.AppendUint32(e.text, ref.length)
		}
		e.ends = append(e.ends, uint32(len(e.text)))
	}
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(e.text)))
	dst = appendPacked(dst, e.ends, 0, bits.Len(uint(len(e.text))))
	return sizeStrip(append(dst, e.text...), at), f
}

// appendDict appends the dictionary and the places that planDict found.
func (e *textEncoder) appendDict(dst []byte) []byte {
	dict := slices.Clone(e.distinct)
	slices.Sort(dict)
	e.text, e.ends = e.text[:0], e.ends[:0]
	for k, s := range dict {
		e.number[s] = uint32(k)
		e.text = append(e.text, s...)
		e.ends = append(e.ends, uint32(len(e.text)))
	}
	for i, k := range e.places {
		e.places[i] = e.number[e.distinct[k]]
	}
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(dict)))
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(e.text)))
	dst = appendPacked(dst, e.ends, 0, bits.Len(uint(len(e.text))))
	dst = appendPacked(dst, e.places, 0, bits.Len(uint(len(dict)-1)))
	return append(dst, e.text...)
}
