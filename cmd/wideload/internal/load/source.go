package load

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"time"
)

// source is a file that is read twice, once to look and once to load.
type source struct {
	path    string
	size    int64
	changed time.Time
}

func newSource(path string) (*source, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file; it is read twice", path)
	}
	return &source{path: path, size: st.Size(), changed: st.ModTime()}, nil
}

// verify reports whether the file is still the one that was looked at.
func (s *source) verify() error {
	st, err := os.Stat(s.path)
	if err == nil && (st.Size() != s.size || !st.ModTime().Equal(s.changed)) {
		err = fmt.Errorf("%s: the file changed while it was loaded", s.path)
	}
	return err
}

// content is the file's text, taken out of gzip if it is in it, whatever the file's name.
type content struct {
	io.Reader
	file *os.File
}

func (c *content) Close() error { return c.file.Close() }

// open opens the file. progress, if not nil, gets the bytes read from disk; ctx ends reading.
func (s *source) open(ctx context.Context, progress func(n int)) (*content, error) {
	f, err := os.Open(s.path)
	if err != nil {
		return nil, err
	}
	b := bufio.NewReaderSize(&watched{ctx, f, progress}, 256<<10)
	c := &content{Reader: b, file: f}
	if head, err := b.Peek(2); err == nil && bytes.Equal(head, []byte{0x1f, 0x8b}) { // RFC 1952
		z, err := gzip.NewReader(b)
		if err != nil {
			_ = f.Close() // read only
			return nil, fmt.Errorf("%s: %w", s.path, err)
		}
		c.Reader = z
	}
	return c, nil
}

type watched struct {
	ctx      context.Context
	r        io.Reader
	progress func(n int)
}

func (w *watched) Read(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := w.r.Read(p)
	if w.progress != nil {
		w.progress(n)
	}
	return n, err
}
