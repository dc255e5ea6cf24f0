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

func TestLarge(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const n, low = 300_000, 19
	for name, key := range map[string]func(i int) uint64{
		"random":    func(int) uint64 { return r.Uint64N(1 << 40) },
		"64 bits":   func(int) uint64 { return r.Uint64N(1 << 45) },
		"skewed":    func(i int) uint64 { return r.Uint64N(1<<12) + uint64(i/(n-1))<<44 },
		"ascending": func(i int) uint64 { return uint64(i / 7) },
		"reverse":   func(i int) uint64 { return uint64((n - i) / 7) },
		"few":       func(i int) uint64 { return r.Uint64N(3) },
		"one":       func(i int) uint64 { return 5 },
		"nearly":    func(i int) uint64 { return uint64(i ^ i>>17&1) },
	} {
		a := make([]uint64, n)
		pairs := make([]Pair, n)
		for i := range a {
			k := key(i)
			a[i] = k<<low | uint64(i)
			pairs[i] = Pair{k, uint64(i)}
		}
		want := slices.Clone(a)
		slices.Sort(want)
		if err := Large(a, make([]uint64, n), low, 64, noYield); err != nil || !slices.Equal(a, want) {
			t.Errorf("%s: words are not in order: %v", name, err)
		}
		if err := SortPairs(pairs, make([]Pair, n), noYield); err != nil {
			t.Fatal(err)
		}
		for i, p := range pairs {
			if p.Key<<low|p.Val != want[i] {
				t.Errorf("%s: pair %d is %v, expected word %#x", name, i, p, want[i])
				break
			}
		}
	}
}

func TestPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		domain := rapid.SampledFrom([]uint64{1, 3, 1000, 1<<64 - 1}).Draw(t, "domain")
		var a []Pair
		var ends []int
		for range rapid.IntRange(0, 7).Draw(t, "parts") {
			n := len(a)
			for range r.IntN(3000) {
				a = append(a, Pair{r.Uint64N(domain), uint64(len(a))})
			}
			if err := SortPairs(a[n:], make([]Pair, len(a)-n), noYield); err != nil {
				t.Fatal(err)
			}
			ends = append(ends, len(a))
		}
		want := slices.Clone(a)
		slices.SortFunc(want, func(x, y Pair) int {
			if x.Less(y) {
				return -1
			}
			return 1
		})
		got, err := MergePairs(a, make([]Pair, len(a)), ends, noYield)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("pairs are not in order: %v", err)
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

func BenchmarkLarge(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	in := make([]uint64, 10_000_000)
	pairs := make([]Pair, len(in))
	for i := range in {
		in[i] = r.Uint64N(2e9)<<25 | uint64(i)
		pairs[i] = Pair{r.Uint64(), uint64(i)}
	}
	b.Run("words", func(b *testing.B) {
		a, tmp := make([]uint64, len(in)), make([]uint64, len(in))
		for b.Loop() {
			copy(a, in)
			if err := Large(a, tmp, 25, 64, noYield); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(in)), "ns/entry")
	})
	b.Run("pairs", func(b *testing.B) {
		a, tmp := make([]Pair, len(in)), make([]Pair, len(in))
		for b.Loop() {
			copy(a, pairs)
			if err := SortPairs(a, tmp, noYield); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(in)), "ns/entry")
	})
}
