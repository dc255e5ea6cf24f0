package wideleaf

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// killDir makes this test binary the process that TestKill kills: it inserts into the database there until it dies.
const killDir = "WIDELEAF_TEST_KILL_DIR"

const killClients = 4

// killRow is the n-th row of a client. Column twin equals column n and has no index.
func killRow(client, n int) []any {
	return []any{client, n, n, fmt.Sprintf("row %d of %d", n, client), n % 10}
}

var killColumns = []Column{{Name: "client", Type: Int4}, {Name: "n", Type: Int4}, {Name: "twin", Type: Int4}, {Name: "s", Type: Text}, {Name: "d", Type: Int4}}

func TestMain(m *testing.M) {
	if dir := os.Getenv(killDir); dir != "" {
		if err := insertUntilKilled(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// insertUntilKilled inserts with Sync from several goroutines, beside flushes and merges, and prints what was
// acknowledged: "client n", after the commit of the client's rows up to n.
func insertUntilKilled(dir string) error {
	ctx := context.Background()
	db, err := Open(dir, &Options{Logger: quiet, MergeFanIn: 2, AutovacuumVacuumThreshold: 1})
	if err != nil {
		return err
	}
	if tb, err := db.Table(killMutateTable); err == nil {
		return mutateUntilKilled(db, tb)
	}
	tb, err := db.Table("t")
	if err != nil {
		return err
	}
	next := make([]int, killClients)
	for c := range next {
		v, err := tb.Query().Where(fmt.Sprintf("client = %d", c)).Aggregate(ctx, "max(n)")
		if err != nil {
			return err
		}
		if !v[0].IsNull() {
			next[c] = int(v[0].Int()) + 1
		}
	}
	fmt.Println("ready")
	var out sync.Mutex
	errs := make(chan error, killClients+1)
	for c := range killClients {
		go func() {
			b := tb.NewBatch()
			for n := next[c]; ; {
				b.Reset()
				for range 1 + rand.IntN(20) {
					if err := b.Append(killRow(c, n)...); err != nil {
						errs <- err
						return
					}
					n++
				}
				if err := tb.InsertBatch(ctx, b); err != nil {
					errs <- err
					return
				}
				out.Lock()
				fmt.Println(c, n-1)
				out.Unlock()
			}
		}()
	}
	go func() {
		for {
			time.Sleep(time.Duration(rand.IntN(30)) * time.Millisecond)
			if err := tb.Flush(ctx); err != nil {
				errs <- err
				return
			}
		}
	}()
	return <-errs
}

// Kill -9 in the middle of a Sync load, at random moments: all acknowledged rows are there after reopening,
// none twice, batches are whole, indexes and heap agree.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills processes; not in short mode")
	}
	kills := 10
	if nightly {
		kills = 20
	}
	off := false
	for name, indexes := range map[string][]IndexDef{
		"btree": {
			{Name: "i_client", Columns: []IndexColumn{{Name: "client"}}},
			{Name: "i_n", Columns: []IndexColumn{{Name: "n"}}},
			{Name: "i_s", Columns: []IndexColumn{{Name: "s"}}},
			{Name: "i_dn", Columns: []IndexColumn{{Name: "d", Desc: true}, {Name: "n"}}},
		},
		"gin": {
			{Name: "i_cns", Method: "gin", Columns: []IndexColumn{{Name: "client"}, {Name: "n"}, {Name: "s"}}},
			{Name: "i_d", Method: "gin", IndexOptions: IndexOptions{FastUpdate: &off}, Columns: []IndexColumn{{Name: "d"}}},
		},
	} {
		t.Run(name, func(t *testing.T) { testKills(t, kills, indexes) })
	}
}

func testKills(t *testing.T, kills int, indexes []IndexDef) {
	ctx := context.Background()
	dir := t.TempDir()
	db := mustOpen(t, dir, &Options{Logger: quiet})
	if _, err := db.CreateTable(ctx, "t", killColumns...); err != nil {
		t.Fatal(err)
	}
	if err := db.CreateIndexes(ctx, "t", indexes...); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	acked := [killClients]int{-1, -1, -1, -1}
	for kill := range kills {
		killed(t, dir, &acked)
		db := mustOpen(t, dir, &Options{Logger: quiet})
		tb, err := db.Table("t")
		if err != nil {
			t.Fatal(err)
		}
		total := int64(0)
		for c := range killClients {
			v, err := tb.Query().Where(fmt.Sprintf("client = %d", c)).Aggregate(ctx, "count(*)", "max(n)", "count(distinct n)", "max(twin)")
			if err != nil {
				t.Fatal(err)
			}
			last := -1
			if !v[1].IsNull() {
				last = int(v[1].Int())
			}
			if last < acked[c] {
				t.Fatalf("kill %d: client %d has rows up to %d, %d was acknowledged", kill, c, last, acked[c])
			}
			if v[0].Int() != int64(last+1) || v[2].Int() != int64(last+1) {
				t.Fatalf("kill %d: client %d has %d rows of %d numbers up to %d", kill, c, v[0].Int(), v[2].Int(), last)
			}
			acked[c] = last
			total += v[0].Int()
		}
		if n := count(t, tb, ""); n != total {
			t.Fatalf("kill %d: %d rows in all, %d by client", kill, n, total)
		}
		for range 20 {
			n := rand.IntN(acked[0] + 2)
			c := rand.IntN(killClients)
			for _, pair := range [][2]string{
				{fmt.Sprintf("n < %d", n), fmt.Sprintf("twin < %d", n)},
				{fmt.Sprintf("s = 'row %d of %d'", n, c), fmt.Sprintf("twin = %d and client = %d", n, c)},
				{fmt.Sprintf("d = %d and n > %d", n%10, n), fmt.Sprintf("d = %d and twin > %d", n%10, n)},
			} {
				if a, b := count(t, tb, pair[0]), count(t, tb, pair[1]); a != b {
					t.Fatalf("kill %d: %s: %d rows, %s: %d", kill, pair[0], a, pair[1], b)
				}
			}
		}
		if err := db.Check(ctx); err != nil {
			t.Fatalf("kill %d: %v", kill, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("rows acknowledged by client: %v", acked)
}

// killed runs the inserting process on a database, kills it, and notes what it had been told.
func killed(t *testing.T, dir string, acked *[killClients]int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), killDir+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "ready" {
		t.Fatalf("the inserting process did not start: %q", lines.Text())
	}
	time.AfterFunc(time.Duration(20+rand.IntN(300))*time.Millisecond, func() { _ = cmd.Process.Kill() })
	for lines.Scan() {
		c, n, ok := strings.Cut(lines.Text(), " ")
		client, err1 := strconv.Atoi(c)
		last, err2 := strconv.Atoi(n)
		if !ok || err1 != nil || err2 != nil {
			continue // cut off by the kill
		}
		acked[client] = max(acked[client], last)
	}
	_ = cmd.Wait()
}
