package entrytree

import (
	"encoding/binary"
	"fmt"

	"wideleaf/am"
	"wideleaf/catalog"
	"wideleaf/value"
)

// A key is the order-preserving bytes of an entry's values: bytes.Compare orders keys as the index orders rows. Per
// column it is a marker, which files NULL before or after the rest, then the value: a code in big endian, or a string
// in which 00 is written 00 FF and which ends with 00 01. In a DESC column the value's bytes are inverted, the marker
// is not. No column's bytes are a prefix of another's, so a key compares column by column, and what begins with the
// bytes of some columns has exactly their values.
const (
	markNullFirst = 1
	markValue     = 2
	markNullLast  = 3
)

// EncodeKey appends the key of a row to dst.
func EncodeKey(ix *catalog.Index, vals []value.Value, dst []byte) []byte {
	for i := range ix.Columns {
		c := &ix.Columns[i]
		switch v := vals[i]; {
		case v.IsNull():
			dst = append(dst, nullMark(c))
		case c.Type.Width() == value.Var:
			dst = appendString(append(dst, markValue), v.Str(), c.Desc)
		default:
			dst = appendCode(append(dst, markValue), c, v.Code())
		}
	}
	return dst
}

func nullMark(c *catalog.IndexColumn) byte {
	if c.NullsFirst {
		return markNullFirst
	}
	return markNullLast
}

func appendCode(dst []byte, c *catalog.IndexColumn, code uint64) []byte {
	code = value.KeyCode(c.Type, code)
	if c.Desc {
		code = ^code
	}
	switch {
	case c.Type == value.Bool:
		return append(dst, byte(code))
	case c.Type.Width() == value.Word32:
		return binary.BigEndian.AppendUint32(dst, uint32(code))
	}
	return binary.BigEndian.AppendUint64(dst, code)
}

func appendString(dst []byte, s string, desc bool) []byte {
	n := len(dst)
	for i := range len(s) {
		if dst = append(dst, s[i]); s[i] == 0 {
			dst = append(dst, 0xFF)
		}
	}
	dst = append(dst, 0, 1)
	if desc {
		for i := n; i < len(dst); i++ {
			dst[i] = ^dst[i]
		}
	}
	return dst
}

// decodeColumn decodes one column from the front of a key and returns the rest. Strings are built in text, which is
// returned for the next call.
func decodeColumn(c *catalog.IndexColumn, key, text []byte) (v value.Value, rest, grown []byte, err error) {
	if len(key) == 0 {
		return v, nil, text, fmt.Errorf("key ends early")
	}
	mark, key := key[0], key[1:]
	switch {
	case mark == nullMark(c):
		return value.Null(c.Type), key, text, nil
	case mark != markValue:
		return v, nil, text, fmt.Errorf("key has marker %#02x", mark)
	}
	var inv byte
	if c.Desc {
		inv = 0xFF
	}
	if c.Type.Width() == value.Var {
		text = text[:0]
		for i := 0; i+1 < len(key); i++ {
			b := key[i] ^ inv
			if b == 0 {
				i++
				switch key[i] ^ inv {
				case 1:
					return value.OfStr(c.Type, string(text)), key[i+1:], text, nil
				case 0xFF:
				default:
					return v, nil, text, fmt.Errorf("key has a 00 that is neither content nor end")
				}
			}
			text = append(text, b)
		}
		return v, nil, text, fmt.Errorf("key has a string without an end")
	}
	n := 8
	switch {
	case c.Type == value.Bool:
		n = 1
	case c.Type.Width() == value.Word32:
		n = 4
	}
	if len(key) < n {
		return v, nil, text, fmt.Errorf("key ends early")
	}
	var code uint64
	for _, b := range key[:n] {
		code = code<<8 | uint64(b^inv)
	}
	return value.OfCode(c.Type, code), key[n:], text, nil
}

// successor returns the least byte string above all that begin with key, which begins with a marker and so isn't all
// FF. It works in place.
func successor(key []byte) []byte {
	for i := len(key) - 1; i >= 0; i-- {
		if key[i] != 0xFF {
			key[i]++
			return key[:i+1]
		}
	}
	return key[:0]
}

// maxStretches limits how many key intervals the conditions on the leading columns are multiplied out to; further
// columns are looked at entry by entry.
const maxStretches = 4096

// plan is how a run of byte keys answers conditions: by stretches of keys, and by filtering their columns from filter on.
type plan struct {
	stretches []stretch
	filter    int // first column whose condition the stretches don't cover; len(Columns): none
}

// planKeys turns conditions into stretches: values of the leading columns as long as the conditions allow only single
// ones, then intervals of the next column.
func planKeys(ix *catalog.Index, c am.Conditions) plan {
	prefixes := [][]byte{nil}
	for i := range ix.Columns {
		col := &ix.Columns[i]
		if i >= len(c) || c[i] == nil {
			return finishPlan(ix, c, prefixes, i)
		}
		n := len(c[i].Words) + len(c[i].Strings)
		if c[i].Nulls {
			n++
		}
		if n*len(prefixes) > maxStretches && i > 0 {
			return finishPlan(ix, c, prefixes, i)
		}
		if n > 0 && points(c[i]) {
			var longer [][]byte
			for _, p := range prefixes {
				for _, x := range columnStretches(col, c[i], p) {
					longer = append(longer, x.lo.key)
				}
			}
			prefixes = longer
			continue
		}
		out := plan{filter: firstCondition(ix, c, i+1)}
		for _, p := range prefixes {
			out.stretches = append(out.stretches, columnStretches(col, c[i], p)...)
		}
		return out
	}
	return finishPlan(ix, c, prefixes, len(ix.Columns))
}

// finishPlan is a plan of all keys with the prefixes, whose next column is col.
func finishPlan(ix *catalog.Index, c am.Conditions, prefixes [][]byte, col int) plan {
	out := plan{filter: firstCondition(ix, c, col)}
	for _, p := range prefixes {
		x := everything
		x.lo = bound{kind: atKey}
		if len(p) > 0 {
			x = begins(p)
		}
		out.stretches = append(out.stretches, x)
	}
	return out
}

func firstCondition(ix *catalog.Index, c am.Conditions, from int) int {
	for i := from; i < len(ix.Columns) && i < len(c); i++ {
		if c[i] != nil {
			return i
		}
	}
	return len(ix.Columns)
}

// points reports whether r holds single values only.
func points(r *value.Ranges) bool {
	for _, iv := range r.Words {
		if iv.Lo != iv.Hi {
			return false
		}
	}
	for _, iv := range r.Strings {
		if iv.HiInf || iv.Lo != iv.Hi {
			return false
		}
	}
	return true
}

// begins is the stretch of all keys that begin with p.
func begins(p []byte) stretch {
	return stretch{bound{kind: atKey, key: p}, bound{kind: atKey, key: successor(append([]byte(nil), p...))}}
}

// columnStretches returns, in index order, the stretches of keys that begin with prefix and whose next column
// satisfies r.
func columnStretches(col *catalog.IndexColumn, r *value.Ranges, prefix []byte) []stretch {
	with := func(more ...byte) []byte { return append(append(make([]byte, 0, len(prefix)+16), prefix...), more...) }
	var out []stretch
	for _, iv := range r.Words {
		lo, hi := iv.Lo, min(iv.Hi, col.Type.MaxCode())
		if lo > hi {
			break
		}
		if col.Desc {
			lo, hi = hi, lo
		}
		out = append(out, stretch{
			bound{kind: atKey, key: appendCode(with(markValue), col, lo)},
			bound{kind: atKey, key: successor(appendCode(with(markValue), col, hi))},
		})
	}
	for _, iv := range r.Strings {
		out = append(out, stringStretch(col, iv, with))
	}
	if col.Desc {
		for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
			out[i], out[j] = out[j], out[i]
		}
	}
	if r.Nulls {
		n := begins(with(nullMark(col)))
		if col.NullsFirst {
			return append([]stretch{n}, out...)
		}
		return append(out, n)
	}
	return out
}

// stringStretch is the keys of an interval of strings. What lies behind a string in the column's direction begins at
// the successor of its bytes.
func stringStretch(col *catalog.IndexColumn, iv value.StringInterval, with func(...byte) []byte) stretch {
	at := func(s string, behind bool) bound {
		k := appendString(with(markValue), s, col.Desc)
		if behind {
			k = successor(k)
		}
		return bound{kind: atKey, key: k}
	}
	if !col.Desc {
		x := stretch{lo: at(iv.Lo, iv.LoOpen), hi: bound{kind: atKey, key: successor(with(markValue))}}
		if !iv.HiInf {
			x.hi = at(iv.Hi, !iv.HiOpen)
		}
		return x
	}
	x := stretch{lo: bound{kind: atKey, key: with(markValue)}, hi: at(iv.Lo, !iv.LoOpen)}
	if !iv.HiInf {
		x.lo = at(iv.Hi, iv.HiOpen)
	}
	return x
}
