package wideleaf

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// A build that fails, wherever that is, leaves no index, no file and a database that takes rows and builds.
func TestFailedBuildLeavesNothing(t *testing.T) {
	const rows = 150_000
	dir := t.TempDir()
	var suffix atomic.Pointer[string]
	var left atomic.Int64
	full := errorfs.InjectorFunc(func(op errorfs.Op) error {
		s := suffix.Load()
		if s == nil || op.Kind != errorfs.OpFileWrite || !strings.Contains(op.Path, "/tmp/") || !strings.HasSuffix(op.Path, *s) || left.Add(-1) >= 0 {
			return nil
		}
		return syscall.ENOSPC
	})
	db := mustOpen(t, dir, &Options{FS: errorfs.Wrap(vfs.Default, full)})
	defer db.Close()
	tb, _ := buildTable(t, db, rows)
	workers := 1
	o := BuildOptions{ParallelWorkers: &workers, MaintenanceWorkMem: 1 << 20}
	build := func(ctx context.Context) error {
		return tb.CreateIndexesWith(ctx, o,
			IndexDef{Name: "i", Columns: []IndexColumn{{Name: "wide"}}}, IndexDef{Name: "j", Columns: []IndexColumn{{Name: "txt"}}})
	}
	nothing := func(what string) {
		t.Helper()
		if ixs := tb.indexes(); len(ixs) > 0 {
			t.Fatalf("%s: %d indexes are left", what, len(ixs))
		}
		if files := tapesOf(t, dir); len(files) > 0 {
			t.Fatalf("%s: files are left: %v", what, files)
		}
		if b := db.IndexBuilds(); len(b) > 0 {
			t.Fatalf("%s: builds are left: %v", what, b)
		}
	}
	for _, s := range []string{".tape", ".sst"} {
		for _, n := range []int64{0, 1, 5} {
			what := fmt.Sprintf("no room for write %d of *%s", n, s)
			left.Store(n)
			suffix.Store(&s)
			err := build(t.Context())
			suffix.Store(nil)
			if !errors.Is(err, ErrFull) {
				t.Fatalf("%s: %v", what, err)
			}
			nothing(what)
		}
	}
	for i := range 12 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*8*time.Millisecond)
		err := build(ctx)
		cancel()
		if err == nil {
			break
		}
		if !errors.Is(err, ErrCanceled) {
			t.Fatalf("cancelled: %v", err)
		}
		nothing(fmt.Sprintf("cancelled after %d ms", 8*i))
	}
	if len(tb.indexes()) == 0 {
		if err := build(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := build(t.Context()); !errors.Is(err, ErrExists) {
		t.Fatalf("built twice: %v", err)
	}
	if n := count(t, tb, "txt >= '000000' AND wide IS NULL OR wide IS NOT NULL"); n != rows {
		t.Fatalf("%d rows, expected %d", n, rows)
	}
}
