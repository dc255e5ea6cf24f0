package vacuum

import (
	"cmp"
	"slices"

	"wideleaf/am"
)

// State is what planning looks at.
type State struct {
	Tables []TableState
}

// TableState is one table's share of it.
type TableState struct {
	ID     uint32
	Sealed []SealedState // ascending
	Groups []GroupState

	Segments []SegmentState // that have dead rows
	Commits  int            // whose deletes are logged one by one, in the segment that has the most
	Busy     bool           // a job puts these together
}

// SegmentState is a flushed segment.
type SegmentState struct {
	Segment uint64
	Rows    int  // stored
	Dead    int  // of these, and no run has them
	Last    bool // of its table: it keeps its name, since TIDs go on from there
	Asked   bool // a vacuum was asked for, and they are enough for it
	Busy    bool
}

// SealedState is a sealed tail.
type SealedState struct {
	Segment uint64
	Busy    bool // a job works on it
}

// GroupState is a column group.
type GroupState struct {
	ID   uint32
	Runs []RunState
	Tail TailState
}

// TailState is a group's share of its table's active tail.
type TailState struct {
	Segment  uint64
	Minis    []Interval // mini-runs, which cover the first rows
	Rows     int        // that the tail has
	RowBytes int64      // of a row's keys, in the widest index of the group
	Waiting  int64      // such bytes of all rows, sealed ones too, that no mini-run holds
	Limit    int64      // from where rows are taken up: the least of the group's gin_pending_list_limits; 0: none
	Sorted   bool       // the commits take rows up
	Busy     bool       // a job or a commit takes rows up, or there is no memory for more
}

// RunState is a group run.
type RunState struct {
	Ordinal uint64
	Span    am.Span
	Entries uint64
	Busy    bool
	Rows    int64 // that it has entries of
	Dead    int64 // of these
	Asked   bool  // a vacuum was asked for, and it has rows that were dead then
}

// Limits steer planning.
type Limits struct {
	FanIn   int    // runs of one tier that are merged into one, at least 2
	MaxSpan uint64 // segments that a run may span
	Dead    DeadLimits
}

// DeadLimits say from when on dead rows are removed from a run: when there are more than Threshold + Scale x its rows. Off
// leaves it to vacuums that are asked for.
type DeadLimits struct {
	Threshold int64
	Scale     float64
	Off       bool
}

func (l DeadLimits) reached(dead, rows int64) bool {
	return !l.Off && float64(dead) > float64(l.Threshold)+l.Scale*float64(rows)
}

// Kind is what a job does.
type Kind uint8

// The kinds of jobs, by urgency.
const (
	Flush       Kind = iota // turn a sealed tail into pages and runs
	Merge                   // merge neighbouring runs of a group
	Sort                    // take pending rows of an active tail up into a mini-run
	Purge                   // write a run anew without dead rows
	Rewrite                 // write a segment anew without dead rows, or drop it
	Consolidate             // put the logged deletes of a table together
)

func (k Kind) String() string {
	return [...]string{"flush", "merge", "sort", "purge", "rewrite", "consolidate"}[k]
}

// Job is one piece of background work.
type Job struct {
	Kind     Kind
	Table    uint32
	Segment  uint64   // Flush, Sort, Rewrite
	Group    uint32   // Merge, Sort, Purge
	Runs     []uint64 // Merge, Purge: ordinals of the runs, in the order of their spans
	Entries  uint64   // Merge, Purge: entries that it rewrites
	Interval          // Sort: offsets of the rows
}

// Plan lists the jobs that are due, most urgent first: sealed tails, oldest first, since they hold memory and stop
// writers; then merges, those of the group with the most runs first, small before large.
// While a tail is being flushed and nothing merged, a merge goes first: writers faster than two flushing workers
// would otherwise pile up runs for as long as they last. It never lists a job on something busy.
//
// Pending rows over a limit come last, when nothing is flushed or merged: at full speed a tail is flushed before that,
// which takes them out of every pending list at half the cost. Sorting them beside it took GIN two thirds of its speed.
// Only when a list is half way to where writers wait for it does it come first.
//
// Merging is tiered (O'Neil et al., the LSM-tree, 1996; Graefe's partitioned B-trees, 2003): a tier holds runs that
// span about as many segments, and FanIn neighbours of one tier become one run of the next. So every entry is rewritten
// once a tier, and a group has fewer than FanIn runs a tier.
func Plan(s State, l Limits) []Job {
	var urgent, flushes, merges, sorts, purges []Job
	flushing, merging := false, false
	backlog := map[uint32]int{} // runs by group
	for _, t := range s.Tables {
		for _, st := range t.Sealed {
			flushing = flushing || st.Busy
			if !st.Busy {
				flushes = append(flushes, Job{Kind: Flush, Table: t.ID, Segment: st.Segment})
			}
		}
		for _, g := range t.Groups {
			if j, ok := planSort(g.Tail, l.FanIn); ok {
				j.Table, j.Group = t.ID, g.ID
				if g.Tail.Waiting > g.Tail.Limit*HardLimit/2 {
					urgent = append(urgent, j)
				} else {
					sorts = append(sorts, j)
				}
			}
			backlog[g.ID] = len(g.Runs)
			merging = merging || slices.ContainsFunc(g.Runs, func(r RunState) bool { return r.Busy })
			due := planMerges(g.Runs, l)
			for _, m := range append(due, planPurges(g.Runs, due, l.Dead)...) {
				m.Table, m.Group = t.ID, g.ID
				if m.Kind == Merge {
					merges = append(merges, m)
				} else {
					purges = append(purges, m)
				}
			}
		}
		for _, j := range planRewrites(t, l.Dead) {
			j.Table = t.ID
			purges = append(purges, j)
		}
	}
	slices.SortStableFunc(merges, func(a, b Job) int {
		if c := cmp.Compare(backlog[b.Group], backlog[a.Group]); c != 0 {
			return c
		}
		return cmp.Compare(a.Entries, b.Entries)
	})
	if flushing || merging || len(flushes)+len(merges) > 0 {
		sorts = nil
	}
	if flushing && !merging && len(merges) > 0 {
		return slices.Concat(urgent, merges[:1], flushes, merges[1:], sorts, purges)
	}
	return slices.Concat(urgent, flushes, merges, sorts, purges)
}

// HardLimit is how many times gin_pending_list_limit a pending list may hold: writers are slowed from three quarters of
// that on, and wait there. By default it is the keys of half a million rows of 128 int4 columns, more than the memory for
// tails holds.
const HardLimit = 64

// planSort finds the rows of a tail that are to be taken up: all that wait in it.
func planSort(t TailState, fanIn int) (Job, bool) {
	if t.Busy || t.Limit == 0 || t.Waiting <= t.Limit {
		return Job{}, false
	}
	from := 0
	if n := len(t.Minis); n > 0 {
		from = t.Minis[n-1].To
	}
	if int64(t.Rows-from)*t.RowBytes <= t.Limit/2 {
		return Job{}, false // most of what waits is sealed: flushing takes care of it
	}
	return Job{Kind: Sort, Segment: t.Segment, Interval: Interval{sortFrom(t.Minis, t.Rows, fanIn), t.Rows}}, true
}

// manyCommits is how many commits' deletes of a segment are logged one by one before they are put together.
const manyCommits = 1024

// planPurges finds idle runs with enough dead rows, those left out that a merge is due for anyway.
func planPurges(runs []RunState, merges []Job, l DeadLimits) []Job {
	var jobs []Job
	for _, r := range runs {
		if r.Busy || r.Dead == 0 || !r.Asked && !l.reached(r.Dead, r.Rows) ||
			slices.ContainsFunc(merges, func(m Job) bool { return slices.Contains(m.Runs, r.Ordinal) }) {
			continue
		}
		jobs = append(jobs, Job{Kind: Purge, Runs: []uint64{r.Ordinal}, Entries: r.Entries})
	}
	return jobs
}

// planRewrites finds segments that are worth writing anew: mostly dead ones, and those that a vacuum was asked for. Wholly dead
// ones go, also when vacuums are left to the user: there is nothing to be won by keeping them. Deletes that were logged one by one are put together when there are many.
func planRewrites(t TableState, l DeadLimits) []Job {
	var jobs []Job
	for _, s := range t.Segments {
		due := s.Asked || s.Dead == s.Rows || !l.Off && 2*s.Dead > s.Rows && int64(s.Dead) > l.Threshold
		if s.Busy || !due || s.Dead == 0 && (s.Last || s.Rows > 0) {
			continue
		}
		jobs = append(jobs, Job{Kind: Rewrite, Segment: s.Segment})
	}
	if t.Commits >= manyCommits && !t.Busy {
		jobs = append(jobs, Job{Kind: Consolidate})
	}
	return jobs
}

// planMerges finds FanIn neighbouring idle runs of one tier.
func planMerges(runs []RunState, l Limits) []Job {
	runs = slices.Clone(runs)
	slices.SortFunc(runs, func(a, b RunState) int { return cmp.Compare(a.Span.First, b.Span.First) })
	var jobs []Job
	for i := 0; i < len(runs); {
		t := tier(runs[i].Span, l.FanIn)
		j := i
		var entries uint64
		for j < len(runs) && j-i < l.FanIn && !runs[j].Busy && tier(runs[j].Span, l.FanIn) == t &&
			(j == i || runs[j].Span.First == runs[j-1].Span.End) && // else a gap lies between: the group is being built
			runs[j].Span.End-runs[i].Span.First <= l.MaxSpan {
			entries += runs[j].Entries
			j++
		}
		if j-i == l.FanIn {
			job := Job{Kind: Merge, Entries: entries}
			for _, r := range runs[i:j] {
				job.Runs = append(job.Runs, r.Ordinal)
			}
			jobs = append(jobs, job)
			i = j
			continue
		}
		i++
	}
	return jobs
}

// tier is how many times FanIn runs of one segment had to be merged to make a run of this span.
func tier(s am.Span, fanIn int) int {
	t := 0
	for n := s.End - s.First; n >= uint64(fanIn); n /= uint64(fanIn) {
		t++
	}
	return t
}
