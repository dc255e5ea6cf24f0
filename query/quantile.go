package query

import (
	"context"
	"math"
	"strings"

	"wideleaf/am/sortrun"
	"wideleaf/pgerr"
	"wideleaf/value"
)

// CheckFraction returns PostgreSQL's error for a percentile that is not from 0 to 1.
func CheckFraction(f float64) error {
	if f >= 0 && f <= 1 {
		return nil
	}
	return pgerr.New(pgerr.ErrInvalid, pgerr.NumericValueOutOfRange, "percentile value %g is not between 0 and 1", f)
}

// percentileAt returns which of n sorted values, more than none, percentile_disc takes: the first one that is at or beyond
// the fraction.
func percentileAt(f float64, n int) int { return max(int(math.Ceil(f*float64(n)))-1, 0) }

// Percentiles returns the values of a column at fractions of their order, as PostgreSQL's percentile_disc: values of the
// column, NULLs left out. All are NULL if there is none.
func Percentiles(ctx context.Context, t *Table, p *Pred, attno int, fractions []float64) ([]value.Value, error) {
	s, err := sortedValues(ctx, t, p, attno)
	if err != nil {
		return nil, err
	}
	out := make([]value.Value, len(fractions))
	for i, f := range fractions {
		if out[i] = value.Null(s.typ); s.len() > 0 {
			out[i] = s.value(percentileAt(f, s.len()))
		}
	}
	return out, nil
}

// Histogram returns the bounds of so many buckets that hold equally many of a column's values, as the histogram_bounds of
// PostgreSQL's pg_stats: one more than buckets, from the least to the greatest value. There are none if all values are NULL.
func Histogram(ctx context.Context, t *Table, p *Pred, attno, buckets int) ([]value.Value, error) {
	s, err := sortedValues(ctx, t, p, attno)
	if err != nil || s.len() == 0 {
		return nil, err
	}
	out := make([]value.Value, buckets+1)
	for i := range out {
		out[i] = s.value(int(int64(i) * int64(s.len()-1) / int64(buckets)))
	}
	return out, nil
}

func sortedValues(ctx context.Context, t *Table, p *Pred, attno int) (*sorted, error) {
	typ, err := t.typeOf(attno)
	if err != nil {
		return nil, err
	}
	s := &sorted{ctx: ctx, typ: typ}
	e := newExecutor(ctx, t)
	if err := e.accumulate(p, []*accumulation{{Aggregate: Aggregate{Func: Percentile, Attno: attno}, typ: typ, acc: s}}); err != nil {
		return nil, err
	}
	return s, s.sort()
}

// sorted gathers the values of a column that are not NULL, and sorts them: fixed-width ones by radix. As the accumulator of an
// aggregate it gives the one at a fraction of the order.
type sorted struct {
	ctx      context.Context
	typ      value.Type
	fraction float64
	codes    []uint64
	strs     []string
}

func (s *sorted) len() int { return len(s.codes) + len(s.strs) }

func (s *sorted) value(i int) value.Value {
	if s.typ.Width() == value.Var {
		return value.OfStr(s.typ, s.strs[i])
	}
	return value.OfCode(s.typ, s.codes[i])
}

func (s *sorted) add(v *value.Vector) {
	for i := range v.N {
		switch {
		case v.IsNull(i):
		case s.typ.Width() == value.Var:
			s.strs = append(s.strs, v.Str[i])
		default:
			s.codes = append(s.codes, value.KeyCode(s.typ, v.Code(i)))
		}
	}
}

func (s *sorted) sort() error {
	if err := sortAll(s.ctx, s.strs, strings.Compare); err != nil || len(s.codes) == 0 {
		return err
	}
	return sortrun.Large(s.codes, make([]uint64, len(s.codes)), 0, 64, s.ctx.Err)
}

func (s *sorted) result() (value.Value, error) {
	if s.len() == 0 {
		return value.Null(s.typ), nil
	}
	if err := s.sort(); err != nil {
		return value.Value{}, err
	}
	return s.value(percentileAt(s.fraction, s.len())), nil
}
