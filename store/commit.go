package store

import (
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"

	"wideleaf/tid"
)

// Commit collects what one commit writes. It is reused: Apply leaves it empty. It belongs to one goroutine.
type Commit struct {
	db *DB
	b  *pebble.Batch
}

// commitBytes is the memory that a commit keeps from one Apply to the next.
const commitBytes = 4 << 20

// NewCommit returns an empty commit.
func (db *DB) NewCommit() *Commit {
	return &Commit{db, db.p.NewBatch(pebble.WithInitialSizeBytes(64<<10), pebble.WithMaxRetainedSizeBytes(commitBytes))}
}

// AddRows adds a row block, whose first row has the given TID. The block is copied.
func (c *Commit) AddRows(table uint32, first tid.TID, block []byte) {
	op := c.b.SetDeferred(rowKeySize, len(block))
	appendRowKey(op.Key[:0], table, first)
	copy(op.Value, block)
	_ = op.Finish() // fails only with an index, which the batch has not
}

// AddDelete adds what a commit deletes of a segment. Number must be greater than that of all earlier deletes of the
// database. The rows' stored form is copied.
func (c *Commit) AddDelete(table uint32, segment, number uint64, rows []byte) {
	key := appendDeleteKey(make([]byte, 0, deleteKeySize), table, segment, number)
	sealed, _ := seal(key, rows)
	_ = c.b.Set(key, sealed, nil)
}

// Len is the size of the commit in bytes.
func (c *Commit) Len() int { return c.b.Len() }

// Apply writes the commit and leaves it empty, for reuse, even when it fails. With sync it returns when the commit and
// all that were applied before it are on disk; an empty commit does that too. After an error the commit may or may
// not be found at the next open; none is applied after it.
func (c *Commit) Apply(sync bool) (err error) {
	defer c.b.Reset()
	return c.db.write(func() error {
		if c.b.Empty() {
			if !sync {
				return nil
			}
			if err := c.b.LogData(nil, nil); err != nil {
				return err
			}
		}
		return c.db.p.Apply(c.b, writeOptions(sync))
	})
}

// Close gives back the commit's memory.
func (c *Commit) Close() { _ = c.b.Close() }

func writeOptions(sync bool) *pebble.WriteOptions {
	if sync {
		return pebble.Sync
	}
	return pebble.NoSync
}

// RowBlocks calls f for the row blocks of a table whose first row is not before from, in TID order. The block's memory is
// valid during the call only.
func (db *DB) RowBlocks(table uint32, from tid.TID, f func(first tid.TID, block []byte) error) error {
	upper := after(binary.BigEndian.AppendUint32([]byte{spaceRows}, table))
	return db.each(appendRowKey(nil, table, from), upper, func(key, value []byte) error {
		if len(key) != rowKeySize {
			return corrupt("row blocks", "there is a key of %d bytes", len(key))
		}
		return f(tid.TID(binary.BigEndian.Uint64(key[5:])), value)
	})
}

// Delete is what one commit deleted of a segment.
type Delete struct {
	Table           uint32
	Segment, Number uint64
	Rows            []byte // as they were added; valid during the call only
}

// Deletes calls f for the deletes of all tables, by table, segment and number.
func (db *DB) Deletes(f func(Delete) error) error {
	lower := []byte{spaceDeletes}
	return db.each(lower, after(lower), func(key, sealed []byte) error {
		if len(key) != deleteKeySize {
			return corrupt("deletes", "there is a key of %d bytes", len(key))
		}
		rows, _, err := unseal(key, sealed)
		if err != nil {
			return corrupt("deletes", "the checksum of one is wrong")
		}
		return f(Delete{binary.BigEndian.Uint32(key[1:]), binary.BigEndian.Uint64(key[5:]), binary.BigEndian.Uint64(key[13:]), rows})
	})
}

// after returns the first key that does not begin with prefix, which must not be all 0xFF.
func after(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; ; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
}

// each calls f for all keys in [lower, upper).
func (db *DB) each(lower, upper []byte, f func(key, value []byte) error) error {
	return db.read(func() error {
		it, err := db.p.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
		if err != nil {
			return err
		}
		defer it.Close()
		for ok := it.First(); ok; ok = it.Next() {
			v, err := it.ValueAndErr()
			if err != nil {
				return err
			}
			if err := f(it.Key(), v); err != nil {
				return err
			}
		}
		return it.Error()
	})
}
