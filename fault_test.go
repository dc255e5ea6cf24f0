package wideleaf

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"wideleaf/pgerr"
)

// faults makes operations of a file system fail: the left-th of the kinds, and all later ones if it lasts. A nil err
// only counts, and calls hit.
type faults struct {
	kinds []errorfs.OpKind
	left  atomic.Int64
	lasts bool
	err   error
	hit   func()
	off   atomic.Bool
	done  atomic.Bool
}

func (f *faults) String() string { return "faults" }

func (f *faults) MaybeError(op errorfs.Op) error {
	if f.off.Load() || f.kinds != nil && !slices.Contains(f.kinds, op.Kind) {
		return nil
	}
	if n := f.left.Add(-1); n == 0 || f.lasts && n < 0 {
		f.done.Store(true)
		if f.hit != nil {
			f.hit()
		}
		return f.err
	}
	return nil
}

// What needs space on the disk, and what puts things there.
var (
	writes  = []errorfs.OpKind{errorfs.OpFileWrite, errorfs.OpFileWriteAt, errorfs.OpCreate, errorfs.OpMkdirAll}
	flushes = []errorfs.OpKind{errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo}
)

// life is what is done to a database whose disk fails, and what must be there afterwards.
type life struct {
	t      *testing.T
	db     *DB
	rows   int64 // acknowledged
	maybe  int64 // not acknowledged, may be there or not
	column bool  // the added column is there
	name   string
	other  string // the name that a renaming which failed may have given
	index  bool
}

// live does all kinds of changes until one fails.
func (l *life) live(ctx context.Context) error {
	tb, err := l.db.CreateTable(ctx, "t", intColumns(3)...)
	if err != nil {
		return err
	}
	l.name = "t"
	insert := func(rows int) error {
		b := tb.NewBatch("c1", "c3")
		for i := range rows {
			_ = b.Append(i, i%7)
		}
		err := tb.InsertBatch(ctx, b)
		if err != nil {
			l.maybe = int64(rows)
			return err
		}
		l.rows += int64(rows)
		return nil
	}
	for _, step := range []func() error{
		func() error { return insert(200) },
		func() error {
			err := tb.CreateIndexes(ctx, indexEvery("t", tb.Columns())...)
			l.index = err == nil
			return err
		},
		func() error { return insert(300) },
		func() error { return tb.Flush(ctx) },
		func() error {
			err := tb.AddColumns(ctx, Column{Name: "n", Type: Int8, Default: 5})
			l.column = err == nil
			return err
		},
		func() error { return insert(100) },
		func() error { return tb.Flush(ctx) },
		func() error { return l.db.Settle(ctx) },
		func() error {
			err := tb.Rename(ctx, "renamed")
			if err != nil {
				l.other = "renamed"
				return err
			}
			l.name = "renamed"
			return nil
		},
		func() error { return insert(50) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// check holds a database that was opened again against what was acknowledged.
func (l *life) check(what string, fs vfs.FS) {
	l.t.Helper()
	db, err := Open("db", testOptions(fs))
	if err != nil {
		l.t.Fatalf("%s: %v", what, err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			l.t.Errorf("%s: close: %v", what, err)
		}
	}()
	tb, err := db.Table(l.name)
	if errors.Is(err, ErrNotFound) && l.other != "" {
		tb, err = db.Table(l.other)
	}
	if err != nil {
		if l.name != "" {
			l.t.Errorf("%s: %v", what, err)
		}
		return
	}
	for _, q := range []string{"", "c1 >= 0", "c3 < 7"} {
		if n := count(l.t, tb, q); n != l.rows && n != l.rows+l.maybe {
			l.t.Errorf("%s: %d rows where %q, %d were acknowledged, %d more may be there", what, n, q, l.rows, l.maybe)
		}
	}
	if l.column {
		if n := count(l.t, tb, "n = 5"); n < l.rows {
			l.t.Errorf("%s: %d rows have the added column's value, want %d", what, n, l.rows)
		}
	}
	if l.index && len(tb.Indexes()) != 3 {
		l.t.Errorf("%s: %d indexes, want 3", what, len(tb.Indexes()))
	}
	if err := errors.Join(db.Check(l.t.Context()), tb.Insert(l.t.Context(), make([]any, len(tb.Columns())))); err != nil {
		l.t.Errorf("%s: %v", what, err)
	}
}

// The disk is full at the n-th write, for every n: the error says so, reading goes on, and afterwards everything that
// was acknowledged is there. Likewise when a write or a sync fails for another reason; then all later commits are
// refused until the database is opened again.
func TestDiskFails(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		kinds  []errorfs.OpKind
		kind   error
		code   string
		stride int
	}{
		"full":    {&os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, writes, ErrFull, pgerr.DiskFull, 1},
		"quota":   {syscall.EDQUOT, writes, ErrFull, pgerr.DiskFull, 13},
		"sync":    {syscall.EIO, flushes, ErrReadOnly, pgerr.IOError, 1},
		"write":   {syscall.EIO, writes, ErrReadOnly, pgerr.IOError, 7},
		"dropped": {syscall.EROFS, writes, ErrReadOnly, pgerr.InsufficientPrivilege, 11},
	} {
		t.Run(name, func(t *testing.T) {
			n := 1
			for ; ; n += c.stride {
				f := &faults{kinds: c.kinds, err: c.err, lasts: n%2 == 0}
				f.left.Store(int64(n))
				mem := vfs.NewCrashableMem()
				l := &life{t: t}
				db, err := Open("db", testOptions(errorfs.Wrap(mem, f)))
				if err == nil {
					l.db = db
					err = l.live(t.Context())
				}
				if err == nil && !f.done.Load() {
					if err := db.Close(); err != nil && !f.done.Load() {
						t.Fatal(err)
					}
					if t.Logf("%d operations", n); n < 30 {
						t.Error("these are too few for all that is done")
					}
					return
				}
				where := fmt.Sprintf("operation %d", n)
				if err != nil && (!errors.Is(err, c.kind) || code(err) != c.code) {
					t.Fatalf("%s: %v (kind %v)", where, err, errors.Unwrap(err))
				}
				if db != nil {
					if tb, err := db.Table("t"); err == nil && l.name == "t" && l.db != nil {
						if n := count(t, tb, "c1 >= 0"); n != l.rows {
							t.Errorf("%s: %d rows are read afterwards, want %d", where, n, l.rows)
						}
						if err := tb.Insert(t.Context(), make([]any, len(tb.Columns()))); db.store.Err() != nil && (!errors.Is(err, c.kind) || code(err) != c.code) {
							t.Errorf("%s: a later commit: %v", where, err)
						} else if err == nil {
							l.rows++
						}
					}
					if err := db.Close(); err != nil && !errors.Is(err, c.kind) {
						t.Errorf("%s: close: %v", where, err)
					}
				}
				f.off.Store(true)
				l.check(where+", crashed", mem.CrashClone(vfs.CrashCloneCfg{}))
				l.check(where, mem)
			}
		})
	}
}

// A context that ends at the n-th operation on a file, for every n, ends every call, and leaves all or nothing of it.
func TestCancelledInTheMidst(t *testing.T) {
	for name, en := range entries {
		if en.offline {
			continue
		}
		t.Run(name, func(t *testing.T) {
			for n := int64(1); ; n++ {
				f := &faults{}
				f.off.Store(true)
				mem := vfs.NewMem()
				e := newEnvOn(t, errorfs.Wrap(mem, f))
				before := fingerprint(t, e.db)
				ctx, cancel := context.WithCancel(t.Context())
				f.hit = cancel
				f.left.Store(n)
				f.off.Store(false)
				err := attempt(t, func() error { return en.good(ctx, e) })
				f.off.Store(true)
				cancel()
				if err != nil && (!errors.Is(err, ErrCanceled) || code(err) != pgerr.QueryCanceled) {
					t.Fatalf("ended at operation %d: %v", n, err)
				}
				if err != nil {
					if after := fingerprint(t, e.db); after != before && name != "Table.Flush" && name != "DB.CleanPendingList" {
						t.Fatalf("ended at operation %d, something has changed:\n%s\n%s", n, before, after)
					}
				}
				if err := errors.Join(e.db.Check(t.Context()), e.db.Close()); err != nil {
					t.Fatal(err)
				}
				if !f.done.Load() {
					return
				}
			}
		})
	}
}

// A database of a newer format is refused, and left as it is.
func TestNewerFormat(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, fs *vfs.MemFS){
		"Pebble": func(t *testing.T, fs *vfs.MemFS) {
			for n := range filesOf(t, fs) {
				if rest, ok := strings.CutPrefix(n, "marker.format-version."); ok {
					iter, _, _ := strings.Cut(rest, ".")
					if err := fs.Rename("db/"+n, "db/marker.format-version."+iter+".999"); err != nil {
						t.Fatal(err)
					}
				}
			}
		},
		"account": func(t *testing.T, fs *vfs.MemFS) {
			b := filesOf(t, fs)["ACCOUNT"]
			b[16]++
			binary.LittleEndian.PutUint64(b[len(b)-8:], xxhash.Sum64(b[:len(b)-8]))
			f, err := fs.Create("db/ACCOUNT", "")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Write(b); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(f.Sync(), f.Close()); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewMem()
			db := mustOpen(t, "db", testOptions(fs))
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			change(t, fs)
			before := filesOf(t, fs)
			_, err := Open("db", testOptions(fs))
			if !errors.Is(err, ErrInvalid) || code(err) != pgerr.FeatureNotSupported || !strings.Contains(err.Error(), "newer format") {
				t.Errorf("%v", err)
			}
			if after := filesOf(t, fs); !maps.EqualFunc(before, after, bytes.Equal) {
				t.Errorf("files have changed: %d, %d", len(before), len(after))
			}
		})
	}
}
