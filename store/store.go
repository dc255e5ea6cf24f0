// Package store keeps a database in Pebble: its pages, its row blocks, its catalog and manifests.
//
// Words: an *ordinal* is the number of an SST of pages; a *publication* is an atomic, durable change of the records
// (catalog and manifests) together with the row blocks that it makes superfluous; the *account* is what the records
// must add up to; the database is *frozen* after the first failed write.
//
// A DB may be used concurrently, a Commit and a PageTable by one goroutine at a time. Close must not run beside
// anything else.
//
// What must never break:
//
//  1. Nothing is acknowledged that was not written: every writing method asks the file system for a failed write
//     after it is done (freeze.go).
//  2. Pages lie in the highest keyspace, which only ingestion writes, under numbers that only grow. So SSTs of pages go
//     to the lowest level, no ingestion waits for a flush, and no compaction rewrites a page (keys.go).
//  3. An SST of pages is ingested before the publication that names it, and excised after the one that no longer does.
//  4. What was lost is noticed at open if the account, the file ACCOUNT or a manifest tells of it (publish.go,
//     lastclose.go; docs/format.md names what does not).
package store

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Options are the settings of a database. The zero value is usable.
type Options struct {
	FS            vfs.FS // nil: vfs.Default
	ReadOnly      bool   // change nothing; the database must exist
	Salvage       bool   // open for reading what is there of a corrupt database: see DB.Damage; implies ReadOnly
	CacheBytes    int64  // of blocks read; 0: 64 MiB
	MemTableBytes int64  // of row blocks before they are written out of the log; 0: 64 MiB. Up to 4 times that is used.
	Logger        *slog.Logger
}

// DB is an open database.
type DB struct {
	o       Options
	dir     string
	tempDir string
	fs      *freezeFS
	lock    *pebble.Lock
	p       *pebble.DB
	books   books
	last    closing // as found by Open
	damage  []error
	temps   atomic.Uint64 // temporary files made
	touchMu sync.Mutex
	touched atomic.Bool // something was written since Open
	events  events
	closed  atomic.Bool
}

// reservedMemTables is how many memtables' memory the cache is made larger by: Pebble takes theirs out of it, one being
// filled and one being flushed or kept for reuse, and would have none left for blocks.
const reservedMemTables = 2

const (
	defaultBytes = 64 << 20
	tempName     = "tmp" // folder of unfinished SSTs
)

// closeTimeout bounds the close of a frozen database, in which Pebble may be stuck.
const closeTimeout = 5 * time.Second

// Open opens the database in a directory, or creates it when the directory is absent or empty.
func Open(dir string, o Options) (*DB, error) {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.CacheBytes <= 0 {
		o.CacheBytes = defaultBytes
	}
	if o.MemTableBytes <= 0 {
		o.MemTableBytes = defaultBytes
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.ReadOnly = o.ReadOnly || o.Salvage
	db := &DB{o: o, dir: dir, fs: &freezeFS{FS: o.FS, keepLogs: true}}
	db.tempDir = db.fs.PathJoin(dir, tempName)
	if err := db.open(); err != nil {
		if e := db.fs.err(); e != nil {
			err = e
		}
		_ = db.shut() // the first error tells more
		return nil, err
	}
	return db, nil
}

func (db *DB) open() error {
	created, err := db.lockDirectory()
	if err != nil {
		return err
	}
	bad := func(err error) { db.damage = append(db.damage, err) }
	if !created {
		var exists bool
		if db.last, exists, err = readClosing(db.fs, db.dir); err != nil {
			if !errors.Is(err, ErrCorrupt) || !db.o.Salvage {
				return err
			}
			bad(err)
		}
		created = !exists // or an earlier creation did not end
	}
	if db.last.state != stateClosed { // else there is nothing in the logs
		if err := db.checkLogs(); err != nil {
			if !errors.Is(err, ErrCorrupt) || !db.o.Salvage {
				return err
			}
			bad(err)
		}
	}
	if err := db.openPebble(created); err != nil {
		return err
	}
	exists, err := db.loadBooks(bad)
	if err != nil {
		return err
	}
	switch {
	case created && exists && db.books.account.sequence > firstSequence:
		bad(corrupt(accountFile, "it is missing"))
	case !created && !exists && len(db.damage) == 0:
		bad(corrupt("account of the records", "it is missing"))
	case !created && len(db.damage) == 0:
		if err := db.last.compare(db.books.account); err != nil {
			bad(err)
		}
	}
	if len(db.damage) > 0 && !db.o.Salvage {
		return errors.Join(db.damage...)
	}
	if created && !db.o.ReadOnly {
		return db.finishCreation(exists)
	}
	return db.fs.err()
}

// firstSequence is the sequence of the account that the creation of a database writes.
const firstSequence = 1

// lockDirectory makes and locks the directory, and removes what is left of unfinished SSTs. created tells that there is
// no database yet.
func (db *DB) lockDirectory() (created bool, err error) {
	names, err := db.fs.List(db.dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(names) == 0 {
		if db.o.ReadOnly {
			return false, fmt.Errorf("%w in %q", ErrNotFound, db.dir)
		}
		if err := db.makeDirectory(db.dir); err != nil {
			return false, err
		}
		created = true
	} else if err != nil {
		return false, err
	}
	if name, ok := stranger(names); ok {
		return false, fmt.Errorf("%w in %q, but there are other files, such as %q", ErrNotFound, db.dir, name)
	}
	if db.lock, err = pebble.LockDirectory(db.dir, db.fs); err != nil {
		return false, fmt.Errorf("%w: directory %q: %w", ErrInUse, db.dir, err)
	}
	if !db.o.ReadOnly {
		if err := db.fs.RemoveAll(db.tempDir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		_ = db.fs.MkdirAll(db.tempDir, 0o755)
		_ = db.fs.Remove(db.fs.PathJoin(db.dir, accountFileTemp))
	}
	return created, db.fs.err()
}

// makeDirectory makes the directory and puts its name on disk.
func (db *DB) makeDirectory(dir string) error {
	_ = db.fs.MkdirAll(dir, 0o755)
	parent, err := db.fs.OpenDir(db.fs.PathDir(dir))
	if err != nil {
		return nil // a parent that cannot be read is not ours to sync
	}
	_ = parent.Sync()
	_ = parent.Close()
	return db.fs.err()
}

// stranger returns a name that no database has, if the directory is not one.
func stranger(names []string) (string, bool) {
	found := ""
	for _, n := range names {
		switch ext := path.Ext(n); {
		case n == accountFile:
			return "", false
		case n == accountFileTemp, n == tempName, n == "LOCK", ext == ".log", ext == ".sst", ext == ".dbtmp", ext == ".blob",
			strings.HasPrefix(n, "MANIFEST-"), strings.HasPrefix(n, "OPTIONS-"), strings.HasPrefix(n, "marker."):
		default:
			found = n
		}
	}
	return found, found != ""
}

func (db *DB) openPebble(create bool) (err error) {
	o := &pebble.Options{
		FS:                          db.fs,
		Lock:                        db.lock,
		ReadOnly:                    db.o.ReadOnly,
		ErrorIfNotExists:            !create || db.o.ReadOnly,
		FormatMajorVersion:          pebble.FormatNewest,
		CacheSize:                   db.o.CacheBytes + reservedMemTables*db.o.MemTableBytes,
		MemTableSize:                uint64(db.o.MemTableBytes),
		MemTableStopWritesThreshold: 4,
		L0CompactionThreshold:       8,
		L0StopWritesThreshold:       1000, // a commit never waits for a compaction
		Logger:                      &logger{db.o.Logger, db.fs},
		EventListener:               db.events.listener(db.o.Logger),
	}
	o.Experimental.CompactionScheduler = newScheduler(db.fs, &db.events)
	o.Experimental.ReadSamplingMultiplier = -1 // reading starts no compaction
	defer func() {
		if p := recover(); p != nil {
			err = asError(p)
		}
		switch {
		case err == nil:
		case errors.Is(err, pebble.ErrDBDoesNotExist) && create:
			err = fmt.Errorf("%w in %q", ErrNotFound, db.dir)
		case errors.Is(err, pebble.ErrDBDoesNotExist), !create && errors.Is(err, fs.ErrNotExist):
			err = corrupt("MANIFEST or a file it names", "%s", pebbleText(err))
		case strings.Contains(err.Error(), "key=value"):
			err = corrupt("OPTIONS", "%s", pebbleText(err))
		case pebble.IsCorruptionError(err), strings.Contains(err.Error(), "object size mismatch"):
			err = corrupt("Pebble store", "%s", pebbleText(err))
		case strings.Contains(err.Error(), "unknown format major version"):
			err = fmt.Errorf("%w: %s", ErrNewer, pebbleText(err))
		default:
			err = fmt.Errorf("cannot open the Pebble store: %w", err)
		}
	}()
	db.p, err = pebble.Open(db.dir, o)
	if err != nil {
		db.p = nil
	}
	return err
}

// finishCreation writes the first account and the file ACCOUNT. The flush ends the first log, which Pebble began before
// it had the newest format: in that one it takes damage for the end.
func (db *DB) finishCreation(exists bool) error {
	db.fs.removeLogs()
	db.touched.Store(true)
	if !exists {
		if err := db.Publish(Publication{}); err != nil {
			return err
		}
	}
	if err := db.write(db.p.Flush); err != nil {
		return err
	}
	db.last = closing{state: stateOpen, account: db.books.account}
	return writeClosing(db.fs, db.dir, db.last)
}

// touch is called before the first write since Open. Until then everything that was found is left as it was, so that a
// caller who finds rows missing can close the database and the next open finds the same. The account is read without its
// lock: it does not change before a write, which comes after this.
func (db *DB) touch() error {
	db.touchMu.Lock()
	defer db.touchMu.Unlock()
	if db.touched.Load() {
		return nil
	}
	if err := writeClosing(db.fs, db.dir, closing{state: stateOpen, account: db.books.account}); err != nil {
		return err
	}
	db.fs.removeLogs()
	db.touched.Store(true)
	return nil
}

// Err returns why the database is frozen, or nil.
func (db *DB) Err() error { return db.fs.err() }

// Damage lists what Open found wrong with a database that was opened with Options.Salvage.
func (db *DB) Damage() []error { return db.damage }

// LastClose returns what was given to the last Close, if the database was closed cleanly and nobody has written to it
// before this Open.
func (db *DB) LastClose() (data []byte, ok bool) { return db.last.data, db.last.state == stateClosed }

// Close closes the database. All that was committed is on disk afterwards, with sync or not, if it returns nil.
// The final data are for LastClose; they are not stored if the last close was clean and nothing was written since. A
// frozen database closes within seconds and returns why it is frozen.
func (db *DB) Close(final []byte) error {
	if db.closed.Load() {
		return ErrClosed
	}
	write := !db.o.ReadOnly && (db.touched.Load() || db.last.state != stateClosed)
	var flushed error
	if write && db.fs.err() == nil {
		flushed = db.write(db.p.Flush) // SSTs notice all damage, the log does not
	}
	if db.closed.Swap(true) {
		return ErrClosed
	}
	acc := db.books.account
	return errors.Join(flushed, db.shutWith(func() error {
		if !write || flushed != nil {
			return nil
		}
		return writeClosing(db.fs, db.dir, closing{stateClosed, acc, final})
	}))
}

func (db *DB) shut() error { return db.shutWith(func() error { return nil }) }

// shutWith closes Pebble, calls last if nothing failed, and unlocks the directory.
func (db *DB) shutWith(last func() error) error {
	var err error
	if db.p != nil {
		done := make(chan error, 1)
		go func() {
			var err error
			defer func() {
				if p := recover(); p != nil {
					err = asError(p)
				}
				done <- err
			}()
			err = db.p.Close()
		}()
		var timeout <-chan time.Time
		if db.fs.frozen() {
			timeout = time.After(closeTimeout)
		}
		select {
		case err = <-done:
		case <-timeout:
			// What is left running cannot change the disk any more.
		}
	}
	if e := db.fs.err(); e != nil {
		err = e
	}
	if err == nil {
		err = last()
	}
	if db.lock != nil {
		err = errors.Join(err, db.lock.Close())
	}
	return err
}
