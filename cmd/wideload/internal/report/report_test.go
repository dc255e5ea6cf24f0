package report

import (
	"math"
	"strings"
	"testing"
	"time"
)

// The lines have the form that the PostgreSQL baseline script prints:
// printf '{"suite":"%s","name":"%s","value":%s,"unit":"%s"}\n'
func TestFigures(t *testing.T) {
	var b strings.Builder
	err := WriteFigures(&b, []Figure{
		{"insert", "btree", 152345.678, "rows/s"},
		{"insert", "btree-index-bytes-per-row", 589.6, "B"},
		{"query", "case1-btree", 0.04321, "ms"},
		{"insert", "btree-peak-rss", 1.5e9, "B"},
	})
	want := `{"suite":"insert","name":"btree","value":152345.7,"unit":"rows/s"}
{"suite":"insert","name":"btree-index-bytes-per-row","value":590,"unit":"B"}
{"suite":"query","name":"case1-btree","value":0.0432,"unit":"ms"}
{"suite":"insert","name":"btree-peak-rss","value":1500000000,"unit":"B"}
`
	if err != nil || b.String() != want {
		t.Fatalf("%v, got:\n%s\nwant:\n%s", err, b.String(), want)
	}
	if WriteFigures(&b, []Figure{{"insert", "btree", math.Inf(1), "rows/s"}}) == nil {
		t.Error("infinity is accepted")
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Count(0), "0"}, {Count(999), "999"}, {Count(1000), "1,000"}, {Count(-1234567), "-1,234,567"}, {Count(-123), "-123"}, {Count(1999.6), "2,000"},
		{Bytes(0), "0 B"}, {Bytes(1023), "1,023 B"}, {Bytes(1024), "1.00 KiB"}, {Bytes(int64(12.5 * (1 << 20))), "12.5 MiB"},
		{Bytes(1000 << 20), "1,000 MiB"}, {Bytes(int64(3) << 40), "3.00 TiB"},
		{Milliseconds(43 * time.Microsecond), "0.043 ms"}, {Milliseconds(2500 * time.Microsecond), "2.50 ms"},
		{Milliseconds(25 * time.Millisecond), "25.0 ms"}, {Milliseconds(1234567 * time.Microsecond), "1,235 ms"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestParseBytes(t *testing.T) {
	for s, want := range map[string]int64{"0": 0, "1024": 1024, "512MiB": 536870912, "1.5 GiB": 1610612736, "64kib": 65536, "64MB": 67108864, "8 kB": 8192, "1gb": 1073741824, "0.5TB": 549755813888, " 2 TiB": 2199023255552} {
		if got, err := ParseBytes(s); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", "MiB", "-1", "x", "MB", "512 M", "5MBB", "-1MB", "1e30", "NaN", "Inf GiB", "5 5"} {
		if got, err := ParseBytes(s); err == nil {
			t.Errorf("%q is accepted as %d", s, got)
		}
	}
}

func TestProgress(t *testing.T) {
	var b strings.Builder
	if p := NewProgress(&b, "inserting"); p != nil {
		t.Fatal("there is a progress line where there is no terminal")
	}
	var none *Progress
	none.Show(0.5, 1)
	none.Name("settling")
	none.Done()

	p := newProgress(&b, "inserting")
	p.start = time.Now().Add(-2 * time.Second)
	p.Show(0.25, 1_000_000)
	p.Show(0.26, 1_000_001) // too soon to be drawn
	out := b.String()
	if !strings.Contains(out, "inserting 1,000,000 rows, ") || !strings.Contains(out, "rows/s  25%") || strings.Contains(out, "26%") {
		t.Fatalf("drawn: %q", out)
	}
	p.Name("settling")
	p.next = time.Time{}
	p.Show(1, 4_000_000)
	if out := b.String(); !strings.Contains(out, "settling") || strings.Contains(out, "4,000,000") {
		t.Fatalf("drawn: %q", out)
	}
	p.Done()
}
