package store

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2"
)

// The kinds of errors.
var (
	// ErrCorrupt: what is on disk is not what was written.
	ErrCorrupt = errors.New("database is corrupt")
	// ErrFrozen: a write failed, and nothing has been written since.
	ErrFrozen = errors.New("a write to the database failed, it must be reopened before it is written again")
	// ErrReadOnly: the database is open for reading only.
	ErrReadOnly = errors.New("database is open for reading only")
	// ErrClosed: the database is closed.
	ErrClosed = errors.New("database is closed")
	// ErrInUse: another process, or this one, has the directory open.
	ErrInUse = errors.New("database is in use")
	// ErrNotFound: there is no database in the directory.
	ErrNotFound = errors.New("there is no database")
	// ErrNewer: the database was written by a later version of the program.
	ErrNewer = errors.New("database is of a newer format")
)

// CorruptError says what is missing or damaged. It matches ErrCorrupt.
type CorruptError struct {
	What   string // file or object
	Detail string
}

func (e *CorruptError) Error() string { return fmt.Sprintf("%s: %s: %s", ErrCorrupt, e.What, e.Detail) }

// Is makes errors.Is(err, ErrCorrupt) true.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

func corrupt(what, format string, args ...any) error {
	return &CorruptError{what, fmt.Sprintf(format, args...)}
}

// translate gives Pebble's errors the kinds of this package.
func translate(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrCorrupt):
		return err
	case errors.Is(err, pebble.ErrClosed):
		return ErrClosed
	case errors.Is(err, pebble.ErrReadOnly):
		return ErrReadOnly
	case pebble.IsCorruptionError(err):
		return &CorruptError{"Pebble store", pebbleText(err)}
	}
	return err
}

// pebbleText returns what Pebble says of an error in one line, without marks that are meant for its own tools.
func pebbleText(err error) string {
	text := strings.ReplaceAll(err.Error(), "<corruption detail carrier>", "")
	return strings.Join(strings.Fields(text), " ")
}

// read runs a reading operation of Pebble.
func (db *DB) read(op func() error) (err error) {
	if db.closed.Load() {
		return ErrClosed
	}
	defer recovered(&err)
	return translate(op())
}

// write runs a writing operation of Pebble and returns nil only if it, and everything before it, was written without a
// failure.
func (db *DB) write(op func() error) (err error) {
	if db.closed.Load() {
		return ErrClosed
	}
	if db.o.ReadOnly {
		return ErrReadOnly
	}
	if err := db.fs.err(); err != nil {
		return err
	}
	if !db.touched.Load() {
		if err := db.touch(); err != nil {
			return err
		}
	}
	defer func() {
		if p := recover(); p != nil {
			if err = asError(p); err != ErrClosed {
				db.fs.freeze(err) // Pebble may hold its locks for ever now
			}
		}
		if e := db.fs.err(); e != nil {
			err = e
		}
	}()
	return translate(op())
}

// recovered turns Pebble's panic about a closed database into an error.
func recovered(err *error) {
	switch p := recover(); {
	case p == nil:
	case asError(p) == ErrClosed:
		*err = ErrClosed
	default:
		panic(p)
	}
}

func asError(p any) error {
	if e, ok := p.(error); ok {
		if errors.Is(e, pebble.ErrClosed) {
			return ErrClosed
		}
		return fmt.Errorf("panic in Pebble: %w", e)
	}
	return fmt.Errorf("panic in Pebble: %v", p)
}
