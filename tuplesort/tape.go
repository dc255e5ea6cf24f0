package tuplesort

import (
	"wideleaf/page"
	"wideleaf/store"
)

// Tape is the temporary file of one participant. It holds sorted runs, one after the other, as leaf pages: packed, and with
// a checksum. One goroutine writes; afterwards any number may read.
type Tape struct {
	db   *store.DB
	file *store.TempFile // nil: nothing was written yet
	buf  []byte
	err  error
}

// NewTape returns an empty tape; its file comes into being with the first write.
func NewTape(db *store.DB) *Tape { return &Tape{db: db} }

// tapeBuffer is how much is written at a time.
const tapeBuffer = 128 << 10

// Place is where a page stands on a tape.
type Place struct {
	at   int64
	size uint16
}

// Write appends a page.
func (t *Tape) Write(p []byte) (Place, error) {
	if t.file == nil {
		if t.file, t.err = t.db.NewTempFile(); t.err != nil {
			t.file = nil
			return Place{}, t.err
		}
	}
	if len(t.buf)+len(p) > tapeBuffer {
		if err := t.Flush(); err != nil {
			return Place{}, err
		}
	}
	at := Place{t.file.Size() + int64(len(t.buf)), uint16(len(p))}
	t.buf = append(t.buf, p...)
	return at, nil
}

// Flush writes what is in the buffer. A run can be read only afterwards.
func (t *Tape) Flush() error {
	if len(t.buf) > 0 {
		if _, err := t.file.Write(t.buf); err != nil {
			return err
		}
		t.buf = t.buf[:0]
	}
	return nil
}

// Read reads a page into buf and verifies it.
func (t *Tape) Read(at Place, buf *[page.Size]byte, o page.Owner, block uint32) ([]byte, error) {
	p := buf[:at.size]
	if _, err := t.file.ReadAt(p, at.at); err != nil {
		return nil, err
	}
	return p, page.Verify(p, o, block)
}

// Used reports whether anything was written.
func (t *Tape) Used() bool { return t.file != nil }

// Blocks is how many disk blocks are used.
func (t *Tape) Blocks() int64 {
	if t.file == nil {
		return 0
	}
	return (t.file.Size() + page.Size - 1) / page.Size
}

// Close gives the file up.
func (t *Tape) Close() {
	if t.file != nil {
		_ = t.file.Close() // what is left goes at the next open
		t.file = nil
	}
}
