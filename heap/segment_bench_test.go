package heap

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"wideleaf/page"
	"wideleaf/page/pagetest"
	"wideleaf/tid"
	"wideleaf/value"
)

// randomInt4 is a full segment's column of random int4 in [0, 2e9).
func randomInt4() *value.Vector {
	rnd := rand.New(rand.NewPCG(1, 1))
	v := &value.Vector{}
	v.Reset(value.Int4)
	for range tid.SegmentRows {
		v.Append(value.OfInt4(rnd.Int32N(2e9)))
	}
	return v
}

type discard struct{}

func (discard) WritePage([]byte) error { return nil }

// unverified reads pages without checking them, as the benchmarks are about decoding.
type unverified struct{ *pagetest.Mem }

func (m unverified) Page(b uint32) (page.Ref, error) { return page.NewRef(m.Pages[b], nil), nil }

func (m unverified) Scan(first, last uint32, f func(uint32, []byte) (bool, error)) error {
	for b := first; b <= last; b++ {
		if more, err := f(b, m.Pages[b]); err != nil || !more {
			return err
		}
	}
	return nil
}

func perValue(b *testing.B, values int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(values), "ns/value")
}

func BenchmarkEncodeInt4(b *testing.B) {
	cols := make([]SegmentColumn, 16) // so that the writer's own memory does not count
	v := randomInt4()
	for i := range cols {
		cols[i] = SegmentColumn{i + 1, v}
	}
	for b.Loop() {
		if _, err := WriteSegment(testOwner, columnsOf(cols), v.N, discard{}, noYield); err != nil {
			b.Fatal(err)
		}
	}
	perValue(b, 16*v.N)
}

func benchSegment(b *testing.B) *Segment {
	v := randomInt4()
	cols := []SegmentColumn{{1, v}}
	s, m := segmentOf(b, cols)
	s, err := OpenSegment(s.meta, typesOf(cols), unverified{m}, page.NewCache(1<<20))
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func BenchmarkColumnInt4(b *testing.B) {
	s := benchSegment(b)
	var v value.Vector
	b.ReportAllocs()
	for b.Loop() {
		v.Reset(value.Int4)
		if err := s.Column(context.Background(), 1, &v); err != nil {
			b.Fatal(err)
		}
	}
	perValue(b, tid.SegmentRows)
}

func BenchmarkSelectInt4(b *testing.B) {
	s := benchSegment(b)
	out := make([]uint64, tid.Words)
	r := value.OfIntervals(value.Interval{Lo: 1<<31 + 1e6, Hi: 1<<31 + 1e9})
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Select(context.Background(), 1, r, nil, out); err != nil {
			b.Fatal(err)
		}
	}
	perValue(b, tid.SegmentRows)
}

func BenchmarkGatherInt4(b *testing.B) {
	s := benchSegment(b)
	for _, c := range []struct {
		name string
		step int
	}{{"1in1000", 1000}, {"1in20", 20}, {"1in3", 3}} {
		b.Run(c.name, func(b *testing.B) {
			var offs []uint16
			for i := 0; i < tid.SegmentRows; i += c.step {
				offs = append(offs, uint16(i))
			}
			var v value.Vector
			b.ReportAllocs()
			for b.Loop() {
				v.Reset(value.Int4)
				if err := s.Gather(context.Background(), 1, offs, &v); err != nil {
					b.Fatal(err)
				}
			}
			perValue(b, len(offs))
		})
	}
}

func BenchmarkPackUnpack(b *testing.B) {
	v := randomInt4().U32[:2048]
	base := uint32(1 << 31)
	data := appendPacked(nil, v, base, 31)
	b.Run("pack", func(b *testing.B) {
		for b.Loop() {
			data = appendPacked(data[:0], v, base, 31)
		}
		perValue(b, len(v))
	})
	dst := make([]uint32, len(v))
	b.Run("unpack", func(b *testing.B) {
		for b.Loop() {
			unpack(dst, data, base, 31)
		}
		perValue(b, len(v))
	})
	dst64 := make([]uint64, len(v))
	for _, width := range []int{7, 31, 57, 63} {
		data := make([]byte, packedBytes(len(v), width))
		b.Run(fmt.Sprintf("unpack64/%02d", width), func(b *testing.B) {
			for b.Loop() {
				unpack(dst64, data, 5, width)
			}
			perValue(b, len(v))
		})
	}
}

// BenchmarkEncodeText is about strings that hardly repeat, and such that do.
func BenchmarkEncodeText(b *testing.B) {
	rnd := rand.New(rand.NewPCG(2, 2))
	for _, distinct := range []int{1 << 30, 100} {
		v := &value.Vector{}
		v.Reset(value.Text)
		for range tid.SegmentRows {
			v.Append(value.OfText(fmt.Sprintf("item %08d", rnd.IntN(distinct))))
		}
		b.Run(fmt.Sprintf("of%d", distinct), func(b *testing.B) {
			for b.Loop() {
				if _, err := WriteSegment(testOwner, columnsOf([]SegmentColumn{{1, v}}), v.N, discard{}, noYield); err != nil {
					b.Fatal(err)
				}
			}
			perValue(b, v.N)
		})
	}
}
