// Command pageinspect shows what is in the pages of a wideleaf database that no process has open.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"wideleaf"
	"wideleaf/cmd/internal/resultset"
	"wideleaf/pageinspect"
)

func main() {
	if err := newCommand(os.Stdout).Execute(); err != nil {
		fmt.Fprintf(os.Stderr, "pageinspect: %v\n", err)
		var e *wideleaf.Error
		if errors.As(err, &e) {
			if e.Detail != "" {
				fmt.Fprintf(os.Stderr, "DETAIL:  %s\n", e.Detail)
			}
			if e.Hint != "" {
				fmt.Fprintf(os.Stderr, "HINT:  %s\n", e.Hint)
			}
		}
		os.Exit(1)
	}
}

func newCommand(stdout io.Writer) *cobra.Command {
	var dir, format string
	var expanded bool
	c := &cobra.Command{
		Use:   "pageinspect --db DIR (FUNCTION RELATION [BLOCK]... | \"FUNCTION(get_raw_page('RELATION', BLOCK))\" | relations | runs RELATION)",
		Short: "Show what is in the pages of a wideleaf database",
		Long: "pageinspect opens a database read-only and calls a function of its pages. Names and columns are those of PostgreSQL's\n" +
			"extension pageinspect, where that has one.\n\nFunctions: get_raw_page, " + strings.Join(pageinspect.Functions(), ", ") + ".",
		Args: cobra.MinimumNArgs(1), SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			db, err := wideleaf.Open(dir, &wideleaf.Options{ReadOnly: true})
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, db.Close()) }()
			res, err := run(cmd.Context(), pageinspect.New(db), args)
			if err != nil {
				return err
			}
			if expanded {
				return writeExpanded(stdout, res)
			}
			return resultset.Write(stdout, resultset.Format(format), res.Columns, func(yield func(wideleaf.Row, error) bool) {
				for _, r := range res.Rows {
					if !yield(r, nil) {
						return
					}
				}
			})
		},
	}
	c.SetOut(stdout)
	c.Flags().StringVar(&dir, "db", "", "folder of the database")
	c.Flags().StringVar(&format, "format", "table", "table, csv or json")
	c.Flags().BoolVarP(&expanded, "expanded", "x", false, "print a line a column")
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

// writeExpanded prints rows as psql does with \x.
func writeExpanded(w io.Writer, res pageinspect.Result) error {
	width := 0
	for _, c := range res.Columns {
		width = max(width, len(c))
	}
	var b strings.Builder
	for i, r := range res.Rows {
		fmt.Fprintf(&b, "-[ RECORD %d ]\n", i+1)
		for j, v := range r {
			fmt.Fprintf(&b, "%-*s | %s\n", width, res.Columns[j], v)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
