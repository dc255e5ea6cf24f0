package entrytree

import (
	"cmp"
	"slices"

	"wideleaf/am"
	"wideleaf/catalog"
	"wideleaf/value"
)

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

// Attached is a column whose values follow the keys of a tree: that of the row with TID First+i is value i.
type Attached struct {
	Key    *catalog.IndexColumn // of the keys
	Column *catalog.IndexColumn
	Values *value.Vector
	First  uint32
}

// BuildCodes writes the tree of keys in ascending order, for a column of a fixed-width type; a may be nil.
func BuildCodes(form *Form, lists []CodeList, a *Attached, t Target, yield func() error) (am.RunMeta, error) {
	if a != nil {
		out := &listWriter{bytesWriter: newBytesWriter(form, t, yield), attached: a}
		for _, l := range lists {
			out.key = appendCode(append(out.key[:0], markValue), a.Key, l.Code)
			if err := out.list(l.TIDs); err != nil {
				return am.RunMeta{}, err
			}
		}
		return out.finish()
	}
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
func BuildTexts(form *Form, lists []TextList, a *Attached, t Target, yield func() error) (am.RunMeta, error) {
	out := &listWriter{bytesWriter: newBytesWriter(form, t, yield), attached: a}
	for _, l := range lists {
		out.key = appendString(append(out.key[:0], markValue), l.Text, false)
		if err := out.list(l.TIDs); err != nil {
			return am.RunMeta{}, err
		}
	}
	return out.finish()
}

// listWriter writes keys with their rows, by the attached values if there are any.
type listWriter struct {
	*bytesWriter
	attached *Attached
	key      []byte
	rows     []attachedRow
}

type attachedRow struct {
	code uint64
	null bool
	tid  uint32
}

// list writes the rows that have the key w.key.
func (w *listWriter) list(tids []uint32) error {
	if w.attached == nil {
		for _, t := range tids {
			if err := w.add(w.key, t); err != nil {
				return err
			}
		}
		return nil
	}
	v := w.attached.Values
	w.rows = w.rows[:0]
	for _, t := range tids {
		i := int(t - w.attached.First)
		r := attachedRow{null: v.IsNull(i), tid: t}
		if !r.null {
			r.code = value.KeyCode(v.Type, v.Code(i))
		}
		w.rows = append(w.rows, r)
	}
	slices.SortFunc(w.rows, func(a, b attachedRow) int {
		switch {
		case a.null != b.null && a.null:
			return 1
		case a.null != b.null:
			return -1
		}
		return cmp.Or(cmp.Compare(a.code, b.code), cmp.Compare(a.tid, b.tid))
	})
	n := len(w.key)
	for _, r := range w.rows {
		if r.null {
			w.key = append(w.key[:n], nullMark(w.attached.Column))
		} else {
			w.key = appendCode(append(w.key[:n], markValue), w.attached.Column, r.code)
		}
		if err := w.add(w.key, r.tid); err != nil {
			return err
		}
	}
	return nil
}
