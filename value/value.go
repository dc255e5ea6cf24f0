// Package value defines column types, values, in-memory column vectors and the ranges that conditions ask for.
//
// Words used here: a code is a fixed-width value mapped to an unsigned integer so that codes compare as the
// values do (PostgreSQL's order: NaN above all, -0 equal to 0); fixed-width types are stored, packed, compared and
// indexed by their codes, and only the API's edge turns them back. Strings compare by their bytes (C collation), and what
// else varies in length is held as strings that compare as the values do.
//
// Values, types and ranges are immutable once made and may be shared; a Vector belongs to whoever fills it.
package value

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
)

// Type is a column type.
type Type uint8

// The column types. Their numbers are part of the format: never reuse one. (docs/format.md)
const (
	Unknown Type = iota
	Bool
	Int4
	Int8
	Float8
	Text
	Bytea
	Date
	Timestamptz
	Int8Array
	TextArray
)

// Types that only results have; no column is of them.
const (
	Numeric Type = 64 + iota // exact decimal number, held as text
	Tid                      // row identifier: ctid
)

var typeNames = [...]string{Unknown: "unknown", Bool: "bool", Int4: "int4", Int8: "int8", Float8: "float8", Text: "text",
	Bytea: "bytea", Date: "date", Timestamptz: "timestamptz", Int8Array: "int8[]", TextArray: "text[]",
	Numeric: "numeric", Tid: "tid"}

// String returns PostgreSQL's short name of the type.
func (t Type) String() string {
	if int(t) < len(typeNames) && typeNames[t] != "" {
		return typeNames[t]
	}
	return fmt.Sprintf("type %d", uint8(t))
}

// SQLName returns the name that PostgreSQL uses in messages, such as "double precision".
func (t Type) SQLName() string {
	switch t {
	case Bool:
		return "boolean"
	case Int4:
		return "integer"
	case Int8:
		return "bigint"
	case Float8:
		return "double precision"
	case Timestamptz:
		return "timestamp with time zone"
	case Int8Array:
		return "bigint[]"
	}
	return t.String()
}

// ParseType returns the type of a name, by PostgreSQL's short and long names.
func ParseType(s string) (Type, bool) {
	switch s {
	case "bool", "boolean":
		return Bool, true
	case "int4", "int", "integer":
		return Int4, true
	case "int8", "bigint":
		return Int8, true
	case "float8", "double precision":
		return Float8, true
	case "text":
		return Text, true
	case "bytea":
		return Bytea, true
	case "date":
		return Date, true
	case "timestamptz", "timestamp with time zone":
		return Timestamptz, true
	case "int8[]", "bigint[]":
		return Int8Array, true
	case "text[]":
		return TextArray, true
	}
	return Unknown, false
}

// Valid reports whether t is a type this version can store.
func (t Type) Valid() bool { return t > Unknown && t <= TextArray }

// Width is how a type is held in a Vector.
type Width uint8

// The widths: 32-bit codes (bool, int4, date), 64-bit codes (int8, float8, timestamptz), strings of any length.
const (
	Word32 Width = iota
	Word64
	Var
)

// Width returns how the type is held in memory.
func (t Type) Width() Width {
	switch t {
	case Bool, Int4, Date:
		return Word32
	case Int8, Float8, Timestamptz, Tid:
		return Word64
	}
	return Var
}

// Value is one value of a type, or NULL. The zero Value is NULL of no type.
type Value struct {
	typ  Type
	null bool
	code uint64
	str  string
}

// Null returns the NULL of a type.
func Null(t Type) Value { return Value{typ: t, null: true} }

// OfBool, OfInt4, OfInt8, OfFloat8 and OfText return a value of that type.
func OfBool(v bool) Value {
	var c uint64
	if v {
		c = 1
	}
	return Value{typ: Bool, code: c}
}
func OfInt4(v int32) Value     { return Value{typ: Int4, code: uint64(Int4Code(v))} }
func OfInt8(v int64) Value     { return Value{typ: Int8, code: Int8Code(v)} }
func OfFloat8(v float64) Value { return Value{typ: Float8, code: Float8Code(v)} }
func OfText(v string) Value    { return Value{typ: Text, str: v} }

// OfNumeric returns the numeric that PostgreSQL prints so; OfTid the row identifier segment<<16 | offset.
func OfNumeric(text string) Value { return Value{typ: Numeric, str: text} }
func OfTid(t uint64) Value        { return Value{typ: Tid, code: t} }

// OfCode returns the fixed-width value that a code stands for.
func OfCode(t Type, code uint64) Value { return Value{typ: t, code: code} }

// OfStr returns the value of a type that varies in length which is held as s (see Vector.Str).
func OfStr(t Type, s string) Value { return Value{typ: t, str: s} }

// OfBytea returns a copy of v as a value.
func OfBytea(v []byte) Value { return Value{typ: Bytea, str: string(v)} }

// Int4Code, Int8Code and Float8Code return a value's code; every NaN has the same one, -0 the one just below 0's.
func Int4Code(v int32) uint32 { return uint32(v) ^ 1<<31 }
func Int8Code(v int64) uint64 { return uint64(v) ^ 1<<63 }
func Float8Code(v float64) uint64 {
	if v != v {
		return math.MaxUint64
	}
	b := math.Float64bits(v)
	if b>>63 != 0 {
		return ^b
	}
	return b | 1<<63
}

// Codes of the two zeros of float8.
const (
	NegZeroCode = 1<<63 - 1
	PosZeroCode = 1 << 63
)

// CodeInt4, CodeInt8 and CodeFloat8 are the inverses.
func CodeInt4(c uint32) int32 { return int32(c ^ 1<<31) }
func CodeInt8(c uint64) int64 { return int64(c ^ 1<<63) }
func CodeFloat8(c uint64) float64 {
	if c == math.MaxUint64 {
		return math.NaN()
	}
	if c>>63 != 0 {
		return math.Float64frombits(c &^ (1 << 63))
	}
	return math.Float64frombits(^c)
}

// KeyCode returns the code under which an index files a fixed-width value: equal values have equal key codes, so
// -0 is filed as 0.
func KeyCode(t Type, code uint64) uint64 {
	if t == Float8 && code == NegZeroCode {
		return PosZeroCode
	}
	return code
}

// Type returns the value's type; IsNull whether it is NULL.
func (v Value) Type() Type   { return v.typ }
func (v Value) IsNull() bool { return v.null || v.typ == Unknown }

// Code returns the code of a fixed-width value.
func (v Value) Code() uint64 { return v.code }

// Bool, Int (int4 and int8) and Float (float8) return the Go value; each is meaningful for its own types only, and zero
// for NULL. Str returns text, the bytes of bytea, and of an array the bytes that it is held as (see Items).
func (v Value) Bool() bool { return !v.null && v.code == 1 }
func (v Value) Int() int64 {
	switch {
	case v.null:
		return 0
	case v.typ == Int4:
		return int64(CodeInt4(uint32(v.code)))
	case v.typ == Int8:
		return CodeInt8(v.code)
	}
	return 0
}
func (v Value) Float() float64 {
	if v.null || v.typ != Float8 {
		return 0
	}
	return CodeFloat8(v.code)
}
func (v Value) Str() string { return v.str }

// Any returns the value as bool, int32, int64, float64, string (text, and numeric and tid as PostgreSQL prints them),
// []byte, time.Time in UTC (date, at midnight, and timestamptz; the infinities are the strings "infinity" and
// "-infinity"), []int64 or []string (an array; []*int64 or []*string if an item of it is NULL), or nil for NULL.
func (v Value) Any() any {
	if v.IsNull() {
		return nil
	}
	switch v.typ {
	case Bool:
		return v.Bool()
	case Int4:
		return int32(v.Int())
	case Int8:
		return v.Int()
	case Float8:
		return v.Float()
	case Bytea:
		return []byte(v.str)
	case Date, Timestamptz:
		if t, finite := v.Time(); finite {
			return t
		}
		return v.String()
	case Int8Array, TextArray:
		return v.anyArray()
	case Tid:
		return v.String()
	}
	return v.str
}

// String returns PostgreSQL's text form, dates and times in ISO style and UTC; NULL is the empty string.
func (v Value) String() string {
	if v.IsNull() {
		return ""
	}
	switch v.typ {
	case Bool:
		if v.Bool() {
			return "t"
		}
		return "f"
	case Int4, Int8:
		return strconv.FormatInt(v.Int(), 10)
	case Float8:
		return FormatFloat8(v.Float())
	case Bytea:
		return `\x` + hex.EncodeToString([]byte(v.str))
	case Date:
		return formatDate(CodeDate(uint32(v.code)))
	case Timestamptz:
		return formatTimestamptz(CodeTimestamptz(v.code))
	case Int8Array, TextArray:
		return formatArray(v.typ, v.str)
	case Tid:
		return fmt.Sprintf("(%d,%d)", v.code>>16, uint16(v.code))
	}
	return v.str
}

// Compare orders two values of one type as ORDER BY does, NULL above all.
func Compare(a, b Value) int {
	if a.IsNull() || b.IsNull() {
		switch {
		case a.IsNull() && b.IsNull():
			return 0
		case a.IsNull():
			return 1
		}
		return -1
	}
	if a.typ.Width() == Var {
		switch {
		case a.str < b.str:
			return -1
		case a.str > b.str:
			return 1
		}
		return 0
	}
	x, y := KeyCode(a.typ, a.code), KeyCode(b.typ, b.code)
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}
