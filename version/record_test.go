package version

import (
	"bytes"
	"reflect"
	"testing"

	"wideleaf/am"
	"wideleaf/catalog"
	"wideleaf/heap"
	"wideleaf/tid"
	"wideleaf/value"
)

// bitsOf returns a bitset with the given offsets.
func bitsOf(offsets ...uint16) *tid.Bits {
	b := new(tid.Bits)
	for _, o := range offsets {
		b[o>>6] |= 1 << (o & 63)
	}
	return b
}

func deadPart(segment uint64, offsets ...uint16) tid.DeadSegment {
	return tid.DeadSegment{Segment: segment, Rows: len(offsets), Bits: bitsOf(offsets...)}
}

// stored is a record with its key and value, and what decodes such a pair.
type stored struct {
	name       string
	key, value []byte
	want       any
	decode     func(key, value []byte) (any, error)
}

func records(t testing.TB) []stored {
	var noDead *tid.Dead
	full := SegmentRecord{Table: 7, Segment: 1 << 40, Ordinal: 300, Bytes: 1 << 33, Extent: 65536,
		Meta: heap.SegmentMeta{Rows: 65536, Blocks: 900, Columns: 128, Summary: 890, SummaryBytes: 70000}}
	sparse := full
	sparse.Holes, sparse.Meta.Rows = bitsOf(0, 63, 64, 65535), 65532
	run := RunRecord{Group: 9, Ordinal: 1 << 35, Span: am.Span{First: 4, End: 12}, Bytes: 12345, Entries: 77, Indexes: []IndexRun{
		{Index: 3, First: 0, Meta: am.RunMeta{Blocks: 5, Root: 4, Levels: 2, Entries: 70, Nulls: 1, Rows: 70}, FilterBlocks: 2},
		{Index: 8, First: 7, Meta: am.RunMeta{Blocks: 1, Levels: 1, Entries: 7, Rows: 7}},
	}}
	holey := run
	holey.Gone = noDead.With(deadPart(4, 1, 2, 3), deadPart(11, 65535))
	dead := deadPart(6, 5, 500)
	dead.Last = 1 << 50
	table := &catalog.Table{ID: 5, Name: "täble \"x\"", First: 3, Dropped: []catalog.Dropped{{Attno: 2, Type: value.Text, First: 1, End: 4}},
		Columns: []catalog.Column{
			{Attno: 1, Name: "a", Type: value.Int4, NotNull: true, Default: value.OfCode(value.Int4, uint64(value.Int4Code(-5)))},
			{Attno: 3, Name: "b", Type: value.Text, Missing: value.OfStr(value.Text, "\x00\xffé"), First: 2},
			{Attno: 4, Name: "c", Type: value.Text, Default: value.OfStr(value.Text, "")},
		}}
	tableBytes, err := EncodeTable(table)
	if err != nil {
		t.Fatal(err)
	}
	index := &catalog.Index{ID: 6, TableID: 5, Name: "i", Method: "btree", Group: 2, Unique: true, Ready: true, NullsNotDistinct: true,
		Primary: true, NoFastUpdate: true, PendingListLimit: 1 << 20,
		Columns: []catalog.IndexColumn{{Attno: 3, Type: value.Text, Desc: true, NullsFirst: true}, {Attno: 1, Type: value.Int4}}}
	indexBytes, err := EncodeIndex(index)
	if err != nil {
		t.Fatal(err)
	}
	segmentOf := func(k, v []byte) (any, error) { return DecodeSegmentRecord(k, v) }
	runOf := func(k, v []byte) (any, error) { return DecodeRunRecord(k, v) }
	type deletedRows struct {
		before int
		rows   *tid.Bits
	}
	return []stored{
		{"segment", full.Key(), full.Value(), full, segmentOf},
		{"segment with holes", sparse.Key(), sparse.Value(), func() any { s := sparse; s.Extent = 65536; return s }(), segmentOf},
		{"run", run.Key(), run.Value(), run, runOf},
		{"run without dead rows", holey.Key(), holey.Value(), holey, runOf},
		{"dead rows", DeadKey(7, 6), EncodeDead(dead), dead, func(k, v []byte) (any, error) {
			_, p, err := DecodeDead(k, v)
			return p, err
		}},
		{"delete", DeadKey(7, 6), EncodeDelete(99, bitsOf(1, 65535)), deletedRows{99, bitsOf(1, 65535)}, func(_, v []byte) (any, error) {
			n, rows, err := DecodeDelete(v)
			return deletedRows{n, rows}, err
		}},
		{"table", TableKey(5), tableBytes, table, func(_, v []byte) (any, error) { return DecodeTable(v) }},
		{"index", IndexKey(6), indexBytes, index, func(_, v []byte) (any, error) { return DecodeIndex(v) }},
	}
}

func TestRecordsComeBack(t *testing.T) {
	for _, r := range records(t) {
		got, err := r.decode(r.key, r.value)
		if err != nil {
			t.Errorf("%s: %v", r.name, err)
		} else if !reflect.DeepEqual(got, r.want) {
			t.Errorf("%s: got %+v, want %+v", r.name, got, r.want)
		}
	}
}

// Whatever the bytes are, decoding ends in a record or an error. A value that is cut off in its fixed part is an error.
func TestDamagedRecords(t *testing.T) {
	for _, r := range records(t) {
		if _, err := r.decode(r.key, nil); err == nil {
			t.Errorf("%s: an empty value is taken for a record", r.name)
		}
		for n := range r.value {
			r.decode(r.key, r.value[:n])
			for _, flip := range []byte{1, 0x80, 0xff} {
				b := bytes.Clone(r.value)
				b[n] ^= flip
				r.decode(r.key, b)
			}
		}
	}
	for _, r := range records(t)[:5] {
		for n := range r.key {
			if _, err := r.decode(r.key[:n], r.value); err == nil {
				t.Errorf("%s: a key of %d bytes is taken", r.name, n)
			}
		}
	}
}

func FuzzRecords(f *testing.F) {
	rs := records(f)
	for i, r := range rs {
		f.Add(uint8(i), r.key, r.value)
	}
	f.Fuzz(func(t *testing.T, i uint8, key, value []byte) {
		r := rs[int(i)%len(rs)]
		r.decode(key, value)
	})
}
