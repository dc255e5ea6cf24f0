package query

import (
	"context"
	"maps"
	"slices"
	"strings"

	"wideleaf/am/sortrun"
	"wideleaf/value"
)

// distinct feeds each value once, in ascending order, to another accumulator.
type distinct struct {
	ctx   context.Context
	inner accumulator
	typ   value.Type
	codes map[uint64]struct{}
	strs  map[string]struct{}
}

func newDistinct(ctx context.Context, inner accumulator, t value.Type) *distinct {
	return &distinct{ctx: ctx, inner: inner, typ: t, codes: map[uint64]struct{}{}, strs: map[string]struct{}{}}
}

func (d *distinct) add(v *value.Vector) {
	for i := range v.N {
		switch {
		case v.IsNull(i):
		case d.typ.Width() == value.Var:
			d.strs[v.Str[i]] = struct{}{}
		default:
			d.codes[value.KeyCode(d.typ, v.Code(i))] = struct{}{}
		}
	}
}

func (d *distinct) result() (value.Value, error) {
	if c, ok := d.inner.(*counter); ok {
		c.n = int64(len(d.codes) + len(d.strs))
		return c.result()
	}
	codes := make([]uint64, 0, len(d.codes))
	for c := range d.codes {
		codes = append(codes, c)
	}
	if err := sortrun.Large(codes, make([]uint64, len(codes)), 0, 64, d.ctx.Err); err != nil {
		return value.Value{}, err
	}
	// As many at a time as a segment has: what an accumulator is made for.
	for part := range slices.Chunk(codes, 1<<16) {
		var v value.Vector
		v.Reset(d.typ)
		for _, c := range part {
			v.AppendCode(c)
		}
		d.inner.add(&v)
	}
	strs := slices.Collect(maps.Keys(d.strs))
	if err := sortAll(d.ctx, strs, strings.Compare); err != nil {
		return value.Value{}, err
	}
	for part := range slices.Chunk(strs, 1<<16) {
		var v value.Vector
		v.Reset(d.typ)
		for _, s := range part {
			v.Append(value.OfStr(d.typ, s))
		}
		d.inner.add(&v)
	}
	return d.inner.result()
}
