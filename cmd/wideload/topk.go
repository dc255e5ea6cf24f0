package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"wideleaf"
	"wideleaf/cmd/wideload/internal/bench"
	"wideleaf/cmd/wideload/internal/report"
)

func newTopKCommand() *cobra.Command {
	var (
		engine   engineFlags
		profiles profileFlags
		c        bench.TopKConfig
		dir      string
	)
	cmd := &cobra.Command{
		Use:   "topk",
		Short: "Measure ORDER BY ... LIMIT on a column without an index",
		Long: "topk fills a new table with int8 values and asks for the rows with the least of them, without an index. It prints two\n" +
			"lines of JSON, times in ms: of a column that the bounds of its pages help with, and of one where they don't.",
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	f.Int64Var(&c.Rows, "rows", defaultRows, "number of rows of the table")
	f.Int64Var(&c.K, "k", 10, "number of rows to find")
	f.IntVar(&c.Workers, "workers", 1, "number of workers beside the caller: names the figures")
	f.StringVar(&c.Order, "order", "rand", "`order` of the values in the table: rand or asc")
	f.StringVar(&dir, "db", "", "`directory` of the database; a temporary one that is removed again if it is not given")
	profiles.bind(cmd)
	engine.memory = 1 << 30 // so that 20 M rows are in memory, as they are in PostgreSQL's shared_buffers
	engine.bind(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var errs []error
		if c.Rows < 1 || c.Rows > 1<<32 {
			errs = append(errs, fmt.Errorf("--rows is %d, must be from 1 to 4294967296", c.Rows))
		}
		if c.K < 1 {
			errs = append(errs, fmt.Errorf("--k is %d, must be at least 1", c.K))
		}
		if c.Workers < 0 || c.Workers > 1024 {
			errs = append(errs, fmt.Errorf("--workers is %d, must be from 0 to 1024", c.Workers))
		}
		if err := oneOf("order", c.Order, "rand", "asc"); err != nil {
			errs = append(errs, err)
		}
		if len(errs) > 0 {
			return errors.Join(errs...)
		}
		return engine.withTemporary(cmd, dir, func(db *wideleaf.DB) error {
			c.Progress = report.NewProgress(cmd.ErrOrStderr(), "inserting")
			var figures []report.Figure
			err := profiles.during(func() (err error) {
				figures, err = bench.TopK(cmd.Context(), db, c)
				return err
			})
			c.Progress.Done()
			if err != nil {
				return err
			}
			return report.WriteFigures(cmd.OutOrStdout(), figures)
		})
	}
	return cmd
}
