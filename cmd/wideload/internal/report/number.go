package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Count prints a number with commas: 1,234,567. Fractions are rounded.
func Count[N int | int64 | uint64 | float64](n N) string {
	s := strconv.FormatFloat(math.Round(float64(n)), 'f', 0, 64)
	s, negative := strings.CutPrefix(s, "-")
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	if negative {
		return "-" + s
	}
	return s
}

// Bytes prints a size with three digits or more: 812 B, 1.21 MiB, 1,046 MiB.
func Bytes[N int | int64 | uint64 | float64](n N) string {
	size, unit := float64(n), "B"
	for _, next := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if size < 1024 {
			break
		}
		size, unit = size/1024, next
	}
	switch {
	case unit == "B" || size >= 1000:
		return Count(size) + " " + unit
	case size >= 100:
		return fmt.Sprintf("%.0f %s", size, unit)
	case size >= 10:
		return fmt.Sprintf("%.1f %s", size, unit)
	}
	return fmt.Sprintf("%.2f %s", size, unit)
}

// Milliseconds prints a time in ms with three digits or more.
func Milliseconds(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	switch {
	case ms >= 100:
		return Count(ms) + " ms"
	case ms >= 10:
		return fmt.Sprintf("%.1f ms", ms)
	case ms >= 1:
		return fmt.Sprintf("%.2f ms", ms)
	}
	return fmt.Sprintf("%.3f ms", ms)
}

// ParseBytes reads a size: a number of bytes, or of KiB, MiB, GiB or TiB when one follows (512MiB, 1.5 GiB). kB, MB, GB and TB
// mean the same, as in PostgreSQL's settings of memory.
func ParseBytes(s string) (int64, error) {
	number, factor := strings.TrimSpace(s), int64(1)
units:
	for i, unit := range []string{"k", "M", "G", "T"} {
		for _, suffix := range []string{unit + "iB", unit + "B"} {
			if n := len(number) - len(suffix); n > 0 && strings.EqualFold(number[n:], suffix) {
				number, factor = strings.TrimSpace(number[:n]), 1<<(10*(i+1))
				break units
			}
		}
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || !(f >= 0) || f*float64(factor) >= 1<<62 {
		return 0, fmt.Errorf("%q is not a size: must be a number of bytes, or one with kB, MB, GB or TB (KiB, MiB, GiB, TiB: the same), such as 512MB", s)
	}
	return int64(f * float64(factor)), nil
}
