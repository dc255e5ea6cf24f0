package store

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"pgregory.net/rapid"

	"wideleaf/page"
	"wideleaf/tid"
)

func wantError(t testing.TB, err, kind error, parts ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("error is %v, want %v", err, kind)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Fatalf("error %q does not contain %q", err, p)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	fs := vfs.NewMem()
	_, err := Open("none", Options{FS: fs, ReadOnly: true})
	wantError(t, err, ErrNotFound, "none")
	if _, err := fs.Stat("none"); err == nil {
		t.Error("opening for reading made the directory")
	}
	if err := fs.MkdirAll("other", 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, fs, "other/letter.txt", []byte("x"))
	_, err = Open("other", Options{FS: fs})
	wantError(t, err, ErrNotFound, "letter.txt")
	if list, _ := fs.List("other"); len(list) != 1 {
		t.Errorf("files %q were made", list)
	}
	_, err = Open("empty", Options{FS: fs, ReadOnly: true})
	wantError(t, err, ErrNotFound)
}

func TestLock(t *testing.T) {
	for _, fs := range []vfs.FS{vfs.NewMem(), vfs.Default} {
		dir := t.TempDir()
		if err := fs.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		db := open(t, fs, dir)
		for _, o := range []Options{{FS: fs}, {FS: fs, ReadOnly: true}} {
			_, err := Open(dir, o)
			wantError(t, err, ErrInUse, dir)
		}
		reopen(t, db, "") // the failed ones have not let go of the lock
	}
}

func TestReadOnly(t *testing.T) {
	fs := vfs.NewCrashableMem()
	db := open(t, fs, "db")
	c := db.NewCommit()
	commitRows(t, c, 1, 5, "block", true)
	o := ingest(t, db, 3)
	publish(t, db, Publication{Put: put("s1", "x")})
	c.Close()
	crashed := fs.CrashClone(vfs.CrashCloneCfg{}) // with a log to be read
	before := listing(t, crashed)
	ro, err := Open("db", Options{FS: crashed, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, rowBlocks(t, ro, 1), "5=block")
	equal(t, records(t, ro, 's'), "s1=x")
	checkPages(t, ro, o, 3)
	c = ro.NewCommit()
	c.AddRows(1, 6, nil)
	wantError(t, c.Apply(true), ErrReadOnly)
	c.Close()
	wantError(t, ro.Publish(Publication{}), ErrReadOnly)
	wantError(t, ro.Excise(ctx, o), ErrReadOnly)
	_, err = ro.NewTable()
	wantError(t, err, ErrReadOnly)
	if err := ro.ExciseOrphans(ctx, map[uint64]bool{o: true}); err != nil {
		t.Fatal(err)
	}
	wantError(t, ro.ExciseOrphans(ctx, map[uint64]bool{9: true}), ErrCorrupt, "SST 9")
	if err := ro.Close([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if after := listing(t, crashed); after != before {
		t.Errorf("files were\n%s\nand are\n%s", before, after)
	}
}

// listing describes all files of a database, but for the lock.
func listing(t *testing.T, fs vfs.FS) string {
	names := files(t, fs)
	slices.Sort(names)
	var b strings.Builder
	for _, n := range names {
		fmt.Fprintf(&b, "%s %x\n", n, checksum(nil, readFile(t, fs, "db/"+n)))
	}
	return b.String()
}

func TestAfterClose(t *testing.T) {
	db := open(t, vfs.NewMem(), "db")
	o := ingest(t, db, 3)
	r := db.Reader(o, 0, 3, owner(o))
	c := db.NewCommit()
	if err := db.Close(nil); err != nil {
		t.Fatal(err)
	}
	c.AddRows(1, 1, nil)
	wantError(t, c.Apply(true), ErrClosed)
	wantError(t, db.Publish(Publication{}), ErrClosed)
	_, err := r.Page(0)
	wantError(t, err, ErrClosed)
	wantError(t, r.Scan(0, 2, nil), ErrClosed)
	wantError(t, db.Records('s', nil), ErrClosed)
	wantError(t, db.Close(nil), ErrClosed)
	if m := db.Metrics(); m.PageBytes != 0 {
		t.Errorf("metrics: %+v", m)
	}
}

// TestUntouched: an engine that finds rows missing after a clean close, and gives up, must find the same the next
// time.
func TestUntouched(t *testing.T) {
	fs := vfs.NewMem()
	db := open(t, fs, "db")
	db = reopen(t, db, "first") // from an unclean state, without a write
	db = reopen(t, db, "second")
	if data, ok := db.LastClose(); !ok || string(data) != "first" {
		t.Fatalf("last close: %q, %v", data, ok)
	}
	publish(t, db, Publication{})
	db = reopen(t, db, "third")
	if data, ok := db.LastClose(); !ok || string(data) != "third" {
		t.Fatalf("last close: %q, %v", data, ok)
	}
	c := db.NewCommit()
	commitRows(t, c, 1, 1, "x", true)
	c.Close()
	if last, _, err := readClosing(fs, "db"); err != nil || last.state != stateOpen {
		t.Fatalf("after a commit the state is %d: %v", last.state, err)
	}
}

// TestLogsAreKept: an open that finds a log, and gives up, leaves it there.
func TestLogsAreKept(t *testing.T) {
	mem := vfs.NewCrashableMem()
	db := open(t, mem, "db")
	c := db.NewCommit()
	defer c.Close()
	commitRows(t, c, 1, 1, "marked", true)
	fs := mem.CrashClone(vfs.CrashCloneCfg{})
	holds := func() (found bool) {
		for _, n := range files(t, fs) {
			found = found || path.Ext(n) == ".log" && bytes.Contains(readFile(t, fs, "db/"+n), []byte("marked"))
		}
		return found
	}
	db, err := Open("db", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	if !holds() {
		t.Error("the log is gone after open")
	}
	publish(t, db, Publication{})
	if err := db.Close(nil); err != nil {
		t.Fatal(err)
	}
	if holds() {
		t.Error("the log is still there after a write")
	}
}

// tamper changes the store behind the account's back.
func tamper(t *testing.T, fs vfs.FS, f func(*pebble.DB) error) {
	t.Helper()
	p, err := pebble.Open("db", &pebble.Options{FS: fs, FormatMajorVersion: pebble.FormatNewest, Logger: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f(p), p.Close()); err != nil {
		t.Fatal(err)
	}
}

type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(string, ...any) {}

// TestAccount: lost, returned and changed records are noticed, also after a crash, and a salvage open reads the rest.
func TestAccount(t *testing.T) {
	kept := []byte("\x01s2")
	cases := map[string]struct {
		change func(*pebble.DB) error
		tells  string
		left   []string
	}{
		"lost": {func(p *pebble.DB) error { return p.Delete([]byte("\x01s1"), pebble.Sync) },
			"1 records", []string{"s2=two"}},
		"returned": {func(p *pebble.DB) error {
			v, _ := seal([]byte("s0"), []byte("zero"))
			return p.Set([]byte("\x01s0"), v, pebble.Sync)
		}, "3 records", []string{"s0=zero", "s1=one", "s2=two"}},
		"older": {func(p *pebble.DB) error {
			v, _ := seal([]byte("s1"), []byte("before"))
			return p.Set([]byte("\x01s1"), v, pebble.Sync)
		}, "the sum", []string{"s1=before", "s2=two"}},
		"moved": {func(p *pebble.DB) error {
			v, c, err := p.Get(kept)
			if err != nil {
				return err
			}
			defer c.Close()
			return p.Set([]byte("\x01s1"), v, pebble.Sync)
		}, `record "s" 31: checksum`, []string{"s2=two"}},
		"short": {func(p *pebble.DB) error { return p.Set([]byte("\x01s1"), []byte("x"), pebble.Sync) },
			"it has 1 bytes", []string{"s2=two"}},
		"account lost":    {func(p *pebble.DB) error { return p.Delete(accountKey, pebble.Sync) }, "account of the records: it is missing", nil},
		"account changed": {func(p *pebble.DB) error { return p.Set(accountKey, []byte("12345678"), pebble.Sync) }, "account of the records", nil},
		"all lost": {func(p *pebble.DB) error { return p.DeleteRange([]byte{0}, []byte{0x10}, pebble.Sync) },
			"missing", []string{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewCrashableMem()
			db, err := Open("db", Options{FS: fs})
			if err != nil {
				t.Fatal(err)
			}
			publish(t, db, Publication{Put: put("s1", "one", "s2", "two")})
			crashed := fs.CrashClone(vfs.CrashCloneCfg{})
			if err := db.Close(nil); err != nil {
				t.Fatal(err)
			}
			for _, fs := range []*vfs.MemFS{fs, crashed} {
				tamper(t, fs, c.change)
				for range 2 { // trying again does not help
					_, err := Open("db", Options{FS: fs})
					wantError(t, err, ErrCorrupt, c.tells)
				}
				db, err := Open("db", Options{FS: fs, Salvage: true})
				if err != nil {
					t.Fatal(err)
				}
				wantError(t, errors.Join(db.Damage()...), ErrCorrupt, c.tells)
				if c.left != nil {
					equal(t, records(t, db, 's'), c.left...)
				}
				wantError(t, db.Publish(Publication{}), ErrReadOnly)
				if err := db.Close(nil); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestOldState: a store put back to an earlier state under an ACCOUNT that knows better.
func TestOldState(t *testing.T) {
	mem := vfs.NewCrashableMem()
	db := open(t, mem, "db")
	publish(t, db, Publication{Put: put("s1", "one")})
	old := mem.CrashClone(vfs.CrashCloneCfg{})
	publish(t, db, Publication{Put: put("s2", "two")})
	if err := db.Close(nil); err != nil {
		t.Fatal(err)
	}
	writeFile(t, old, "db/"+accountFile, readFile(t, mem, "db/"+accountFile))
	_, err := Open("db", Options{FS: old})
	wantError(t, err, ErrCorrupt, "publication 2 is the last one found", "names 3")
}

// TestPublications compares the records with a map over random publications and reopening.
func TestPublications(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fs := vfs.NewMem()
		db, err := Open("db", Options{FS: fs})
		if err != nil {
			t.Fatal(err)
		}
		model := map[string]string{}
		key := rapid.Custom(func(t *rapid.T) string {
			return rapid.StringMatching(`[st\xff][ab]?`).Draw(t, "key")
		})
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			if rapid.IntRange(0, 4).Draw(t, "reopen") == 0 {
				if err := db.Close(nil); err != nil {
					t.Fatal(err)
				}
				if db, err = Open("db", Options{FS: fs}); err != nil {
					t.Fatal(err)
				}
			}
			var p Publication
			for _, k := range rapid.SliceOfN(key, 0, 3).Draw(t, "delete") {
				p.Delete = append(p.Delete, []byte(k))
				delete(model, k)
			}
			for _, k := range rapid.SliceOfN(key, 0, 4).Draw(t, "put") { // a key may come twice: the last counts
				v := rapid.StringN(0, 5, 20).Draw(t, "value")
				p.Put = append(p.Put, put(k, v)...)
				model[k] = v
			}
			if err := db.Publish(p); err != nil {
				t.Fatal(err)
			}
			found := map[string]string{}
			for kind := range 256 {
				if err := db.Records(byte(kind), func(r Record) error {
					found[string(r.Key)] = string(r.Value)
					return nil
				}); err != nil {
					t.Fatal(err)
				}
			}
			if fmt.Sprint(found) != fmt.Sprint(model) {
				t.Fatalf("records are %q, want %q", found, model)
			}
		}
		if err := db.Close(nil); err != nil {
			t.Fatal(err)
		}
	})
}

func TestReaderErrors(t *testing.T) {
	db := open(t, vfs.NewMem(), "db")
	o := ingest(t, db, 5)
	all := func(uint32, []byte) (bool, error) { return true, nil }
	r := db.Reader(o, 0, 5, owner(o))
	if r.Blocks() != 5 || r.Owner() != owner(o) {
		t.Error("blocks or owner differ")
	}
	_, err := r.Page(5)
	wantError(t, err, page.ErrCorrupt, "block 5", "missing")
	wantError(t, r.Scan(3, 5, all), page.ErrCorrupt, "block 5", "missing")
	wantError(t, r.Scan(0, 1<<32-1, all), page.ErrCorrupt, "missing")
	if err := r.Scan(3, 2, all); err != nil {
		t.Error(err)
	}
	seen := 0
	if err := r.Scan(1, 4, func(uint32, []byte) (bool, error) { seen++; return seen < 2, nil }); err != nil || seen != 2 {
		t.Errorf("scan that stops: %d pages, %v", seen, err)
	}
	if err := r.Scan(1, 4, func(uint32, []byte) (bool, error) { return true, os.ErrInvalid }); err != os.ErrInvalid {
		t.Errorf("scan that fails: %v", err)
	}
	// A manifest that is wrong: more blocks than there are, other pages, another owner.
	r = db.Reader(o, 0, 7, owner(o))
	_, err = r.Page(6)
	wantError(t, err, page.ErrCorrupt, "block 6", "missing")
	wantError(t, r.Scan(4, 6, all), page.ErrCorrupt, "block 5", "missing")
	r = db.Reader(o, 1, 3, owner(o))
	_, err = r.Page(0)
	wantError(t, err, page.ErrCorrupt, "says that it is block 1")
	wantError(t, r.Scan(0, 2, all), page.ErrCorrupt, "says that it is block 1")
	_, err = db.Reader(o, 0, 5, owner(o+1)).Page(0)
	wantError(t, err, page.ErrCorrupt)
	_, err = db.Reader(o+1, 0, 5, owner(o)).Page(0)
	wantError(t, err, page.ErrCorrupt, "missing")
}

func TestPageTables(t *testing.T) {
	fs := vfs.NewMem()
	db := open(t, fs, "db")
	before := db.p.Metrics().Ingest.Count
	empty, err := db.NewTable()
	if err != nil {
		t.Fatal(err)
	}
	wantFail := func(err error) {
		t.Helper()
		if err == nil {
			t.Fatal("no error")
		}
	}
	wantFail(db.Ingest(ctx, empty)) // not finished
	if err := errors.Join(empty.Finish(), empty.Finish(), db.Ingest(ctx, empty), db.Ingest(ctx)); err != nil {
		t.Fatal(err)
	}
	if n := db.p.Metrics().Ingest.Count; n != before {
		t.Errorf("%d ingestions of nothing", n-before)
	}
	a, b := writeTable(t, db, 3), writeTable(t, db, 4)
	wantFail(a.WritePage(testPage(owner(a.Ordinal()), 3)))
	if err := db.Ingest(ctx, b, empty, a); err != nil {
		t.Fatal(err)
	}
	a.Abort() // it is in the database
	checkPages(t, db, a.Ordinal(), 3)
	checkPages(t, db, b.Ordinal(), 4)
	aborted, err := db.NewTable()
	if err != nil {
		t.Fatal(err)
	}
	if err := aborted.WritePage(testPage(owner(9), 0)); err != nil {
		t.Fatal(err)
	}
	aborted.Abort()
	if list, err := fs.List("db/" + tempName); err != nil || len(list) != 0 {
		t.Errorf("files are left: %q, %v", list, err)
	}
	writeTable(t, db, 3)
	reopen(t, db, "")
	if list, err := fs.List("db/" + tempName); err != nil || len(list) != 0 {
		t.Errorf("files are left after open: %q, %v", list, err)
	}
}

// TestLargeCommits: batches beyond a memtable go another way in Pebble.
func TestLargeCommits(t *testing.T) {
	db := open(t, vfs.NewMem(), "db") // memtable of 1 MB
	c := db.NewCommit()
	defer c.Close()
	var want []string
	n := tid.TID(0)
	for _, size := range []int{10, 3 << 20, 20, 6 << 20, 400 << 10, 600 << 10, 5} {
		for range 2 {
			block := strings.Repeat(string(rune('a'+n)), size)
			c.AddRows(1, n, []byte(block))
			want = append(want, fmt.Sprintf("%d=%s", n, block))
			n++
		}
		if err := c.Apply(n%4 == 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(c.Apply(false), c.Apply(true)); err != nil { // empty ones
		t.Fatal(err)
	}
	if got := rowBlocks(t, db, 1); !slices.Equal(got, want) {
		t.Fatal("row blocks differ")
	}
	if got := rowBlocks(t, reopen(t, db, ""), 1); !slices.Equal(got, want) {
		t.Fatal("row blocks differ after reopening")
	}
}

// TestEmptyCommitSyncs: an empty commit with sync makes those before it durable.
func TestEmptyCommitSyncs(t *testing.T) {
	fs := vfs.NewCrashableMem()
	db := open(t, fs, "db")
	c := db.NewCommit()
	defer c.Close()
	commitRows(t, c, 1, 1, "x", false)
	if err := c.Apply(true); err != nil {
		t.Fatal(err)
	}
	equal(t, rowBlocks(t, open(t, fs.CrashClone(vfs.CrashCloneCfg{}), "db"), 1), "1=x")
}

// TestFrozenIsIdle: a frozen database with work under way does not keep trying it.
func TestFrozenIsIdle(t *testing.T) {
	f := &faults{kinds: []errorfs.OpKind{errorfs.OpFileWrite}, lasts: true}
	f.left.Store(1 << 40)
	db, err := Open("db", Options{FS: errorfs.Wrap(vfs.NewMem(), f), MemTableBytes: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	c := db.NewCommit()
	defer c.Close()
	r := rand.New(rand.NewPCG(1, 1))
	for i := 0; ; i++ {
		if i == 500 {
			f.left.Store(1)
		}
		c.AddRows(1, tid.TID(r.Uint64N(1000)), make([]byte, 1000))
		if err := c.Apply(false); err != nil {
			wantError(t, err, ErrFrozen)
			break
		}
	}
	time.Sleep(100 * time.Millisecond)
	m := db.p.Metrics()
	time.Sleep(300 * time.Millisecond)
	later := db.p.Metrics()
	if n := later.Compact.FailedCount - m.Compact.FailedCount + later.Flush.Count - m.Flush.Count; n > 5 {
		t.Errorf("%d flushes and compactions in 0.3 s", n)
	}
	begin := time.Now()
	wantError(t, db.Close(nil), ErrFrozen)
	if d := time.Since(begin); d > time.Second {
		t.Errorf("close took %v", d)
	}
}

func FuzzDecodeClosing(f *testing.F) {
	f.Add(closing{stateClosed, account{1, 2, 3, 4}, []byte("data")}.encode())
	f.Add(closing{state: stateOpen}.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := decodeClosing(b)
		if err != nil {
			wantError(t, err, ErrCorrupt)
		} else if again, err := decodeClosing(c.encode()); err != nil || again.state != c.state || !bytes.Equal(again.data, c.data) {
			t.Errorf("%v becomes %v: %v", c, again, err)
		}
	})
}

func FuzzUnseal(f *testing.F) {
	v, _ := seal([]byte("k"), []byte("value"))
	f.Add([]byte("k"), v)
	f.Fuzz(func(t *testing.T, key, b []byte) {
		if v, _, err := unseal(key, b); err == nil {
			_, _ = decodeAccount(v)
		} else {
			wantError(t, err, ErrCorrupt)
		}
	})
}

func FuzzCheckLog(f *testing.F) {
	mem := vfs.NewCrashableMem()
	db, err := Open("db", Options{FS: mem})
	if err != nil {
		f.Fatal(err)
	}
	c := db.NewCommit()
	for i := range 4 {
		commitRows(f, c, 1, tid.TID(i), "row", true)
	}
	log, err := mem.Open("db/000004.log")
	if err != nil {
		f.Fatal(err)
	}
	b := make([]byte, 1000)
	n, _ := log.Read(b)
	if _, damaged, err := checkLog(bytes.NewReader(b[:n]), 4); damaged || err != nil {
		f.Fatalf("undamaged log: %v, %v", damaged, err)
	}
	f.Add(b[:n])
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, _, err := checkLog(bytes.NewReader(b), 4); err != nil {
			t.Error(err)
		}
	})
}
