package bench

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"wideleaf"
	"wideleaf/cmd/wideload/internal/report"
)

func openDB(t *testing.T) *wideleaf.DB {
	t.Helper()
	db, err := wideleaf.Open(filepath.Join(t.TempDir(), "db"), &wideleaf.Options{MemoryLimit: 64 << 20, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// Names are the article's: a with idx_a_1 to idx_a_128, and b with idx_b_1 over all columns.
func TestModes(t *testing.T) {
	m, err := ModeOf("btree")
	if err != nil {
		t.Fatal(err)
	}
	defs := m.indexes(128)
	if len(defs) != 128 || m.Table != "a" || defs[0].Name != "idx_a_1" || defs[127].Name != "idx_a_128" {
		t.Errorf("%d indexes of %s, from %s on", len(defs), m.Table, defs[0].Name)
	}
	for i, d := range defs {
		if len(d.Columns) != 1 || d.Columns[0].Name != columns(128)[i].Name {
			t.Errorf("%s is on %v", d.Name, d.Columns)
		}
	}
	over := Mode{Table: "b", Method: "gin"}.indexes(3)
	if len(over) != 1 || over[0].Name != "idx_b_1" || len(over[0].Columns) != 3 || over[0].Columns[2].Name != "c3" {
		t.Errorf("an index over all columns is %v", over)
	}
	if (Mode{Table: "a"}).indexes(3) != nil {
		t.Error("no method makes indexes")
	}
	if _, err := ModeOf("hash"); err == nil {
		t.Error("an unknown mode is accepted")
	}
}

// Percentiles against those of the sorted times, within the three digits that are kept.
func TestLatency(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	a, b := NewLatency(), NewLatency()
	times := make([]time.Duration, 10_000)
	var sum float64
	for i := range times {
		times[i] = time.Duration(1000 * math.Exp(rnd.Float64()*12)) // 1 us to 160 ms
		sum += float64(times[i])
		if i%3 == 0 {
			a.Record(times[i])
		} else {
			b.Record(times[i])
		}
	}
	a.Merge(b)
	slices.Sort(times)
	if a.Count() != int64(len(times)) {
		t.Fatalf("%d times, want %d", a.Count(), len(times))
	}
	for _, p := range []float64{50, 99, 99.9, 100} {
		want := times[int(math.Ceil(p/100*float64(len(times))))-1]
		if got := a.At(p); math.Abs(float64(got-want)) > float64(want)/500+200 {
			t.Errorf("p%v is %v, want %v", p, got, want)
		}
	}
	if mean := sum / float64(len(times)); math.Abs(a.h.Mean()-mean) > mean/500 {
		t.Errorf("mean %v, want %v", a.h.Mean(), mean)
	}
	a.Reset()
	a.Record(24 * time.Hour)
	if a.Count() != 1 || a.At(100) < longest {
		t.Errorf("an endless commit counts as %v", a.At(100))
	}
	if NewLatency().String() != "none" {
		t.Error("no times print as some")
	}
	one := NewLatency()
	one.Record(2 * time.Millisecond)
	if s := one.String(); s != "average 2.00 ms, stddev 0.000 ms, p50 2.00 ms, p99 2.00 ms, p99.9 2.00 ms, max 2.00 ms" {
		t.Errorf("one time prints as %q", s)
	}
}

func TestRandomValues(t *testing.T) {
	for bits, want := range map[uint32]int32{0: 0, 1 << 31: domain / 2, math.MaxUint32: domain - 1} {
		if got := randomCode(bits); got != uint32(want)^1<<31 {
			t.Errorf("%#x becomes the code %#x, want that of %d", bits, got, want)
		}
	}
	fill := func(seed uint64, number, n int) []uint32 {
		v := &wideleaf.Vector{Type: wideleaf.Int4}
		newClient(seed, number).fill(v, n)
		if v.N != n || len(v.U32) != n {
			t.Errorf("%d values, want %d", v.N, n)
		}
		return v.U32
	}
	for n := range 5 {
		fill(1, 0, n)
	}
	if !slices.Equal(fill(1, 0, 100), fill(1, 0, 100)) {
		t.Error("a seed makes other values the second time")
	}
	if slices.Equal(fill(1, 0, 100), fill(1, 1, 100)) || slices.Equal(fill(1, 0, 100), fill(2, 0, 100)) {
		t.Error("clients, or seeds, make the same values")
	}
}

// Every row is inserted once, whatever clients and batches divide them into.
func TestInsertCountsRows(t *testing.T) {
	for _, c := range []InsertConfig{
		{Rows: 1, Clients: 8, Batch: 1},
		{Rows: 7, Clients: 3, Batch: 10},
		{Rows: 1001, Clients: 4, Batch: 7},
		{Rows: 500, Clients: 1, Batch: 500, Sync: true},
	} {
		c.Mode, c.Columns = Modes[0], 3
		db := openDB(t)
		r, err := Insert(t.Context(), db, c)
		if err != nil {
			t.Fatal(err)
		}
		table, err := db.Table("a")
		if err != nil {
			t.Fatal(err)
		}
		n, err := table.Query().Count(t.Context())
		wantCommits := (c.Rows + int64(c.Batch) - 1) / int64(c.Batch)
		if err != nil || n != c.Rows || r.Rows != c.Rows || r.Commits != wantCommits || r.Size.Rows != c.Rows {
			t.Errorf("%+v: %d rows are there, %v; reported %d in %d commits", c, n, err, r.Rows, r.Commits)
		}
		if r.Inserted <= 0 || r.Settled < r.Inserted || r.Size.IndexBytes <= 0 || r.Size.HeapBytes <= 0 {
			t.Errorf("%+v", r)
		}
	}
}

func TestInsertIsCancelled(t *testing.T) {
	db := openDB(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := Insert(ctx, db, InsertConfig{Mode: Modes[0], Columns: 8, Duration: time.Hour, Clients: 4, Batch: 1, Sample: io.Discard})
	if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, wideleaf.ErrCanceled) || time.Since(start) > 10*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

func TestSampleThatCannotBeWritten(t *testing.T) {
	broken := errors.New("broken")
	_, err := Insert(t.Context(), openDB(t), InsertConfig{Mode: Modes[0], Columns: 2, Duration: time.Hour, Clients: 1, Batch: 1, Sample: brokenWriter{broken}})
	if !errors.Is(err, broken) {
		t.Error(err)
	}
}

func TestCheck(t *testing.T) {
	err := (&InsertConfig{Columns: 1, Rows: 5, Duration: time.Second, Clients: 1, Batch: 1, Ask: true}).Check()
	if want := "either rows or a duration must be given\nthe cases ask for c1 and c2, the table has 1 column"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := (&InsertConfig{Columns: 1, Rows: 5, Clients: 1, Batch: 1}).Check(); err != nil {
		t.Error(err)
	}
}

// The cases find what a count over the rows finds.
func TestAsk(t *testing.T) {
	db := openDB(t)
	table, err := db.CreateTable(t.Context(), "a", columns(2)...)
	if err != nil {
		t.Fatal(err)
	}
	b := table.NewBatch()
	want := map[string]int64{}
	for i := range 1000 {
		c1, c2 := i%7*30_000, i%11*20_000_000
		if err := b.Append(c1*(1+i%3*1000), c2); err != nil {
			t.Fatal(err)
		}
		c1 *= 1 + i%3*1000
		for name, holds := range map[string]bool{"selective": c1 < 100_000, "case1": c1 < 100_000 && c2 < 10_000_000,
			"case2": c1 < 100_000_000 && c2 < 100_000_000, "case3": c1 < 100_000_000} {
			if holds {
				want[name]++
			}
		}
	}
	if err := table.InsertBatch(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	answers, err := Ask(t.Context(), table)
	if err != nil || len(answers) != 4 {
		t.Fatalf("%d answers, %v", len(answers), err)
	}
	for _, a := range answers {
		if a.Count != want[a.Case.Name] || a.Count == 0 || a.Count == 1000 || a.Best <= 0 {
			t.Errorf("%s: %d rows in %v, want %d", a.Case.Name, a.Count, a.Best, want[a.Case.Name])
		}
	}
}

// The figures and the texts of a made-up result: 100 rows in 2 s, settled in 4.
func TestReports(t *testing.T) {
	l := NewLatency()
	for range 50 {
		l.Record(time.Millisecond)
	}
	r := &InsertResult{
		Config: InsertConfig{Mode: Modes[0], Columns: 2, Rows: 100, Clients: 1, Batch: 2},
		Rows:   100, Commits: 50, Inserted: 2 * time.Second, Settled: 4 * time.Second, Latency: l, PeakRSS: 1 << 20,
		Size:    wideleaf.TableSize{Rows: 100, HeapBytes: 2000, IndexBytes: 3000},
		Answers: []Answer{{Case: case1, Best: 1500 * time.Microsecond, Count: 12345}},
	}
	want := []report.Figure{
		{Suite: "insert", Name: "btree", Value: 50, Unit: "rows/s"},
		{Suite: "insert", Name: "btree-settled", Value: 25, Unit: "rows/s"},
		{Suite: "insert", Name: "btree-index-bytes-per-row", Value: 30, Unit: "B"},
		{Suite: "insert", Name: "btree-heap-bytes-per-row", Value: 20, Unit: "B"},
		{Suite: "insert", Name: "btree-peak-rss", Value: 1 << 20, Unit: "B"},
		{Suite: "query", Name: "case1-btree", Value: 1.5, Unit: "ms"},
	}
	if got := r.Figures(); !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	if got := CompareFigures([]*InsertResult{r}); !slices.Equal(got, slices.Concat(want[:4], want[5:])) {
		t.Errorf("compared: %v", got)
	}
	var text, summary strings.Builder
	if err := r.Print(&text); err != nil {
		t.Fatal(err)
	}
	if err := PrintSummary(&summary, []*InsertResult{r}); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"100 rows of 2 random int4 columns into table a, btree on every column; 1 client, 2 rows a commit, no sync\n",
		"50 rows/s, 25 tps", "25 rows/s", "p99.9 1.00 ms", "2.93 KiB, 30 bytes/row", "1.95 KiB, 20 bytes/row", "1.00 MiB",
		"1.50 ms for 12,345 rows: c1 < 100000 and c2 < 10000000"} {
		if !strings.Contains(text.String(), s) {
			t.Errorf("no %q in:\n%s", s, text.String())
		}
	}
	for _, s := range []string{"50 rows/s", "(settled: 25)", "30 bytes/row", "1.50 ms", "12,345 rows", "100 rows of 2 random int4 columns", "1 client, 2 rows a commit"} {
		if !strings.Contains(summary.String(), s) {
			t.Errorf("no %q in:\n%s", s, summary.String())
		}
	}
	for line := range strings.Lines(summary.String()) {
		if n := len([]rune(line)); n > 140 {
			t.Errorf("a line of %d characters", n)
		}
	}
}
