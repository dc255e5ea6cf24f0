package heap

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sort"
	"strings"

	"wideleaf/page"
	"wideleaf/tid"
	"wideleaf/value"
)

// SegmentMeta is what the manifest keeps of a flushed segment.
type SegmentMeta struct {
	Rows         uint32 // at most tid.SegmentRows
	Blocks       uint32 // pages in all; its blocks are 0..Blocks-1
	Columns      uint32
	Summary      uint32 // block of the first summary page; the others follow it, to the last block
	SummaryBytes uint32 // length of the directory that they hold
}

// Append and DecodeSegmentMeta are SegmentMeta's stored form.
func (m SegmentMeta) Append(b []byte) []byte {
	for _, x := range [...]uint32{m.Rows, m.Blocks, m.Columns, m.Summary, m.SummaryBytes} {
		b = binary.AppendUvarint(b, uint64(x))
	}
	return b
}

// DecodeSegmentMeta decodes a SegmentMeta from the front of b and returns the rest.
func DecodeSegmentMeta(b []byte) (m SegmentMeta, rest []byte, err error) {
	c := cut{b: b}
	for _, x := range [...]*uint32{&m.Rows, &m.Blocks, &m.Columns, &m.Summary, &m.SummaryBytes} {
		v := c.uvarint()
		if *x = uint32(v); c.short || v>>32 != 0 {
			return SegmentMeta{}, nil, errors.New("segment metadata ends early or is out of range")
		}
	}
	return m, c.b, nil
}

// summaryPages is the number of summary pages.
func (m SegmentMeta) summaryPages() uint32 { return (m.SummaryBytes + summaryRoom - 1) / summaryRoom }

// valid reports whether the numbers agree with each other and with the number of pages there are.
func (m SegmentMeta) valid(blocks uint32) bool {
	return m.Rows <= tid.SegmentRows && m.Blocks <= blocks && m.SummaryBytes <= 1<<30 &&
		m.Columns <= m.SummaryBytes/tableEntry && uint64(m.Summary)+uint64(m.summaryPages()) == uint64(m.Blocks)
}

// Segment is a flushed segment: immutable, read from its pages. It may be used concurrently.
type Segment struct {
	meta  SegmentMeta
	types func(attno int) value.Type
	r     page.Reader
	cache *page.Cache
}

var _ Source = (*Segment)(nil)

// OpenSegment returns a segment over its pages. types tells the type of a column; cache, which may be nil, keeps
// decoded directories.
func OpenSegment(
	meta SegmentMeta, types func(attno int) value.Type, r page.Reader, cache *page.Cache,
) (*Segment, error) {
	if !meta.valid(r.Blocks()) {
		return nil, &page.CorruptError{Owner: r.Owner(), Block: meta.Summary,
			Detail: fmt.Sprintf("segment metadata %+v does not fit %d pages", meta, r.Blocks())}
	}
	return &Segment{meta, types, r, cache}, nil
}

// Meta returns what the manifest keeps of the segment.
func (s *Segment) Meta() SegmentMeta { return s.meta }

// Number returns the number of the segment.
func (s *Segment) Number() uint64 { return s.r.Owner().Part }

// Rows returns the number of rows, dead ones included.
func (s *Segment) Rows() int { return int(s.meta.Rows) }

// PageSummary is what the segment's directory says of the rows of one column page. Codes are in [Words.Lo, Words.Hi],
// both taken on by some row; strings in [Strings.Lo, Strings.Hi], see LoExact and HiExact. With no row but NULLs
// there are no bounds.
type PageSummary struct {
	Block              uint32
	First, Rows, Nulls int // first row in the segment, rows, NULLs among them
	Words              value.Interval
	Strings            value.StringInterval
}

// LoExact and HiExact report whether that bound of strings is the value of some row: long ones are cut.
func (p *PageSummary) LoExact() bool { return len(p.Strings.Lo) < boundBytes }

// HiExact: see LoExact.
func (p *PageSummary) HiExact() bool { return !p.Strings.HiInf && len(p.Strings.Hi) < boundBytes }

// Pages returns the summaries of a column's pages, in row order; none if the segment lacks the column, whose rows
// then are all NULL.
func (s *Segment) Pages(attno int) ([]PageSummary, error) {
	d, err := s.directory(attno)
	if d == nil || err != nil {
		return nil, err
	}
	ps := make([]PageSummary, len(d.strips))
	for i, f := range d.strips {
		ps[i] = PageSummary{d.block + uint32(i), f.first, f.rows, f.nulls, f.words, f.strings}
	}
	return ps, nil
}

// MayHold reports whether a row's value of column attno may satisfy r, as far as the summaries tell.
func (s *Segment) MayHold(attno int, r *value.Ranges) (bool, error) {
	d, err := s.directory(attno)
	if d == nil || err != nil {
		return r.Nulls, err
	}
	text := d.typ.Width() == value.Var
	for i := range d.strips {
		if d.strips[i].cover(r, text) != coversNone {
			return true, nil
		}
	}
	return false, nil
}

// Bounds calls f with the codes that bound a column's values in each page that has any, as the summaries tell: each of them is the
// value of a row. There are none of strings.
func (s *Segment) Bounds(attno int, f func(value.Interval)) error {
	d, err := s.directory(attno)
	if d == nil || err != nil || d.typ.Width() == value.Var {
		return err
	}
	for i := range d.strips {
		if d.strips[i].values() > 0 {
			f(d.strips[i].words)
		}
	}
	return nil
}

// Select implements Source.
func (s *Segment) Select(ctx context.Context, attno int, r value.Ranges, cand, out []uint64) error {
	if err := ctx.Err(); err != nil || r.Empty() {
		return err
	}
	d, err := s.directory(attno)
	if err != nil {
		return err
	}
	all := func(first, rows int) {
		if cand == nil {
			setBits(out, first, first+rows)
			return
		}
		for i := 0; i < rows; i += 64 {
			x := [1]uint64{bitsAt(cand, first+i, min(64, rows-i))}
			orBits(out, first+i, x[:], min(64, rows-i))
		}
	}
	if d == nil {
		if r.Nulls {
			all(0, s.Rows())
		}
		return nil
	}
	text := d.typ.Width() == value.Var
	var wanted []int
	for i := range d.strips {
		f := &d.strips[i]
		switch f.cover(&r, text) {
		case coversAll:
			all(f.first, f.rows)
		case coversSome:
			if cand == nil || anyBit(cand, f.first, f.rows) {
				wanted = append(wanted, i)
			}
		}
	}
	sc := scratches.Get().(*scratch)
	defer scratches.Put(sc)
	load := s.loader(ctx, attno)
	return s.eachStrip(ctx, d, wanted, func(st *strip) error {
		return st.selectRows(&r, cand, out, sc, load)
	})
}

// Gather implements Source.
func (s *Segment) Gather(ctx context.Context, attno int, offs []uint16, dst *value.Vector) error {
	if err := ctx.Err(); err != nil || len(offs) == 0 {
		return err
	}
	if last := int(offs[len(offs)-1]); last >= s.Rows() {
		return fmt.Errorf("heap: offset %d is not in a segment of %d rows", last, s.Rows())
	}
	d, err := s.directory(attno)
	if err != nil {
		return err
	}
	if d == nil {
		for range offs {
			dst.AppendNull()
		}
		return nil
	}
	if err := checkType(dst, d.typ); err != nil {
		return err
	}
	var wanted []int
	var parts [][]uint16
	for i, rest := 0, offs; len(rest) > 0; i++ {
		i += sort.Search(len(d.strips)-i, func(k int) bool { return d.strips[i+k].end() > int(rest[0]) })
		n := sort.Search(len(rest), func(k int) bool { return int(rest[k]) >= d.strips[i].end() })
		wanted, parts = append(wanted, i), append(parts, rest[:n])
		rest = rest[n:]
	}
	sc := scratches.Get().(*scratch)
	defer scratches.Put(sc)
	load := s.loader(ctx, attno)
	return s.eachStrip(ctx, d, wanted, func(st *strip) error {
		part := parts[0]
		parts = parts[1:]
		return st.gather(part, dst, sc, load)
	})
}

// Column implements Source.
func (s *Segment) Column(ctx context.Context, attno int, dst *value.Vector) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d, err := s.directory(attno)
	if err != nil {
		return err
	}
	if d == nil {
		for range s.Rows() {
			dst.AppendNull()
		}
		return nil
	}
	if err := checkType(dst, d.typ); err != nil {
		return err
	}
	wanted := make([]int, len(d.strips))
	for i := range wanted {
		wanted[i] = i
	}
	sc := scratches.Get().(*scratch)
	defer scratches.Put(sc)
	load := s.loader(ctx, attno)
	return s.eachStrip(ctx, d, wanted, func(st *strip) error { return st.appendTo(dst, sc, load) })
}

func checkType(dst *value.Vector, t value.Type) error {
	if dst.Type != t {
		return fmt.Errorf("heap: vector of type %s for a column of type %s", dst.Type, t)
	}
	return nil
}

// pagesPerCheck is how many pages are decoded between two looks at the context: about 50 µs of work.
const pagesPerCheck = 16

// eachStrip reads the wanted strips of a column, numbers that ascend, and calls f with each. Pages in a row are read
// in one scan.
func (s *Segment) eachStrip(ctx context.Context, d *directory, wanted []int, f func(*strip) error) error {
	pages := 0
	var st strip
	for len(wanted) > 0 {
		n := 1
		for n < len(wanted) && wanted[n] == wanted[0]+n {
			n++
		}
		next := wanted[0]
		visit := func(block uint32, p []byte) (bool, error) {
			if pages++; pages%pagesPerCheck == 0 {
				if err := ctx.Err(); err != nil {
					return false, err
				}
			}
			var err error
			if st, err = d.strip(next, p); err == nil {
				err = f(&st)
			}
			next++
			return true, s.corrupt(block, err)
		}
		if err := s.read(d.block+uint32(next), n, visit); err != nil {
			return err
		}
		wanted = wanted[n:]
	}
	return nil
}

// read calls f with n pages from block first on.
func (s *Segment) read(first uint32, n int, f func(block uint32, p []byte) (bool, error)) error {
	if n == 1 {
		ref, err := s.r.Page(first)
		if err != nil {
			return err
		}
		defer ref.Release()
		_, err = f(first, ref.Data)
		return err
	}
	seen := 0
	err := s.r.Scan(first, first+uint32(n)-1, func(block uint32, p []byte) (bool, error) {
		seen++
		return f(block, p)
	})
	if err == nil && seen != n {
		return s.corrupt(first+uint32(seen), damage("it is missing"))
	}
	return err
}

// corrupt makes an error that says what is wrong with a page one that says with which.
func (s *Segment) corrupt(block uint32, err error) error {
	var d damage
	if errors.As(err, &d) {
		return &page.CorruptError{Owner: s.r.Owner(), Block: block, Detail: string(d)}
	}
	return err
}

// loader returns the reader of a column's long values.
func (s *Segment) loader(ctx context.Context, attno int) loader {
	return func(row int, ref overflowRef) (string, error) {
		n := (int(ref.length) + overflowRoom - 1) / overflowRoom
		if ref.length <= maxInline || ref.length > MaxValueBytes || uint64(ref.block)+uint64(n) > uint64(s.meta.Summary) {
			return "", damaged("row %d refers to %d bytes from block %d on", row, ref.length, ref.block)
		}
		var b strings.Builder
		b.Grow(int(min(ref.length, 1<<20))) // more only when the pages turn out to be there
		err := s.read(ref.block, n, func(block uint32, p []byte) (bool, error) {
			if (block-ref.block)%pagesPerCheck == 0 {
				if err := ctx.Err(); err != nil {
					return false, err
				}
			}
			part, err := overflowPart(p, attno, row, b.Len(), int(ref.length))
			b.Write(part)
			return true, s.corrupt(block, err)
		})
		return b.String(), err
	}
}

// overflowPart returns the bytes of an overflow page that must hold the part of a value of `length` bytes from byte
// `at` on.
func overflowPart(p []byte, attno, row, at, length int) ([]byte, error) {
	if h := page.ParseHeader(p); h.Kind != page.KindOverflow || len(p) < page.HeaderSize+overflowHeader {
		return nil, damaged("it is of kind %s with %d bytes, not an overflow page", h.Kind, len(p))
	}
	h := p[page.HeaderSize:]
	part := h[overflowHeader:]
	a, r, from := binary.LittleEndian.Uint16(h), binary.LittleEndian.Uint16(h[2:]), binary.LittleEndian.Uint32(h[4:])
	if int(a) != attno || int(r) != row || int64(from) != int64(at) {
		return nil, damaged("it holds column %d, row %d from byte %d on, not column %d, row %d from byte %d on",
			a, r, from, attno, row, at)
	}
	if want := min(length-at, overflowRoom); len(part) != want {
		return nil, damaged("it holds %d bytes of a value, expected %d", len(part), want)
	}
	return part, nil
}
