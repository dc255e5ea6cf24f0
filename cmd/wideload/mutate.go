package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"wideleaf"
	"wideleaf/cmd/wideload/internal/bench"
)

func newMutateCommand() *cobra.Command {
	var (
		engine   engineFlags
		figures  figuresFlag
		profiles profileFlags
		c        bench.InsertConfig
		index    string
		dir      string
	)
	cmd := &cobra.Command{
		Use:   "mutate",
		Short: "Measure deletes, updates and vacuum on a new table of random rows",
		Long: "mutate fills the table of the insert test, deletes a tenth of its rows, updates a tenth (c2 = c2 / 2), then deletes\n" +
			"nine tenths of what is left and vacuums.",
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringVar(&index, "index", "btree", "index `mode`: "+strings.Join(bench.ModeNames(), " or "))
	f.IntVar(&c.Columns, "columns", 128, "number of columns of the table, 4 to 1600")
	f.Int64Var(&c.Rows, "rows", 1_000_000, "number of rows of the table")
	f.Uint64Var(&c.Seed, "seed", 1, "seed of the random values")
	f.StringVar(&dir, "db", "", "`directory` of the database; a temporary one that is removed again if it is not given")
	figures.bind(cmd)
	profiles.bind(cmd)
	engine.bind(cmd)

	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		if c.Mode, err = bench.ModeOf(index); err != nil {
			return err
		}
		if c.Columns < 4 {
			return fmt.Errorf("columns is %d, must be at least 4", c.Columns)
		}
		c.Clients, c.Batch = 4, 100
		if err := c.Check(); err != nil {
			return err
		}
		return engine.withTemporary(cmd, dir, func(db *wideleaf.DB) error {
			var r *bench.MutateResult
			err := profiles.during(func() (err error) {
				r, err = bench.Mutate(cmd.Context(), db, c)
				return err
			})
			if err != nil {
				return err
			}
			if err := r.Print(figures.text(cmd)); err != nil {
				return err
			}
			return figures.write(cmd, r.Figures())
		})
	}
	return cmd
}
