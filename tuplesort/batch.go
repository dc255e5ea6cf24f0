package tuplesort

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"wideleaf/am/leaf"
	"wideleaf/am/sortrun"
	"wideleaf/page"
)

// MaxKey is how many bytes a key may have.
const MaxKey = page.Size / 3

// Entry is a byte key and a TID, in this order.
type Entry struct {
	Key []byte
	TID uint32
}

// Compare returns a negative number if e comes before o, and a positive one if it comes after it.
func (e Entry) Compare(o Entry) int {
	if c := bytes.Compare(e.Key, o.Key); c != 0 {
		return c
	}
	switch {
	case e.TID < o.TID:
		return -1
	case e.TID > o.TID:
		return 1
	}
	return 0
}

// Run is sorted entries, in memory or on tape.
type Run struct {
	text  []byte // keys, each behind its length in two bytes
	pairs []sortrun.Pair

	tape   *Tape
	owner  page.Owner
	places []Place
	firsts []Entry // of each page
	n      int
}

const (
	lengthBytes = 2
	maxText     = math.MaxUint32 - page.Size // places in the text take 32 bits
	pairBytes   = 16
	minBatch    = 64 << 10
)

func val(at int, t uint32) uint64 { return uint64(at)<<32 | uint64(t) }

// Entries returns how many entries the run has.
func (r *Run) Entries() int { return r.n }

// OnTape reports whether the run is on tape.
func (r *Run) OnTape() bool { return r.tape != nil }

// Release gives the memory of a run back, which is of no use then.
func (r *Run) Release(m *Memory) {
	m.pairs.Give(r.pairs)
	m.texts.Give(r.text)
	r.pairs, r.text = nil, nil
}

// entry returns an entry of a run in memory.
func (r *Run) entry(i int) Entry {
	x := r.pairs[i]
	return Entry{r.keyAt(x), uint32(x.Val)}
}

func (r *Run) keyAt(x sortrun.Pair) []byte {
	at := x.Val >> 32
	n := uint64(binary.LittleEndian.Uint16(r.text[at:]))
	at += lengthBytes
	return r.text[at : at+n]
}

// BatchOptions are what a batch works with.
type BatchOptions struct {
	Limit  int64      // bytes of keys and what they are sorted with, from 64 KiB on
	Memory *Memory    // where that comes from
	Tape   *Tape      // where full batches go
	Owner  page.Owner // of the pages on it; the upper half of Part is taken
	Trace  *Tracer
	Yield  func() error // called between small pieces of work; an error ends it
}

// Batch gathers entries of byte keys, which must come in the order of their TIDs, and makes sorted runs of them. They are
// sorted as pairs of a prefix, the eight bytes behind what all keys of a batch begin with, and the key's place; what is equal
// in the prefix is put right by comparing keys. It belongs to one goroutine.
type Batch struct {
	o    BatchOptions
	run  Run
	runs []Run // on tape
	n    int
}

// NewBatch returns an empty batch.
func NewBatch(o BatchOptions) *Batch {
	o.Limit = min(max(o.Limit, minBatch), 2*maxText)
	return &Batch{o: o}
}

// Add adds an entry, whose key the function appends.
func (w *Batch) Add(t uint32, key func([]byte) ([]byte, error)) error {
	r := &w.run
	for cap(r.text)-len(r.text) < page.Size || len(r.pairs) == cap(r.pairs) {
		if err := w.room(); err != nil {
			return err
		}
	}
	at := len(r.text)
	text, err := key(append(r.text, 0, 0))
	if err != nil {
		return err
	}
	binary.LittleEndian.PutUint16(text[at:], uint16(len(text)-at-lengthBytes))
	r.text = text
	r.pairs = append(r.pairs, sortrun.Pair{Val: val(at, t)})
	if w.n++; w.n&1023 == 0 {
		return w.o.Yield()
	}
	return nil
}

// room makes room for another key: it grows the batch, of which a quarter is pairs and as much the memory to sort them, or
// writes it to tape.
func (w *Batch) room() error {
	r := &w.run
	limit := min(int(w.o.Limit)/2, maxText)
	maxPairs := int(w.o.Limit) / 4 / pairBytes
	switch {
	case cap(r.text)-len(r.text) < page.Size && cap(r.text) < limit+page.Size:
		n := min(max(2*cap(r.text), 256<<10), limit) + page.Size
		old := r.text
		r.text = append(w.o.Memory.texts.Take(n), old...)
		w.o.Memory.texts.Give(old)
	case len(r.pairs) == cap(r.pairs) && len(r.pairs) < maxPairs:
		n := min(max(2*cap(r.pairs), 4096), maxPairs)
		old := r.pairs
		r.pairs = append(w.o.Memory.pairs.Take(n), old...)
		w.o.Memory.pairs.Give(old)
	default:
		return w.spill()
	}
	return nil
}

// End sorts what is left, which stays in memory, and returns all runs.
func (w *Batch) End() ([]Run, error) {
	w.o.Trace.Performing()
	if r := &w.run; len(r.pairs) > 0 {
		if err := w.sort(); err != nil {
			return nil, err
		}
		r.n = len(r.pairs)
		w.runs = append(w.runs, *r)
	}
	w.o.Trace.Performed(w.o.Tape, int64(cap(w.run.text))+int64(cap(w.run.pairs))*pairBytes)
	return w.runs, nil
}

// sort sorts the batch.
func (w *Batch) sort() error {
	w.o.Trace.Sorting(len(w.runs))
	r := &w.run
	// What all keys begin with says nothing.
	common := -1
	var first []byte
	for i := range r.pairs {
		key := r.keyAt(r.pairs[i])
		if common < 0 {
			first, common = key, len(key)
		}
		common = leaf.Common(first[:common], key)
	}
	for i := range r.pairs {
		r.pairs[i].Key = prefix(r.keyAt(r.pairs[i])[common:])
	}
	tmp := w.o.Memory.pairs.Take(len(r.pairs))
	defer w.o.Memory.pairs.Give(tmp)
	if err := sortrun.SortPairs(r.pairs, tmp[:len(r.pairs)], w.o.Yield); err != nil {
		return err
	}
	order := func(x, y sortrun.Pair) int {
		if c := bytes.Compare(r.keyAt(x), r.keyAt(y)); c != 0 {
			return c
		}
		if x.Val < y.Val { // keys come in TID order
			return -1
		}
		return 1
	}
	work := 0
	for i := 1; i < len(r.pairs); i++ {
		if r.pairs[i].Key != r.pairs[i-1].Key {
			continue
		}
		from := i - 1
		for i < len(r.pairs) && r.pairs[i].Key == r.pairs[from].Key {
			i++
		}
		tied := r.pairs[from:i]
		if !slices.IsSortedFunc(tied, order) {
			slices.SortFunc(tied, order)
		}
		if work += len(tied); work > 4096 {
			work = 0
			if err := w.o.Yield(); err != nil {
				return err
			}
		}
	}
	w.o.Trace.Sorted(len(w.runs))
	return nil
}

// spill writes the batch to tape as a sorted run.
func (w *Batch) spill() error {
	if len(w.runs) == 0 {
		w.o.Trace.External()
	}
	if err := w.sort(); err != nil {
		return err
	}
	in := &w.run
	r := Run{tape: w.o.Tape, n: len(in.pairs), owner: page.Owner{Relation: w.o.Owner.Relation, Part: w.o.Owner.Part<<32 | uint64(len(w.runs))}}
	var bl leaf.BytesBuilder
	var text []byte
	var ends []int
	var tids []uint32
	var first Entry
	endPage := func() error {
		at, err := w.o.Tape.Write(bl.Seal(page.KindBtreeLeaf, r.owner, uint32(len(r.places))))
		r.places = append(r.places, at)
		bl.Reset()
		if err != nil {
			return err
		}
		return w.o.Yield()
	}
	block := func() error {
		if len(tids) == 0 {
			return nil
		}
		if bl.Entries() >= leaf.BytesBlockEntries*16 || !bl.Add(text, ends, tids) {
			if err := endPage(); err != nil {
				return err
			}
			bl.Add(text, ends, tids)
		}
		if bl.Entries() == len(tids) {
			r.firsts = append(r.firsts, Entry{slices.Clone(first.Key), first.TID})
		}
		text, ends, tids = text[:0], ends[:0], tids[:0]
		return nil
	}
	bl.Reset()
	for i := range in.pairs {
		b := in.entry(i)
		if len(tids) == 0 {
			first = b
		}
		text = append(text, b.Key...)
		ends, tids = append(ends, len(text)), append(tids, b.TID)
		if len(tids) == leaf.BytesBlockEntries || len(text) >= leaf.BytesBlockBytes {
			if err := block(); err != nil {
				return err
			}
		}
	}
	if err := block(); err != nil {
		return err
	}
	if bl.Entries() > 0 {
		if err := endPage(); err != nil {
			return err
		}
	}
	w.runs = append(w.runs, r)
	w.o.Trace.Wrote(len(w.runs))
	in.text, in.pairs = in.text[:0], in.pairs[:0]
	return w.o.Tape.Flush()
}

// prefix returns the first eight bytes as a number, zeros standing for what is missing.
func prefix(b []byte) uint64 {
	if len(b) >= 8 {
		return binary.BigEndian.Uint64(b)
	}
	var p [8]byte
	copy(p[:], b)
	return binary.BigEndian.Uint64(p[:])
}
