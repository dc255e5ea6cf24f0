package main

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wideleaf"
)

// runMain makes this test binary the command itself.
const runMain = "WIDELOAD_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(runMain) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// A load that is killed, at whatever moment, leaves the whole table or none, in one commit or many. What was there before
// stays, and the name can be used again.
func TestKilledLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills processes; not in short mode")
	}
	dir := t.TempDir()
	db, before, file := filepath.Join(dir, "db"), filepath.Join(dir, "before.csv"), filepath.Join(dir, "f.csv")
	var text strings.Builder
	rows := 0
	for ; text.Len() < 6<<20; rows++ {
		fmt.Fprintf(&text, "%d,%d,name %d,%d.5\n", rows, rows%1000, rows%77777, rows)
	}
	for path, content := range map[string]string{before: "1,a\n2,b\n", file: text.String()} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mustRun(t, "load", before, "--table", "before", "--db", db)
	takes := map[string]time.Duration{}
	indexes := map[string]int{"btree": 4, "gin": 1}
	for index := range indexes {
		start := time.Now()
		mustRun(t, "load", file, "--table", "t", "--index", index, "--db", filepath.Join(dir, index))
		takes[index] = time.Since(start)
	}
	whole, none := 0, 0
	kills := 8
	if os.Getenv("WIDELEAF_NIGHTLY") != "" {
		kills = 50
	}
	for i := range kills + 1 { // the last one is let live
		index := []string{"gin", "btree"}[i%2]
		cmd := exec.Command(os.Args[0], "load", file, "--table", "t", "--index", index, "--db", db, "--memory-limit", "64MiB")
		cmd.Env = append(os.Environ(), runMain+"=1")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if i < kills {
			time.Sleep(rand.N(takes[index] * 2))
			_ = cmd.Process.Kill()
		}
		if err := cmd.Wait(); err != nil && i == kills {
			t.Fatalf("not killed: %v", err)
		}
		d, err := wideleaf.Open(db, &wideleaf.Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		tb, err := d.Table("t")
		switch {
		case errors.Is(err, wideleaf.ErrNotFound):
			none++
		case err != nil:
			t.Fatal(err)
		default:
			whole++
			if n, err := tb.Query().Where("c1 >= 0 and c3 is not null").Count(t.Context()); err != nil || n != int64(rows) || len(tb.Indexes()) != indexes[index] {
				t.Fatalf("%d rows (%v) and %d indexes, want %d and %d", n, err, len(tb.Indexes()), rows, indexes[index])
			}
			if err := d.DropTable(t.Context(), "t"); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got := mustRun(t, "dump", "--table", "before", "--db", db); got != "c1,c2\n1,a\n2,b\n" {
		t.Errorf("the table that was there is now %q", got)
	}
	if whole == 0 {
		t.Error("the load that was not killed left no table")
	}
	t.Logf("of the loads killed, %d left the whole table and %d none", whole-1, none)
}
