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
	started bool
	b       *Block // of the record being read
	from    int    // where its text begins
	first   int    // its first field
}

// NewReader returns a reader of a file in a format that Check approves. A byte order mark at the start is skipped.
func NewReader(r io.Reader, f Format) *Reader {
	return &Reader{f: f, r: bufio.NewReaderSize(r, 64<<10)}
}

// Read appends the next record to a block, or returns io.EOF after the last. Lines end with LF or CRLF; the last one need
// not. An empty line is a record of one empty field. A block takes less than 2 GiB.
func (r *Reader) Read(b *Block) error {
	if !r.started {
		r.started = true
		if mark, err := r.r.Peek(3); err == nil && string(mark) == "\xef\xbb\xbf" {
			_, _ = r.r.Discard(3) // they are there: Peek saw them
		}
	}
	r.b, r.from, r.first = b, len(b.text), len(b.ends)
	line, err := r.readLine()
	if err != nil {
		return err
	}
	b.begin(r.line)
	if r.isSimple(line) {
		r.simple(line)
		return nil
	}
	for more := true; more; {
		if r.f.Quote != 0 && len(line) > 0 && line[0] == r.f.Quote {
			line, more, err = r.quoted(line[1:])
		} else {
			line, more, err = r.plain(line)
		}
		if err != nil {
			b.undo()
			return err
		}
	}
	return nil
}

// isSimple reports whether nothing in a line needs a closer look.
func (r *Reader) isSimple(line []byte) bool {
	return (r.f.Quote == 0 || bytes.IndexByte(line, r.f.Quote) < 0) && bytes.IndexByte(trimEnd(line), '\r') < 0
}

// simple takes a line apart that isSimple.
func (r *Reader) simple(line []byte) {
	b := r.b
	at := len(b.text)
	b.text = append(b.text, trimEnd(line)...)
	for rest := b.text[at:]; ; {
		i := bytes.IndexByte(rest, r.f.Delimiter)
		if i < 0 {
			break
		}
		b.ends = append(b.ends, uint32(at+i))
		at += i + 1
		rest = rest[i+1:]
	}
	b.end(false)
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
	r.b.text = append(r.b.text, text...)
	r.b.end(false)
	return rest, more, nil
}

// quoted takes the rest of a quoted field, whose opening quote is gone, off the line, reading lines as needed.
func (r *Reader) quoted(line []byte) (rest []byte, more bool, err error) {
	b := r.b
	first, start := r.line, len(b.text)
	for {
		i := bytes.IndexByte(line, r.f.Quote)
		if i < 0 {
			b.text = append(b.text, line...)
			if len(b.text)-r.from > maxRecord {
				return nil, false, r.tooLong()
			}
			if line, err = r.readLine(); err == io.EOF {
				return nil, false, &SyntaxError{Line: first, Column: r.column(), Value: excerpt(b.text[start:]), Message: "a quote is not closed"}
			} else if err != nil {
				return nil, false, err
			}
			continue
		}
		b.text = append(b.text, line[:i]...)
		line = line[i+1:]
		if len(line) > 0 && line[0] == r.f.Quote {
			b.text = append(b.text, r.f.Quote)
			line = line[1:]
			continue
		}
		if len(line) > 0 && line[0] == r.f.Delimiter {
			rest, more = line[1:], true
		} else if len(trimEnd(line)) > 0 {
			return nil, false, r.syntax(trimEnd(line), "text follows a closing quote")
		}
		b.end(true)
		return rest, more, nil
	}
}

// column returns the number of the field being read, from 1.
func (r *Reader) column() int { return len(r.b.ends) - r.first + 1 }

func (r *Reader) syntax(text []byte, message string) error {
	return &SyntaxError{Line: r.line, Column: r.column(), Value: excerpt(text), Message: message}
}

func (r *Reader) tooLong() error {
	return &SyntaxError{Line: r.line, Column: r.column(), Message: fmt.Sprintf("a record is longer than %d bytes", maxRecord)}
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
