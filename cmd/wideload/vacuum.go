package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"wideleaf"
)

func newVacuumCommand() *cobra.Command {
	var (
		engine            engineFlags
		o                 wideleaf.VacuumOptions
		dir, table, where string
	)
	cmd := &cobra.Command{
		Use:   "vacuum",
		Short: "Give back the space of a table's deleted rows",
		Example: `  wideload vacuum --db DIR --table a
  wideload vacuum --db DIR --table a --delete-where "c1 < 100000" --full`,
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringVar(&dir, "db", "", "`directory` of the database")
	f.StringVar(&table, "table", "", "name of the table")
	f.StringVar(&where, "delete-where", "", "first delete the rows that meet a `condition` in SQL")
	f.BoolVar(&o.Full, "full", false, "write every part of the table anew that has a deleted row")
	engine.bind(cmd)
	must(cmd.MarkFlagRequired("db"))
	must(cmd.MarkFlagRequired("table"))

	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		// Opened for writing, a folder that holds nothing would become a database.
		err := engine.with(cmd, dir, true, func(db *wideleaf.DB) error {
			_, err := db.Table(table)
			return err
		})
		if err != nil {
			return err
		}
		return engine.with(cmd, dir, false, func(db *wideleaf.DB) error {
			t, err := db.Table(table)
			if err != nil {
				return err
			}
			if f.Changed("delete-where") {
				n, err := t.DeleteWhere(cmd.Context(), where)
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "DELETE %d\n", n)
			}
			r, err := t.Vacuum(cmd.Context(), o)
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), r)
			return db.Settle(cmd.Context())
		})
	}
	return cmd
}
