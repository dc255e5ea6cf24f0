package sortrun

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func noYield() error { return nil }

func TestRadix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{0, 1, 2, 50, 255, 256, 1000, 5000}).Draw(t, "n")
		low := rapid.UintRange(0, 63).Draw(t, "low")
		high := rapid.UintRange(low, 64).Draw(t, "high")
		domain := rapid.SampledFrom([]uint64{1, 2, 1000, 1 << 40, 1<<64 - 1}).Draw(t, "domain")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		a := make([]uint64, n)
		for i := range a {
			a[i] = r.Uint64N(domain) << (i % 3)
		}
		want := slices.Clone(a)
		slices.SortStableFunc(want, func(x, y uint64) int {
			for b := int(high) - 1; b >= int(low); b-- {
				if d := int(x>>b&1) - int(y>>b&1); d != 0 {
					return d
				}
			}
			return 0
		})
		got, err := Radix(a, make([]uint64, n), low, high, noYield)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("not in order: %v", err)
		}
	})
}

func TestSorted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := make([]uint64, rapid.IntRange(0, 300).Draw(t, "n"))
		for i := range a {
			a[i] = uint64(i / 2)
		}
		if len(a) > 0 {
			a[rapid.IntRange(0, len(a)-1).Draw(t, "at")] = rapid.Uint64Range(0, 200).Draw(t, "x")
		}
		if got, want := Sorted(a), slices.IsSorted(a); got != want {
			t.Fatalf("Sorted is %v, expected %v", got, want)
		}
	})
}

func TestMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		domain := rapid.SampledFrom([]uint64{1, 3, 1000, 1<<64 - 1}).Draw(t, "domain")
		var a []uint64
		var ends []int
		step := rapid.SampledFrom([]uint64{0, 0, 1000}).Draw(t, "step") // parts that hardly overlap
		for part := range rapid.Uint64Range(0, 9).Draw(t, "parts") {
			n := len(a)
			for range r.IntN(rapid.SampledFrom([]int{1, 3, 200, 2000}).Draw(t, "most") + 1) {
				a = append(a, r.Uint64N(domain)+part*step)
			}
			slices.Sort(a[n:])
			ends = append(ends, len(a))
		}
		want := slices.Clone(a)
		slices.Sort(want)
		got, err := Merge(a, make([]uint64, len(a)), ends, noYield)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("words are not merged: %v", err)
		}
	})
}

func TestStop(t *testing.T) {
	halt := errors.New("halt")
	stop := func() error { return halt }
	a := make([]uint64, 1000)
	for i := range a {
		a[i] = uint64(-i)
	}
	if _, err := Radix(a, make([]uint64, 1000), 0, 64, stop); err != halt {
		t.Errorf("Radix: %v", err)
	}
	if _, err := Merge(a, make([]uint64, 1000), []int{500, 1000}, stop); err != halt {
		t.Errorf("Merge: %v", err)
	}
}

func BenchmarkRadix(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	in := make([]uint64, 1<<16)
	for i := range in {
		in[i] = r.Uint64N(2e9)<<16 | uint64(i)
	}
	a, tmp := make([]uint64, len(in)), make([]uint64, len(in))
	for b.Loop() {
		copy(a, in)
		if _, err := Radix(a, tmp, 16, 47, noYield); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(in)), "ns/entry")
}

// What a merge of 8 runs can do with a slice: merge it pairwise, or sort it anew.
func BenchmarkMerge8(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	in := make([]uint64, 12<<13)
	var ends []int
	for i := range in {
		in[i] = r.Uint64N(4e8)<<19 | uint64(i)
	}
	for n := len(in) / 8; n <= len(in); n += len(in) / 8 {
		slices.Sort(in[n-len(in)/8 : n])
		ends = append(ends, n)
	}
	a, tmp := make([]uint64, len(in)), make([]uint64, len(in))
	b.Run("pairwise", func(b *testing.B) {
		for b.Loop() {
			copy(a, in)
			if _, err := Merge(a, tmp, slices.Clone(ends), noYield); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(in)), "ns/entry")
	})
	b.Run("radix", func(b *testing.B) {
		for b.Loop() {
			copy(a, in)
			if _, err := Radix(a, tmp, 19, 48, noYield); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(in)), "ns/entry")
	})
}
