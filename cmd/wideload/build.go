package main

import (
	"os"

	"github.com/spf13/cobra"

	"wideleaf"
	"wideleaf/cmd/wideload/internal/bench"
	"wideleaf/cmd/wideload/internal/report"
)

func newBuildCommand() *cobra.Command {
	var (
		engine   engineFlags
		profiles profileFlags
		c        bench.BuildConfig
		memory   = byteSize(1 << 30)
		dir      string
		matrix   bool
		trace    bool
	)
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Build an index on a filled table and measure it",
		Long: "build fills a new table and measures how long building its index takes: one line of JSON, the time in ms. The shapes\n" +
			"are those of Munro's tests of PostgreSQL's parallel sort; --matrix measures all of them.",
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	f.Int64Var(&c.Rows, "rows", defaultRows, "number of rows of the table")
	f.StringVar(&c.Type, "type", "int4", "`type` of the indexed column: int4, int8, text (words) or md5 (32 hexadecimal digits)")
	f.BoolVar(&c.Wide, "wide", false, "give the rows another 128 bytes that aren't indexed")
	f.IntVar(&c.Columns, "columns", 0, "build the indexes of so many int4 columns in one go instead of one index")
	f.StringVar(&c.Order, "order", "rand", "`order` of the values in the table: rand, asc or desc")
	f.IntVar(&c.Dups, "dups", 1, "number of rows with the same value, 1 or 10")
	f.BoolVar(&c.Unique, "unique", false, "build a unique index")
	f.Var(&memory, "mem", "`size` of maintenance_work_mem")
	f.IntVar(&c.Workers, "workers", 1, "number of workers beside the caller, as the table's parallel_workers")
	f.StringVar(&c.Method, "index", "btree", "access `method`: btree, gin or rum")
	f.BoolVar(&matrix, "matrix", false, "measure all shapes with several sizes of memory and numbers of workers")
	f.BoolVar(&trace, "trace-sort", false, "log what the sort does, as PostgreSQL's trace_sort")
	f.StringVar(&dir, "db", "", "`directory` of the database; a temporary one that is removed again if it is not given")
	profiles.bind(cmd)
	engine.bind(cmd)
	for _, other := range []string{"type", "wide", "columns", "order", "dups", "unique", "mem", "workers", "index", "db"} {
		cmd.MarkFlagsMutuallyExclusive("matrix", other)
	}

	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c.Memory = int64(memory)
		engine.trace, engine.beside = trace, c.Memory
		if matrix {
			return bench.Matrix(cmd.Context(), cmd.OutOrStdout(), bench.MatrixConfig{
				Rows: c.Rows, Memory: []int64{1 << 20, 64 << 20, 256 << 20, 512 << 20}, Workers: []int{0, 1, 2, 4},
				Open: func() (*wideleaf.DB, func() error, error) {
					dir, err := os.MkdirTemp("", "wideload-")
					if err != nil {
						return nil, nil, err
					}
					db, err := engine.open(cmd, dir, false)
					return db, func() error {
						if db != nil {
							err = db.Close()
						}
						if e := os.RemoveAll(dir); err == nil {
							err = e
						}
						return err
					}, err
				},
			})
		}
		if err := c.Check(); err != nil {
			return err
		}
		return engine.withTemporary(cmd, dir, func(db *wideleaf.DB) error {
			c.Progress = report.NewProgress(cmd.ErrOrStderr(), "inserting")
			defer c.Progress.Done()
			var figure report.Figure
			err := profiles.during(func() error {
				d, err := bench.Build(cmd.Context(), db, c)
				figure = c.Figure(d)
				return err
			})
			if err != nil {
				return err
			}
			return report.WriteFigures(cmd.OutOrStdout(), []report.Figure{figure})
		})
	}
	return cmd
}
