package filter

import (
	"errors"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"wideleaf/page"
	"wideleaf/page/pagetest"
)

func TestNoKeyIsDenied(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOf(rapid.Uint64()).Draw(t, "keys")
		f := New(rapid.Uint64Range(0, 1000).Draw(t, "expected"))
		for _, k := range keys {
			f.Add(k)
		}
		o := page.Owner{Relation: 3, Part: 4}
		mem := pagetest.New(o)
		if _, err := f.Write(o, 0, mem); err != nil {
			t.Fatal(err)
		}
		g, err := Read(mem, 0, mem.Blocks())
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range keys {
			if !f.Has(k) || !g.Has(k) {
				t.Fatalf("%x is denied", k)
			}
		}
	})
}

// Putze et al. give 0.3 % for a blocked filter of 12 bits a key.
func TestFewOthersPass(t *testing.T) {
	const n = 200_000
	r := rand.New(rand.NewPCG(1, 2))
	f := New(n)
	for range n {
		f.Add(r.Uint64())
	}
	passed := 0
	for range n {
		if f.Has(r.Uint64()) {
			passed++
		}
	}
	if passed > n/200 {
		t.Errorf("%d of %d other keys pass", passed, n)
	}
}

func TestDamagedPages(t *testing.T) {
	o := page.Owner{Relation: 3, Part: 4}
	f := New(20_000)
	for _, damage := range []func(m *pagetest.Mem){
		func(m *pagetest.Mem) { m.Pages[1][100] ^= 1 },
		func(m *pagetest.Mem) { m.Pages[0] = m.Pages[0][:page.HeaderSize+64]; m.Reseal(0) },
		func(m *pagetest.Mem) { m.Pages[0] = m.Pages[0][:page.HeaderSize]; m.Reseal(0) },
		func(m *pagetest.Mem) { m.Pages[2] = m.Pages[2][:page.HeaderSize+63]; m.Reseal(2) },
		func(m *pagetest.Mem) { m.Pages = m.Pages[:2] },
	} {
		m := pagetest.New(o)
		blocks, err := f.Write(o, 0, m)
		if err != nil {
			t.Fatal(err)
		}
		damage(m)
		if _, err := Read(m, 0, blocks); !errors.Is(err, page.ErrCorrupt) {
			t.Errorf("got %v", err)
		}
	}
}

func BenchmarkHas(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	f := New(1 << 20)
	for range 1 << 20 {
		f.Add(r.Uint64())
	}
	for b.Loop() {
		f.Has(r.Uint64())
	}
}
