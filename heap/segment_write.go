package heap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"wideleaf/page"
	"wideleaf/tid"
	"wideleaf/value"
)

// ErrValueTooLong is the kind of errors about values over MaxValueBytes.
var ErrValueTooLong = errors.New("value is too long")

// SegmentColumn is a column to be written.
type SegmentColumn struct {
	Attno  int
	Values *value.Vector
}

// WriteSegment writes the pages of a segment whose columns, in order of attno, have `rows` rows each: the pages of
// one column after the other, long values before the column that refers to them, then the summary. A column is done with
// when the next is taken, so that cols can yield the same vector again and again. The pages are a function of o, cols and
// rows alone. yield, called at least once a page and a column, lets other work go first and
// returns an error when the writing must stop.
func WriteSegment(o page.Owner, cols iter.Seq2[SegmentColumn, error], rows int, w page.Writer, yield func() error) (SegmentMeta, error) {
	if rows < 0 || rows > tid.SegmentRows {
		return SegmentMeta{}, fmt.Errorf("heap: a segment of %d rows", rows)
	}
	sw := &segmentWriter{owner: o, w: w, yield: yield, page: make([]byte, page.HeaderSize, page.Size)}
	var attnos, begins []uint32 // of each column, and where its part of the directory begins
	var parts []byte            // the directory behind its table
	last := 0
	for c, err := range cols {
		if err != nil {
			return SegmentMeta{}, err
		}
		if c.Attno <= last || c.Attno > 1<<16-1 || c.Values.N != rows {
			return SegmentMeta{}, fmt.Errorf("heap: column %d of a segment of %d rows has %d or is out of order",
				c.Attno, rows, c.Values.N)
		}
		d, err := sw.column(c.Attno, c.Values)
		if err != nil {
			return SegmentMeta{}, fmt.Errorf("heap: column %d: %w", c.Attno, err)
		}
		last = c.Attno
		attnos, begins = append(attnos, uint32(c.Attno)), append(begins, uint32(len(parts)))
		parts = appendDirectory(parts, d)
		if err := yield(); err != nil {
			return SegmentMeta{}, err
		}
	}
	if err := sw.flush(); err != nil {
		return SegmentMeta{}, err
	}
	tableBytes := uint32(len(attnos) * tableEntry)
	table := make([]byte, 0, int(tableBytes)+len(parts))
	for i, a := range attnos {
		begins[i] += tableBytes
		table = binary.LittleEndian.AppendUint32(table, a)
		table = binary.LittleEndian.AppendUint32(table, begins[i])
	}
	meta := SegmentMeta{Rows: uint32(rows), Columns: uint32(len(attnos)), Summary: sw.next}
	if err := sw.summary(append(table, parts...), tableBytes, begins); err != nil {
		return SegmentMeta{}, err
	}
	meta.Blocks, meta.SummaryBytes = sw.next, tableBytes+uint32(len(parts))
	return meta, nil
}

// summary writes the directory, of whose parts begins holds the positions.
func (w *segmentWriter) summary(dir []byte, table uint32, begins []uint32) error {
	for at := 0; at < len(dir); at += summaryRoom {
		for len(begins) > 0 && begins[0] < uint32(at) {
			begins = begins[1:]
		}
		h := summaryPage{begin: uint32(at), total: uint32(len(dir)), table: table, part: uint32(len(dir))}
		if len(begins) > 0 {
			h.part = begins[0]
		}
		p := append(h.append(w.page[:page.HeaderSize]), dir[at:min(at+summaryRoom, len(dir))]...)
		if err := w.write(page.KindSummary, p); err != nil {
			return err
		}
	}
	return nil
}

// segmentWriter has the column page that is being filled, and the encoders' memory.
type segmentWriter struct {
	owner page.Owner
	w     page.Writer
	yield func() error
	next  uint32 // block of the next page
	page  []byte // the column page so far
	u32   codeEncoder[uint32]
	u64   codeEncoder[uint64]
	text  textEncoder
}

// write seals and writes a page.
func (w *segmentWriter) write(k page.Kind, p []byte) error {
	page.Seal(p, page.Header{Kind: k, Owner: w.owner, Block: w.next})
	if err := w.w.WritePage(p); err != nil {
		return err
	}
	w.next++
	return w.yield()
}

// flush writes the column page if it holds anything.
func (w *segmentWriter) flush() error {
	if len(w.page) == page.HeaderSize {
		return nil
	}
	err := w.write(page.KindColumn, w.page)
	w.page = w.page[:page.HeaderSize]
	return err
}

// column writes a column. Its strips go to pages of their own, except that a column that fits as a whole in what
// is left of the page before goes there.
func (w *segmentWriter) column(attno int, v *value.Vector) (*directory, error) {
	e, err := w.encoder(attno, v)
	if err != nil {
		return nil, err
	}
	d := &directory{attno: attno, typ: v.Type, block: w.next, at: page.HeaderSize}
	for row := 0; row < v.N; {
		n := 0
		if room := page.Size - len(w.page); row == 0 && room >= stripHeader {
			n = e.plan(0, room)
		}
		if n < v.N {
			if err := w.flush(); err != nil {
				return nil, err
			}
			n = e.plan(row, stripRoom)
		}
		if row == 0 {
			d.block, d.at = w.next, len(w.page)
		}
		var f facts
		w.page, f = e.appendStrip(w.page)
		d.strips = append(d.strips, f)
		row += n
	}
	return d, nil
}

// encoder returns the encoder of a column; the column's long values are written by then.
func (w *segmentWriter) encoder(attno int, v *value.Vector) (columnEncoder, error) {
	switch v.Type.Width() {
	case value.Word32:
		w.u32.reset(attno, v, v.U32[:v.N])
		return &w.u32, nil
	case value.Word64:
		w.u64.reset(attno, v, v.U64[:v.N])
		return &w.u64, nil
	}
	long, err := w.overflow(attno, v)
	w.text.reset(attno, v, long)
	return &w.text, err
}

// overflow writes a column's long values and returns where they are, by row.
func (w *segmentWriter) overflow(attno int, v *value.Vector) (map[int]overflowRef, error) {
	var long map[int]overflowRef
	var p []byte
	for row, s := range v.Str[:v.N] {
		if len(s) <= maxInline || v.IsNull(row) {
			continue
		}
		if len(s) > MaxValueBytes {
			return nil, fmt.Errorf("%w: row %d has %d bytes, the maximum is %d", ErrValueTooLong, row, len(s), MaxValueBytes)
		}
		if long == nil {
			if err := w.flush(); err != nil { // its block is promised to strips that are in it
				return nil, err
			}
			long = map[int]overflowRef{}
			p = make([]byte, page.HeaderSize, page.Size)
		}
		long[row] = overflowRef{w.next, uint32(len(s))}
		for at := 0; at < len(s); at += overflowRoom {
			p = binary.LittleEndian.AppendUint16(p[:page.HeaderSize], uint16(attno))
			p = binary.LittleEndian.AppendUint16(p, uint16(row))
			p = binary.LittleEndian.AppendUint32(p, uint32(at))
			p = append(p, s[at:min(at+overflowRoom, len(s))]...)
			if err := w.write(page.KindOverflow, p); err != nil {
				return nil, err
			}
		}
	}
	return long, nil
}
