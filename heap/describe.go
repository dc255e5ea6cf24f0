package heap

import (
	"fmt"

	"wideleaf/page"
	"wideleaf/tid"
	"wideleaf/value"
)

// DescribePage says what each byte range of a heap page means. Where the page is damaged it says so in an error that
// matches page.ErrCorrupt; the description then ends before the damage.
func DescribePage(p []byte) (*page.Description, error) {
	d := &page.Description{}
	if len(p) < page.HeaderSize || len(p) > page.Size {
		return d, &page.CorruptError{Detail: fmt.Sprintf("it has %d bytes", len(p))}
	}
	d.Header(p)
	h := page.ParseHeader(p)
	var err error
	switch h.Kind {
	case page.KindColumn:
		err = describeStrips(d, p)
	case page.KindSummary:
		err = describeSummary(d, p)
	case page.KindOverflow:
		err = describeOverflow(d, p)
	default:
		err = damaged("it is of kind %s, not a heap page", h.Kind)
	}
	if err != nil {
		return d, &page.CorruptError{Owner: h.Owner, Block: h.Block, Detail: err.Error()}
	}
	return d, nil
}

// describer adds fields one behind the other.
type describer struct {
	*page.Description
	at int
}

func (d *describer) next(size int, format string, args ...any) {
	d.Add(d.at, size, format, args...)
	d.at += size
}

func describeStrips(desc *page.Description, p []byte) error {
	for d := (describer{desc, page.HeaderSize}); d.at < len(p); {
		s, err := parseStrip(p, d.at)
		if err != nil {
			return err
		}
		d.strip(&s, p)
	}
	return nil
}

func (d *describer) strip(s *strip, p []byte) {
	begin := d.at
	d.next(2, "column: %d", s.attno)
	d.next(1, "type: %s", s.typ)
	d.next(1, "encoding: %s", s.enc)
	d.next(2, "strip length: %d", s.size)
	d.next(2, "first row: %d", s.first)
	d.next(4, "rows: %d", s.rows)
	d.next(4, "nulls: %d", s.nulls)
	if s.enc == encNull {
		return
	}
	if s.typ.Width() == value.Var {
		d.next(1, "length of lower bound: %d", len(s.strings.Lo))
		if s.strings.HiInf {
			d.next(1, "no upper bound")
		} else {
			d.next(1, "length of upper bound: %d", len(s.strings.Hi))
		}
		d.next(len(s.strings.Lo), "lower bound: %q", s.strings.Lo)
		if !s.strings.HiInf {
			d.next(len(s.strings.Hi), "upper bound: %q", s.strings.Hi)
		}
	} else {
		n := codeBytes(s.typ)
		d.next(n, "lower bound: code %d (%s)", s.words.Lo, value.OfCode(s.typ, s.words.Lo))
		d.next(n, "upper bound: code %d (%s)", s.words.Hi, value.OfCode(s.typ, s.words.Hi))
	}
	if s.bitmap != nil {
		d.next(len(s.bitmap), "null bitmap of %d rows", s.rows)
	}
	n := s.values()
	switch s.enc {
	case encPacked:
		d.next(len(s.codes), "%d codes less the lower bound, %d bits each", n, s.width)
	case encDict:
		d.next(2, "distinct values: %d", s.count)
		d.next(len(s.codes), "%d distinct codes less the lower bound, %d bits each", s.count, s.width)
		d.next(len(s.places), "%d places in the dictionary, %d bits each", n, s.pwidth)
	case encRuns:
		d.next(2, "runs: %d", s.count)
		d.next(len(s.codes), "%d codes of runs less the lower bound, %d bits each", s.count, s.width)
		d.next(len(s.places), "%d last places of runs, %d bits each", s.count, s.pwidth)
	case encText, encLongText:
		d.next(2, "length of text: %d", len(s.text))
		d.next(len(s.ends), "%d ends of strings, %d bits each", n, s.ewidth)
		d.entries(s)
	case encTextDict:
		d.next(2, "distinct values: %d", s.count)
		d.next(2, "length of text: %d", len(s.text))
		d.next(len(s.ends), "%d ends of strings, %d bits each", s.count, s.ewidth)
		d.next(len(s.places), "%d places in the dictionary, %d bits each", n, s.pwidth)
		d.entries(s)
	}
	if d.at < begin+s.size { // only if an end of a string is out of bounds
		d.next(begin+s.size-d.at, "text that is not described: its ends are damaged")
	}
}

// entries describes the strings of a strip up to the first that is damaged.
func (d *describer) entries(s *strip) {
	at := 0
	for k := range s.count {
		b, err := s.entry(k)
		if err != nil {
			return
		}
		here, ref, long, err := s.inline(b)
		switch {
		case err != nil:
			return
		case long:
			d.next(len(b), "value %d: %d bytes from block %d on", k, ref.length, ref.block)
		default:
			d.next(len(b), "value %d: %q", k, here)
		}
		at += len(b)
	}
}

func describeOverflow(desc *page.Description, p []byte) error {
	if len(p) < page.HeaderSize+overflowHeader {
		return damaged("it has %d bytes", len(p))
	}
	c := cut{b: p[page.HeaderSize:]}
	d := describer{desc, page.HeaderSize}
	d.next(2, "column: %d", c.uint(2))
	d.next(2, "row: %d", c.uint(2))
	d.next(4, "bytes of the value before these: %d", c.uint(4))
	d.next(len(c.b), "bytes of the value")
	return nil
}

func describeSummary(desc *page.Description, p []byte) error {
	h, b, err := parseSummary(p)
	if err != nil {
		return err
	}
	d := describer{desc, page.HeaderSize}
	d.next(4, "position in the directory: %d", h.begin)
	d.next(4, "length of the directory: %d", h.total)
	d.next(4, "length of its table: %d", h.table)
	d.next(4, "position of the first part from here on: %d", h.part)
	at := uint64(h.begin)
	end := at + uint64(len(b))
	c := cut{b: b}
	for ; at < min(uint64(h.table), end); at += tableEntry {
		attno, part := c.uint(4), c.uint(4)
		if c.short {
			return damaged("the directory's table ends early")
		}
		d.next(tableEntry, "column %d: its part is at %d", attno, part)
	}
	if part := min(uint64(h.part), end); at < part {
		d.next(int(part-at), "rest of a column's part")
		c.take(int(part - at))
	}
	for len(c.b) > 0 {
		if err := d.part(&c); err != nil {
			if c.short && end < uint64(h.total) {
				d.next(len(p)-d.at, "goes on in the next page")
				return nil
			}
			return err
		}
	}
	return nil
}

// part describes a column's part of the directory.
func (d *describer) part(c *cut) error {
	size := len(c.b)
	head, strips, err := c.directoryHead()
	if err != nil {
		return err
	}
	d.next(size-len(c.b), "column %d of type %s: %d strips, the first at offset %d of block %d", head.attno, head.typ,
		strips, head.at, head.block)
	first := 0
	for range strips {
		size = len(c.b)
		f, err := c.directoryStrip(head.typ, first, tid.SegmentRows)
		if err != nil {
			return err
		}
		first = f.end()
		size -= len(c.b)
		switch {
		case f.values() == 0:
			d.next(size, "rows %d to %d: all NULL", f.first, first-1)
		case head.typ.Width() == value.Word32, head.typ.Width() == value.Word64:
			d.next(size, "rows %d to %d: %d NULL, values from %s to %s", f.first, first-1, f.nulls,
				value.OfCode(head.typ, f.words.Lo), value.OfCode(head.typ, f.words.Hi))
		case f.strings.HiInf:
			d.next(size, "rows %d to %d: %d NULL, values from %q on", f.first, first-1, f.nulls, f.strings.Lo)
		default:
			d.next(size, "rows %d to %d: %d NULL, values from %q to %q", f.first, first-1, f.nulls,
				f.strings.Lo, f.strings.Hi)
		}
	}
	return nil
}

// StripInfo is what a strip of a column page says of itself: where it is in the page, and which rows it holds.
type StripInfo struct {
	Offset, Size       int
	Attno              int
	Type               value.Type
	Encoding           string
	First, Rows, Nulls int
	Lo, Hi             *value.Value // bounds of the values; nil when there is none, strings may be cut
}

// Strips returns what the strips of a column page say, or a *page.CorruptError.
func Strips(p []byte) ([]StripInfo, error) {
	var out []StripInfo
	for at := page.HeaderSize; at < len(p); {
		s, err := parseStrip(p, at)
		if err != nil {
			h := page.ParseHeader(p)
			return nil, &page.CorruptError{Owner: h.Owner, Block: h.Block, Detail: err.Error()}
		}
		i := StripInfo{Offset: at, Size: s.size, Attno: s.attno, Type: s.typ, Encoding: s.enc.String(), First: s.first, Rows: s.rows, Nulls: s.nulls}
		switch {
		case s.enc == encNull:
		case s.typ.Width() != value.Var:
			lo, hi := value.OfCode(s.typ, s.words.Lo), value.OfCode(s.typ, s.words.Hi)
			i.Lo, i.Hi = &lo, &hi
		default:
			bound := func(s string) *value.Value { v := value.OfBytea([]byte(s)); return &v }
			if s.typ == value.Text {
				bound = func(s string) *value.Value { v := value.OfText(s); return &v }
			}
			i.Lo = bound(s.strings.Lo)
			if !s.strings.HiInf {
				i.Hi = bound(s.strings.Hi)
			}
		}
		out = append(out, i)
		at += s.size
	}
	return out, nil
}
