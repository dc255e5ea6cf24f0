package page

import (
	"fmt"
	"strings"
)

// Field is one described byte range of a page.
type Field struct {
	Offset, Size int
	Text         string
}

// Description lists what each byte range of a page means, in page order. Decoders fill it, tools print it.
type Description struct{ Fields []Field }

// Add appends the meaning of the next size bytes at offset.
func (d *Description) Add(offset, size int, format string, args ...any) {
	d.Fields = append(d.Fields, Field{offset, size, fmt.Sprintf(format, args...)})
}

// Header describes the page header.
func (d *Description) Header(p []byte) {
	h := ParseHeader(p)
	d.Add(0, 1, "kind: %s", h.Kind)
	d.Add(1, 1, "flags: %#02x", h.Flags)
	d.Add(2, 2, "reserved: %d", h.Reserved)
	d.Add(4, 4, "relation: %d", h.Relation)
	d.Add(8, 8, "part: %d", h.Part)
	d.Add(16, 4, "block: %d", h.Block)
	d.Add(20, 4, "length: %d", len(p))
	d.Add(24, 8, "checksum: %016x", h.Checksum)
}

// String prints one line a field: offset-end: meaning.
func (d *Description) String() string {
	var b strings.Builder
	for _, f := range d.Fields {
		fmt.Fprintf(&b, "%04d-%04d: %s\n", f.Offset, f.Offset+f.Size, f.Text)
	}
	return b.String()
}
