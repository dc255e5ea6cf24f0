// Command pageinspect shows what is in the pages of a wideleaf database that no process has open.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"wideleaf"
	"wideleaf/cmd/internal/command"
	"wideleaf/cmd/internal/resultset"
	"wideleaf/pageinspect"
)

func main() { command.Run(newCommand(os.Stdout, os.Stderr)) }

func newCommand(stdout, stderr io.Writer) *cobra.Command {
	var dir, format string
	var expanded, salvage bool
	c := &cobra.Command{
		Use:   "pageinspect --db DIR (FUNCTION RELATION [BLOCK]... | \"FUNCTION(get_raw_page('RELATION', BLOCK))\" | relations | runs RELATION)",
		Short: "Show what is in the pages of a wideleaf database",
		Long: "pageinspect opens a database read-only and calls a function of its pages. Names and columns are those of PostgreSQL's\n" +
			"extension pageinspect, where that has one.\n\nFunctions: get_raw_page, " + strings.Join(pageinspect.Functions(), ", ") + ".",
		Args: cobra.MinimumNArgs(1), SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			f := resultset.Format(format)
			if !slices.Contains(resultset.Formats, f) || expanded && f != resultset.Table {
				return fmt.Errorf("--format %q: must be table, csv or json, with -x only table", format)
			}
			log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
			if salvage { // what it would say is among the warnings
				log = slog.New(slog.DiscardHandler)
			}
			db, err := wideleaf.Open(dir, &wideleaf.Options{ReadOnly: true, Salvage: salvage, Logger: log})
			if err != nil {
				return err
			}
			for _, e := range db.Damage() {
				fmt.Fprintf(stderr, "WARNING:  %v\n", e)
			}
			defer func() { err = errors.Join(err, db.Close()) }()
			res, err := run(cmd.Context(), pageinspect.New(db), args)
			if err != nil {
				return err
			}
			rows := func(yield func(wideleaf.Row, error) bool) {
				for _, r := range res.Rows {
					if !yield(r, nil) {
						return
					}
				}
			}
			if expanded {
				return resultset.WriteExpanded(stdout, res.Columns, rows)
			}
			return resultset.Write(stdout, f, res.Columns, rows)
		},
	}
	c.SetOut(stdout)
	c.SetErr(stderr)
	c.Flags().StringVar(&dir, "db", "", "folder of the database")
	c.Flags().StringVar(&format, "format", string(resultset.Table), "`form` of the result: table, csv or json (an array of objects)")
	c.Flags().BoolVarP(&expanded, "expanded", "x", false, "print a line a column")
	c.Flags().BoolVar(&salvage, "salvage", false, "open a damaged database, without its indexes, and say what is damaged")
	_ = c.MarkFlagRequired("db") // it is there
	return c
}

func run(ctx context.Context, in *pageinspect.Inspector, args []string) (pageinspect.Result, error) {
	switch {
	case len(args) == 1 && strings.Contains(args[0], "("):
		return in.Query(ctx, args[0])
	case len(args) == 1 && args[0] == "relations":
		return in.Relations(ctx)
	case len(args) == 2 && args[0] == "runs":
		return in.Runs(ctx, args[1])
	case args[0] == "relations" || args[0] == "runs":
		return pageinspect.Result{}, fmt.Errorf("%s takes %s", args[0], map[string]string{"relations": "no arguments", "runs": "one relation"}[args[0]])
	case len(args) == 1:
		return pageinspect.Result{}, fmt.Errorf("%s needs a relation", args[0])
	}
	var numbers []int64
	for _, a := range args[2:] {
		n, err := strconv.ParseInt(a, 10, 64)
		if err != nil {
			return pageinspect.Result{}, fmt.Errorf("invalid block number %q", a)
		}
		numbers = append(numbers, n)
	}
	return in.Call(ctx, args[0], args[1], numbers...)
}
