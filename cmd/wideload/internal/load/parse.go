package load

import (
	"wideleaf"
	"wideleaf/value"
)

// parse returns the value of a cell as a type, by PostgreSQL's rules for input.
func parse(t wideleaf.Type, cell []byte) (wideleaf.Value, error) {
	return value.Parse(t, string(cell))
}

// parseLong returns the value of a cell of a type that varies in length.
func (l *loader) parseLong(c *column, cell []byte) (wideleaf.Value, error) {
	return parse(c.Type, cell)
}
