package entrytree

import (
	"errors"
	"testing"

	"wideleaf/am"
	"wideleaf/catalog"
	"wideleaf/page"
	"wideleaf/value"
)

// A run with TIDs of one key out of order, which no undamaged page has, can't be merged: they could become a posting list,
// whose TIDs ascend. Codes are read in three ways, and NULLs.
func TestMergeRefusesDisorder(t *testing.T) {
	yield := func() error { return nil }
	for _, c := range []struct {
		name  string
		slice uint64
		codes []uint64 // each with the TIDs; none: they are of NULL
	}{
		{"packed with its TID", SliceEntries, []uint64{7}},
		{"too far apart to be packed", SliceEntries, []uint64{7, 1 << 63}},
		{"more than a slice", 1, []uint64{7}},
		{"NULL", SliceEntries, nil},
	} {
		for _, disorder := range []bool{false, true} {
			ix := &catalog.Index{ID: 1, Columns: []catalog.IndexColumn{{Attno: 1, Type: value.Int8}}}
			plain := &Form{Leaf: page.KindBtreeLeaf, Inner: page.KindBtreeInner, Slice: c.slice}
			lists := *plain
			lists.Postings = true
			tids := make([]uint32, 3000)
			for i := range tids {
				tids[i] = uint32(i)
				if disorder {
					tids[i] = uint32((i + 1500) % 3000)
				}
			}
			mem := page.NewMemory(page.Owner{})
			w := newFixedWriter(plain, Target{Writer: mem}, yield)
			defer w.free()
			var err error
			for _, code := range c.codes {
				err = errors.Join(err, w.same(code, tids))
			}
			err = errors.Join(err, w.beginNulls())
			if c.codes == nil {
				err = errors.Join(err, w.same(0, tids))
			}
			meta, end := w.finish()
			if err = errors.Join(err, end); err != nil {
				t.Fatal(err)
			}
			span := am.Span{First: 0, End: 1}
			run, err := Open(plain, ix, meta, 0, span, mem, page.NewCache(1<<20))
			if err != nil {
				t.Fatal(err)
			}
			merged, err := Merge(&lists, ix, []Tree{run}, span, nil, Target{Writer: page.NewMemory(page.Owner{})}, yield)
			switch {
			case disorder && !errors.Is(err, page.ErrCorrupt):
				t.Errorf("%s: merging TIDs out of order gives %v", c.name, err)
			case !disorder && (err != nil || merged.Entries != meta.Entries):
				t.Errorf("%s: %d entries of %d, %v", c.name, merged.Entries, meta.Entries, err)
			}
		}
	}
}
