package filter

import (
	"github.com/cespare/xxhash/v2"

	"wideleaf/am"
	"wideleaf/catalog"
	"wideleaf/value"
)

// Hasher hashes the keys of a unique index: filters and writers know keys by these.
type Hasher struct {
	ix  *catalog.Index
	enc am.KeyEncoder // keys of several columns, or of strings, are hashed as the access method encodes them
}

// NewHasher returns the hasher of an index, whose access method must be able to encode keys.
func NewHasher(ix *catalog.Index, m am.Method) Hasher {
	h := Hasher{ix: ix}
	if len(ix.Columns) > 1 || ix.Columns[0].Type.Width() == value.Var {
		h.enc = m.(am.KeyEncoder)
	}
	return h
}

// mix spreads a code over 64 bits (the finalizer of MurmurHash3).
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// nullHash is the hash of NULL in an index on one fixed-width column.
const nullHash = 0x6e756c6c

// Entry returns the hash of an entry of a run.
func (h Hasher) Entry(e am.Entry) uint64 {
	switch {
	case h.enc != nil:
		return xxhash.Sum64(e.Key)
	case e.Values[0].IsNull():
		return nullHash
	}
	return mix(value.KeyCode(e.Values[0].Type(), e.Values[0].Code()))
}

// Rows appends the hashes of rows, whose columns are the index's in its order, and whether each has a NULL.
func (h Hasher) Rows(columns []*value.Vector, hashes []uint64, nulls []bool) ([]uint64, []bool) {
	if h.enc == nil {
		c := columns[0]
		for row := range c.N {
			if c.IsNull(row) {
				hashes, nulls = append(hashes, nullHash), append(nulls, true)
				continue
			}
			hashes, nulls = append(hashes, mix(value.KeyCode(c.Type, c.Code(row)))), append(nulls, false)
		}
		return hashes, nulls
	}
	vals := make([]value.Value, len(columns))
	var key []byte
	for row := range columns[0].N {
		null := false
		for i, c := range columns {
			vals[i] = c.Value(row)
			null = null || vals[i].IsNull()
		}
		key = h.enc.EncodeKey(h.ix, vals, key[:0])
		hashes, nulls = append(hashes, xxhash.Sum64(key)), append(nulls, null)
	}
	return hashes, nulls
}

// AddRows adds the keys of a source's rows to a filter.
func (h Hasher) AddRows(f *Filter, src am.Source) error {
	columns := make([]*value.Vector, len(h.ix.Columns))
	for i := range columns {
		v, err := src.Column(i)
		if err != nil {
			return err
		}
		defer src.Release(v)
		columns[i] = v
	}
	hashes, _ := h.Rows(columns, nil, nil)
	for _, x := range hashes {
		f.Add(x)
	}
	return nil
}
