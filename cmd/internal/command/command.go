// Package command runs a command as a process: interrupted in order, with errors as PostgreSQL's programs print them.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"wideleaf"
)

// exitInterrupted is what a shell reports for a program that SIGINT ended.
const exitInterrupted = 128 + int(syscall.SIGINT)

// Run runs a command with the process's arguments and ends the process if it fails.
func Run(c *cobra.Command) {
	// The first interrupt cancels the context, so that the database is closed in order; a second one kills.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	err := c.ExecuteContext(ctx)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		fmt.Fprintf(os.Stderr, "%s: interrupted\n", c.Name())
		os.Exit(exitInterrupted)
	default:
		PrintError(os.Stderr, c.Name(), err)
		os.Exit(1)
	}
}

// PrintError prints a command's error with PostgreSQL's detail and hint, if it has them.
func PrintError(w io.Writer, name string, err error) {
	fmt.Fprintf(w, "%s: %v\n", name, err)
	var e *wideleaf.Error
	if errors.As(err, &e) {
		if e.Detail != "" {
			fmt.Fprintf(w, "DETAIL:  %s\n", e.Detail)
		}
		if e.Hint != "" {
			fmt.Fprintf(w, "HINT:  %s\n", e.Hint)
		}
	}
}
