package leaf

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wideleaf/page"
)

var owner = page.Owner{Relation: 3, Part: 4}

// The worked example of docs/format.md.
func TestExample(t *testing.T) {
	var b Builder
	b.Reset()
	if n := b.Add([]uint64{0x80000005, 0x80000005, 0x80000006}, []uint32{9, 200, 3}, false); n != 3 {
		t.Fatalf("block takes %d entries", n)
	}
	p := b.Seal(page.KindBtreeLeaf, owner, 0)
	const want = "04" + "06c500" + "0500008000000000" + "03000000" + "02010800"
	if got := hex.EncodeToString(p[page.HeaderSize:]); got != want {
		t.Errorf("page holds %s, expected %s", got, want)
	}
}

func drawEntries(t *rapid.T) (keys []uint64, tids []uint32) {
	n := rapid.IntRange(1, 3000).Draw(t, "n")
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	kw := rapid.UintRange(0, 63).Draw(t, "key bits")
	tw := rapid.UintRange(0, 31).Draw(t, "TID bits")
	base := rapid.SampledFrom([]uint64{0, 1 << 31, 1 << 63}).Draw(t, "base")
	consecutive := rapid.Bool().Draw(t, "consecutive")
	for i := range n {
		keys = append(keys, base+r.Uint64N(2<<kw-1)&(1<<63-1))
		if consecutive {
			tids = append(tids, uint32(i))
		} else {
			tids = append(tids, uint32(r.Uint64N(2<<tw)))
		}
	}
	slices.Sort(keys)
	return keys, tids
}

func TestFixed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys, tids := drawEntries(t)
		null := rapid.IntRange(0, 5).Draw(t, "null") == 0
		if null {
			clear(keys)
		}
		var b Builder
		for len(keys) > 0 {
			b.Reset()
			n := 0
			for n < len(keys) {
				k := b.Add(keys[n:], tids[n:], null)
				if k == 0 {
					break
				}
				n += k
			}
			var l Page
			p := b.Seal(page.KindBtreeLeaf, owner, 1)
			if err := l.Open(p, page.KindBtreeLeaf); err != nil {
				t.Fatal(err)
			}
			if l.Entries() != n {
				t.Fatalf("page has %d entries, expected %d", l.Entries(), n)
			}
			checkFixed(t, &l, keys[:n], tids[:n], null)
			covered(t, p)
			keys, tids = keys[n:], tids[n:]
		}
	})
}

func checkFixed(t *rapid.T, l *Page, keys []uint64, tids []uint32, null bool) {
	at := 0
	for i := range l.Blocks() {
		b := l.Block(i)
		var ks [BlockEntries]uint64
		var ts [BlockEntries]uint32
		if b.Null != null || !slices.Equal(b.Keys(&ks), keys[at:at+b.N]) || !slices.Equal(b.TIDs(&ts), tids[at:at+b.N]) {
			t.Fatalf("block %d differs", i)
		}
		if limit := uint64(slices.Max(tids[at : at+b.N])); b.Within(ts[:b.N], limit) || !b.Within(ts[:b.N], limit+1) {
			t.Fatalf("block %d isn't within its own limit %d", i, limit)
		}
		j := rapid.IntRange(0, b.N-1).Draw(t, "entry")
		if b.Key(j) != keys[at+j] || b.TIDAt(j) != tids[at+j] {
			t.Fatalf("entry %d of block %d differs", j, i)
		}
		if keys[at+b.N-1]-keys[at] < 1<<31 {
			f := Packing{Base: keys[at], Span: keys[at+b.N-1] - keys[at], Shift: 33, Delta: 7, Limit: 1 << 32}
			words, ok := b.Packed(nil, j, b.N, &f)
			if !ok || len(words) != b.N-j {
				t.Fatalf("block %d: %d words, %v", i, len(words), ok)
			}
			for x, w := range words {
				if w>>33 != keys[at+j+x]-keys[at] || w&(1<<33-1) != uint64(tids[at+j+x])+7 {
					t.Fatalf("word %d of block %d differs", x, i)
				}
			}
			f.Limit = uint64(slices.Max(tids[at+j : at+b.N]))
			if _, ok := b.Packed(nil, j, b.N, &f); ok {
				t.Fatalf("block %d: a TID at the limit isn't noticed", i)
			}
		}
		at += b.N
	}
	if null {
		return
	}
	k := keys[rapid.IntRange(0, len(keys)-1).Draw(t, "key")] + rapid.Uint64Range(0, 2).Draw(t, "plus") - 1
	want, _ := slices.BinarySearch(keys, k)
	block, index, before := l.Lower(k)
	for i := range block {
		index += l.Count(i)
	}
	if before != want || index != want {
		t.Fatalf("%#x is at %d (counted %d), expected %d", k, index, before, want)
	}
}

// covered checks that the description of a page leaves out no byte and has none twice.
func covered(t interface{ Fatalf(string, ...any) }, p []byte) {
	var d page.Description
	d.Header(p)
	if err := Describe(&d, p, func(uint64) string { return "" }, func([]byte) string { return "" }); err != nil {
		t.Fatalf("describing: %v", err)
	}
	at := 0
	for _, f := range d.Fields {
		if f.Offset != at {
			t.Fatalf("description goes on at %d after %d: %s", f.Offset, at, f.Text)
		}
		at += f.Size
	}
	if at != len(p) {
		t.Fatalf("description ends at %d of %d", at, len(p))
	}
}

func TestBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		n := rapid.IntRange(1, 500).Draw(t, "n")
		common := strings.Repeat("c", rapid.SampledFrom([]int{0, 5, 2000}).Draw(t, "common"))
		most := rapid.SampledFrom([]int{0, 1, 8, 600}).Draw(t, "most")
		var keys []string
		for range n {
			x := make([]byte, r.IntN(most+1))
			for i := range x {
				x[i] = "\x00\x01ab\xff"[r.IntN(5)]
			}
			keys = append(keys, common+string(x))
		}
		slices.Sort(keys)
		var b BytesBuilder
		for len(keys) > 0 {
			b.Reset()
			done := 0
			var all []uint32
			for done < len(keys) {
				var text []byte
				var ends []int
				var tids []uint32
				for _, k := range keys[done:] {
					if len(tids) == BytesBlockEntries || len(text) >= BytesBlockBytes {
						break
					}
					text = append(text, k...)
					ends, tids = append(ends, len(text)), append(tids, r.Uint32())
				}
				if !b.Add(text, ends, tids) {
					break
				}
				done += len(tids)
				all = append(all, tids...)
			}
			p := b.Seal(page.KindBtreeLeaf, owner, 1)
			var l BytesPage
			if err := l.Open(p, page.KindBtreeLeaf); err != nil {
				t.Fatal(err)
			}
			if l.Entries() != done || done == 0 {
				t.Fatalf("page has %d entries, expected %d", l.Entries(), done)
			}
			at := 0
			for i := range l.Blocks() {
				x := l.Block(i)
				var ts [BlockEntries]uint32
				if !slices.Equal(x.TIDs(&ts), all[at:at+x.N]) {
					t.Fatalf("TIDs of block %d differ", i)
				}
				for j := range x.N {
					if got := string(x.Key(nil, j)); got != keys[at+j] {
						t.Fatalf("key %d of block %d is %q, expected %q", j, i, got, keys[at+j])
					}
				}
				at += x.N
			}
			k := keys[r.IntN(done)]
			k = k[:r.IntN(len(k)+1)] + []string{"", "\x00", "b"}[r.IntN(3)]
			want, _ := slices.BinarySearch(keys[:done], k)
			if _, _, before := l.Lower([]byte(k)); before != want {
				t.Fatalf("%q is at %d, expected %d", k, before, want)
			}
			covered(t, p)
			keys = keys[done:]
		}
	})
}

// FuzzLeaf opens pages of any content under a right checksum, and reads all there is to read.
func FuzzLeaf(f *testing.F) {
	var b Builder
	b.Reset()
	b.Add([]uint64{1, 5, 1 << 40}, []uint32{7, 8, 9}, false)
	b.Add(nil, []uint32{3, 500}, true)
	f.Add(bytes.Clone(b.Seal(page.KindBtreeLeaf, owner, 0)[page.HeaderSize:]), uint16(2), uint8(0))
	var s BytesBuilder
	s.Reset()
	s.Add([]byte("abacus"), []int{2, 6}, []uint32{1, 90})
	f.Add(bytes.Clone(s.Seal(page.KindBtreeLeaf, owner, 0)[page.HeaderSize:]), uint16(1), uint8(FlagBytes))
	f.Fuzz(func(t *testing.T, body []byte, blocks uint16, flags uint8) {
		p := append(make([]byte, page.HeaderSize), body...)
		if len(p) > page.Size {
			return
		}
		page.Seal(p, page.Header{Kind: page.KindBtreeLeaf, Flags: flags, Reserved: blocks, Owner: owner})
		var d page.Description
		describe := Describe(&d, p, func(uint64) string { return "" }, func([]byte) string { return "" })
		if flags == FlagBytes {
			var l BytesPage
			if err := l.Open(p, page.KindBtreeLeaf); err != nil {
				wantCorrupt(t, err)
				return
			}
			for i := range l.Blocks() {
				x := l.Block(i)
				var ts [BlockEntries]uint32
				x.TIDs(&ts)
				for j := range x.N {
					x.Key(nil, j)
				}
			}
			l.Lower([]byte("b"))
		} else {
			var l Page
			if err := l.Open(p, page.KindBtreeLeaf); err != nil {
				wantCorrupt(t, err)
				return
			}
			for i := range l.Blocks() {
				x := l.Block(i)
				var ks [BlockEntries]uint64
				var ts [BlockEntries]uint32
				for j := range x.N {
					if x.Keys(&ks)[j] != x.Key(j) || x.TIDs(&ts)[j] != x.TIDAt(j) {
						t.Fatalf("entry %d of block %d reads in two ways", j, i)
					}
				}
				x.Packed(nil, 0, x.N, &Packing{Span: 1 << 20, Shift: 16, Limit: 1 << 16})
			}
			l.Lower(1 << 20)
			l.Nulls()
		}
		if describe != nil {
			t.Fatalf("a page that opens can't be described: %v", describe)
		}
		covered(t, p)
	})
}

func wantCorrupt(t *testing.T, err error) {
	if !errors.Is(err, page.ErrCorrupt) {
		t.Fatalf("error is not of the corruption kind: %v", err)
	}
}
