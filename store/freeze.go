package store

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// freezeFS is a file system that stops at the first failed write.
//
// Pebble does not return the errors of its writes: it panics, some of it in its own goroutines, or calls
// Logger.Fatalf and expects never to come back. So it is not told. The first failure of a write, sync, create, rename,
// mkdir or close is kept, and from then on nothing on disk is changed: every mutation reports success and does nothing.
// What is on disk is then what a crash at the moment of the failure would have left, and reopening recovers from it
// as from a crash. Whoever acknowledges a write to a caller asks err after it; since an error is kept before the failed
// call returns, nobody can see a write's end and miss its failure.
//
// Reads go on. Failures of removing and linking are returned and do not freeze: the first leaves only garbage behind,
// and Pebble copies what it cannot link.
//
// Logs are not removed before removeLogs is called, that is, before the first write since Open: those that were replayed
// are still there if the caller finds that rows are missing.
type freezeFS struct {
	vfs.FS
	failure atomic.Pointer[error]

	mu       sync.Mutex // guards the rest
	keepLogs bool
	logs     []string // kept
}

// err returns the failure that froze the file system, or nil.
func (f *freezeFS) err() error {
	if p := f.failure.Load(); p != nil {
		return *p
	}
	return nil
}

// freeze keeps the first failure.
func (f *freezeFS) freeze(err error) {
	err = fmt.Errorf("%w: %w", ErrFrozen, err)
	f.failure.CompareAndSwap(nil, &err)
}

func (f *freezeFS) frozen() bool { return f.failure.Load() != nil }

// mutate runs op unless frozen, and freezes when it fails.
func (f *freezeFS) mutate(op func() error) {
	if f.frozen() {
		return
	}
	if err := op(); err != nil {
		f.freeze(err)
	}
}

// create runs op, which makes a file to be written, unless frozen.
func (f *freezeFS) create(op func() (vfs.File, error)) (vfs.File, error) {
	if f.frozen() {
		return nullFile{}, nil
	}
	file, err := op()
	if err != nil {
		f.freeze(err)
		return nullFile{}, nil
	}
	return &freezeFile{file, f}, nil
}

func (f *freezeFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return f.create(func() (vfs.File, error) { return f.FS.Create(name, c) })
}

func (f *freezeFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return f.create(func() (vfs.File, error) { return f.FS.OpenReadWrite(name, c, opts...) })
}

// ReuseForWrite makes a new file instead of reusing the old one, as its contract allows. A recycled log ends where
// records of its former life begin, so that damage near its end looks like its end.
func (f *freezeFS) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.Create(newname, c)
	_ = f.Remove(oldname) // removed with the obsolete files of the next open
	return file, err
}

func (f *freezeFS) OpenDir(name string) (vfs.File, error) {
	dir, err := f.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &freezeFile{dir, f}, nil
}

func (f *freezeFS) Rename(oldname, newname string) error {
	f.mutate(func() error { return f.FS.Rename(oldname, newname) })
	return nil
}

func (f *freezeFS) MkdirAll(dir string, perm os.FileMode) error {
	f.mutate(func() error { return f.FS.MkdirAll(dir, perm) })
	return nil
}

func (f *freezeFS) Link(oldname, newname string) error {
	if f.frozen() {
		return nil
	}
	return f.FS.Link(oldname, newname)
}

func (f *freezeFS) Remove(name string) error {
	if f.frozen() {
		return nil
	}
	if path.Ext(name) == ".log" && f.keep(name) {
		return nil
	}
	return f.FS.Remove(name)
}

// keep tells whether the removal of a log has to wait.
func (f *freezeFS) keep(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.keepLogs {
		f.logs = append(f.logs, name)
	}
	return f.keepLogs
}

// removeLogs removes the logs kept, and lets later ones be removed at once.
func (f *freezeFS) removeLogs() {
	f.mu.Lock()
	logs := f.logs
	f.keepLogs, f.logs = false, nil
	f.mu.Unlock()
	for _, name := range logs {
		_ = f.Remove(name) // or at the next open
	}
}

func (f *freezeFS) RemoveAll(name string) error {
	if f.frozen() {
		return nil
	}
	return f.FS.RemoveAll(name)
}

func (f *freezeFS) Unwrap() vfs.FS { return f.FS }

// freezeFile is a file or directory that was opened for writing or syncing.
type freezeFile struct {
	vfs.File
	fs *freezeFS
}

func (f *freezeFile) Write(p []byte) (int, error) {
	size := len(p)
	f.fs.mutate(func() error { return whole(size)(f.File.Write(p)) })
	return size, nil
}

func (f *freezeFile) WriteAt(p []byte, offset int64) (int, error) {
	size := len(p)
	f.fs.mutate(func() error { return whole(size)(f.File.WriteAt(p, offset)) })
	return size, nil
}

func (f *freezeFile) Sync() error {
	f.fs.mutate(f.File.Sync)
	return nil
}

func (f *freezeFile) SyncData() error {
	f.fs.mutate(f.File.SyncData)
	return nil
}

func (f *freezeFile) SyncTo(length int64) (full bool, err error) {
	f.fs.mutate(func() (err error) {
		full, err = f.File.SyncTo(length)
		return err
	})
	return full, nil
}

func (f *freezeFile) Preallocate(offset, length int64) error {
	if f.fs.frozen() {
		return nil
	}
	_ = f.File.Preallocate(offset, length) // a hint; the write itself will tell
	return nil
}

// Stat is not allowed to fail either: Pebble asks for the size of a new log with its lock half released.
func (f *freezeFile) Stat() (vfs.FileInfo, error) {
	info, err := f.File.Stat()
	if err != nil {
		f.fs.freeze(err)
		return nullInfo{}, nil
	}
	return info, nil
}

func (f *freezeFile) Close() error {
	if err := f.File.Close(); err != nil {
		f.fs.freeze(err)
	}
	return nil
}

// whole turns a write that was cut short without an error into one.
func whole(size int) func(n int, err error) error {
	return func(n int, err error) error {
		if err == nil && n < size {
			return io.ErrShortWrite
		}
		return err
	}
}

// nullFile stands for a file that was created after the file system froze.
type nullFile struct{}

func (nullFile) Read([]byte) (int, error)               { return 0, io.EOF }
func (nullFile) ReadAt([]byte, int64) (int, error)      { return 0, io.EOF }
func (nullFile) Write(p []byte) (int, error)            { return len(p), nil }
func (nullFile) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }
func (nullFile) Preallocate(int64, int64) error         { return nil }
func (nullFile) Stat() (vfs.FileInfo, error)            { return nullInfo{}, nil }
func (nullFile) Sync() error                            { return nil }
func (nullFile) SyncTo(int64) (bool, error)             { return true, nil }
func (nullFile) SyncData() error                        { return nil }
func (nullFile) Prefetch(int64, int64) error            { return nil }
func (nullFile) Fd() uintptr                            { return vfs.InvalidFd }
func (nullFile) Close() error                           { return nil }

// nullInfo describes a nullFile.
type nullInfo struct{}

func (nullInfo) Name() string           { return "null" }
func (nullInfo) Size() int64            { return 0 }
func (nullInfo) Mode() fs.FileMode      { return 0o666 }
func (nullInfo) ModTime() time.Time     { return time.Time{} }
func (nullInfo) IsDir() bool            { return false }
func (nullInfo) Sys() any               { return nil }
func (nullInfo) DeviceID() vfs.DeviceID { return vfs.DeviceID{} }
