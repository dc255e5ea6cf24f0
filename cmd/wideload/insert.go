package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"wideleaf"
	"wideleaf/cmd/wideload/internal/bench"
	"wideleaf/cmd/wideload/internal/report"
)

func newInsertCommand() *cobra.Command {
	var (
		engine            engineFlags
		figures           figuresFlag
		profiles          profileFlags
		c                 bench.InsertConfig
		index, fastUpdate string
		dir, sample       string
	)
	cmd := &cobra.Command{
		Use:   "insert",
		Short: "Insert random rows into a new table and measure it",
		Long: "insert creates a table of int4 columns c1, c2, ... with the indexes of an index mode, inserts random rows from\n" +
			"several clients, and prints rates, latencies and sizes. Table and indexes are named as in the article: a with\n" +
			"idx_a_1 ... for btree, b with idx_b_1 over all columns for gin, c with idx_c_1 for rum, d with idx_d_1 for gin with\n" +
			"fastupdate off.",
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringVar(&fastUpdate, "fastupdate", "on", "whether new rows may wait in the pending list: on or off")
	f.StringVar(&index, "index", "btree", "index `mode`: "+strings.Join(bench.ModeNames(), " or "))
	f.IntVar(&c.Columns, "columns", 128, "number of columns of the table, 1 to 1600")
	f.Int64Var(&c.Rows, "rows", 0, "number of rows to insert (1000000 if there is no --duration either)")
	f.DurationVar(&c.Duration, "duration", 0, "how long to insert, such as 20s, instead of a number of rows")
	f.IntVar(&c.Clients, "clients", 8, "number of clients that insert at the same time")
	f.IntVar(&c.Batch, "batch", 1, "number of rows that a client inserts in one commit")
	f.BoolVar(&c.Sync, "sync", false, "make every commit durable before it returns; false is the article's synchronous_commit=off")
	f.Uint64Var(&c.Seed, "seed", 1, "seed of the random values")
	f.BoolVar(&c.Ask, "cases", false, "ask the article's query cases once all is settled")
	f.StringVar(&dir, "db", "", "`directory` of the database; a temporary one that is removed again if it is not given")
	f.StringVar(&sample, "sample", "", "write a line of CSV a second to `file`, and ask case 1 all along")
	figures.bind(cmd)
	profiles.bind(cmd)
	engine.bind(cmd)
	cmd.MarkFlagsMutuallyExclusive("rows", "duration")

	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		if c.Mode, err = bench.ModeOf(index); err != nil {
			return err
		}
		if err := oneOf("fastupdate", fastUpdate, "on", "off"); err != nil {
			return err
		}
		c.Mode = c.Mode.WithFastUpdate(fastUpdate == "on")
		if c.Rows == 0 && c.Duration == 0 {
			c.Rows = defaultRows
		}
		if err := c.Check(); err != nil {
			return err
		}
		measure := func() error {
			return engine.withTemporary(cmd, dir, func(db *wideleaf.DB) error {
				c.Progress = report.NewProgress(cmd.ErrOrStderr(), "inserting")
				var r *bench.InsertResult
				err := profiles.during(func() (err error) {
					r, err = bench.Insert(cmd.Context(), db, c)
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
		if sample == "" {
			return measure()
		}
		return toFile(sample, func(w io.Writer) error {
			c.Sample = w
			return measure()
		})
	}
	return cmd
}
