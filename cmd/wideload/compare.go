package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"wideleaf"
	"wideleaf/cmd/wideload/internal/bench"
	"wideleaf/cmd/wideload/internal/report"
)

// defaultRows is as many rows as keep compare under a minute on two processors once there are four methods to compare.
const defaultRows = 1_000_000

func newCompareCommand() *cobra.Command {
	var (
		engine  engineFlags
		figures figuresFlag
		c       bench.CompareConfig
	)
	cmd := &cobra.Command{
		Use:   "compare",
		Short: "Measure every index method on random rows and print the article's summary table",
		Long: "compare does the main job: it inserts random rows into tables of 128 columns with every column indexed, one row\n" +
			"a commit, asks the article's query cases, and prints the article's summary table with what it measured.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.Rows < 1 {
				return fmt.Errorf("--rows is %d, must be at least 1", c.Rows)
			}
			c.Open = func(dir string) (*wideleaf.DB, error) { return engine.open(cmd, dir, false) }
			c.Progress = func(title string) *report.Progress { return report.NewProgress(cmd.ErrOrStderr(), title) }
			all, err := bench.Compare(cmd.Context(), c)
			if err != nil {
				return err
			}
			if err := bench.PrintSummary(figures.text(cmd), all); err != nil {
				return err
			}
			return figures.write(cmd, bench.CompareFigures(all))
		},
	}
	f := cmd.Flags()
	f.Int64Var(&c.Rows, "rows", defaultRows, "number of rows in each table")
	f.IntVar(&c.Columns, "columns", 128, "number of columns of each table, 2 to 1600")
	f.IntVar(&c.Clients, "clients", 8, "number of clients that insert at the same time")
	f.StringVar(&c.Dir, "db", "", "`directory` of a database that keeps the tables for wideload query; temporary ones if it is not given")
	figures.bind(cmd)
	engine.bind(cmd)
	return cmd
}
