package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"wideleaf/tid"
)

// history is a random run of everything that a store does, and what it must hold afterwards.
type history struct {
	t       testing.TB
	fs      vfs.FS // that the database lies on, without faults
	rows    []int  // row numbers committed, in order
	synced  int    // rows[:synced] were acknowledged with sync
	dropped int    // rows[:dropped] are gone, by an acknowledged publication
	// Publication i puts record "s" + i naming an SST, and drops rows up to a point. From publication 3 on it also
	// deletes the record of publication i-3, whose SST is excised.
	acked []uint64       // SST of acknowledged publication i
	tried int            // publications tried
	drops map[int]int    // rows dropped after publication i, also if it failed
	pages map[uint64]int // pages of each SST
}

func newHistory(t testing.TB, fs vfs.FS) *history {
	return &history{t: t, fs: fs, drops: map[int]int{}, pages: map[uint64]int{}}
}

const historyKeep = 3 // publications whose record is kept

func historyRecord(i int) string { return fmt.Sprintf("s%04d", i) }

// step does something random; the first error ends a history.
func (h *history) step(db *DB, c *Commit, r *rand.Rand) error {
	switch x := r.IntN(10); {
	case x < 6:
		n := len(h.rows)
		sync := r.IntN(2) == 0
		c.AddRows(1, tid.TID(n), []byte(strings.Repeat(strconv.Itoa(n)+",", 1+r.IntN(200))))
		h.rows = append(h.rows, n)
		if err := c.Apply(sync); err != nil {
			return err
		}
		if sync {
			h.synced = len(h.rows)
		}
	case x < 7:
		return db.write(db.p.Flush)
	default:
		pt, err := db.NewTable()
		if err != nil {
			return err
		}
		defer pt.Abort()
		n := 1 + r.IntN(20)
		h.pages[pt.Ordinal()] = n
		for b := range uint32(n) {
			if err := pt.WritePage(testPage(owner(pt.Ordinal()), b)); err != nil {
				return err
			}
		}
		if err := pt.Finish(); err != nil {
			return err
		}
		if err := db.Ingest(ctx, pt); err != nil {
			return err
		}
		i := h.tried
		drop := h.dropped + r.IntN(len(h.rows)-h.dropped+1)
		p := Publication{
			Put:      put(historyRecord(i), strconv.FormatUint(pt.Ordinal(), 10)),
			DropRows: []RowRange{{1, 0, tid.TID(drop)}},
		}
		if i >= historyKeep {
			p.Delete = [][]byte{[]byte(historyRecord(i - historyKeep))}
		}
		h.tried++
		h.drops[i] = drop
		if err := db.Publish(p); err != nil {
			return err
		}
		h.acked = append(h.acked, pt.Ordinal())
		h.dropped, h.synced = drop, len(h.rows) // everything before a sync is synced
		if i >= historyKeep {
			return db.Excise(ctx, h.acked[i-historyKeep])
		}
	}
	return nil
}

// check compares a database that was reopened after a crash or a failure.
func (h *history) check(db *DB) {
	h.t.Helper()
	recs := records(h.t, db, 's')
	done := 0 // publications found
	live := map[uint64]bool{}
	for k, rec := range recs {
		name, value, _ := strings.Cut(rec, "=")
		i, _ := strconv.Atoi(name[1:])
		if k > 0 && i != done {
			h.t.Fatalf("records %q are not consecutive", recs)
		}
		done = i + 1
		o, _ := strconv.ParseUint(value, 10, 64)
		live[o] = true
		if i < len(h.acked) && o != h.acked[i] {
			h.t.Fatalf("publication %d names SST %d, want %d", i, o, h.acked[i])
		}
	}
	if done < len(h.acked) || done > h.tried || len(recs) != min(done, historyKeep) {
		h.t.Fatalf("records %q after %d acknowledged publications of %d", recs, len(h.acked), h.tried)
	}
	dropped := 0
	if done > 0 {
		dropped = h.drops[done-1]
	}
	var rows []int
	for _, b := range rowBlocks(h.t, db, 1) {
		name, block, _ := strings.Cut(b, "=")
		n, _ := strconv.Atoi(name)
		if !strings.HasPrefix(block, name+",") {
			h.t.Fatalf("row block %d holds %.20q", n, block)
		}
		rows = append(rows, n)
	}
	if end := dropped + len(rows); end < h.synced || end > len(h.rows) || !slices.Equal(rows, h.rows[dropped:end]) {
		h.t.Fatalf("found rows %v, want from %d up to at least %d", rows, dropped, h.synced)
	}
	if err := db.ExciseOrphans(ctx, live); err != nil {
		h.t.Fatal(err)
	}
	for o := range live {
		checkPages(h.t, db, o, h.pages[o])
	}
	there, err := db.ordinals()
	if err != nil || len(there) != len(live) {
		h.t.Fatalf("SSTs %v are there, want %v: %v", there, live, err)
	}
}

// faults is an injector that fails the n-th operation of some kinds, and all later ones if it is to last.
type faults struct {
	kinds []errorfs.OpKind
	left  atomic.Int64
	lasts bool
	hit   atomic.Bool
	off   atomic.Bool
}

var errFault = errors.New("injected fault")

func (f *faults) String() string { return "faults" }

func (f *faults) MaybeError(op errorfs.Op) error {
	if f.off.Load() || !slices.Contains(f.kinds, op.Kind) {
		return nil
	}
	if n := f.left.Add(-1); n == 0 || f.lasts && n < 0 {
		f.hit.Store(true)
		return errFault
	}
	return nil
}

// TestFailures fails the n-th operation of every kind: no crash, no hang, nothing acknowledged is lost, and reading goes
// on.
func TestFailures(t *testing.T) {
	kinds := map[string][]errorfs.OpKind{
		"write":  {errorfs.OpFileWrite, errorfs.OpFileWriteAt},
		"sync":   {errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo},
		"create": {errorfs.OpCreate},
		"reuse":  {errorfs.OpReuseForWrite},
		"rename": {errorfs.OpRename},
		"link":   {errorfs.OpLink},
		"remove": {errorfs.OpRemove, errorfs.OpRemoveAll},
		"mkdir":  {errorfs.OpMkdirAll},
		"close":  {errorfs.OpFileClose},
		"any": {errorfs.OpFileWrite, errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpCreate, errorfs.OpRename,
			errorfs.OpLink, errorfs.OpRemove, errorfs.OpMkdirAll, errorfs.OpFileClose, errorfs.OpFilePreallocate},
	}
	before := runtime.NumGoroutine()
	for name, ops := range kinds {
		t.Run(name, func(t *testing.T) {
			for n := range 50 {
				f := &faults{kinds: ops, lasts: n%2 == 1}
				testFailure(t, f, n+1)
				if !f.hit.Load() {
					break // a history has fewer operations of the kind
				}
			}
		})
	}
	for range 100 {
		if runtime.NumGoroutine() <= before+5 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	stacks := make([]byte, 1<<20)
	t.Errorf("%d goroutines are left, there were %d\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
}

func testFailure(t *testing.T, f *faults, n int) {
	f.left.Store(int64(n))
	mem := vfs.NewCrashableMem()
	faulty := errorfs.Wrap(mem, f)
	r := rand.New(rand.NewPCG(uint64(n), 1))
	h := newHistory(t, mem)
	var db *DB
	var err error
	fail := func(format string, args ...any) {
		t.Helper()
		t.Fatalf("operation %d: %s", n, fmt.Sprintf(format, args...))
	}
	db, err = Open("db", Options{FS: faulty, MemTableBytes: 256 << 10})
	if err != nil && !f.hit.Load() {
		fail("%v", err)
	}
	if err == nil {
		c := db.NewCommit()
		for range 80 {
			if err = h.step(db, c, r); err != nil {
				break
			}
		}
		if err != nil {
			if !errors.Is(err, errFault) {
				fail("error is %v", err)
			}
			if db.Err() != nil {
				if e := h.step(db, c, r); !errors.Is(e, ErrFrozen) {
					fail("after it %v", e)
				}
			}
			for i := range h.acked {
				if i >= len(h.acked)-historyKeep+1 {
					checkPages(t, db, h.acked[i], h.pages[h.acked[i]])
				}
			}
		}
		frozen := db.Err()
		start := time.Now()
		closed := db.Close(nil)
		if d := time.Since(start); d > 3*time.Second {
			fail("close took %v", d)
		}
		if frozen != nil && !errors.Is(closed, ErrFrozen) {
			fail("close of a frozen database: %v", closed)
		}
		c.Close()
	}
	f.off.Store(true)
	for _, fs := range []vfs.FS{mem.CrashClone(vfs.CrashCloneCfg{}), mem} {
		again, err := Open("db", Options{FS: fs, MemTableBytes: 256 << 10})
		if err != nil {
			fail("reopen: %v", err)
		}
		h.check(again)
		if err := again.Close(nil); err != nil {
			fail("close after reopen: %v", err)
		}
	}
}
