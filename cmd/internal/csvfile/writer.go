package csvfile

import (
	"bufio"
	"io"
	"strings"
)

// Writer writes records that a Reader of the same format, which must have a quote, reads back.
type Writer struct {
	f     Format
	w     *bufio.Writer
	begun bool // the record has a field
}

// NewWriter returns a writer; Flush must follow the last record.
func NewWriter(w io.Writer, f Format) *Writer {
	return &Writer{f: f, w: bufio.NewWriterSize(w, 64<<10)}
}

// Null adds a NULL, the empty unquoted field, to the record.
func (w *Writer) Null() { w.next() }

// Field adds a field to the record, quoted if it must be. Errors come out of Flush.
func (w *Writer) Field(s string) {
	w.next()
	if s != "" && !strings.ContainsAny(s, string([]byte{w.f.Delimiter, w.f.Quote, '\r', '\n'})) && !strings.HasPrefix(s, "\xef\xbb\xbf") {
		_, _ = w.w.WriteString(s)
		return
	}
	quote := string(w.f.Quote)
	_, _ = w.w.WriteString(quote)
	_, _ = w.w.WriteString(strings.ReplaceAll(s, quote, quote+quote))
	_, _ = w.w.WriteString(quote)
}

func (w *Writer) next() {
	if w.begun {
		_ = w.w.WriteByte(w.f.Delimiter)
	}
	w.begun = true
}

// End ends the record.
func (w *Writer) End() {
	_ = w.w.WriteByte('\n')
	w.begun = false
}

// Flush writes what is buffered and returns the first error of all writes.
func (w *Writer) Flush() error { return w.w.Flush() }
