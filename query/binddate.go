package query

import (
	"math"

	"wideleaf/value"
)

// Dates and timestamptz are compared as PostgreSQL does where the time zone is UTC: a date is its midnight. One that is
// beyond timestamptz is above all times but infinity.

const dayMicros = 24 * 60 * 60 * 1_000_000

// timestamptzOf returns a date as a timestamptz. If it is beyond its range, ok is false and t is above all finite ones.
func timestamptzOf(date value.Value) (t value.Value, ok bool) {
	const beyond = 106_751_983 // 294277-01-01; no date is before timestamptz
	switch d := value.CodeDate(uint32(date.Code())); {
	case d == math.MinInt32:
		return value.OfTimestamptz(math.MinInt64), true
	case d == math.MaxInt32:
		return value.OfTimestamptz(math.MaxInt64), true
	case d >= beyond:
		return value.OfTimestamptz(math.MaxInt64 - 1), false
	default:
		return value.OfTimestamptz(int64(d) * dayMicros), true
	}
}

// dateOf returns the day of a timestamptz.
func dateOf(t value.Value) value.Value {
	d, _ := dayOf(t)
	return value.OfDate(d)
}

// dayOf returns the day of a timestamptz, and whether it is that day's midnight.
func dayOf(t value.Value) (day int32, midnight bool) {
	switch m := value.CodeTimestamptz(t.Code()); m {
	case math.MinInt64:
		return math.MinInt32, true
	case math.MaxInt64:
		return math.MaxInt32, true
	default:
		d, rest := m/dayMicros, m%dayMicros
		if rest < 0 {
			d--
		}
		return int32(d), rest == 0
	}
}

// cutTime divides the codes of date or timestamptz by a constant of either type.
func cutTime(t value.Type, c *constant) cut {
	v := c.val
	switch {
	case t == value.Date && c.typ == timestamptzType:
		day, midnight := dayOf(v)
		code := value.OfDate(day).Code()
		if !midnight {
			return cutAfter(t, code)
		}
		return cutCodes(t, code, code)
	case t == value.Timestamptz && c.typ == dateType:
		v, _ = timestamptzOf(v)
	}
	return cutCodes(t, v.Code(), v.Code())
}

// compareTimes orders two constants of date or timestamptz.
func compareTimes(l, r *constant) int {
	if l.typ == r.typ {
		return value.Compare(l.val, r.val)
	}
	x, y := l.val, r.val
	if l.typ == dateType {
		x, _ = timestamptzOf(x)
	} else {
		y, _ = timestamptzOf(y)
	}
	return value.Compare(x, y)
}
