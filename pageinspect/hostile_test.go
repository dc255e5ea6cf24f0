package pageinspect_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"wideleaf"
	"wideleaf/page"
	"wideleaf/pageinspect"
)

// images returns the images of all blocks of some relations.
func images(t testing.TB, in *pageinspect.Inspector, relations ...string) (out [][]byte) {
	t.Helper()
	for _, rel := range relations {
		for b := int64(0); ; b++ {
			p, err := in.GetRawPage(context.Background(), rel, b)
			if errors.Is(err, wideleaf.ErrInvalid) {
				break
			}
			must(t, err)
			out = append(out, p)
		}
	}
	return out
}

// No bytes make a function do more than fail.
func TestHostilePages(t *testing.T) {
	_, in := open(t)
	ctx := context.Background()
	rnd := rand.New(rand.NewPCG(1, 2))
	pages := append(images(t, in, "t", "t_a", "t_g", "t_r"), make([]byte, page.Size), make([]byte, 100), nil)
	for range 40 {
		for _, p := range pages {
			p = append([]byte(nil), p...)
			for range rnd.IntN(6) {
				if n := len(p); n > 0 {
					p[rnd.IntN(1+rnd.IntN(n))] = byte(rnd.Uint32())
				}
			}
			for _, f := range pageinspect.Functions() {
				_, _ = in.Page(ctx, f, p)
			}
		}
	}
}

func FuzzPage(f *testing.F) {
	_, in := open(f)
	for _, p := range images(f, in, "t", "t_a", "t_g", "t_r") {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		if len(p) != page.Size {
			p = slices.Concat(p, make([]byte, page.Size))[:page.Size]
		}
		for _, name := range pageinspect.Functions() {
			res, err := in.Page(context.Background(), name, p)
			if err != nil {
				var e *wideleaf.Error
				if !errors.As(err, &e) || e.Code == "" {
					t.Fatalf("%s: %v is no error of wideleaf's", name, err)
				}
				continue
			}
			for _, r := range res.Rows {
				if len(r) != len(res.Columns) {
					t.Fatalf("%s: %d columns, a row of %d", name, len(res.Columns), len(r))
				}
				for _, v := range r {
					_ = v.String()
				}
			}
		}
	})
}

// PostgreSQL's answers for images that are no pages, run on 15.20.
func TestPagesThatAreNone(t *testing.T) {
	_, in := open(t)
	ctx := context.Background()
	for _, name := range pageinspect.Functions() {
		zero := make([]byte, page.Size)
		res, err := in.Page(ctx, name, zero)
		var e *wideleaf.Error
		if errors.As(err, &e) && e.Code == "42883" {
			continue // not a function of an image
		}
		if err != nil || len(res.Rows) != 1 {
			t.Errorf("%s of zeros: %v, %v", name, res.Rows, err)
			continue
		}
		for i, v := range res.Rows[0] {
			want := ""
			if name == "page_header" && res.Columns[i] != "lsn" && res.Columns[i] != "prune_xid" {
				want = "0"
			}
			if v.String() != want {
				t.Errorf("%s of zeros: %s is %q", name, res.Columns[i], v)
			}
		}
		if _, err := in.Page(ctx, name, make([]byte, 100)); !errors.As(err, &e) || e.Message != "invalid page size" || e.Detail != "Expected 8192 bytes, got 100." {
			t.Errorf("%s of 100 bytes: %v", name, err)
		}
	}
	var e *wideleaf.Error
	if _, err := in.Page(ctx, "heap_page_items", make([]byte, 23)); !errors.As(err, &e) || e.Message != "input page too small (23 bytes)" {
		t.Errorf("heap_page_items of 23 bytes: %v", err)
	}
}

// A page that is damaged on disk gives an error that names it, all others are shown.
func TestDamagedFile(t *testing.T) {
	dir := t.TempDir()
	db := create(t, dir)
	must(t, db.Close())
	var files []string
	must(t, filepath.WalkDir(dir, func(name string, _ os.DirEntry, err error) error {
		if filepath.Ext(name) == ".sst" {
			files = append(files, name)
		}
		return err
	}))
	bad, good, told := 0, 0, 0
	for _, name := range files {
		whole, err := os.ReadFile(name)
		must(t, err)
		b := slices.Clone(whole)
		b[len(b)/3] ^= 0x10
		must(t, os.WriteFile(name, b, 0o600))
		for _, salvage := range []bool{false, true} {
			db, err := wideleaf.Open(dir, &wideleaf.Options{ReadOnly: true, Salvage: salvage, Logger: slog.New(slog.DiscardHandler)})
			if errors.Is(err, wideleaf.ErrCorrupt) {
				continue // a file without pages
			}
			must(t, err)
			n, g := readAll(t, db)
			bad, good, told = bad+n, good+g, told+len(db.Damage())
			if salvage && n > 0 && len(db.Damage()) == 0 {
				t.Errorf("%s: no damage is reported", name)
			}
			must(t, db.Close())
		}
		must(t, os.WriteFile(name, whole, 0o600))
	}
	if bad == 0 || good == 0 || told == 0 {
		t.Errorf("%d pages are damaged, %d not; salvaging tells of %d", bad, good, told)
	}
}

// readAll reads all blocks of all relations and returns how many are damaged and how many are not.
func readAll(t *testing.T, db *wideleaf.DB) (bad, good int) {
	t.Helper()
	in := pageinspect.New(db)
	names, err := db.Relations()
	must(t, err)
	for _, rel := range names {
		for b := int64(0); ; b++ {
			_, err := in.GetRawPage(t.Context(), rel, b)
			var e *wideleaf.Error
			switch {
			case err == nil:
				good++
				continue
			case errors.Is(err, wideleaf.ErrInvalid):
			case errors.As(err, &e) && errors.Is(err, wideleaf.ErrCorrupt) && e.Code == "XX001" && e.Object == rel &&
				e.Message == fmt.Sprintf("invalid page in block %d of relation %q", b, rel):
				bad++
				continue
			default:
				t.Errorf("block %d of %s: %v", b, rel, err)
			}
			break
		}
	}
	return bad, good
}
