package tid

import (
	"maps"
	"math/rand/v2"
	"testing"
)

func randomDead(r *rand.Rand) (*Dead, map[TID]bool) {
	model := map[TID]bool{}
	var ts []TID
	for range r.IntN(4) * 50 {
		t := New(uint64(r.IntN(5)), uint16(r.IntN(300)))
		model[t] = true
		ts = append(ts, t)
	}
	return Of(ts...).Dead(), model
}

func checkDead(t *testing.T, what string, d *Dead, model map[TID]bool) {
	t.Helper()
	if d.Rows() != int64(len(model)) {
		t.Fatalf("%s: %d rows, want %d", what, d.Rows(), len(model))
	}
	for seg := range uint64(6) {
		n := 0
		for o := range uint16(310) {
			if d.Has(New(seg, o)) != model[New(seg, o)] {
				t.Fatalf("%s: row %s", what, New(seg, o))
			}
			if model[New(seg, o)] {
				n++
			}
		}
		if b, k := d.Segment(seg); k != n || (b == nil) != (n == 0) {
			t.Fatalf("%s: segment %d has %d rows, want %d", what, seg, k, n)
		}
	}
}

func TestDeadAgainstMap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		a, ma := randomDead(r)
		b, mb := randomDead(r)
		checkDead(t, "of a set", a, ma)
		less, with, in, overlap := maps.Clone(ma), maps.Clone(ma), map[TID]bool{}, false
		for x := range mb {
			overlap = overlap || ma[x]
			delete(less, x)
		}
		checkDead(t, "less", a.Less(b), less)
		if a.Overlaps(b) != overlap {
			t.Fatalf("overlaps: %v", !overlap)
		}
		maps.DeleteFunc(with, func(x TID, _ bool) bool { _, n := b.Segment(x.Segment()); return n > 0 })
		maps.Copy(with, mb)
		checkDead(t, "with", a.With(b.Parts()...), with)
		for x := range ma {
			if x.Segment() >= 1 && x.Segment() < 3 {
				in[x] = true
			}
		}
		checkDead(t, "in", a.In(1, 3), in)
		var ts []TID
		for x := range mb {
			ts = append(ts, x)
		}
		small, dense := Of(ts...), NewBuilder(0, 5)
		dense.Dense()
		for _, x := range ts {
			dense.Add(x)
		}
		want := maps.Clone(mb)
		for x := range ma {
			delete(want, x)
		}
		checkDead(t, "small set less", small.Less(a).Dead(), want)
		checkDead(t, "dense set less", dense.Set().Less(a).Dead(), want)
		checkDead(t, "two small sets less", Of(ts...).Or(Of(ts...)).Less(a).Dead(), want)
	}
	checkDead(t, "nil", (*Dead)(nil).With().In(0, 9).Less(nil), nil)
}

func TestBitsAreStoredAsRoaring(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, n := range []int{0, 1, 70, 5000, 40000, SegmentRows} {
		b := new(Bits)
		for range n {
			o := r.IntN(SegmentRows)
			b[o>>6] |= 1 << (o & 63)
		}
		if n == SegmentRows {
			b.SetFirst(n)
		}
		stored := AppendBits([]byte("x"), b)
		got, err := DecodeBits(stored[1:])
		if err != nil || *got != *b {
			t.Fatalf("%d bits: %v", n, err)
		}
		for _, bad := range [][]byte{stored[1 : len(stored)-1], append(stored[1:len(stored):len(stored)], 0), {}} {
			if _, err := DecodeBits(bad); err == nil {
				t.Fatalf("%d bits: a damaged form of %d bytes is taken", n, len(bad))
			}
		}
		for range 200 { // whatever the bytes, no panic
			damaged := append([]byte(nil), stored[1:]...)
			damaged[r.IntN(len(damaged))] ^= 1 << r.IntN(8)
			_, _ = DecodeBits(damaged)
		}
	}
}
