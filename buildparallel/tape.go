package buildparallel

import (
	"wideleaf/page"
	"wideleaf/store"
)

// tape is the temporary file of one participant. It holds sorted runs, one after the other, as leaf pages: packed, and with
// a checksum. One goroutine writes; afterwards any number may read.
type tape struct {
	db   *store.DB
	file *store.TempFile // nil: nothing was written yet
	buf  []byte
	err  error
}

// tapeBuffer is how much is written at a time.
const tapeBuffer = 128 << 10

// at is the place of a page on a tape.
type place struct {
	at   int64
	size uint16
}

// write appends a page.
func (t *tape) write(p []byte) (place, error) {
	if t.file == nil {
		if t.file, t.err = t.db.NewTempFile(); t.err != nil {
			t.file = nil
			return place{}, t.err
		}
	}
	if len(t.buf)+len(p) > tapeBuffer {
		if err := t.flush(); err != nil {
			return place{}, err
		}
	}
	at := place{t.file.Size() + int64(len(t.buf)), uint16(len(p))}
	t.buf = append(t.buf, p...)
	return at, nil
}

// flush writes what is in the buffer. A run can be read only afterwards.
func (t *tape) flush() error {
	if len(t.buf) > 0 {
		if _, err := t.file.Write(t.buf); err != nil {
			return err
		}
		t.buf = t.buf[:0]
	}
	return nil
}

// read reads a page into buf and verifies it.
func (t *tape) read(at place, buf *[page.Size]byte, o page.Owner, block uint32) ([]byte, error) {
	p := buf[:at.size]
	if _, err := t.file.ReadAt(p, at.at); err != nil {
		return nil, err
	}
	return p, page.Verify(p, o, block)
}

// blocks is how many disk blocks are used.
func (t *tape) blocks() int64 {
	if t.file == nil {
		return 0
	}
	return (t.file.Size() + page.Size - 1) / page.Size
}

func (t *tape) close() {
	if t.file != nil {
		_ = t.file.Close() // what is left goes at the next open
		t.file = nil
	}
}
