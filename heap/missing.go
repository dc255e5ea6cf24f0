package heap

import (
	"context"

	"wideleaf/catalog"
	"wideleaf/value"
)

// Missing gives sources what their rows have in columns that were added after them.
type Missing struct {
	def    *catalog.Table
	before uint64 // sources of segments from here on need nothing
}

// NewMissing returns the filler for the columns of a definition.
func NewMissing(def *catalog.Table) Missing {
	m := Missing{def: def}
	for i := range def.Columns {
		if c := &def.Columns[i]; !c.Missing.IsNull() {
			m.before = max(m.before, c.First)
		}
	}
	return m
}

// Source returns src, as the definition wants it read.
func (m Missing) Source(src Source) Source {
	segment := src.Number()
	if segment >= m.before {
		return src
	}
	return filled{src, func(attno int) (value.Value, bool) {
		i := m.def.Column(attno)
		if i < 0 {
			return value.Value{}, false
		}
		c := &m.def.Columns[i]
		return c.Missing, c.First > segment && !c.Missing.IsNull()
	}}
}

// Without returns src with columns that are not to be read: all their values are NULL.
func Without(src Source, attnos map[int]bool) Source {
	return filled{src, func(attno int) (value.Value, bool) { return value.Value{}, attnos[attno] }}
}

// filled is a source some of whose columns have the same value in all rows. constant returns it; ok is false when the
// source itself knows.
type filled struct {
	Source
	constant func(attno int) (v value.Value, ok bool)
}

// Select is Source's.
func (f filled) Select(ctx context.Context, attno int, r value.Ranges, cand, out []uint64) error {
	v, ok := f.constant(attno)
	if !ok {
		return f.Source.Select(ctx, attno, r, cand, out)
	}
	if r.Contains(v) {
		selectAll(f.Rows(), cand, out)
	}
	return ctx.Err()
}

// Gather is Source's.
func (f filled) Gather(ctx context.Context, attno int, offs []uint16, dst *value.Vector) error {
	v, ok := f.constant(attno)
	if !ok {
		return f.Source.Gather(ctx, attno, offs, dst)
	}
	for range offs {
		dst.Append(v)
	}
	return ctx.Err()
}

// Column is Source's.
func (f filled) Column(ctx context.Context, attno int, dst *value.Vector) error {
	v, ok := f.constant(attno)
	if !ok {
		return f.Source.Column(ctx, attno, dst)
	}
	for range f.Rows() {
		dst.Append(v)
	}
	return ctx.Err()
}
