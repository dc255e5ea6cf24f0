// Package pgerr defines the errors that wideleaf returns: a kind for programs, and PostgreSQL's SQLSTATE and wording
// where PostgreSQL has one for the case.
//
// An Error is immutable once returned. The root package gives it and its kinds their public names, so that all
// packages below it can make the errors that users see.
package pgerr

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// The kinds of errors. An *Error matches its kind with errors.Is.
var (
	ErrNotFound   = errors.New("not found")
	ErrExists     = errors.New("already exists")
	ErrInvalid    = errors.New("invalid")
	ErrConstraint = errors.New("constraint violated")
	ErrConflict   = errors.New("conflict")
	ErrCorrupt    = errors.New("corrupt")
	ErrReadOnly   = errors.New("read-only")
	ErrClosed     = errors.New("closed")
	ErrFull       = errors.New("out of space")
	ErrCanceled   = errors.New("canceled")
)

// The SQLSTATE codes in use, by PostgreSQL's condition names.
const (
	FeatureNotSupported          = "0A000"
	CardinalityViolation         = "21000"
	DivisionByZero               = "22012"
	NumericValueOutOfRange       = "22003"
	NullValueNotAllowed          = "22004"
	InvalidDatetimeFormat        = "22007"
	DatetimeFieldOverflow        = "22008"
	TimeZoneDisplacement         = "22009" // invalid_time_zone_displacement_value
	CharacterNotInRepertoire     = "22021"
	InvalidTextRepresentation    = "22P02"
	InvalidParameterValue        = "22023"
	NotNullViolation             = "23502"
	UniqueViolation              = "23505"
	InvalidRowCountInLimit       = "2201W"
	InvalidRowCountInOffset      = "2201X"
	ReadOnlySQLTransaction       = "25006"
	SerializationFailure         = "40001"
	InsufficientPrivilege        = "42501"
	SyntaxError                  = "42601"
	InvalidName                  = "42602"
	NameTooLong                  = "42622"
	DuplicateColumn              = "42701"
	AmbiguousColumn              = "42702"
	UndefinedColumn              = "42703"
	UndefinedObject              = "42704"
	DuplicateObject              = "42710"
	GroupingError                = "42803"
	DatatypeMismatch             = "42804"
	WrongObjectType              = "42809"
	CannotCoerce                 = "42846"
	UndefinedFunction            = "42883"
	AmbiguousFunction            = "42725"
	UndefinedTable               = "42P01"
	UndefinedParameter           = "42P02"
	DuplicateTable               = "42P07"
	InvalidColumnReference       = "42P10"
	InvalidTableDefinition       = "42P16"
	DiskFull                     = "53100"
	ProgramLimitExceeded         = "54000"
	StatementTooComplex          = "54001"
	TooManyColumns               = "54011"
	ObjectNotInPrerequisiteState = "55000"
	ObjectInUse                  = "55006"
	QueryCanceled                = "57014"
	AdminShutdown                = "57P01"
	IOError                      = "58030"
	UndefinedFile                = "58P01"
	DataCorrupted                = "XX001"
	InternalError                = "XX000"
)

// Error is an error with PostgreSQL's fields.
type Error struct {
	Kind     error  // one of this package's kinds
	Code     string // SQLSTATE
	Message  string
	Object   string // the name of the table, column or index concerned, if there is one
	Detail   string
	Hint     string
	Position int   // in the text of a query: the character, from 1; 0: none
	Err      error // the cause, if there is one
}

// New returns an error of a kind, with a SQLSTATE and a formatted message.
func New(kind error, code, format string, args ...any) *Error {
	return &Error{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

// Recover makes a panic of the function that defers it an error, whose cause is the stack.
func Recover(err *error) {
	if r := recover(); r != nil {
		*err = &Error{Code: InternalError, Message: fmt.Sprintf("internal error: %v", r), Err: errors.New(string(debug.Stack()))}
	}
}

// At returns a copy of e that points at a character, counted from 1, of a query's text.
func (e *Error) At(position int) *Error {
	c := *e
	c.Position = position
	return &c
}

// Error returns the message with its position, its cause and its SQLSTATE.
func (e *Error) Error() string {
	s := e.Message
	if e.Position > 0 {
		s += fmt.Sprintf(" (at character %d)", e.Position)
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Code != "" {
		s += " (SQLSTATE " + e.Code + ")"
	}
	return s
}

// Is reports whether target is e's kind.
func (e *Error) Is(target error) bool { return e.Kind != nil && e.Kind == target }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
