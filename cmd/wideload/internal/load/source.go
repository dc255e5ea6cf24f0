package load

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/klauspost/compress/gzip"

	"wideleaf/cmd/internal/csvfile"
)

const (
	// blockBytes is the text of a block, the piece of work of the loader and one commit.
	blockBytes = 1 << 20
	// keepBytes is how much text is kept from the first reading for the second, which then needs no file.
	keepBytes = 64 << 20
)

// source is a file that is read twice, once to look and once to load.
type source struct {
	path    string
	format  csvfile.Format
	size    int64
	changed time.Time
	room    int     // bytes of text that may be kept
	kept    []chunk // of the first reading
	whole   bool    // all chunks are kept
}

// chunk is a block of a file's records and how much of the file was read by its end.
type chunk struct {
	*csvfile.Block
	done int64
}

func newSource(path string, f csvfile.Format) (*source, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file; it is read twice", path)
	}
	return &source{path: path, format: f, size: st.Size(), changed: st.ModTime(), room: keepBytes}, nil
}

// verify reports whether the file is still the one that was looked at.
func (s *source) verify() error {
	if s.whole {
		return nil // nothing was read a second time
	}
	st, err := os.Stat(s.path)
	if err == nil && (st.Size() != s.size || !st.ModTime().Equal(s.changed)) {
		err = s.changedError()
	}
	return err
}

func (s *source) changedError() error {
	return fmt.Errorf("%s: the file changed while it was loaded", s.path)
}

// reader reads the records of a file, in blocks.
type reader struct {
	csv  *csvfile.Reader
	file fileReader
	next *csvfile.Block // the records read already
}

// open opens the file, takes it out of gzip if it is in it, whatever its name, and reads the first record. There is none
// when err is io.EOF. ctx ends reading.
func (s *source) open(ctx context.Context) (r *reader, err error) {
	f, err := os.Open(s.path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = f.Close() // read only
		}
	}()
	r = &reader{file: fileReader{File: f, ctx: ctx}, next: new(csvfile.Block)}
	b := bufio.NewReaderSize(&r.file, 256<<10)
	content := io.Reader(b)
	if head, err := b.Peek(2); err == nil && bytes.Equal(head, []byte{0x1f, 0x8b}) { // RFC 1952
		if content, err = gzip.NewReader(b); err != nil {
			return nil, err
		}
	}
	r.csv = csvfile.NewReader(content, s.format)
	return r, r.csv.Read(r.next)
}

// header takes the first record away.
func (r *reader) header() *csvfile.Block {
	b := r.next
	r.next = new(csvfile.Block)
	return b
}

// read returns the next chunk, and io.EOF with the last or after it. A chunk may come with an error that is behind it.
func (r *reader) read() (chunk, error) {
	b := r.next
	var err error
	for err == nil && b.Bytes() < blockBytes {
		err = r.csv.Read(b)
	}
	r.next = csvfile.NewBlock(b)
	return chunk{b, r.file.done}, err
}

func (r *reader) Close() error { return r.file.Close() }

// fileReader counts what is read.
type fileReader struct {
	*os.File
	ctx  context.Context
	done int64
}

func (f *fileReader) Read(p []byte) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := f.File.Read(p)
	f.done += int64(n)
	return n, err
}

// remember keeps a chunk for the second reading, as long as there is room. err is what came with it.
func (s *source) remember(c chunk, err error) {
	if s.room -= c.Bytes(); s.room < 0 {
		s.kept = nil
		return
	}
	s.kept = append(s.kept, c)
	s.whole = err == io.EOF
}

// again returns the reading function of the second reading, and one that ends it.
func (s *source) again(ctx context.Context, header bool) (read func() (chunk, error), end func(), err error) {
	if s.whole {
		i := 0
		return func() (chunk, error) {
			if i == len(s.kept) {
				return chunk{}, io.EOF
			}
			i++
			return s.kept[i-1], nil
		}, func() {}, nil
	}
	r, err := s.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	if header {
		r.header()
	}
	return r.read, func() { _ = r.Close() }, nil // read only
}
