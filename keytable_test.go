package wideleaf

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestKeyTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var table keyTable
		for range rapid.IntRange(1, 3).Draw(t, "rounds") {
			want := map[uint64][]uint32{}
			for i, h := range rapid.SliceOf(rapid.Uint64Range(2, 400)).Draw(t, "hashes") {
				if h%3 == 0 {
					h <<= 50
				}
				table.add(h, uint32(i))
				want[h] = append(want[h], uint32(i))
			}
			for h := range uint64(500) {
				for _, h := range []uint64{h, h << 50} {
					var got []uint32
					for at := 0; h > 1; {
						ref, next, ok := table.find(h, at)
						if !ok {
							break
						}
						got, at = append(got, ref), next
					}
					slices.Sort(got)
					if !slices.Equal(got, want[h]) {
						t.Fatalf("%d: got %v, want %v", h, got, want[h])
					}
				}
			}
			table.reset(rapid.IntRange(0, 3000).Draw(t, "room"))
		}
	})
}
