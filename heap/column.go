package heap

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"wideleaf/page"
	"wideleaf/tid"
	"wideleaf/value"
)

// A column page holds strips, one after the other to its end (docs/format.md). A strip is some consecutive rows of
// one column of the segment: their number, how many are NULL, bounds of their values, and the values in the encoding
// that takes the fewest bytes. Mostly a strip fills its page; a column whose only strip is short shares one with
// others, so that a small table is small.
//
// Values are stored for the rows that are not NULL only: the j-th value belongs to the j-th row that is not. No bit
// width is stored anywhere, each follows from bounds and counts, so that no page can lie about one.

// encoding says how a strip holds its values. The numbers are part of the format: never reuse one.
type encoding uint8

const (
	encNull     encoding = 0 // every row is NULL: no bounds, no values
	encPacked   encoding = 1 // codes less the lower bound, bit-packed
	encDict     encoding = 2 // distinct codes in order, packed, and each row's place among them, packed
	encRuns     encoding = 3 // the code of each run of equal ones, packed, and the run's last place, packed
	encText     encoding = 4 // where each string ends, packed, and the strings
	encLongText encoding = 5 // likewise, each string with a leading byte: it is here, or in overflow pages
	encTextDict encoding = 6 // distinct strings in order and each row's place among them, packed
)

var encodingNames = [...]string{"all NULL", "packed", "dictionary", "runs", "text", "long text", "text dictionary"}

func (e encoding) String() string {
	if int(e) < len(encodingNames) {
		return encodingNames[e]
	}
	return fmt.Sprintf("encoding %d", uint8(e))
}

const (
	stripHeader = 16
	stripRoom   = page.Size - page.HeaderSize // what strips of a page take at most

	// boundBytes is where the bounds of strings are cut. A bound that is shorter is a value of the strip; one of this
	// length may lie below the smallest or above the largest.
	boundBytes = 24
	unbounded  = 255 // in place of the upper bound's length

	// MaxValueBytes is the longest string a segment stores: 64 MiB. Values up to maxInline bytes stand in column
	// pages, so that at least four of them fit in one, longer ones in overflow pages.
	MaxValueBytes = value.MaxBytes
	maxInline     = 2000
)

// Leading bytes of encLongText.
const (
	textHere     = 0
	textOverflow = 1 // followed by an overflowRef
)

// overflowRef says where a long value begins and how long it is.
type overflowRef struct {
	block  uint32
	length uint32
}

const overflowRefBytes = 8

// overflowHeader is the part of an overflow page before the value's bytes: attno, row, and how many bytes of the
// value come before.
const (
	overflowHeader = 8
	overflowRoom   = page.Size - page.HeaderSize - overflowHeader
)

// facts is what a strip's header and the segment's directory both say of a strip.
type facts struct {
	first, rows, nulls int // first row in the segment, rows, NULLs among them
	words              value.Interval
	strings            value.StringInterval
}

// values is the number of rows that are not NULL.
func (f *facts) values() int { return f.rows - f.nulls }

// strip is a parsed strip; its slices point into the page.
type strip struct {
	facts
	attno int
	typ   value.Type
	enc   encoding
	at    int // where it begins in the page
	size  int

	bitmap []byte // of the NULL rows; nil when no row or every row is NULL
	width  int    // bits a packed code
	codes  []byte // packed codes: of rows, of distinct values or of runs
	count  int    // distinct values or runs
	pwidth int    // bits a place
	places []byte // packed: place in the dictionary, or last value of the run
	ewidth int    // bits an end
	ends   []byte // packed: where each string ends in text
	text   []byte
}

// cut takes byte strings off the front of b. Once b is too short it fails for good, and yields zeros.
type cut struct {
	b     []byte
	short bool
}

func (c *cut) take(n int) []byte {
	if c.short || n < 0 || n > len(c.b) {
		c.short = true
		return nil
	}
	x := c.b[:n:n]
	c.b = c.b[n:]
	return x
}

func (c *cut) uint(n int) uint64 {
	var x uint64
	for i, b := range c.take(n) {
		x |= uint64(b) << (8 * i)
	}
	return x
}

func (c *cut) uvarint() uint64 {
	x, n := binary.Uvarint(c.b)
	if c.short || n <= 0 {
		c.short = true
		return 0
	}
	c.b = c.b[n:]
	return x
}

// codeBytes is the size of a bound of a fixed-width type.
func codeBytes(t value.Type) int {
	if t.Width() == value.Word32 {
		return 4
	}
	return 8
}

// parseStrip parses the strip at offset `at` of a column page. A strip that parses is safe to decode: what remains to
// be checked there is that places and ends are in bounds.
func parseStrip(p []byte, at int) (s strip, err error) {
	if at < page.HeaderSize || at > len(p)-stripHeader {
		return s, damaged("no room for a strip at offset %d", at)
	}
	bad := func(format string, args ...any) (strip, error) {
		return strip{}, (&strip{at: at}).bad(format, args...)
	}
	h := p[at:]
	s = strip{
		facts: facts{
			first: int(binary.LittleEndian.Uint16(h[6:])),
			rows:  int(min(binary.LittleEndian.Uint32(h[8:]), tid.SegmentRows+1)),
			nulls: int(min(binary.LittleEndian.Uint32(h[12:]), tid.SegmentRows+1)),
		},
		attno: int(binary.LittleEndian.Uint16(h)),
		typ:   value.Type(h[2]),
		enc:   encoding(h[3]),
		at:    at,
		size:  int(binary.LittleEndian.Uint16(h[4:])),
	}
	n := s.values()
	switch {
	case s.size < stripHeader || s.size > len(h):
		return bad("it claims %d bytes of %d", s.size, len(h))
	case !s.typ.Valid():
		return bad("it is of unknown %s", s.typ)
	case s.rows < 1 || s.first+s.rows > tid.SegmentRows:
		return bad("it claims %d rows from row %d on", s.rows, s.first)
	case n < 0 || (n == 0) != (s.enc == encNull):
		return bad("it claims %d NULLs among %d rows, encoding %s", s.nulls, s.rows, s.enc)
	}
	c := cut{b: h[stripHeader:s.size]}
	if s.enc != encNull {
		if detail := s.parseBounds(&c); detail != "" {
			return bad("%s", detail)
		}
		if s.nulls > 0 {
			s.bitmap = c.take((s.rows + 7) / 8)
			if !c.short && countBitmap(s.bitmap, s.rows) != s.nulls {
				return bad("its null bitmap does not have %d of %d bits set", s.nulls, s.rows)
			}
		}
	}
	if detail := s.parseBody(&c); detail != "" {
		return bad("%s", detail)
	}
	if c.short || len(c.b) > 0 {
		return bad("its %d bytes are not what %d values, encoding %s, take", s.size, n, s.enc)
	}
	return s, nil
}

// parseBounds and parseBody cut their part of a strip and say what is wrong with it; that it is too short is left
// to c.
func (s *strip) parseBounds(c *cut) string {
	if s.typ.Width() == value.Var {
		iv, ok := c.textBounds()
		if !ok {
			return "bounds are too long or out of order"
		}
		s.strings = iv
		return ""
	}
	n := codeBytes(s.typ)
	s.words = value.Interval{Lo: c.uint(n), Hi: c.uint(n)}
	if s.words.Lo > s.words.Hi || s.words.Hi > s.typ.MaxCode() {
		return fmt.Sprintf("bounds are %d and %d", s.words.Lo, s.words.Hi)
	}
	s.width = bits.Len64(s.words.Hi - s.words.Lo)
	return ""
}

func (s *strip) parseBody(c *cut) string {
	n := s.values()
	if isText := s.enc >= encText; s.enc != encNull && isText != (s.typ.Width() == value.Var) {
		return fmt.Sprintf("encoding %s of type %s", s.enc, s.typ)
	}
	switch s.enc {
	case encNull:
	case encPacked:
		s.codes = c.take(packedBytes(n, s.width))
	case encDict, encRuns:
		s.count = int(c.uint(2))
		if s.count < 1 || s.count > n {
			return fmt.Sprintf("%d distinct values or runs of %d", s.count, n)
		}
		s.pwidth = bits.Len(uint(s.count - 1))
		places := n
		if s.enc == encRuns {
			s.pwidth, places = bits.Len(uint(n-1)), s.count
		}
		s.codes = c.take(packedBytes(s.count, s.width))
		s.places = c.take(packedBytes(places, s.pwidth))
	case encText, encLongText:
		total := int(c.uint(2))
		s.count, s.ewidth = n, bits.Len(uint(total))
		s.ends = c.take(packedBytes(n, s.ewidth))
		s.text = c.take(total)
	case encTextDict:
		s.count = int(c.uint(2))
		total := int(c.uint(2))
		if s.count < 1 || s.count > n {
			return fmt.Sprintf("%d distinct values of %d", s.count, n)
		}
		s.ewidth, s.pwidth = bits.Len(uint(total)), bits.Len(uint(s.count-1))
		s.ends = c.take(packedBytes(s.count, s.ewidth))
		s.places = c.take(packedBytes(n, s.pwidth))
		s.text = c.take(total)
	default:
		return fmt.Sprintf("unknown %s", s.enc)
	}
	return ""
}

// countBitmap counts the bits set in a bitmap; the result is -1 if one from n on is set.
func countBitmap(b []byte, n int) int {
	if n&7 != 0 && b[len(b)-1]>>(n&7) != 0 {
		return -1
	}
	c := 0
	for ; len(b) >= 8; b = b[8:] {
		c += bits.OnesCount64(binary.LittleEndian.Uint64(b))
	}
	for _, x := range b {
		c += bits.OnesCount8(x)
	}
	return c
}

// lowerBound and upperBound cut a string to a bound; the upper one is unbounded if only 0xff bytes are left to
// raise.
func lowerBound(s string) string { return s[:min(len(s), boundBytes)] }

func upperBound(s string) (bound string, inf bool) {
	if len(s) < boundBytes {
		return s, false
	}
	b := []byte(s[:boundBytes])
	for i := len(b) - 1; i >= 0; i-- {
		if b[i]++; b[i] != 0 {
			return string(b), false
		}
	}
	return "", true
}

// appendTextBounds appends the bounds of strings as a strip and a directory entry hold them.
func appendTextBounds(dst []byte, iv value.StringInterval) []byte {
	hi := byte(len(iv.Hi))
	if iv.HiInf {
		hi = unbounded
	}
	dst = append(dst, byte(len(iv.Lo)), hi)
	dst = append(dst, iv.Lo...)
	if !iv.HiInf {
		dst = append(dst, iv.Hi...)
	}
	return dst
}

// textBounds cuts what appendTextBounds appended.
func (c *cut) textBounds() (iv value.StringInterval, ok bool) {
	lo, hi := int(c.uint(1)), int(c.uint(1))
	if lo > boundBytes || hi > boundBytes && hi != unbounded {
		return iv, false
	}
	iv.HiInf = hi == unbounded
	iv.Lo = string(c.take(lo))
	if !iv.HiInf {
		iv.Hi = string(c.take(hi))
	}
	return iv, iv.HiInf || iv.Lo <= iv.Hi
}
