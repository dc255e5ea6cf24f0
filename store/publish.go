package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2"

	"wideleaf/tid"
)

// Record is a part of the catalog or the manifest. The first byte of a key, which must not be empty, is its kind.
type Record struct{ Key, Value []byte }

// RowRange names the row blocks whose first TID is in [First, End).
type RowRange struct {
	Table      uint32
	First, End tid.TID
}

// DeleteRange names the deletes of the segments [First, End), or, if Through is not 0, those of the segment First with
// numbers up to Through.
type DeleteRange struct {
	Table               uint32
	First, End, Through uint64
}

// Publication is one atomic change of the structure.
type Publication struct {
	Put         []Record
	Delete      [][]byte // keys of records
	DropRows    []RowRange
	DropDeletes []DeleteRange
}

// account is what the records must add up to. It is written with every publication, so that records that got lost, or
// came back, are noticed at the next open.
type account struct {
	sequence uint64 // grows with every account written
	ordinals uint64 // no ordinal from here on was ever used
	records  uint64 // number of records
	sum      uint64 // sum of their checksums, wrapping
}

// accountSize is the size of an encoded account: a version and four numbers.
const (
	accountVersion = 1
	accountSize    = 1 + 4*8
)

func (a account) append(b []byte) []byte {
	b = append(b, accountVersion)
	for _, x := range [...]uint64{a.sequence, a.ordinals, a.records, a.sum} {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	return b
}

func decodeAccount(b []byte) (account, error) {
	if len(b) > 0 && b[0] > accountVersion {
		return account{}, fmt.Errorf("%w, %d instead of %d", ErrNewer, b[0], accountVersion)
	}
	if len(b) != accountSize || b[0] != accountVersion {
		return account{}, fmt.Errorf("it has %d bytes and version %d", len(b), append(b, 0)[0])
	}
	return account{
		sequence: binary.LittleEndian.Uint64(b[1:]),
		ordinals: binary.LittleEndian.Uint64(b[9:]),
		records:  binary.LittleEndian.Uint64(b[17:]),
		sum:      binary.LittleEndian.Uint64(b[25:]),
	}, nil
}

// ordinalsAhead is how many ordinals are reserved by one write.
const ordinalsAhead = 1024

// books is the account and what it is computed from.
type books struct {
	mu      sync.Mutex // serialises publications; held while they are written
	account account
	hashes  map[string]uint64 // checksum of each record, by key
	next    uint64            // next ordinal, up to account.ordinals
}

// checksum covers the key too, so that a value under the wrong key is noticed.
func checksum(key, value []byte) uint64 {
	var d xxhash.Digest
	d.Reset()
	var n [4]byte
	binary.LittleEndian.PutUint32(n[:], uint32(len(key)))
	_, _ = d.Write(n[:])
	_, _ = d.Write(key)
	_, _ = d.Write(value)
	return d.Sum64()
}

const checksumSize = 8

// seal puts the checksum before the value.
func seal(key, value []byte) (sealed []byte, sum uint64) {
	sum = checksum(key, value)
	sealed = binary.LittleEndian.AppendUint64(make([]byte, 0, checksumSize+len(value)), sum)
	return append(sealed, value...), sum
}

// unseal is its inverse; the value shares memory with sealed.
func unseal(key, sealed []byte) (value []byte, sum uint64, err error) {
	if len(sealed) < checksumSize {
		return nil, 0, corrupt(recordName(key), "it has %d bytes", len(sealed))
	}
	value = sealed[checksumSize:]
	sum = checksum(key, value)
	if stored := binary.LittleEndian.Uint64(sealed); stored != sum {
		return nil, 0, corrupt(recordName(key), "checksum is %016x, expected %016x", sum, stored)
	}
	return value, sum, nil
}

func recordName(key []byte) string {
	if len(key) == 0 {
		return "record without a key"
	}
	return fmt.Sprintf("record %q %x", key[:1], key[1:])
}

// Publish makes a change of the structure, all or nothing, durable when it returns nil. After an error it may or may
// not be found at the next open; the database is frozen then.
func (db *DB) Publish(p Publication) error {
	db.books.mu.Lock()
	defer db.books.mu.Unlock()
	return db.publish(p)
}

// publish requires books.mu.
func (db *DB) publish(p Publication) error {
	b := &db.books
	acc := b.account
	acc.sequence++
	acc.ordinals = max(acc.ordinals, b.next+ordinalsAhead)
	changed := map[string]*uint64{} // checksums after the publication, nil: deleted
	set := func(key []byte, sum *uint64) {
		old, exists := b.hashes[string(key)]
		if c, again := changed[string(key)]; again {
			exists = c != nil
			if exists {
				old = *c
			}
		}
		if exists {
			acc.records--
			acc.sum -= old
		}
		if sum != nil {
			acc.records++
			acc.sum += *sum
		}
		changed[string(key)] = sum
	}
	return db.write(func() error {
		batch := db.p.NewBatch()
		defer batch.Close()
		for _, key := range p.Delete {
			set(key, nil)
			if err := batch.Delete(recordKey(key), nil); err != nil {
				return err
			}
		}
		for _, r := range p.Put {
			if len(r.Key) == 0 {
				return fmt.Errorf("record without a key")
			}
			value, sum := seal(r.Key, r.Value)
			set(r.Key, &sum)
			if err := batch.Set(recordKey(r.Key), value, nil); err != nil {
				return err
			}
		}
		for _, r := range p.DropRows {
			if r.First >= r.End {
				continue
			}
			err := batch.DeleteRange(appendRowKey(nil, r.Table, r.First), appendRowKey(nil, r.Table, r.End), nil)
			if err != nil {
				return err
			}
		}
		for _, r := range p.DropDeletes {
			upper := appendDeleteKey(nil, r.Table, r.End, 0)
			if r.Through > 0 {
				upper = appendDeleteKey(nil, r.Table, r.First, r.Through+1)
			}
			if err := batch.DeleteRange(appendDeleteKey(nil, r.Table, r.First, 0), upper, nil); err != nil {
				return err
			}
		}
		value, _ := seal(accountKey, acc.append(nil))
		if err := batch.Set(accountKey, value, nil); err != nil {
			return err
		}
		if err := db.p.Apply(batch, pebble.Sync); err != nil {
			return err
		}
		b.account = acc
		for key, sum := range changed {
			if sum == nil {
				delete(b.hashes, key)
			} else {
				b.hashes[key] = *sum
			}
		}
		return nil
	})
}

// takeOrdinal returns an ordinal that was never used, reserving more of them first when none is left.
func (db *DB) takeOrdinal() (uint64, error) {
	b := &db.books
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next >= b.account.ordinals {
		if err := db.publish(Publication{}); err != nil {
			return 0, err
		}
	}
	if b.next > maxOrdinal {
		return 0, fmt.Errorf("all %d ordinals are used", uint64(maxOrdinal))
	}
	b.next++
	return b.next - 1, nil
}

// Records calls f for the records of a kind, in key order. Their memory is valid during the call only.
func (db *DB) Records(kind byte, f func(Record) error) error {
	lower := []byte{spaceRecords, kind}
	return db.each(lower, after(lower), func(key, sealed []byte) error {
		key = key[1:]
		value, _, err := unseal(key, sealed)
		if err != nil {
			if db.o.Salvage {
				return nil // told at open
			}
			return err
		}
		return f(Record{key, value})
	})
}

// loadBooks reads the account and all records and compares them. What does not fit is reported to bad; exists is
// false, without a complaint, when there is no account.
func (db *DB) loadBooks(bad func(error)) (exists bool, err error) {
	b := &db.books
	b.hashes = map[string]uint64{}
	var found account
	// readable passes errors on, but lets a salvage open go on with what could be read.
	readable := func(err error) error {
		if db.o.Salvage && errors.Is(err, ErrCorrupt) {
			bad(err)
			return nil
		}
		return err
	}
	err = db.each([]byte{spaceRecords}, []byte{spaceRecords + 1}, func(key, sealed []byte) error {
		key = key[1:]
		_, sum, err := unseal(key, sealed)
		if err != nil {
			bad(err)
			return nil
		}
		b.hashes[string(key)] = sum
		found.records++
		found.sum += sum
		return nil
	})
	if err := readable(err); err != nil {
		return false, err
	}
	there, err := db.ordinals()
	if err := readable(err); err != nil {
		return false, err
	}
	err = db.each(accountKey, after(accountKey), func(key, sealed []byte) error {
		value, _, err := unseal(key, sealed)
		if err != nil {
			return corrupt("account of the records", "its checksum is wrong")
		}
		exists = true
		if b.account, err = decodeAccount(value); errors.Is(err, ErrNewer) {
			return err
		} else if err != nil {
			return corrupt("account of the records", "%s", err)
		}
		return nil
	})
	if err != nil {
		bad(err)
		return true, nil
	}
	if !exists {
		if found.records > 0 || len(there) > 0 {
			bad(corrupt("account of the records", "it is missing"))
		}
		return false, nil
	}
	if a := b.account; a.records != found.records || a.sum != found.sum {
		bad(corrupt("catalog and manifests", "there are %d records with the sum %016x, the account says %d with %016x",
			found.records, found.sum, a.records, a.sum))
	}
	b.next = b.account.ordinals
	for o := range there {
		if o >= b.account.ordinals {
			bad(corrupt("account of the records", "SST %d exists, but only those below %d were begun", o, b.account.ordinals))
			b.next = max(b.next, o+1)
		}
	}
	return true, nil
}
