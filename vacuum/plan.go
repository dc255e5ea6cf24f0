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
}

// Limits steer planning.
type Limits struct {
	FanIn   int    // runs of one tier that are merged into one, at least 2
	MaxSpan uint64 // segments that a run may span
}

// Kind is what a job does.
type Kind uint8

// The kinds of jobs, by urgency.
const (
	Flush Kind = iota // turn a sealed tail into pages and runs
	Merge             // merge neighbouring runs of a group
	Sort              // take pending rows of an active tail up into a mini-run
)

func (k Kind) String() string { return [...]string{"flush", "merge", "sort"}[k] }

// Job is one piece of background work.
type Job struct {
	Kind     Kind
	Table    uint32
	Segment  uint64   // Flush, Sort
	Group    uint32   // Merge, Sort
	Runs     []uint64 // Merge: ordinals of the runs, in the order of their spans
	Entries  uint64   // Merge: entries that it rewrites
	Interval          // Sort: offsets of the rows
}

// Plan lists the jobs that are due, most urgent first: sealed tails, oldest first, since they hold memory and stop
// writers; then merges, those of the group with the most runs first, small before large.
// While a tail is being flushed and nothing merged, a merge goes first: writers faster than two flushing workers
// would otherwise pile up runs for as long as they last. It never lists a job on something busy.
//
// Pending rows over a limit come last: at full speed a tail is flushed before there is time for them, which takes them
// out of every pending list at half the cost. Only when a list is half way to where writers wait for it does it come
// first.
//
// Merging is tiered (O'Neil et al., the LSM-tree, 1996; Graefe's partitioned B-trees, 2003): a tier holds runs that
// span about as many segments, and FanIn neighbours of one tier become one run of the next. So every entry is rewritten
// once a tier, and a group has fewer than FanIn runs a tier.
func Plan(s State, l Limits) []Job {
	var urgent, flushes, merges, sorts []Job
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
			for _, m := range planMerges(g.Runs, l) {
				m.Table, m.Group = t.ID, g.ID
				merges = append(merges, m)
			}
		}
	}
	slices.SortStableFunc(merges, func(a, b Job) int {
		if c := cmp.Compare(backlog[b.Group], backlog[a.Group]); c != 0 {
			return c
		}
		return cmp.Compare(a.Entries, b.Entries)
	})
	if flushing && !merging && len(merges) > 0 {
		return slices.Concat(urgent, merges[:1], flushes, merges[1:], sorts)
	}
	return slices.Concat(urgent, flushes, merges, sorts)
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
