package vacuum

import (
	"fmt"
	"testing"

	"wideleaf/am"
)

func planned(s TableState, l DeadLimits) string {
	s.ID = 7
	out := ""
	for _, j := range Plan(State{Tables: []TableState{s}}, Limits{FanIn: 4, MaxSpan: maxSpan, Dead: l}) {
		out += fmt.Sprintf("%s %d %v;", j.Kind, j.Segment, j.Runs)
	}
	return out
}

func TestPlanOfDeadRows(t *testing.T) {
	run := func(n uint64, dead, rows int64, asked, busy bool) RunState {
		return RunState{Ordinal: n, Span: am.Span{First: n, End: n + 1}, Dead: dead, Rows: rows, Asked: asked, Busy: busy}
	}
	runs := func(rs ...RunState) TableState { return TableState{Groups: []GroupState{{ID: 1, Runs: rs}}} }
	segment := func(s SegmentState) TableState {
		s.Segment = 3
		return TableState{Segments: []SegmentState{s}}
	}
	normal := DeadLimits{Threshold: 50, Scale: 0.2}
	for _, c := range []struct {
		what  string
		state TableState
		l     DeadLimits
		want  string
	}{
		{"at the threshold", runs(run(1, 250, 1000, false, false)), normal, ""},
		{"over it", runs(run(1, 251, 1000, false, false)), normal, "purge 0 [1];"},
		{"over it, busy", runs(run(1, 251, 1000, false, true)), normal, ""},
		{"over it, off", runs(run(1, 251, 1000, false, false)), DeadLimits{50, 0.2, true}, ""},
		{"asked, off", runs(run(1, 1, 1000, true, false)), DeadLimits{50, 0.2, true}, "purge 0 [1];"},
		{"a merge is due", runs(run(1, 900, 1000, false, false), run(2, 0, 9, false, false), run(3, 0, 9, false, false), run(4, 0, 9, false, false)),
			normal, "merge 0 [1 2 3 4];"},
		{"half dead", segment(SegmentState{Rows: 200, Dead: 100}), normal, ""},
		{"mostly dead", segment(SegmentState{Rows: 200, Dead: 101}), normal, "rewrite 3 [];"},
		{"mostly dead, few", segment(SegmentState{Rows: 60, Dead: 50}), normal, ""},
		{"mostly dead, busy", segment(SegmentState{Rows: 200, Dead: 101, Busy: true}), normal, ""},
		{"mostly dead, off", segment(SegmentState{Rows: 200, Dead: 101}), DeadLimits{50, 0.2, true}, ""},
		{"asked", segment(SegmentState{Rows: 200, Dead: 2, Asked: true}), normal, "rewrite 3 [];"},
		{"wholly dead, off", segment(SegmentState{Rows: 10, Dead: 10}), DeadLimits{50, 0.2, true}, "rewrite 3 [];"},
		{"wholly dead, last", segment(SegmentState{Rows: 10, Dead: 10, Last: true}), normal, "rewrite 3 [];"},
		{"nothing stored, last", segment(SegmentState{Last: true}), normal, ""},
		{"nothing stored, not last any more", segment(SegmentState{}), normal, "rewrite 3 [];"},
		{"many logged deletes", TableState{Commits: 1024}, normal, "consolidate 0 [];"},
		{"fewer", TableState{Commits: 1023}, normal, ""},
		{"many, busy", TableState{Commits: 1024, Busy: true}, normal, ""},
	} {
		if got := planned(c.state, c.l); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}
