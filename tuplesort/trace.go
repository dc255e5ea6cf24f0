package tuplesort

import (
	"fmt"
	"log/slog"
	"time"
)

// Tracer writes the lines of PostgreSQL's trace_sort for one participant: workers from 0 on, then the leader; -1 is the
// merge of all. A nil Tracer writes nothing.
type Tracer struct {
	log    *slog.Logger
	worker int
	start  time.Time
	user   time.Duration
	system time.Duration
	memory int64
}

func NewTracer(log *slog.Logger, worker int) *Tracer {
	if log == nil {
		return nil
	}
	t := &Tracer{log: log, worker: worker, start: time.Now()}
	t.user, t.system = cpuTime()
	return t
}

// line writes a line that ends with the resources used since the sort began: those of the whole process, whose
// participants are threads.
func (t *Tracer) line(format string, args ...any) {
	user, system := cpuTime()
	t.log.Info(fmt.Sprintf(format, args...) + fmt.Sprintf(": CPU: user: %.2f s, system: %.2f s, elapsed: %.2f s",
		(user-t.user).Seconds(), (system-t.system).Seconds(), time.Since(t.start).Seconds()))
}

func (t *Tracer) Begin(unique bool, memory int64) {
	if t != nil {
		t.log.Info(fmt.Sprintf("begin index sort: unique = %s, workMem = %d, randomAccess = f", tf(unique), memory>>10))
	}
}

func tf(b bool) string {
	if b {
		return "t"
	}
	return "f"
}

func (t *Tracer) Performing() {
	if t != nil {
		t.line("performsort of worker %d starting", t.worker)
	}
}

// External says that the batch doesn't fit: there is one tape a participant, which holds all its runs.
func (t *Tracer) External() {
	if t != nil {
		t.line("worker %d switching to external sort with %d tapes", t.worker, 1)
	}
}

func (t *Tracer) Sorting(run int) {
	if t != nil {
		t.line("worker %d starting quicksort of run %d", t.worker, run+1)
	}
}

func (t *Tracer) Sorted(run int) {
	if t != nil {
		t.line("worker %d finished quicksort of run %d", t.worker, run+1)
	}
}

func (t *Tracer) Wrote(run int) {
	if t != nil {
		t.line("worker %d finished writing run %d to tape %d", t.worker, run, 0)
	}
}

func (t *Tracer) Performed(tp *Tape, bytes int64) {
	switch {
	case t == nil:
	case tp.Used():
		t.line("performsort of worker %d done", t.worker)
		t.line("parallel external sort of worker %d ended, %d disk blocks used", t.worker, tp.Blocks())
	default:
		t.line("performsort of worker %d done", t.worker)
		t.line("unperformed parallel sort of worker %d ended, %d KB used", t.worker, (bytes+1023)>>10)
	}
}

func (t *Tracer) Merging(unique bool, memory int64, runs int) {
	if t != nil {
		t.memory = memory
		t.Begin(unique, memory)
		t.line("performsort of worker %d starting", t.worker)
		t.line("worker %d using %d KB of memory for tape buffers", t.worker, memory>>10)
		t.line("performsort of worker %d done (except %d-way final merge)", t.worker, runs)
	}
}

func (t *Tracer) Ended(external bool, tapes []*Tape) {
	switch {
	case t == nil:
	case external:
		n := int64(0)
		for _, tp := range tapes {
			n += tp.Blocks()
		}
		t.line("parallel external sort of worker %d ended, %d disk blocks used", t.worker, n)
	default:
		t.line("internal sort of worker %d ended, %d KB used", t.worker, t.memory>>10)
	}
}
