package heap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"wideleaf/tid"
	"wideleaf/value"
)

// A row block is how rows wait in the write-ahead log until their segment is flushed: the rows of one or more
// batches, each batch column by column (docs/format.md). AppendRows and DecodeRows are its two directions.

const (
	blockNoNulls = 0 // no column has a NULL and none has a mark of its own
	blockNulls   = 1 // every column begins with a mark
)

// Marks of a column in a batch with NULLs.
const (
	colNoNulls  = 0
	colSomeNull = 1 // a bitmap of the NULL rows comes first
	colAllNull  = 2 // nothing else
)

// AppendRows appends the rows [from, to) of a batch to a row block.
func AppendRows(dst []byte, cols []*value.Vector, from, to int) []byte {
	n := to - from
	dst = binary.AppendUvarint(dst, uint64(n))
	dst = binary.AppendUvarint(dst, uint64(len(cols)))
	kind := byte(blockNoNulls)
	for _, v := range cols {
		if len(v.Nulls) > 0 && v.HasNulls() {
			kind = blockNulls
			break
		}
	}
	dst = append(dst, kind)
	for _, v := range cols {
		if kind == blockNulls {
			nulls := countNulls(v, from, to)
			switch {
			case nulls == n:
				dst = append(dst, colAllNull)
				continue
			case nulls == 0:
				dst = append(dst, colNoNulls)
			default:
				dst = append(dst, colSomeNull)
				at := len(dst)
				dst = append(dst, make([]byte, (n+7)/8)...)
				for i := range n {
					if v.IsNull(from + i) {
						dst[at+i>>3] |= 1 << (i & 7)
					}
				}
			}
		}
		switch v.Type.Width() {
		case value.Word32:
			for _, x := range v.U32[from:to] {
				dst = binary.LittleEndian.AppendUint32(dst, x)
			}
		case value.Word64:
			for _, x := range v.U64[from:to] {
				dst = binary.LittleEndian.AppendUint64(dst, x)
			}
		default:
			for _, s := range v.Str[from:to] {
				dst = binary.AppendUvarint(dst, uint64(len(s)))
				dst = append(dst, s...)
			}
		}
	}
	return dst
}

func countNulls(v *value.Vector, from, to int) int {
	if len(v.Nulls) == 0 {
		return 0
	}
	if from == 0 && to == v.N {
		n := 0
		for _, w := range v.Nulls {
			n += bits.OnesCount64(w)
		}
		return n
	}
	n := 0
	for i := from; i < to; i++ {
		if v.IsNull(i) {
			n++
		}
	}
	return n
}

var errBlockEnds = errors.New("row block ends early")

// DecodeRows decodes the batches of a row block of a table with the given column types, appending all rows to cols,
// and returns how many there were. What it returns shares no memory with the block. A damaged block gives an error.
func DecodeRows(block []byte, types []value.Type, cols []*value.Vector) (rows int, err error) {
	for len(block) > 0 {
		n, k := binary.Uvarint(block)
		if k <= 0 || n == 0 || n > tid.SegmentRows {
			return rows, errBlockEnds
		}
		block = block[k:]
		ncols, k := binary.Uvarint(block)
		if k <= 0 || len(block) <= k {
			return rows, errBlockEnds
		}
		kind := block[k]
		block = block[k+1:]
		if ncols != uint64(len(types)) {
			return rows, fmt.Errorf("row block has %d columns, the table %d", ncols, len(types))
		}
		if kind > blockNulls {
			return rows, fmt.Errorf("row block is of unknown kind %d", kind)
		}
		for c, t := range types {
			if block, err = decodeColumn(block, int(n), kind == blockNulls, t, cols[c]); err != nil {
				return rows, err
			}
		}
		rows += int(n)
	}
	return rows, nil
}

func decodeColumn(b []byte, n int, marked bool, t value.Type, v *value.Vector) ([]byte, error) {
	var nulls []byte
	if marked {
		if len(b) == 0 {
			return nil, errBlockEnds
		}
		mark := b[0]
		b = b[1:]
		switch mark {
		case colNoNulls:
		case colAllNull:
			for range n {
				v.AppendNull()
			}
			return b, nil
		case colSomeNull:
			k := (n + 7) / 8
			if len(b) < k {
				return nil, errBlockEnds
			}
			nulls, b = b[:k], b[k:]
		default:
			return nil, fmt.Errorf("row block has an unknown column mark %d", mark)
		}
	}
	base := v.N
	switch t.Width() {
	case value.Word32:
		if len(b) < 4*n {
			return nil, errBlockEnds
		}
		for i := range n {
			v.U32 = append(v.U32, binary.LittleEndian.Uint32(b[4*i:]))
		}
		b = b[4*n:]
	case value.Word64:
		if len(b) < 8*n {
			return nil, errBlockEnds
		}
		for i := range n {
			v.U64 = append(v.U64, binary.LittleEndian.Uint64(b[8*i:]))
		}
		b = b[8*n:]
	default:
		for range n {
			l, k := binary.Uvarint(b)
			if k <= 0 || l > uint64(len(b)-k) {
				return nil, errBlockEnds
			}
			v.Str = append(v.Str, string(b[k:k+int(l)]))
			b = b[k+int(l):]
		}
	}
	v.N += n
	for i := range nulls {
		for x := nulls[i]; x != 0; x &= x - 1 {
			if at := i<<3 + bits.TrailingZeros8(x); at < n {
				v.SetNull(base + at)
			}
		}
	}
	return b, nil
}
