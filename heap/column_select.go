package heap

import (
	"math/bits"
	"sort"
	"unsafe"

	"wideleaf/value"
)

// coverage says what a strip's facts alone tell about a condition.
type coverage uint8

const (
	coversNone coverage = iota // no row satisfies it
	coversSome                 // only the page can tell
	coversAll                  // every row satisfies it
)

// cover judges the rows of a strip, coverValues its values, NULLs aside.
func (f *facts) cover(r *value.Ranges, text bool) coverage {
	values := coversNone
	if f.values() > 0 {
		values = f.coverValues(r, text)
	}
	switch {
	case f.nulls == 0:
		return values
	case f.values() == 0 && r.Nulls || values == coversAll && r.Nulls:
		return coversAll
	case values == coversNone && !r.Nulls:
		return coversNone
	}
	return coversSome
}

func (f *facts) coverValues(r *value.Ranges, text bool) coverage {
	if text {
		return f.coverText(r.Strings)
	}
	ivs := clip(r.Words, f.words)
	switch {
	case len(ivs) == 0:
		return coversNone
	case ivs[0].Lo <= f.words.Lo && ivs[0].Hi >= f.words.Hi:
		return coversAll
	}
	return coversSome
}

// coverText may say coversSome though no interval holds a value: of bounds that are cut it knows little, and open
// ends it takes as closed.
func (f *facts) coverText(ivs []value.StringInterval) coverage {
	b := &f.strings
	i := sort.Search(len(ivs), func(i int) bool { return ivs[i].HiInf || ivs[i].Hi >= b.Lo })
	if i == len(ivs) || !b.HiInf && ivs[i].Lo > b.Hi {
		return coversNone
	}
	iv := &ivs[i]
	below := iv.Lo < b.Lo || iv.Lo == b.Lo && !iv.LoOpen
	above := iv.HiInf || !b.HiInf && (iv.Hi > b.Hi || iv.Hi == b.Hi && !iv.HiOpen)
	if below && above {
		return coversAll
	}
	return coversSome
}

// clip returns the intervals, sorted and disjoint, that overlap with b.
func clip(ivs []value.Interval, b value.Interval) []value.Interval {
	if len(ivs) == 1 { // nearly always
		if ivs[0].Hi < b.Lo || ivs[0].Lo > b.Hi {
			return nil
		}
		return ivs
	}
	ivs = ivs[sort.Search(len(ivs), func(i int) bool { return ivs[i].Hi >= b.Lo }):]
	return ivs[:sort.Search(len(ivs), func(i int) bool { return ivs[i].Lo > b.Hi })]
}

// selectRows sets the bits of the strip's rows that satisfy r, and are in cand unless that is nil, in out. Both are
// bitsets of the segment.
func (s *strip) selectRows(r *value.Ranges, cand, out []uint64, sc *scratch, load loader) error {
	nulls := s.nullWords(sc)
	if cand != nil {
		if n := countBits(cand, s.first, s.rows); n == 0 {
			return nil
		} else if n*8 < s.rows {
			return s.selectFew(r, nulls, cand, out, load)
		}
	}
	words := bitWords(s.rows)
	rows := sc.rows[:words]
	clear(rows)
	if nulls == nil {
		if err := s.selectValues(r, nulls, rows, sc, load); err != nil {
			return err
		}
	} else {
		dense := sc.dense[:words]
		clear(dense)
		if err := s.selectValues(r, nulls, dense, sc, load); err != nil {
			return err
		}
		spreadBits(rows, dense, nulls, s.rows)
		if r.Nulls {
			for i, w := range nulls {
				rows[i] |= w
			}
		}
	}
	if cand != nil {
		for i := range rows {
			rows[i] &= bitsAt(cand, s.first+i*64, min(64, s.rows-i*64))
		}
	}
	orBits(out, s.first, rows, s.rows)
	return nil
}

// selectFew is selectRows for few candidates: it looks at no other row.
func (s *strip) selectFew(r *value.Ranges, nulls, cand, out []uint64, load loader) error {
	values := valueCounter{nulls: nulls}
	text := s.typ.Width() == value.Var
	for i := 0; i < s.rows; i += 64 {
		for x := bitsAt(cand, s.first+i, min(64, s.rows-i)); x != 0; x &= x - 1 {
			row := i + bits.TrailingZeros64(x)
			j := values.at(row)
			holds := r.Nulls
			var err error
			switch {
			case j < 0:
			case text:
				holds, err = s.holdsText(r, j, s.first+row, load)
			default:
				var c uint64
				var ok bool
				if c, ok = s.code(j); !ok {
					err = s.bad("value %d has no code", j)
				}
				holds = r.ContainsCode(c)
			}
			if err != nil {
				return err
			}
			if holds {
				at := s.first + row
				out[at>>6] |= 1 << (at & 63)
			}
		}
	}
	return nil
}

func (s *strip) holdsText(r *value.Ranges, j, row int, load loader) (bool, error) {
	k, ok := s.entryOf(j)
	if !ok {
		return false, s.bad("value %d has place %d of %d", j, k, s.count)
	}
	return s.entryHolds(r, k, row, load)
}

// entryHolds reports whether string k of the strip satisfies r.
func (s *strip) entryHolds(r *value.Ranges, k, row int, load loader) (bool, error) {
	b, err := s.entry(k)
	if err != nil {
		return false, err
	}
	b, ref, long, err := s.inline(b)
	if err != nil {
		return false, err
	}
	if long {
		x, err := load(row, ref)
		return err == nil && r.ContainsString(x), err
	}
	// The comparison keeps no reference to the page's memory, which is stable while it lasts.
	return r.ContainsString(unsafe.String(unsafe.SliceData(b), len(b))), nil
}

// selectValues sets the bits of the values that satisfy r.
func (s *strip) selectValues(r *value.Ranges, nulls, out []uint64, sc *scratch, load loader) error {
	n := s.values()
	if n == 0 {
		return nil
	}
	switch s.coverValues(r, s.typ.Width() == value.Var) {
	case coversNone:
		return nil
	case coversAll:
		setBits(out, 0, n)
		return nil
	}
	switch s.enc {
	case encPacked:
		ivs := clip(r.Words, s.words)
		if s.width <= 32 {
			selectPacked[uint32](s, ivs, out)
		} else {
			selectPacked[uint64](s, ivs, out)
		}
		return nil
	case encRuns:
		return s.eachRun(sc, func(code uint64, first, last int) {
			if r.ContainsCode(code) {
				setBits(out, first, last+1)
			}
		})
	case encDict, encTextDict:
		return s.selectDict(r, out, sc)
	}
	rows := rowCounter{nulls: nulls}
	for j := range n {
		holds, err := s.entryHolds(r, j, s.first+rows.next(), load)
		if err != nil {
			return err
		}
		if holds {
			out[j>>6] |= 1 << (j & 63)
		}
	}
	return nil
}

// selectDict judges each distinct value once.
func (s *strip) selectDict(r *value.Ranges, out []uint64, sc *scratch) error {
	hits := sc.hits[:]
	clear(hits)
	any := false
	if s.enc == encDict {
		for k, c := range s.dict(sc) {
			if r.ContainsCode(c) {
				hits[k>>6] |= 1 << (k & 63)
				any = true
			}
		}
	} else {
		for k := range s.count {
			holds, err := s.entryHolds(r, k, 0, nil)
			if err != nil {
				return err
			}
			if holds {
				hits[k>>6] |= 1 << (k & 63)
				any = true
			}
		}
	}
	if !any {
		return nil
	}
	return s.eachPlaces(func(from int, places []uint32) {
		var x uint64
		for i, p := range places {
			x |= hits[p>>6&(uint32(len(sc.hits))-1)] >> (p & 63) & 1 << i
		}
		out[from>>6] |= x
	})
}

// selectPacked sets the bits of the values in any of the intervals, which overlap with the strip's bounds; T holds
// the packed values. It compares them as they are packed, less the lower bound.
func selectPacked[T word](s *strip, ivs []value.Interval, out []uint64) {
	type span struct {
		lo, size T // v is in it exactly if v-lo, wrapped, is at most size
		rare     bool
	}
	var few [4]span
	spans := few[:0]
	many := len(ivs) > len(few)
	if !many {
		for _, iv := range ivs {
			lo := max(iv.Lo, s.words.Lo) - s.words.Lo
			size := min(iv.Hi, s.words.Hi) - s.words.Lo - lo
			spans = append(spans, span{T(lo), T(size), size < (s.words.Hi-s.words.Lo)/rareShare})
		}
	}
	r := value.Ranges{Words: ivs}
	var group [256]T
	n := s.values()
	for from := 0; from < n; from += len(group) {
		g := group[:min(len(group), n-from)]
		unpack(g, s.codes[from/8*s.width:], 0, s.width)
		for i := 0; i < len(g); i += 64 {
			vs := (*[64]T)(group[i:])
			var x uint64
			for _, sp := range spans {
				if sp.rare {
					x |= rarelyAtMost(vs, sp.lo, sp.size)
				} else {
					x |= atMost(vs, sp.lo, sp.size)
				}
			}
			if many {
				for j, v := range vs {
					x |= bit(r.ContainsCode(s.words.Lo+uint64(v))) << j
				}
			}
			if k := len(g) - i; k < 64 { // the others are of no row
				x &= 1<<k - 1
			}
			out[(from+i)>>6] |= x
		}
	}
}

// atMost returns the bits of the values v with v-lo, wrapped, at most size.
func atMost[T word](vs *[64]T, lo, size T) (x uint64) {
	for i := 0; i < 64; i += 8 {
		v := (*[8]T)(vs[i:])
		x |= (bit(v[0]-lo <= size) | bit(v[1]-lo <= size)<<1 | bit(v[2]-lo <= size)<<2 | bit(v[3]-lo <= size)<<3 |
			bit(v[4]-lo <= size)<<4 | bit(v[5]-lo <= size)<<5 | bit(v[6]-lo <= size)<<6 | bit(v[7]-lo <= size)<<7) << i
	}
	return x
}

// rareShare is from what share of a strip's range on an interval's values are looked for eight at a time.
const rareShare = 64

// rarelyAtMost is atMost for few hits: of eight values that are none it computes no bits.
func rarelyAtMost[T word](vs *[64]T, lo, size T) (x uint64) {
	for i := 0; i < 64; i += 8 {
		v := (*[8]T)(vs[i:])
		if v[0]-lo > size && v[1]-lo > size && v[2]-lo > size && v[3]-lo > size &&
			v[4]-lo > size && v[5]-lo > size && v[6]-lo > size && v[7]-lo > size {
			continue
		}
		for j, c := range v {
			x |= bit(c-lo <= size) << (i + j)
		}
	}
	return x
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
