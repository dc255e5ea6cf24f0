package query

import (
	"math"

	"wideleaf/catalog"
	"wideleaf/pgerr"
	"wideleaf/query/sql"
	"wideleaf/value"
)

// isDistance reports whether an operator gives RUM's distance of two values.
func isDistance(op string) bool { return op == "<=>" || op == "<=|" || op == "|=>" }

// Distance is a distance from a constant, by which ORDER BY sorts: RUM's operators <=> (of scalars on either side, of
// arrays by their similarity), <=| (the left side is not above the right one) and |=> (it is above). Distances are float8;
// what lies on the other side is infinitely far. It is immutable.
type Distance struct {
	typ   value.Type // of the column
	null  bool       // the constant is NULL, and so are all distances
	at    cut        // where the constant is among the column's values
	sided bool       // only values in near may be at a finite distance
	near  value.Ranges
	b     float64 // the constant
	array *value.ArrayMatch
}

// of returns the distance of row i of v, which is not NULL.
func (d *Distance) of(v *value.Vector, i int) float64 {
	if d.array != nil {
		return 1 / d.array.Similarity(v.Str[i])
	}
	return d.ofCode(v.Code(i))
}

// ofCode returns the distance of a value by its code. As with RUM, two infinite values, of which NaN is one, are not apart.
func (d *Distance) ofCode(code uint64) float64 {
	x := number(d.typ, code)
	if a, b := endless(x), endless(d.b); a || b {
		if a && b {
			return 0
		}
		return math.Inf(1)
	}
	if d.sided && !d.near.ContainsCode(code) {
		return math.Inf(1)
	}
	return math.Abs(x - d.b)
}

// grows reports whether distances grow along the codes away from the constant, both ways.
func (d *Distance) grows() bool { return d.array == nil && !d.null && !endless(d.b) }

// sides returns the values up to the constant and those above it, of those that may be at a finite distance.
func (d *Distance) sides() (low, high value.Ranges) {
	low = value.OfIntervals(d.at.where("<=")...)
	high = low.Complement(d.typ)
	if d.sided {
		low, high = low.Intersect(d.near), high.Intersect(d.near)
	}
	return low, high
}

// within returns the values that are at most so far away, if distances grow.
func (d *Distance) within(far float64) (r value.Ranges) {
	if math.IsInf(far, 1) {
		return value.NotNull(d.typ)
	}
	low, high := d.sides()
	for _, iv := range low.Words {
		if d.ofCode(iv.Hi) <= far {
			iv.Lo = firstCode(iv, func(code uint64) bool { return d.ofCode(code) <= far })
			r.Words = append(r.Words, iv)
		}
	}
	for _, iv := range high.Words {
		if d.ofCode(iv.Lo) <= far {
			if iv.Hi = firstCode(iv, func(code uint64) bool { return d.ofCode(code) > far }); d.ofCode(iv.Hi) > far {
				iv.Hi--
			}
			r.Words = append(r.Words, iv)
		}
	}
	return value.OfIntervals(r.Words...)
}

// firstCode returns the first code of an interval for which ok is true, ok being true for all behind it; the last if it is for
// none.
func firstCode(iv value.Interval, ok func(uint64) bool) uint64 {
	for iv.Lo < iv.Hi {
		mid := iv.Lo + (iv.Hi-iv.Lo)/2
		if ok(mid) {
			iv.Hi = mid
		} else {
			iv.Lo = mid + 1
		}
	}
	return iv.Lo
}

func endless(x float64) bool { return math.IsInf(x, 0) || x != x }

// number returns a value as float8: dates and times in microseconds.
func number(t value.Type, code uint64) float64 {
	switch t {
	case value.Float8:
		return value.CodeFloat8(code)
	case value.Int4:
		return float64(value.CodeInt4(uint32(code)))
	case value.Date:
		switch n := value.CodeDate(uint32(code)); n {
		case math.MinInt32:
			return math.Inf(-1)
		case math.MaxInt32:
			return math.Inf(1)
		default:
			return float64(n) * microsecondsPerDay
		}
	case value.Timestamptz:
		switch n := value.CodeTimestamptz(code); n {
		case math.MinInt64:
			return math.Inf(-1)
		case math.MaxInt64:
			return math.Inf(1)
		}
	}
	return float64(value.CodeInt8(code))
}

const microsecondsPerDay = 24 * 60 * 60 * 1e6

// bindDistance resolves an ORDER BY key that is a column's distance from a constant.
func (s Settings) bindDistance(e *sql.Binary, t *catalog.Table) (attno int, d *Distance, err error) {
	b := s.binder(t)
	l, r, err := b.operands(e.Left, e.Right)
	if err != nil {
		return 0, nil, err
	}
	col, con := &l, &r
	if l.con != nil {
		col, con = con, col
	}
	if con.con != nil && con.typ == unknownType && hasDistance(e.Op, col.typ) {
		if *con, err = con.as(col.typ); err != nil {
			return 0, nil, err
		}
	}
	switch {
	case !hasDistance(e.Op, l.typ) || !hasDistance(e.Op, r.typ) || l.typ.family() != r.typ.family():
		return 0, nil, noOperator(e.Op, l.typ, r.typ, e.At)
	case col.col == nil || con.con == nil:
		return 0, nil, unsupported(e.At, "ordering by a distance other than a column's from a constant is not supported")
	case b.late != nil:
		return 0, nil, b.late
	}
	d = &Distance{typ: col.col.Type, null: con.con.null}
	if d.null {
		return col.col.Attno, d, nil
	}
	if isArray(col.typ) {
		d.array, err = b.similar(con.con)
	} else {
		err = d.from(e.Op, con.con, con == &l)
	}
	return col.col.Attno, d, err
}

// from sets the constant; left says that it is the operator's left side.
func (d *Distance) from(op string, c *constant, left bool) (err error) {
	switch {
	case c.typ == numericType: // which has no distances of its own
		if c, err = c.cast(float8Type, c.at); err != nil {
			return err
		}
	case c.typ == dateType && d.typ == value.Timestamptz:
		if c, err = c.cast(timestamptzType, c.at); err != nil {
			return err
		}
	}
	if c.typ.number() {
		if d.b, err = c.float(); err != nil {
			return err
		}
	} else {
		d.b = number(valueTypes[c.typ], c.val.Code())
	}
	if d.at, err = cutAt(d.typ, c); err != nil || op == "<=>" {
		return err
	}
	compare := "<="
	if op == "|=>" {
		compare = ">"
	}
	if left {
		compare = mirrored[compare]
	}
	d.sided, d.near = true, value.OfIntervals(d.at.where(compare)...)
	return nil
}

// hasDistance reports whether values of a type have distances by an operator.
func hasDistance(op string, t typ) bool {
	return t.number() || t == dateType || t == timestamptzType || op == "<=>" && isArray(t)
}

// similar returns the arrays that are like a constant.
func (b *binder) similar(c *constant) (*value.ArrayMatch, error) {
	m := value.MatchArray(value.Similar, valueTypes[c.typ], c.val.Str())
	if m.Null {
		return nil, pgerr.New(pgerr.ErrInvalid, pgerr.NullValueNotAllowed, "array must not contain nulls").At(c.at)
	}
	m.Like = b.settings.Similarity
	return m, nil
}
