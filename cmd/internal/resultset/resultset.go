// Package resultset prints the rows of a query: as a table for people, as CSV that wideload loads again, or as JSON.
//
// All three print values as PostgreSQL does, except that JSON has arrays of its own. NULL is blank in a table, an empty unquoted field in CSV (the empty text is
// quoted), null in JSON.
package resultset

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strings"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"wideleaf"
	"wideleaf/cmd/internal/csvfile"
	"wideleaf/value"
)

// Rows is a result on its way.
type Rows = iter.Seq2[wideleaf.Row, error]

// Format is a way to print a result.
type Format string

// The formats.
const (
	Table Format = "table"
	CSV   Format = "csv"
	JSON  Format = "json"
)

// Formats are all formats.
var Formats = []Format{Table, CSV, JSON}

// Write prints a result. CSV and JSON go out as the rows come, so that an error leaves the output cut short; a table
// waits for all rows, since they decide its widths.
func Write(w io.Writer, f Format, names []string, rows Rows) error {
	switch f {
	case Table:
		return writeTable(w, names, rows)
	case CSV:
		return writeCSV(w, names, rows)
	case JSON:
		return writeJSON(w, names, rows)
	}
	return fmt.Errorf("unknown format %q: must be table, csv or json", f)
}

// One is a result of one row.
func One(values ...wideleaf.Value) Rows {
	return func(yield func(wideleaf.Row, error) bool) { yield(values, nil) }
}

// psqlBox draws a table as psql does: no frame, blanks around cells, a line under the names.
var psqlBox = table.BoxStyle{
	MiddleHorizontal: "-",
	MiddleSeparator:  "+",
	MiddleVertical:   "|",
	PaddingLeft:      " ",
	PaddingRight:     " ",
}

func writeTable(w io.Writer, names []string, rows Rows) error {
	t := table.NewWriter()
	t.SetStyle(table.Style{
		Name:    "psql",
		Box:     psqlBox,
		Options: table.Options{SeparateColumns: true, SeparateHeader: true},
	})
	t.SuppressTrailingSpaces()
	header := make(table.Row, len(names))
	configs := make([]table.ColumnConfig, len(names))
	for i, name := range names {
		header[i] = printable(name)
		configs[i] = table.ColumnConfig{Number: i + 1, Align: text.AlignLeft, AlignHeader: text.AlignCenter}
	}
	t.AppendHeader(header)
	n := 0
	for row, err := range rows {
		if err != nil {
			return err
		}
		cells := make(table.Row, len(row))
		for i, v := range row {
			cells[i] = printable(v.String())
			if isNumber(v.Type()) {
				configs[i].Align = text.AlignRight
			}
		}
		t.AppendRow(cells)
		n++
	}
	t.SetColumnConfigs(configs)
	counted := "rows"
	if n == 1 {
		counted = "row"
	}
	_, err := fmt.Fprintf(w, "%s\n(%d %s)\n", t.Render(), n, counted)
	return err
}

// WriteExpanded prints rows as psql does with \x: a line a column.
func WriteExpanded(w io.Writer, names []string, rows Rows) error {
	var records [][]string
	heads, width, dataWidth := make([]string, len(names)), 0, 0
	for i, name := range names {
		heads[i] = printable(name)
		width = max(width, text.StringWidth(heads[i]))
	}
	for row, err := range rows {
		if err != nil {
			return err
		}
		cells := make([]string, len(row))
		for i, v := range row {
			cells[i] = printable(v.String())
			dataWidth = max(dataWidth, text.StringWidth(cells[i]))
		}
		records = append(records, cells)
	}
	out := bufio.NewWriter(w)
	if len(records) == 0 {
		_, _ = out.WriteString("(0 rows)\n") // errors come out of Flush
	}
	for i, cells := range records {
		// The title overwrites a line that crosses the one between names and values.
		line := strings.Repeat("-", width+1) + "+" + strings.Repeat("-", dataWidth+1)
		title := fmt.Sprintf("-[ RECORD %d ]", i+1)
		_, _ = out.WriteString(title + line[min(len(title), len(line)):] + "\n")
		for j, cell := range cells {
			_, _ = fmt.Fprintf(out, "%s | %s\n", text.Pad(heads[j], width, ' '), cell)
		}
	}
	return out.Flush()
}

func isNumber(t wideleaf.Type) bool {
	switch t {
	case wideleaf.Int4, wideleaf.Int8, wideleaf.Float8, value.Numeric:
		return true
	}
	return false
}

// printable shows control characters, line breaks too, as escapes: a row takes one line, and data gives a terminal no
// orders.
func printable(s string) string {
	if strings.IndexFunc(s, unicode.IsControl) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsControl(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func writeCSV(w io.Writer, names []string, rows Rows) error {
	out := csvfile.NewWriter(w, csvfile.CSV)
	for _, name := range names {
		out.Field(name)
	}
	out.End()
	for row, err := range rows {
		if err != nil {
			_ = out.Flush() // the first error tells more
			return err
		}
		for _, v := range row {
			if v.IsNull() {
				out.Null()
			} else {
				out.Field(v.String())
			}
		}
		out.End()
	}
	return out.Flush()
}

func writeJSON(w io.Writer, names []string, rows Rows) error {
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = quote(name) + ":"
	}
	out := bufio.NewWriterSize(w, 64<<10)
	_ = out.WriteByte('[') // errors come out of Flush
	separator := "\n "
	for row, err := range rows {
		if err != nil {
			_ = out.Flush() // the first error tells more
			return err
		}
		_, _ = out.WriteString(separator)
		separator = ",\n "
		_ = out.WriteByte('{')
		for i, v := range row {
			if i > 0 {
				_ = out.WriteByte(',')
			}
			_, _ = out.WriteString(keys[i])
			_, _ = out.WriteString(jsonValue(v))
		}
		_ = out.WriteByte('}')
	}
	if separator == "\n " {
		_, _ = out.WriteString("]\n")
	} else {
		_, _ = out.WriteString("\n]\n")
	}
	return out.Flush()
}

// jsonValue returns a value in JSON: integers and numeric with all their digits, NaN and the infinities, which JSON has
// no numbers for, as strings.
func jsonValue(v wideleaf.Value) string {
	switch {
	case v.IsNull():
		return "null"
	case v.Type() == wideleaf.Bool:
		if v.Bool() {
			return "true"
		}
		return "false"
	case isNumber(v.Type()):
		if s := v.String(); json.Valid([]byte(s)) {
			return s
		}
	case v.Type().Elem() != value.Unknown:
		var b strings.Builder
		b.WriteByte('[')
		for it := v.Items(); it.Next(); {
			if b.Len() > 1 {
				b.WriteByte(',')
			}
			b.WriteString(jsonValue(it.Value()))
		}
		return b.String() + "]"
	}
	return quote(v.String())
}

func quote(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}
