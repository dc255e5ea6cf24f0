package vacuum

import (
	"testing"

	"pgregory.net/rapid"

	"wideleaf/tid"
)

func TestSortFrom(t *testing.T) {
	seven := func(size int) []Interval {
		var out []Interval
		for i := range 7 {
			out = append(out, Interval{i * size, (i + 1) * size})
		}
		return out
	}
	for _, tc := range []struct {
		name  string
		minis []Interval
		to    int
		want  int
	}{
		{"the first", nil, 512, 0},
		{"beside another", []Interval{{0, 512}}, 1024, 512},
		{"the eighth of a size", seven(512), 8 * 512, 0},
		{"the eighth of a size, above a larger one", append([]Interval{{0, 4096}}, shifted(seven(512), 4096)...), 4096 + 8*512, 4096},
		{"smaller than those before it", seven(4096), 7*4096 + 512, 7 * 4096},
		{"over half of a segment", seven(8192), 8 * 8192, 7 * 8192},
	} {
		if got := sortFrom(tc.minis, tc.to, 8); got != tc.want {
			t.Errorf("%s: got %d, want %d", tc.name, got, tc.want)
		}
	}
}

func shifted(in []Interval, by int) []Interval {
	for i := range in {
		in[i].From += by
		in[i].To += by
	}
	return in
}

// However rows come in, mini-runs cover a tail's first rows once, few of them, and each row is sorted a few times.
func TestSortFromBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fanIn := rapid.IntRange(2, 16).Draw(t, "fanIn")
		var minis []Interval
		to, work := 0, 0
		for {
			to += SortUnit + rapid.IntRange(0, 100).Draw(t, "rows")
			if to > tid.SegmentRows {
				break
			}
			from := sortFrom(minis, to, fanIn)
			end := 0
			var keep []Interval
			for _, m := range minis {
				if m.From < from {
					keep = append(keep, m)
					end = m.To
				}
			}
			if end != from {
				t.Fatalf("a mini-run from %d after %v", from, minis)
			}
			minis = append(keep, Interval{from, to})
			work += to - from
		}
		tiers := sizeTier(tid.SegmentRows, fanIn) + 1
		if most := (fanIn - 1) * (tiers + 1) * 2; len(minis) > most && len(minis) > 4*fanIn {
			t.Fatalf("%d mini-runs: %v", len(minis), minis)
		}
		if work > tid.SegmentRows*(tiers+1) {
			t.Fatalf("%d rows sorted for %d", work, tid.SegmentRows)
		}
	})
}
