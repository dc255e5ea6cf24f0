package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"wideleaf"
	"wideleaf/cmd/wideload/internal/bench"
	"wideleaf/cmd/wideload/internal/report"
)

// byteSize is a flag's size.
type byteSize int64

func (b *byteSize) String() string { return report.Bytes(int64(*b)) }
func (b *byteSize) Type() string   { return "size" }
func (b *byteSize) Set(s string) error {
	n, err := report.ParseBytes(s)
	*b = byteSize(n)
	return err
}

// engineFlags are the flags of the commands that open a database.
type engineFlags struct {
	memory  byteSize
	verbose bool
	trace   bool  // trace_sort
	beside  int64 // maintenance_work_mem, which comes on top
}

const defaultMemory = 512 << 20

func (e *engineFlags) bind(cmd *cobra.Command) {
	if e.memory == 0 {
		e.memory = defaultMemory
	}
	cmd.Flags().Var(&e.memory, "memory-limit", "`size` that the engine plans to use of memory; Go's collector gets a third on top")
	cmd.Flags().BoolVar(&e.verbose, "verbose", false, "log what the engine does in the background, not only warnings")
}

// open opens a database. The process is the engine's, so Go's collector is set up for it too.
func (e *engineFlags) open(cmd *cobra.Command, dir string, readOnly bool) (*wideleaf.DB, error) {
	bench.LimitMemory(int64(e.memory) + e.beside)
	level := slog.LevelWarn
	if e.verbose || e.trace {
		level = slog.LevelInfo
	}
	return wideleaf.Open(dir, &wideleaf.Options{
		MemoryLimit: int64(e.memory),
		ReadOnly:    readOnly,
		TraceSort:   e.trace,
		Logger:      slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: level})),
	})
}

// with opens a database, calls f and closes the database.
func (e *engineFlags) with(cmd *cobra.Command, dir string, readOnly bool, f func(*wideleaf.DB) error) (err error) {
	db, err := e.open(cmd, dir, readOnly)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return f(db)
}

// withTemporary is with for a database in dir, or in a temporary folder that is removed again when dir is "".
func (e *engineFlags) withTemporary(cmd *cobra.Command, dir string, f func(*wideleaf.DB) error) (err error) {
	if dir == "" {
		if dir, err = os.MkdirTemp("", "wideload-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	return e.with(cmd, dir, false, f)
}

// figuresFlag is the flag --json and where it makes text and figures go.
type figuresFlag struct{ path string }

func (f *figuresFlag) bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.path, "json", "", "write the figures to `file`, one JSON object a line; - is standard output, and sends the text to standard error")
}

// text returns where text goes.
func (f *figuresFlag) text(cmd *cobra.Command) io.Writer {
	if f.path == "-" {
		return cmd.ErrOrStderr()
	}
	return cmd.OutOrStdout()
}

// write writes figures.
func (f *figuresFlag) write(cmd *cobra.Command, figures []report.Figure) error {
	switch f.path {
	case "":
		return nil
	case "-":
		return report.WriteFigures(cmd.OutOrStdout(), figures)
	}
	return toFile(f.path, func(w io.Writer) error { return report.WriteFigures(w, figures) })
}

// toFile creates a file and calls f to fill it.
func toFile(path string, f func(io.Writer) error) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return f(file)
}

// oneOf returns an error if a flag's value is none of those allowed.
func oneOf[S ~string](flag string, value S, allowed ...S) error {
	for _, a := range allowed {
		if value == a {
			return nil
		}
	}
	return fmt.Errorf("--%s is %q, must be one of %q", flag, value, allowed)
}
