package query

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"slices"

	"pgregory.net/rapid"

	"wideleaf/am"
	"wideleaf/catalog"
	"wideleaf/page"
	"wideleaf/pending"
	"wideleaf/tid"
	"wideleaf/value"
)

// The model: a table as rows in memory, from which sources, runs and right answers are made by the plainest means.

// model is a table of rows, in segments of the given sizes.
type model struct {
	def     *catalog.Table
	rows    [][]value.Value
	tids    []tid.TID
	flushed int // segments
	segs    []modelSegment
}

type modelSegment struct {
	number     uint64
	start, end int // of rows
}

func (m *model) value(row, attno int) value.Value { return m.rows[row][m.def.Column(attno)] }

// matching returns the positions of the rows for which p holds.
func (m *model) matching(p *Pred) []int {
	var out []int
	for i := range m.rows {
		if p.Eval(func(attno int) value.Value { return m.value(i, attno) }) {
			out = append(out, i)
		}
	}
	return out
}

func newModel(types []value.Type, rows [][]value.Value, sizes []int, flushed int) *model {
	m := &model{def: &catalog.Table{ID: 1, Name: "t"}, rows: rows, flushed: flushed}
	for i, t := range types {
		m.def.Columns = append(m.def.Columns, catalog.Column{Attno: i + 1, Name: "c" + string(rune('0'+i)), Type: t})
	}
	start, number := 0, uint64(3)
	for _, n := range sizes {
		m.segs = append(m.segs, modelSegment{number, start, start + n})
		for i := range n {
			m.tids = append(m.tids, tid.New(number, uint16(i)))
		}
		start += n
		number += 1 + number%2 // gaps in the numbering
	}
	return m
}

// table returns the model as a Table with an index of each of the given column lists.
func (m *model) table(method am.Method, indexes ...[]catalog.IndexColumn) *Table {
	var defs []catalog.Index
	for _, cols := range indexes {
		defs = append(defs, catalog.Index{Columns: cols})
	}
	return m.tableWith(method, defs...)
}

// tableWith returns the model as a Table with indexes.
func (m *model) tableWith(method am.Method, indexes ...catalog.Index) *Table {
	t := &Table{Def: m.def, Flushed: m.flushed}
	for _, s := range m.segs {
		t.Sources = append(t.Sources, memSource{m, s})
	}
	for i, def := range indexes {
		def.ID, def.TableID = uint32(100+i), 1
		ix := Index{Def: &def, Method: method}
		for at := 0; at < m.flushed; {
			n := min(1+at%2, m.flushed-at) // runs of one and of two segments
			ix.Runs = append(ix.Runs, m.run(method, ix.Def, m.segs[at:at+n]))
			at += n
		}
		for at, s := range m.segs[m.flushed:] {
			// Of its first rows, a tail has a mini-run or two, or none.
			p := pending.Part{Source: t.Sources[m.flushed+at]}
			for range (at + i) % 3 {
				next := p.From + (s.end-s.start-p.From+1)/2
				if next > p.From {
					ix.Runs = append(ix.Runs, m.run(method, ix.Def, []modelSegment{{s.number, s.start + p.From, s.start + next}}))
				}
				p.From = next
			}
			ix.Pending = append(ix.Pending, p)
		}
		t.Indexes = append(t.Indexes, ix)
	}
	return t
}

func (m *model) run(method am.Method, def *catalog.Index, segs []modelSegment) am.Run {
	span := am.Span{First: segs[0].number, End: segs[len(segs)-1].number + 1}
	if mem, ok := method.(memMethod); ok {
		return &memRun{m, def, mem, span, segs[0].start, segs[len(segs)-1].end}
	}
	return realRun(m, method, def, span, segs)
}

// memSource is a segment of a model.
type memSource struct {
	m *model
	s modelSegment
}

func (s memSource) Number() uint64 { return s.s.number }
func (s memSource) Rows() int      { return s.s.end - s.s.start }

func (s memSource) Select(ctx context.Context, attno int, r value.Ranges, cand, out []uint64) error {
	for i := range s.Rows() {
		if (cand == nil || cand[i>>6]>>(i&63)&1 != 0) && r.Contains(s.m.value(s.s.start+i, attno)) {
			out[i>>6] |= 1 << (i & 63)
		}
	}
	return ctx.Err()
}

func (s memSource) Gather(ctx context.Context, attno int, offs []uint16, dst *value.Vector) error {
	for _, o := range offs {
		dst.Append(s.m.value(s.s.start+int(o), attno))
	}
	return ctx.Err()
}

func (s memSource) Column(ctx context.Context, attno int, dst *value.Vector) error {
	for i := range s.Rows() {
		dst.Append(s.m.value(s.s.start+i, attno))
	}
	return ctx.Err()
}

// memMethod is an access method that looks at every row.
type memMethod struct {
	lossy  bool    // bitmaps hold every other row besides the right ones, and ask for a recheck
	counts bool    // runs count
	wrong  float64 // estimates are this many times the truth
}

func (memMethod) Name() string { return "mem" }
func (m memMethod) Abilities() am.Abilities {
	return am.Abilities{Ordered: true, MultiColumn: true, Counts: m.counts, MaxColumns: 32}
}
func (memMethod) Build(*catalog.Index, page.Owner, am.Source, page.Writer, func() error) (am.RunMeta, error) {
	panic("not used")
}
func (memMethod) Merge(*catalog.Index, page.Owner, []am.Run, am.Span, func(tid.TID) bool, page.Writer, func() error) (am.RunMeta, error) {
	panic("not used")
}
func (memMethod) Open(*catalog.Index, am.RunMeta, am.Span, page.Reader, *page.Cache) (am.Run, error) {
	panic("not used")
}

type memRun struct {
	m          *model
	def        *catalog.Index
	method     memMethod
	span       am.Span
	start, end int
}

func (r *memRun) Meta() am.RunMeta {
	return am.RunMeta{Entries: uint64(r.end - r.start), Blocks: 1 << 20} // so many that a wrong estimate makes it dear
}
func (r *memRun) Span() am.Span               { return r.span }
func (r *memRun) Check(context.Context) error { return nil }

func (r *memRun) matching(c am.Conditions) []int {
	var out []int
	for i := r.start; i < r.end; i++ {
		ok := true
		for k, cond := range c {
			ok = ok && (cond == nil || cond.Contains(r.m.value(i, r.def.Columns[k].Attno)))
		}
		if ok {
			out = append(out, i)
		}
	}
	return out
}

func (r *memRun) Bitmap(ctx context.Context, c am.Conditions, b *tid.Builder) (bool, error) {
	for i, row := range r.matching(c) {
		if t := r.m.tids[row]; i%2 == 0 {
			b.Add(t)
		} else {
			b.AddRelative(tid.New(r.span.First, 0), []uint32{uint32(t - tid.New(r.span.First, 0))})
		}
	}
	if r.method.lossy {
		for row := r.start; row < r.end; row += 2 {
			b.Add(r.m.tids[row])
		}
	}
	return r.method.lossy, ctx.Err()
}

func (r *memRun) Estimate(c am.Conditions) (am.Estimate, error) {
	n := float64(len(r.matching(c))) * r.method.wrong
	return am.Estimate{Rows: n, Pages: n / 1000}, nil
}

func (r *memRun) Count(c am.Conditions) (int64, bool, error) {
	return int64(len(r.matching(c))), r.method.counts, nil
}

func (r *memRun) Cursor(_ context.Context, c am.Conditions, backward bool) iter.Seq2[am.Entry, error] {
	rows := r.matching(c)
	col := r.def.Columns[0]
	slices.SortStableFunc(rows, func(a, b int) int {
		return modelCompare(r.m.value(a, col.Attno), r.m.value(b, col.Attno), OrderKey{Attno: col.Attno, Desc: col.Desc, NullsFirst: col.NullsFirst})
	})
	if backward {
		slices.Reverse(rows)
	}
	return func(yield func(am.Entry, error) bool) {
		for _, row := range rows {
			if !yield(am.Entry{TID: r.m.tids[row]}, nil) {
				return
			}
		}
	}
}

// modelCompare compares by SQL's rules, written down apart from the code under test.
func modelCompare(a, b value.Value, k OrderKey) int {
	switch {
	case a.IsNull() && b.IsNull():
		return 0
	case a.IsNull() && k.NullsFirst, b.IsNull() && !k.NullsFirst:
		return -1
	case a.IsNull(), b.IsNull():
		return 1
	}
	c := 0
	switch a.Type() {
	case value.Float8:
		x, y := a.Float(), b.Float()
		switch {
		case x == y, x != x && y != y:
		case x != x, x > y: // NaN is above all
			c = 1
		default:
			c = -1
		}
	case value.Text:
		c = bytes.Compare([]byte(a.Str()), []byte(b.Str()))
	case value.Timestamptz:
		x, _ := a.Time()
		y, _ := b.Time()
		c = x.Compare(y)
	case value.TextArray: // item by item, NULL above all, then the shorter one first
		x, y := itemsOf(a), itemsOf(b)
		for c == 0 && len(x) > 0 && len(y) > 0 {
			c = modelCompare(x[0], y[0], OrderKey{})
			x, y = x[1:], y[1:]
		}
		if c == 0 {
			c = cmp.Compare(len(x), len(y))
		}
	case value.Bool:
		switch {
		case a.Bool() && !b.Bool():
			c = 1
		case b.Bool() && !a.Bool():
			c = -1
		}
	default:
		c = cmp.Compare(a.Int(), b.Int())
	}
	if k.Desc {
		return -c
	}
	return c
}

func itemsOf(v value.Value) (out []value.Value) {
	for it := v.Items(); it.Next(); {
		out = append(out, it.Value())
	}
	return out
}

// Generators.

var columnTypes = []value.Type{value.Int4, value.Int4, value.Int8, value.Float8, value.Text, value.Bool, value.Timestamptz, value.TextArray}

func genValue(t *rapid.T, typ value.Type) value.Value {
	if rapid.IntRange(0, 5).Draw(t, "null") == 0 {
		return value.Null(typ)
	}
	switch typ {
	case value.Int4:
		return value.OfInt4(rapid.OneOf(rapid.Int32Range(-5, 5), rapid.Int32()).Draw(t, "int4"))
	case value.Int8:
		return value.OfInt8(rapid.OneOf(rapid.Int64Range(-5, 5), rapid.Int64()).Draw(t, "int8"))
	case value.Float8:
		small := rapid.SampledFrom([]float64{-1.5, negZero, 0, 1.5, nan, inf, -inf})
		return value.OfFloat8(rapid.OneOf(small, rapid.Float64Range(-1e300, 1e300)).Draw(t, "float8"))
	case value.Bool:
		return value.OfBool(rapid.Bool().Draw(t, "bool"))
	case value.Timestamptz:
		return value.OfTimestamptz(rapid.OneOf(rapid.Int64Range(-5, 5), rapid.Int64Range(-1e17, 1e18)).Draw(t, "timestamptz"))
	case value.TextArray:
		items := make([]value.Value, rapid.IntRange(0, 3).Draw(t, "items"))
		for i := range items {
			items[i] = value.OfText(rapid.SampledFrom([]string{"", "a", "aa", "b", "é"}).Draw(t, "item"))
			if rapid.IntRange(0, 5).Draw(t, "null item") == 0 {
				items[i] = value.Null(value.Text)
			}
		}
		return value.OfArray(typ, items)
	}
	// Prefixes around the eight bytes that sorting compares first.
	prefix := rapid.SampledFrom([]string{"", "", "aaaaaa", "aaaaaaaa", "\x00"}).Draw(t, "prefix")
	return value.OfText(prefix + rapid.StringOfN(rapid.RuneFrom([]rune("abé\x00")), 0, 3, -1).Draw(t, "text"))
}

func genModel(t *rapid.T) *model {
	n := rapid.IntRange(0, 5).Draw(t, "segments")
	var sizes []int
	total := 0
	for range n {
		s := rapid.SampledFrom([]int{0, 1, 5, 63, 64, 65, 90}).Draw(t, "size")
		sizes = append(sizes, s)
		total += s
	}
	rows := make([][]value.Value, total)
	for i := range rows {
		for _, typ := range columnTypes {
			rows[i] = append(rows[i], genValue(t, typ))
		}
	}
	return newModel(columnTypes, rows, sizes, rapid.IntRange(0, n).Draw(t, "flushed"))
}

func genRanges(t *rapid.T, typ value.Type) value.Ranges {
	var r value.Ranges
	if typ == value.Int4 && rapid.IntRange(0, 9).Draw(t, "list") == 0 {
		step := rapid.IntRange(2, 5).Draw(t, "step") // a long IN list: more intervals than are sampled
		for v := -100; v < 100; v += step {
			c := uint64(value.Int4Code(int32(v)))
			r.Words = append(r.Words, value.Interval{Lo: c, Hi: c})
		}
		return r
	}
	for range rapid.IntRange(1, 3).Draw(t, "intervals") {
		a, b := genValue(t, typ), genValue(t, typ)
		if a.IsNull() || b.IsNull() {
			r.Nulls = true
			continue
		}
		if modelCompare(a, b, OrderKey{}) > 0 {
			a, b = b, a
		}
		if typ.Width() == value.Var {
			nulls := r.Nulls
			r = r.Union(value.OfStringIntervals(value.StringInterval{Lo: a.Str(), Hi: b.Str(),
				LoOpen: rapid.Bool().Draw(t, "open"), HiInf: rapid.Bool().Draw(t, "inf")}))
			r.Nulls = nulls
			continue
		}
		lo, hi := a.Code(), b.Code()
		if typ == value.Float8 { // as binding makes them: both zeros or none
			if lo == value.PosZeroCode {
				lo = value.NegZeroCode
			}
			if hi == value.NegZeroCode {
				hi = value.PosZeroCode
			}
		}
		nulls := r.Nulls
		r = r.Union(value.OfIntervals(value.Interval{Lo: lo, Hi: hi}))
		r.Nulls = nulls
	}
	return r
}

func genPred(t *rapid.T, depth int, not Kind) *Pred {
	kind := Column
	if depth > 0 {
		kind = rapid.SampledFrom([]Kind{Column, Column, And, Or}).Draw(t, "kind")
	}
	if kind == not || kind == Column {
		attno := rapid.IntRange(1, len(columnTypes)).Draw(t, "attno")
		typ := columnTypes[attno-1]
		return &Pred{Kind: Column, Attno: attno, Type: typ, Ranges: genRanges(t, typ)}
	}
	p := &Pred{Kind: kind}
	for range rapid.IntRange(2, 4).Draw(t, "args") {
		p.Args = append(p.Args, genPred(t, depth-1, kind))
	}
	return p
}

func genCondition(t *rapid.T) *Pred {
	switch rapid.IntRange(0, 9).Draw(t, "condition") {
	case 0:
		return &Pred{Kind: True}
	case 1:
		return &Pred{Kind: False}
	}
	return genPred(t, 3, False)
}

func genIndexes(t *rapid.T) [][]catalog.IndexColumn {
	var out [][]catalog.IndexColumn
	for range rapid.IntRange(0, 6).Draw(t, "indexes") {
		attnos := rapid.SliceOfNDistinct(rapid.IntRange(1, len(columnTypes)), 1, 3, rapid.ID[int]).Draw(t, "columns")
		var cols []catalog.IndexColumn
		for _, a := range attnos {
			desc := rapid.Bool().Draw(t, "desc")
			cols = append(cols, catalog.IndexColumn{Attno: a, Type: columnTypes[a-1], Desc: desc, NullsFirst: desc})
		}
		out = append(out, cols)
	}
	return out
}

func columns(attnos ...int) []catalog.IndexColumn {
	var out []catalog.IndexColumn
	for _, a := range attnos {
		out = append(out, catalog.IndexColumn{Attno: a, Type: value.Int4})
	}
	return out
}

func int4Below(attno int, v int32) *Pred {
	return &Pred{Kind: Column, Attno: attno, Type: value.Int4,
		Ranges: value.OfIntervals(value.Interval{Lo: 0, Hi: uint64(value.Int4Code(v)) - 1})}
}
