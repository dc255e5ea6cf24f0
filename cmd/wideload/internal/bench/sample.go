package bench

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// sampler watches an insert test: it asks case 1 all along and writes a line of CSV a second.
type sampler struct {
	run *insertRun
	w   io.Writer

	mu     sync.Mutex // guards second and all
	second *Latency   // of case 1 since the last line
	all    *Latency   // of case 1 since the start
}

// askPause is the time between two questions: 50 to 100 of them a second.
const askPause = 12 * time.Millisecond

func newSampler(run *insertRun) *sampler {
	return &sampler{run: run, w: run.c.Sample, second: NewLatency(), all: NewLatency()}
}

// ask asks case 1 until ctx ends.
func (s *sampler) ask(ctx context.Context) error {
	tick := time.NewTicker(askPause)
	defer tick.Stop()
	q := s.run.table.Query().Where(case1.Where)
	for {
		start := time.Now()
		_, err := q.Count(context.WithoutCancel(ctx)) // so that the shortest test has an answer
		took := time.Since(start)
		if err != nil {
			return fmt.Errorf("case 1: %w", err)
		}
		s.mu.Lock()
		s.second.Record(took)
		s.all.Record(took)
		s.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// write writes a line a second until ctx ends, and the last one then.
func (s *sampler) write(ctx context.Context) error {
	if _, err := io.WriteString(s.w, "elapsed_s,rows,pending_pages,pending_rows,insert_max_ms,case1_p50_ms,case1_p99_ms\n"); err != nil {
		return err
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for ended := false; !ended; {
		select {
		case <-ctx.Done():
			ended = true
		case <-tick.C:
		}
		if err := s.line(); err != nil {
			return err
		}
	}
	return nil
}

func (s *sampler) line() error {
	elapsed := time.Since(s.run.start)
	m, err := s.run.db.Metrics()
	if err != nil {
		return err
	}
	var worst int64
	for _, c := range s.run.clients {
		worst = max(worst, c.worst.Swap(0))
	}
	s.mu.Lock()
	p50, p99 := s.second.At(50), s.second.At(99)
	s.second.Reset()
	s.mu.Unlock()
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	_, err = fmt.Fprintf(s.w, "%.3f,%d,%d,%d,%.3f,%.3f,%.3f\n", elapsed.Seconds(), s.run.rows(), m.PendingPages, m.PendingRows,
		ms(time.Duration(worst)), ms(p50), ms(p99))
	return err
}
