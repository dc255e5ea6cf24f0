package heap

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"sort"
	"sync"

	"wideleaf/tid"
	"wideleaf/value"
)

// scratch is the memory that decoding a strip needs beside its result.
type scratch struct {
	nulls, rows, dense, hits [tid.Words]uint64

	codes  []uint64
	places []uint32
	text   []byte
	texts  []string
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// loader reads the long value of a row of the segment from its overflow pages.
type loader func(row int, ref overflowRef) (string, error)

// damage is what is wrong with a page; whoever knows which page it is makes it a page.CorruptError.
type damage string

func (d damage) Error() string { return string(d) }

func damaged(format string, args ...any) error { return damage(fmt.Sprintf(format, args...)) }

func (s *strip) bad(format string, args ...any) error {
	return damaged("strip at offset %d: %s", s.at, fmt.Sprintf(format, args...))
}

// nullWords returns the bitset of NULL rows, nil if there are none.
func (s *strip) nullWords(sc *scratch) []uint64 {
	switch {
	case s.nulls == 0:
		return nil
	case s.enc == encNull:
		w := sc.nulls[:bitWords(s.rows)]
		clear(w)
		setBits(w, 0, s.rows)
		return w
	}
	return loadBits(sc.nulls[:], s.bitmap, s.rows)
}

// dict returns the codes of a dictionary or of runs.
func (s *strip) dict(sc *scratch) []uint64 {
	sc.codes = slices.Grow(sc.codes[:0], s.count)[:s.count]
	unpack(sc.codes, s.codes, s.words.Lo, s.width)
	return sc.codes
}

// eachRun calls f with the code and the first and last place of each run.
func (s *strip) eachRun(sc *scratch, f func(code uint64, first, last int)) error {
	codes := s.dict(sc)
	sc.places = slices.Grow(sc.places[:0], s.count)[:s.count]
	unpack(sc.places, s.places, 0, s.pwidth)
	first := 0
	for i, last := range sc.places {
		if int(last) < first || int(last) >= s.values() {
			return s.bad("run %d ends at value %d of %d", i, last, s.values())
		}
		f(codes[i], first, int(last))
		first = int(last) + 1
	}
	if first != s.values() {
		return s.bad("its runs hold %d values of %d", first, s.values())
	}
	return nil
}

// eachPlaces calls f with the places of up to 64 values at a time, from value `from` on, all less than s.count.
func (s *strip) eachPlaces(f func(from int, places []uint32)) error {
	var group [64]uint32
	n := s.values()
	for from := 0; from < n; from += 64 {
		g := group[:min(64, n-from)]
		unpack(g, s.places[from/8*s.pwidth:], 0, s.pwidth)
		top := uint32(0)
		for _, p := range g {
			top = max(top, p)
		}
		if int(top) >= s.count {
			return s.bad("a value has place %d of %d", top, s.count)
		}
		f(from, g)
	}
	return nil
}

// decodeCodes sets dst to the values that are not NULL.
func decodeCodes[T word](s *strip, dst []T, sc *scratch) error {
	switch s.enc {
	case encPacked:
		unpack(dst, s.codes, T(s.words.Lo), s.width)
	case encRuns:
		return s.eachRun(sc, func(code uint64, first, last int) {
			run := dst[first : last+1]
			for i := range run {
				run[i] = T(code)
			}
		})
	case encDict:
		codes := s.dict(sc)
		return s.eachPlaces(func(from int, places []uint32) {
			for i, p := range places {
				dst[from+i] = T(codes[p])
			}
		})
	}
	return nil
}

// code returns one value; false if the strip is damaged.
func (s *strip) code(j int) (uint64, bool) {
	switch s.enc {
	case encDict:
		j = int(packedAt(s.places, j, s.pwidth))
	case encRuns:
		j = sort.Search(s.count, func(k int) bool { return packedAt(s.places, k, s.pwidth) >= uint64(j) })
	default:
		return s.words.Lo + packedAt(s.codes, j, s.width), true
	}
	if j >= s.count {
		return 0, false
	}
	return s.words.Lo + packedAt(s.codes, j, s.width), true
}

// entry returns the bytes of string k of the strip (not of value k, if it has a dictionary).
func (s *strip) entry(k int) ([]byte, error) {
	from := uint64(0)
	if k > 0 {
		from = packedAt(s.ends, k-1, s.ewidth)
	}
	end := packedAt(s.ends, k, s.ewidth)
	if from > end || end > uint64(len(s.text)) {
		return nil, s.bad("string %d is said to be at %d to %d of %d", k, from, end, len(s.text))
	}
	return s.text[from:end], nil
}

// inline returns the bytes of an entry that stands in the page; otherwise long is true and ref says where it is.
func (s *strip) inline(b []byte) (here []byte, ref overflowRef, long bool, err error) {
	switch {
	case s.enc != encLongText:
		return b, ref, false, nil
	case len(b) > 0 && b[0] == textHere:
		return b[1:], ref, false, nil
	case len(b) == 1+overflowRefBytes && b[0] == textOverflow:
		ref = overflowRef{binary.LittleEndian.Uint32(b[1:]), binary.LittleEndian.Uint32(b[5:])}
		return nil, ref, true, nil
	}
	return nil, ref, false, s.bad("a long text's entry has %d bytes", len(b))
}

// string returns a string that is in the page or that load reads; row is the row in the segment.
func (s *strip) string(k, row int, load loader) (string, error) {
	b, err := s.entry(k)
	if err != nil {
		return "", err
	}
	b, ref, long, err := s.inline(b)
	if err != nil {
		return "", err
	}
	if long {
		return load(row, ref)
	}
	return string(b), nil
}

// decodeText sets dst to the values that are not NULL. Short ones share one copy of the strip's text.
func (s *strip) decodeText(dst []string, nulls []uint64, sc *scratch, load loader) error {
	switch s.enc {
	case encNull:
		return nil
	case encLongText:
		rows := rowCounter{nulls: nulls}
		for j := range dst {
			var err error
			if dst[j], err = s.string(j, s.first+rows.next(), load); err != nil {
				return err
			}
		}
		return nil
	}
	text := string(s.text)
	sc.texts = slices.Grow(sc.texts[:0], s.count)
	defer func() { clear(sc.texts) }() // the pool must not keep the text alive
	sc.places = slices.Grow(sc.places[:0], s.count)[:s.count]
	unpack(sc.places, s.ends, 0, s.ewidth)
	from := uint32(0)
	for k, end := range sc.places {
		if end < from || int(end) > len(text) {
			return s.bad("string %d is said to be at %d to %d of %d", k, from, end, len(text))
		}
		sc.texts = append(sc.texts, text[from:end])
		from = end
	}
	if s.enc == encText {
		copy(dst, sc.texts)
		return nil
	}
	return s.eachPlaces(func(from int, places []uint32) {
		for i, p := range places {
			dst[from+i] = sc.texts[p]
		}
	})
}

// rowCounter finds the row of each value.
type rowCounter struct {
	nulls []uint64
	row   int
}

// next returns the next row that is not NULL.
func (c *rowCounter) next() int {
	for c.nulls != nil && c.nulls[c.row>>6]>>(c.row&63)&1 != 0 {
		c.row++
	}
	c.row++
	return c.row - 1
}

// valueCounter finds the value of each row.
type valueCounter struct {
	nulls  []uint64
	words  int // words of nulls that are counted
	before int // NULLs in them
}

// at returns the value of a row, given in ascending order, or -1 if it is NULL.
func (c *valueCounter) at(row int) int {
	if c.nulls == nil {
		return row
	}
	for ; c.words < row>>6; c.words++ {
		c.before += bits.OnesCount64(c.nulls[c.words])
	}
	w := c.nulls[row>>6]
	if w>>(row&63)&1 != 0 {
		return -1
	}
	return row - c.before - bits.OnesCount64(w&(1<<(row&63)-1))
}

// extend returns v with n more elements, whatever they hold.
func extend[T any](v []T, n int) []T { return slices.Grow(v, n)[:len(v)+n] }

// appendTo appends all rows to dst.
func (s *strip) appendTo(dst *value.Vector, sc *scratch, load loader) error {
	nulls := s.nullWords(sc)
	if err := s.appendValues(dst, nulls, sc, load); err != nil {
		return err
	}
	if nulls != nil {
		if more := bitWords(dst.N+s.rows) - len(dst.Nulls); more > 0 {
			dst.Nulls = append(dst.Nulls, make([]uint64, more)...)
		}
		orBits(dst.Nulls, dst.N, nulls, s.rows)
	}
	dst.N += s.rows
	return nil
}

// appendValues appends the values of all rows, zero for NULL, and leaves dst's N and Nulls alone.
func (s *strip) appendValues(dst *value.Vector, nulls []uint64, sc *scratch, load loader) error {
	switch s.typ.Width() {
	case value.Word32:
		dst.U32 = extend(dst.U32[:dst.N], s.rows)
		return appendCodes(s, dst.U32[dst.N:], nulls, sc)
	case value.Word64:
		dst.U64 = extend(dst.U64[:dst.N], s.rows)
		return appendCodes(s, dst.U64[dst.N:], nulls, sc)
	}
	dst.Str = extend(dst.Str[:dst.N], s.rows)
	vs := dst.Str[dst.N:]
	err := s.decodeText(vs[:s.values()], nulls, sc, load)
	spreadValues(vs, s.values(), nulls)
	return err
}

func appendCodes[T word](s *strip, vs []T, nulls []uint64, sc *scratch) error {
	if err := decodeCodes(s, vs[:s.values()], sc); err != nil {
		return err
	}
	spreadValues(vs, s.values(), nulls)
	return nil
}

// gather appends the rows at offs, which ascend, are offsets in the segment and all in the strip.
func (s *strip) gather(offs []uint16, dst *value.Vector, sc *scratch, load loader) error {
	if s.enc == encNull {
		for range offs {
			dst.AppendNull()
		}
		return nil
	}
	nulls := s.nullWords(sc)
	if len(offs)*2 >= s.rows { // decode all, then close the gaps
		if err := s.appendValues(dst, nulls, sc, load); err != nil {
			return err
		}
		switch s.typ.Width() {
		case value.Word32:
			dst.U32 = dst.U32[:dst.N+pick(dst.U32[dst.N:], offs, s.first)]
		case value.Word64:
			dst.U64 = dst.U64[:dst.N+pick(dst.U64[dst.N:], offs, s.first)]
		default:
			n := dst.N + pick(dst.Str[dst.N:], offs, s.first)
			clear(dst.Str[n:])
			dst.Str = dst.Str[:n]
		}
		at := dst.N
		dst.N += len(offs)
		if nulls != nil {
			for i, off := range offs {
				if row := int(off) - s.first; nulls[row>>6]>>(row&63)&1 != 0 {
					dst.SetNull(at + i)
				}
			}
		}
		return nil
	}
	if s.typ.Width() == value.Var {
		return s.gatherText(offs, dst, nulls, sc, load)
	}
	if s.enc == encPacked && nulls == nil {
		if s.typ.Width() == value.Word32 {
			dst.U32 = extend(dst.U32[:dst.N], len(offs))
			gatherPacked(s, offs, dst.U32[dst.N:])
		} else {
			dst.U64 = extend(dst.U64[:dst.N], len(offs))
			gatherPacked(s, offs, dst.U64[dst.N:])
		}
		dst.N += len(offs)
		return nil
	}
	values := valueCounter{nulls: nulls}
	for _, off := range offs {
		j := values.at(int(off) - s.first)
		if j < 0 {
			dst.AppendNull()
			continue
		}
		c, ok := s.code(j)
		if !ok {
			return s.bad("value %d has no code", j)
		}
		dst.AppendCode(c)
	}
	return nil
}

// gatherPacked is gather of a few codes that are packed, none NULL.
func gatherPacked[T word](s *strip, offs []uint16, vs []T) {
	for i, off := range offs {
		vs[i] = T(s.words.Lo + packedAt(s.codes, int(off)-s.first, s.width))
	}
}

// pick moves the elements of the rows at offs to the front of vs, whose first is row first of the segment.
func pick[T any](vs []T, offs []uint16, first int) int {
	for i, off := range offs {
		vs[i] = vs[int(off)-first]
	}
	return len(offs)
}

// gatherText is gather of a few strings; they share one allocation.
func (s *strip) gatherText(offs []uint16, dst *value.Vector, nulls []uint64, sc *scratch, load loader) error {
	values := valueCounter{nulls: nulls}
	at := dst.N
	sc.text, sc.places = sc.text[:0], sc.places[:0]
	const elsewhere = ^uint32(0) // in sc.places: the string is not part of sc.text
	for _, off := range offs {
		j := values.at(int(off) - s.first)
		if j < 0 {
			dst.AppendNull()
			sc.places = append(sc.places, elsewhere)
			continue
		}
		k, ok := s.entryOf(j)
		if !ok {
			return s.bad("value %d has place %d of %d", j, k, s.count)
		}
		b, err := s.entry(k)
		if err != nil {
			return err
		}
		b, ref, long, err := s.inline(b)
		if err != nil {
			return err
		}
		dst.Str = append(dst.Str[:dst.N], "")
		dst.N++
		if long {
			if dst.Str[dst.N-1], err = load(int(off), ref); err != nil {
				return err
			}
			sc.places = append(sc.places, elsewhere)
			continue
		}
		sc.text = append(sc.text, b...)
		sc.places = append(sc.places, uint32(len(sc.text)))
	}
	text, from := string(sc.text), uint32(0)
	for i, end := range sc.places {
		if end != elsewhere {
			dst.Str[at+i] = text[from:end]
			from = end
		}
	}
	return nil
}

// entryOf returns the number of a value's string; false if the strip is damaged.
func (s *strip) entryOf(j int) (int, bool) {
	if s.enc != encTextDict {
		return j, true
	}
	k := int(packedAt(s.places, j, s.pwidth))
	return k, k < s.count
}
