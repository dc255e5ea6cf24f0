package pageinspect_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"wideleaf"
	"wideleaf/page"
	"wideleaf/pageinspect"
)

const flushed, waiting = 3000, 40

// open returns a database as create makes it, and its inspector.
func open(t testing.TB) (*wideleaf.DB, *pageinspect.Inspector) {
	t.Helper()
	db := create(t, t.TempDir())
	return db, pageinspect.New(db)
}

// create makes a database of a table t : a, the row's number, and b, one of three texts; with a btree t_a, a gin t_g over both,
// and a rum t_r over both, a attached to b.
func create(t testing.TB, dir string) *wideleaf.DB {
	t.Helper()
	db, err := wideleaf.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	ctx := context.Background()
	tab, err := db.CreateTable(ctx, "t", wideleaf.Column{Name: "a", Type: wideleaf.Int4}, wideleaf.Column{Name: "b", Type: wideleaf.Text})
	must(t, err)
	both := []wideleaf.IndexColumn{{Name: "a"}, {Name: "b"}}
	must(t, db.CreateIndex(ctx, "t", wideleaf.IndexDef{Name: "t_a", Method: "btree", Columns: both[:1]}))
	must(t, db.CreateIndex(ctx, "t", wideleaf.IndexDef{Name: "t_g", Method: "gin", Columns: both}))
	must(t, db.CreateIndex(ctx, "t", wideleaf.IndexDef{Name: "t_r", Method: "rum", Columns: both, Attach: []wideleaf.Attach{{Column: "a", To: "b"}}}))
	insert(t, tab, 0, flushed)
	must(t, tab.Flush(ctx))
	must(t, db.Settle(ctx))
	insert(t, tab, flushed, flushed+waiting)
	return db
}

// insert inserts rows of table t.
func insert(t testing.TB, tab *wideleaf.Table, from, to int) {
	t.Helper()
	b := tab.NewBatch()
	for i := from; i < to; i++ {
		must(t, b.Append(i, fmt.Sprint("k", i%3)))
	}
	must(t, tab.InsertBatch(context.Background(), b))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func call(t *testing.T, in *pageinspect.Inspector, sql string) []map[string]string {
	t.Helper()
	res, err := in.Query(context.Background(), sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	var rows []map[string]string
	for _, r := range res.Rows {
		m := map[string]string{}
		for i, c := range res.Columns {
			m[c] = r[i].String()
		}
		rows = append(rows, m)
	}
	return rows
}

func TestMetapages(t *testing.T) {
	_, in := open(t)
	m := call(t, in, "select * from gin_metapage_info(get_raw_page('t_g', 0))")[0]
	if m["n_pending_tuples"] != fmt.Sprint(waiting) || m["n_pending_pages"] != "1" || m["n_entries"] != fmt.Sprint(2*flushed) || m["version"] != "2" {
		t.Errorf("gin_metapage_info: %v", m)
	}
	p := call(t, in, fmt.Sprintf("pending_items(get_raw_page('t_g', %s))", m["pending_head"]))
	if len(p) != 2*waiting || p[0]["key"] != fmt.Sprint(flushed) || p[1]["key"] != fmt.Sprint("k", flushed%3) {
		t.Errorf("pending_items: %d, %v", len(p), p[:2])
	}
	b := call(t, in, "bt_metap('t_a')")[0]
	if b["magic"] != "340322" || b["root"] != "1" || b["level"] != "0" {
		t.Errorf("bt_metap: %v", b)
	}
	items := 0
	for _, s := range call(t, in, "bt_multi_page_stats('t_a', 1, -1)") {
		if s["type"] == "l" {
			n := len(call(t, in, "bt_page_items('t_a', "+s["blkno"]+")"))
			if fmt.Sprint(n) != s["live_items"] {
				t.Errorf("%d items, %v", n, s)
			}
			items += n
		}
	}
	if items != flushed {
		t.Errorf("%d items in leaves, want %d", items, flushed)
	}
}

func TestPostings(t *testing.T) {
	db, in := open(t)
	keys := map[string]int{}
	res, err := in.Relations(context.Background())
	must(t, err)
	if len(res.Rows) != 4 {
		t.Fatalf("relations: %v", res.Rows)
	}
	for b := int64(1); ; b++ {
		p, err := in.GetRawPage(context.Background(), "t_g", b)
		if errors.Is(err, wideleaf.ErrInvalid) {
			break
		}
		must(t, err)
		if page.ParseHeader(p).Kind == page.KindGinEntryLeaf {
			for _, r := range call(t, in, fmt.Sprintf("gin_posting_items(get_raw_page('t_g', %d))", b)) {
				keys[r["attrnum"]+r["key"]]++
			}
		}
	}
	if n := keys["2k0"] + keys["2k1"] + keys["2k2"]; n != flushed {
		t.Errorf("postings: %v", keys)
	}
	must(t, db.Close())
}

func TestBadInput(t *testing.T) {
	_, in := open(t)
	for sql, want := range map[string]string{
		"get_raw_page('no', 0)":                      `relation "no" does not exist`,
		"get_raw_page('t', -1)":                      "invalid block number",
		"get_raw_page('t', 99999)":                   `block number 99999 is out of range for relation "t"`,
		"gin_metapage_info(get_raw_page('t_a', 0))":  "input page is not a valid GIN metapage",
		"gin_metapage_info(get_raw_page('t_g', 1))":  "input page is not a GIN metapage",
		"gin_leafpage_items(get_raw_page('t_g', 0))": "input page is not a compressed GIN data leaf page",
		"bt_metap('t_g')":                            `"t_g" is not a btree index`,
		"bt_page_stats('t_a', 0)":                    "block 0 is a meta page",
		"bt_page_items('t_a', 99999)":                "block number out of range",
		"bt_page_items(get_raw_page('t', 0))":        "input page is not a valid btree page",
	} {
		var e *wideleaf.Error
		if _, err := in.Query(context.Background(), sql); !errors.As(err, &e) || e.Message != want {
			t.Errorf("%s: %v, want %s", sql, err, want)
		}
	}
}
