package inverted

import (
	"testing"

	"wideleaf/page"
)

// A description covers each byte of a page once.
func TestDescribe(t *testing.T) {
	for name, kind := range kinds {
		opened, mem := build(t, gin, kind, 2, 3)
		trees, err := Trees(mem.Pages[opened.Meta().Root])
		if err != nil {
			t.Fatal(err)
		}
		for b, p := range mem.Pages {
			tree := Tree{Column: 1}
			for _, x := range trees {
				if x.First <= uint32(b) && uint32(b) <= x.Last {
					tree = x
				}
			}
			d, err := DescribePage(opened.(*run).ix, tree, p)
			if err != nil {
				t.Fatal(err)
			}
			at := 0
			for _, f := range d.Fields {
				if f.Offset != at {
					t.Fatalf("%s, block %d: description goes on at %d after %d: %s", name, b, f.Offset, at, f.Text)
				}
				at += f.Size
			}
			if at != len(p) {
				t.Fatalf("%s, block %d (%s): description ends at %d of %d", name, b, page.ParseHeader(p).Kind, at, len(p))
			}
		}
	}
}
