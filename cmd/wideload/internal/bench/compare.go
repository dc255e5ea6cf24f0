package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"wideleaf"
	"wideleaf/cmd/wideload/internal/report"
)

// CompareConfig is a comparison of all modes.
type CompareConfig struct {
	Rows     int64 // in each table
	Columns  int
	Clients  int
	Dir      string // of a database that keeps all tables; "": a temporary one for each
	Open     func(dir string) (*wideleaf.DB, error)
	Progress func(title string) *report.Progress
}

// Compare measures every mode of the summary table.
func Compare(ctx context.Context, c CompareConfig) ([]*InsertResult, error) {
	var all []*InsertResult
	for _, m := range Modes {
		if !m.Compare {
			continue
		}
		r, err := compareOne(ctx, c, m)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name, err)
		}
		all = append(all, r)
	}
	return all, nil
}

func compareOne(ctx context.Context, c CompareConfig, m Mode) (r *InsertResult, err error) {
	dir := c.Dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "wideload-"); err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	db, err := c.Open(dir)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return Insert(ctx, db, InsertConfig{Mode: m, Columns: c.Columns, Rows: c.Rows, Clients: c.Clients, Batch: 1, Seed: 1,
		Ask: true, Progress: c.Progress(m.Label + ":")})
}

// CompareFigures returns the figures of a comparison: those of each mode but the peak of memory, which is the process's.
func CompareFigures(all []*InsertResult) []report.Figure {
	var figures []report.Figure
	for _, r := range all {
		for _, f := range r.Figures() {
			if f.Name != r.Config.Mode.Name+"-peak-rss" {
				figures = append(figures, f)
			}
		}
	}
	return figures
}

// columnWidth keeps the summary table within a terminal of 132 columns.
const columnWidth = 18

// PrintSummary prints the article's summary table.
func PrintSummary(w io.Writer, all []*InsertResult) error {
	t := table.NewWriter()
	style := table.StyleLight
	style.Format.Header = text.FormatDefault
	style.Options.SeparateRows = true
	t.SetStyle(style)
	header := table.Row{"index", "write speed", "index size"}
	queries := table.Row{"select count(*)\nwhere ...", "", ""}
	for _, c := range Cases {
		header = append(header, text.WrapSoft(c.Title, columnWidth))
		queries = append(queries, text.WrapSoft(c.Where, columnWidth))
	}
	var configs []table.ColumnConfig
	for i := range header[1:] {
		configs = append(configs, table.ColumnConfig{Number: i + 2, Align: text.AlignRight, AlignHeader: text.AlignLeft})
	}
	t.SetColumnConfigs(configs)
	t.AppendHeader(header)
	t.AppendRow(queries)
	for _, r := range all {
		row := table.Row{text.WrapSoft(r.Config.Mode.Label, columnWidth), report.Count(rate(r.Rows, r.Inserted)) + " rows/s\n(settled: " + report.Count(rate(r.Rows, r.Settled)) + ")",
			report.Bytes(r.Size.IndexBytes) + "\n" + report.Count(float64(r.Size.IndexBytes)/float64(max(r.Size.Rows, 1))) + " bytes/row"}
		for _, a := range r.Answers {
			row = append(row, report.Milliseconds(a.Best)+"\n"+report.Count(a.Count)+" rows")
		}
		t.AppendRow(row)
	}
	_, err := fmt.Fprintf(w, "%s\n%s", t.Render(), caption(all))
	return err
}

// caption says what the table's figures are.
func caption(all []*InsertResult) string {
	if len(all) == 0 {
		return ""
	}
	c := all[0].Config
	return fmt.Sprintf("Measured just now on this machine (%s/%s, %d processors, %s): %s rows of %d random int4 columns in each table,\n"+
		"inserted by %s, %s a commit, without sync; settled is until all background merging was done.\n"+
		"Queries: best of %d on the settled table, so that caches are warm.\n",
		runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), runtime.Version(), report.Count(c.Rows), c.Columns,
		plural(c.Clients, "client"), plural(c.Batch, "row"), repeats)
}
