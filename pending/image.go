package pending

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"wideleaf/heap"
	"wideleaf/tid"
	"wideleaf/value"
)

const (
	imageNull = 0x80 // added to the type of a NULL
	imageCut  = 0x40 // added to the type of a string that is cut
)

// Append appends the bytes of a page with rows of a source, and returns how many pieces of rows they are.
func (l *Layout) Append(ctx context.Context, dst []byte, s heap.Source, p Page) (_ []byte, pieces int, err error) {
	end := p.To // with the row of which there are only some columns
	if p.ToColumn > 0 {
		end++
	}
	vals := make([]value.Vector, len(l.columns))
	for i, c := range l.columns {
		if c.Type == value.Unknown {
			continue
		}
		if err := gather(ctx, s, c, p.From, end, &vals[i]); err != nil {
			return nil, 0, err
		}
	}
	first := p.FromColumn
	for row := p.From; row < end; row++ {
		last := len(l.columns)
		if row == p.To {
			last = p.ToColumn
		}
		dst = binary.LittleEndian.AppendUint64(dst, uint64(tid.New(s.Number(), uint16(row))))
		dst = binary.LittleEndian.AppendUint16(dst, uint16(first))
		dst = binary.LittleEndian.AppendUint16(dst, uint16(last-first))
		for c := first; c < last; c++ {
			if l.columns[c].Type == value.Unknown {
				dst = append(dst, imageNull)
				continue
			}
			dst = appendValue(dst, vals[c].Value(row-p.From))
		}
		first = 0
		pieces++
	}
	return dst, pieces, nil
}

func appendValue(dst []byte, v value.Value) []byte {
	kind, str := byte(v.Type()), v.Str()
	switch {
	case v.IsNull():
		kind |= imageNull
	case len(str) > maxString:
		kind |= imageCut
		str = str[:maxString]
	}
	dst = append(dst, kind)
	switch v.Type().Width() {
	case value.Word32:
		return binary.LittleEndian.AppendUint32(dst, uint32(v.Code()))
	case value.Word64:
		return binary.LittleEndian.AppendUint64(dst, v.Code())
	}
	return append(binary.LittleEndian.AppendUint16(dst, uint16(len(str))), str...)
}

// Piece is a row on a page, or some of its columns.
type Piece struct {
	TID    tid.TID
	Offset int // of its bytes among the page's
	Size   int
	Column int // the place of the first one
	Values []Value
}

// Value is a value of a piece. One that is Cut is the beginning of a string, of an array its bytes.
type Value struct {
	value.Value
	Cut bool
}

var errShort = errors.New("it ends early")

// Pieces decodes the bytes of a page that holds so many pieces of rows.
func Pieces(b []byte, n int) ([]Piece, error) {
	d := decoder{b, 0}
	var out []Piece
	for range n {
		p := Piece{Offset: d.at}
		head, err := d.take(PieceHead)
		if err != nil {
			return nil, err
		}
		p.TID, p.Column = tid.TID(binary.LittleEndian.Uint64(head)), int(binary.LittleEndian.Uint16(head[8:]))
		for range binary.LittleEndian.Uint16(head[10:]) {
			v, err := d.value()
			if err != nil {
				return nil, err
			}
			p.Values = append(p.Values, v)
		}
		p.Size = d.at - p.Offset
		out = append(out, p)
	}
	return out, nil
}

type decoder struct {
	b  []byte
	at int
}

func (d *decoder) take(n int) ([]byte, error) {
	if n > len(d.b)-d.at {
		return nil, errShort
	}
	d.at += n
	return d.b[d.at-n : d.at : d.at], nil
}

func (d *decoder) value() (v Value, err error) {
	kind, err := d.take(1)
	if err != nil {
		return v, err
	}
	t := value.Type(kind[0] &^ (imageNull | imageCut))
	null := kind[0]&imageNull != 0
	v.Cut = kind[0]&imageCut != 0
	if t == value.Unknown && null {
		return v, nil
	}
	if !t.Valid() {
		return v, fmt.Errorf("a value of the unknown type %d", uint8(t))
	}
	var b []byte
	switch t.Width() {
	case value.Word32:
		if b, err = d.take(4); err == nil {
			v.Value = value.OfCode(t, uint64(binary.LittleEndian.Uint32(b)))
		}
	case value.Word64:
		if b, err = d.take(8); err == nil {
			v.Value = value.OfCode(t, binary.LittleEndian.Uint64(b))
		}
	default:
		if b, err = d.take(2); err == nil {
			b, err = d.take(int(binary.LittleEndian.Uint16(b)))
		}
		if v.Cut && t.Elem() != value.Unknown {
			t = value.Bytea // its items may be cut
		}
		v.Value = value.OfStr(t, string(b))
	}
	if null {
		v.Value = value.Null(t)
	}
	return v, err
}
