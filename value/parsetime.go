package value

import (
	"math"
	"strconv"
	"strings"
	"time"

	"wideleaf/pgerr"
)

// Dates and times are read by PostgreSQL's rules: the text is cut into fields by what they look like, and each field
// says more about the moment by what is known already. So 2020-01-02, 20200102, Jan 2 2020, 2-Jan-2020, 1/2/2020 and
// J2458851 are one date.

// part is a set of what a field says.
type part uint16

const (
	partYear part = 1 << iota
	partMonth
	partDay
	partYearDay // the day of the year
	partTime
	partZone
	partHalf // am, pm
	partEra
	partWeekday

	partDate = partYear | partMonth | partDay
)

// moment is a date and time while it is read.
type moment struct {
	year, month, day, yearDay int
	hour, minute, second      int
	micros                    int
	east                      int            // seconds east of UTC
	zone                      *time.Location // instead
	julian                    int            // the day, if isJulian
	isJulian                  bool
	shortYear                 bool // one or two digits
	monthName                 bool
	bc                        bool
	half                      string // am, pm
	whole                     word   // epoch, infinity, -infinity: the moment is this
	has                       part
}

// The ways in which a text is no date or time.
type timeFault uint8

const (
	timeOK        timeFault = iota
	badFormat               // 22007
	fieldOverflow           // 22008
	orderOverflow           // 22008, perhaps by the order of month and day
	zoneOverflow            // 22009
	unknownZone             // 22023
)

func (f timeFault) err(t Type, s, zone string) error {
	switch f {
	case fieldOverflow:
		return pgerr.New(pgerr.ErrInvalid, pgerr.DatetimeFieldOverflow, "date/time field value out of range: \"%s\"", s)
	case orderOverflow:
		return &pgerr.Error{Kind: pgerr.ErrInvalid, Code: pgerr.DatetimeFieldOverflow, Hint: "Dates are read in the order month, day, year.",
			Message: "date/time field value out of range: \"" + s + "\""}
	case zoneOverflow:
		return pgerr.New(pgerr.ErrInvalid, pgerr.TimeZoneDisplacement, "time zone displacement out of range: \"%s\"", s)
	case unknownZone:
		return pgerr.New(pgerr.ErrInvalid, pgerr.InvalidParameterValue, "time zone \"%s\" not recognized", zone)
	}
	return pgerr.New(pgerr.ErrInvalid, pgerr.InvalidDatetimeFormat, "invalid input syntax for type %s: \"%s\"", t.SQLName(), s)
}

func parseDate(s string) (Value, error) {
	if days, ok := isoDate(s); ok {
		return OfDate(days), nil
	}
	var m moment
	if err := m.read(Date, s); err != nil {
		return Value{}, err
	}
	days, ok := int32(0), true
	switch m.whole {
	case wordInfinity:
		days = math.MaxInt32
	case wordNegInfinity:
		days = math.MinInt32
	case wordEpoch:
		days = -epochSeconds / daySeconds
	default:
		days, ok = m.days()
	}
	if !ok {
		return Value{}, pgerr.New(pgerr.ErrInvalid, pgerr.DatetimeFieldOverflow, "date out of range: \"%s\"", s)
	}
	return OfDate(days), nil
}

// isoDate reads the usual form, yyyy-mm-dd.
func isoDate(s string) (days int32, ok bool) {
	if len(s) != 10 || s[4] != '-' || s[7] != '-' {
		return 0, false
	}
	n := [3]int{}
	for i, part := range [3]string{s[:4], s[5:7], s[8:]} {
		for j := range len(part) {
			d := part[j] - '0'
			if d > 9 {
				return 0, false
			}
			n[i] = n[i]*10 + int(d)
		}
	}
	if n[0] < 1 || n[1] < 1 || n[1] > 12 || n[2] < 1 || n[2] > daysIn(n[0], n[1]) {
		return 0, false
	}
	return daysOf(n[0], n[1], n[2])
}

func daysIn(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

func parseTimestamptz(s string) (Value, error) {
	var m moment
	if err := m.read(Timestamptz, s); err != nil {
		return Value{}, err
	}
	micros, ok := int64(0), false
	switch m.whole {
	case wordInfinity:
		micros, ok = math.MaxInt64, true
	case wordNegInfinity:
		micros, ok = math.MinInt64, true
	case wordEpoch:
		micros, ok = -epochSeconds*1e6, true
	default:
		var days int32
		if days, ok = m.days(); ok {
			seconds := int64(days)*daySeconds + epochSeconds + int64(m.hour*3600+m.minute*60+m.second)
			if m.zone != nil {
				m.east = offsetAt(m.zone, seconds)
			}
			micros, ok = microsOf(seconds-int64(m.east), int64(m.micros))
		}
	}
	if !ok {
		return Value{}, pgerr.New(pgerr.ErrInvalid, pgerr.DatetimeFieldOverflow, "timestamp out of range: \"%s\"", s)
	}
	return OfTimestamptz(micros), nil
}

// offsetAt returns the seconds east of UTC of a zone when its clocks show a time. Of a time that they show twice the
// later is meant; one that they leave out is read by the clock before.
func offsetAt(zone *time.Location, clock int64) int {
	offset := func(unix int64) int {
		_, o := time.Unix(unix, 0).In(zone).Zone()
		return o
	}
	before, after := offset(clock-daySeconds), offset(clock+daySeconds)
	if offset(clock-int64(after)) == after {
		return after
	}
	return before
}

// days returns the date.
func (m *moment) days() (int32, bool) {
	if m.isJulian {
		d := m.julian + minDays
		return int32(d), m.julian >= 0 && d <= maxDays
	}
	return daysOf(m.year, m.month, m.day)
}

// read sets the moment from a text.
func (m *moment) read(t Type, s string) error {
	fields, ok := timeFields(s)
	if !ok {
		return badFormat.err(t, s, "")
	}
	fault, zone := m.readFields(fields)
	if fault == timeOK && m.whole == wordNone {
		fault = m.finish()
	}
	if fault != timeOK {
		return fault.err(t, s, zone)
	}
	return nil
}

// readFields takes in all fields. zone is what is no time zone, for the error.
func (m *moment) readFields(fields []timeField) (fault timeFault, zone string) {
	next := wordNone // what the number that comes is
	for i, f := range fields {
		var says part
		fault := timeOK
		prefix := next
		next = wordNone
		switch f.kind {
		case fieldDate:
			switch {
			case prefix == wordJulian:
				fault = badFormat
			case prefix == wordT || m.has&partDate == partDate && isDigit(f.text[0]):
				says, fault = m.timeAndZone(f.text)
			case m.has&partDate == partDate:
				says = partZone
				if m.zone = loadZone(f.text); m.zone == nil {
					return unknownZone, f.text
				}
			default:
				says, fault = m.readDate(f.text)
			}
		case fieldTime:
			if prefix == wordJulian {
				fault = badFormat
				break
			}
			says = partTime
			fault = m.readTime(f.text)
		case fieldZone:
			says = partZone
			m.east, fault = readZone(f.text)
		case fieldNumber:
			says, fault = m.readNumberField(f.text, prefix)
		case fieldWord:
			if zone, east := zoneWord(f.text); zone {
				m.east, says = east, partZone
				break
			}
			w, ok := words[f.text]
			if !ok {
				says = partZone
				if m.zone = loadZone(f.text); m.zone == nil {
					return badFormat, ""
				}
				break
			}
			if w == wordIgnore {
				next = prefix
				continue
			}
			if w == wordT {
				if m.has&partDate != partDate || i+1 == len(fields) || fields[i+1].kind > fieldTime {
					return badFormat, ""
				}
			}
			if w == wordT || w == wordJulian {
				next = w
				continue
			}
			says, fault = m.readWord(w, f.text)
		}
		if fault != timeOK {
			return fault, ""
		}
		if says&m.has != 0 {
			return badFormat, ""
		}
		m.has |= says
	}
	return timeOK, ""
}

// readNumberField takes in a number by what stands before it.
func (m *moment) readNumberField(s string, prefix word) (part, timeFault) {
	switch prefix {
	case wordJulian:
		return m.readJulian(s)
	case wordT: // a time without colons
		says, fault := m.readRun(s, m.has|partDate)
		if fault == timeOK && says != partTime {
			fault = badFormat
		}
		return says, fault
	}
	whole, _, point := strings.Cut(s, ".")
	switch {
	case point && m.has&partDate == 0:
		return m.readDate(s)
	case point && len(whole) > 2,
		len(s) >= 6 && (m.has&partDate == 0 || m.has&partTime == 0):
		return m.readRun(s, m.has)
	}
	return m.readNumber(s, m.has)
}

// readJulian takes in a day count since 4714-11-24 BC, with a part of the day.
func (m *moment) readJulian(s string) (part, timeFault) {
	whole, fraction, point := strings.Cut(s, ".")
	n, err := strconv.ParseInt(whole, 10, 32)
	if err != nil {
		return 0, fieldOverflow
	}
	m.julian, m.isJulian = int(n), true
	if !point {
		return partDate, timeOK
	}
	f, err := strconv.ParseFloat("0."+fraction, 64)
	if err != nil {
		return 0, badFormat
	}
	of := int(math.RoundToEven(f * daySeconds * 1e6))
	m.setClock(of/1e6, of%1e6)
	return partDate | partTime, timeOK
}

func (m *moment) setClock(seconds, micros int) {
	m.hour, m.minute, m.second, m.micros = seconds/3600, seconds/60%60, seconds%60, micros
}

// readDate takes in a whole date, its parts divided by other characters.
func (m *moment) readDate(s string) (says part, fault timeFault) {
	var numbers []string
	for s != "" {
		n := 0
		switch c := s[0]; {
		case isDigit(c):
			for n < len(s) && isDigit(s[n]) {
				n++
			}
			numbers = append(numbers, s[:n])
		case isLetter(c):
			for n < len(s) && isLetter(s[n]) {
				n++
			}
			w := words[s[:n]]
			if w == wordIgnore {
				break
			}
			if w.month() == 0 || (m.has|says)&partMonth != 0 {
				return 0, badFormat
			}
			m.month, m.monthName = w.month(), true
			says |= partMonth
		default:
			n = 1
		}
		s = s[n:]
	}
	for _, number := range numbers {
		more, fault := m.readNumber(number, m.has|says)
		if fault != timeOK {
			return 0, fault
		}
		if more&(m.has|says) != 0 {
			return 0, badFormat
		}
		says |= more
	}
	if (m.has|says)&^(partYearDay|partZone) != partDate { // it comes first
		return 0, badFormat
	}
	return says, timeOK
}

// readNumber takes in a number as what is most likely by its length and by what is known.
func (m *moment) readNumber(s string, has part) (part, timeFault) {
	whole, fraction, point := strings.Cut(s, ".")
	if !allDigits(whole) || whole == "" {
		return 0, badFormat
	}
	n, err := strconv.ParseInt(whole, 10, 32)
	if err != nil {
		return 0, fieldOverflow
	}
	if point {
		if len(whole) > 2 {
			return m.readRun(s, has|partDate)
		}
		if m.micros, err = micros(fraction); err != nil {
			return 0, badFormat
		}
	}
	v, long := int(n), len(whole) > 2
	if len(whole) == 3 && has&partDate == partYear && v >= 1 && v <= 366 {
		m.yearDay = v
		return partYearDay | partMonth | partDay, timeOK
	}
	switch has & partDate {
	case 0:
		if !long {
			m.month = v
			return partMonth, timeOK
		}
		return m.setYear(v, whole)
	case partMonth:
		if m.monthName && long {
			return m.setYear(v, whole)
		}
		m.day = v
		return partDay, timeOK
	case partYear | partMonth:
		if m.monthName && long && m.shortYear { // the first was the day
			m.day, m.year, m.shortYear = m.year, v, false
			return partDay, timeOK
		}
		m.day = v
		return partDay, timeOK
	case partYear, partDay:
		m.month = v
		return partMonth, timeOK
	case partMonth | partDay:
		return m.setYear(v, whole)
	case partDate:
		return m.readRun(s, has)
	}
	return 0, badFormat
}

func (m *moment) setYear(v int, digits string) (part, timeFault) {
	m.year, m.shortYear = v, len(digits) <= 2
	return partYear, timeOK
}

// readRun takes in digits that are a date or time without anything between its parts: yyyymmdd, yymmdd, hhmmss, hhmm.
func (m *moment) readRun(s string, has part) (part, timeFault) {
	s, fraction, point := strings.Cut(s, ".")
	if point {
		var err error
		if m.micros, err = micros(fraction); err != nil {
			return 0, badFormat
		}
	}
	if !allDigits(s) {
		return 0, badFormat
	}
	two := func(at int) int { return int(s[at]-'0')*10 + int(s[at+1]-'0') }
	if !point && has&partDate != partDate && len(s) >= 6 {
		n := len(s)
		year, err := strconv.ParseInt(s[:n-4], 10, 32)
		if err != nil {
			return 0, fieldOverflow
		}
		m.year, m.month, m.day = int(year), two(n-4), two(n-2)
		m.shortYear = n == 6
		return partDate, timeOK
	}
	if has&partTime == 0 && (len(s) == 6 || len(s) == 4) {
		m.hour, m.minute, m.second = two(0), two(2), 0
		if len(s) == 6 {
			m.second = two(4)
		}
		return partTime, m.checkTime()
	}
	return 0, badFormat
}

// readTime takes in hh:mm, hh:mm:ss or mm:ss.ffffff.
func (m *moment) readTime(s string) timeFault {
	s, fraction, point := strings.Cut(s, ".")
	parts := strings.Split(s, ":")
	if len(parts) < 2 || len(parts) > 3 || point && fraction == "" && len(parts) == 2 {
		return badFormat
	}
	var n [3]int
	for i, p := range parts {
		if p == "" && i == len(parts)-1 && i > 0 { // 10:20: is 10:20:00
			continue
		}
		if !allDigits(p) {
			return badFormat
		}
		v, err := strconv.ParseInt(p, 10, 32)
		if err != nil {
			return fieldOverflow
		}
		n[i] = int(v)
	}
	m.hour, m.minute, m.second = n[0], n[1], n[2]
	if point && len(parts) == 2 {
		m.hour, m.minute, m.second = 0, n[0], n[1]
	}
	if point {
		var err error
		if m.micros, err = micros(fraction); err != nil {
			return badFormat
		}
	}
	return m.checkTime()
}

// checkTime checks the parts of a time. The second 60 and the hour 24 belong to what follows.
func (m *moment) checkTime() timeFault {
	if m.minute > 59 || m.second > 60 || m.hour > 24 || m.hour == 24 && (m.minute > 0 || m.second > 0 || m.micros > 0) {
		return fieldOverflow
	}
	return timeOK
}

// micros returns the microseconds that the digits after a point are, rounded.
func micros(fraction string) (int, error) {
	if fraction == "" {
		return 0, nil
	}
	if !allDigits(fraction) {
		return 0, strconv.ErrSyntax
	}
	f, err := strconv.ParseFloat("0."+fraction, 64)
	return int(math.RoundToEven(f * 1e6)), err
}

// timeAndZone takes in a time without colons with its zone, as in 20200102T030405-08.
func (m *moment) timeAndZone(s string) (part, timeFault) {
	at := strings.IndexByte(s, '-')
	if m.has&partTime != 0 || at < 0 {
		return 0, badFormat
	}
	east, fault := readZone(s[at:])
	if fault != timeOK {
		return 0, fault
	}
	m.east = east
	says, fault := m.readRun(s[:at], m.has)
	return says | partZone, fault
}

// readZone returns how far east of UTC +hh, +hhmm, +hh:mm or +hh:mm:ss is.
func readZone(s string) (east int, fault timeFault) {
	var n [3]int
	rest := s[1:]
	for i := range n {
		digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
		rest = rest[len(digits):]
		if digits != "" {
			v, err := strconv.ParseInt(digits, 10, 32)
			if err != nil {
				return 0, zoneOverflow
			}
			n[i] = int(v)
		}
		if i == 0 && rest == "" && len(digits) > 2 {
			n[0], n[1] = n[0]/100, n[0]%100
		}
		if !strings.HasPrefix(rest, ":") || i == len(n)-1 {
			break
		}
		rest = rest[1:]
	}
	switch {
	case n[0] > 15 || n[1] > 59 || n[2] > 59:
		return 0, zoneOverflow
	case rest != "":
		return 0, badFormat
	}
	east = n[0]*3600 + n[1]*60 + n[2]
	if s[0] == '-' {
		east = -east
	}
	return east, timeOK
}

// finish checks what was read and completes it.
func (m *moment) finish() timeFault {
	has := m.has
	switch {
	case has&partYear == 0 || m.isJulian:
	case m.bc:
		if m.year <= 0 {
			return fieldOverflow
		}
		m.year = 1 - m.year
	case m.shortYear && m.year < 70:
		m.year += 2000
	case m.shortYear:
		m.year += 1900
	case m.year <= 0:
		return fieldOverflow
	}
	switch {
	case m.isJulian:
	case has&partYearDay != 0:
		m.month, m.day = 1, m.yearDay
		if m.yearDay == 366 && daysIn(m.year, 2) == 28 { // as PostgreSQL: the next year's first day
			m.year, m.day = m.year+1, 1
		}
	default:
		if has&partMonth != 0 && (m.month < 1 || m.month > 12) || has&partDay != 0 && (m.day < 1 || m.day > 31) {
			return orderOverflow
		}
		if has&partDate == partDate && m.year <= 5874898 && m.day > daysIn(m.year, m.month) {
			return fieldOverflow
		}
	}
	switch {
	case m.half != "" && m.hour > 12:
		return fieldOverflow
	case m.half == "am" && m.hour == 12:
		m.hour = 0
	case m.half == "pm" && m.hour != 12:
		m.hour += 12
	}
	if has&partDate != partDate {
		return badFormat
	}
	return timeOK
}
