package query

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"

	"wideleaf/page"
	"wideleaf/store"
	"wideleaf/tid"
	"wideleaf/tuplesort"
)

// Spilling is what the sorts of a query may take of memory, and where what doesn't fit goes. The zero value sets no limit.
type Spilling struct {
	Store   *store.DB
	WorkMem int64 // bytes, of each sort
}

const (
	// spillKey is how many bytes of a row's keys go to tape. Rows that are equal in so many are compared by their values.
	spillKey = 2048
	// rowBytes and keyBytes are what sortRow and sortKey take.
	rowBytes, keyBytes = 48, 40
	// maxSpillSources is how many segments a table may have whose rows go to tape, where their places are 32 bits.
	maxSpillSources = 1 << 16
)

// errEnough ends a merge of which no more is wanted.
var errEnough = errors.New("enough")

// full reports whether a sort that takes so much is to go to tape.
func (s Spilling) full(size int64) bool { return s.Store != nil && s.WorkMem > 0 && size > s.WorkMem }

// spill is a sort that doesn't fit in memory: of byte keys, in batches, by way of a tape.
type spill struct {
	memory tuplesort.Memory
	tape   *tuplesort.Tape
	batch  *tuplesort.Batch
	yield  func() error
}

func (e *executor) newSpill() *spill {
	s := &spill{tape: tuplesort.NewTape(e.t.Spilling.Store), yield: e.ctx.Err}
	s.batch = tuplesort.NewBatch(tuplesort.BatchOptions{
		Limit: e.t.Spilling.WorkMem, Memory: &s.memory, Tape: s.tape, Owner: page.Owner{Relation: e.t.Def.ID}, Yield: s.yield,
	})
	return s
}

func (s *spill) close() { s.tape.Close() }

// merge calls f with all entries in order.
func (s *spill) merge(f func(tuplesort.Entry) error) error {
	runs, err := s.batch.End()
	if err != nil {
		return err
	}
	m := tuplesort.Merger{Runs: runs, Yield: s.yield}
	return m.Merge(nil, nil, f)
}

// spilledRows are the rows of an order that goes by way of a tape. A row's TID there is its source's place and its offset.
type spilledRows struct {
	*spill
	e     *executor
	order []OrderKey
	row   sortRow
	key   func([]byte) ([]byte, error) // appendKey
}

// spillRows begins with the rows that are in memory.
func (e *executor) spillRows(t *topRows) (*spilledRows, error) {
	s := &spilledRows{spill: e.newSpill(), e: e, order: t.order}
	s.key = s.appendKey
	slices.SortFunc(t.rows, func(a, b sortRow) int { return cmp.Compare(a.tid, b.tid) })
	for _, r := range t.rows {
		s.row = r
		if err := s.add(); err != nil {
			s.close()
			return nil, err
		}
	}
	t.rows, t.bytes = nil, 0
	s.row = sortRow{}
	return s, nil
}

// add adds s.row.
func (s *spilledRows) add() error {
	at, err := s.e.placeOf(s.row.tid.Segment())
	if err != nil {
		return err
	}
	return s.batch.Add(uint32(at)<<tid.SegmentBits|uint32(s.row.tid.Offset()), s.key)
}

// addAll adds the rows of a segment at offs, whose keys have been gathered.
func (s *spilledRows) addAll(seg uint64, offs []uint16, t *topRows, keys *fetcher) error {
	for i, o := range offs {
		s.row.tid = tid.New(seg, o)
		s.row.keys = t.keysOf(s.row.keys[:0], i, keys)
		s.row.rank, s.row.code = s.row.keys[0].rank, s.row.keys[0].code
		if err := s.add(); err != nil {
			return err
		}
	}
	return nil
}

// appendKey appends the keys of s.row, in a form whose bytes are in the order of the rows, as far as there is room.
func (s *spilledRows) appendKey(dst []byte) ([]byte, error) {
	n := len(dst)
	keys := s.row.keys
	if len(keys) == 0 {
		keys = []sortKey{{rank: s.row.rank, code: s.row.code}}
	}
	for i := range keys {
		k := &keys[i]
		dst = append(dst, byte(k.rank))
		switch {
		case k.rank != present:
		case !k.text:
			dst = binary.BigEndian.AppendUint64(dst, k.code)
		default:
			dst = appendText(dst, k.str[:min(len(k.str), spillKey)], s.order[i].Desc)
		}
		if len(dst)-n >= spillKey {
			return dst[:n+spillKey], nil
		}
	}
	return dst, nil
}

// appendText appends a string and its end, so that none is the beginning of another one; turned round if it is descending.
func appendText(dst []byte, s string, desc bool) []byte {
	n := len(dst)
	for i := range len(s) {
		if dst = append(dst, s[i]); s[i] == 0 {
			dst = append(dst, 0xff)
		}
	}
	dst = append(dst, 0, 0)
	if desc {
		for i := n; i < len(dst); i++ {
			dst[i] = ^dst[i]
		}
	}
	return dst
}

// each calls f with the rows in order, some thousands at a time, the first `skip` left out and of the others
// as many as make `limit` with these, until f returns errEnough.
func (s *spilledRows) each(skip, limit int64, f func([]tid.TID) error) error {
	const some = 1 << 14
	limit -= skip
	var out, tied []tid.TID
	var last []byte
	emit := func(ts ...tid.TID) error {
		for _, t := range ts {
			if skip > 0 {
				skip--
				continue
			}
			if limit == 0 {
				return errEnough
			}
			limit--
			if out = append(out, t); len(out) == some {
				now := out
				out = out[:0]
				if err := f(now); err != nil {
					return err
				}
			}
		}
		return nil
	}
	untie := func() (err error) {
		if len(tied) > 1 {
			if tied, err = s.sorted(tied); err != nil {
				return err
			}
		}
		err = emit(tied...)
		tied = tied[:0]
		return err
	}
	err := s.merge(func(x tuplesort.Entry) error {
		if !bytes.Equal(x.Key, last) {
			if err := untie(); err != nil {
				return err
			}
			last = append(last[:0], x.Key...)
		}
		t := tid.New(s.e.t.Sources[x.TID>>tid.SegmentBits].Number(), uint16(x.TID))
		if len(x.Key) < spillKey {
			return emit(t)
		}
		tied = append(tied, t)
		return nil
	})
	if err == nil {
		err = untie()
	}
	if len(out) > 0 && (err == nil || errors.Is(err, errEnough)) {
		err = f(out)
	}
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// sorted returns rows, which ascend, in the order of their values.
func (s *spilledRows) sorted(rows []tid.TID) ([]tid.TID, error) {
	keys, err := newFetcher(s.e, attnosOf(s.order))
	if err != nil {
		return nil, err
	}
	t := &topRows{order: s.order, limit: int64(len(rows))}
	var offs []uint16
	for len(rows) > 0 {
		seg := rows[0].Segment()
		offs = offs[:0]
		for len(offs) < len(rows) && rows[len(offs)].Segment() == seg {
			offs = append(offs, rows[len(offs)].Offset())
		}
		rows = rows[len(offs):]
		src, err := s.e.source(seg)
		if err != nil {
			return nil, err
		}
		if err := keys.gather(src, offs); err != nil {
			return nil, err
		}
		t.addAll(seg, offs, keys)
	}
	return t.sorted(s.e.ctx, 0)
}

// spilledValues are the distinct values of a column that don't fit in memory, each any number of times.
type spilledValues struct {
	*spill
	code uint64
	str  string
	// appendCode and appendStr append the key of what is added. Of a long string, which nobody asks back, a hash stands for the rest.
	appendCode, appendStr func([]byte) ([]byte, error)
}

func (e *executor) spillValues() *spilledValues {
	s := &spilledValues{spill: e.newSpill()}
	s.appendCode = func(dst []byte) ([]byte, error) { return binary.BigEndian.AppendUint64(dst, s.code), nil }
	s.appendStr = func(dst []byte) ([]byte, error) {
		if len(s.str) < spillKey {
			return append(append(dst, 0), s.str...), nil
		}
		sum := sha256.Sum256([]byte(s.str))
		return append(append(dst, 1), sum[:]...), nil
	}
	return s
}

func (s *spilledValues) addCode(code uint64) error {
	s.code = code
	return s.batch.Add(0, s.appendCode)
}

func (s *spilledValues) addStr(str string) error {
	s.str = str
	return s.batch.Add(0, s.appendStr)
}

// each calls f with each value's key once, in order.
func (s *spilledValues) each(f func(key []byte)) error {
	var last []byte
	first := true
	return s.merge(func(x tuplesort.Entry) error {
		if first || !bytes.Equal(x.Key, last) {
			f(x.Key)
			last, first = append(last[:0], x.Key...), false
		}
		return nil
	})
}
