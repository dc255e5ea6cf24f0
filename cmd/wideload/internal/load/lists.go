package load

import (
	"bytes"
	"errors"
	"iter"
	"strings"

	"wideleaf"
	"wideleaf/pgerr"
	"wideleaf/value"
)

// Lists says which columns' cells are lists of items, and how they are written.
type Lists struct {
	Columns   []string // see findColumn
	Separator string   // between items; Brackets: each item stands in them
}

// Brackets is the separator of lists such as <a><b>.
const Brackets = "<>"

func (l *Lists) check() error {
	if len(l.Columns) > 0 && strings.TrimSpace(l.Separator) == "" {
		return errors.New("a list needs a separator that is not blank")
	}
	return nil
}

// items returns the items of a cell: blanks around them are taken off, and empty ones left out. A separator that ends in
// blanks is found at the end of a cell without them.
func (l *Lists) items(cell []byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		rest, separator := bytes.TrimSpace(cell), []byte(l.Separator)
		if l.Separator == Brackets {
			if len(rest) == 0 {
				return
			}
			if rest[0] != '<' || rest[len(rest)-1] != '>' {
				yield(nil, notInBrackets(cell))
				return
			}
			rest, separator = rest[1:len(rest)-1], []byte("><")
		}
		end := bytes.TrimRight(separator, " ")
		for more := true; more; {
			var item []byte
			if item, rest, more = bytes.Cut(rest, separator); !more {
				item = bytes.TrimSuffix(item, end)
			}
			if item = bytes.TrimSpace(item); len(item) == 0 {
				continue
			}
			if l.Separator == Brackets && bytes.ContainsAny(item, "<>") {
				yield(nil, notInBrackets(cell))
				return
			}
			if !yield(item, nil) {
				return
			}
		}
	}
}

func notInBrackets(cell []byte) error {
	return pgerr.New(wideleaf.ErrInvalid, pgerr.InvalidTextRepresentation, "the items of a list do not each stand in < and >: \"%s\"", excerpt(cell))
}

// isArray reports whether a type has items.
func isArray(t wideleaf.Type) bool { return t.Elem() != value.Unknown }
