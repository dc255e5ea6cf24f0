package store

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"wideleaf/page"
	"wideleaf/tid"
)

// TestCrashes takes the power away at random moments, also while a store recovers from the time before.
func TestCrashes(t *testing.T) {
	for seed := range uint64(40) {
		fs := vfs.NewCrashableMem()
		r := rand.New(rand.NewPCG(seed, 2))
		h := newHistory(t, fs)
		for range 4 {
			db, err := Open("db", Options{FS: fs, MemTableBytes: 256 << 10})
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			h.check(db)
			h.recover(db)
			c := db.NewCommit()
			for range r.IntN(60) {
				if err := h.step(db, c, r); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
			clone := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: r.IntN(101), RNG: rand.New(rand.NewPCG(seed, 3))})
			c.Close()
			if err := db.Close(nil); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			fs = clone
		}
	}
}

// recover goes on with a history from what a crash has left.
func (h *history) recover(db *DB) {
	n := h.dropped
	for _, b := range rowBlocks(h.t, db, 1) {
		_, _ = fmt.Sscanf(b, "%d=", &n)
		n++
	}
	h.rows, h.synced = h.rows[:n], n
}

// TestCrashWhileWriting clones the file system while a publication, an ingestion or a commit is under way.
func TestCrashWhileWriting(t *testing.T) {
	fs := &gatedFS{MemFS: vfs.NewCrashableMem()}
	db := open(t, fs, "db")
	h := newHistory(t, fs.MemFS)
	c := db.NewCommit()
	defer c.Close()
	type cut struct {
		fs           *vfs.MemFS
		acked, tried int
		synced, rows int
	}
	cuts := make(chan cut)
	stop := make(chan struct{})
	go func() {
		defer close(cuts)
		for i := range uint64(40) {
			clone := fs.clone(vfs.CrashCloneCfg{UnsyncedDataPercent: int(i * 2), RNG: rand.New(rand.NewPCG(i, 4))})
			select {
			case cuts <- cut{fs: clone}:
			case <-stop:
				return
			}
		}
	}()
	// The history's counts are read between steps: what a clone must hold was acknowledged before the step in which the
	// clone was made began, and what it may hold was begun before that step ended.
	r := rand.New(rand.NewPCG(5, 5))
	var clones []cut
	prev := cut{}
	for open := true; open; {
		if err := h.step(db, c, r); err != nil {
			t.Fatal(err)
		}
		select {
		case cl, ok := <-cuts:
			open = ok
			if ok {
				cl.acked, cl.synced, cl.tried, cl.rows = prev.acked, prev.synced, h.tried, len(h.rows)
				clones = append(clones, cl)
			}
			// The next clone may already be under way since this point.
			prev = cut{acked: len(h.acked), synced: h.synced}
		default:
		}
	}
	close(stop)
	for _, cl := range clones {
		was := *h
		was.acked, was.synced, was.tried, was.rows = h.acked[:cl.acked], cl.synced, cl.tried, h.rows[:cl.rows]
		was.fs = cl.fs
		db, err := Open("db", Options{FS: cl.fs})
		if err != nil {
			t.Fatal(err)
		}
		was.check(db)
		if err := db.Close(nil); err != nil {
			t.Fatal(err)
		}
	}
}

// smallPage is a page as testPage's. Pebble looks for the bit that is wrong in a block, in a time that grows with the
// square of its size.
func smallPage(o page.Owner, b uint32) []byte {
	p := testPage(o, b)
	p = p[:min(len(p), page.HeaderSize+100)]
	page.Seal(p, page.ParseHeader(p))
	return p
}

// small makes a closed database with everything in it, and a function that says what is wrong with a copy.
func small(t *testing.T, clean bool) (fs *vfs.MemFS, check func(*DB) error) {
	mem := vfs.NewCrashableMem()
	db, err := Open("db", Options{FS: mem})
	if err != nil {
		t.Fatal(err)
	}
	c := db.NewCommit()
	var want, all []string
	ordinals := []uint64{}
	for i := range 30 {
		block := strings.Repeat(fmt.Sprint(i, "."), 300)
		commitRows(t, c, 1, tid.TID(i), block, true)
		if i >= 20 {
			want = append(want, fmt.Sprintf("%d=%s", i, block))
		}
		if i%10 == 9 {
			pt, err := db.NewTable()
			if err != nil {
				t.Fatal(err)
			}
			o := pt.Ordinal()
			for b := range uint32(5) {
				if err := pt.WritePage(smallPage(owner(o), b)); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(pt.Finish(), db.Ingest(ctx, pt)); err != nil {
				t.Fatal(err)
			}
			ordinals = append(ordinals, o)
			p := Publication{Put: put(fmt.Sprintf("s%02d", i), fmt.Sprint(o))}
			all = append(all, fmt.Sprintf("s%02d=%d", i, o))
			if i == 19 {
				p.DropRows = []RowRange{{1, 0, 20}}
			}
			publish(t, db, p)
		}
	}
	c.Close()
	if clean {
		if err := db.Close([]byte("29")); err != nil {
			t.Fatal(err)
		}
		fs = mem
	} else {
		fs = mem.CrashClone(vfs.CrashCloneCfg{})
		if err := db.Close(nil); err != nil {
			t.Fatal(err)
		}
	}
	return fs, func(db *DB) error {
		var rows, recs []string
		err := db.RowBlocks(1, 0, func(first tid.TID, block []byte) error {
			rows = append(rows, fmt.Sprintf("%d=%s", first, block))
			return nil
		})
		if err != nil {
			return err
		}
		err = db.Records('s', func(r Record) error {
			recs = append(recs, fmt.Sprintf("%s=%s", r.Key, r.Value))
			return nil
		})
		if err != nil {
			return err
		}
		if data, ok := db.LastClose(); ok != clean || clean && string(data) != "29" {
			t.Errorf("last close: %q, %v", data, ok)
		}
		if strings.Join(rows, " ") != strings.Join(want, " ") {
			return fmt.Errorf("lost: %d of %d row blocks are there", len(rows), len(want))
		}
		if strings.Join(recs, " ") != strings.Join(all, " ") {
			return fmt.Errorf("lost: records are %q, want %q", recs, all)
		}
		live := map[uint64]bool{}
		for _, o := range ordinals {
			live[o] = true
		}
		if err := db.ExciseOrphans(ctx, live); err != nil {
			return err
		}
		for _, o := range ordinals {
			r := db.Reader(o, 0, 5, owner(o))
			for b := range uint32(5) {
				ref, err := r.Page(b)
				if err != nil {
					return err
				}
				if string(ref.Data) != string(smallPage(owner(o), b)) {
					return fmt.Errorf("lost: page %d of SST %d is wrong", b, o)
				}
				ref.Release()
			}
		}
		return nil
	}
}

func readFile(t *testing.T, fs vfs.FS, name string) []byte {
	t.Helper()
	f, err := fs.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func writeFile(t *testing.T, fs vfs.FS, name string, b []byte) {
	t.Helper()
	f, err := fs.Create(name, "test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(append([]byte(nil), b...)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// files lists the database's files with something in them.
func files(t *testing.T, fs vfs.FS) (names []string) {
	list, err := fs.List("db")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range list {
		if info, err := fs.Stat("db/" + n); err == nil && !info.IsDir() && info.Size() > 0 {
			names = append(names, n)
		}
	}
	return names
}

func clone(fs *vfs.MemFS) *vfs.MemFS {
	return fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
}

// TestDamage flips bits of, cuts and removes every file of a database that was closed cleanly: whatever is wrong is
// told, and what is not told is right.
func TestDamage(t *testing.T) {
	fs, check := small(t, true)
	verdict := func(fs *vfs.MemFS) (where string, err error) {
		defer func() {
			if p := recover(); p != nil {
				t.Fatalf("panic: %v", p)
			}
		}()
		db, err := Open("db", Options{FS: fs})
		if err != nil {
			return "open", err
		}
		defer db.Close(nil)
		return "read", check(db)
	}
	if where, err := verdict(clone(fs)); err != nil {
		t.Fatalf("undamaged: %s: %v", where, err)
	}
	told := map[string]int{}
	for _, name := range files(t, fs) {
		whole := readFile(t, fs, "db/"+name)
		kind := strings.TrimLeft(path.Base(name), "0123456789")
		try := func(what string, damaged []byte) {
			t.Helper()
			c := clone(fs)
			writeFile(t, c, "db/"+name, damaged)
			where, err := verdict(c)
			switch {
			case err == nil:
				told[kind+": harmless"]++
			case strings.HasPrefix(err.Error(), "lost"):
				t.Errorf("%s %s: %v", name, what, err)
			case !errors.Is(err, ErrCorrupt) && !errors.Is(err, page.ErrCorrupt) && !strings.HasPrefix(name, "OPTIONS"):
				t.Errorf("%s %s: %v", name, what, err)
			default:
				told[kind+": told at "+where]++
			}
		}
		step := max(1, len(whole)/60)
		for i := 0; i < len(whole); i += step {
			b := append([]byte(nil), whole...)
			b[i] ^= 1 << (i % 8)
			try(fmt.Sprintf("with bit flipped in byte %d of %d", i, len(b)), b)
		}
		for _, n := range []int{0, 1, len(whole) / 2, len(whole) - 1} {
			try(fmt.Sprintf("cut to %d of %d", n, len(whole)), whole[:n])
		}
		c := clone(fs)
		if err := c.Remove("db/" + name); err != nil {
			t.Fatal(err)
		}
		if _, err := verdict(c); err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, page.ErrCorrupt) {
			t.Errorf("%s removed: %v", name, err)
		}
	}
	t.Log(told)
}

// TestLogDamage flips bits of the log of a new database that has crashed. What Pebble takes for the log's end is lost
// silently (docs/format.md); that may only be what the last sync wrote.
func TestLogDamage(t *testing.T) {
	mem := vfs.NewCrashableMem()
	db := open(t, mem, "db")
	c := db.NewCommit()
	defer c.Close()
	const commits = 60
	for i := range commits {
		commitRows(t, c, 1, tid.TID(i), strings.Repeat("x", 200), true)
	}
	crashed := mem.CrashClone(vfs.CrashCloneCfg{})
	silent, told := 0, 0
	for _, name := range files(t, crashed) {
		if path.Ext(name) != ".log" {
			continue
		}
		whole := readFile(t, crashed, "db/"+name)
		for i := 0; i < len(whole); i += max(1, len(whole)/150) {
			fs := clone(crashed)
			b := append([]byte(nil), whole...)
			b[i] ^= 1 << (i % 8)
			writeFile(t, fs, "db/"+name, b)
			db, err := Open("db", Options{FS: fs})
			if err != nil {
				told++
				continue
			}
			n := len(rowBlocks(t, db, 1))
			if n < commits {
				silent++
			}
			if n < commits-1 {
				t.Errorf("%s: byte %d of %d: %d of %d commits are there", name, i, len(whole), n, commits)
			}
			if n < commits && i < len(whole)*(commits-3)/commits {
				t.Errorf("%s: byte %d of %d: lost silently", name, i, len(whole))
			}
			if err := db.Close(nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("told %d, silent %d", told, silent)
	if told == 0 {
		t.Error("no damage was told")
	}
}

// gatedFS keeps operations on names out while a clone is made: MemFS takes its locks in two orders for them, and a clone
// beside them can wait for ever.
type gatedFS struct {
	*vfs.MemFS
	gate sync.RWMutex
}

func (g *gatedFS) enter() func() {
	g.gate.RLock()
	return g.gate.RUnlock
}

func (g *gatedFS) clone(cfg vfs.CrashCloneCfg) *vfs.MemFS {
	g.gate.Lock()
	defer g.gate.Unlock()
	return g.CrashClone(cfg)
}

func (g *gatedFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	defer g.enter()()
	return g.MemFS.Create(name, c)
}

func (g *gatedFS) Link(oldname, newname string) error {
	defer g.enter()()
	return g.MemFS.Link(oldname, newname)
}

func (g *gatedFS) Remove(name string) error {
	defer g.enter()()
	return g.MemFS.Remove(name)
}

func (g *gatedFS) RemoveAll(name string) error {
	defer g.enter()()
	return g.MemFS.RemoveAll(name)
}

func (g *gatedFS) Rename(oldname, newname string) error {
	defer g.enter()()
	return g.MemFS.Rename(oldname, newname)
}

func (g *gatedFS) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	defer g.enter()()
	return g.MemFS.ReuseForWrite(oldname, newname, c)
}

func (g *gatedFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	defer g.enter()()
	return g.MemFS.OpenReadWrite(name, c, opts...)
}

func (g *gatedFS) MkdirAll(dir string, perm os.FileMode) error {
	defer g.enter()()
	return g.MemFS.MkdirAll(dir, perm)
}

// TestLargeCommitDamage flips bits of a log of large commits, most of whose bytes Pebble leaves out of what it notes as
// synced. After a crash, damage that three later commits followed is told.
func TestLargeCommitDamage(t *testing.T) {
	mem := vfs.NewCrashableMem()
	db, err := Open("db", Options{FS: mem, MemTableBytes: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	c := db.NewCommit()
	defer c.Close()
	const size = 100 << 10
	// Until the log at the end is long: Pebble replays an earlier one with less tolerance.
	var crashed *vfs.MemFS
	name, whole := "", []byte(nil)
	for i := 0; len(whole) < 9*size; i++ {
		if i > 100 {
			t.Fatal("no log grows long")
		}
		commitRows(t, c, 1, tid.TID(i), strings.Repeat("x", size), true)
		crashed = mem.CrashClone(vfs.CrashCloneCfg{})
		for _, n := range files(t, crashed) {
			if path.Ext(n) == ".log" {
				name, whole = n, readFile(t, crashed, "db/"+n) // the last in order of their numbers
			}
		}
	}
	if err := db.Close(nil); err != nil {
		t.Fatal(err)
	}
	for at := 1000; at < len(whole)-4*size; at += 37_001 {
		damaged := append([]byte(nil), whole...)
		damaged[at] ^= 4
		fs := crashed.CrashClone(vfs.CrashCloneCfg{})
		writeFile(t, fs, "db/"+name, damaged)
		db, err := Open("db", Options{FS: fs})
		if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), name) {
			t.Errorf("byte %d of %d: %v", at, len(whole), err)
		}
		if err == nil {
			_ = db.Close(nil)
		}
	}
}
