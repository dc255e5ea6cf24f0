package entrytree

import (
	"errors"

	"wideleaf/am"
	"wideleaf/catalog"
	"wideleaf/page"
	"wideleaf/value"
)

// Codes reports whether the index keeps codes.
func Codes(ix *catalog.Index) bool { return fixed(ix) }

// AppendKey appends the key of a row.
func AppendKey(form *Form, ix *catalog.Index, cols []*value.Vector, i int, dst []byte) ([]byte, error) {
	n := len(dst)
	dst = appendRow(form, ix, cols, i, dst)
	if n = len(dst) - n; n > form.MaxKeyBytes {
		return dst, &KeyTooLongError{Method: form.Method, Index: ix.Name, Size: n, Max: form.MaxKeyBytes}
	}
	return dst, nil
}

// HasNull reports whether a value in a key is NULL.
func HasNull(ix *catalog.Index, key []byte) bool {
	var text []byte
	for i := range ix.Columns {
		v, rest, grown, err := decodeColumn(&ix.Columns[i], key, text)
		if err != nil {
			return false
		}
		if v.IsNull() {
			return true
		}
		key, text = rest, grown
	}
	return false
}

// NewLoad begins a tree.
func NewLoad(form *Form, ix *catalog.Index, t Target, yield func() error) am.Load {
	return &load{form: form, yield: yield, tree: newTreeWriter(form, t, !fixed(ix))}
}

// load is a run that is written part by part. Packing entries into pages, most of the work, is done by the parts, which
// know neither how many pages come before theirs nor, in the bytes form, the key before their first; adding them
// puts both right.
type load struct {
	form  *Form
	tree  treeWriter
	yield func() error
	last  []byte // key of the last part's last entry
}

// part is leaves in memory, with block numbers that begin at 0.
type part struct {
	fixed *fixedWriter // one of them is not nil
	bytes *bytesWriter
	pages []byte // one after the other
	ends  []int
}

// WritePage takes a page from the part's writer.
func (p *part) WritePage(b []byte) error {
	p.pages = append(p.pages, b...)
	p.ends = append(p.ends, len(p.pages))
	return nil
}

// NewPart returns an empty part.
func (l *load) NewPart(yield func() error) am.Part {
	p := new(part)
	t := Target{Owner: l.tree.Owner, Writer: p}
	if l.tree.bytes {
		p.bytes = newBytesWriter(l.form, t, yield)
	} else {
		p.fixed = newFixedWriter(l.form, t, yield)
	}
	return p
}

// Add writes a part's leaves.
func (l *load) Add(ap am.Part) error {
	p := ap.(*part)
	var t *treeWriter
	var err error
	if l.tree.bytes {
		err, t = p.bytes.end(), &p.bytes.tree
	} else {
		err, t = p.fixed.end(), &p.fixed.tree
	}
	if err != nil {
		return err
	}
	if l.tree.bytes && len(t.level) > 0 {
		if l.tree.total > 0 {
			t.level[0].sep = separator(l.last, p.bytes.head)
		}
		l.last = append(l.last[:0], p.bytes.last...)
		p.bytes.last = p.bytes.last[:0]
	}
	from := 0
	for i, end := range p.ends {
		b := p.pages[from:end]
		h := page.ParseHeader(b)
		h.Block = l.tree.block
		page.Seal(b, h)
		if err := l.tree.leaf(b, t.level[i]); err != nil {
			return err
		}
		if i&15 == 15 {
			if err := l.yield(); err != nil {
				return err
			}
		}
		from = end
	}
	l.tree.nulls += t.nulls
	t.level, t.block, t.total, t.nulls = t.level[:0], 0, 0, 0
	p.pages, p.ends = p.pages[:0], p.ends[:0]
	return nil
}

// Finish writes the inner levels.
func (l *load) Finish() (am.RunMeta, error) { return l.tree.finish() }

func (p *part) Words(a []uint64, base uint64, shift uint) error {
	return p.fixed.packed(a, base, shift)
}

func (p *part) Entries(codes []uint64, tids []uint32) error { return p.fixed.entries(codes, tids) }

func (p *part) Nulls(tids []uint32) error {
	if !p.fixed.nulls {
		if err := p.fixed.beginNulls(); err != nil {
			return err
		}
	}
	return p.fixed.same(0, tids)
}

func (p *part) Key(key []byte, t uint32) error {
	if p.bytes == nil {
		return errors.New("key added to a part of codes")
	}
	return p.bytes.add(key, t)
}

func (p *part) Free() {
	if p.fixed != nil {
		p.fixed.free()
		p.fixed = nil
	}
}
