// Package pending answers for the rows that no index run holds yet.
//
// The pending list of an index is no structure of its own: it is intervals of TIDs, the newest rows of the sealed tails
// and of the visible tail, and it is searched in those rows' columns. A row is in it from its commit on, and leaves it
// when a mini-run (a run over some rows of a tail, in memory) takes it up, or when its segment is flushed.
//
// A List may be used concurrently. What must never break: the rows of an index's runs and mini-runs and those of its
// list are together all rows, each once.
package pending

import (
	"context"
	"iter"
	"math/bits"

	"wideleaf/heap"
	"wideleaf/tid"
	"wideleaf/value"
)

// Part is a source whose rows from From on are pending.
type Part struct {
	heap.Source
	From int
}

// List is the pending list of an index, ascending.
type List []Part

// Rows returns the number of rows in the list.
func (l List) Rows() int64 {
	n := int64(0)
	for _, s := range l {
		n += int64(s.Rows() - s.From)
	}
	return n
}

// All yields the sources with their pending rows as a bitset of (Rows+63)/64 words, which is the caller's to
// change until the next step.
func (l List) All() iter.Seq2[Part, []uint64] {
	return func(yield func(Part, []uint64) bool) {
		cand := tid.NewBits()
		defer cand.Release()
		for _, s := range l {
			if s.From >= s.Rows() {
				continue
			}
			words := cand[:(s.Rows()+63)>>6]
			clear(words)
			cand.SetFirst(s.Rows())
			clear(words[:s.From>>6])
			if s.From&63 != 0 {
				words[s.From>>6] &= ^uint64(0) << (s.From & 63)
			}
			if !yield(s, words) {
				return
			}
		}
	}
}

// search calls f with the rows of each source whose value of a column satisfies r.
func (l List) search(ctx context.Context, attno int, r value.Ranges, f func(heap.Source, *tid.Bits)) error {
	out := tid.NewBits()
	defer out.Release()
	for part, cand := range l.All() {
		if part.From == 0 {
			cand = nil // all rows, which is faster
		}
		words := out[:(part.Rows()+63)>>6]
		if err := part.Select(ctx, attno, r, cand, words); err != nil {
			return err
		}
		f(part, out)
		clear(words)
	}
	return nil
}

// Select adds the rows whose value of a column satisfies r to b.
func (l List) Select(ctx context.Context, attno int, r value.Ranges, b *tid.Builder) error {
	return l.search(ctx, attno, r, func(s heap.Source, out *tid.Bits) { b.AddBits(s.Number(), out) })
}

// Count returns how many rows have a value of a column that satisfies r.
func (l List) Count(ctx context.Context, attno int, r value.Ranges) (int64, error) {
	n := 0
	err := l.search(ctx, attno, r, func(s heap.Source, out *tid.Bits) {
		for _, w := range out[:(s.Rows()+63)>>6] {
			n += bits.OnesCount64(w)
		}
	})
	return int64(n), err
}
