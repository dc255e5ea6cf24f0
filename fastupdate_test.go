package wideleaf

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"wideleaf/value"
)

// pendingTable is a table of two columns, with an index on each, that knows its rows.
type pendingTable struct {
	*Table
	t    *testing.T
	db   *DB
	rnd  *rand.Rand
	a, b []int32
}

func newPendingTable(t *testing.T, opts IndexOptions) *pendingTable {
	ctx := context.Background()
	db, err := Open(t.TempDir(), &Options{Logger: quiet, PendingListLimit: minPendingListLimit})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	tb, err := db.CreateTable(ctx, "t", Column{Name: "a", Type: Int4}, Column{Name: "b", Type: Int4})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []string{"a", "b"} {
		def := IndexDef{Name: "by_" + c, Columns: []IndexColumn{{Name: c}}, IndexOptions: opts}
		if err := db.CreateIndex(ctx, "t", def); err != nil {
			t.Fatal(err)
		}
	}
	return &pendingTable{Table: tb, t: t, db: db, rnd: rand.New(rand.NewPCG(1, 1))}
}

func (p *pendingTable) insert(rows int) {
	batch := p.NewBatch()
	for range rows {
		a, b := p.rnd.Int32N(100), p.rnd.Int32N(1000)
		p.a, p.b = append(p.a, a), append(p.b, b)
		batch.Column(0).AppendCode(uint64(value.Int4Code(a)))
		batch.Column(1).AppendCode(uint64(value.Int4Code(b)))
	}
	if err := p.InsertBatch(context.Background(), batch, NoSync); err != nil {
		p.t.Fatal(err)
	}
}

// check asks what the rows themselves answer.
func (p *pendingTable) check() {
	p.t.Helper()
	var both, one int64
	for i := range p.a {
		if p.b[i] < 500 {
			one++
			if p.a[i] == 7 {
				both++
			}
		}
	}
	for where, want := range map[string]int64{"b < 500": one, "a = 7 and b < 500": both} {
		if got, err := p.Query().Where(where).Count(context.Background()); err != nil || got != want {
			p.t.Fatalf("after %d rows, %s: got %d, %v, want %d", len(p.a), where, got, err, want)
		}
	}
}

func (p *pendingTable) pending() (rows, pages int64) {
	for _, ix := range p.Indexes() {
		rows, pages = max(rows, ix.PendingRows), max(pages, ix.PendingPages)
	}
	return rows, pages
}

func TestFastUpdateOff(t *testing.T) {
	off := false
	p := newPendingTable(t, IndexOptions{FastUpdate: &off})
	for _, rows := range []int{1, 511, 1, 600, 100, 5000, 64, 63, 20_000, 50_000, 3} {
		p.insert(rows)
		p.check()
		if n, _ := p.pending(); n >= 512+65_536 {
			t.Fatalf("%d rows pending", n)
		}
	}
	if err := p.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	p.check()
	if n, _ := p.pending(); n != 0 {
		t.Errorf("%d rows pending after a flush", n)
	}
}

func TestCleanPendingList(t *testing.T) {
	ctx := context.Background()
	p := newPendingTable(t, IndexOptions{})
	p.insert(5000)
	rows, pages := p.pending()
	if rows != 5000 || pages != 11 { // 12 + 5 bytes a row, 8,160 a page: 480 rows
		t.Fatalf("%d rows, %d pages pending", rows, pages)
	}
	freed, err := p.db.CleanPendingList(ctx, "by_a")
	if err != nil || freed != 11 {
		t.Fatalf("freed %d pages, %v", freed, err)
	}
	p.check()
	p.insert(10)
	p.check()
	if _, err := p.db.CleanPendingList(ctx, "by_b"); err != nil {
		t.Fatal(err)
	}
	if rows, _ = p.pending(); rows != 0 {
		t.Fatalf("%d rows pending", rows)
	}
	p.check()
	if freed, err := p.db.CleanPendingList(ctx, "by_b"); err != nil || freed != 0 {
		t.Fatalf("an empty list: freed %d pages, %v", freed, err)
	}
	if _, err := p.db.CleanPendingList(ctx, "no_index"); !errors.Is(err, ErrNotFound) {
		t.Errorf("no index: %v", err)
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	p.insert(10)
	if _, err := p.db.CleanPendingList(canceled, "by_b"); !errors.Is(err, ErrCanceled) {
		t.Errorf("canceled: %v", err)
	}
}

// A list over its limit is taken up by itself, and never grows over the hard limit.
func TestPendingListLimit(t *testing.T) {
	ctx := context.Background()
	p := newPendingTable(t, IndexOptions{})
	p.insert(20_000) // 80,000 bytes of keys, the limit is 65,536
	if err := p.db.Settle(ctx); err != nil {
		t.Fatal(err)
	}
	if rows, _ := p.pending(); rows != 0 {
		t.Errorf("%d rows pending when all is settled", rows)
	}
	p.check()
	m, err := p.db.Metrics()
	if err != nil || m.Sorts == 0 {
		t.Errorf("%d sorts, %v", m.Sorts, err)
	}
	for range 20 {
		p.insert(9_973)
		p.check()
	}
}

func TestAlterIndex(t *testing.T) {
	ctx := context.Background()
	p := newPendingTable(t, IndexOptions{})
	p.insert(1000)
	off, limit := false, int64(1<<20)
	if err := p.db.AlterIndex(ctx, "by_a", IndexOptions{FastUpdate: &off, PendingListLimit: &limit}); err != nil {
		t.Fatal(err)
	}
	p.insert(1)
	p.insert(600)
	p.check()
	for _, ix := range p.Indexes() {
		if ix.Name == "by_a" {
			if *ix.FastUpdate || *ix.PendingListLimit != limit {
				t.Errorf("options are %v, %d", *ix.FastUpdate, *ix.PendingListLimit)
			}
			if ix.PendingRows > 512 {
				t.Errorf("%d rows pending", ix.PendingRows)
			}
		}
	}
	for _, bad := range []int64{1, -1, minPendingListLimit - 1, maxPendingListLimit + 1} {
		err := p.db.AlterIndex(ctx, "by_a", IndexOptions{PendingListLimit: &bad})
		var e *Error
		if !errors.As(err, &e) || !errors.Is(err, ErrInvalid) || e.Code != "22023" {
			t.Errorf("%d: %v", bad, err)
		}
	}
	if err := p.db.AlterIndex(ctx, "nothing", IndexOptions{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("no index: %v", err)
	}
	if err := p.db.CreateIndex(ctx, "t", IndexDef{Name: "by_both", Method: "gin", Columns: []IndexColumn{{Name: "a"}, {Name: "b"}}}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { // until the index is gone, and then with an error that says so
		for {
			fast := !off
			off = fast
			err := p.db.AlterIndex(ctx, "by_both", IndexOptions{FastUpdate: &fast})
			if err == nil {
				_, err = p.db.CleanPendingList(ctx, "by_both")
			}
			var e *Error
			switch {
			case err == nil:
			case errors.As(err, &e) && errors.Is(err, ErrNotFound) && e.Object == "by_both":
				return
			default:
				t.Errorf("an index that is being dropped: %v", err)
				return
			}
		}
	})
	p.insert(700)
	if err := p.db.DropIndex(ctx, "by_both"); err != nil {
		t.Error(err)
	}
	wg.Wait()
	p.check()
	dir := p.db.dir
	if err := p.db.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := Open(dir, &Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tb, err := db.Table("t")
	if err != nil {
		t.Fatal(err)
	}
	p.Table, p.db = tb, db
	p.check()
	found := ""
	for _, ix := range tb.Indexes() {
		found += fmt.Sprint(ix.Name, *ix.FastUpdate, *ix.PendingListLimit, " ")
	}
	if found != "by_afalse 1048576 by_btrue 0 " {
		t.Errorf("after reopening: %s", found)
	}
}

// The leader looks at pending rows every so many, so more than the limit may wait with no worker awake. Whoever waits for
// all work to be done wakes them.
func TestSettleWakesWorkers(t *testing.T) {
	p := newPendingTable(t, IndexOptions{})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	every := p.w.sorting.every
	for _, rows := range []int{every, every / 2} {
		p.insert(rows)
		for _, ix := range []string{"by_a", "by_b"} {
			if _, err := p.db.CleanPendingList(ctx, ix); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range every + 2 { // past a look that finds few, to more than the limit
		p.insert(1)
	}
	if err := p.db.Settle(ctx); err != nil {
		t.Fatal(err)
	}
	if rows, _ := p.pending(); rows > int64(every) {
		t.Fatalf("%d rows wait, which are more than the limit", rows)
	}
	p.check()
}
