package store

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"wideleaf/tid"
)

// tables lists Pebble's SSTs that hold pages as file number to level.
func tables(t testing.TB, db *DB) map[uint64]int {
	t.Helper()
	levels, err := db.p.SSTables(pebble.WithKeyRangeFilter([]byte{spacePages}, []byte{0xFF}))
	if err != nil {
		t.Fatal(err)
	}
	files := map[uint64]int{}
	for level, ts := range levels {
		for _, f := range ts {
			if f.Virtual || f.Smallest.UserKey[0] != spacePages {
				t.Fatalf("file %d is virtual (%v) or holds more than pages: from %x", f.FileNum, f.Virtual, f.Smallest.UserKey)
			}
			files[uint64(f.FileNum)] = level
		}
	}
	return files
}

// TestPagesAreWrittenOnce checks that every page stays in the file it was ingested in, in the lowest level, that
// ingestions neither flush nor wait for a flush, and that compactions write row blocks only; from the first SST of an
// empty database on, with row blocks above and below, and across reopening.
func TestPagesAreWrittenOnce(t *testing.T) {
	for _, memTable := range []int64{64 << 10, 1 << 20} {
		fs := vfs.NewMem()
		o := Options{FS: fs, MemTableBytes: memTable}
		db, err := Open("db", o)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, uint64(memTable)))
		known := map[uint64]int{}
		pages := map[uint64]int{}
		var live []uint64
		var rows tid.TID
		var compacted uint64
		c := db.NewCommit()
		for i := range 400 {
			for range 1 + r.IntN(20) {
				c.AddRows(uint32(r.IntN(3)), rows, []byte(strings.Repeat("x", r.IntN(2000))))
				rows++
				if err := c.Apply(false); err != nil {
					t.Fatal(err)
				}
			}
			var batch []*PageTable
			for range 1 + r.IntN(3) {
				batch = append(batch, writeTable(t, db, 1+r.IntN(12)))
			}
			if err := db.Ingest(ctx, batch...); err != nil {
				t.Fatal(err)
			}
			for _, b := range batch {
				live = append(live, b.Ordinal())
				pages[b.Ordinal()] = int(b.Next())
			}
			publish(t, db, Publication{
				Put:      put("s"+string(rune('a'+i%26)), "x"),
				DropRows: []RowRange{{uint32(r.IntN(3)), 0, rows - tid.TID(r.IntN(int(rows)))}},
			})
			switch r.IntN(7) {
			case 0:
				if err := db.p.Flush(); err != nil {
					t.Fatal(err)
				}
			case 1, 2:
				k := r.IntN(len(live))
				if err := db.Excise(ctx, live[k]); err != nil {
					t.Fatal(err)
				}
				live = append(live[:k], live[k+1:]...)
			}
			files := tables(t, db)
			if len(files) != len(live) {
				t.Fatalf("%d files for %d SSTs", len(files), len(live))
			}
			fresh := 0
			for f, level := range files {
				if level != lowestLevel {
					t.Fatalf("step %d: file %d is in level %d", i, f, level)
				}
				if _, ok := known[f]; !ok {
					fresh++
				}
			}
			if fresh > len(batch) {
				t.Fatalf("step %d: %d new files after ingesting %d", i, fresh, len(batch))
			}
			known = files
			if i%100 == 99 {
				if i == 199 { // the hardest: everything compacted by hand
					if err := db.p.Compact(ctx, []byte{0}, []byte{spacePages}, false); err != nil {
						t.Fatal(err)
					}
				}
				m := db.Metrics()
				if m.RewrittenPages != 0 || m.MisplacedTables != 0 || m.FlushIngests != 0 {
					t.Fatalf("metrics: %+v", m)
				}
				for level, n := range m.IngestedTables {
					if level != lowestLevel && n != 0 {
						t.Fatalf("%d SSTs were ingested into level %d", n, level)
					}
				}
				compacted += m.CompactedBytes
				c.Close()
				if err := db.Close(nil); err != nil {
					t.Fatal(err)
				}
				if db, err = Open("db", o); err != nil {
					t.Fatal(err)
				}
				c = db.NewCommit()
			}
		}
		if compacted == 0 {
			t.Error("no compaction was tried")
		}
		for _, o := range live {
			checkPages(t, db, o, pages[o])
		}
		c.Close()
		if err := db.Close(nil); err != nil {
			t.Fatal(err)
		}
	}
}

// TestIngestDoesNotFlush: the memtable holds row blocks, a publication's range deletions up to the end of their
// keyspace, and records, and an ingestion leaves all of them where they are.
func TestIngestDoesNotFlush(t *testing.T) {
	db := open(t, vfs.NewMem(), "db")
	c := db.NewCommit()
	defer c.Close()
	before := db.p.Metrics()
	for i := range 100 {
		commitRows(t, c, 1<<32-1, tid.TID(i), "row", false)
		o := ingest(t, db, 3)
		publish(t, db, Publication{Put: put("s", "x"), DropRows: []RowRange{{1<<32 - 1, 0, 1<<64 - 1}}})
		if i%2 == 0 {
			if err := db.Excise(ctx, o); err != nil {
				t.Fatal(err)
			}
		}
	}
	after := db.p.Metrics()
	if after.Flush.Count != before.Flush.Count || after.Flush.AsIngestCount != 0 || after.WAL.Files != before.WAL.Files {
		t.Fatalf("flushes went from %d to %d (%d of them ingestions), logs from %d to %d", before.Flush.Count,
			after.Flush.Count, after.Flush.AsIngestCount, before.WAL.Files, after.WAL.Files)
	}
}

// TestOrdinalsAreNotReused: not after aborting, nor after closing, nor after a crash that lost the SST.
func TestOrdinalsAreNotReused(t *testing.T) {
	mem := vfs.NewCrashableMem()
	fs := mem
	seen := map[uint64]bool{}
	for range 6 {
		db := open(t, fs, "db")
		for range 700 { // so that a reservation is used up
			pt, err := db.NewTable()
			if err != nil {
				t.Fatal(err)
			}
			if seen[pt.Ordinal()] {
				t.Fatalf("ordinal %d is used again", pt.Ordinal())
			}
			seen[pt.Ordinal()] = true
			pt.Abort()
		}
		fs = fs.CrashClone(vfs.CrashCloneCfg{})
	}
}

// TestPagesOutliveExcise: what is open keeps reading.
func TestPagesOutliveExcise(t *testing.T) {
	db := open(t, vfs.NewMem(), "db")
	o := ingest(t, db, 30)
	r := db.Reader(o, 0, 30, owner(o))
	ref, err := r.Page(3)
	if err != nil {
		t.Fatal(err)
	}
	n := uint32(0)
	err = r.Scan(0, 29, func(b uint32, p []byte) (bool, error) {
		if b == 1 {
			if err := db.Excise(ctx, o); err != nil {
				return false, err
			}
		}
		if string(p) != string(testPage(owner(o), b)) {
			t.Errorf("page %d differs", b)
		}
		n++
		return true, nil
	})
	if err != nil || n != 30 {
		t.Fatalf("scan ended at %d: %v", n, err)
	}
	if string(ref.Data) != string(testPage(owner(o), 3)) {
		t.Error("page that was held differs")
	}
	ref.Release()
	if _, err := r.Page(3); err == nil {
		t.Error("page is still there")
	}
}
