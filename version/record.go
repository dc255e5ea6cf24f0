package version

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"wideleaf/am"
	"wideleaf/catalog"
	"wideleaf/heap"
	"wideleaf/tid"
	"wideleaf/value"
)

// Records are what the store keeps of the structure (docs/format.md): one small record a table, index, segment and
// group run, so that publishing a flush writes a few records and never rewrites a list.

// Prefixes of record keys.
const (
	TablePrefix   = 't'
	IndexPrefix   = 'i'
	SegmentPrefix = 's'
	RunPrefix     = 'r'
	DeadPrefix    = 'd'
	LoadingPrefix = 'l'
	MiscPrefix    = 'm'
)

var errRecord = errors.New("record ends early")

// TableKey, IndexKey, SegmentKey and RunKey are the keys of records.
func TableKey(id uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{TablePrefix}, id)
}
func IndexKey(id uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{IndexPrefix}, id)
}
func SegmentKey(table uint32, segment uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32([]byte{SegmentPrefix}, table), segment)
}
func RunKey(group uint32, ordinal uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32([]byte{RunPrefix}, group), ordinal)
}

// LoadingKey is the key of the record that is there while a table is being filled and nobody is to find it; LoadingTable
// returns the table of such a key.
func LoadingKey(table uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{LoadingPrefix}, table)
}
func LoadingTable(key []byte) (table uint32, ok bool) {
	if len(key) != 5 {
		return 0, false
	}
	return binary.BigEndian.Uint32(key[1:]), true
}

// SequenceKey is the key of the record that holds the last relation number given out.
func SequenceKey() []byte { return []byte{MiscPrefix, 1} }

// tableRecord, columnRecord and valueRecord are a table's definition as it is stored.
type tableRecord struct {
	ID      uint32
	Name    string
	Columns []columnRecord
	Dropped []catalog.Dropped `json:",omitempty"`
	First   uint64            `json:",omitempty"`
}

type columnRecord struct {
	Attno   int
	Name    string
	Type    value.Type
	NotNull bool
	Default *valueRecord `json:",omitempty"`
	Missing *valueRecord `json:",omitempty"`
	First   uint64       `json:",omitempty"`
}

// valueRecord is a value that is not NULL.
type valueRecord struct {
	Code  uint64 `json:",omitempty"` // of fixed-width types
	Bytes []byte `json:",omitempty"` // of the others
}

func recordValue(v value.Value) *valueRecord {
	if v.IsNull() {
		return nil
	}
	if v.Type().Width() == value.Var {
		return &valueRecord{Bytes: []byte(v.Str())}
	}
	return &valueRecord{Code: v.Code()}
}

func (r *valueRecord) value(t value.Type) value.Value {
	if r == nil {
		return value.Value{}
	}
	if t.Width() == value.Var {
		return value.OfStr(t, string(r.Bytes))
	}
	return value.OfCode(t, r.Code)
}

// EncodeTable, DecodeTable, EncodeIndex and DecodeIndex are the stored form of definitions: JSON, so that a later
// version can add to them.
func EncodeTable(t *catalog.Table) ([]byte, error) {
	r := tableRecord{ID: t.ID, Name: t.Name, Dropped: t.Dropped, First: t.First}
	for _, c := range t.Columns {
		r.Columns = append(r.Columns, columnRecord{c.Attno, c.Name, c.Type, c.NotNull, recordValue(c.Default), recordValue(c.Missing), c.First})
	}
	return json.Marshal(r)
}
func DecodeTable(b []byte) (*catalog.Table, error) {
	var r tableRecord
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, err
	}
	t := &catalog.Table{ID: r.ID, Name: r.Name, Dropped: r.Dropped, First: r.First}
	for i, c := range r.Columns {
		if !c.Type.Valid() {
			return nil, fmt.Errorf("column %q of table %q has the unknown type %d", c.Name, t.Name, uint8(c.Type))
		}
		if i > 0 && c.Attno <= r.Columns[i-1].Attno {
			return nil, fmt.Errorf("the columns of table %q are out of order", t.Name)
		}
		t.Columns = append(t.Columns, catalog.Column{Attno: c.Attno, Name: c.Name, Type: c.Type, NotNull: c.NotNull,
			Default: c.Default.value(c.Type), Missing: c.Missing.value(c.Type), First: c.First})
	}
	return t, nil
}
func EncodeIndex(ix *catalog.Index) ([]byte, error) { return json.Marshal(ix) }
func DecodeIndex(b []byte) (*catalog.Index, error) {
	ix := new(catalog.Index)
	return ix, json.Unmarshal(b, ix)
}

// SegmentRecord is what the manifest says of a flushed segment.
type SegmentRecord struct {
	Table   uint32
	Segment uint64
	Ordinal uint64 // SST that holds its pages, from index 0 on
	Bytes   uint64 // stored size of its pages
	Meta    heap.SegmentMeta
	Extent  int       // rows with those of Holes
	Holes   *tid.Bits // rows that are not stored, nil if all are
}

// Key returns the record's key.
func (r SegmentRecord) Key() []byte { return SegmentKey(r.Table, r.Segment) }

// Value returns the record's value.
func (r SegmentRecord) Value() []byte {
	b := binary.AppendUvarint(nil, r.Ordinal)
	b = binary.AppendUvarint(b, r.Bytes)
	b = r.Meta.Append(b)
	if r.Holes != nil {
		b = tid.AppendBits(binary.AppendUvarint(b, uint64(r.Extent)), r.Holes)
	}
	return b
}

// DecodeSegmentRecord is their inverse.
func DecodeSegmentRecord(key, value []byte) (SegmentRecord, error) {
	var r SegmentRecord
	if len(key) != 13 {
		return r, errRecord
	}
	r.Table, r.Segment = binary.BigEndian.Uint32(key[1:]), binary.BigEndian.Uint64(key[5:])
	var err error
	if r.Ordinal, value, err = uvarint(value); err != nil {
		return r, err
	}
	if r.Bytes, value, err = uvarint(value); err != nil {
		return r, err
	}
	if r.Meta, value, err = heap.DecodeSegmentMeta(value); err != nil {
		return r, err
	}
	r.Extent = int(r.Meta.Rows)
	if len(value) > 0 {
		n := uint64(0)
		if n, value, err = uvarint(value); err != nil {
			return r, err
		}
		r.Extent = int(min(n, tid.SegmentRows+1)) // which no segment has
		r.Holes, err = tid.DecodeBits(value)
	}
	return r, err
}

// IndexRun is one index's part of a group run.
type IndexRun struct {
	Index uint32
	First uint32 // index of its first page in the SST
	Meta  am.RunMeta
	// FilterBlocks is how many pages its filter has, which follow the run's: none, if the index isn't unique.
	FilterBlocks uint32
}

// RunRecord is what the manifest says of a group run.
type RunRecord struct {
	Group   uint32
	Ordinal uint64
	Span    am.Span
	Bytes   uint64 // stored size of its pages
	Entries uint64
	Indexes []IndexRun
	Gone    *tid.Dead // deleted rows of its segments that it was written without
}

// Key returns the record's key.
func (r RunRecord) Key() []byte { return RunKey(r.Group, r.Ordinal) }

// Value returns the record's value.
func (r RunRecord) Value() []byte {
	b := make([]byte, 0, 32+16*len(r.Indexes))
	for _, x := range [...]uint64{r.Span.First, r.Span.End, r.Bytes, r.Entries, uint64(len(r.Indexes))} {
		b = binary.AppendUvarint(b, x)
	}
	for _, ix := range r.Indexes {
		b = binary.AppendUvarint(b, uint64(ix.Index))
		b = binary.AppendUvarint(b, uint64(ix.First))
		b = ix.Meta.Append(b)
		b = binary.AppendUvarint(b, uint64(ix.FilterBlocks))
	}
	for _, p := range r.Gone.Parts() {
		bits := tid.AppendBits(nil, p.Bits)
		b = binary.AppendUvarint(b, p.Segment-r.Span.First)
		b = append(binary.AppendUvarint(b, uint64(len(bits))), bits...)
	}
	return b
}

// DecodeRunRecord is their inverse.
func DecodeRunRecord(key, value []byte) (RunRecord, error) {
	var r RunRecord
	if len(key) != 13 {
		return r, errRecord
	}
	r.Group, r.Ordinal = binary.BigEndian.Uint32(key[1:]), binary.BigEndian.Uint64(key[5:])
	var n uint64
	var err error
	for _, x := range []*uint64{&r.Span.First, &r.Span.End, &r.Bytes, &r.Entries, &n} {
		if *x, value, err = uvarint(value); err != nil {
			return r, err
		}
	}
	for range n {
		var id, first uint64
		if id, value, err = uvarint(value); err != nil {
			return r, err
		}
		if first, value, err = uvarint(value); err != nil {
			return r, err
		}
		var m am.RunMeta
		if m, value, err = am.DecodeRunMeta(value); err != nil {
			return r, err
		}
		var blocks uint64
		if blocks, value, err = uvarint(value); err != nil {
			return r, err
		}
		r.Indexes = append(r.Indexes, IndexRun{uint32(id), uint32(first), m, uint32(blocks)})
	}
	var gone []tid.DeadSegment
	for len(value) > 0 {
		var seg, size uint64
		if seg, value, err = uvarint(value); err != nil {
			return r, err
		}
		if size, value, err = uvarint(value); err != nil || size > uint64(len(value)) {
			return r, errRecord
		}
		bits, err := tid.DecodeBits(value[:size])
		if err != nil {
			return r, err
		}
		gone = append(gone, tid.DeadSegment{Segment: r.Span.First + seg, Rows: bits.Count(), Bits: bits})
		value = value[size:]
	}
	if len(gone) > 0 {
		r.Gone = r.Gone.With(gone...)
	}
	return r, nil
}

// DeadKey is the key of the record that holds a segment's deleted rows, put together from many commits' deletes.
func DeadKey(table uint32, segment uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32([]byte{DeadPrefix}, table), segment)
}

// EncodeDead and DecodeDead are the value of such a record, of which key is the key.
func EncodeDead(p tid.DeadSegment) []byte {
	return tid.AppendBits(binary.AppendUvarint(nil, p.Last), p.Bits)
}
func DecodeDead(key, value []byte) (table uint32, p tid.DeadSegment, err error) {
	if len(key) != 13 {
		return 0, p, errRecord
	}
	table, p.Segment = binary.BigEndian.Uint32(key[1:]), binary.BigEndian.Uint64(key[5:])
	if p.Last, value, err = uvarint(value); err != nil {
		return 0, p, err
	}
	if p.Bits, err = tid.DecodeBits(value); err != nil {
		return 0, p, err
	}
	p.Rows = p.Bits.Count()
	return table, p, nil
}

// EncodeDelete and DecodeDelete are what the log keeps of a commit that deleted rows of a segment: these, and how many the
// segment had before, by which a delete that got lost is noticed when another follows.
func EncodeDelete(before int, rows *tid.Bits) []byte {
	return tid.AppendBits(binary.AppendUvarint(nil, uint64(before)), rows)
}
func DecodeDelete(b []byte) (before int, rows *tid.Bits, err error) {
	n, b, err := uvarint(b)
	if err != nil {
		return 0, nil, err
	}
	rows, err = tid.DecodeBits(b)
	return int(n), rows, err
}

func uvarint(b []byte) (uint64, []byte, error) {
	x, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil, errRecord
	}
	return x, b[n:], nil
}
