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
	text []byte
	ends []uint32
}

func (e *textEncoder) reset(attno int, v *value.Vector, long map[int]overflowRef) {
	e.head = strip{attno: attno, typ: v.Type}
	e.v, e.long = v, long
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

func (e *textEncoder) planDict(from, room int) (p plan) {
	distinct := map[string]struct{}{}
	n, total := 0, 0
	for row := from; row < e.v.N; row++ {
		if !e.v.IsNull(row) {
			s := e.v.Str[row]
			if len(s) > maxInline {
				break
			}
			n++
			if _, ok := distinct[s]; !ok {
				distinct[s] = struct{}{}
				total += len(s)
			}
		}
		d := len(distinct)
		if n == 64 && d > 56 {
			return plan{} // strings that hardly repeat are not worth the hashing
		}
		if n == 0 {
			continue
		}
		rows := row + 1 - from
		size := e.headSize(rows, n) + 2 + textSize(d, total) + packedBytes(n, bits.Len(uint(d-1)))
		if size > room {
			break
		}
		p = plan{encTextDict, rows, size}
	}
	return p
}

func (e *textEncoder) appendStrip(dst []byte) ([]byte, facts) {
	var strs []string
	var refs []overflowRef // of strs, for encLongText
	for row := e.from; row < e.from+e.next.rows; row++ {
		if !e.v.IsNull(row) {
			strs = append(strs, e.v.Str[row])
			refs = append(refs, e.long[row])
		}
	}
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
		return sizeStrip(e.appendDict(dst, strs), at), f
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
			e.text = binary.LittleEndian.AppendUint32(e.text, refs[i].block)
			e.text = binary.LittleEndian.AppendUint32(e.text, refs[i].length)
		}
		e.ends = append(e.ends, uint32(len(e.text)))
	}
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(e.text)))
	dst = appendPacked(dst, e.ends, 0, bits.Len(uint(len(e.text))))
	return sizeStrip(append(dst, e.text...), at), f
}

func (e *textEncoder) appendDict(dst []byte, strs []string) []byte {
	dict := slices.Clone(strs)
	slices.Sort(dict)
	dict = slices.Compact(dict)
	e.text, e.ends = e.text[:0], e.ends[:0]
	place := make(map[string]uint32, len(dict))
	for i, s := range dict {
		place[s] = uint32(i)
		e.text = append(e.text, s...)
		e.ends = append(e.ends, uint32(len(e.text)))
	}
	places := make([]uint32, len(strs))
	for i, s := range strs {
		places[i] = place[s]
	}
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(dict)))
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(e.text)))
	dst = appendPacked(dst, e.ends, 0, bits.Len(uint(len(e.text))))
	dst = appendPacked(dst, places, 0, bits.Len(uint(len(dict)-1)))
	return append(dst, e.text...)
}
