package value

import "slices"

// Vector is a column of values of one type in memory. Exactly one of U32, U64 and Str is used, by the type's width.
// A NULL row has its bit set in Nulls and a zero (or empty) value. It is filled by one goroutine.
type Vector struct {
	Type  Type
	N     int
	Nulls []uint64 // bit i set: row i is NULL; nil when no row is
	U32   []uint32 // codes of 32-bit types
	U64   []uint64 // codes of 64-bit types
	Str   []string // text; the bytes of bytea; arrays as AppendInt8Item and AppendTextItem encode them
}

// Reset empties the vector for rows of type t and keeps its memory.
func (v *Vector) Reset(t Type) {
	v.Type, v.N = t, 0
	clear(v.Str)
	v.Nulls, v.U32, v.U64, v.Str = v.Nulls[:0], v.U32[:0], v.U64[:0], v.Str[:0]
}

// Grow makes room for n more rows.
func (v *Vector) Grow(n int) {
	switch v.Type.Width() {
	case Word32:
		v.U32 = slices.Grow(v.U32, n)
	case Word64:
		v.U64 = slices.Grow(v.U64, n)
	default:
		v.Str = slices.Grow(v.Str, n)
	}
}

// IsNull reports whether row i is NULL.
func (v *Vector) IsNull(i int) bool {
	return i>>6 < len(v.Nulls) && v.Nulls[i>>6]>>(i&63)&1 != 0
}

// HasNulls reports whether any row is NULL.
func (v *Vector) HasNulls() bool {
	for _, w := range v.Nulls {
		if w != 0 {
			return true
		}
	}
	return false
}

// SetNull marks row i, which must exist, as NULL.
func (v *Vector) SetNull(i int) {
	for len(v.Nulls) <= i>>6 {
		v.Nulls = append(v.Nulls, 0)
	}
	v.Nulls[i>>6] |= 1 << (i & 63)
}

// Append adds one value, which must be of the vector's type or NULL.
func (v *Vector) Append(x Value) {
	if x.IsNull() {
		v.AppendNull()
		return
	}
	switch v.Type.Width() {
	case Word32:
		v.U32 = append(v.U32, uint32(x.code))
	case Word64:
		v.U64 = append(v.U64, x.code)
	default:
		v.Str = append(v.Str, x.str)
	}
	v.N++
}

// AppendAll adds the rows of another vector of the same type.
func (v *Vector) AppendAll(o *Vector) {
	base := v.N
	v.U32 = append(v.U32, o.U32...)
	v.U64 = append(v.U64, o.U64...)
	v.Str = append(v.Str, o.Str...)
	v.N += o.N
	if o.HasNulls() {
		for i := range o.N {
			if o.IsNull(i) {
				v.SetNull(base + i)
			}
		}
	}
}

// Part returns n rows from row `from` on, a multiple of 64, which share the vector's memory.
func (v *Vector) Part(from, n int) *Vector {
	p := &Vector{Type: v.Type, N: n}
	switch v.Type.Width() {
	case Word32:
		p.U32 = v.U32[from : from+n]
	case Word64:
		p.U64 = v.U64[from : from+n]
	default:
		p.Str = v.Str[from : from+n]
	}
	if first := from >> 6; first < len(v.Nulls) {
		p.Nulls = v.Nulls[first:min(first+(n+63)>>6, len(v.Nulls))]
	}
	return p
}

// AppendCode adds one fixed-width value by its code.
func (v *Vector) AppendCode(c uint64) {
	if v.Type.Width() == Word32 {
		v.U32 = append(v.U32, uint32(c))
	} else {
		v.U64 = append(v.U64, c)
	}
	v.N++
}

// AppendNull adds a NULL.
func (v *Vector) AppendNull() {
	switch v.Type.Width() {
	case Word32:
		v.U32 = append(v.U32, 0)
	case Word64:
		v.U64 = append(v.U64, 0)
	default:
		v.Str = append(v.Str, "")
	}
	v.N++
	v.SetNull(v.N - 1)
}

// Code returns the code of row i of a fixed-width vector.
func (v *Vector) Code(i int) uint64 {
	if v.Type.Width() == Word32 {
		return uint64(v.U32[i])
	}
	return v.U64[i]
}

// Value returns row i.
func (v *Vector) Value(i int) Value {
	if v.IsNull(i) {
		return Null(v.Type)
	}
	if v.Type.Width() == Var {
		return Value{typ: v.Type, str: v.Str[i]}
	}
	return Value{typ: v.Type, code: v.Code(i)}
}
