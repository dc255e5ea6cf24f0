package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"wideleaf"
	"wideleaf/cmd/wideload/internal/load"
	"wideleaf/cmd/wideload/internal/report"
)

func newLoadCommand() *cobra.Command {
	var (
		engine           engineFlags
		o                load.Options
		dir, index       string
		delimiter, quote string
		names            string
		types            []string
		typesFile        string
		createOnly, add  bool
		attach, to       []string
	)
	cmd := &cobra.Command{
		Use:   "load FILE",
		Short: "Load a CSV or TSV file into a table",
		Long:  loadHelp,
		Example: `  wideload load crime.csv.gz --table crime --db DIR --null '?'
  wideload load food.tsv.gz --table food --db DIR --header --delimiter '\t' --quote none
  wideload load titles.csv --table titles --db DIR --header --list-columns cast,c11 --list-separator ', '
  wideload load questions.csv --table q --db DIR --header --list-columns Tags --index rum --attach CreationDate --to Tags
  wideload load more.csv --table crime --db DIR --append`,
		Args: cobra.ExactArgs(1),
	}
	f := cmd.Flags()
	f.StringVar(&o.Table, "table", "", "name of the table")
	f.StringVar(&dir, "db", "", "`directory` of the database, which is created if it is not there")
	f.StringVar(&index, "index", "btree", "access `method` of an index idx_TABLE_N on every column N of a scalar type: btree; gin or rum, one index idx_TABLE_1 over all columns; or none")
	f.StringArrayVar(&attach, "attach", nil, "`column` whose value the entries of the --to column carry in a rum, so that rows found there come in its order; may be given several times")
	f.StringArrayVar(&to, "to", nil, "`column` that the --attach column is attached to; as often as --attach, in the same order")
	f.BoolVar(&o.OrderByAttach, "order-by-attach", false, "keep such entries in the order of the attached values only")
	f.BoolVar(&createOnly, "create-only", false, "create the table and its indexes as the file suggests, and load no rows")
	f.BoolVar(&add, "append", false, "add the rows to a table that is there, whose types hold; a header's names say which columns the file has")
	f.BoolVar(&o.Header, "header", false, "the first record has the names of the columns, not data")
	f.StringVar(&names, "names", "", "where the columns' names come from: header or positional (c1, c2, ...); header if there is one")
	f.StringVar(&delimiter, "delimiter", ",", "`character` between fields; \\t is the tab")
	f.StringVar(&quote, "quote", `"`, "`character` around fields that hold delimiters, line breaks or, doubled, itself; none: there are no quotes")
	f.StringArrayVar(&o.Nulls.Markers, "null", []string{""}, "`marker`: an unquoted field that is NULL; may be given several times, and replaces the default, the empty field")
	f.BoolVar(&o.Nulls.Quoted, "null-quoted", false, "the markers match quoted fields too, so that \"\" can be NULL")
	f.StringSliceVar(&types, "types", nil, "`column=type` pairs that are not to be inferred: "+load.TypeNames+
		", with \" not null\" if it is to be; a column is named or c1, c2, ...")
	f.StringSliceVar(&o.Lists.Columns, "list-columns", nil, "`columns` whose cells are lists of items, which become text[], or int8[] if all items are integers")
	f.StringVar(&o.Lists.Separator, "list-separator", ",", "`text` between the items of a list, such as ', '; '<>' for <a><b>; blanks around items are taken off, and empty items left out")
	f.StringVar(&typesFile, "types-file", "", "`file` of such types, as dump --types-file writes it")
	engine.bind(cmd)
	must(cmd.MarkFlagRequired("table"))
	must(cmd.MarkFlagRequired("db"))
	cmd.MarkFlagsMutuallyExclusive("create-only", "append")
	cmd.MarkFlagsMutuallyExclusive("index", "append")
	cmd.MarkFlagsMutuallyExclusive("attach", "append")
	cmd.MarkFlagsMutuallyExclusive("types", "append")
	cmd.MarkFlagsMutuallyExclusive("types-file", "append")

	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if err := oneOf("index", index, "btree", "gin", "rum", "none"); err != nil {
			return err
		}
		if index != "none" {
			o.Index = index
		}
		if o.Attach, err = pairs(attach, to); err != nil {
			return err
		}
		if index != "rum" && (len(o.Attach) > 0 || o.OrderByAttach) {
			return fmt.Errorf("--attach, --to and --order-by-attach are for --index rum, not %s", index)
		}
		if len(o.Attach) == 0 && o.OrderByAttach {
			return fmt.Errorf("--order-by-attach needs --attach and --to")
		}
		switch {
		case createOnly:
			o.Mode = load.CreateOnly
		case add:
			o.Mode = load.Append
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
		if o.Format.Delimiter, err = character("delimiter", delimiter); err != nil {
			return err
		}
		if quote != "none" {
			if o.Format.Quote, err = character("quote", quote); err != nil {
				return err
			}
		}
		if o.Types, err = columnTypes(types); err != nil {
			return err
		}
		if typesFile != "" {
			if err := load.ReadTypes(typesFile, o.Types); err != nil {
				return err
			}
		}
		if err := load.Check(args[0], o); err != nil {
			return err // and no database is made
		}
		return engine.with(cmd, dir, false, func(db *wideleaf.DB) error {
			start := time.Now()
			progress := report.NewProgress(cmd.ErrOrStderr(), "checking")
			defer progress.Done()
			o.Progress = func(p load.Progress) {
				if p.Loading {
					progress.Rename("loading")
				}
				progress.ShowBytes(p.Done, p.Total, p.Rows)
			}
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

const loadHelp = `load creates a table and loads a file of delimited text into it, whole or not at all: whatever fails, also in the
middle of a large file, or if the process is killed, there is no table. An error names the file, the line, the column and
the value. The rows keep the file's order. The file may be compressed with gzip; a byte order mark and CRLF are fine.

Types are inferred from all cells of a column, such that no cell changes its value:
  bool         if all are t, f, true or false
  int4, int8   if all are integers; 0 and 1 are integers, too
  float8       if all are numbers that float8 has with all the digits that are written
  date         if all are dates such as 2020-02-29
  timestamptz  if all are dates with a time of day, such as 2020-02-29 10:00:00.5; without a zone it is UTC
  text         everything else: numbers with leading zeros (007) or a plus sign, integers beyond int8 that float8 does
               not have exactly, and columns of NULLs only
Cells of --list-columns are text[], or int8[] if all their items are integers.

With --append all cells are checked before the first row is added, and up to 240 MiB of rows are added whole or not at
all; of more, the first rows stay in the table if the process is killed or cancelled, or the disk is full.`

// pairs returns what is to be attached to what.
func pairs(attach, to []string) (as []wideleaf.Attach, err error) {
	switch n := min(len(attach), len(to)); {
	case len(attach) > n:
		return nil, fmt.Errorf("--attach %q has no --to: name the column whose entries are to carry it", attach[n])
	case len(to) > n:
		return nil, fmt.Errorf("--to %q has no --attach: name the column whose value its entries are to carry", to[n])
	}
	for i := range attach {
		as = append(as, wideleaf.Attach{Column: attach[i], To: to[i]})
	}
	return as, nil
}

// character returns the one byte that a flag names.
func character(flag, s string) (byte, error) {
	if s == `\t` {
		return '\t', nil
	}
	if len(s) != 1 || s[0] >= utf8.RuneSelf {
		return 0, fmt.Errorf(`--%s is %q, must be one ASCII character or \t`, flag, s)
	}
	return s[0], nil
}

// columnTypes reads pairs of column=type. The name may hold = itself.
func columnTypes(pairs []string) (map[string]load.ColumnType, error) {
	types := map[string]load.ColumnType{}
	for _, p := range pairs {
		i := strings.LastIndexByte(p, '=')
		if i <= 0 {
			return nil, fmt.Errorf("--types has %q, must be column=type", p)
		}
		t, err := load.ParseColumnType(p[i+1:])
		if err == nil {
			err = load.AddType(types, p[:i], t)
		}
		if err != nil {
			return nil, fmt.Errorf("--types has %q: %w", p, err)
		}
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
