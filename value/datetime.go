package value

import (
	"math"
	"strconv"
	"time"

	"wideleaf/pgerr"
)

// A date counts days, a timestamptz microseconds, from 2000-01-01 UTC on; the smallest and largest counts are -infinity
// and infinity. The calendar is the Gregorian one, also before it was in use, and 1 BC is followed by 1 AD.

// The limits of both types, which are PostgreSQL's: 4714-11-24 BC to 5874897-12-31 and 294276-12-31.
const (
	minDays, maxDays     = -2451545, 2145031948
	minMicros, maxMicros = -211813488000000000, 9223371331200000000 - 1

	daySeconds   = 24 * 60 * 60
	epochSeconds = 10957 * daySeconds // 2000-01-01 in Unix time
)

// DateCode and TimestamptzCode return a value's code; CodeDate and CodeTimestamptz are the inverses.
func DateCode(days int32) uint32          { return Int4Code(days) }
func CodeDate(c uint32) int32             { return CodeInt4(c) }
func TimestamptzCode(micros int64) uint64 { return Int8Code(micros) }
func CodeTimestamptz(c uint64) int64      { return CodeInt8(c) }

// OfDate returns the date so many days after 2000-01-01; math.MinInt32 and math.MaxInt32 are the infinities. Days that
// are no date are refused by Vector.Check.
func OfDate(days int32) Value { return Value{typ: Date, code: uint64(DateCode(days))} }

// OfTimestamptz returns the time so many microseconds after 2000-01-01 UTC; math.MinInt64 and math.MaxInt64 are the
// infinities. Microseconds that are no timestamptz are refused by Vector.Check.
func OfTimestamptz(micros int64) Value {
	return Value{typ: Timestamptz, code: TimestamptzCode(micros)}
}

// DateOfTime returns the date that t has in its own location: 22008 if there is none.
func DateOfTime(t time.Time) (Value, error) {
	days, ok := daysOf(t.Year(), int(t.Month()), t.Day())
	if !ok {
		return Value{}, pgerr.New(pgerr.ErrInvalid, pgerr.DatetimeFieldOverflow, "date out of range")
	}
	return OfDate(days), nil
}

// TimestamptzOfTime returns the time t, without what is less than a microsecond: 22008 if there is none.
func TimestamptzOfTime(t time.Time) (Value, error) {
	micros, ok := microsOf(t.Unix(), int64(t.Nanosecond()/1000))
	if !ok {
		return Value{}, pgerr.New(pgerr.ErrInvalid, pgerr.DatetimeFieldOverflow, "timestamp out of range")
	}
	return OfTimestamptz(micros), nil
}

// Time returns a date (at midnight) or timestamptz in UTC. finite is false, and t zero, for the infinities, NULL and
// other types.
func (v Value) Time() (t time.Time, finite bool) {
	switch {
	case v.null:
	case v.typ == Date:
		if d := CodeDate(uint32(v.code)); d != math.MinInt32 && d != math.MaxInt32 {
			return timeOfDays(d), true
		}
	case v.typ == Timestamptz:
		if m := CodeTimestamptz(v.code); m != math.MinInt64 && m != math.MaxInt64 {
			return timeOfMicros(m), true
		}
	}
	return time.Time{}, false
}

func timeOfDays(days int32) time.Time {
	return time.Unix(int64(days)*daySeconds+epochSeconds, 0).UTC()
}

func timeOfMicros(micros int64) time.Time {
	seconds, rest := micros/1_000_000, micros%1_000_000 // time.Unix takes negative rests
	return time.Unix(seconds+epochSeconds, rest*1000).UTC()
}

// daysOf returns the date of a day of the calendar. Year 0 is 1 BC; months and days may overflow into their neighbours.
func daysOf(year, month, day int) (days int32, ok bool) {
	if year < -4713 || year > 5874898 {
		return 0, false
	}
	d := (time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Unix() - epochSeconds) / daySeconds // always whole days
	return int32(d), d >= minDays && d <= maxDays
}

// microsOf returns the timestamptz of a time in Unix seconds and microseconds.
func microsOf(seconds, micros int64) (int64, bool) {
	seconds -= epochSeconds
	if seconds < minMicros/1_000_000-1 || seconds > maxMicros/1_000_000+1 {
		return 0, false
	}
	m := seconds*1e6 + micros
	return m, m >= minMicros && m <= maxMicros
}

func formatDate(days int32) string {
	switch days {
	case math.MinInt32:
		return "-infinity"
	case math.MaxInt32:
		return "infinity"
	}
	b, bc := appendDay(make([]byte, 0, 16), timeOfDays(days))
	return string(append(b, bc...))
}

func formatTimestamptz(micros int64) string {
	switch micros {
	case math.MinInt64:
		return "-infinity"
	case math.MaxInt64:
		return "infinity"
	}
	t := timeOfMicros(micros)
	b, bc := appendDay(make([]byte, 0, 40), t)
	b = t.AppendFormat(b, " 15:04:05.999999")
	b = append(b, "+00"...)
	return string(append(b, bc...))
}

// FormatTime prints a time with its zone, without what is less than a microsecond, in a form that Parse reads for date and
// timestamptz.
func FormatTime(t time.Time) string {
	b, bc := appendDay(make([]byte, 0, 40), t)
	return string(t.AppendFormat(b, " 15:04:05.999999-07:00:00")) + bc
}

// appendDay appends a day of the calendar and returns what PostgreSQL puts at the end of years before 1 AD.
func appendDay(b []byte, t time.Time) (out []byte, bc string) {
	y := t.Year()
	if y <= 0 {
		y, bc = 1-y, " BC"
	}
	for n := 1000; n > y; n /= 10 {
		b = append(b, '0')
	}
	b = strconv.AppendInt(b, int64(y), 10)
	return t.AppendFormat(b, "-01-02"), bc
}
