package value

import (
	"encoding/binary"
	"strconv"
	"strings"
)

// An array is held as a string of its items, one behind the other, so that arrays compare as their strings do: item by
// item, NULL above all, an array below those that it is the beginning of (docs/format.md).
const (
	itemValue = 1 // then 8 bytes, the code big endian, or a text and a zero byte, which no text has
	itemNull  = 2
)

// Elem returns the type of an array's items, Unknown if t is no array.
func (t Type) Elem() Type {
	switch t {
	case Int8Array:
		return Int8
	case TextArray:
		return Text
	}
	return Unknown
}

// AppendInt8Item, AppendTextItem and AppendNullItem append an item to what an array is held as. An array with a text
// that has a zero byte is refused by Vector.Check.
func AppendInt8Item(dst []byte, item int64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, itemValue), Int8Code(item))
}

func AppendTextItem(dst []byte, item string) []byte {
	dst = append(dst, itemValue)
	for {
		before, after, zero := strings.Cut(item, "\x00")
		dst = append(append(dst, before...), 0)
		if !zero {
			return dst
		}
		dst = append(dst, 0) // where a marker should be
		item = after
	}
}

func AppendNullItem(dst []byte) []byte { return append(dst, itemNull) }

// OfInt8Array and OfTextArray return an array of these items, without NULLs.
func OfInt8Array(items []int64) Value {
	b := make([]byte, 0, 9*len(items))
	for _, x := range items {
		b = AppendInt8Item(b, x)
	}
	return Value{typ: Int8Array, str: string(b)}
}

func OfTextArray(items []string) Value {
	var b []byte
	for _, x := range items {
		b = AppendTextItem(b, x)
	}
	return Value{typ: TextArray, str: string(b)}
}

// OfArray returns an array of type t whose items are values of the type t.Elem or NULL.
func OfArray(t Type, items []Value) Value {
	var b []byte
	for _, x := range items {
		switch {
		case x.IsNull():
			b = AppendNullItem(b)
		case t == Int8Array:
			b = AppendInt8Item(b, x.Int())
		default:
			b = AppendTextItem(b, x.str)
		}
	}
	return Value{typ: t, str: string(b)}
}

// Items goes through the items of an array, without allocating:
//
//	for it := value.ItemsOf(t, s); it.Next(); {
//		it.Null, it.Code or it.Text is the item
//	}
//
// It bears any bytes.
type Items struct {
	Null bool
	Code uint64 // of an int8
	Text string // shares the array's memory

	rest  string
	typ   Type
	wrong bool
}

// ItemsOf returns the items of the array of type t that is held as s, before the first.
func ItemsOf(t Type, s string) Items { return Items{rest: s, typ: t} }

// Items returns the items of an array, none for NULL.
func (v Value) Items() Items { return ItemsOf(v.typ, v.str) }

// Next goes on to the next item and reports whether there is one.
func (it *Items) Next() bool {
	if it.rest == "" {
		return false
	}
	mark, rest := it.rest[0], it.rest[1:]
	it.Null, it.Code, it.Text = mark == itemNull, 0, ""
	switch {
	case mark == itemNull:
		it.rest = rest
		return true
	case mark != itemValue:
	case it.typ == Int8Array:
		if len(rest) >= 8 {
			for i := range 8 {
				it.Code = it.Code<<8 | uint64(rest[i])
			}
			it.rest = rest[8:]
			return true
		}
	case it.typ == TextArray:
		if n := strings.IndexByte(rest, 0); n >= 0 {
			it.Text, it.rest = rest[:n], rest[n+1:]
			return true
		}
	}
	it.rest, it.wrong = "", true
	return false
}

// Wrong reports whether the items ended because what followed was none.
func (it *Items) Wrong() bool { return it.wrong }

// Value returns the item as a value.
func (it *Items) Value() Value {
	switch {
	case it.Null:
		return Null(it.typ.Elem())
	case it.typ == Int8Array:
		return OfCode(Int8, it.Code)
	}
	return OfText(it.Text)
}

// anyArray returns the items as Go values.
func (v Value) anyArray() any {
	n, nulls := 0, false
	for it := v.Items(); it.Next(); n++ {
		nulls = nulls || it.Null
	}
	if v.typ == Int8Array {
		ints := make([]int64, 0, n)
		for it := v.Items(); it.Next(); {
			ints = append(ints, CodeInt8(it.Code))
		}
		if !nulls {
			return ints
		}
		return pointers(v, ints)
	}
	texts := make([]string, 0, n)
	for it := v.Items(); it.Next(); {
		texts = append(texts, it.Text)
	}
	if !nulls {
		return texts
	}
	return pointers(v, texts)
}

// pointers returns pointers to an array's items, nil for NULL.
func pointers[T any](v Value, items []T) []*T {
	out := make([]*T, 0, len(items))
	for it := v.Items(); it.Next(); {
		if i := len(out); it.Null {
			out = append(out, nil)
		} else {
			out = append(out, &items[i])
		}
	}
	return out
}

func formatArray(t Type, s string) string {
	b := []byte{'{'}
	for it := ItemsOf(t, s); it.Next(); {
		if len(b) > 1 {
			b = append(b, ',')
		}
		switch {
		case it.Null:
			b = append(b, "NULL"...)
		case t == Int8Array:
			b = strconv.AppendInt(b, CodeInt8(it.Code), 10)
		default:
			b = appendItemText(b, it.Text)
		}
	}
	return string(append(b, '}'))
}

// appendItemText appends a text as an item, in quotes where it needs them.
func appendItemText(b []byte, s string) []byte {
	if s != "" && !strings.ContainsAny(s, "\"\\{}, \t\n\v\f\r") && !strings.EqualFold(s, "null") {
		return append(b, s...)
	}
	b = append(b, '"')
	for i := range len(s) {
		if s[i] == '"' || s[i] == '\\' {
			b = append(b, '\\')
		}
		b = append(b, s[i])
	}
	return append(b, '"')
}
