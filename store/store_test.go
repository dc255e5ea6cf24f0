package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"wideleaf/page"
	"wideleaf/tid"
)

var ctx = context.Background()

// open opens a database for a test, which closes it.
func open(t testing.TB, fs vfs.FS, dir string) *DB {
	t.Helper()
	db, err := Open(dir, Options{FS: fs, MemTableBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(nil) })
	return db
}

func reopen(t testing.TB, db *DB, final string) *DB {
	t.Helper()
	if err := db.Close([]byte(final)); err != nil {
		t.Fatal(err)
	}
	return open(t, db.o.FS, db.dir)
}

// testPage returns block b of an owner, of a size between a header and a full page.
func testPage(o page.Owner, b uint32) []byte {
	r := rand.New(rand.NewPCG(o.Part, uint64(b)))
	p := make([]byte, page.HeaderSize+r.IntN(page.Size-page.HeaderSize+1))
	for i := range p[page.HeaderSize:] {
		p[page.HeaderSize+i] = byte(r.Uint32())
	}
	page.Seal(p, page.Header{Kind: page.KindColumn, Owner: o, Block: b})
	return p
}

func owner(ordinal uint64) page.Owner { return page.Owner{Relation: 7, Part: ordinal} }

// writeTable writes and finishes an SST of n pages.
func writeTable(t testing.TB, db *DB, n int) *PageTable {
	t.Helper()
	pt, err := db.NewTable()
	if err != nil {
		t.Fatal(err)
	}
	for b := range uint32(n) {
		if pt.Next() != b {
			t.Fatalf("next is %d, want %d", pt.Next(), b)
		}
		if err := pt.WritePage(testPage(owner(pt.Ordinal()), b)); err != nil {
			t.Fatal(err)
		}
	}
	if err := pt.Finish(); err != nil {
		t.Fatal(err)
	}
	return pt
}

func ingest(t testing.TB, db *DB, n int) uint64 {
	t.Helper()
	pt := writeTable(t, db, n)
	if err := db.Ingest(ctx, pt); err != nil {
		t.Fatal(err)
	}
	return pt.Ordinal()
}

func checkPages(t testing.TB, db *DB, ordinal uint64, n int) {
	t.Helper()
	r := db.Reader(ordinal, 0, uint32(n), owner(ordinal))
	for b := range uint32(n) {
		ref, err := r.Page(b)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(ref.Data, testPage(owner(ordinal), b)) {
			t.Fatalf("page %d of SST %d differs", b, ordinal)
		}
		ref.Release()
	}
	next := uint32(0)
	err := r.Scan(0, uint32(n-1), func(b uint32, p []byte) (bool, error) {
		if b != next || !bytes.Equal(p, testPage(owner(ordinal), b)) {
			t.Fatalf("scanned page %d of SST %d differs (want block %d)", b, ordinal, next)
		}
		next++
		return true, nil
	})
	if err != nil || next != uint32(n) {
		t.Fatalf("scan ended at %d: %v", next, err)
	}
}

func commitRows(t testing.TB, c *Commit, table uint32, first tid.TID, block string, sync bool) {
	t.Helper()
	c.AddRows(table, first, []byte(block))
	if err := c.Apply(sync); err != nil {
		t.Fatal(err)
	}
}

// rowBlocks lists a table's row blocks as "TID=block".
func rowBlocks(t testing.TB, db *DB, table uint32) (out []string) {
	t.Helper()
	err := db.RowBlocks(table, 0, func(first tid.TID, block []byte) error {
		out = append(out, fmt.Sprintf("%d=%s", first, block))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func records(t testing.TB, db *DB, kind byte) (out []string) {
	t.Helper()
	err := db.Records(kind, func(r Record) error {
		out = append(out, fmt.Sprintf("%s=%s", r.Key, r.Value))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func publish(t testing.TB, db *DB, p Publication) {
	t.Helper()
	if err := db.Publish(p); err != nil {
		t.Fatal(err)
	}
}

func put(kv ...string) (out []Record) {
	for i := 0; i < len(kv); i += 2 {
		out = append(out, Record{[]byte(kv[i]), []byte(kv[i+1])})
	}
	return out
}

func equal(t testing.TB, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}

func TestRoundTrip(t *testing.T) {
	for _, onDisk := range []bool{false, true} {
		fs, dir := vfs.FS(vfs.NewMem()), "/a/db"
		if onDisk {
			fs, dir = vfs.Default, t.TempDir()+"/a/db"
		}
		db := open(t, fs, dir)
		c := db.NewCommit()
		commitRows(t, c, 1, tid.New(0, 0), "zero", false)
		commitRows(t, c, 1, tid.New(0, 2), "two", true)
		commitRows(t, c, 1, tid.New(1, 0), "next segment", false)
		commitRows(t, c, 2, tid.New(0, 0), "other table", false)
		c.Close()
		o := ingest(t, db, 40)
		publish(t, db, Publication{
			Put:      put("t1", "table", "s1", "segment", "s2", ""),
			DropRows: []RowRange{{1, tid.New(0, 0), tid.New(1, 0)}},
		})
		publish(t, db, Publication{Put: put("s3", "c", "s2", "b"), Delete: [][]byte{[]byte("s1"), []byte("none")}})
		check := func() {
			t.Helper()
			checkPages(t, db, o, 40)
			equal(t, rowBlocks(t, db, 1), "65536=next segment")
			equal(t, rowBlocks(t, db, 2), "0=other table")
			equal(t, records(t, db, 't'), "t1=table")
			equal(t, records(t, db, 's'), "s2=b", "s3=c")
			equal(t, records(t, db, 'x'))
		}
		check()
		db = reopen(t, db, "final")
		check()
		if data, ok := db.LastClose(); !ok || string(data) != "final" {
			t.Fatalf("last close: %q, %v", data, ok)
		}
		if err := db.ExciseOrphans(ctx, map[uint64]bool{o: true}); err != nil {
			t.Fatal(err)
		}
		check()
		if next := ingest(t, db, 1); next <= o {
			t.Fatalf("ordinal %d after %d", next, o)
		}
		if err := db.ExciseOrphans(ctx, map[uint64]bool{o: true, 1 << 30: true}); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("missing SST: %v", err)
		}
	}
}
