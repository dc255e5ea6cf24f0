// Package page defines the page: the unit of storage, caching, verification and inspection.
//
// A page is a logical 8,192 bytes, immutable once sealed, and stored trimmed of its free space. It begins with a
// header (docs/format.md) that names its kind and its owner: the relation it belongs to (a table or an index), the
// segment or run of that relation, and its block number in it. A page does not know its number in the database, so
// equal content makes equal pages.
//
// The functions here are pure and may be called concurrently. What must never break: Verify accepts a page only if
// its checksum is right and it is the page that was asked for.
package page

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cespare/xxhash/v2"
)

// Size is the logical size of a page and the most that one may hold, HeaderSize the part taken by its header.
const (
	Size       = 8192
	HeaderSize = 32
)

// Kind says what a page holds. The numbers are part of the format: never reuse one.
type Kind uint8

// The kinds of pages.
const (
	KindColumn     Kind = 1 // values of one column of a heap segment
	KindSummary    Kind = 2 // a heap segment's directory: where each column's pages are, with min and max
	KindOverflow   Kind = 3 // part of a value that is too long for a column page
	KindBtreeLeaf  Kind = 4 // sorted (key, TID) entries
	KindBtreeInner Kind = 5 // separators and entry counts of the pages below
	KindFilter     Kind = 6 // part of the filter of a unique index's run

	KindGinEntryLeaf  Kind = 8  // entries and posting lists of one column
	KindGinEntryInner Kind = 9  // as KindBtreeInner
	KindGinColumns    Kind = 10 // where each column's tree is in a run

	KindRumEntryLeaf  Kind = 11 // as GIN's
	KindRumEntryInner Kind = 12
	KindRumColumns    Kind = 13

	// Images that package pageinspect makes of what is not stored in pages.
	KindBtreeMeta Kind = 64
	KindGinMeta   Kind = 65
	KindPending   Kind = 66 // rows that no run of an index holds
	KindTail      Kind = 67 // rows of a table that no segment holds
	KindRumMeta   Kind = 68
)

func (k Kind) String() string {
	switch k {
	case KindColumn:
		return "heap column"
	case KindSummary:
		return "heap summary"
	case KindOverflow:
		return "heap overflow"
	case KindBtreeLeaf:
		return "btree leaf"
	case KindBtreeInner:
		return "btree internal"
	case KindFilter:
		return "filter"
	case KindGinEntryLeaf:
		return "gin entry leaf"
	case KindGinEntryInner:
		return "gin entry internal"
	case KindGinColumns:
		return "gin columns"
	case KindRumEntryLeaf:
		return "rum entry leaf"
	case KindRumEntryInner:
		return "rum entry internal"
	case KindRumColumns:
		return "rum columns"
	case KindBtreeMeta:
		return "btree meta"
	case KindGinMeta:
		return "gin meta"
	case KindPending:
		return "pending"
	case KindTail:
		return "heap tail"
	case KindRumMeta:
		return "rum metapage"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Owner names what a page belongs to: a relation (table or index) and one of its segments or runs.
type Owner struct {
	Relation uint32
	Part     uint64 // segment of a table, run of an index
}

// Header is the decoded header of a page.
type Header struct {
	Kind     Kind
	Flags    uint8
	Reserved uint16 // free for the kind's use
	Owner
	Block    uint32
	Checksum uint64
}

// ErrCorrupt is the kind of all errors about pages whose bytes are not what was written.
var ErrCorrupt = errors.New("page is corrupt")

// CorruptError says which page is damaged and how. It matches ErrCorrupt.
type CorruptError struct {
	Owner
	Block  uint32
	Detail string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("invalid page in block %d of relation %d (part %d): %s", e.Block, e.Relation, e.Part, e.Detail)
}

// Is makes errors.Is(err, ErrCorrupt) true.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// Seal writes the header into the first HeaderSize bytes of p, whose content follows them, and the checksum over
// everything else.
func Seal(p []byte, h Header) {
	p[0], p[1] = byte(h.Kind), h.Flags
	binary.LittleEndian.PutUint16(p[2:], h.Reserved)
	binary.LittleEndian.PutUint32(p[4:], h.Relation)
	binary.LittleEndian.PutUint64(p[8:], h.Part)
	binary.LittleEndian.PutUint32(p[16:], h.Block)
	binary.LittleEndian.PutUint32(p[20:], uint32(len(p)))
	binary.LittleEndian.PutUint64(p[24:], Checksum(p))
}

// Checksum returns xxhash64 over the page's content, the checksum field itself taken as absent.
func Checksum(p []byte) uint64 {
	return xxhash.Sum64(p[HeaderSize:]) ^ xxhash.Sum64(p[:24])
}

// ParseHeader decodes a header without judging it; p must hold at least HeaderSize bytes.
func ParseHeader(p []byte) Header {
	return Header{
		Kind:     Kind(p[0]),
		Flags:    p[1],
		Reserved: binary.LittleEndian.Uint16(p[2:]),
		Owner: Owner{
			Relation: binary.LittleEndian.Uint32(p[4:]),
			Part:     binary.LittleEndian.Uint64(p[8:]),
		},
		Block:    binary.LittleEndian.Uint32(p[16:]),
		Checksum: binary.LittleEndian.Uint64(p[24:]),
	}
}

// Verify checks that p is whole and is block `block` of owner o.
func Verify(p []byte, o Owner, block uint32) error {
	bad := func(format string, args ...any) error {
		return &CorruptError{Owner: o, Block: block, Detail: fmt.Sprintf(format, args...)}
	}
	if len(p) < HeaderSize || len(p) > Size {
		return bad("it has %d bytes", len(p))
	}
	h := ParseHeader(p)
	if n := binary.LittleEndian.Uint32(p[20:]); n != uint32(len(p)) {
		return bad("it has %d bytes, its header says %d", len(p), n)
	}
	if sum := Checksum(p); sum != h.Checksum {
		return bad("checksum is %016x, expected %016x", sum, h.Checksum)
	}
	if h.Owner != o || h.Block != block {
		return bad("it says that it is block %d of relation %d (part %d)", h.Block, h.Relation, h.Part)
	}
	return nil
}

// Writer takes the sealed pages of one owner in block order, beginning with block 0. The page's memory stays the
// caller's.
type Writer interface {
	WritePage(p []byte) error
}

// Ref is a page in memory. Data must not be changed, and is valid until Release, which must be called once.
type Ref struct {
	Data    []byte
	release func() error
}

// NewRef returns a reference whose Release calls release, which may be nil.
func NewRef(data []byte, release func() error) Ref { return Ref{data, release} }

// Release lets go of the page's memory.
func (r Ref) Release() {
	if r.release != nil {
		_ = r.release() // unpinning a cached block has nothing to report
	}
}

// Reader reads the verified pages of one owner; it may be used concurrently. Errors match ErrCorrupt when the
// page is damaged or missing.
type Reader interface {
	// Page returns one page.
	Page(block uint32) (Ref, error)
	// Scan calls f for the pages first..last in order (last included), with memory that is valid during the call
	// only. It ends early without error when f returns false.
	Scan(first, last uint32, f func(block uint32, p []byte) (bool, error)) error
	// Blocks is the number of pages.
	Blocks() uint32
	// Owner is what every page says it belongs to.
	Owner() Owner
}
