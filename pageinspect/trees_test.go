package pageinspect_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"wideleaf"
	"wideleaf/pageinspect"
)

// Trees with inner pages: what these say of the pages below is so, and each leaf is below one.
func TestInnerPages(t *testing.T) {
	db, err := wideleaf.Open(t.TempDir(), nil)
	must(t, err)
	defer db.Close()
	ctx := context.Background()
	const rows = 20_000
	tab, err := db.CreateTable(ctx, "u", wideleaf.Column{Name: "h", Type: wideleaf.Int8}, wideleaf.Column{Name: "s", Type: wideleaf.Text})
	must(t, err)
	both := []wideleaf.IndexColumn{{Name: "h"}, {Name: "s"}}
	for name, columns := range map[string][]wideleaf.IndexColumn{"btree": both[:1], "gin": both, "rum": both[1:]} {
		must(t, db.CreateIndex(ctx, "u", wideleaf.IndexDef{Name: "u_" + name, Method: name, Columns: columns}))
	}
	b := tab.NewBatch()
	rnd := rand.New(rand.NewPCG(1, 1))
	for range rows {
		must(t, b.Append(rnd.Int64(), fmt.Sprintf("%016x", rnd.Uint64())))
	}
	must(t, tab.InsertBatch(ctx, b))
	must(t, tab.Flush(ctx))
	must(t, db.Settle(ctx))
	in := pageinspect.New(db)

	kinds := func(rel string) map[string]string { // by block
		out := map[string]string{}
		for b := 0; ; b++ {
			if _, err := in.GetRawPage(ctx, rel, int64(b)); errors.Is(err, wideleaf.ErrInvalid) {
				return out
			}
			out[fmt.Sprint(b)] = call(t, in, fmt.Sprintf("page_identity(get_raw_page('%s', %d))", rel, b))[0]["kind"]
		}
	}
	t.Run("btree", func(t *testing.T) {
		m := call(t, in, "bt_metap('u_btree')")[0]
		root := call(t, in, "bt_page_stats('u_btree', "+m["root"]+")")[0]
		if root["type"] != "r" || root["btpo_level"] != m["level"] || m["level"] == "0" || root["btpo_flags"] != "2" {
			t.Fatalf("bt_metap: %v, its root: %v", m, root)
		}
		below, entries := map[string]int{}, 0
		for block, kind := range kinds("u_btree") {
			switch kind {
			case "btree internal":
				for i, it := range call(t, in, "bt_page_items('u_btree', "+block+")") {
					child := strings.Split(strings.Trim(it["ctid"], "()"), ",")[0]
					below[child]++
					first := call(t, in, "bt_page_items('u_btree', "+child+")")[0]["data"]
					if (i == 0) != (it["data"] == "") || it["data"] > first || it["dead"] != "" {
						t.Errorf("inner page %s says %v of a page that begins with %s", block, it, first)
					}
				}
			case "btree leaf":
				s := call(t, in, "bt_page_stats('u_btree', "+block+")")[0]
				if s["type"] != "l" || s["btpo_level"] != "0" || s["btpo_flags"] != "1" {
					t.Errorf("a leaf: %v", s)
				}
				n, err := strconv.Atoi(s["live_items"])
				must(t, err)
				entries += n
				below[block] += 0
			}
		}
		for block, n := range below {
			if n != 1 {
				t.Errorf("block %s is below %d pages", block, n)
			}
		}
		if entries != rows || len(below) < 3 {
			t.Errorf("%d entries in %d leaves, there are %d rows", entries, len(below), rows)
		}
	})
	for _, am := range []string{"gin", "rum"} {
		t.Run(am, func(t *testing.T) {
			rel := "u_" + am
			leaf := func(block string) (first string, entries int) {
				items := call(t, in, fmt.Sprintf("%s(get_raw_page('%s', %s))", map[string]string{"gin": "gin_entry_leaf_items", "rum": "rum_leaf_entry_page_items"}[am], rel, block))
				return items[0]["key"], len(items)
			}
			below, entries := map[string]int{}, 0
			for block, kind := range kinds(rel) {
				switch kind {
				case am + " entry internal":
					f := map[string]string{"gin": "gin_entry_internal_items", "rum": "rum_internal_entry_page_items"}[am]
					for _, it := range call(t, in, fmt.Sprintf("%s(get_raw_page('%s', %s))", f, rel, block)) {
						first, n := leaf(it["down_link"])
						below[it["down_link"]]++
						if it["attrnum"] != "1" && (am == "rum" || it["attrnum"] != "2") || it["category"] != strings.ToUpper(am)+"_CAT_NORM_KEY" {
							t.Errorf("an inner page: %v", it)
						}
						isText := am == "rum" || it["attrnum"] == "2" // separators that are cut texts are hexadecimal
						if am == "gin" && it["entries"] != fmt.Sprint(n) || isText && !strings.HasPrefix(it["key"], `\x`) && it["key"] > first {
							t.Errorf("an inner page says %v of a page of %d entries from %q on", it, n, first)
						}
					}
				case am + " entry leaf":
					_, n := leaf(block)
					entries += n
					below[block] += 0
				}
			}
			for block, n := range below {
				if n != 1 {
					t.Errorf("block %s is below %d pages", block, n)
				}
			}
			if want := map[string]int{"gin": 2 * rows, "rum": rows}[am]; entries != want || len(below) < 3 {
				t.Errorf("%d entries in %d leaves, want %d", entries, len(below), want)
			}
		})
	}
}

// Entries of a rum with an attached column carry its values, in their order.
func TestRum(t *testing.T) {
	_, in := open(t)
	m := call(t, in, "rum_metapage_info('t_r', 0)")[0]
	if m["version"] != "0xC0DE0002" || m["n_pending_tuples"] != fmt.Sprint(waiting) {
		t.Errorf("rum_metapage_info: %v", m)
	}
	attached, plain := 0, map[string]int{}
	last := map[string]int{}
	for b := int64(1); ; b++ {
		p, err := in.GetRawPage(context.Background(), "t_r", b)
		if errors.Is(err, wideleaf.ErrInvalid) {
			break
		}
		must(t, err)
		flags := call(t, in, fmt.Sprintf("rum_page_opaque_info('t_r', %d)", b))[0]["flags"]
		res, err := in.Page(context.Background(), "rum_leaf_entry_page_items", p)
		if err != nil {
			continue
		}
		if !strings.Contains(flags, "leaf") {
			t.Errorf("block %d has flags %s", b, flags)
		}
		viaType := call(t, in, fmt.Sprintf("rum_page_items_info('t_r', %d, 2)", b))
		if len(viaType) != len(res.Rows) {
			t.Errorf("rum_page_items_info has %d rows, not %d", len(viaType), len(res.Rows))
		}
		for _, r := range viaType {
			plain[r["attrnum"]+r["add_info_is_null"]]++
			if r["category"] != "RUM_CAT_NORM_KEY" {
				t.Errorf("an entry: %v", r)
			}
			if r["add_info_is_null"] == "f" {
				attached++
				a, err := strconv.Atoi(r["add_info"])
				must(t, err)
				if r["key"] != fmt.Sprint("k", a%3) || r["tuple_id"] != fmt.Sprintf("(0,%d)", a) || a < last[r["key"]] {
					t.Errorf("an entry: %v", r)
				}
				last[r["key"]] = a
			}
		}
	}
	if attached != flushed || plain["1t"] != flushed || plain["2t"] != flushed {
		t.Errorf("%d entries carry a value, others: %v", attached, plain)
	}
	trees := 0
	for b := 1; trees == 0; b++ {
		res, err := in.Call(context.Background(), "rum_columns_items", "t_r", int64(b))
		if errors.Is(err, wideleaf.ErrInvalid) && strings.Contains(err.Error(), "out of range") {
			break
		}
		trees = len(res.Rows)
	}
	if trees != 3 { // of a, of b, of b with a
		t.Errorf("%d trees", trees)
	}
	for sql, want := range map[string]string{
		"rum_metapage_info('t_r', 1)":              "input page is not a RUM metapage",
		"rum_metapage_info('t_a', 0)":              "input page is not a valid RUM page",
		"rum_leaf_data_page_items('t_r', 0)":       "input page is not a RUM {data, leaf} page",
		"rum_internal_data_page_items('t_r', 1)":   "input page is not a RUM {data} page",
		"rum_leaf_entry_page_items('t_r', 0)":      "input page is not a RUM {leaf} page",
		"rum_internal_entry_page_items('t_r',0)":   "input page is not a RUM {} page",
		"rum_metapage_info('t_r', 999)":            `block number 999 is out of range for relation "t_r"`,
		"rum_page_items_info('t_r', 1, 4)":         "page type 4 is not from 0 to 3",
		"gin_metapage_info(get_raw_page('t_r',0))": "input page is not a valid GIN metapage",
	} {
		var e *wideleaf.Error
		if _, err := in.Query(context.Background(), sql); !errors.As(err, &e) || e.Message != want {
			t.Errorf("%s: %v, want %s", sql, err, want)
		}
	}
}

// Rows that are in no segment yet are shown row by row.
func TestHeapTail(t *testing.T) {
	db, err := wideleaf.Open(t.TempDir(), nil)
	must(t, err)
	defer db.Close()
	ctx := context.Background()
	tab, err := db.CreateTable(ctx, "h", wideleaf.Column{Name: "a", Type: wideleaf.Int4}, wideleaf.Column{Name: "gone", Type: wideleaf.Int4},
		wideleaf.Column{Name: "s", Type: wideleaf.Text})
	must(t, err)
	must(t, tab.Insert(ctx, []any{7, 8, "x"}))
	must(t, tab.Insert(ctx, []any{nil, 9, "y"}))
	in := pageinspect.New(db)
	items := call(t, in, "heap_page_items(get_raw_page('h', 0))")
	if len(items) != 2 {
		t.Fatalf("heap_page_items: %v", items)
	}
	for i, want := range []map[string]string{
		{"lp": "1", "lp_flags": "1", "t_ctid": "(0,0)", "t_infomask2": "3", "t_infomask": "2", "t_hoff": "12", "t_bits": ""},
		{"lp": "2", "lp_flags": "1", "t_ctid": "(0,1)", "t_infomask2": "3", "t_infomask": "3", "t_hoff": "12", "t_bits": "011"},
	} {
		for column, v := range want {
			if items[i][column] != v {
				t.Errorf("row %d: %s is %q, want %q", i, column, items[i][column], v)
			}
		}
	}
	must(t, tab.DropColumns(ctx, "gone"))
	values := ""
	for _, r := range call(t, in, "pending_items(get_raw_page('h', 0))") {
		values += fmt.Sprintf("%s %s=%s;", r["tuple_id"], r["attrnum"], r["key"])
	}
	if want := "(0,0) 1=7;(0,0) 2=;(0,0) 3=x;(0,1) 1=;(0,1) 2=;(0,1) 3=y;"; values != want {
		t.Errorf("values: %s, want %s", values, want)
	}
	must(t, tab.Flush(ctx))
	if res, err := in.Query(ctx, "heap_column_items(get_raw_page('h', 0))"); err != nil || len(res.Rows) == 0 {
		t.Errorf("after a flush: %v, %v", res, err)
	}
}

// The metapage says of the pending list what is so at that moment: all rows of the index are in it or in runs, never fewer than were
// acknowledged before nor more than were sent by then; and cleaning it frees as many pages as it says.
func TestPendingListBesideWriters(t *testing.T) {
	db, err := wideleaf.Open(t.TempDir(), nil)
	must(t, err)
	defer db.Close()
	ctx := context.Background()
	tab, err := db.CreateTable(ctx, "t", wideleaf.Column{Name: "a", Type: wideleaf.Int4}, wideleaf.Column{Name: "b", Type: wideleaf.Text})
	must(t, err)
	must(t, db.CreateIndex(ctx, "t", wideleaf.IndexDef{Name: "g", Method: "gin", Columns: []wideleaf.IndexColumn{{Name: "a"}, {Name: "b"}}}))
	in := pageinspect.New(db)
	var sent, acknowledged atomic.Int64
	var writers sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		writers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				b := tab.NewBatch()
				for i := range 50 {
					if err := b.Append(i, strings.Repeat("s", i*5)); err != nil {
						t.Error(err)
						return
					}
				}
				sent.Add(50)
				if err := tab.InsertBatch(ctx, b, wideleaf.NoSync); err != nil {
					t.Error(err)
					return
				}
				acknowledged.Add(50)
			}
		})
	}
	number := func(s string) int64 {
		n, err := strconv.ParseInt(s, 10, 64)
		must(t, err)
		return n
	}
	look := func() map[string]string {
		least := acknowledged.Load()
		m := call(t, in, "gin_metapage_info(get_raw_page('g', 0))")[0]
		most := sent.Load()
		if n := number(m["n_pending_tuples"]) + number(m["n_entries"])/2; n < least || n > most {
			t.Errorf("%d rows pending or in runs, of %d to %d: %v", n, least, most, m)
		}
		if pages := number(m["n_pending_pages"]); (pages == 0) != (m["pending_head"] == "4294967295") ||
			pages > 0 && number(m["pending_tail"])-number(m["pending_head"])+1 != pages {
			t.Errorf("pages of the pending list: %v", m)
		}
		return m
	}
	for i := range 60 {
		look()
		switch {
		case i%20 == 10:
			_, err := db.CleanPendingList(ctx, "g")
			must(t, err)
		case i%20 == 19:
			must(t, tab.Flush(ctx))
		}
	}
	close(stop)
	writers.Wait()
	insertMore := func() {
		b := tab.NewBatch()
		for i := range 777 {
			must(t, b.Append(i, strings.Repeat("s", i)))
		}
		must(t, tab.InsertBatch(ctx, b))
		sent.Add(777)
		acknowledged.Add(777)
	}
	insertMore()
	for range 3 {
		insertMore()
		m := look()
		freed, err := db.CleanPendingList(ctx, "g")
		must(t, err)
		if fmt.Sprint(freed) != m["n_pending_pages"] || freed == 0 {
			t.Errorf("cleaning freed %d pages, the metapage said %s", freed, m["n_pending_pages"])
		}
		if m := look(); m["n_pending_pages"] != "0" || m["n_pending_tuples"] != "0" || m["pending_head"] != "4294967295" || m["pending_tail"] != "4294967295" {
			t.Errorf("after cleaning: %v", m)
		}
	}
}
