package store

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"wideleaf/tid"
)

// TestConcurrentFailure lets a committer, two publishers and a reader run into a failing disk: each is told, and what
// was acknowledged to any of them is there after a crash at that moment.
func TestConcurrentFailure(t *testing.T) {
	for seed := range 25 {
		mem := &gatedFS{MemFS: vfs.NewCrashableMem()}
		f := &faults{lasts: seed%2 == 0, kinds: []errorfs.OpKind{errorfs.OpFileWrite, errorfs.OpFileSync,
			errorfs.OpFileSyncData, errorfs.OpCreate, errorfs.OpRename, errorfs.OpFileClose}}
		f.left.Store(1 << 40)
		db, err := Open("db", Options{FS: errorfs.Wrap(mem, f), MemTableBytes: 64 << 10})
		if err != nil {
			t.Fatal(err)
		}
		f.left.Store(int64(100 + 37*seed))
		var wg sync.WaitGroup
		var rows int // acknowledged
		wg.Go(func() {
			c := db.NewCommit()
			defer c.Close()
			for {
				c.AddRows(1, tid.TID(rows), make([]byte, 3000))
				if err := c.Apply(true); err != nil {
					if !errors.Is(err, ErrFrozen) {
						t.Error(err)
					}
					return
				}
				rows++
			}
		})
		const pages = 4
		var published [2][]uint64 // acknowledged
		ready := make(chan uint64, 1000)
		var publishers sync.WaitGroup
		for p := range published {
			publishers.Go(func() {
				for {
					o, err := func() (uint64, error) {
						pt, err := db.NewTable()
						if err != nil {
							return 0, err
						}
						defer pt.Abort()
						for b := range uint32(pages) {
							if err := pt.WritePage(testPage(owner(pt.Ordinal()), b)); err != nil {
								return 0, err
							}
						}
						key := fmt.Sprintf("s%d/%d", p, len(published[p]))
						return pt.Ordinal(), errors.Join(pt.Finish(), db.Ingest(ctx, pt),
							db.Publish(Publication{Put: put(key, strconv.FormatUint(pt.Ordinal(), 10))}))
					}()
					if err != nil {
						if !errors.Is(err, ErrFrozen) {
							t.Error(err)
						}
						return
					}
					published[p] = append(published[p], o)
					select {
					case ready <- o:
					default:
					}
				}
			})
		}
		wg.Go(func() {
			for o := range ready {
				checkPages(t, db, o, pages)
				_ = db.Metrics()
			}
		})
		publishers.Wait()
		crashed := mem.clone(vfs.CrashCloneCfg{})
		close(ready)
		wg.Wait()
		begin := time.Now()
		if err := db.Close(nil); !errors.Is(err, ErrFrozen) {
			t.Errorf("close: %v", err)
		}
		if d := time.Since(begin); d > 3*time.Second {
			t.Errorf("close took %v", d)
		}
		f.off.Store(true)
		for _, fs := range []vfs.FS{crashed, mem} {
			db, err := Open("db", Options{FS: fs})
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if n := len(rowBlocks(t, db, 1)); n < rows || n > rows+1 {
				t.Errorf("seed %d: %d row blocks, %d were acknowledged", seed, n, rows)
			}
			live, found := map[uint64]bool{}, map[string]string{}
			for _, r := range records(t, db, 's') {
				k, v, _ := strings.Cut(r, "=")
				o, _ := strconv.ParseUint(v, 10, 64)
				live[o], found[k] = true, v
			}
			for p := range published {
				for i, o := range published[p] {
					if k := fmt.Sprintf("s%d/%d", p, i); found[k] != strconv.FormatUint(o, 10) {
						t.Errorf("seed %d: record %s is %q, want %d", seed, k, found[k], o)
					}
				}
			}
			if err := db.ExciseOrphans(ctx, live); err != nil {
				t.Error(err)
			}
			for o := range live {
				checkPages(t, db, o, pages)
			}
			if err := db.Close(nil); err != nil {
				t.Error(err)
			}
		}
	}
}
