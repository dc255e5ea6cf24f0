// Package am is the contract between the engine and its index access methods.
//
// PostgreSQL's IndexAmRoutine, rethought for immutable runs: an access method never changes an index in place. It
// writes a run from the columns of one sealed segment, merges runs into one, and answers questions about a run.
// Rows that no run holds yet are the pending list's business (package pending), versions and retirement the
// engine's.
//
// Words: a run is one immutable, bulk-loaded index structure over the TIDs of an interval of segments; a condition
// is what a query wants of one index column (value.Ranges). What a method can do is data (Abilities); nobody asks a
// method its name to decide anything.
//
// Methods and opened runs may be used by any number of goroutines. What must never break: a run answers for exactly
// the rows it was made of, and a damaged page gives an error that matches page.ErrCorrupt, never a wrong answer or a
// panic.
package am

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"iter"

	"wideleaf/catalog"
	"wideleaf/page"
	"wideleaf/tid"
	"wideleaf/value"
)

// Abilities says what an access method can do.
type Abilities struct {
	Ordered     bool // amgettuple in key order, both directions (Cursor)
	Unique      bool
	MultiColumn bool
	Counts      bool // exact count of a condition from inner pages (Counter)
	Returns     bool // index-only: cursors return the key's values
	AnyColumn   bool // serves a condition on any of its columns, first or not
	Arrays      bool // conditions on the items of arrays (ArrayRun)
	Distance    bool // rows in order of a column's distance from a value, found by streams from it both ways (OrderedRun)
	Attach      int  // how many columns' values the postings of a column can carry (catalog.Index.Attach)
	MaxColumns  int
	MaxKeyBytes int // a longer key is refused; 0: none is
}

// ErrKeyTooLong is the kind of errors about keys over MaxKeyBytes.
var ErrKeyTooLong = errors.New("index row size exceeds maximum")

// RunMeta is what the manifest keeps of one run.
type RunMeta struct {
	Blocks  uint32 // pages of the run; its blocks are 0..Blocks-1
	Root    uint32 // block of the top page
	Levels  uint32 // 1: the root is a leaf; 0: the run is empty
	Entries uint64 // entries in all
	Nulls   uint64 // of these, entries filed apart as NULL (single-column runs)
	Rows    uint64 // rows that the entries are of
}

// Append and DecodeRunMeta are RunMeta's stored form.
func (m RunMeta) Append(b []byte) []byte {
	for _, x := range [...]uint64{uint64(m.Blocks), uint64(m.Root), uint64(m.Levels), m.Entries, m.Nulls, m.Rows} {
		b = binary.AppendUvarint(b, x)
	}
	return b
}

// DecodeRunMeta decodes a RunMeta from the front of b and returns the rest.
func DecodeRunMeta(b []byte) (m RunMeta, rest []byte, err error) {
	var x [6]uint64
	for i := range x {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return m, nil, errors.New("run metadata ends early")
		}
		x[i], b = v, b[n:]
	}
	return RunMeta{uint32(x[0]), uint32(x[1]), uint32(x[2]), x[3], x[4], x[5]}, b, nil
}

// Span is the interval of segments [First, End) whose rows a run holds.
type Span struct{ First, End uint64 }

// Source is the rows of one sealed segment, as an access method gets them: row i has the TID Base+i. Dead, if not nil,
// holds the offsets to leave out. Column loads a column of the index, by its place in it; Release gives a vector's memory
// back for the next, so that an index over many columns need not have all of them in memory.
type Source struct {
	Base    tid.TID
	Rows    int
	Column  func(i int) (*value.Vector, error)
	Release func(*value.Vector)
	Dead    *tid.Bits
}

// Method is an access method.
type Method interface {
	// Name is the method's name in definitions and messages.
	Name() string
	Abilities() Abilities
	// Build writes the run of one segment. Owner is what its pages say they belong to. yield, called often (every
	// 0.1 ms or so of work), lets background work make room and returns an error when it must stop.
	Build(ix *catalog.Index, owner page.Owner, src Source, w page.Writer, yield func() error) (RunMeta, error)
	// Merge writes one run of the entries of several, leaving out TIDs for which dead (may be nil) is true. The runs'
	// spans are disjoint; span covers them all.
	Merge(ix *catalog.Index, owner page.Owner, runs []Run, span Span, dead func(tid.TID) bool, w page.Writer, yield func() error) (RunMeta, error)
	// Open returns a run over its pages. cache keeps decoded inner pages; it is shared by all runs.
	Open(ix *catalog.Index, meta RunMeta, span Span, r page.Reader, cache *page.Cache) (Run, error)
}

// Conditions are what a scan asks for: one entry an index column, nil for a column without condition; all must hold.
type Conditions []*value.Ranges

// Estimate is the number of entries of a run that match, from inner pages alone.
type Estimate struct {
	Rows  float64
	Pages float64 // leaf pages a scan would read
	Exact bool
}

// Run is an opened run.
type Run interface {
	Meta() RunMeta
	Span() Span
	// Bitmap (amgetbitmap) adds the TIDs that match to b and reports whether the rows must be rechecked against
	// the conditions (then some of them may not match).
	Bitmap(ctx context.Context, c Conditions, b *tid.Builder) (recheck bool, err error)
	// Estimate reads inner pages only.
	Estimate(c Conditions) (Estimate, error)
	// Check verifies the run's invariants (amcheck): order, bounds, counts, checksums, reachability.
	Check(ctx context.Context) error
}

// ArrayRun is a run that serves conditions on the arrays of one of the index's columns (Abilities.Arrays), which is given
// by its place in the index. Both methods are as those of Run.
type ArrayRun interface {
	BitmapArray(ctx context.Context, column int, m *value.ArrayMatch, b *tid.Builder) (recheck bool, err error)
	EstimateArray(column int, m *value.ArrayMatch) (Estimate, error)
}

// Order is a scan in the order of one column's values. Columns are given by their places in the index.
type Order struct {
	Column   int           // a column of a fixed-width type whose values order
	Ranges   *value.Ranges // condition on Column; nil: all rows, NULLs included
	Backward bool
	// To is the column whose postings carry Column's value (catalog.Index.Attach), with a condition on it: Match if it
	// is an array, else Cond; -1: Column's own entries.
	To    int
	Match *value.ArrayMatch
	Cond  *value.Ranges
}

// Posting is a row as an ordered scan yields it.
type Posting struct {
	Code    uint64 // value.KeyCode of the ordering column's value
	Null    bool   // it is NULL: then Code is 0
	Recheck bool   // the row may not match what was asked of To
	TID     tid.TID
}

// Compare orders postings as a forward scan yields them.
func (p Posting) Compare(o Posting) int {
	switch {
	case p.Null != o.Null && p.Null:
		return 1
	case p.Null != o.Null:
		return -1
	}
	return cmp.Or(cmp.Compare(p.Code, o.Code), cmp.Compare(p.TID, o.TID))
}

// OrderedRun is a run that yields rows in order of a column. Ordered is lazy: it reads leaves as it is asked for their
// rows. Rows come in (Code, TID) order, NULLs behind all codes; the whole turned round when backward. ok is false for orders
// that the run can't keep; damage found on the way comes as the last element. Breaking out of the loop ends the scan.
type OrderedRun interface {
	Ordered(ctx context.Context, o *Order) (rows iter.Seq2[Posting, error], ok bool)
}

// ScoredRun is a run that tells from its pages alone how many items the arrays of a column have in common with others.
// Similar calls add once for each row whose array has one of m's items at least (m.Codes or m.Texts; m.Op is not looked at),
// in no order: common is the number of m's items that it has, length that of its items, each counted once and NULLs not at
// all. exact is false, and nothing was added, when the items are too long to be told apart.
type ScoredRun interface {
	Similar(ctx context.Context, column int, m *value.ArrayMatch, add func(t tid.TID, common, length int) error) (exact bool, err error)
}

// Counter is a run that counts exactly without visiting the entries in between (Abilities.Counts). ok is false for
// conditions that it can't count so.
type Counter interface {
	Count(c Conditions) (n int64, ok bool, err error)
}

// Entry is one index entry as a cursor yields it: the row and, when asked for, the values of the index's columns.
// Values is valid until the next step.
type Entry struct {
	TID    tid.TID
	Key    []byte // order-preserving key of the whole entry; entries of one index compare by (Key, TID) as the index orders them
	Values []value.Value
}

// Cursor is a run that yields entries in index order (Abilities.Ordered): in key order, in TID order among
// equal keys, both turned round when backward. Keys of different runs of one index compare by bytes.Compare, so that
// a caller can merge runs. Breaking out of the loop ends the scan.
type Cursor interface {
	Cursor(ctx context.Context, c Conditions, backward bool) iter.Seq2[Entry, error]
}

// KeyEncoder makes the Entry.Key of a row that no run holds yet (Abilities.Ordered), so that pending rows merge into
// a cursor's order. It appends to dst.
type KeyEncoder interface {
	EncodeKey(ix *catalog.Index, vals []value.Value, dst []byte) []byte
}

// Loader is a method that can write a run from entries which somebody else has sorted (package buildparallel): entries
// are in key order and, among equal keys, in TID order. Methods without it have their runs built segment by segment.
type Loader interface {
	// Codes reports whether the index files the codes (value.KeyCode) of its only column, NULLs behind them. Otherwise
	// it files keys: byte strings, none of which is the beginning of another.
	Codes(ix *catalog.Index) bool
	// AppendKey appends the key of row i, whose values are in cols in the index's order. A key that is too long gives an
	// error that matches ErrKeyTooLong.
	AppendKey(ix *catalog.Index, cols []*value.Vector, i int, dst []byte) ([]byte, error)
	// HasNull reports whether a value in a key is NULL.
	HasNull(ix *catalog.Index, key []byte) bool
	// Load begins a run. yield is called as by Method.Build.
	Load(ix *catalog.Index, owner page.Owner, w page.Writer, yield func() error) Load
}

// Load is a run that is being loaded.
type Load interface {
	// NewPart returns an empty part, which is filled by one goroutine while others fill theirs.
	NewPart(yield func() error) Part
	// Add writes a part behind those already added and empties it.
	Add(p Part) error
	// Finish ends the run.
	Finish() (RunMeta, error)
}

// Part is the entries of an interval of keys, in order, on their way into pages. TIDs are relative to the first one of
// the run's span.
type Part interface {
	// Words adds entries packed as (code-base)<<shift | TID, Entries those given by code and TID, Nulls those that come
	// behind all codes.
	Words(a []uint64, base uint64, shift uint) error
	Entries(codes []uint64, tids []uint32) error
	Nulls(tids []uint32) error
	// Key adds an entry by its key.
	Key(key []byte, tid uint32) error
	// Free gives the part's memory back.
	Free()
}
