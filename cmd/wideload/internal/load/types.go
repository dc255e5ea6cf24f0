package load

import (
	"fmt"
	"io"
	"os"
	"strings"

	"wideleaf"
	"wideleaf/cmd/internal/csvfile"
	"wideleaf/value"
)

// ColumnType is a column's type as it is given: "int4", "text not null".
type ColumnType struct {
	Type    wideleaf.Type
	NotNull bool
}

const notNull = " not null"

// TypeNames are the types that a column can be given.
var TypeNames = func() string {
	var names []string
	for t := value.Unknown + 1; t.Valid(); t++ {
		names = append(names, t.String())
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}()

// ParseColumnType is the inverse of String.
func ParseColumnType(s string) (ColumnType, error) {
	name, isNotNull := strings.CutSuffix(s, notNull)
	t, ok := value.ParseType(name)
	if !ok || !t.Valid() {
		return ColumnType{}, fmt.Errorf("the type %q is none of %s", name, TypeNames)
	}
	return ColumnType{t, isNotNull}, nil
}

func (c ColumnType) String() string {
	if c.NotNull {
		return c.Type.String() + notNull
	}
	return c.Type.String()
}

// typesHeader is the first record of a file of types.
var typesHeader = [...]string{"column", "type"}

// WriteTypes writes the types of columns as CSV, which ReadTypes reads.
func WriteTypes(w io.Writer, columns []wideleaf.Column) error {
	out := csvfile.NewWriter(w, csvfile.CSV)
	record := func(name, typ string) {
		out.Field(name)
		out.Field(typ)
		out.End()
	}
	record(typesHeader[0], typesHeader[1])
	for _, c := range columns {
		record(c.Name, ColumnType{c.Type, c.NotNull}.String())
	}
	return out.Flush()
}

// ReadTypes adds the types in a file to those given.
func ReadTypes(path string, types map[string]ColumnType) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // read only
	r := csvfile.NewReader(f, csvfile.CSV)
	for first := true; ; first = false {
		var b csvfile.Block
		err := r.Read(&b)
		if err == io.EOF {
			return nil
		}
		if err == nil && b.Fields(0) != len(typesHeader) {
			err = fmt.Errorf("line %d: a column and its type are expected, not %d fields", b.Line(0, 0), b.Fields(0))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		column, _ := b.Field(0, 0)
		name, _ := b.Field(0, 1)
		if first && string(column) == typesHeader[0] && string(name) == typesHeader[1] {
			continue
		}
		t, err := ParseColumnType(string(name))
		if err == nil {
			err = AddType(types, string(column), t)
		}
		if err != nil {
			return fmt.Errorf("%s, line %d: %w", path, b.Line(0, 0), err)
		}
	}
}

// AddType gives a column a type, which must not have been given another.
func AddType(types map[string]ColumnType, column string, t ColumnType) error {
	if other, ok := types[column]; ok && other != t {
		return fmt.Errorf("column %q is given two types: %v and %v", column, other, t)
	}
	types[column] = t
	return nil
}
