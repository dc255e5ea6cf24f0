// Package csvfile reads and writes delimited text: CSV as RFC 4180 has it, and TSV.
//
// Words used here: a record is what stands between two line ends, and may itself span lines within quotes; a field is
// one cell of a record. The standard library's encoding/csv does not tell a quoted empty field from an unquoted one,
// which is how the empty text differs from NULL; this reader does, and it is strict: a quote in the middle of an
// unquoted field, or anything after a closing quote, is an error that names its line.
//
// A Reader or Writer belongs to one goroutine.
package csvfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Format is how a file is written.
type Format struct {
	Delimiter byte // between fields
	Quote     byte // around fields; 0: none, a quote is an ordinary character
}

// Check reports a format that can't be read back.
func (f Format) Check() error {
	for _, c := range []byte{f.Delimiter, f.Quote} {
		if c == '\n' || c == '\r' || c >= 0x80 {
			return fmt.Errorf("the character %q can be neither delimiter nor quote", c)
		}
	}
	switch f.Delimiter {
	case 0:
		return errors.New("a delimiter is needed")
	case f.Quote:
		return fmt.Errorf("the delimiter and the quote are both %q", f.Quote)
	}
	return nil
}

// CSV is the usual format.
var CSV = Format{Delimiter: ',', Quote: '"'}

// maxRecord bounds a record. A quote that is never closed would otherwise take the rest of the file into memory.
const maxRecord = 256 << 20

// Field is one cell. Text is valid until the next Read.
type Field struct {
	Text   []byte
	Quoted bool
	Line   int // on which it begins, from 1
}

// SyntaxError is a place that breaks the format.
type SyntaxError struct {
	Line    int    // from 1
	Column  int    // field of the record, from 1
	Value   string // the field so far, cut short
	Message string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// Reader reads records.
type Reader struct {
	f       Format
	r       *bufio.Reader
	line    int // lines read so far
	record  []byte
	ends    []fieldEnd
	fields  []Field
	started bool
}

// fieldEnd is a field of the record being read; Text is cut out when the record is whole and stays where it is.
type fieldEnd struct {
	end    int
	quoted bool
	line   int
}

// NewReader returns a reader of a file in a format that Check approves. A byte order mark at the start is skipped.
func NewReader(r io.Reader, f Format) *Reader {
	return &Reader{f: f, r: bufio.NewReaderSize(r, 64<<10)}
}

// Read returns the next record, or io.EOF after the last. The fields are valid until the next Read. Lines end with LF
// or CRLF; the last one need not. An empty line is a record of one empty field.
func (r *Reader) Read() ([]Field, error) {
	if !r.started {
		r.started = true
		if mark, err := r.r.Peek(3); err == nil && string(mark) == "\xef\xbb\xbf" {
			_, _ = r.r.Discard(3) // they are there: Peek saw them
		}
	}
	r.record, r.ends = r.record[:0], r.ends[:0]
	line, err := r.readLine()
	if err != nil {
		return nil, err
	}
	for more := true; more; {
		if r.f.Quote != 0 && len(line) > 0 && line[0] == r.f.Quote {
			line, more, err = r.quoted(line[1:])
		} else {
			line, more, err = r.plain(line)
		}
		if err != nil {
			return nil, err
		}
	}
	r.fields = r.fields[:0]
	start := 0
	for _, e := range r.ends {
		r.fields = append(r.fields, Field{Text: r.record[start:e.end:e.end], Quoted: e.quoted, Line: e.line})
		start = e.end
	}
	return r.fields, nil
}

// readLine returns the next line with its end; the last line may have none. It is valid until the next readLine.
func (r *Reader) readLine() ([]byte, error) {
	line, err := r.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		long := bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) && len(long) <= maxRecord {
			line, err = r.r.ReadSlice('\n')
			long = append(long, line...)
		}
		line = long
	}
	switch {
	case len(line) > 0 && (err == nil || err == io.EOF):
		r.line++
		return line, nil
	case errors.Is(err, bufio.ErrBufferFull):
		r.line++
		return nil, r.tooLong()
	}
	return nil, err
}

// plain takes an unquoted field off the line. more tells that another follows.
func (r *Reader) plain(line []byte) (rest []byte, more bool, err error) {
	text := line
	if i := bytes.IndexByte(line, r.f.Delimiter); i >= 0 {
		text, rest, more = line[:i], line[i+1:], true
	} else {
		text = trimEnd(line)
	}
	if i := bytes.IndexByte(text, '\r'); i >= 0 {
		return nil, false, r.syntax(text, "a carriage return that ends no line stands in an unquoted field")
	}
	if r.f.Quote != 0 && bytes.IndexByte(text, r.f.Quote) >= 0 {
		return nil, false, r.syntax(text, "a quote stands in an unquoted field")
	}
	r.record = append(r.record, text...)
	r.endField(false, r.line)
	return rest, more, nil
}

// quoted takes the rest of a quoted field, whose opening quote is gone, off the line, reading lines as needed.
func (r *Reader) quoted(line []byte) (rest []byte, more bool, err error) {
	first, start := r.line, len(r.record)
	for {
		i := bytes.IndexByte(line, r.f.Quote)
		if i < 0 {
			r.record = append(r.record, line...)
			if len(r.record) > maxRecord {
				return nil, false, r.tooLong()
			}
			if line, err = r.readLine(); err == io.EOF {
				return nil, false, &SyntaxError{Line: first, Column: len(r.ends) + 1, Value: excerpt(r.record[start:]), Message: "a quote is not closed"}
			} else if err != nil {
				return nil, false, err
			}
			continue
		}
		r.record = append(r.record, line[:i]...)
		line = line[i+1:]
		if len(line) > 0 && line[0] == r.f.Quote {
			r.record = append(r.record, r.f.Quote)
			line = line[1:]
			continue
		}
		if len(line) > 0 && line[0] == r.f.Delimiter {
			rest, more = line[1:], true
		} else if len(trimEnd(line)) > 0 {
			return nil, false, r.syntax(trimEnd(line), "text follows a closing quote")
		}
		r.endField(true, first)
		return rest, more, nil
	}
}

func (r *Reader) endField(quoted bool, line int) {
	r.ends = append(r.ends, fieldEnd{len(r.record), quoted, line})
}

func (r *Reader) syntax(text []byte, message string) error {
	return &SyntaxError{Line: r.line, Column: len(r.ends) + 1, Value: excerpt(text), Message: message}
}

func (r *Reader) tooLong() error {
	return &SyntaxError{Line: r.line, Column: len(r.ends) + 1, Message: fmt.Sprintf("a record is longer than %d bytes", maxRecord)}
}

// trimEnd returns a line without its end.
func trimEnd(line []byte) []byte {
	line, lf := bytes.CutSuffix(line, []byte("\n"))
	if lf {
		line = bytes.TrimSuffix(line, []byte("\r"))
	}
	return line
}

// excerptBytes is how much of a value an error shows.
const excerptBytes = 60

func excerpt(text []byte) string {
	if len(text) > excerptBytes {
		return string(text[:excerptBytes]) + "..."
	}
	return string(text)
}
