package value

import (
	"strings"
	"time"
	_ "time/tzdata" // the same zones on every machine
)

// timeField is a piece of a date or time, in lower case.
type timeField struct {
	kind timeFieldKind
	text string
}

type timeFieldKind uint8

const (
	fieldNumber timeFieldKind = iota
	fieldDate
	fieldTime
	fieldZone
	fieldWord
)

const (
	maxTimeFields = 25
	maxTimeBytes  = 128 // with one for each field
)

// timeFields cuts a text into fields.
func timeFields(s string) (fields []timeField, ok bool) {
	s = strings.ToLower(s)
	size := 0
	for s != "" {
		var f timeField
		n := 0
		while := func(is func(byte) bool) {
			for n < len(s) && is(s[n]) {
				n++
			}
		}
		switch c := s[0]; {
		case strings.IndexByte(spaces, c) >= 0:
			s = s[1:]
			continue
		case isDigit(c):
			while(isDigit)
			if n == len(s) {
				break
			}
			switch d := s[n]; d {
			case ':':
				f.kind = fieldTime
				while(func(c byte) bool { return isDigit(c) || c == ':' || c == '.' })
			case '-', '/', '.':
				n++
				if n < len(s) && isDigit(s[n]) {
					if d != '.' {
						f.kind = fieldDate
					}
					while(isDigit)
					if n < len(s) && s[n] == d {
						f.kind = fieldDate
						while(func(c byte) bool { return isDigit(c) || c == d })
					}
					break
				}
				f.kind = fieldDate
				while(func(c byte) bool { return isDigit(c) || isLetter(c) || c == d })
			}
		case c == '.':
			n = 1
			while(isDigit)
		case isLetter(c):
			f.kind = fieldWord
			while(isLetter)
			if n == len(s) {
				break
			}
			_, known := words[s[:n]]
			if d := s[n]; d == '-' || d == '/' || d == '.' || !known && (d == '+' || isDigit(d)) {
				f.kind = fieldDate
				while(func(c byte) bool { return isDigit(c) || isLetter(c) || strings.IndexByte("+-/_.:", c) >= 0 })
			}
		case c == '+' || c == '-':
			rest := strings.TrimLeft(s[1:], spaces)
			s = string(c) + rest
			n = 1
			switch {
			case rest == "":
				return nil, false
			case isDigit(rest[0]):
				f.kind = fieldZone
				while(func(c byte) bool { return isDigit(c) || c == ':' || c == '.' || c == '-' })
			case isLetter(rest[0]):
				f.kind = fieldWord
				while(isLetter)
			default:
				return nil, false
			}
		case c > ' ' && c < 0x7F: // other marks say nothing
			s = s[1:]
			continue
		default:
			return nil, false
		}
		f.text, s = s[:n], s[n:]
		fields = append(fields, f)
		if size += n + 1; size > maxTimeBytes || len(fields) > maxTimeFields {
			return nil, false
		}
	}
	return fields, len(fields) > 0
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c && c <= 'z' }

func allDigits(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return true
}

// word is what a word in a date or time means. 1 to 12 are the months.
type word uint8

const (
	wordNone   word = 0
	wordIgnore word = iota + 12
	wordWeekday
	wordAM
	wordPM
	wordAD
	wordBC
	wordT
	wordJulian
	wordEpoch
	wordInfinity
	wordNegInfinity
	wordNow
	wordToday
	wordTomorrow
	wordYesterday
	wordZulu
)

func (w word) month() int {
	if w <= 12 {
		return int(w)
	}
	return 0
}

var words = map[string]word{
	"jan": 1, "january": 1, "feb": 2, "february": 2, "mar": 3, "march": 3, "apr": 4, "april": 4, "may": 5, "jun": 6,
	"june": 6, "jul": 7, "july": 7, "aug": 8, "august": 8, "sep": 9, "sept": 9, "september": 9, "oct": 10, "october": 10,
	"nov": 11, "november": 11, "dec": 12, "december": 12,
	"at": wordIgnore, "on": wordIgnore,
	"sun": wordWeekday, "sunday": wordWeekday, "mon": wordWeekday, "monday": wordWeekday, "tue": wordWeekday,
	"tues": wordWeekday, "tuesday": wordWeekday, "wed": wordWeekday, "weds": wordWeekday, "wednesday": wordWeekday,
	"thu": wordWeekday, "thur": wordWeekday, "thurs": wordWeekday, "thursday": wordWeekday, "fri": wordWeekday,
	"friday": wordWeekday, "sat": wordWeekday, "saturday": wordWeekday,
	"am": wordAM, "pm": wordPM, "ad": wordAD, "bc": wordBC, "t": wordT, "j": wordJulian, "jd": wordJulian, "julian": wordJulian,
	"epoch": wordEpoch, "infinity": wordInfinity, "-infinity": wordNegInfinity, "now": wordNow, "today": wordToday,
	"tomorrow": wordTomorrow, "yesterday": wordYesterday, "allballs": wordZulu,
}

// readWord takes in a word.
func (m *moment) readWord(w word, text string) (part, timeFault) {
	switch w {
	case wordWeekday:
		return partWeekday, timeOK
	case wordAM, wordPM:
		m.half = text
		return partHalf, timeOK
	case wordAD, wordBC:
		m.bc = w == wordBC
		return partEra, timeOK
	case wordEpoch, wordInfinity, wordNegInfinity:
		m.whole = w
		return partDate | partTime | partZone, timeOK
	case wordZulu:
		m.setClock(0, 0)
		m.east = 0
		return partTime | partZone, timeOK
	case wordNow, wordToday, wordTomorrow, wordYesterday:
		now := time.Now().UTC()
		day := now.AddDate(0, 0, map[word]int{wordTomorrow: 1, wordYesterday: -1}[w])
		m.year, m.month, m.day = day.Year(), int(day.Month()), day.Day()
		if w != wordNow {
			return partDate, timeOK
		}
		m.setClock(now.Hour()*3600+now.Minute()*60+now.Second(), now.Nanosecond()/1000)
		return partDate | partTime | partZone, timeOK
	}
	month := w.month()
	says := partMonth
	if m.has&(partMonth|partDay) == partMonth && !m.monthName && m.month >= 1 && m.month <= 31 {
		m.day, says = m.month, partDay // what was taken for the month is the day
	}
	m.month, m.monthName = month, true
	return says, timeOK
}

// zoneWord returns how far east of UTC, in seconds, the zone of an abbreviation is.
func zoneWord(s string) (ok bool, east int) {
	minutes, ok := zones[s]
	return ok, minutes * 60
}

// zones are the abbreviations that are known, of those of PostgreSQL's default set, in minutes east of UTC.
var zones = map[string]int{
	"utc": 0, "gmt": 0, "ut": 0, "uct": 0, "z": 0, "zulu": 0, "wet": 0,
	"bst": 60, "cet": 60, "met": 60, "mez": 60, "cest": 120, "cetdst": 120, "mesz": 120, "eet": 120, "ist": 120, "sast": 120,
	"eest": 180, "eat": 180, "idt": 180, "msk": 180, "msd": 240, "pkt": 300, "ict": 420, "hkt": 480, "awst": 480,
	"jst": 540, "kst": 540, "acst": 570, "aest": 600, "acdt": 630, "aedt": 660, "nzst": 720, "nzdt": 780,
	"nst": -210, "ndt": -150, "ast": -240, "adt": -180, "brt": -180, "est": -300, "edt": -240, "cst": -360, "cdt": -300,
	"mst": -420, "mdt": -360, "pst": -480, "pdt": -420, "akst": -540, "akdt": -480, "hst": -600,
}

// loadZone returns the zone of a name such as america/new_york, or of a POSIX rule without daylight saving such as
// utc+3, whose sign counts to the west. It returns nil if there is none.
func loadZone(name string) *time.Location {
	if at := strings.IndexAny(name, "+-0123456789"); at > 0 && strings.IndexByte(name, '/') < 0 {
		rule := name[at:]
		if isDigit(rule[0]) {
			rule = "+" + rule
		}
		if west, fault := readZone(rule); fault == timeOK && len(rule) > 1 {
			return time.FixedZone(name, -west)
		}
	}
	for _, n := range spellings(name) {
		if zone, err := time.LoadLocation(n); err == nil {
			return zone
		}
	}
	return nil
}

// spellings returns a zone's name in the cases that names come in: each part capitalised, or in capitals.
func spellings(name string) []string {
	out := []string{""}
	for i, part := range strings.Split(name, "/") {
		if i == 3 || part == "" || name == "local" {
			return nil
		}
		var longer []string
		for _, s := range out {
			if i > 0 {
				s += "/"
			}
			longer = append(longer, s+capitalised(part), s+strings.ToUpper(part))
		}
		out = longer
	}
	return out
}

// capitalised puts a part of a zone's name into the usual case, as in New_York, Port_of_Spain, Port-au-Prince and
// Dar_es_Salaam.
func capitalised(s string) string {
	b := []byte(s)
	for i, c := range b {
		if !isLetter(c) || i > 0 && isLetter(s[i-1]) {
			continue
		}
		switch word, _, _ := strings.Cut(s[i:], s[max(i-1, 0):i]); {
		case i > 0 && (word == "of" || word == "au" || word == "es"):
		default:
			b[i] -= 'a' - 'A'
		}
	}
	return string(b)
}
