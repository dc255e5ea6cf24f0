package page

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/cespare/xxhash/v2"
)

func sealed(n int) ([]byte, Owner) {
	p := make([]byte, n)
	for i := range p[HeaderSize:] {
		p[HeaderSize+i] = byte(i * 7)
	}
	o := Owner{Relation: 0x01020304, Part: 0x0506070809}
	Seal(p, Header{Kind: KindBtreeLeaf, Flags: 3, Reserved: 0x1234, Owner: o, Block: 99})
	return p, o
}

// The header is what docs/format.md says, byte by byte.
func TestHeaderBytes(t *testing.T) {
	p, o := sealed(40)
	want := []byte{4, 3, 0x34, 0x12, 4, 3, 2, 1, 9, 8, 7, 6, 5, 0, 0, 0, 99, 0, 0, 0, 40, 0, 0, 0}
	if !bytes.Equal(p[:24], want) {
		t.Errorf("header\n% x, want\n% x", p[:24], want)
	}
	if got, want := binary.LittleEndian.Uint64(p[24:]), xxhash.Sum64(p[32:])^xxhash.Sum64(p[:24]); got != want {
		t.Errorf("checksum %016x, want %016x", got, want)
	}
	h := ParseHeader(p)
	if h.Kind != KindBtreeLeaf || h.Flags != 3 || h.Reserved != 0x1234 || h.Owner != o || h.Block != 99 {
		t.Errorf("parsed %+v", h)
	}
}

// Any flipped bit, any other length, and any other page is refused, by an error that names the page asked for.
func TestVerify(t *testing.T) {
	p, o := sealed(300)
	if err := Verify(p, o, 99); err != nil {
		t.Fatal(err)
	}
	refused := func(what string, err error) {
		t.Helper()
		var c *CorruptError
		if !errors.Is(err, ErrCorrupt) || !errors.As(err, &c) || c.Relation != o.Relation {
			t.Errorf("%s: %v, want a CorruptError of relation %d", what, err, o.Relation)
		}
	}
	for bit := range len(p) * 8 {
		p[bit/8] ^= 1 << (bit % 8)
		if err := Verify(p, o, 99); !errors.Is(err, ErrCorrupt) {
			t.Errorf("bit %d flipped: %v", bit, err)
		}
		p[bit/8] ^= 1 << (bit % 8)
	}
	for n := range len(p) {
		refused("cut off", Verify(p[:n], o, 99))
	}
	refused("longer", Verify(append(bytes.Clone(p), 0), o, 99))
	refused("too long", Verify(make([]byte, Size+1), o, 99))
	refused("another block", Verify(p, o, 98))
	refused("another part", Verify(p, Owner{o.Relation, o.Part + 1}, 99))
	if err := Verify(p, Owner{o.Relation + 1, o.Part}, 99); !errors.Is(err, ErrCorrupt) {
		t.Errorf("another relation: %v", err)
	}
}

type countingReader struct {
	pages map[uint32][]byte
	reads int
}

func (r *countingReader) Page(block uint32) (Ref, error) {
	r.reads++
	p, ok := r.pages[block]
	if !ok {
		return Ref{}, &CorruptError{Block: block, Detail: "page is missing"}
	}
	return NewRef(p, nil), nil
}
func (r *countingReader) Scan(uint32, uint32, func(uint32, []byte) (bool, error)) error { return nil }
func (r *countingReader) Blocks() uint32                                                { return uint32(len(r.pages)) }
func (r *countingReader) Owner() Owner                                                  { return Owner{1, 2} }

// A cache reads a page once, keeps it apart from the reader's memory, and keeps no errors.
func TestCachePage(t *testing.T) {
	r := &countingReader{pages: map[uint32][]byte{5: {1, 2, 3}}}
	c := NewCache(1 << 20)
	for range 3 {
		ref, err := c.Page(r, 5)
		if err != nil || !bytes.Equal(ref.Data, []byte{1, 2, 3}) {
			t.Fatalf("%v, %v", ref.Data, err)
		}
		r.pages[5][0] = 9 // as a block cache may reuse its memory once released
		ref.Release()
		r.pages[5] = []byte{1, 2, 3}
	}
	if r.reads != 1 {
		t.Errorf("%d reads, want 1", r.reads)
	}
	for range 2 {
		if _, err := c.Page(r, 6); !errors.Is(err, ErrCorrupt) {
			t.Errorf("a missing page: %v", err)
		}
	}
	if _, err := (*Cache)(nil).Page(r, 5); err != nil || r.reads != 4 {
		t.Errorf("without a cache: %v, %d reads, want 4", err, r.reads)
	}
}
