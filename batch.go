package wideleaf

import (
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"wideleaf/catalog"
	"wideleaf/pgerr"
	"wideleaf/value"
)

// Value is one value of a column, or NULL.
type Value = value.Value

// Vector is a column of values in memory.
type Vector = value.Vector

// Type is a column type.
type Type = value.Type

// The column types.
const (
	Bool   = value.Bool
	Int4   = value.Int4
	Int8   = value.Int8
	Float8 = value.Float8
	Text   = value.Text
)

// Batch is rows on their way into a table, column by column. Fill it through its vectors (the fast path: every one must
// get the same number of values) or row by row with Append, hand it to InsertBatch, and use it again after Reset. A batch
// belongs to one goroutine; strings put into it are kept, not copied.
type Batch struct {
	def  *catalog.Table
	cols []*Vector
}

// NewBatch returns an empty batch for the table.
func (t *Table) NewBatch() *Batch {
	def := t.def()
	b := &Batch{def: def, cols: make([]*Vector, len(def.Columns))}
	vectors := make([]Vector, len(b.cols)) // side by side: a batch of one row is walked through several times
	for i, c := range def.Columns {
		vectors[i].Type = c.Type
		b.cols[i] = &vectors[i]
	}
	return b
}

// Column returns the vector of the i-th column, from 0.
func (b *Batch) Column(i int) *Vector { return b.cols[i] }

// Len returns the number of rows, that of the first column.
func (b *Batch) Len() int {
	if len(b.cols) == 0 {
		return 0
	}
	return b.cols[0].N
}

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	for _, v := range b.cols {
		v.Reset(v.Type)
	}
}

// Append adds one row of Go values: nil for NULL, bool, any integer type, float32 and float64, string, or a Value. An
// integer is accepted for a float8 column if it is exact. On an error the batch is as it was.
func (b *Batch) Append(row ...any) error {
	if len(row) != len(b.cols) {
		return &Error{Kind: ErrInvalid, Code: pgerr.SyntaxError, Object: b.def.Name,
			Message: fmt.Sprintf("a row of table %q has %d values, not %d", b.def.Name, len(b.cols), len(row))}
	}
	vals := make([]Value, len(row))
	for i, x := range row {
		v, err := valueOf(x, b.def.Columns[i])
		if err != nil {
			return err
		}
		vals[i] = v
	}
	for i, v := range vals {
		b.cols[i].Append(v)
	}
	return nil
}

// valueOf converts a Go value for a column.
func valueOf(x any, c catalog.Column) (Value, error) {
	mismatch := func() (Value, error) {
		return Value{}, &Error{Kind: ErrInvalid, Code: pgerr.DatatypeMismatch, Object: c.Name,
			Message: fmt.Sprintf("column %q is of type %s but the value is a Go %T", c.Name, c.Type.SQLName(), x)}
	}
	var i int64
	switch v := x.(type) {
	case nil:
		return value.Null(c.Type), nil
	case Value:
		if v.IsNull() {
			return value.Null(c.Type), nil
		}
		if v.Type() != c.Type {
			return Value{}, &Error{Kind: ErrInvalid, Code: pgerr.DatatypeMismatch, Object: c.Name,
				Message: fmt.Sprintf("column %q is of type %s but expression is of type %s", c.Name, c.Type.SQLName(), v.Type().SQLName())}
		}
		return v, nil
	case bool:
		if c.Type != Bool {
			return mismatch()
		}
		return value.OfBool(v), nil
	case string:
		if c.Type != Text {
			return mismatch()
		}
		return value.OfText(v), nil
	case float64:
		if c.Type != Float8 {
			return mismatch()
		}
		return value.OfFloat8(v), nil
	case float32:
		if c.Type != Float8 {
			return mismatch()
		}
		return value.OfFloat8(float64(v)), nil
	case int:
		i = int64(v)
	case int8:
		i = int64(v)
	case int16:
		i = int64(v)
	case int32:
		i = int64(v)
	case int64:
		i = v
	case uint8:
		i = int64(v)
	case uint16:
		i = int64(v)
	case uint32:
		i = int64(v)
	case uint:
		if uint64(v) > math.MaxInt64 {
			return outOfRange(strconv.FormatUint(uint64(v), 10), c)
		}
		i = int64(v)
	case uint64:
		if v > math.MaxInt64 {
			return outOfRange(strconv.FormatUint(v, 10), c)
		}
		i = int64(v)
	default:
		return mismatch()
	}
	switch c.Type {
	case Int4:
		if i != int64(int32(i)) {
			return outOfRange(strconv.FormatInt(i, 10), c)
		}
		return value.OfInt4(int32(i)), nil
	case Int8:
		return value.OfInt8(i), nil
	case Float8:
		if f := float64(i); f < 1<<63 && int64(f) == i {
			return value.OfFloat8(f), nil
		}
		return outOfRange(strconv.FormatInt(i, 10), c)
	}
	return mismatch()
}

func outOfRange(text string, c catalog.Column) (Value, error) {
	return Value{}, &Error{Kind: ErrInvalid, Code: pgerr.NumericValueOutOfRange, Object: c.Name,
		Message: fmt.Sprintf("value \"%s\" is out of range for type %s", text, c.Type.SQLName())}
}

// check verifies that the batch can become rows of its table, and returns about how many bytes they take.
func (b *Batch) check() (size int64, err error) {
	n := b.Len()
	for i, v := range b.cols {
		c := &b.def.Columns[i]
		held := len(v.U32)
		switch c.Type.Width() {
		case value.Word32:
			size += 4 * int64(held)
		case value.Word64:
			held = len(v.U64)
			size += 8 * int64(held)
		default:
			held = len(v.Str)
		}
		if v.Type != c.Type || v.N != n || held != n || len(v.Nulls) > (n+63)/64 {
			return 0, misfit(v, c, n, held)
		}
		if c.NotNull && v.HasNulls() {
			return 0, &Error{Kind: ErrConstraint, Code: pgerr.NotNullViolation, Object: c.Name,
				Message: fmt.Sprintf("null value in column %q of relation %q violates not-null constraint", c.Name, b.def.Name)}
		}
		switch c.Type {
		case Bool:
			for _, x := range v.U32 {
				if x > 1 {
					return 0, badColumn(c, pgerr.NumericValueOutOfRange, "column %q of type boolean has the code %d", c.Name, x)
				}
			}
		case Text:
			for row, s := range v.Str {
				size += int64(len(s)) + 16
				if at := invalidText(s); at >= 0 {
					return 0, badColumn(c, pgerr.CharacterNotInRepertoire,
						"invalid byte sequence for encoding \"UTF8\": 0x%02x (column %q, row %d of the batch)", s[at], c.Name, row+1)
				}
				if len(s) > MaxValueBytes {
					return 0, badColumn(c, pgerr.ProgramLimitExceeded, "a value of column %q has %d bytes, the maximum is %d", c.Name, len(s), MaxValueBytes)
				}
			}
		}
	}
	return size, nil
}

// misfit says what is wrong with the shape of a vector in a batch of n rows.
func misfit(v *Vector, c *catalog.Column, n, held int) error {
	switch {
	case v.Type != c.Type:
		return badColumn(c, pgerr.DatatypeMismatch, "column %q is of type %s but the batch's vector is of type %s", c.Name, c.Type.SQLName(), v.Type.SQLName())
	case v.N != n || held != n:
		return badColumn(c, pgerr.SyntaxError, "column %q has %d values in a batch of %d rows", c.Name, held, n)
	}
	return badColumn(c, pgerr.SyntaxError, "column %q has a null bitmap for more than %d rows", c.Name, n)
}

func badColumn(c *catalog.Column, code, format string, args ...any) error {
	return &Error{Kind: ErrInvalid, Code: code, Object: c.Name, Message: fmt.Sprintf(format, args...)}
}

// invalidText returns the place of the first byte that text can't hold, -1 if there is none. As in PostgreSQL, text is
// valid UTF-8 without the zero byte.
func invalidText(s string) int {
	ascii := true
	for i := range len(s) {
		if s[i] == 0 {
			return i
		}
		ascii = ascii && s[i] < utf8.RuneSelf
	}
	if ascii || utf8.ValidString(s) {
		return -1
	}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}
