package query

import (
	"context"
	"math"

	"wideleaf/am"
	"wideleaf/pgerr"
	"wideleaf/tid"
	"wideleaf/value"
)

// Func is an aggregate function.
type Func uint8

// The aggregate functions.
const (
	CountRows Func = iota // count(*)
	CountOf               // count(column): of the values that are not NULL
	Sum
	Avg
	Min
	Max
	Percentile // percentile(column, fraction), median(column): PostgreSQL's percentile_disc
)

var funcNames = [...]string{CountRows: "count", CountOf: "count", Sum: "sum", Avg: "avg", Min: "min", Max: "max", Percentile: "percentile"}

// String returns the function's SQL name.
func (f Func) String() string { return funcNames[f] }

// Aggregate is one aggregate of a column over the rows that a condition holds for.
type Aggregate struct {
	Func     Func
	Attno    int     // 0 for CountRows
	Distinct bool    // each value counts once
	Fraction float64 // of a Percentile, from 0 to 1
}

// Result returns the type of a function's result for a column of type t, as in PostgreSQL, or an error that such a
// function does not exist.
func (f Func) Result(t value.Type) (value.Type, error) {
	switch {
	case f == CountRows || f == CountOf:
		return value.Int8, nil
	case f == Percentile:
		return t, nil
	case (f == Min || f == Max) && t != value.Bool && t != value.Bytea:
		return t, nil
	case t == value.Float8:
		return value.Float8, nil
	case f == Sum && t == value.Int4:
		return value.Int8, nil
	case t == value.Int4 || t == value.Int8:
		return value.Numeric, nil
	}
	return value.Unknown, &pgerr.Error{
		Kind:    pgerr.ErrInvalid,
		Code:    pgerr.UndefinedFunction,
		Message: "function " + f.String() + "(" + t.SQLName() + ") does not exist",
		Hint:    "No function matches the given name and argument types. You might need to add explicit type casts.",
	}
}

// Aggregates computes aggregates over the rows for which p holds. Each result has the type that Result says, and is
// NULL where PostgreSQL's is. Sums of float8 are added in TID order, so that equal tables have equal sums.
func Aggregates(ctx context.Context, t *Table, p *Pred, aggs []Aggregate) ([]value.Value, error) {
	e := newExecutor(ctx, t)
	out := make([]value.Value, len(aggs))
	var todo []*accumulation
	for i, a := range aggs {
		typ, err := t.typeOf(a.Attno)
		if err != nil {
			return nil, err
		}
		if a.Attno == 0 && a.Func != CountRows {
			return nil, noColumn(t, 0)
		}
		if _, err := a.Func.Result(typ); err != nil {
			return nil, err
		}
		v, ok, err := e.shortcut(p, a, typ)
		if err != nil {
			return nil, err
		}
		if ok {
			out[i] = v
			continue
		}
		todo = append(todo, &accumulation{Aggregate: a, typ: typ, at: i, acc: e.newAccumulator(a, typ)})
	}
	if len(todo) == 0 {
		return out, nil
	}
	defer func() {
		for _, a := range todo {
			if d, ok := a.acc.(*distinct); ok {
				d.close()
			}
		}
	}()
	if err := e.accumulate(p, todo); err != nil {
		return nil, err
	}
	for _, a := range todo {
		v, err := a.acc.result()
		if err != nil {
			return nil, err
		}
		out[a.at] = v
	}
	return out, nil
}

// accumulation is an aggregate being computed, for place `at` of the results.
type accumulation struct {
	Aggregate
	typ value.Type
	at  int
	acc accumulator
}

// typeOf returns the type of a column, Unknown for attno 0.
func (t *Table) typeOf(attno int) (value.Type, error) {
	if attno == 0 {
		return value.Unknown, nil
	}
	i := t.Def.Column(attno)
	if i < 0 {
		return value.Unknown, noColumn(t, attno)
	}
	return t.Def.Columns[i].Type, nil
}

// shortcut answers an aggregate without looking at the rows, if it can.
func (e *executor) shortcut(p *Pred, a Aggregate, typ value.Type) (v value.Value, ok bool, err error) {
	counts := a.Func == CountRows || a.Func == CountOf && !a.Distinct
	switch {
	case a.Func == CountRows:
	case a.Func == CountOf && !a.Distinct:
		if e.t.Def.Columns[e.t.Def.Column(a.Attno)].NotNull {
			break
		}
		if p.Kind != True {
			return v, false, nil
		}
		p = &Pred{Kind: Column, Attno: a.Attno, Type: typ, Ranges: value.NotNull(typ)}
	case a.Func == Min || a.Func == Max:
		return e.extreme(p, a, typ)
	}
	if !counts {
		return v, false, nil
	}
	if p.Kind == True {
		return value.OfInt8(e.t.Rows()), true, nil
	}
	n, ok, err := e.countByIndex(p)
	return value.OfInt8(n), ok, err
}

// extreme finds the least or greatest value of a column at the ends of an ordered index's runs, for a condition on that
// column alone or none.
func (e *executor) extreme(p *Pred, a Aggregate, typ value.Type) (v value.Value, ok bool, err error) {
	r := value.NotNull(typ)
	switch {
	case p.Kind == Column && p.Attno == a.Attno:
		r = r.Intersect(p.Ranges)
	case p.Kind != True:
		return v, false, nil
	}
	cond := &Pred{Kind: Column, Attno: a.Attno, Type: typ, Ranges: r}
	pa := e.pathOf(cond)
	if pa == nil || !pa.index.Method.Abilities().Ordered {
		return v, false, nil
	}
	backward := (a.Func == Max) != pa.index.Def.Columns[0].Desc
	best := e.newAccumulator(a, typ)
	var one value.Vector
	for _, run := range pa.index.Runs {
		c, can := run.(am.Cursor)
		if !can {
			return v, false, nil
		}
		for entry, err := range c.Cursor(e.ctx, pa.conds, backward) {
			if err != nil {
				return v, false, err
			}
			if e.t.Dead.Has(entry.TID) {
				continue
			}
			one.Reset(typ)
			if err := e.gatherOne(entry.TID, a.Attno, &one); err != nil {
				return v, false, err
			}
			best.add(&one)
			break
		}
	}
	b := tid.NewBuilder(e.first, e.end)
	if err := e.scanPending(pa.index.Pending, []*Pred{cond}, nil, b); err != nil {
		return v, false, err
	}
	acc := []*accumulation{{Aggregate: a, typ: typ, acc: best}}
	if err := e.accumulateOver(candidates{set: b.Set().Less(e.t.Dead), owned: true}, acc); err != nil {
		return v, false, err
	}
	v, err = best.result()
	return v, err == nil, err
}

// accumulate feeds the values of the rows for which p holds to aggregates.
func (e *executor) accumulate(p *Pred, aggs []*accumulation) error {
	found, err := e.narrow(p, nil)
	if err != nil {
		return err
	}
	return e.accumulateOver(found, aggs)
}

func (e *executor) accumulateOver(found candidates, aggs []*accumulation) error {
	defer found.release()
	var offs []uint16
	var v value.Vector
	for m, err := range e.matches(found) {
		if err != nil {
			return err
		}
		offs = m.bits.AppendOffsets(offs[:0], 0, tid.SegmentRows)
		for i, a := range aggs {
			if a.Func == CountRows {
				a.acc.(*counter).n += int64(len(offs))
				continue
			}
			if seenBefore(aggs[:i], a.Attno) {
				continue // fed together with the first of its column
			}
			v.Reset(a.typ)
			if len(offs) == m.src.Rows() {
				err = m.src.Column(e.ctx, a.Attno, &v)
			} else {
				err = m.src.Gather(e.ctx, a.Attno, offs, &v)
			}
			if err != nil {
				return err
			}
			for _, b := range aggs[i:] {
				if b.Attno == a.Attno && b.Func != CountRows {
					b.acc.add(&v)
				}
			}
		}
	}
	return nil
}

func seenBefore(aggs []*accumulation, attno int) bool {
	for _, a := range aggs {
		if a.Attno == attno && a.Func != CountRows {
			return true
		}
	}
	return false
}

// accumulator computes one aggregate from the values of the matching rows, segment by segment.
type accumulator interface {
	add(v *value.Vector)
	result() (value.Value, error)
}

func (e *executor) newAccumulator(a Aggregate, t value.Type) accumulator {
	if a.Distinct && a.Func != Min && a.Func != Max {
		inner := a
		inner.Distinct = false
		return newDistinct(e, e.newAccumulator(inner, t), t)
	}
	switch a.Func {
	case Sum, Avg:
		if t == value.Float8 {
			return &floatSum{mean: a.Func == Avg}
		}
		return &intSum{typ: t, mean: a.Func == Avg}
	case Min, Max:
		return &extremum{typ: t, greatest: a.Func == Max}
	case Percentile:
		return &sorted{ctx: e.ctx, typ: t, fraction: a.Fraction}
	}
	return &counter{}
}

// counter counts the values that are not NULL.
type counter struct{ n int64 }

func (c *counter) add(v *value.Vector) { c.n += int64(v.N - countNulls(v)) }

func (c *counter) result() (value.Value, error) { return value.OfInt8(c.n), nil }

// floatSum adds float8s in the order in which they come.
type floatSum struct {
	mean     bool
	n        int64
	sum      float64
	overflow bool // finite values gave an infinite sum
}

func (s *floatSum) add(v *value.Vector) {
	for i, c := range v.U64[:v.N] {
		if v.IsNull(i) {
			continue
		}
		f := value.CodeFloat8(c)
		sum := s.sum + f
		if math.IsInf(sum, 0) && !math.IsInf(s.sum, 0) && !math.IsInf(f, 0) {
			s.overflow = true
		}
		s.sum = sum
		s.n++
	}
}

func (s *floatSum) result() (value.Value, error) {
	switch {
	case s.n == 0:
		return value.Null(value.Float8), nil
	case s.overflow:
		return value.Value{}, &pgerr.Error{Kind: pgerr.ErrInvalid, Code: pgerr.NumericValueOutOfRange,
			Message: "value out of range: overflow"}
	case s.mean:
		return value.OfFloat8(s.sum / float64(s.n)), nil
	}
	return value.OfFloat8(s.sum), nil
}

// extremum keeps the least or greatest value, the first of equal ones.
type extremum struct {
	typ      value.Type
	greatest bool
	found    bool
	code     uint64
	str      string
}

func (x *extremum) add(v *value.Vector) {
	if x.typ.Width() == value.Var {
		for i, s := range v.Str[:v.N] {
			if v.IsNull(i) {
				continue
			}
			if !x.found || x.greatest && s > x.str || !x.greatest && s < x.str {
				x.found, x.str = true, s
			}
		}
		return
	}
	for i := range v.N {
		c := v.Code(i)
		if x.found && (x.greatest && c <= x.code || !x.greatest && c >= x.code) || v.IsNull(i) {
			continue
		}
		if !x.found || value.KeyCode(x.typ, c) != value.KeyCode(x.typ, x.code) {
			x.found, x.code = true, c
		}
	}
}

func (x *extremum) result() (value.Value, error) {
	switch {
	case !x.found:
		return value.Null(x.typ), nil
	case x.typ.Width() == value.Var:
		return value.OfStr(x.typ, x.str), nil
	}
	return value.OfCode(x.typ, x.code), nil
}
