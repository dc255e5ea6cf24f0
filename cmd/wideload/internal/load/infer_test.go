package load

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"wideleaf"
	"wideleaf/cmd/internal/csvfile"
	"wideleaf/pgerr"
	"wideleaf/value"
)

func TestInference(t *testing.T) {
	const (
		boolean = wideleaf.Bool
		int4    = wideleaf.Int4
		int8    = wideleaf.Int8
		float8  = wideleaf.Float8
		text    = wideleaf.Text
		date    = value.Date
		moment  = value.Timestamptz
	)
	for _, c := range []struct {
		cells string // separated by blanks
		want  wideleaf.Type
	}{
		{"", text}, // NULLs only
		{"0 1 1", int4},
		{"t f", boolean},
		{"true false t", boolean},
		{"T F", text},
		{"True", text},
		{"TRUE", text},
		{"yes", text},
		{"t 1", text},
		{"f 0.5", text},
		{"-5 7", int4},
		{"2147483647 -2147483648", int4},
		{"2147483648", int8},
		{"-2147483649 1", int8},
		{"9223372036854775807 -9223372036854775808", int8},
		{"9223372036854775808", float8},     // 2^63
		{"1 18446744073709551616", float8},  // 2^64
		{"9223372036854775809", text},       // 2^63+1 is no float8
		{"1 12345678901234567890123", text}, // beyond int8, not exact
		{"9007199254740992 0.5", float8},    // 2^53
		{"9007199254740993 0.5", text},      // 2^53+1 would change
		{"9007199254740994 0.5", float8},
		{"9007199254740993 1", int8},
		{"1152921504606846976 0.5", float8}, // 2^60
		{"007", text},
		{"-01", text},
		{"1 00", text},
		{"0", int4},
		{"+5", text},
		{"-0", float8},
		{"-0 1", float8},
		{"0.19 0.5 1 0", float8},
		{"00.5 1", text},
		{"0.5 0123", text},
		{".5 5.", float8},
		{"4.00E-05 1e3", float8},
		{"1e", text},
		{"1e+", text},
		{"e5", text},
		{".", text},
		{"-", text},
		{"1.5.2", text},
		{"0x10", text},
		{"1_000", text},
		{"1,5", text},
		{"0.30000000000000004", float8}, // 17 digits, as programs print them
		{"0.10000000000000001", float8},
		{"0.12345678901234567890", text}, // more digits than a float8 has
		{"3.1415926535897932384626", text},
		{"0.100000000000000005551115123125782702118158340454101562", float8}, // exactly the float8 0.1
		{"0.5000000000000000000000000000000000000000", float8},               // exact
		{"100000000000000000000000", text},                                   // 10^23 is no float8
		{"1e23", float8},                                                     // but is what 1e23 prints
		{"1e308", float8},
		{"1e309", text},
		{"1e-400", text},
		{"5e-324", float8},
		{"1.2345678901234e-320", text}, // too few bits left there
		{"NaN 1.5 Infinity -Infinity", float8},
		{"NaN 7", float8},
		{"NaN", text},
		{"Infinity", text},
		{"nan 1", text},
		{"Inf 1", text},
		{"12:30", text},
		{"2016-09-08", date},
		{"2016-02-29 0001-01-01 9999-12-31", date},
		{"2015-02-29", text}, // no such day
		{"1900-02-29", text},
		{"2000-02-29", date},
		{"2016-04-31", text},
		{"2016-13-01", text},
		{"2016-00-01", text},
		{"2016-01-00", text},
		{"0000-01-01", text}, // no such year
		{"2016-9-8", text},
		{"16-09-08", text},
		{"2016/09/08", text},
		{"20160908 2016-09-08", text},
		{"2016-09-08T", text},
		{"infinity", text},
		{"2016-09-08T10:00", moment},
		{"2016-09-08T10:00:59 2016-09-08T23:59:59.999999Z", moment},
		{"2016-09-08T10:00:00.5+02 2016-09-08T10:00:00-0330 2016-09-08T10:00:00+15:59", moment},
		{"2016-09-08T10:00:00 2016-09-08", text}, // a date is no moment
		{"2016-09-08T24:00:00", text},            // would print as the next day
		{"2016-09-08T10:60:00", text},
		{"2016-09-08T10:00:60", text},
		{"2016-09-08T10", text},
		{"2016-09-08T10:00:00.", text},
		{"2016-09-08T10:00:00.1234567", text}, // more digits than microseconds
		{"2016-09-08T10:00:00+16", text},
		{"2016-09-08T10:00:00+2", text},
		{"2016-09-08T10:00:00z", text},
		{"2016-09-08T10:00:00UTC", text},
		{"2016-02-30T10:00:00", text},
		{"2016-09-08T1a:00:00", text},
		{"abc 1", text},
	} {
		var f inference
		for _, cell := range strings.Fields(c.cells) {
			f.add([]byte(cell))
		}
		if got := f.typ(); got != c.want {
			t.Errorf("%q: %v, want %v", c.cells, got, c.want)
		}
	}
	for _, cell := range []string{"", " 2016-09-08", "2016-09-08  10:00", "2016-09-08 10:00:00 +00", " 1", "1 ", "t ", "\t5", strings.Repeat("9", 10000), "0." + strings.Repeat("3", 10000)} {
		var f inference
		f.add([]byte(cell))
		if got := f.typ(); got != text {
			t.Errorf("%.20q: %v, want text", cell, got)
		}
	}
}

// Every cell reads as the same number in whatever fixed-width type inference allows for it.
func TestInferredTypesKeepValues(t *testing.T) {
	for _, cell := range []string{"0", "-1", "2147483647", "2147483648", "9007199254740992", "-9223372036854775808",
		"0.25", "1e23", "0.1", "-0", "18446744073709551616", "5e-324"} {
		fits, _ := fitOf([]byte(cell))
		for _, typ := range []wideleaf.Type{wideleaf.Int4, wideleaf.Int8, wideleaf.Float8} {
			if fits&bit(typ) == 0 {
				continue
			}
			code, err := parseCode(typ, []byte(cell))
			v := value.OfCode(typ, code)
			want, _ := strconv.ParseFloat(cell, 64)
			got := v.Float()
			if typ != wideleaf.Float8 {
				if got = float64(v.Int()); v.String() != cell {
					t.Errorf("%s as %v is %v", cell, typ, v)
				}
			}
			if err != nil || got != want || math.Signbit(got) != math.Signbit(want) {
				t.Errorf("%s as %v: %v, %v", cell, typ, v, err)
			}
		}
	}
}

// Given types are read by PostgreSQL's rules.
func TestParseCode(t *testing.T) {
	for _, c := range []struct {
		typ        wideleaf.Type
		cell, want string // the value as PostgreSQL prints it, or an SQLSTATE
	}{
		{wideleaf.Int4, "007", "7"},
		{wideleaf.Int4, " +5 ", "5"},
		{wideleaf.Int4, "-2147483648", "-2147483648"},
		{wideleaf.Int4, "2147483648", "22003"},
		{wideleaf.Int4, "99999999999999999999", "22003"},
		{wideleaf.Int4, "1.0", "22P02"},
		{wideleaf.Int4, "", "22P02"},
		{wideleaf.Int4, "-", "22P02"},
		{wideleaf.Int4, "+-5", "22P02"},
		{wideleaf.Int8, "-9223372036854775808", "-9223372036854775808"},
		{wideleaf.Int8, "9223372036854775807", "9223372036854775807"},
		{wideleaf.Int8, "9223372036854775808", "22003"},
		{wideleaf.Int8, "00000000000000000000005", "5"},
		{wideleaf.Float8, "1e5", "100000"},
		{wideleaf.Float8, "+.5", "0.5"},
		{wideleaf.Float8, "-0", "-0"},
		{wideleaf.Float8, "-inf", "-Infinity"},
		{wideleaf.Float8, "nan", "NaN"},
		{wideleaf.Float8, "1e400", "22003"},
		{wideleaf.Float8, "1e-400", "22003"},
		{wideleaf.Float8, "0x1q3", "22P02"},
		{wideleaf.Float8, "+-5", "22P02"},
		{wideleaf.Float8, "one", "22P02"},
		{wideleaf.Bool, "1", "t"},
		{wideleaf.Bool, "Off", "f"},
		{wideleaf.Bool, "2", "22P02"},
		{value.Date, "Jan 5, 2020", "2020-01-05"},
		{value.Date, "2020-02-30", "22008"},
		{value.Timestamptz, "2020-01-05 10:00+02", "2020-01-05 08:00:00+00"},
	} {
		code, err := parseCode(c.typ, []byte(c.cell))
		got := value.OfCode(c.typ, code).String()
		var e *pgerr.Error
		if errors.As(err, &e) {
			got = e.Code
		}
		if got != c.want {
			t.Errorf("%q as %v: %q (%v), want %q", c.cell, c.typ, got, err, c.want)
		}
	}
}

// A cell that is taken for a timestamp is the moment that Go's library reads.
func TestInferredMoments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(-62135596800+86400, 253402300799-86400).Draw(t, "seconds"), rapid.Int64Range(0, 999_999).Draw(t, "micros")*1000)
		layout := rapid.SampledFrom([]string{"2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02 15:04:05.9", "2006-01-02 15:04:05.000000"}).Draw(t, "layout") +
			rapid.SampledFrom([]string{"", "Z07:00", "-07:00", "-0700"}).Draw(t, "zone")
		cell := at.In(time.FixedZone("", 60*rapid.IntRange(-15*60-59, 15*60+59).Draw(t, "offset"))).Format(layout)
		want, err := time.Parse(layout, cell)
		if err != nil {
			t.Fatal(err)
		}
		if fits, _ := fitOf([]byte(cell)); fits != timeFit {
			t.Fatalf("%s is not taken for a timestamp", cell)
		}
		code, err := parseCode(value.Timestamptz, []byte(cell))
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := value.OfCode(value.Timestamptz, code).Time(); !got.Equal(want) {
			t.Fatalf("%s is read as %v, want %v", cell, got, want)
		}
	})
}

// A cell reads as the float8 that strconv reads, whichever way it is read.
func TestFloats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cell := rapid.OneOf(
			rapid.StringMatching(`-?[0-9]{1,20}(\.[0-9]{0,20})?([eE][+-]?[0-9]{1,3})?`),
			rapid.StringMatching(`-?0?\.0{0,25}[0-9]{1,18}`),
			rapid.Map(rapid.Float64(), func(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) })).Draw(t, "cell")
		want, err := strconv.ParseFloat(cell, 64)
		if err != nil || math.IsNaN(want) || math.IsInf(want, 0) {
			return
		}
		n, ok := scanNumber([]byte(cell))
		if !ok {
			t.Fatalf("%s is no number", cell)
		}
		if n.digits > 0 && want == 0 {
			return // beyond the range
		}
		code, err := parseCode(wideleaf.Float8, []byte(cell))
		if err != nil || code != value.Float8Code(want) {
			t.Fatalf("%s reads as %v, %v; want %v", cell, value.CodeFloat8(code), err, want)
		}
		if n.digits > 15 || n.digits == 0 {
			written, _ := new(big.Rat).SetString(cell)
			printed, _ := new(big.Rat).SetString(strconv.FormatFloat(want, 'e', max(n.digits-1, 0), 64))
			if got := n.exact([]byte(cell)); got != (written.Cmp(printed) == 0) {
				t.Fatalf("%s has all its digits as a float8: %v", cell, got)
			}
		}
	})
}

// The real tables beside the project, against the types that their owner's schema.json gives them.
func TestInferenceOfRealTables(t *testing.T) {
	dir := os.Getenv("WIDELEAF_DATA")
	if dir == "" {
		t.Skip("WIDELEAF_DATA is not set: the folder of real tables")
	}
	raw, err := os.ReadFile(filepath.Join(dir, "schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var tables []struct {
		File      string
		StoredAs  string `json:"stored_as"`
		Rows      int64
		Delimiter string
		Header    bool
		Quote     *string
		Nulls     []string                      `json:"null_markers"`
		Columns   []struct{ Name, Type string } `json:"column_list"`
	}
	if err := json.Unmarshal(raw, &tables); err != nil {
		t.Fatal(err)
	}
	if len(tables) == 0 {
		t.Fatal("schema.json has no tables")
	}
	for _, table := range tables {
		t.Run(table.File, func(t *testing.T) {
			o := Options{Format: csvfile.Format{Delimiter: table.Delimiter[0]}, Header: table.Header, Names: Positional,
				Nulls: Nulls{Markers: table.Nulls, Quoted: strings.HasPrefix(table.File, "datascience")}}
			if table.Quote != nil && *table.Quote != "" {
				o.Format.Quote = (*table.Quote)[0]
			}
			src, err := newSource(filepath.Join(dir, table.StoredAs), o.Format)
			if err != nil {
				t.Fatal(err)
			}
			l := &loader{src: src, o: o}
			if err := l.look(t.Context()); err != nil {
				t.Fatal(err)
			}
			if l.rows != table.Rows || len(l.columns) != len(table.Columns) {
				t.Fatalf("%d rows and %d columns, want %d and %d", l.rows, len(l.columns), table.Rows, len(table.Columns))
			}
			for i, c := range table.Columns {
				got := l.columns[i].Type
				ok := got == wideleaf.Text
				switch c.Type {
				case "int":
					ok = got == wideleaf.Int4 || got == wideleaf.Int8
				case "float":
					ok = got == wideleaf.Float8
				case "date":
					ok = got == value.Date
				case "datetime":
					ok = got == value.Timestamptz
				}
				if !ok {
					t.Errorf("c%d %s: inferred %v, want %s", i+1, c.Name, got, c.Type)
				}
				if table.Header && l.header[i] != c.Name {
					t.Errorf("c%d is named %q, want %q", i+1, l.header[i], c.Name)
				}
			}
		})
	}
}
