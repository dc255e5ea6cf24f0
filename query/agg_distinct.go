package query

import (
	"maps"
	"slices"

	"wideleaf/value"
)

// distinct feeds each value once, in ascending order, to another accumulator.
type distinct struct {
	inner accumulator
	typ   value.Type
	codes map[uint64]struct{}
	strs  map[string]struct{}
}

func newDistinct(inner accumulator, t value.Type) *distinct {
	return &distinct{inner: inner, typ: t, codes: map[uint64]struct{}{}, strs: map[string]struct{}{}}
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
	slices.Sort(codes)
	// As many at a time as a segment has: what an accumulator is made for.
	for part := range slices.Chunk(codes, 1<<16) {
		var v value.Vector
		v.Reset(d.typ)
		for _, c := range part {
			v.AppendCode(c)
		}
		d.inner.add(&v)
	}
	strs := slices.Sorted(maps.Keys(d.strs))
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
