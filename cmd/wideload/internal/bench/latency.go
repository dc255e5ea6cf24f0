package bench

import (
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"wideleaf/cmd/wideload/internal/report"
)

// Latency is a distribution of times, exact to three digits. It belongs to one goroutine.
type Latency struct{ h *hdrhistogram.Histogram }

// The range of times that are told apart; longer ones count as the longest.
const (
	shortest = 100 * time.Nanosecond
	longest  = 10 * time.Minute
)

// NewLatency returns an empty distribution.
func NewLatency() *Latency {
	return &Latency{hdrhistogram.New(int64(shortest), int64(longest), 3)}
}

// Record adds a time.
func (l *Latency) Record(d time.Duration) {
	_ = l.h.RecordValue(int64(min(d, longest))) // fails only beyond the range
}

// Merge adds all times of another distribution.
func (l *Latency) Merge(o *Latency) { l.h.Merge(o.h) }

// Reset empties the distribution.
func (l *Latency) Reset() { l.h.Reset() }

// Count returns how many times there are.
func (l *Latency) Count() int64 { return l.h.TotalCount() }

// At returns the time that a share of all, in percent, does not exceed.
func (l *Latency) At(percent float64) time.Duration {
	return time.Duration(l.h.ValueAtQuantile(percent))
}

// String prints what pgbench prints, and percentiles.
func (l *Latency) String() string {
	if l.Count() == 0 {
		return "none"
	}
	ms := report.Milliseconds
	return fmt.Sprintf("average %s, stddev %s, p50 %s, p99 %s, p99.9 %s, max %s", ms(time.Duration(l.h.Mean())),
		ms(time.Duration(l.h.StdDev())), ms(l.At(50)), ms(l.At(99)), ms(l.At(99.9)), ms(time.Duration(l.h.Max())))
}
