package load

// isDate reports whether a cell is a date that exists, from year 1 to 9999: 2020-02-29.
func isDate(s []byte) bool {
	if len(s) != len("2020-02-29") || s[4] != '-' || s[7] != '-' {
		return false
	}
	year, month, day := digits(s[:4]), digits(s[5:7]), digits(s[8:])
	return year >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= daysOf(year, month)
}

func daysOf(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// isTimestamp reports whether a cell is a date, a blank or a T, and a time of day to the minute, the second or down to
// the microsecond, with or without a zone: 2020-02-29 10:00, 2020-02-29T10:00:00.123456Z, 2020-02-29 10:00:00+02,
// with +0200 or +02:00. Without a zone it is UTC.
func isTimestamp(s []byte) bool {
	const minute = "2020-02-29 10:00"
	if len(s) < len(minute) || s[10] != ' ' && s[10] != 'T' || s[13] != ':' || !isDate(s[:10]) {
		return false
	}
	if !inRange(s[11:13], 23) || !inRange(s[14:16], 59) {
		return false
	}
	s = s[len(minute):]
	if len(s) >= 3 && s[0] == ':' {
		if !inRange(s[1:3], 59) {
			return false
		}
		s = s[3:]
		if len(s) > 0 && s[0] == '.' {
			n := 0
			for n+1 < len(s) && s[n+1]-'0' <= 9 {
				n++
			}
			if n == 0 || n > 6 {
				return false
			}
			s = s[n+1:]
		}
	}
	return isZone(s)
}

// isZone reports whether a text is an offset from UTC, up to PostgreSQL's limit of less than 16 hours, Z or nothing.
func isZone(s []byte) bool {
	if len(s) == 0 || len(s) == 1 && s[0] == 'Z' {
		return true
	}
	if s[0] != '+' && s[0] != '-' {
		return false
	}
	switch s = s[1:]; {
	case len(s) == 5 && s[2] == ':':
		return inRange(s[:2], 15) && inRange(s[3:], 59)
	case len(s) == 4:
		return inRange(s[:2], 15) && inRange(s[2:], 59)
	}
	return len(s) == 2 && inRange(s, 15)
}

// inRange reports whether a text is digits only, of a number up to most.
func inRange(s []byte, most int) bool {
	n := digits(s)
	return n >= 0 && n <= most
}

// digits returns the number that a few digits make, -1 if there is anything else.
func digits(s []byte) int {
	n := 0
	for _, c := range s {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	return n
}
