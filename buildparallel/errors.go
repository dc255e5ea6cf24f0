package buildparallel

import (
	"fmt"

	"wideleaf/tid"
	"wideleaf/version"
)

// DuplicateError says that two rows have the same key in a unique index.
type DuplicateError struct {
	Index string
	Rows  [2]tid.TID
}

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("could not create unique index %q", e.Index)
}

// duplicate makes the error about two rows, by their TIDs relative to the span.
func (b *builder) duplicate(ix *version.Index, x, y uint32) error {
	first := tid.New(b.span.First, 0)
	return &DuplicateError{ix.Def.Name, [2]tid.TID{first + tid.TID(x), first + tid.TID(y)}}
}
