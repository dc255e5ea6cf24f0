package value

import "testing"

// One column of a full tail: the cost of a condition on pending rows.
func BenchmarkSelect65536(b *testing.B) {
	v32 := &Vector{Type: Int4}
	v64 := &Vector{Type: Int8}
	for i := range uint32(65536) {
		v32.AppendCode(uint64(i * 2654435761))
		v64.AppendCode(uint64(i) * 0x9E3779B97F4A7C15)
	}
	out := make([]uint64, 1024)
	b.Run("int4", func(b *testing.B) {
		r := Ranges{Words: []Interval{{0, 1 << 30}}}
		for b.Loop() {
			r.Select(v32, out)
		}
	})
	b.Run("int8", func(b *testing.B) {
		r := Ranges{Words: []Interval{{0, 1 << 60}}}
		for b.Loop() {
			r.Select(v64, out)
		}
	})
}
