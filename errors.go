package wideleaf

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"wideleaf/am"
	"wideleaf/page"
	"wideleaf/pgerr"
	"wideleaf/store"
)

// Error is what all functions of this package return: a kind for errors.Is, PostgreSQL's SQLSTATE and wording where it
// has one for the case, and the name of the object concerned.
type Error = pgerr.Error

// The kinds of errors, for errors.Is.
var (
	ErrNotFound   = pgerr.ErrNotFound
	ErrExists     = pgerr.ErrExists
	ErrInvalid    = pgerr.ErrInvalid
	ErrConstraint = pgerr.ErrConstraint
	ErrConflict   = pgerr.ErrConflict
	ErrCorrupt    = pgerr.ErrCorrupt
	ErrReadOnly   = pgerr.ErrReadOnly
	ErrClosed     = pgerr.ErrClosed
	ErrFull       = pgerr.ErrFull
	ErrCanceled   = pgerr.ErrCanceled
)

const codeInvalidParameter = pgerr.InvalidParameterValue

// wrap gives an error from below its public kind; object is the table or index at work.
func wrap(object string, err error) error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return err
	}
	make := func(kind error, code, message string) error {
		return &Error{Kind: kind, Code: code, Message: message, Object: object, Err: err}
	}
	switch {
	case errors.Is(err, context.Canceled):
		return make(ErrCanceled, pgerr.QueryCanceled, "canceling statement due to user request")
	case errors.Is(err, context.DeadlineExceeded):
		return make(ErrCanceled, pgerr.QueryCanceled, "canceling statement due to statement timeout")
	case errors.Is(err, store.ErrNewer):
		return make(ErrInvalid, pgerr.FeatureNotSupported, quoted(object)+"is of a newer format than this version can read")
	case errors.Is(err, page.ErrCorrupt), errors.Is(err, store.ErrCorrupt):
		return make(ErrCorrupt, pgerr.DataCorrupted, quoted(object)+"is damaged")
	case errors.Is(err, am.ErrKeyTooLong):
		return make(ErrInvalid, pgerr.ProgramLimitExceeded, quoted(object)+"has a key that is too long")
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return make(ErrFull, pgerr.DiskFull, "could not write: no space left on device")
	case errors.Is(err, store.ErrInUse):
		return make(ErrInvalid, pgerr.ObjectInUse, "the database is in use by another process")
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return make(ErrReadOnly, pgerr.InsufficientPrivilege, quoted(object)+"may not be written")
	case errors.Is(err, store.ErrNotFound), errors.Is(err, syscall.ENOTDIR):
		return make(ErrNotFound, pgerr.UndefinedFile, quoted(object)+"is not a database")
	case errors.Is(err, store.ErrClosed):
		return make(ErrClosed, pgerr.AdminShutdown, "the database is closed")
	case errors.Is(err, store.ErrFrozen):
		return make(ErrReadOnly, pgerr.IOError, "the database accepts no more writes since one failed")
	case errors.Is(err, store.ErrReadOnly):
		return make(ErrReadOnly, pgerr.ReadOnlySQLTransaction, "the database is open read-only")
	}
	return make(nil, pgerr.IOError, quoted(object)+"could not be read or written")
}

func quoted(object string) string {
	if object == "" {
		return "the database "
	}
	return `"` + object + `" `
}
