package query

import (
	"slices"

	"wideleaf/pgerr"
	"wideleaf/value"
)

// typ is the type of an expression: a column's, or one that only constants have. Of a family the later one is the type
// to which PostgreSQL converts the others.
type typ uint8

const (
	unknownType typ = iota // a string without a type, or NULL
	boolType
	textType
	byteaType
	int8ArrayType
	textArrayType
	dateType
	timestamptzType
	int4Type
	int8Type
	numericType
	float8Type
)

var valueTypes = [...]value.Type{unknownType: value.Unknown, boolType: value.Bool, textType: value.Text,
	byteaType: value.Bytea, dateType: value.Date, timestamptzType: value.Timestamptz, int8ArrayType: value.Int8Array,
	textArrayType: value.TextArray, int4Type: value.Int4, int8Type: value.Int8, numericType: value.Numeric,
	float8Type: value.Float8}

func typeOf(t value.Type) typ { return typ(slices.Index(valueTypes[:], t)) }

// String returns PostgreSQL's name of the type.
func (t typ) String() string { return valueTypes[t].SQLName() }

// family returns one type for all types that can be compared with each other.
func (t typ) family() typ {
	if t == timestamptzType {
		return dateType
	}
	return min(t, int4Type)
}

func (t typ) number() bool { return t >= int4Type }

// parseType returns the type of a name in a cast.
func parseType(name string) (typ, error) {
	if t, ok := value.ParseType(name); ok {
		return typeOf(t), nil
	}
	switch name {
	case "numeric", "decimal":
		return numericType, nil
	case "varchar", "character varying":
		return textType, nil
	}
	return unknownType, pgerr.New(pgerr.ErrInvalid, pgerr.UndefinedObject, `type "%s" does not exist`, name)
}
