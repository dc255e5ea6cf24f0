package store

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TempFile is a file of intermediate results beside the SSTs that are being written. It goes when it is closed, or at the
// next open. A failed write fails whoever needs the file, and not the database. One goroutine writes; what is
// written may be read by any number.
type TempFile struct {
	fs   vfs.FS
	file vfs.File
	path string
	size int64
}

// NewTempFile makes an empty file.
func (db *DB) NewTempFile() (*TempFile, error) {
	t := &TempFile{fs: db.o.FS, path: db.fs.PathJoin(db.tempDir, fmt.Sprintf("%d.tape", db.temps.Add(1)))}
	err := db.write(func() (err error) {
		t.file, err = t.fs.Create(t.path, "wideleaf-tapes")
		return err
	})
	return t, err
}

// Size is how many bytes were written.
func (t *TempFile) Size() int64 { return t.size }

// Write appends to the file.
func (t *TempFile) Write(p []byte) (int, error) {
	n, err := t.file.Write(p)
	t.size += int64(n)
	return n, err
}

// ReadAt reads as io.ReaderAt does.
func (t *TempFile) ReadAt(p []byte, at int64) (int, error) { return t.file.ReadAt(p, at) }

// Close removes the file.
func (t *TempFile) Close() error {
	err := t.file.Close()
	if e := t.fs.Remove(t.path); err == nil {
		err = e
	}
	return err
}
