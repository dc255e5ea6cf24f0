package entrytree

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"wideleaf/am"
	"wideleaf/catalog"
	"wideleaf/page"
	"wideleaf/value"
)

// FuzzInner decodes inner pages of any content under a right checksum.
func FuzzInner(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, typ := range []value.Type{value.Int4, value.Text} {
		ix := &catalog.Index{Columns: []catalog.IndexColumn{{Type: typ}}}
		v := &value.Vector{Type: typ}
		for range 5000 {
			if typ == value.Text {
				v.Append(value.OfText(value.OfInt8(int64(r.Uint64())).String()))
			} else {
				v.AppendCode(uint64(r.Uint32()))
			}
		}
		mem := page.NewMemory(page.Owner{})
		meta, err := Build(&Form{Leaf: page.KindBtreeLeaf, Inner: page.KindBtreeInner, MaxKeyBytes: 100}, ix,
			[]*value.Vector{v}, &am.Source{Rows: v.N}, Target{Writer: mem}, func() error { return nil })
		if err != nil {
			f.Fatal(err)
		}
		p := mem.Pages[meta.Root]
		h := page.ParseHeader(p)
		f.Add(bytes.Clone(p[page.HeaderSize:]), h.Flags, h.Reserved)
	}
	f.Fuzz(func(t *testing.T, body []byte, flags uint8, n uint16) {
		p := append(make([]byte, page.HeaderSize), body...)
		if len(p) > page.Size {
			return
		}
		page.Seal(p, page.Header{Kind: page.KindBtreeInner, Flags: flags, Reserved: n, Block: 1000})
		in, err := decodeInner(p)
		if err != nil {
			if !errors.Is(err, page.ErrCorrupt) {
				t.Fatalf("error is not of the corruption kind: %v", err)
			}
			return
		}
		bounds := []bound{{code: 7}, {kind: atNulls}, {kind: atEnd}}
		if flags&flagBytes != 0 {
			bounds = []bound{{kind: atKey, key: []byte("b")}, {kind: atEnd}}
		}
		for _, b := range bounds {
			if i := in.child(b); i < 0 || i >= in.children() || in.first+uint32(i) >= 1000 {
				t.Fatalf("child %d of %d", i, in.children())
			}
		}
		if in.size() > 8*page.Size {
			t.Fatalf("decoded page takes %d bytes", in.size())
		}
		if _, err := DescribePage(nil, p); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzKey decodes keys of any content; what decodes encodes to the same bytes.
func FuzzKey(f *testing.F) {
	ix := &catalog.Index{Columns: []catalog.IndexColumn{
		{Type: value.Text}, {Type: value.Text, Desc: true, NullsFirst: true}, {Type: value.Int4, Desc: true}, {Type: value.Bool},
	}}
	f.Add(EncodeKey(ix, []value.Value{value.OfText("a\x00b"), value.OfText(""), value.OfInt4(7), value.OfBool(true)}, nil))
	f.Add([]byte{3, 1, 3, 3})
	f.Fuzz(func(t *testing.T, key []byte) {
		var vals []value.Value
		rest := key
		for i := range ix.Columns {
			v, r, _, err := decodeColumn(&ix.Columns[i], rest, nil)
			if err != nil {
				return
			}
			vals, rest = append(vals, v), r
		}
		if got := EncodeKey(ix, vals, nil); !bytes.Equal(got, key[:len(key)-len(rest)]) {
			t.Fatalf("%x decodes to %v, which encodes to %x", key, vals, got)
		}
	})
}
