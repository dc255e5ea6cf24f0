package query

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"wideleaf/am/sortrun"
	"wideleaf/value"
)

// distinct feeds each value once, in ascending order, to another accumulator. Values that don't fit in memory go to tape.
type distinct struct {
	e       *executor
	inner   accumulator
	typ     value.Type
	codes   map[uint64]struct{}
	strs    map[string]struct{}
	bytes   int64 // that the maps take, about
	spilled *spilledValues
	err     error
}

// mapBytes is about what a map takes for each of its keys.
const mapBytes = 32

func newDistinct(e *executor, inner accumulator, t value.Type) *distinct {
	return &distinct{e: e, inner: inner, typ: t, codes: map[uint64]struct{}{}, strs: map[string]struct{}{}}
}

func (d *distinct) add(v *value.Vector) {
	for i := range v.N {
		switch {
		case v.IsNull(i):
			continue
		case d.typ.Width() == value.Var:
			if _, ok := d.strs[v.Str[i]]; ok {
				continue
			}
			d.strs[v.Str[i]] = struct{}{}
			d.bytes += int64(len(v.Str[i]))
		default:
			code := value.KeyCode(d.typ, v.Code(i))
			if _, ok := d.codes[code]; ok {
				continue
			}
			d.codes[code] = struct{}{}
		}
		d.bytes += mapBytes
		if d.err == nil && d.e.t.Spilling.full(d.bytes) && d.spillable() {
			d.err = d.spill()
		}
	}
}

// spillable reports whether the keys that a tape gives back are enough: of strings they only are for counting.
func (d *distinct) spillable() bool {
	_, counts := d.inner.(*counter)
	return counts || d.typ.Width() != value.Var
}

// spill empties the maps.
func (d *distinct) spill() error {
	if d.spilled == nil {
		d.spilled = d.e.spillValues()
	}
	for c := range d.codes {
		if err := d.spilled.addCode(c); err != nil {
			return err
		}
	}
	for s := range d.strs {
		if err := d.spilled.addStr(s); err != nil {
			return err
		}
	}
	clear(d.codes)
	clear(d.strs)
	d.bytes = 0
	return nil
}

// close gives the tape up.
func (d *distinct) close() {
	if d.spilled != nil {
		d.spilled.close()
	}
}

// resultOfTape is result for values on tape.
func (d *distinct) resultOfTape() (value.Value, error) {
	if err := d.spill(); err != nil {
		return value.Value{}, err
	}
	if c, ok := d.inner.(*counter); ok {
		c.n = 0
		err := d.spilled.each(func([]byte) { c.n++ })
		if err != nil {
			return value.Value{}, err
		}
		return c.result()
	}
	var v value.Vector
	v.Reset(d.typ)
	err := d.spilled.each(func(key []byte) {
		if v.N == valuesAtATime {
			d.inner.add(&v)
			v.Reset(d.typ)
		}
		v.AppendCode(binary.BigEndian.Uint64(key))
	})
	if err != nil {
		return value.Value{}, err
	}
	d.inner.add(&v)
	return d.inner.result()
}

// valuesAtATime is as many as a segment has: what an accumulator is made for.
const valuesAtATime = 1 << 16

func (d *distinct) result() (value.Value, error) {
	switch {
	case d.err != nil:
		return value.Value{}, d.err
	case d.spilled != nil:
		return d.resultOfTape()
	}
	if c, ok := d.inner.(*counter); ok {
		c.n = int64(len(d.codes) + len(d.strs))
		return c.result()
	}
	codes := make([]uint64, 0, len(d.codes))
	for c := range d.codes {
		codes = append(codes, c)
	}
	if err := sortrun.Large(codes, make([]uint64, len(codes)), 0, 64, d.e.ctx.Err); err != nil {
		return value.Value{}, err
	}
	for part := range slices.Chunk(codes, valuesAtATime) {
		var v value.Vector
		v.Reset(d.typ)
		for _, c := range part {
			v.AppendCode(c)
		}
		d.inner.add(&v)
	}
	strs := slices.Collect(maps.Keys(d.strs))
	if err := sortAll(d.e.ctx, strs, strings.Compare); err != nil {
		return value.Value{}, err
	}
	for part := range slices.Chunk(strs, valuesAtATime) {
		var v value.Vector
		v.Reset(d.typ)
		for _, s := range part {
			v.Append(value.OfStr(d.typ, s))
		}
		d.inner.add(&v)
	}
	return d.inner.result()
}
