package buildparallel

import (
	"sync"
	"sync/atomic"

	"wideleaf/version"
)

// The phases of a build, by PostgreSQL's names (pg_stat_progress_create_index).
const (
	PhaseInitializing = "initializing"
	PhaseScanning     = "building index: scanning table"
	PhaseSorting      = "building index: sorting live tuples"
	PhaseLoading      = "building index: loading tuples in tree"
)

// Progress says how far a build is. Its methods may be called concurrently.
type Progress struct {
	mu          sync.Mutex // guards name and index
	name        string
	current     string
	indexes     int
	built       int
	done, total atomic.Int64
}

// State is a build's progress at a moment.
type State struct {
	Phase          string
	Index          string // that is being built
	Built, Indexes int    // indexes done before it, and all
	// TuplesDone and TuplesTotal are of the phase.
	TuplesDone, TuplesTotal int64
}

// State returns the progress.
func (p *Progress) State() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return State{p.name, p.current, p.built, p.indexes, min(p.done.Load(), p.total.Load()), p.total.Load()}
}

func (p *Progress) begin(groups []*version.Group, rows int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.name, p.built, p.indexes = PhaseInitializing, -1, 0
	for _, g := range groups {
		p.indexes += len(g.Indexes)
	}
	p.done.Store(0)
	p.total.Store(rows)
}

// index begins the next index.
func (p *Progress) index(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current = name
	p.built++
}

func (p *Progress) phase(name string, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.name = name
	p.done.Store(0)
	p.total.Store(total)
}

// sorting says that all rows are read or being read, and what is left of the phase is sorting: the first participant to find so
// calls it, and those that are still reading count on.
func (p *Progress) sorting() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.name = PhaseSorting
}

func (p *Progress) add(n int) { p.done.Add(int64(n)) }
