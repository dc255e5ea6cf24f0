package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"wideleaf"
	"wideleaf/cmd/internal/resultset"
	"wideleaf/cmd/wideload/internal/load"
)

func newDumpCommand() *cobra.Command {
	var (
		engine             engineFlags
		dir, table, format string
		output, types      string
	)
	cmd := &cobra.Command{
		Use:   "dump",
		Short: "Write a table to a file that load takes",
		Long: `dump writes all rows of a table, in the order of ctid, as CSV with the columns' names in the first line, or as a JSON array
of objects. Values are written as PostgreSQL writes them, timestamps in UTC, and float8 with the fewest digits that give
the same number again.

In CSV, NULL is an empty field without quotes and the empty text is "". In JSON, NULL is null; NaN and the infinities,
for which JSON has no numbers, are strings.

CSV does not tell types. --types-file writes them beside it, and load takes them from there: then the table that it
makes has the same names, types, NOT NULL and values.`,
		Example: `  wideload dump --table t --db DIR --output t.csv --types-file t.types.csv
  wideload load t.csv --table t --db OTHER --header --types-file t.types.csv`,
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringVar(&dir, "db", "", "`directory` of the database, which is opened read-only")
	f.StringVar(&table, "table", "", "name of the table")
	f.StringVar(&format, "format", string(resultset.CSV), "`form` of the rows: csv or json")
	f.StringVar(&output, "output", "", "write the rows to `file`, which is replaced when all are written; standard output if it is not given")
	f.StringVar(&types, "types-file", "", "write the columns' types to `file`, for load --types-file")
	engine.bind(cmd)
	must(cmd.MarkFlagRequired("db"))
	must(cmd.MarkFlagRequired("table"))

	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		form := resultset.Format(format)
		if err := oneOf("format", form, resultset.CSV, resultset.JSON); err != nil {
			return err
		}
		return engine.with(cmd, dir, true, func(db *wideleaf.DB) error {
			t, err := db.Table(table)
			if err != nil {
				return err
			}
			write := func(w io.Writer) error { return writeRows(cmd.Context(), w, form, t) }
			if types != "" {
				if err := toWholeFile(types, func(w io.Writer) error { return load.WriteTypes(w, t.Columns()) }); err != nil {
					return err
				}
			}
			if output == "" {
				return write(cmd.OutOrStdout())
			}
			return toWholeFile(output, write)
		})
	}
	return cmd
}

// writeRows writes all rows of a table.
func writeRows(ctx context.Context, w io.Writer, f resultset.Format, t *wideleaf.Table) error {
	q := t.Query().Select("*")
	names, err := q.Columns()
	if err != nil {
		return err
	}
	return resultset.Write(w, f, names, q.Rows(ctx))
}

// toWholeFile calls f to fill a file and puts it in its place only when it is whole. What is no regular file, such as a
// pipe, is written to directly.
func toWholeFile(path string, f func(io.Writer) error) (err error) {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return toFile(path, f)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name()) // the first error tells more
		}
	}()
	if err := errors.Join(f(tmp), tmp.Chmod(0o644), tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
