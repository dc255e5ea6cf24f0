package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wideleaf"
	"wideleaf/cmd/wideload/internal/csvfile"
	"wideleaf/cmd/wideload/internal/load"
	"wideleaf/cmd/wideload/internal/report"
	"wideleaf/value"
)

func newLoadCommand() *cobra.Command {
	var (
		engine    engineFlags
		o         load.Options
		dir       string
		index     string
		delimiter string
		names     string
		types     []string
	)
	cmd := &cobra.Command{
		Use:   "load FILE",
		Short: "Load a CSV or TSV file into a new table",
		Long: "load creates a table and loads a file of delimited text into it, whole or not at all. The types of the columns are\n" +
			"inferred from all cells, such that no cell changes its value: numbers with leading zeros are text, 0 and 1 are\n" +
			"integers, t, f, true and false are bool. The file may be compressed with gzip. Its rows keep their order.",
		Args: cobra.ExactArgs(1),
	}
	f := cmd.Flags()
	f.StringVar(&o.Table, "table", "", "name of the table to create")
	f.StringVar(&dir, "db", "", "`directory` of the database, which is created if it is not there")
	f.StringVar(&index, "index", "btree", "access `method` of an index idx_TABLE_N on every column: btree or none")
	f.BoolVar(&o.Header, "header", false, "the first record has the names of the columns, not data")
	f.StringVar(&delimiter, "delimiter", ",", "`character` between fields; \\t is the tab")
	f.StringArrayVar(&o.Nulls, "null", []string{""}, "`marker`: an unquoted field that is NULL; may be given several times, and replaces the default, the empty field")
	f.StringVar(&names, "names", "", "where the columns' names come from: header or positional (c1, c2, ...); header if there is one")
	f.StringSliceVar(&types, "types", nil, "`column=type` pairs that are not to be inferred: bool, int4, int8, float8 or text")
	engine.bind(cmd)
	must(cmd.MarkFlagRequired("table"))
	must(cmd.MarkFlagRequired("db"))

	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if err := oneOf("index", index, "btree", "none"); err != nil {
			return err
		}
		if index != "none" {
			o.Index = index
		}
		if names == "" {
			names = string(load.Positional)
			if o.Header {
				names = string(load.FromHeader)
			}
		}
		if err := oneOf("names", load.Names(names), load.FromHeader, load.Positional); err != nil {
			return err
		}
		o.Names = load.Names(names)
		o.Format = csvfile.CSV
		if o.Format.Delimiter, err = character("delimiter", delimiter); err != nil {
			return err
		}
		if o.Types, err = columnTypes(types); err != nil {
			return err
		}
		return engine.with(cmd, dir, false, func(db *wideleaf.DB) error {
			start := time.Now()
			progress := report.NewProgress(cmd.ErrOrStderr(), "loading")
			defer progress.Done()
			o.Progress = func(done, total, rows int64) { progress.Show(float64(done)/float64(max(total, 1)), rows) }
			r, err := load.File(cmd.Context(), db, args[0], o)
			if err != nil {
				return err
			}
			progress.Done()
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s rows of %d columns (%s), %d indexes, in %.2f s\n", o.Table, report.Count(r.Rows),
				len(r.Columns), typeCounts(r.Columns), r.Indexes, time.Since(start).Seconds())
			return err
		})
	}
	return cmd
}

// character returns the one byte that a flag names.
func character(flag, s string) (byte, error) {
	if s == `\t` {
		return '\t', nil
	}
	if len(s) != 1 {
		return 0, fmt.Errorf(`--%s is %q, must be one ASCII character or \t`, flag, s)
	}
	return s[0], nil
}

// columnTypes reads pairs of column=type. The name may hold = itself.
func columnTypes(pairs []string) (map[string]wideleaf.Type, error) {
	types := map[string]wideleaf.Type{}
	for _, p := range pairs {
		i := strings.LastIndexByte(p, '=')
		if i <= 0 {
			return nil, fmt.Errorf("--types has %q, must be column=type", p)
		}
		t, ok := value.ParseType(p[i+1:])
		if !ok {
			return nil, fmt.Errorf("--types has %q, whose type must be bool, int4, int8, float8 or text", p)
		}
		types[p[:i]] = t
	}
	return types, nil
}

// typeCounts sums up the types of columns: 124 float8, 3 int4, 1 text.
func typeCounts(cols []wideleaf.Column) string {
	counts := map[wideleaf.Type]int{}
	var types []wideleaf.Type
	for _, c := range cols {
		if counts[c.Type]++; counts[c.Type] == 1 {
			types = append(types, c.Type)
		}
	}
	slices.SortFunc(types, func(a, b wideleaf.Type) int { return cmp.Or(counts[b]-counts[a], int(a)-int(b)) })
	parts := make([]string, len(types))
	for i, t := range types {
		parts[i] = fmt.Sprintf("%d %v", counts[t], t)
	}
	return strings.Join(parts, ", ")
}

// must stops a command that binds flags it does not have, which any test that makes the command finds.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
