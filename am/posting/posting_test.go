package posting

import (
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"wideleaf/tid"
)

// Worked by hand from docs/format.md.
func TestExamples(t *testing.T) {
	for _, c := range []struct {
		tids []uint32
		enc  Encoding
		want string
	}{
		// Distances 0, 1000, 70000; mean 23333, so 14 low bits: 0, 1000, 4464; highs 0, 0, 4: bits 0, 1, 6.
		{[]uint32{5, 1005, 70005}, eliasFano, "0e" + "0000fa001701" + "43"},
		{[]uint32{64, 66, 67, 69, 70, 72, 75, 77, 78}, bitmap, "6d69"},
		{[]uint32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51}, runs, "00091e0b"},
	} {
		b, enc := Encode(nil, c.tids)
		if enc != c.enc {
			t.Errorf("%v: %s, expected %s", c.tids, enc, c.enc)
		}
		if got := hex.EncodeToString(b); got != c.want {
			t.Errorf("%v: %s, expected %s", c.tids, got, c.want)
		}
	}
}

func drawTIDs(t *rapid.T) []uint32 {
	n := rapid.IntRange(1, 3000).Draw(t, "n")
	gap := rapid.SampledFrom([]uint32{1, 2, 3, 9, 100, 5000, 1 << 20}).Draw(t, "gap")
	runs := rapid.IntRange(1, 40).Draw(t, "run")
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	at := rapid.SampledFrom([]uint32{0, 5, 63, 64, 32767, 32768, 65530, 1 << 31}).Draw(t, "first")
	tids := []uint32{at}
	window := rapid.Bool().Draw(t, "window")
	for len(tids) < n {
		step := uint32(1)
		if r.IntN(runs) == 0 {
			step += r.Uint32N(gap)
		}
		if window && (at+step)>>WindowBits != tids[0]>>WindowBits || at+step < at {
			break
		}
		at += step
		tids = append(tids, at)
	}
	return tids
}

func TestLists(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tids := drawTIDs(t)
		b, enc := Encode([]byte("x"), tids)
		b = append(b, "\xff\xff\xff\xff\xff\xff\xff\xff"...)
		l := List{First: tids[0], N: len(tids), Encoding: enc, Data: b[1 : len(b)-Slack]}
		got, ok := l.Append(nil)
		if !ok || !slices.Equal(got, tids) {
			t.Fatalf("%s: %v, %v; expected %v", enc, got, ok, tids)
		}
		if !l.Window() {
			return
		}
		bits := tid.NewBits()
		if !l.Fill(bits) || bits.Count() != len(tids) {
			t.Fatalf("%s: %d bits, expected %d", enc, bits.Count(), len(tids))
		}
		for _, x := range tids {
			if !bits.Has(uint16(x)) {
				t.Fatalf("%s: lacks %d", enc, x)
			}
		}
	})
}

// FuzzList reads lists of any content.
func FuzzList(f *testing.F) {
	for _, tids := range [][]uint32{{5, 1005, 70005}, {65, 66, 69, 127}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 40, 41}} {
		b, enc := Encode(nil, tids)
		f.Add(b, tids[0], uint16(len(tids)-1), uint8(enc))
	}
	f.Fuzz(func(t *testing.T, b []byte, first uint32, n uint16, enc uint8) {
		if n >= MaxTIDs || len(b) > 8000 {
			return
		}
		data := append(slices.Clone(b), make([]byte, Slack)...)
		l := List{First: first, N: int(n) + 1, Encoding: Encoding(enc), Data: data[:len(b):len(data)]}
		tids, ok := l.Append(nil)
		if len(tids) > 8*8000 || ok && len(tids) != l.N {
			t.Fatalf("%d TIDs, %v", len(tids), ok)
		}
		if l.Encoding <= runs && l.Window() {
			l.Fill(tid.NewBits())
		}
	})
}
