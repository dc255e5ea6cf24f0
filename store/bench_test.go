package store

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"wideleaf/page"
	"wideleaf/tid"
)

func benchDB(b *testing.B) *DB {
	db, err := Open(b.TempDir(), Options{FS: vfs.Default})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close(nil) })
	return db
}

func BenchmarkApply(b *testing.B) {
	for _, sync := range []bool{false, true} {
		b.Run(map[bool]string{false: "NoSync", true: "Sync"}[sync], func(b *testing.B) {
			c := benchDB(b).NewCommit()
			defer c.Close()
			block := make([]byte, 5000)
			b.SetBytes(5000)
			b.ReportAllocs()
			var n tid.TID
			for b.Loop() {
				c.AddRows(1, n, block)
				n += 10
				if err := c.Apply(sync); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// fullPage is a page of nearly full size, as runs have.
func fullPage(o page.Owner, n uint32) []byte {
	p := make([]byte, 8000)
	for i := range p {
		p[i] = byte(i * int(n))
	}
	page.Seal(p, page.Header{Kind: page.KindBtreeLeaf, Owner: o, Block: n})
	return p
}

func benchTable(b *testing.B, db *DB, pages uint32) *PageTable {
	t, err := db.NewTable()
	if err != nil {
		b.Fatal(err)
	}
	for i := range pages {
		if err := t.WritePage(fullPage(owner(t.Ordinal()), i)); err != nil {
			b.Fatal(err)
		}
	}
	if err := t.Finish(); err != nil {
		b.Fatal(err)
	}
	return t
}

const benchPages = 4000 // 32 MB: in the cache

func benchReader(b *testing.B) (*DB, page.Reader) {
	db := benchDB(b)
	c := db.NewCommit()
	defer c.Close()
	for i := range 2000 { // the memtable holds something, as in life
		commitRows(b, c, 1, tid.TID(i), string(make([]byte, 5000)), false)
	}
	t := benchTable(b, db, benchPages)
	if err := db.Ingest(ctx, t); err != nil {
		b.Fatal(err)
	}
	return db, db.Reader(t.Ordinal(), 0, benchPages, owner(t.Ordinal()))
}

func BenchmarkPage(b *testing.B) {
	_, r := benchReader(b)
	b.ReportAllocs()
	i := uint32(0)
	for b.Loop() {
		i = (i + 1237) % benchPages
		ref, err := r.Page(i)
		if err != nil {
			b.Fatal(err)
		}
		ref.Release()
	}
}

func BenchmarkVerify(b *testing.B) {
	p := fullPage(owner(1), 7)
	for b.Loop() {
		if err := page.Verify(p, owner(1), 7); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkScan reports the time of a page, in scans of 1, 8 and all pages.
func BenchmarkScan(b *testing.B) {
	_, r := benchReader(b)
	for _, n := range []uint32{1, 8, benchPages} {
		b.Run(map[uint32]string{1: "1", 8: "8", benchPages: "all"}[n], func(b *testing.B) {
			b.ReportAllocs()
			i := uint32(0)
			for b.Loop() {
				i = (i + 1237) % (benchPages - n + 1)
				if err := r.Scan(i, i+n-1, func(uint32, []byte) (bool, error) { return true, nil }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/page")
		})
	}
}

// BenchmarkIngest ingests 5 SSTs of 8 MB, and excises them.
func BenchmarkIngest(b *testing.B) {
	db := benchDB(b)
	var all []*PageTable
	for i := 0; i < b.N; i++ {
		b.StopTimer()
		var ts []*PageTable
		for range 5 {
			ts = append(ts, benchTable(b, db, 1000))
		}
		b.StartTimer()
		if err := db.Ingest(ctx, ts...); err != nil {
			b.Fatal(err)
		}
		all = append(all, ts...)
	}
	b.StopTimer()
	for _, t := range all {
		if err := db.Excise(ctx, t.Ordinal()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkExcise(b *testing.B) {
	db := benchDB(b)
	for i := 0; i < b.N; i++ {
		b.StopTimer()
		t := benchTable(b, db, 100)
		if err := db.Ingest(ctx, t); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if err := db.Excise(ctx, t.Ordinal()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWritePages(b *testing.B) {
	db := benchDB(b)
	b.SetBytes(1000 * 8000)
	for b.Loop() {
		benchTable(b, db, 1000).Abort()
	}
}

func BenchmarkPublish(b *testing.B) {
	db := benchDB(b)
	for b.Loop() {
		if err := db.Publish(Publication{Put: put("s1", "some record")}); err != nil {
			b.Fatal(err)
		}
	}
}
