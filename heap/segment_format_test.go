package heap

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"wideleaf/page"
	"wideleaf/value"
)

// example is the worked example of docs/format.md, its bytes computed by hand.
func example() []SegmentColumn {
	null := value.Null
	return []SegmentColumn{
		{1, vectorOf(value.Int4, []value.Value{value.OfInt4(10), null(value.Int4), value.OfInt4(12), value.OfInt4(13)})},
		{2, vectorOf(value.Text, []value.Value{value.OfText("a"), value.OfText("a"), value.OfText("b"), null(value.Text)})},
		{3, vectorOf(value.Bool, []value.Value{value.OfBool(true), value.OfBool(true), value.OfBool(true), value.OfBool(true)})},
	}
}

var examplePages = []string{
	// Column 1: attno, int4, packed, size, first row, rows, nulls; bounds; null bitmap; 0, 2, 3 in 2 bits each.
	`0100 02 01 1a00 0000 04000000 01000000  0a000080 0d000080  02  38` +
		// Column 2: header; bounds; null bitmap; length of the text; ends 1, 2, 3 in 2 bits each; text.
		`0200 05 04 1b00 0000 04000000 01000000  01 01 61 62  08  0300  39  616162` +
		// Column 3: header; bounds, and nothing else.
		`0300 01 01 1800 0000 04000000 00000000  01000000 01000000`,
	// Position, length of the directory, of its table, first part; the table; three parts.
	`00000000 39000000 18000000 18000000` +
		`01000000 18000000  02000000 25000000  03000000 30000000` +
		`01 02 00 20 01  04 01 8a80808008 03` +
		`02 05 00 3a 01  04 01 01 01 61 62` +
		`03 01 00 55 01  04 00 01 00`,
}

func TestFormatExample(t *testing.T) {
	s, m := segmentOf(t, example())
	if want := (SegmentMeta{Rows: 4, Blocks: 2, Columns: 3, Summary: 1, SummaryBytes: 57}); s.Meta() != want {
		t.Errorf("metadata is %+v, want %+v", s.Meta(), want)
	}
	if len(m.Pages) != len(examplePages) {
		t.Fatalf("%d pages, want %d", len(m.Pages), len(examplePages))
	}
	for i, text := range examplePages {
		want, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Pages[i][page.HeaderSize:]; !bytes.Equal(got, want) {
			t.Errorf("page %d is\n%x, want\n%x", i, got, want)
		}
	}
	if a, b := page.ParseHeader(m.Pages[0]).Kind, page.ParseHeader(m.Pages[1]).Kind; a != page.KindColumn || b != page.KindSummary {
		t.Errorf("kinds are %s and %s", a, b)
	}
}

func TestDescribeExample(t *testing.T) {
	_, m := segmentOf(t, example())
	for i, want := range []string{`
0032-0034: column: 1
0034-0035: type: int4
0035-0036: encoding: packed
0036-0038: strip length: 26
0038-0040: first row: 0
0040-0044: rows: 4
0044-0048: nulls: 1
0048-0052: lower bound: code 2147483658 (10)
0052-0056: upper bound: code 2147483661 (13)
0056-0057: null bitmap of 4 rows
0057-0058: 3 codes less the lower bound, 2 bits each
0058-0060: column: 2
0060-0061: type: text
0061-0062: encoding: text
0062-0064: strip length: 27
0064-0066: first row: 0
0066-0070: rows: 4
0070-0074: nulls: 1
0074-0075: length of lower bound: 1
0075-0076: length of upper bound: 1
0076-0077: lower bound: "a"
0077-0078: upper bound: "b"
0078-0079: null bitmap of 4 rows
0079-0081: length of text: 3
0081-0082: 3 ends of strings, 2 bits each
0082-0083: value 0: "a"
0083-0084: value 1: "a"
0084-0085: value 2: "b"
0085-0087: column: 3
0087-0088: type: bool
0088-0089: encoding: packed
0089-0091: strip length: 24
0091-0093: first row: 0
0093-0097: rows: 4
0097-0101: nulls: 0
0101-0105: lower bound: code 1 (t)
0105-0109: upper bound: code 1 (t)
0109-0109: 4 codes less the lower bound, 0 bits each
`, `
0032-0036: position in the directory: 0
0036-0040: length of the directory: 57
0040-0044: length of its table: 24
0044-0048: position of the first part from here on: 24
0048-0056: column 1: its part is at 24
0056-0064: column 2: its part is at 37
0064-0072: column 3: its part is at 48
0072-0077: column 1 of type int4: 1 strips, the first at offset 32 of block 0
0077-0085: rows 0 to 3: 1 NULL, values from 10 to 13
0085-0090: column 2 of type text: 1 strips, the first at offset 58 of block 0
0090-0096: rows 0 to 3: 1 NULL, values from "a" to "b"
0096-0101: column 3 of type bool: 1 strips, the first at offset 85 of block 0
0101-0105: rows 0 to 3: 0 NULL, values from t to t
`} {
		d, err := DescribePage(m.Pages[i])
		if err != nil {
			t.Fatal(err)
		}
		_, got, _ := strings.Cut(d.String(), "checksum")
		_, got, _ = strings.Cut(got, "\n")
		if want = want[1:]; got != want {
			t.Errorf("page %d is described as\n%swant\n%s", i, got, want)
		}
	}
}
