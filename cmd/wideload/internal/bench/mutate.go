package bench

import (
	"context"
	"fmt"
	"io"
	"time"

	"wideleaf"
	"wideleaf/cmd/wideload/internal/report"
)

// MutateResult is what a mutate test measured.
type MutateResult struct {
	Rows, Deleted, Updated int64 // rows of the table at first, and rows that the two statements changed
	Delete, Update         time.Duration
	Settled                time.Duration // from the update on until no background work was due

	// Then nine tenths of the rows are deleted and the table is vacuumed.
	Remain        int64
	Vacuum        time.Duration // the delete included, until settled
	Bytes, Before int64         // stored pages of what remains; of the table at first
}

// Mutate fills the mode's table, deletes a tenth of the rows, updates another, and deletes and vacuums most of the rest.
func Mutate(ctx context.Context, db *wideleaf.DB, c InsertConfig) (*MutateResult, error) {
	filled, err := Insert(ctx, db, c)
	if err != nil {
		return nil, err
	}
	t, err := db.Table(c.Mode.Table)
	if err != nil {
		return nil, err
	}
	if err := db.Settle(ctx); err != nil {
		return nil, err
	}
	r := &MutateResult{Rows: filled.Rows, Before: filled.Size.HeapBytes + filled.Size.IndexBytes}
	start := time.Now()
	if r.Deleted, err = t.DeleteWhere(ctx, "c1 < 200000000", wideleaf.NoSync); err != nil {
		return nil, err
	}
	r.Delete = time.Since(start)
	start = time.Now()
	if r.Updated, err = t.UpdateWhere(ctx, "c3 < 200000000", "c2 = c2 / 2", wideleaf.NoSync); err != nil {
		return nil, err
	}
	r.Update = time.Since(start)
	if err := db.Settle(ctx); err != nil {
		return nil, err
	}
	r.Settled = time.Since(start)
	start = time.Now()
	if _, err = t.DeleteWhere(ctx, "c4 < 1800000000"); err != nil {
		return nil, err
	}
	if _, err := t.Vacuum(ctx, wideleaf.VacuumOptions{}); err != nil {
		return nil, err
	}
	if err := db.Settle(ctx); err != nil {
		return nil, err
	}
	r.Vacuum = time.Since(start)
	size, err := t.Size()
	r.Remain, r.Bytes = size.Rows, size.HeapBytes+size.IndexBytes
	return r, err
}

// Figures are the test's figures, the first two as in the PostgreSQL baseline.
func (r *MutateResult) Figures() []report.Figure {
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	name := func(what string) string { return fmt.Sprintf("%s-rows%d", what, r.Rows) }
	return []report.Figure{
		{Suite: "mutate", Name: name("delete-10pct"), Value: ms(r.Delete), Unit: "ms"},
		{Suite: "mutate", Name: name("update-10pct"), Value: ms(r.Update), Unit: "ms"},
		{Suite: "mutate", Name: name("update-10pct-settled"), Value: ms(r.Settled), Unit: "ms"},
		{Suite: "mutate", Name: name("delete-90pct-vacuum"), Value: ms(r.Vacuum), Unit: "ms"},
		{Suite: "mutate", Name: name("delete-90pct-bytes-per-row"), Value: float64(r.Bytes) / float64(max(r.Remain, 1)), Unit: "B"},
		{Suite: "mutate", Name: name("fresh-bytes-per-row"), Value: float64(r.Before) / float64(max(r.Rows, 1)), Unit: "B"},
	}
}

// Print prints the result for people.
func (r *MutateResult) Print(w io.Writer) error {
	per := func(n int64, d time.Duration) float64 { return float64(n) / max(d.Seconds(), 1e-9) }
	_, err := fmt.Fprintf(w, "deleted %d of %d rows in %s (%.0f rows/s)\nupdated %d in %s (%.0f rows/s), settled after %s\n"+
		"deleted and vacuumed down to %d rows in %s: %.1f bytes a row, %.1f when they were new\n",
		r.Deleted, r.Rows, report.Milliseconds(r.Delete), per(r.Deleted, r.Delete),
		r.Updated, report.Milliseconds(r.Update), per(r.Updated, r.Update), report.Milliseconds(r.Settled),
		r.Remain, report.Milliseconds(r.Vacuum), float64(r.Bytes)/float64(max(r.Remain, 1)), float64(r.Before)/float64(max(r.Rows, 1)))
	return err
}
