package wideleaf

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"
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
	Bytea  = value.Bytea
	Date   = value.Date

	Timestamptz = value.Timestamptz
	Int8Array   = value.Int8Array
	TextArray   = value.TextArray
)

// Batch is rows on their way into a table, column by column. Fill it through its vectors (the fast path: every one must
// get the same number of values) or row by row with Append, hand it to InsertBatch, and use it again after Reset. A batch
// belongs to one goroutine; strings put into it are kept, not copied.
//
// A batch lives on when the table is altered: what it holds goes to the columns that it was made for, whatever they are
// called by now, and columns added since take their defaults. If one of its columns was dropped it is refused.
type Batch struct {
	table *Table
	def   *catalog.Table // as the batch was made for it
	given []catalog.Column
	cols  []*Vector // those given
	whole bool      // all columns of def are given, in order
	err   error     // a mistake made earlier, for Append and InsertBatch to tell

	// What complete returned last for a definition that cols alone don't do for.
	full     []*Vector
	fullDef  *catalog.Table
	defaults []int // places in full of vectors that hold nothing but a default
}

// NewBatch returns an empty batch for the columns named, in this order, or for all. The other columns take their
// defaults when the batch is inserted. A mistake in the names is told by Append and InsertBatch: 42703 when there is no
// such column, 42701 when one is named twice.
func (t *Table) NewBatch(columns ...string) *Batch {
	if t == nil || t.db == nil {
		return &Batch{err: errNoTable()}
	}
	def := t.def()
	b := &Batch{table: t, def: def, given: def.Columns, whole: len(columns) == 0}
	if !b.whole {
		b.given = make([]catalog.Column, 0, len(columns))
		seen := make(map[string]bool, len(columns))
		for _, name := range columns {
			i := def.Named(name)
			switch {
			case i < 0:
				b.err = noColumn(def.Name, name)
				return b
			case seen[name]:
				b.err = twice(name)
				return b
			}
			seen[name] = true
			b.given = append(b.given, def.Columns[i])
		}
	}
	b.cols = make([]*Vector, len(b.given))
	vectors := make([]Vector, len(b.cols)) // side by side: a batch of one row is walked through several times
	for i, c := range b.given {
		vectors[i].Type = c.Type
		b.cols[i] = &vectors[i]
	}
	return b
}

// Column returns the vector of the i-th of the batch's columns, from 0. There must be one: else the vector returned
// belongs to none, and the batch is refused.
func (b *Batch) Column(i int) *Vector {
	if i < 0 || i >= len(b.cols) {
		if b.err == nil {
			b.err = &Error{Kind: ErrInvalid, Code: pgerr.UndefinedColumn, Message: fmt.Sprintf("column %d of a batch of %d columns was asked for", i, len(b.cols))}
		}
		return new(Vector)
	}
	return b.cols[i]
}

// Len returns the number of rows, that of the first column.
func (b *Batch) Len() int {
	if len(b.cols) == 0 {
		return 0
	}
	return b.cols[0].N
}

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	for i, v := range b.cols {
		v.Reset(b.given[i].Type)
	}
}

// Default stands, in Append, for a column's default, as it was when the batch was made.
const Default = defaultMark(0)

type defaultMark uint8

// String returns SQL's word for it.
func (defaultMark) String() string { return "DEFAULT" }

// Append adds one row of Go values, one for each of the batch's columns: nil for NULL, Default, bool, any integer type,
// float32 and float64, string, []byte for bytea, time.Time for date (the day in its own location) and timestamptz (without
// what is less than a microsecond), []int64, []*int64, []string and []*string for arrays (nil is a NULL item), or a Value.
// An integer is accepted for a float8 column if it is exact. On an error the batch is as it was.
func (b *Batch) Append(row ...any) error {
	if b.err != nil {
		return b.err
	}
	if len(row) != len(b.cols) || len(row) == 0 {
		return b.wrongLength(len(row))
	}
	vals := make([]Value, len(row))
	for i, x := range row {
		v, err := valueOf(x, b.given[i])
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

func (b *Batch) wrongLength(n int) error {
	if b.def == nil {
		return errNoTable()
	}
	return &Error{Kind: ErrInvalid, Code: pgerr.SyntaxError, Object: b.def.Name,
		Message: fmt.Sprintf("a row for %d columns of table %q has %d values", len(b.cols), b.def.Name, n)}
}

// complete returns the batch's rows as rows of a definition of its table: a vector for each column.
func (b *Batch) complete(def *catalog.Table) ([]*Vector, error) {
	if b.def == def && b.whole {
		return b.cols, nil
	}
	if b.fullDef != def {
		place := make(map[int]*Vector, len(b.given)) // by attno
		for i, c := range b.given {
			place[c.Attno] = b.cols[i]
		}
		b.fullDef, b.full, b.defaults = nil, make([]*Vector, len(def.Columns)), nil
		for i, c := range def.Columns {
			if b.full[i] = place[c.Attno]; b.full[i] == nil {
				b.full[i] = &Vector{Type: c.Type}
				b.defaults = append(b.defaults, i)
			}
			delete(place, c.Attno)
		}
		for _, c := range b.given {
			if place[c.Attno] != nil {
				return nil, noColumn(def.Name, c.Name)
			}
		}
		b.fullDef = def
	}
	for _, i := range b.defaults {
		v := b.full[i]
		if n := b.Len(); v.N != n {
			v.Reset(v.Type)
			for range n {
				v.Append(def.Columns[i].Default)
			}
		}
	}
	return b.full, nil
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
	case defaultMark:
		if c.Default.IsNull() {
			return value.Null(c.Type), nil
		}
		return c.Default, nil
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
	case []byte:
		if c.Type != Bytea {
			return mismatch()
		}
		if v == nil {
			return value.Null(Bytea), nil
		}
		return value.OfBytea(v), nil
	case time.Time:
		return timeValue(v, c, mismatch)
	case []int64, []*int64, []string, []*string:
		if a, ok := arrayValue(v, c.Type); ok {
			return a, nil
		}
		return mismatch()
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

// timeValue converts a time for a column.
func timeValue(t time.Time, c catalog.Column, mismatch func() (Value, error)) (Value, error) {
	var v Value
	var err error
	switch c.Type {
	case Date:
		v, err = value.DateOfTime(t)
	case Timestamptz:
		v, err = value.TimestamptzOfTime(t)
	default:
		return mismatch()
	}
	if e, ok := err.(*Error); ok {
		return Value{}, badColumn(&c, e.Code, "%s: \"%s\" (column %q)", e.Message, value.FormatTime(t), c.Name)
	}
	return v, err
}

// arrayValue converts a slice for a column of type t; a nil slice is NULL.
func arrayValue(x any, t Type) (v Value, ok bool) {
	var b []byte
	var null bool
	switch x := x.(type) {
	case []int64:
		null, ok = x == nil, t == Int8Array
		for _, item := range x {
			b = value.AppendInt8Item(b, item)
		}
	case []*int64:
		null, ok = x == nil, t == Int8Array
		for _, item := range x {
			if item == nil {
				b = value.AppendNullItem(b)
			} else {
				b = value.AppendInt8Item(b, *item)
			}
		}
	case []string:
		null, ok = x == nil, t == TextArray
		for _, item := range x {
			b = value.AppendTextItem(b, item)
		}
	case []*string:
		null, ok = x == nil, t == TextArray
		for _, item := range x {
			if item == nil {
				b = value.AppendNullItem(b)
			} else {
				b = value.AppendTextItem(b, *item)
			}
		}
	}
	if null {
		return value.Null(t), ok
	}
	return value.OfStr(t, string(b)), ok
}

func outOfRange(text string, c catalog.Column) (Value, error) {
	return Value{}, &Error{Kind: ErrInvalid, Code: pgerr.NumericValueOutOfRange, Object: c.Name,
		Message: fmt.Sprintf("value \"%s\" is out of range for type %s", text, c.Type.SQLName())}
}

// checkRows verifies that vectors can become n rows of a table, and returns about how many bytes they take.
func checkRows(ctx context.Context, def *catalog.Table, cols []*Vector, n int) (size int64, err error) {
	nulls := false // in a column that may have none
	for i, v := range cols {
		if n > ctxRows && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		c := &def.Columns[i]
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
		nulls = nulls || c.NotNull && v.HasNulls()
		if c.Type == Int4 || c.Type == Int8 { // any code is a value
			continue
		}
		for _, s := range v.Str {
			size += int64(len(s)) + 16
		}
		if row, err := v.Check(); err != nil {
			return 0, badValue(c, row, err)
		}
	}
	if nulls {
		return 0, nullViolation(def, cols, n)
	}
	return size, nil
}

// nullViolation returns the error of the first row that has NULL in a NOT NULL column.
func nullViolation(def *catalog.Table, cols []*Vector, n int) error {
	row, column := n, 0
	for i, v := range cols {
		for r := 0; def.Columns[i].NotNull && r < row; r++ {
			if v.IsNull(r) {
				row, column = r, i
			}
		}
	}
	return &Error{Kind: ErrConstraint, Code: pgerr.NotNullViolation, Object: def.Columns[column].Name,
		Message: fmt.Sprintf("null value in column %q of relation %q violates not-null constraint", def.Columns[column].Name, def.Name),
		Detail:  "Failing row contains " + rowText(cols, row) + "."}
}

// rowText prints a row for a message, as PostgreSQL does: of long values the first 64 bytes.
func rowText(cols []*Vector, row int) string {
	const most = 64
	b := []byte("(")
	for i, v := range cols {
		if i > 0 {
			b = append(b, ", "...)
		}
		if v.IsNull(row) {
			b = append(b, "null"...)
			continue
		}
		s := v.Value(row).String()
		if len(s) <= most {
			b = append(b, s...)
			continue
		}
		cut := most
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		b = append(append(b, s[:cut]...), "..."...)
	}
	return string(append(b, ')'))
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

// badValue adds to an error about a value where it stands.
func badValue(c *catalog.Column, row int, err error) error {
	e, ok := err.(*Error)
	if !ok {
		return err
	}
	return badColumn(c, e.Code, "%s (column %q, row %d of the batch)", e.Message, c.Name, row+1)
}
