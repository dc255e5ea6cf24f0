package entrytree

import "wideleaf/am"

// CodeList and TextList are a key and the ascending TIDs of the rows that have it.
type (
	CodeList struct {
		Code uint64
		TIDs []uint32
	}
	TextList struct {
		Text string
		TIDs []uint32
	}
)

// BuildCodes writes the tree of keys in ascending order, for a column of a fixed-width type.
func BuildCodes(form *Form, lists []CodeList, t Target, yield func() error) (am.RunMeta, error) {
	out := newFixedWriter(form, t, yield)
	defer out.free()
	for _, l := range lists {
		if err := out.same(l.Code, l.TIDs); err != nil {
			return am.RunMeta{}, err
		}
	}
	return out.finish()
}

// BuildTexts is BuildCodes for a column of text.
func BuildTexts(form *Form, lists []TextList, t Target, yield func() error) (am.RunMeta, error) {
	out := newBytesWriter(form, t, yield)
	var key []byte
	for _, l := range lists {
		key = appendString(append(key[:0], markValue), l.Text, false)
		for _, x := range l.TIDs {
			if err := out.add(key, x); err != nil {
				return am.RunMeta{}, err
			}
		}
	}
	return out.finish()
}
