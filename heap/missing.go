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
	if src.Number() >= m.before {
		return src
	}
	return filled{src, m.def}
}

// filled is a source whose rows all have the same value in columns added after them.
type filled struct {
	Source
	def *catalog.Table
}

// missing returns the value that all rows have in a column; ok is false when the source itself knows.
func (f filled) missing(attno int) (v value.Value, ok bool) {
	i := f.def.Column(attno)
	if i < 0 {
		return v, false
	}
	c := &f.def.Columns[i]
	return c.Missing, c.First > f.Number() && !c.Missing.IsNull()
}

// Select is Source's.
func (f filled) Select(ctx context.Context, attno int, r value.Ranges, cand, out []uint64) error {
	v, ok := f.missing(attno)
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
	v, ok := f.missing(attno)
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
	v, ok := f.missing(attno)
	if !ok {
		return f.Source.Column(ctx, attno, dst)
	}
	for range f.Rows() {
		dst.Append(v)
	}
	return ctx.Err()
}
