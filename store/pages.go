package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"

	"wideleaf/page"
)

// PageTable is an SST of pages that is being written, beside the store. It belongs to one goroutine.
type PageTable struct {
	db      *DB
	ordinal uint64
	next    uint32
	path    string
	w       *sstable.Writer // nil once finished or aborted
	gone    bool            // ingested or aborted: its file is not there any more
	key     []byte
	err     error
}

// NewTable begins an SST with an ordinal that was never used.
func (db *DB) NewTable() (*PageTable, error) { return db.newTable(db.fs) }

// NewScratchTable is NewTable for work that may fail: a write that fails, as on a full disk, is returned by
// WritePage or Finish and doesn't freeze the database.
func (db *DB) NewScratchTable() (*PageTable, error) { return db.newTable(db.o.FS) }

func (db *DB) newTable(fs vfs.FS) (*PageTable, error) {
	t := &PageTable{db: db, key: make([]byte, 0, pageKeySize)}
	err := db.write(func() (err error) {
		if t.ordinal, err = db.takeOrdinal(); err != nil {
			return err
		}
		t.path = db.fs.PathJoin(db.tempDir, fmt.Sprintf("%d.sst", t.ordinal))
		f, err := fs.Create(t.path, "wideleaf-pages")
		if err != nil {
			return err
		}
		// Hand the disk its work as it comes: one sync of it all at the end would hold up the commits' syncs.
		f = vfs.NewSyncingFile(f, vfs.SyncingFileOptions{BytesPerSync: 1 << 20})
		t.w = sstable.NewWriter(objstorageprovider.NewFileWritable(f), pageWriterOptions(db.p.TableFormat()))
		return nil
	})
	if err != nil {
		if t.w != nil {
			t.Abort()
		}
		return nil, err
	}
	return t, nil
}

// pageBlockSize is the size of a block in a page SST: eight pages. An iterator's step costs a quarter of that with a
// page a block.
const pageBlockSize = 64 << 10

// pageWriterOptions has no filters, since every page that is asked for exists, and no compression, since pages are
// packed already.
func pageWriterOptions(f sstable.TableFormat) sstable.WriterOptions {
	return sstable.WriterOptions{
		BlockSize:            pageBlockSize,
		IndexBlockSize:       pageBlockSize,
		Compression:          block.NoCompression,
		WritingToLowestLevel: true,
		TableFormat:          f,
	}
}

// Ordinal is the SST's number.
func (t *PageTable) Ordinal() uint64 { return t.ordinal }

// Next is the index of the page that is written next.
func (t *PageTable) Next() uint32 { return t.next }

// WritePage appends a page.
func (t *PageTable) WritePage(p []byte) error {
	switch {
	case t.err != nil:
		return t.err
	case t.w == nil:
		return errors.New("page written to a finished SST")
	case t.next == maxPages:
		t.err = fmt.Errorf("an SST holds at most %d pages", maxPages)
		return t.err
	}
	t.key = appendPageKey(t.key[:0], t.ordinal<<indexBits|uint64(t.next))
	if t.err = t.w.Set(t.key, p); t.err == nil {
		t.next++
	}
	return t.err
}

// Finish completes the SST and puts it on disk. A second call does nothing.
func (t *PageTable) Finish() error {
	if t.w == nil || t.err != nil {
		return t.err
	}
	if t.next == 0 {
		t.Abort()
		return nil
	}
	t.err = t.w.Close()
	t.w = nil
	if err := t.db.fs.err(); err != nil {
		t.err = err
	}
	return t.err
}

// Abort drops the SST unless it is part of the database already.
func (t *PageTable) Abort() {
	if t.w != nil {
		_ = t.w.Close() // there is no other way to give back its memory
		t.w = nil
	}
	if !t.gone {
		_ = t.db.fs.Remove(t.path) // or at the next open
		t.gone = true
	}
}

// Ingest makes finished SSTs part of the database, all or none. Empty ones are left out. Their pages can be read from
// then on, but belong to nothing until a publication names them.
func (db *DB) Ingest(ctx context.Context, tables ...*PageTable) error {
	var paths []string
	for _, t := range tables {
		if t.w != nil || t.err != nil {
			return errors.Join(t.err, fmt.Errorf("SST %d is not finished", t.ordinal))
		}
		if !t.gone {
			paths = append(paths, t.path)
		}
	}
	if len(paths) == 0 {
		return nil
	}
	if err := db.write(func() error { return db.p.Ingest(ctx, paths) }); err != nil {
		return err
	}
	for _, t := range tables {
		t.gone = true
	}
	return nil
}

// Excise frees an SST. Iterators and page references that are open keep its pages.
func (db *DB) Excise(ctx context.Context, ordinal uint64) error {
	return db.write(func() error {
		return db.p.Excise(ctx, pebble.KeyRange{Start: appendPageKey(nil, ordinal<<indexBits), End: ordinalEnd(ordinal)})
	})
}

// ExciseOrphans frees the SSTs that are not live: what was ingested and never published, or retired and not freed. It
// is meant for the time of opening. An SST that is live and not there makes the database corrupt; nothing is freed
// then.
func (db *DB) ExciseOrphans(ctx context.Context, live map[uint64]bool) error {
	there, err := db.ordinals()
	if err != nil {
		return err
	}
	for _, o := range slices.Sorted(maps.Keys(live)) {
		if live[o] && !there[o] {
			return corrupt("MANIFEST or SST", "the pages of SST %d are missing", o)
		}
	}
	if db.o.ReadOnly {
		return nil
	}
	for _, o := range slices.Sorted(maps.Keys(there)) {
		if !live[o] {
			if err := db.Excise(ctx, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// ordinals returns the ordinals of all page SSTs, from Pebble's list of files and their bounds.
func (db *DB) ordinals() (there map[uint64]bool, err error) {
	there = map[uint64]bool{}
	err = db.read(func() error {
		levels, err := db.p.SSTables(pebble.WithKeyRangeFilter([]byte{spacePages}, pagesEnd))
		if err != nil {
			return err
		}
		for _, tables := range levels {
			for _, t := range tables {
				first, ok1 := pageNumber(t.Smallest.UserKey)
				last, ok2 := pageNumber(t.Largest.UserKey)
				if !ok1 || !ok2 || first>>indexBits != last>>indexBits {
					return corrupt("MANIFEST", "file %s holds keys from %x to %x", t.FileNum, t.Smallest.UserKey, t.Largest.UserKey)
				}
				there[first>>indexBits] = true
			}
		}
		return nil
	})
	return there, err
}

// reader is a page.Reader of some pages of an SST.
type reader struct {
	db     *DB
	first  uint64 // number of block 0
	blocks uint32
	owner  page.Owner
}

// Reader returns a reader of the pages of one owner, which begin at index first of an SST. It verifies every page.
func (db *DB) Reader(ordinal uint64, first, blocks uint32, o page.Owner) page.Reader {
	return &reader{db, ordinal<<indexBits | uint64(first), blocks, o}
}

func (r *reader) Blocks() uint32    { return r.blocks }
func (r *reader) Owner() page.Owner { return r.owner }

func (r *reader) damaged(block uint32, format string, args ...any) error {
	return &page.CorruptError{Owner: r.owner, Block: block, Detail: fmt.Sprintf(format, args...)}
}

// failed gives a reading error of a block its kind.
func (r *reader) failed(block uint32, err error) error {
	if pebble.IsCorruptionError(err) {
		return r.damaged(block, "%s", pebbleText(err))
	}
	return translate(err)
}

func (r *reader) missing(block uint32) error {
	if block >= r.blocks {
		return r.damaged(block, "page is missing, there are %d blocks", r.blocks)
	}
	return r.damaged(block, "page is missing")
}

// Page returns one page. An iterator that looks into SSTs only takes two thirds of the time of Pebble's Get, which asks
// the memtables first; pages are never there.
func (r *reader) Page(block uint32) (ref page.Ref, err error) {
	defer recovered(&err)
	if block >= r.blocks {
		return page.Ref{}, r.missing(block)
	}
	var buf [pageKeySize]byte
	it, err := r.db.p.NewIter(&pebble.IterOptions{OnlyReadGuaranteedDurable: true})
	if err != nil {
		return page.Ref{}, r.failed(block, err)
	}
	p, err := r.seek(it, appendPageKey(buf[:0], r.first+uint64(block)), block)
	if err != nil {
		_ = it.Close()
		return page.Ref{}, err
	}
	return page.NewRef(p, it.Close), nil
}

// seek returns the page with the given key. Its memory is the iterator's, until that is closed.
func (r *reader) seek(it *pebble.Iterator, key []byte, block uint32) ([]byte, error) {
	if !it.SeekPrefixGE(key) { // the prefix is the whole key
		if err := it.Error(); err != nil {
			return nil, r.failed(block, err)
		}
		return nil, r.missing(block)
	}
	p, err := it.ValueAndErr()
	if err != nil {
		return nil, r.failed(block, err)
	}
	return p, page.Verify(p, r.owner, block)
}

// Scan calls f for the pages first..last.
func (r *reader) Scan(first, last uint32, f func(block uint32, p []byte) (bool, error)) (err error) {
	defer recovered(&err)
	if first > last {
		return nil
	}
	if last >= r.blocks {
		return r.missing(max(first, r.blocks))
	}
	it, err := r.db.p.NewIter(&pebble.IterOptions{
		LowerBound: appendPageKey(nil, r.first+uint64(first)),
		UpperBound: appendPageKey(nil, r.first+uint64(last)+1),

		OnlyReadGuaranteedDurable: true,
	})
	if err != nil {
		return r.failed(first, err)
	}
	defer it.Close()
	block := first
	for ok := it.First(); ok; ok = it.Next() {
		if n, isPage := pageNumber(it.Key()); !isPage || n != r.first+uint64(block) {
			return r.missing(block)
		}
		p, err := it.ValueAndErr()
		if err != nil {
			return r.failed(block, err)
		}
		if err := page.Verify(p, r.owner, block); err != nil {
			return err
		}
		if more, err := f(block, p); err != nil || !more || block == last {
			return err
		}
		block++
	}
	if err := it.Error(); err != nil {
		return r.failed(block, err)
	}
	return r.missing(block)
}
