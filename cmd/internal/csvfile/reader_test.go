package csvfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// readAll shows records as text: fields between |, quoted ones in brackets, each with @line if it is not the first.
func readAll(r *Reader) (string, error) {
	var b Block
	var err error
	for err == nil {
		err = r.Read(&b)
	}
	var out strings.Builder
	for i := range b.Len() {
		for k := range b.Fields(i) {
			if k > 0 {
				out.WriteByte('|')
			}
			field, quoted := b.Field(i, k)
			text := string(field)
			if quoted {
				text = "[" + text + "]"
			}
			fmt.Fprintf(&out, "%s@%d", text, b.Line(i, k))
		}
		out.WriteByte('\n')
	}
	if err == io.EOF {
		err = nil
	}
	return out.String(), err
}

func TestReader(t *testing.T) {
	tsv := Format{Delimiter: '\t'}
	for name, c := range map[string]struct {
		f        Format
		in, want string
	}{
		"empty file":             {CSV, "", ""},
		"simple":                 {CSV, "a,b\nc,d\n", "a@1|b@1\nc@2|d@2\n"},
		"no final line end":      {CSV, "a,b\nc,d", "a@1|b@1\nc@2|d@2\n"},
		"CRLF":                   {CSV, "a,b\r\nc,\r\n", "a@1|b@1\nc@2|@2\n"},
		"last line CRLF quoted":  {CSV, "\"a\",\"b\"\r\n", "[a]@1|[b]@1\n"},
		"quoted empty":           {CSV, `"",,""` + "\n", "[]@1|@1|[]@1\n"},
		"empty lines":            {CSV, "\na\n\n", "@1\na@2\n@3\n"},
		"only delimiters":        {CSV, ",,\n", "@1|@1|@1\n"},
		"delimiter at the end":   {CSV, "a,", "a@1|@1\n"},
		"doubled quotes":         {CSV, `"say ""hi""","""",""""""` + "\n", `[say "hi"]@1|["]@1|[""]@1` + "\n"},
		"delimiter in quotes":    {CSV, `"a,b",c`, "[a,b]@1|c@1\n"},
		"line break in quotes":   {CSV, "1,\"a\nb\r\nc\",2\n3,4\n", "1@1|[a\nb\r\nc]@1|2@3\n3@4|4@4\n"},
		"break first in quotes":  {CSV, "\"\n\"\nx\n", "[\n]@1\nx@3\n"},
		"carriage return quoted": {CSV, "\"a\rb\"\n", "[a\rb]@1\n"},
		"byte order mark":        {CSV, "\xef\xbb\xbfa,b\n", "a@1|b@1\n"},
		"mark and quote":         {CSV, "\xef\xbb\xbf\"a\"\n", "[a]@1\n"},
		"only a mark":            {CSV, "\xef\xbb\xbf", ""},
		"blanks are kept":        {CSV, " a , b\n", " a @1| b@1\n"},
		"no quoting":             {tsv, "\"a\"\tb\"c\n\"\t\n", "\"a\"@1|b\"c@1\n\"@2|@2\n"},
		"other quote":            {Format{';', '\''}, "'it''s; so';\"\n", "[it's; so]@1|\"@1\n"},
		"not UTF-8":              {CSV, "\xff,\x00\n", "\xff@1|\x00@1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, in := range []io.Reader{strings.NewReader(c.in), iotest.OneByteReader(strings.NewReader(c.in))} {
				got, err := readAll(NewReader(in, c.f))
				if err != nil || got != c.want {
					t.Fatalf("got %q, %v; want %q", got, err, c.want)
				}
			}
		})
	}
}

func TestReaderErrors(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want SyntaxError
	}{
		"quote in a field":     {"a,b\nc,d\"e\n", SyntaxError{2, 2, `d"e`, "a quote stands in an unquoted field"}},
		"text after quotes":    {"\"a\"b,c\n", SyntaxError{1, 1, "b,c", "text follows a closing quote"}},
		"blank after quotes":   {"x,\"a\" \n", SyntaxError{1, 2, " ", "text follows a closing quote"}},
		"after a long field":   {"x,\"a\n\n\"b\n", SyntaxError{3, 2, "b", "text follows a closing quote"}},
		"quote never closed":   {"x\ny,\"a\nb\n", SyntaxError{2, 2, "a\nb\n", "a quote is not closed"}},
		"carriage return":      {"a\rb\n", SyntaxError{1, 1, "a\rb", "a carriage return that ends no line stands in an unquoted field"}},
		"return before commas": {"a,b\r,c\n", SyntaxError{1, 2, "b\r", "a carriage return that ends no line stands in an unquoted field"}},
		"return at the end":    {"a\r", SyntaxError{1, 1, "a\r", "a carriage return that ends no line stands in an unquoted field"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readAll(NewReader(strings.NewReader(c.in), CSV))
			var got *SyntaxError
			if !errors.As(err, &got) || *got != c.want {
				t.Fatalf("got %#v, want %#v", err, c.want)
			}
		})
	}
	broken := errors.New("broken")
	if _, err := readAll(NewReader(iotest.ErrReader(broken), CSV)); err != broken {
		t.Fatalf("a read error came out as %v", err)
	}
	if _, err := readAll(NewReader(io.MultiReader(strings.NewReader("\"a"), iotest.ErrReader(broken)), CSV)); err != broken {
		t.Fatalf("a read error within quotes came out as %v", err)
	}
}

func TestLongRecords(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	got, err := readAll(NewReader(strings.NewReader(long+",\""+long+"\n"+long+"\"\n"+long+"\n"), CSV))
	if want := long + "@1|[" + long + "\n" + long + "]@1\n" + long + "@3\n"; err != nil || got != want {
		t.Fatalf("%d bytes, %v; want %d", len(got), err, len(want))
	}
}

// What is written is read back, NULLs and empty texts apart, whatever the texts are.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cell := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", ",", "\"", "\r", "\n", "\r\n", "\t", "\xef\xbb\xbf", " ", "\x00", "\"\""}))
		f := Format{Delimiter: rapid.SampledFrom([]byte(",;\t|")).Draw(t, "delimiter"), Quote: '"'}
		records := rapid.SliceOfN(rapid.SliceOfN(rapid.Ptr(cell, true), 1, 5), 1, 5).Draw(t, "records")
		var buf bytes.Buffer
		w := NewWriter(&buf, f)
		for _, rec := range records {
			for _, s := range rec {
				if s == nil {
					w.Null()
				} else {
					w.Field(*s)
				}
			}
			w.End()
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		r := NewReader(&buf, f)
		var b Block
		for i, want := range records {
			if err := r.Read(&b); err != nil || b.Fields(i) != len(want) {
				t.Fatalf("record %d: %v; want %d fields", i, err, len(want))
			}
		}
		if err := r.Read(&b); err != io.EOF {
			t.Fatalf("after the last record: %v", err)
		}
		for i, want := range records {
			for k, s := range want {
				text, quoted := b.Field(i, k)
				isNull := !quoted && len(text) == 0
				if isNull != (s == nil) || s != nil && string(text) != *s {
					t.Fatalf("record %d field %d: %q, want %v", i, k, text, s)
				}
			}
		}
	})
}

// No bytes crash the reader, and an error names a line that exists.
func FuzzReader(f *testing.F) {
	for _, s := range []string{"", "a,b\n", "\"a\"\"\n\",\r\n", "\"", "\xef\xbb\xbf\"\"x"} {
		f.Add([]byte(s), byte('"'))
		f.Add([]byte(s), byte(0))
	}
	f.Fuzz(func(t *testing.T, data []byte, quote byte) {
		format := Format{Delimiter: ',', Quote: quote}
		if format.Check() != nil {
			return
		}
		lines := bytes.Count(data, []byte("\n")) + 1
		r := NewReader(bytes.NewReader(data), format)
		var b Block
		for {
			err := r.Read(&b)
			var syntax *SyntaxError
			if errors.As(err, &syntax) && (syntax.Line < 1 || syntax.Line > lines || syntax.Column < 1) {
				t.Fatalf("%v in %d lines", err, lines)
			}
			if err != nil {
				break
			}
		}
		for i := range b.Len() {
			for k := range b.Fields(i) {
				if l := b.Line(i, k); l < 1 || l > lines {
					t.Fatalf("line %d of %d", l, lines)
				}
			}
		}
	})
}

func TestFormatCheck(t *testing.T) {
	for _, f := range []Format{{}, {',', ','}, {'\n', '"'}, {',', '\r'}, {0xff, '"'}} {
		if f.Check() == nil {
			t.Errorf("%v is accepted", f)
		}
	}
	for _, f := range []Format{CSV, {'\t', 0}, {';', '\''}} {
		if err := f.Check(); err != nil {
			t.Errorf("%v: %v", f, err)
		}
	}
}
