package vacuum

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"wideleaf/am"
)

func run(ordinal, first, end uint64) RunState {
	return RunState{Ordinal: ordinal, Span: am.Span{First: first, End: end}, Entries: (end - first) * 100}
}

func show(jobs []Job) string {
	s := ""
	for _, j := range jobs {
		switch j.Kind {
		case Merge:
			s += fmt.Sprintf("merge %d.%d%v ", j.Table, j.Group, j.Runs)
		default:
			s += fmt.Sprintf("%s %d.%d@%d ", j.Kind, j.Table, j.Group, j.Segment)
		}
	}
	return s
}

// waiting is a tail of which so many bytes wait, with a limit of 1 MiB.
func waiting(bytes int64) TailState {
	return TailState{Segment: 20, Rows: 60_000, RowBytes: 512, Waiting: bytes, Limit: 1 << 20}
}

func TestPlan(t *testing.T) {
	l := Limits{FanIn: 3, MaxSpan: 100}
	busy := run(1, 0, 1)
	busy.Busy = true
	for _, tc := range []struct {
		name  string
		state TableState
		want  string
	}{
		{"nothing to do", TableState{Groups: []GroupState{{ID: 5, Runs: []RunState{run(1, 0, 1), run(2, 1, 2)}}}}, ""},
		{"sealed tails, oldest first, not the busy one", TableState{Sealed: []SealedState{{0, true}, {1, false}, {2, false}}},
			"flush 9.0@1 flush 9.0@2 "},
		{"a tier is full", TableState{Groups: []GroupState{{ID: 5, Runs: []RunState{run(7, 0, 1), run(8, 1, 2), run(9, 2, 3), run(10, 3, 4)}}}},
			"merge 9.5[7 8 9] "},
		{"runs out of order in the list", TableState{Groups: []GroupState{{ID: 5, Runs: []RunState{run(9, 2, 3), run(8, 1, 2), run(7, 0, 1)}}}},
			"merge 9.5[7 8 9] "},
		{"a large run is left alone", TableState{Groups: []GroupState{{ID: 5, Runs: []RunState{run(1, 0, 3), run(2, 3, 4), run(3, 4, 5)}}}}, ""},
		{"three of the second tier", TableState{Groups: []GroupState{{ID: 5, Runs: []RunState{run(1, 0, 3), run(2, 3, 6), run(3, 6, 9), run(4, 9, 10)}}}},
			"merge 9.5[1 2 3] "},
		{"a busy run divides", TableState{Groups: []GroupState{{ID: 5, Runs: []RunState{run(2, 0, 1), busy, run(3, 1, 2), run(4, 2, 3)}}}}, ""},
		{"a gap divides", TableState{Groups: []GroupState{{ID: 5, Runs: []RunState{run(1, 0, 1), run(2, 1, 2), run(3, 3, 4)}}}}, ""},
		{"a span that would be too wide", TableState{Groups: []GroupState{{ID: 5, Runs: []RunState{run(1, 0, 50), run(2, 50, 100), run(3, 100, 150)}}}}, ""},
		{"a pending list over its limit, and nothing else", TableState{Groups: []GroupState{{ID: 5, Tail: waiting(2 << 20)}}}, "sort 9.5@20 "},
		{"while a tail is flushed it waits", TableState{Sealed: []SealedState{{20, true}},
			Groups: []GroupState{{ID: 5, Tail: waiting(2 << 20)}}}, ""},
		{"unless writers are about to wait for it", TableState{Sealed: []SealedState{{20, true}},
			Groups: []GroupState{{ID: 5, Tail: waiting(HardLimit/2<<20 + 1)}}}, "sort 9.5@20 "},
		{"one worker flushes, the next merges", TableState{
			Sealed: []SealedState{{20, true}, {21, false}},
			Groups: []GroupState{
				{ID: 5, Runs: []RunState{run(1, 0, 1), run(2, 1, 2), run(3, 2, 3)}},
				{ID: 6, Runs: []RunState{run(4, 0, 1), run(5, 1, 2), run(6, 2, 3), run(7, 3, 4)}},
			}}, "merge 9.6[4 5 6] flush 9.0@21 merge 9.5[1 2 3] "},
		{"one flushes, one merges, the next flushes", TableState{
			Sealed: []SealedState{{20, true}, {21, false}},
			Groups: []GroupState{
				{ID: 5, Runs: []RunState{run(1, 0, 1), run(2, 1, 2), run(3, 2, 3)}},
				{ID: 6, Runs: []RunState{busy}},
			}}, "flush 9.0@21 merge 9.5[1 2 3] "},
		{"flush, merge; the group with most runs first", TableState{
			Sealed: []SealedState{{20, false}},
			Groups: []GroupState{
				{ID: 5, Runs: []RunState{run(1, 0, 1), run(2, 1, 2), run(3, 2, 3)}},
				{ID: 6, Runs: []RunState{run(4, 0, 1), run(5, 1, 2), run(6, 2, 3), run(7, 3, 4)}},
			}}, "flush 9.0@20 merge 9.6[4 5 6] merge 9.5[1 2 3] "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.state.ID = 9
			if got := show(Plan(State{Tables: []TableState{tc.state}}, l)); got != tc.want {
				t.Errorf("planned %q, want %q", got, tc.want)
			}
		})
	}
}

// Doing what is planned comes to an end, leaves fewer than FanIn runs a tier, loses no segment, and rewrites an entry
// about once a tier.
func TestPlanSettles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fanIn := rapid.IntRange(2, 9).Draw(t, "fanIn")
		l := Limits{FanIn: fanIn, MaxSpan: maxSpan}
		n := rapid.IntRange(1, 600).Draw(t, "segments")
		g := GroupState{ID: 1}
		ordinal := uint64(1)
		rewritten := uint64(0)
		for seg := range uint64(n) {
			g.Runs = append(g.Runs, run(ordinal, seg, seg+1))
			ordinal++
			for {
				jobs := Plan(State{Tables: []TableState{{ID: 1, Groups: []GroupState{g}}}}, l)
				if len(jobs) == 0 {
					break
				}
				in := map[uint64]bool{}
				for _, o := range jobs[0].Runs {
					in[o] = true
				}
				var left []RunState
				merged := RunState{Ordinal: ordinal, Span: am.Span{First: 1 << 60}}
				for _, r := range g.Runs {
					if !in[r.Ordinal] {
						left = append(left, r)
						continue
					}
					merged.Span.First, merged.Span.End = min(merged.Span.First, r.Span.First), max(merged.Span.End, r.Span.End)
					merged.Entries += r.Entries
				}
				ordinal++
				rewritten += merged.Entries
				g.Runs = append(left, merged)
			}
		}
		covered := uint64(0)
		tiers := map[int]int{}
		for _, r := range g.Runs {
			covered += r.Span.End - r.Span.First
			tiers[tier(r.Span, fanIn)]++
		}
		if covered != uint64(n) {
			t.Fatalf("%d segments covered of %d", covered, n)
		}
		depth := 0
		for k, c := range tiers {
			if c >= fanIn {
				t.Fatalf("%d runs in tier %d with a fan-in of %d", c, k, fanIn)
			}
			depth = max(depth, k)
		}
		if most := uint64(n) * 100 * uint64(depth); rewritten > most {
			t.Fatalf("%d entries rewritten, at most %d expected for %d segments", rewritten, most, n)
		}
	})
}
