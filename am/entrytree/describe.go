package entrytree

import (
	"encoding/binary"
	"fmt"
	"strings"

	"wideleaf/am/leaf"
	"wideleaf/catalog"
	"wideleaf/page"
	"wideleaf/value"
)

// DescribePage says what each byte range of a verified leaf or inner page of an index means. Without an index, ix
// nil, keys are printed in hexadecimal.
func DescribePage(ix *catalog.Index, p []byte) (*page.Description, error) {
	d := &page.Description{}
	if len(p) < page.HeaderSize || len(p) > page.Size {
		return d, &page.CorruptError{Detail: fmt.Sprintf("it has %d bytes", len(p))}
	}
	d.Header(p)
	code := func(c uint64) string { return codeText(ix, c) }
	key := func(k []byte) string { return describeKey(ix, k) }
	if !isInner(page.ParseHeader(p).Kind) {
		return d, leaf.Describe(d, p, code, key)
	}
	in, err := decodeInner(p)
	if err != nil {
		return d, err
	}
	n := in.children()
	d.Add(page.HeaderSize, 4, "level %d, children are blocks %d to %d", in.level, in.first, int(in.first)+n-1)
	d.Add(page.HeaderSize+4, 4, "%d children begin with a code", binary.LittleEndian.Uint32(p[page.HeaderSize+4:]))
	at := innerHead
	if in.ends == nil {
		for i := range n {
			if i < len(in.codes) {
				d.Add(at, 8, "block %d: begins with %s", int(in.first)+i, code(in.codes[i]))
			} else {
				d.Add(at, 8, "block %d: begins with NULL", int(in.first)+i)
			}
			at += 8
		}
	} else {
		for i := range n {
			d.Add(at, 2, "block %d: separator ends at %d", int(in.first)+i, in.ends[i+1])
			at += 2
		}
	}
	for i := range n {
		d.Add(at, 4, "block %d: %d entries", int(in.first)+i, in.count(i))
		at += 4
	}
	for i := range n {
		if in.ends != nil && len(in.sep(i)) > 0 {
			d.Add(at, len(in.sep(i)), "block %d: separator %x", int(in.first)+i, in.sep(i))
			at += len(in.sep(i))
		}
	}
	return d, nil
}

// codeText prints a code as the value that it is of.
func codeText(ix *catalog.Index, code uint64) string {
	if ix == nil || !fixed(ix) {
		return fmt.Sprintf("%#x", code)
	}
	return value.OfCode(ix.Columns[0].Type, code).String()
}

// describeKey prints the values of a key, or its bytes if they aren't a key of the index.
func describeKey(ix *catalog.Index, k []byte) string {
	if ix == nil {
		return fmt.Sprintf("%x", k)
	}
	var s []string
	rest := k
	for i := range ix.Columns {
		v, r, _, err := decodeColumn(&ix.Columns[i], rest, nil)
		if err != nil {
			return fmt.Sprintf("%x", k)
		}
		rest = r
		switch {
		case v.IsNull():
			s = append(s, "NULL")
		case v.Type().Width() == value.Var:
			s = append(s, fmt.Sprintf("%q", v.String()))
		default:
			s = append(s, v.String())
		}
	}
	return "(" + strings.Join(s, ", ") + ")"
}
