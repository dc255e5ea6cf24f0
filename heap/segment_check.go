package heap

import (
	"context"

	"wideleaf/page"
	"wideleaf/value"
)

// Check verifies the segment: every page is of a known kind and holds nothing but what belongs there, every strip
// decodes, counts and bounds are those of its values, and the summary says the same. Errors match page.ErrCorrupt.
func (s *Segment) Check(ctx context.Context) error {
	table, err := s.table()
	if err != nil {
		return err
	}
	strips, overflow := 0, 0
	position := uint32(len(table))
	begins := make([]uint32, 0, s.meta.Columns)
	for i := range int(s.meta.Columns) {
		from, end, err := s.part(table, i)
		if err != nil {
			return err
		}
		if from != position || i > 0 && tableAttno(table, i) <= tableAttno(table, i-1) {
			return s.corrupt(s.summaryBlock(uint32(i*tableEntry)), damaged("the directory's table is out of order at column %d",
				tableAttno(table, i)))
		}
		position = end
		begins = append(begins, from)
		d, err := s.readDirectory(from, end)
		if err != nil {
			return err
		}
		if a := tableAttno(table, i); d.attno != a {
			return s.corrupt(s.summaryBlock(from), damaged("the directory has column %d in place of column %d", d.attno, a))
		}
		if t := s.types(d.attno); t != d.typ {
			return s.corrupt(s.summaryBlock(from), damaged("column %d is of type %s, expected %s", d.attno, d.typ, t))
		}
		n, err := s.checkColumn(ctx, d)
		if err != nil {
			return err
		}
		strips += len(d.strips)
		overflow += n
	}
	if err := s.checkSummary(begins); err != nil {
		return err
	}
	return s.checkPages(ctx, strips, overflow)
}

// checkSummary verifies what summary pages say of themselves for tools that read a single one; begins holds where the
// columns' parts of the directory begin.
func (s *Segment) checkSummary(begins []uint32) error {
	if s.meta.SummaryBytes == 0 {
		return nil
	}
	return s.read(s.meta.Summary, int(s.meta.summaryPages()), func(block uint32, p []byte) (bool, error) {
		h, _, err := parseSummary(p)
		for len(begins) > 0 && begins[0] < h.begin {
			begins = begins[1:]
		}
		want := s.meta.SummaryBytes
		if len(begins) > 0 {
			want = begins[0]
		}
		if err == nil && h.part != want {
			err = damaged("it says that a column's part begins at %d, the directory's table says %d", h.part, want)
		}
		return true, s.corrupt(block, err)
	})
}

// checkColumn returns the number of overflow pages that the column refers to.
func (s *Segment) checkColumn(ctx context.Context, d *directory) (overflow int, err error) {
	wanted := make([]int, len(d.strips))
	for i := range wanted {
		wanted[i] = i
	}
	load := s.loader(ctx, d.attno)
	counting := func(row int, ref overflowRef) (string, error) {
		x, err := load(row, ref)
		overflow += (len(x) + overflowRoom - 1) / overflowRoom
		return x, err
	}
	sc := scratches.Get().(*scratch)
	defer scratches.Put(sc)
	var v value.Vector
	err = s.eachStrip(ctx, d, wanted, func(st *strip) error {
		v.Reset(d.typ)
		if err := st.appendTo(&v, sc, counting); err != nil {
			return err
		}
		return st.check(&v)
	})
	return overflow, err
}

// check compares a strip's header with its rows.
func (s *strip) check(v *value.Vector) error {
	var want facts
	want.first, want.rows = s.first, v.N
	var lo, hi value.Value
	for i := range v.N {
		x := v.Value(i)
		if x.IsNull() {
			want.nulls++
			continue
		}
		if lo.IsNull() || less(x, lo) {
			lo = x
		}
		if hi.IsNull() || less(hi, x) {
			hi = x
		}
	}
	if s.typ.Width() == value.Var && !lo.IsNull() {
		want.strings.Lo = lowerBound(lo.Str())
		want.strings.Hi, want.strings.HiInf = upperBound(hi.Str())
	} else {
		want.words = value.Interval{Lo: lo.Code(), Hi: hi.Code()}
	}
	if s.facts != want {
		return s.bad("it claims %+v, but its rows have %+v", s.facts, want)
	}
	return nil
}

// less orders values as strips' bounds do: by code, which tells -0 from 0, or by string.
func less(a, b value.Value) bool {
	if a.Type().Width() == value.Var {
		return a.Str() < b.Str()
	}
	return a.Code() < b.Code()
}

// checkPages verifies that the segment's pages hold the given numbers of strips and of overflow pages.
func (s *Segment) checkPages(ctx context.Context, strips, overflow int) error {
	if s.meta.Summary == 0 {
		return nil
	}
	return s.read(0, int(s.meta.Summary), func(block uint32, p []byte) (bool, error) {
		if block%pagesPerCheck == 0 {
			if err := ctx.Err(); err != nil {
				return false, err
			}
		}
		switch k := page.ParseHeader(p).Kind; k {
		case page.KindOverflow:
			overflow--
		case page.KindColumn:
			for at := page.HeaderSize; at < len(p); {
				st, err := parseStrip(p, at)
				if err != nil {
					return false, s.corrupt(block, err)
				}
				at += st.size
				strips--
			}
		default:
			return false, s.corrupt(block, damaged("it is of kind %s", k))
		}
		if last := block == s.meta.Summary-1; strips < 0 || overflow < 0 || last && strips+overflow > 0 {
			return false, s.corrupt(block, damaged("pages hold %d strips and %d overflow pages fewer than are referred to",
				strips, overflow))
		}
		return true, nil
	})
}
