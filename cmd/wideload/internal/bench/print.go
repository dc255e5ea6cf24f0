package bench

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"wideleaf/cmd/wideload/internal/report"
)

// Figures returns the figures of an insert test.
func (r *InsertResult) Figures() []report.Figure {
	name := r.Config.Mode.Name
	figures := []report.Figure{
		{Suite: "insert", Name: name, Value: rate(r.Rows, r.Inserted), Unit: "rows/s"},
		{Suite: "insert", Name: name + "-settled", Value: rate(r.Rows, r.Settled), Unit: "rows/s"},
	}
	perRow := func(what string, bytes int64) {
		if r.Size.Rows > 0 {
			figures = append(figures, report.Figure{Suite: "insert", Name: name + "-" + what + "-bytes-per-row",
				Value: float64(bytes) / float64(r.Size.Rows), Unit: "B"})
		}
	}
	if r.Config.Mode.Method != "" {
		perRow("index", r.Size.IndexBytes)
	}
	perRow("heap", r.Size.HeapBytes)
	if r.PeakRSS > 0 {
		figures = append(figures, report.Figure{Suite: "insert", Name: name + "-peak-rss", Value: float64(r.PeakRSS), Unit: "B"})
	}
	if r.Case1 != nil && r.Case1.Count() > 0 {
		figures = append(figures, report.Figure{Suite: "insert", Name: name + "-case1-p99",
			Value: float64(r.Case1.At(99)) / float64(time.Millisecond), Unit: "ms"})
	}
	for _, a := range r.Answers {
		figures = append(figures, report.Figure{Suite: "query", Name: a.Case.Name + "-" + name, Value: float64(a.Best) / float64(time.Millisecond), Unit: "ms"})
	}
	return figures
}

// Print prints an insert test for people.
func (r *InsertResult) Print(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	c := r.Config
	fmt.Fprintf(out, "%s\n", r.title())
	fmt.Fprintf(out, "inserted\t%s rows/s, %s tps\tin %.2f s\n", report.Count(rate(r.Rows, r.Inserted)), report.Count(rate(r.Commits, r.Inserted)), r.Inserted.Seconds())
	fmt.Fprintf(out, "settled\t%s rows/s\tin %.2f s\n", report.Count(rate(r.Rows, r.Settled)), r.Settled.Seconds())
	fmt.Fprintf(out, "commit latency\t%v\n", r.Latency)
	if r.Case1 != nil {
		fmt.Fprintf(out, "case 1 meanwhile\t%v\n", r.Case1)
	}
	if c.Mode.Method != "" {
		fmt.Fprintf(out, "index\t%s\n", sizeOf(r.Size.IndexBytes, r.Size.Rows))
	}
	fmt.Fprintf(out, "heap\t%s\n", sizeOf(r.Size.HeapBytes, r.Size.Rows))
	if r.PeakRSS > 0 {
		fmt.Fprintf(out, "peak resident memory\t%s\n", report.Bytes(r.PeakRSS))
	}
	fmt.Fprintf(out, "rewritten by Pebble's compactions\t%s, of pages %s\n", report.Bytes(r.Metrics.Store.CompactedBytes), report.Bytes(r.Metrics.Store.RewrittenPages))
	for _, a := range r.Answers {
		fmt.Fprintf(out, "%s\t%s for %s rows: %s\n", a.Case.Name, report.Milliseconds(a.Best), report.Count(a.Count), a.Case.Where)
	}
	fmt.Fprintf(out, "background work\t%d flushes, %d merges of %s\n", r.Metrics.Flushes, r.Metrics.Merges, report.Bytes(r.Metrics.BytesMerged))
	return out.Flush()
}

// title says what was measured.
func (r *InsertResult) title() string {
	c := r.Config
	sync := "no sync"
	if c.Sync {
		sync = "sync"
	}
	return fmt.Sprintf("%s rows of %d random int4 columns into table %s, %s; %s, %s a commit, %s",
		report.Count(r.Rows), c.Columns, c.Mode.Table, c.Mode.Label, plural(c.Clients, "client"), plural(c.Batch, "row"), sync)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return report.Count(n) + " " + noun + "s"
}

func sizeOf(bytes, rows int64) string {
	if rows == 0 {
		return report.Bytes(bytes)
	}
	return fmt.Sprintf("%s, %s bytes/row", report.Bytes(bytes), report.Count(float64(bytes)/float64(rows)))
}

func rate(n int64, d time.Duration) float64 {
	return float64(n) / max(d.Seconds(), 1e-9)
}
