// Command wideload loads, measures and queries wideleaf databases.
//
// This folder binds flags; the packages under internal do the work: csvfile and load bring files into tables, bench
// inserts and measures, resultset prints the rows of queries, report prints figures.
package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"wideleaf/cmd/internal/command"
)

func main() { command.Run(newCommand(os.Stdout, os.Stderr)) }

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
