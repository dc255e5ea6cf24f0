package heap

import (
	"encoding/binary"
	"sort"

	"wideleaf/page"
	"wideleaf/value"
)

// The summary pages hold the segment's directory, a byte stream cut into pages (docs/format.md): first a table of
// fixed-size entries, in order of attno, that say where in the stream each column's part begins; then those parts.
// So one column's part is found and decoded without the others.

// tableEntry is the size of an entry of the table: attno and position.
const tableEntry = 8

// summaryPage is the part of a summary page before the directory's bytes: where in the directory they begin, how
// long it and its table are, and where the first part at or after them begins. Tools need them to read a page alone.
type summaryPage struct{ begin, total, table, part uint32 }

const (
	summaryHeader = 16
	summaryRoom   = page.Size - page.HeaderSize - summaryHeader
)

func (h summaryPage) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, h.begin)
	dst = binary.LittleEndian.AppendUint32(dst, h.total)
	dst = binary.LittleEndian.AppendUint32(dst, h.table)
	return binary.LittleEndian.AppendUint32(dst, h.part)
}

// parseSummary returns the header and the directory's bytes of a summary page.
func parseSummary(p []byte) (h summaryPage, b []byte, err error) {
	if k := page.ParseHeader(p).Kind; k != page.KindSummary || len(p) < page.HeaderSize+summaryHeader {
		return h, nil, damaged("it is of kind %s with %d bytes, not a heap summary page", k, len(p))
	}
	c := cut{b: p[page.HeaderSize:]}
	h = summaryPage{uint32(c.uint(4)), uint32(c.uint(4)), uint32(c.uint(4)), uint32(c.uint(4))}
	return h, c.b, nil
}

// maxDirectory bounds a column's part of the directory: the most strips a column of strings has, 65,536 values of
// which 4 fit in a page, with the longest bounds take less than 1 MiB.
const maxDirectory = 4 << 20

// directory says where the strips of one column are and what is in them. Strip i is in block block+i; all begin
// right after the page's header except the first, which begins at offset `at`.
type directory struct {
	attno  int
	typ    value.Type
	block  uint32
	at     int
	strips []facts
}

func (f *facts) end() int { return f.first + f.rows }

// appendDirectory appends a column's part of the directory.
func appendDirectory(dst []byte, d *directory) []byte {
	dst = binary.AppendUvarint(dst, uint64(d.attno))
	dst = append(dst, byte(d.typ))
	dst = binary.AppendUvarint(dst, uint64(d.block))
	dst = binary.AppendUvarint(dst, uint64(d.at))
	dst = binary.AppendUvarint(dst, uint64(len(d.strips)))
	for i := range d.strips {
		f := &d.strips[i]
		dst = binary.AppendUvarint(dst, uint64(f.rows))
		dst = binary.AppendUvarint(dst, uint64(f.nulls))
		switch {
		case f.values() == 0:
		case d.typ.Width() == value.Var:
			dst = appendTextBounds(dst, f.strings)
		default:
			dst = binary.AppendUvarint(dst, f.words.Lo)
			dst = binary.AppendUvarint(dst, f.words.Hi-f.words.Lo)
		}
	}
	return dst
}

// directoryHead cuts the beginning of a column's part: all but its strips, of which it returns the number.
func (c *cut) directoryHead() (d directory, strips uint64, err error) {
	attno := c.uvarint()
	d.typ = value.Type(c.uint(1))
	block, at := c.uvarint(), c.uvarint()
	strips = c.uvarint()
	switch {
	case c.short:
		return d, 0, damaged("the directory ends early")
	case !d.typ.Valid():
		return d, 0, damaged("the directory has a column of unknown %s", d.typ)
	case attno >= 1<<16 || block >= 1<<32 || at < page.HeaderSize || at > page.Size:
		return d, 0, damaged("the directory claims column %d at offset %d of block %d", attno, at, block)
	}
	d.attno, d.block, d.at = int(attno), uint32(block), int(at)
	return d, strips, nil
}

// directoryStrip cuts the facts of a strip that begins at row first of a segment of `rows` rows.
func (c *cut) directoryStrip(t value.Type, first, rows int) (f facts, err error) {
	n, nulls := c.uvarint(), c.uvarint()
	if c.short || n < 1 || n > uint64(rows-first) || nulls > n {
		return f, damaged("the directory claims %d rows with %d NULLs from row %d on of %d", n, nulls, first, rows)
	}
	f.first, f.rows, f.nulls = first, int(n), int(nulls)
	switch {
	case f.values() == 0:
	case t.Width() == value.Var:
		var ok bool
		if f.strings, ok = c.textBounds(); !ok {
			return f, damaged("the directory's bounds at row %d are too long or out of order", first)
		}
	default:
		lo, span := c.uvarint(), c.uvarint()
		if lo > t.MaxCode() || span > t.MaxCode()-lo {
			return f, damaged("the directory's bounds at row %d are %d and %d more", first, lo, span)
		}
		f.words = value.Interval{Lo: lo, Hi: lo + span}
	}
	return f, nil
}

// parseDirectory parses the part of a column of a segment of `rows` rows whose column pages are below block
// `blocks`.
func parseDirectory(b []byte, rows int, blocks uint32) (*directory, error) {
	c := cut{b: b}
	d, n, err := c.directoryHead()
	switch {
	case err != nil:
		return nil, err
	case n > uint64(len(c.b))/2: // a strip takes at least 2 bytes
		return nil, damaged("the directory claims %d strips in %d bytes", n, len(c.b))
	case n > uint64(blocks) || uint64(d.block) > uint64(blocks)-n:
		return nil, damaged("the directory claims %d pages from block %d on of %d", n, d.block, blocks)
	}
	d.strips = make([]facts, n)
	first := 0
	for i := range d.strips {
		if d.strips[i], err = c.directoryStrip(d.typ, first, rows); err != nil {
			return nil, err
		}
		first = d.strips[i].end()
	}
	if c.short || len(c.b) > 0 || first != rows {
		return nil, damaged("the directory holds %d rows of %d and leaves %d bytes", first, rows, len(c.b))
	}
	return &d, nil
}

// strip parses strip i of the column in its page p, and checks that it is what the directory says.
func (d *directory) strip(i int, p []byte) (strip, error) {
	if h := page.ParseHeader(p); h.Kind != page.KindColumn {
		return strip{}, damaged("it is of kind %s, not a heap column page", h.Kind)
	}
	at := page.HeaderSize
	if i == 0 {
		at = d.at
	}
	st, err := parseStrip(p, at)
	if err != nil {
		return strip{}, err
	}
	if st.attno != d.attno || st.typ != d.typ {
		return strip{}, st.bad("it is of column %d of type %s, not of column %d of type %s",
			st.attno, st.typ, d.attno, d.typ)
	}
	if st.facts != d.strips[i] {
		return strip{}, st.bad("it has %+v, the summary says %+v", st.facts, d.strips[i])
	}
	return st, nil
}

// directoryBlock is where, in the page cache, the directory of a column is kept. No page has such a number: a table
// of pages has less than 1<<24.
func directoryBlock(attno int) uint32 { return 1<<31 | uint32(attno) }

// directory returns where a column's strips are; nil if the segment lacks the column.
func (s *Segment) directory(attno int) (*directory, error) {
	if s.cache != nil {
		if d, ok := s.cache.Get(s.r.Owner(), directoryBlock(attno)); ok {
			return d.(*directory), nil
		}
	}
	from, end, err := s.find(attno)
	if err != nil || from == end {
		return nil, err
	}
	d, err := s.readDirectory(from, end)
	if err != nil {
		return nil, err
	}
	if t := s.types(attno); d.attno != attno || d.typ != t {
		return nil, s.corrupt(s.summaryBlock(from), damaged(
			"the directory has column %d of type %s in place of column %d of type %s", d.attno, d.typ, attno, t))
	}
	if s.cache != nil {
		const stripBytes = 80 // facts
		s.cache.Put(s.r.Owner(), directoryBlock(attno), d, 64+stripBytes*len(d.strips)+2*boundBytes*len(d.strips))
	}
	return d, nil
}

func (s *Segment) readDirectory(from, end uint32) (*directory, error) {
	b, err := s.summary(from, end)
	if err != nil {
		return nil, err
	}
	d, err := parseDirectory(b, s.Rows(), s.meta.Summary)
	return d, s.corrupt(s.summaryBlock(from), err)
}

// table returns the directory's table.
func (s *Segment) table() ([]byte, error) { return s.summary(0, s.meta.Columns*tableEntry) }

// find returns where a column's part of the directory is; from and end are equal if there is none.
func (s *Segment) find(attno int) (from, end uint32, err error) {
	table, err := s.table()
	if err != nil {
		return 0, 0, err
	}
	n := len(table) / tableEntry
	i := sort.Search(n, func(i int) bool { return tableAttno(table, i) >= attno })
	if i == n || tableAttno(table, i) != attno {
		return 0, 0, nil
	}
	return s.part(table, i)
}

func tableAttno(table []byte, i int) int {
	return int(binary.LittleEndian.Uint32(table[i*tableEntry:]))
}

// part returns where the part of the i-th column of the table is.
func (s *Segment) part(table []byte, i int) (from, end uint32, err error) {
	from, end = binary.LittleEndian.Uint32(table[i*tableEntry+4:]), s.meta.SummaryBytes
	if next := (i + 1) * tableEntry; next < len(table) {
		end = binary.LittleEndian.Uint32(table[next+4:])
	}
	if int64(from) < int64(len(table)) || from >= end || end > s.meta.SummaryBytes || end-from > maxDirectory {
		return 0, 0, s.corrupt(s.summaryBlock(uint32(i*tableEntry)),
			damaged("directory of column %d is said to be at %d to %d of %d", tableAttno(table, i), from, end,
				s.meta.SummaryBytes))
	}
	return from, end, nil
}

// summaryBlock is the block that holds a position of the directory.
func (s *Segment) summaryBlock(at uint32) uint32 { return s.meta.Summary + at/summaryRoom }

// summary returns the bytes [from, end) of the directory.
func (s *Segment) summary(from, end uint32) ([]byte, error) {
	if from >= end {
		return nil, nil
	}
	out := make([]byte, 0, min(end-from, maxDirectory))
	first, last := s.summaryBlock(from), s.summaryBlock(end-1)
	err := s.read(first, int(last-first)+1, func(block uint32, p []byte) (bool, error) {
		begin := (block - s.meta.Summary) * summaryRoom
		h, b, err := parseSummary(p)
		if err != nil {
			return false, s.corrupt(block, err)
		}
		want := summaryPage{begin, s.meta.SummaryBytes, s.meta.Columns * tableEntry, h.part}
		if h != want || len(b) != int(min(want.total-begin, summaryRoom)) {
			return false, s.corrupt(block, damaged("it holds %d bytes of a directory %+v, expected %+v", len(b), h, want))
		}
		out = append(out, b[max(from, begin)-begin:min(end-begin, uint32(len(b)))]...)
		return true, nil
	})
	return out, err
}
