// Command wideload loads, measures and queries wideleaf databases.
//
// This folder binds flags; the packages under internal do the work: csvfile and load bring files into tables, bench
// inserts and measures, resultset prints the rows of queries, report prints figures.
package main

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

func main() {
	// The first interrupt cancels the context, so that the database is closed in order; a second one kills.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	err := newCommand(os.Stdout, os.Stderr).ExecuteContext(ctx)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "wideload: interrupted")
		os.Exit(exitInterrupted)
	default:
		printError(os.Stderr, err)
		os.Exit(1)
	}
}

// newCommand returns the command with all subcommands.
func newCommand(stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "wideload",
		Short: "Load, measure and query wideleaf databases",
		Long: "wideload loads files and random rows into wideleaf databases, measures how fast that is, asks queries and dumps tables.\n" +
			"Its main job takes no arguments: wideload compare.",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.AddCommand(newBuildCommand(), newCompareCommand(), newDumpCommand(), newInsertCommand(), newLoadCommand(), newMutateCommand(),
		newQueryCommand(), newTopKCommand(), newVacuumCommand())
	return root
}

// printError prints an error with PostgreSQL's detail and hint, if it has them.
func printError(w io.Writer, err error) {
	fmt.Fprintf(w, "wideload: %v\n", err)
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
