package pgerr

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestError(t *testing.T) {
	e := New(ErrNotFound, UndefinedColumn, `column "%s" does not exist`, "x")
	if got, want := e.Error(), `column "x" does not exist (SQLSTATE 42703)`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	placed := e.At(7)
	if got, want := placed.Error(), `column "x" does not exist (at character 7) (SQLSTATE 42703)`; got != want || e.Position != 0 {
		t.Errorf("got %s, want %s; the original is at %d", got, want, e.Position)
	}
	wrapped := fmt.Errorf("query: %w", &Error{Kind: ErrCorrupt, Message: "bad page", Err: io.ErrUnexpectedEOF})
	var found *Error
	if !errors.Is(wrapped, ErrCorrupt) || errors.Is(wrapped, ErrNotFound) || !errors.Is(wrapped, io.ErrUnexpectedEOF) || !errors.As(wrapped, &found) {
		t.Error("an error does not match its kind and cause only")
	}
	if got, want := wrapped.Error(), "query: bad page: unexpected EOF"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if errors.Is(&Error{Message: "no kind"}, nil) {
		t.Error("an error without a kind matches nil")
	}
}

func TestRecover(t *testing.T) {
	f := func(r any) (err error) {
		defer Recover(&err)
		if r != nil {
			panic(r)
		}
		return io.EOF
	}
	var e *Error
	if err := f("a fault"); !errors.As(err, &e) || e.Code != InternalError || e.Message != "internal error: a fault" || !strings.Contains(err.Error(), "TestRecover") {
		t.Errorf("a panic has become %v", err)
	}
	if err := f(nil); err != io.EOF {
		t.Errorf("an error has become %v", err)
	}
}
