package wideleaf

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"golang.org/x/sync/errgroup"

	"wideleaf/am"
	"wideleaf/buildparallel"
	"wideleaf/pgerr"
	"wideleaf/store"
	"wideleaf/version"
)

// failingBuild is a database whose builds go wrong: at each operation on a file during one, fault is called.
type failingBuild struct {
	t     *testing.T
	dir   string
	db    *DB
	tb    *Table
	rows  int64
	defs  []IndexDef
	fault atomic.Pointer[func(errorfs.Op) error]
}

func newFailingBuild(t *testing.T, rows int, defs ...IndexDef) *failingBuild {
	f := &failingBuild{t: t, dir: t.TempDir(), rows: int64(rows), defs: defs}
	f.open()
	f.fill()
	return f
}

func (f *failingBuild) open() {
	f.t.Helper()
	f.db = mustOpen(f.t, f.dir, testOptions(errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if do := f.fault.Load(); do != nil {
			return (*do)(op)
		}
		return nil
	}))))
}

func (f *failingBuild) fill() { f.tb, _ = buildTable(f.t, f.db, int(f.rows)) }

// build builds the indexes in as little memory as may be, so that there are tapes, while fault is called.
func (f *failingBuild) build(ctx context.Context, fault func(errorfs.Op) error) error {
	workers := 1
	f.fault.Store(&fault)
	defer f.fault.Store(nil)
	return f.tb.CreateIndexesWith(ctx, BuildOptions{ParallelWorkers: &workers, MaintenanceWorkMem: buildparallel.MinMemory}, f.defs...)
}

// nothing checks that nothing is left of a build, and that it is so after opening again; gone says that the table is, too.
func (f *failingBuild) nothing(what string, gone bool) {
	f.t.Helper()
	look := func() {
		f.t.Helper()
		if !gone {
			if ixs := f.tb.indexes(); len(ixs) > 0 {
				f.t.Fatalf("%s: %d indexes are left", what, len(ixs))
			}
			if n := count(f.t, f.tb, "dup < 5 OR dup >= 5"); n != f.rows {
				f.t.Fatalf("%s: %d rows, expected %d", what, n, f.rows)
			}
		}
		if files := tapesOf(f.t, f.dir); len(files) > 0 {
			f.t.Fatalf("%s: files are left: %v", what, files)
		}
		if b := f.db.IndexBuilds(); len(b) > 0 {
			f.t.Fatalf("%s: builds are left: %v", what, b)
		}
		for _, prefix := range []byte{version.IndexPrefix, version.RunPrefix} {
			if err := f.db.store.Records(prefix, func(r store.Record) error { return fmt.Errorf("record %x is left", r.Key) }); err != nil {
				f.t.Fatalf("%s: %v", what, err)
			}
		}
	}
	if f.db.store.Err() == nil {
		look()
		if err := f.db.Check(f.t.Context()); err != nil {
			f.t.Fatalf("%s: %v", what, err)
		}
	}
	_ = f.db.Close() // fails with what failed before
	f.open()
	if tb, err := f.db.Table("t"); gone != errors.Is(err, ErrNotFound) {
		f.t.Fatalf("%s: opened again: %v", what, err)
	} else if !gone {
		f.tb = tb
	}
	look()
}

// fault does something at an operation of a build, the n-th after the one whose turn it is.
type buildFault func(n int64, cancel context.CancelFunc) error

// each has builds with a fault at the operations of a kind, of the first ones at each, then more and more rarely, until one
// has no more operations than that. check looks at the errors; nothing may be left then.
func (f *failingBuild) each(of func(errorfs.Op) bool, fault buildFault, check func(what string, err error)) {
	f.t.Helper()
	failed := 0
	for at := int64(1); ; at += 1 + at/2 {
		ctx, cancel := context.WithCancel(f.t.Context())
		var n atomic.Int64
		err := f.build(ctx, func(op errorfs.Op) error {
			if !of(op) {
				return nil
			}
			return fault(n.Add(1)-at, cancel)
		})
		cancel()
		switch {
		case err != nil && n.Load() < at:
			f.t.Fatalf("there was no fault in %d operations: %v", n.Load(), err)
		case err != nil:
			failed++
			what := fmt.Sprintf("operation %d", at)
			check(what, err)
			f.nothing(what, false)
		default:
			for _, d := range f.defs {
				if err := f.db.DropIndex(f.t.Context(), d.Name); err != nil {
					f.t.Fatal(err)
				}
			}
			if n.Load() >= at {
				continue // it was done already
			}
			if failed < 4 {
				f.t.Fatalf("only %d faults: the build has only %d of these operations", failed, n.Load())
			}
			return
		}
	}
}

// onTape are the operations of participants on tapes.
func onTape(op errorfs.Op) bool {
	return strings.HasSuffix(op.Path, ".tape") && (op.Kind == errorfs.OpFileWrite || op.Kind == errorfs.OpFileReadAt)
}

// A build that fails, wherever that is, leaves no index, no record, no file, and a database that takes rows and builds, now
// and after it was opened again.
func TestFailedBuildLeavesNothing(t *testing.T) {
	column := func(names ...string) (out []IndexColumn) {
		for _, n := range names {
			out = append(out, IndexColumn{Name: n})
		}
		return out
	}
	for name, defs := range map[string][]IndexDef{
		"btree":  {{Name: "i", Columns: column("up")}, {Name: "j", Columns: column("txt")}},
		"unique": {{Name: "i", Columns: column("up"), Unique: true}, {Name: "j", Columns: column("dup", "down"), Unique: true}},
		"gin":    {{Name: "i", Method: "gin", Columns: column("wide", "txt", "dup")}},
		"rum":    {{Name: "i", Method: "rum", Columns: column("wide", "txt", "dup")}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFailingBuild(t, 70_000, defs...)
			defer func() { _ = f.db.Close() }()
			for _, c := range []struct {
				name  string
				of    func(errorfs.Op) bool
				fault buildFault
				code  string
				says  string
			}{
				{"no room", func(op errorfs.Op) bool { return slices.Contains(writes, op.Kind) }, func(n int64, _ context.CancelFunc) error {
					if n >= 0 {
						return syscall.ENOSPC
					}
					return nil
				}, pgerr.DiskFull, "no space left"},
				{"cancelled", func(errorfs.Op) bool { return true }, func(n int64, cancel context.CancelFunc) error {
					if n == 0 {
						cancel()
					}
					return nil
				}, pgerr.QueryCanceled, "canceling statement due to user request"},
				{"panic at a tape", onTape, func(n int64, _ context.CancelFunc) error {
					if n == 0 {
						panic("a fault in a participant")
					}
					return nil
				}, pgerr.InternalError, "a fault in a participant"},
				{"bad tape", onTape, func(n int64, _ context.CancelFunc) error {
					if n == 0 {
						return syscall.EIO
					}
					return nil
				}, pgerr.IOError, `index "`},
			} {
				ix, err := f.tb.newIndex(defs[0])
				if err != nil {
					t.Fatal(err)
				}
				if _, loads := ix.Method.(am.Loader); !loads && strings.HasSuffix(c.name, " tape") {
					continue // built segment by segment, in memory
				}
				f.each(c.of, c.fault, func(what string, err error) {
					if code(err) != c.code || !strings.Contains(err.Error(), c.says) {
						t.Fatalf("%s at %s: %v", c.name, what, err)
					}
				})
			}
			if err := f.build(t.Context(), func(errorfs.Op) error { return nil }); err != nil {
				t.Fatal(err)
			}
			if err := f.build(t.Context(), func(errorfs.Op) error { return nil }); !errors.Is(err, ErrExists) {
				t.Fatalf("built twice: %v", err)
			}
			if n := count(t, f.tb, "up >= 50000"); n != f.rows-50_000 {
				t.Fatalf("%d rows, expected %d", n, f.rows-50_000)
			}
		})
	}
}

// A build ends, and says why, when its table is dropped or it is cancelled in any of its phases.
func TestBuildEndsInEachPhase(t *testing.T) {
	const first, second = "i", "j"
	phases := []string{buildparallel.PhaseInitializing, buildparallel.PhaseScanning, buildparallel.PhaseSorting, buildparallel.PhaseLoading}
	f := newFailingBuild(t, 70_000, IndexDef{Name: first, Columns: []IndexColumn{{Name: "up"}}}, IndexDef{Name: second, Columns: []IndexColumn{{Name: "txt"}}})
	defer func() { _ = f.db.Close() }()
	seen := map[string]bool{}
	for _, index := range []string{first, second} {
		for _, phase := range phases {
			// in reports whether the build is there, for the first time.
			var once atomic.Bool
			in := func() bool {
				for _, b := range f.db.IndexBuilds() {
					if b.Index == index && b.Phase == phase {
						return !once.Swap(true)
					}
				}
				return false
			}
			ctx, cancel := context.WithCancel(t.Context())
			err := f.build(ctx, func(errorfs.Op) error {
				if in() {
					cancel()
				}
				return nil
			})
			cancel()
			if !once.Load() { // it does nothing with files in that phase
				if err != nil {
					t.Fatal(err)
				}
				for _, d := range f.defs {
					if err := f.db.DropIndex(t.Context(), d.Name); err != nil {
						t.Fatal(err)
					}
				}
				continue
			}
			seen[phase] = true
			if code(err) != pgerr.QueryCanceled {
				t.Fatalf("%s, %s: %v", index, phase, err)
			}
			f.nothing("cancelled while "+phase, false)

			once.Store(false)
			dropped := make(chan error, 1)
			err = f.build(t.Context(), func(errorfs.Op) error {
				if in() {
					go func() { dropped <- f.db.DropTable(context.Background(), "t") }()
				}
				return nil
			})
			if !once.Load() { // the phase was too short
				dropped <- f.db.DropTable(t.Context(), "t")
			}
			if err := <-dropped; err != nil {
				t.Fatal(err)
			}
			if err != nil && (code(err) != pgerr.UndefinedTable || !strings.Contains(err.Error(), `"t" does not exist`)) { // nil: it was done before
				t.Fatalf("%s, %s, the table is dropped: %v", index, phase, err)
			}
			f.nothing("dropped while "+phase, true)
			f.fill()
		}
	}
	for _, p := range phases[1:] {
		if !seen[p] {
			t.Errorf("no build was seen while %s", p)
		}
	}
}

// Of builds with the same name at the same time one succeeds and the others say that the name is taken; builds with
// other names beside it succeed.
func TestBuildsAtOnce(t *testing.T) {
	f := newFailingBuild(t, 70_000)
	defer func() { _ = f.db.Close() }()
	var g errgroup.Group
	var built, taken atomic.Int64
	for i := range 6 {
		g.Go(func() error {
			err := f.tb.CreateIndexes(t.Context(), IndexDef{Name: "same", Columns: []IndexColumn{{Name: []string{"up", "txt"}[i%2]}}})
			switch {
			case err == nil:
				built.Add(1)
			case errors.Is(err, ErrExists) && code(err) == pgerr.DuplicateTable && strings.Contains(err.Error(), `relation "same" already exists`):
				taken.Add(1)
			default:
				return err
			}
			return nil
		})
		g.Go(func() error {
			return f.tb.CreateIndexes(t.Context(), IndexDef{Name: fmt.Sprint("other", i), Columns: []IndexColumn{{Name: "dup"}}})
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if built.Load() != 1 || taken.Load() != 5 || len(f.tb.indexes()) != 7 {
		t.Fatalf("%d were built, %d were refused, there are %d indexes", built.Load(), taken.Load(), len(f.tb.indexes()))
	}
	for _, q := range []string{"up < 1000", "txt IS NOT NULL AND up < 1000", "dup < 10 AND up < 1000"} {
		if n := count(t, f.tb, q); n != 1000 {
			t.Errorf("%s: %d rows, expected 1000", q, n)
		}
	}
	if err := f.db.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A key that two rows have fails a unique build by its name, wherever the rows are and however the keys are sorted.
func TestDuplicateInUniqueBuild(t *testing.T) {
	const rows = 150_000
	db := mustOpen(t, t.TempDir(), testOptions(nil))
	defer db.Close()
	tb, err := db.CreateTable(t.Context(), "t", Column{Name: "c1", Type: Int4}, Column{Name: "c2", Type: Int8}, Column{Name: "c3", Type: Text})
	if err != nil {
		t.Fatal(err)
	}
	b := tb.NewBatch()
	for i := range rows {
		n := int64(i)
		if i == 142_000 {
			n = 42
		}
		// c2 spreads over all 64 bits, so that its entries are pairs; all in an order that is none.
		if err := b.Append(int32(n*7919%1_000_003), n*(1<<63/rows/2)-1<<62, fmt.Sprintf("row %d", n*7919%1_000_003)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(tb.InsertBatch(t.Context(), b, NoSync), tb.Flush(t.Context())); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ columns, detail string }{
		{"c1", "Key (c1)=(332598) is duplicated."},
		{"c2", fmt.Sprintf("Key (c2)=(%d) is duplicated.", 42*(1<<63/rows/2)-1<<62)},
		{"c3", "Key (c3)=(row 332598) is duplicated."},
		{"c3,c1", "Key (c3, c1)=(row 332598, 332598) is duplicated."},
	} {
		for _, memory := range []int64{buildparallel.MinMemory, 1 << 30} {
			for _, workers := range []int{0, 1, 4} {
				def := IndexDef{Name: "u", Unique: true}
				for _, c := range strings.Split(tc.columns, ",") {
					def.Columns = append(def.Columns, IndexColumn{Name: c})
				}
				err := tb.CreateIndexesWith(t.Context(), BuildOptions{ParallelWorkers: &workers, MaintenanceWorkMem: memory, MaxParallelMaintenanceWorkers: 4}, def)
				var e *Error
				if !errors.As(err, &e) || e.Code != pgerr.UniqueViolation || e.Message != `could not create unique index "u"` || e.Detail != tc.detail {
					t.Fatalf("%s, %d bytes, %d workers: %v", tc.columns, memory, workers, err)
				}
			}
		}
	}
	if ixs := tb.indexes(); len(ixs) > 0 {
		t.Fatalf("%d indexes are left", len(ixs))
	}
}

// A damaged page of a column fails the builds of indexes on it, naming the place, and no others.
func TestBuildOfDamagedColumn(t *testing.T) {
	fs := vfs.NewCrashableMem()
	db := mustOpen(t, "db", testOptions(fs))
	buildTable(t, db, 20_000)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	failed, built := 0, 0
	var name string // of the file with the rows
	files := filesOf(t, fs)
	for n := range files {
		if strings.HasSuffix(n, ".sst") && len(files[n]) > len(files[name]) {
			name = n
		}
	}
	for i := range 5 {
		bad := slices.Clone(files[name])
		bad[len(bad)*(2*i+1)/10] ^= 16
		broken := damage(t, fs, name, bad)
		db := mustOpen(t, "db", testOptions(broken))
		tb, err := db.Table("t")
		if err != nil {
			t.Fatal(err)
		}
		names := 0
		for _, c := range buildColumns {
			err := tb.CreateIndexesWith(t.Context(), BuildOptions{MaintenanceWorkMem: buildparallel.MinMemory}, IndexDef{Name: "i_" + c.Name, Columns: []IndexColumn{{Name: c.Name}}})
			if err == nil {
				built++
				names++
				continue
			}
			failed++
			if !errors.Is(err, ErrCorrupt) || code(err) != pgerr.DataCorrupted || !namesPlace(err, name) {
				t.Fatalf("%s, column %s: %v", name, c.Name, err)
			}
		}
		if n := len(tb.indexes()); n != names {
			t.Errorf("%d indexes, %d were built", n, names)
		}
		if left, _ := broken.List("db/tmp"); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if failed < 5 || built < failed {
		t.Fatalf("%d builds failed, %d did not", failed, built)
	}
}
