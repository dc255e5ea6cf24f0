package wideleaf

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"hash/fnv"
	iofs "io/fs"
	"maps"
	"math"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"wideleaf/pgerr"
	"wideleaf/query/sql"
)

// env is what an entry point is called on.
type env struct {
	db    *DB
	t     *Table
	other *Table // of another database
	q     *Query
	tx    *Tx
	b     *Batch
}

// entry says how an exported function or method is tested. An error is what a call returns; calls of entry points that
// return none return nil.
type entry struct {
	// good is a call that works on an open database, and changes something if changes is set.
	good    func(ctx context.Context, e *env) error
	changes bool
	// offline tells that the call needs no database, or has no error to tell that there is none.
	offline bool
	// bad are calls that must be refused and change nothing, with their SQLSTATEs.
	bad map[string]func(ctx context.Context, e *env) error
}

func noError(f func(e *env)) func(context.Context, *env) error {
	return func(_ context.Context, e *env) error { f(e); return nil }
}

// with makes the bad calls of a query: f asks it.
func queries(f func(ctx context.Context, q *Query) error) map[string]func(context.Context, *env) error {
	call := func(change func(q *Query)) func(context.Context, *env) error {
		return func(ctx context.Context, e *env) error {
			q := e.t.Query()
			change(q)
			return f(ctx, q)
		}
	}
	return map[string]func(context.Context, *env) error{
		"42703 unknown column": call(func(q *Query) { q.Where("nothing < 5") }),
		"42601 syntax":         call(func(q *Query) { q.Where("a <") }),
		"42601 empty":          call(func(q *Query) { q.Where("") }),
		"22021 zero byte":      call(func(q *Query) { q.Where("a = 1\x00") }),
		"42804 no boolean":     call(func(q *Query) { q.Where("a") }),
		"42601 nil filter":     call(func(q *Query) { q.Filter(nil) }),
		"42601 nil in and":     call(func(q *Query) { q.Filter(And(nil, Col("a").Eq(1))) }),
		"42601 nil in not":     call(func(q *Query) { q.Filter(Not(nil)) }),
		"42601 nil in or":      call(func(q *Query) { q.Filter(Or(nil)) }),
		"42804 Go type":        call(func(q *Query) { q.Filter(Col("a").Eq(make(chan int))) }),
		"42703 no name":        call(func(q *Query) { q.Filter(Col("").Eq(1)) }),
		"22P02 wrong type":     call(func(q *Query) { q.Where("a = 'x'") }),
		"54001 deep":           call(func(q *Query) { q.Where(strings.Repeat("(", 100_000) + "a = 1" + strings.Repeat(")", 100_000)) }),
	}
}

func rowsOf(ctx context.Context, q *Query) error {
	for _, err := range q.Rows(ctx) {
		if err != nil {
			return err
		}
	}
	return nil
}

var entries = map[string]entry{
	"Open": {
		offline: true,
		good:    func(context.Context, *env) error { return nil }, // every environment has been opened
		bad: map[string]func(context.Context, *env) error{
			"22023 memory":  func(context.Context, *env) error { return second(Open("x", &Options{MemoryLimit: -1})) },
			"22023 workers": func(context.Context, *env) error { return second(Open("x", &Options{Workers: 1 << 40})) },
			"22023 fan-in":  func(context.Context, *env) error { return second(Open("x", &Options{MergeFanIn: 1})) },
			"55006 in use":  func(_ context.Context, e *env) error { return second(Open("db", testOptions(e.db.o.FS))) },
			"58P01 read-only": func(_ context.Context, e *env) error {
				return second(Open("no", &Options{FS: e.db.o.FS, ReadOnly: true}))
			},
			"58P01 no name": func(_ context.Context, e *env) error {
				return second(Open("", &Options{FS: e.db.o.FS, ReadOnly: true}))
			},
		},
	},
	"DB.Check":  {good: func(ctx context.Context, e *env) error { return e.db.Check(ctx) }},
	"DB.Settle": {good: func(ctx context.Context, e *env) error { return e.db.Settle(ctx) }},
	"DB.Close": {
		offline: true, // tested by everything that is closed
		good:    func(context.Context, *env) error { return nil },
	},
	"DB.Metrics": {good: func(_ context.Context, e *env) error { return second(e.db.Metrics()) }},
	"DB.Damage":  {offline: true, good: noError(func(e *env) { e.db.Damage() })},
	"DB.Tables":  {offline: true, good: noError(func(e *env) { e.db.Tables() })},
	"DB.Table": {
		good: func(_ context.Context, e *env) error { return second(e.db.Table("t")) },
		bad: map[string]func(context.Context, *env) error{
			"42P01 unknown": func(_ context.Context, e *env) error { return second(e.db.Table("nothing")) },
			"42P01 index":   func(_ context.Context, e *env) error { return second(e.db.Table("idx_t_1")) },
			"42P01 empty":   func(_ context.Context, e *env) error { return second(e.db.Table("")) },
		},
	},
	"DB.CreateTable": {
		changes: true,
		good:    func(ctx context.Context, e *env) error { return second(e.db.CreateTable(ctx, "new", intColumns(1)...)) },
		bad: badTables(func(ctx context.Context, e *env, name string, cols ...Column) error {
			return second(e.db.CreateTable(ctx, name, cols...))
		}),
	},
	"DB.CreateTableAs": {
		changes: true,
		good: func(ctx context.Context, e *env) error {
			return second(e.db.CreateTableAs(ctx, "filled", intColumns(1), func(ctx context.Context, t *Table) error {
				return t.Insert(ctx, []any{1})
			}))
		},
		bad: badTables(func(ctx context.Context, e *env, name string, cols ...Column) error {
			if len(cols) == 1 && cols[0].Name == "c1" {
				return second(e.db.CreateTableAs(ctx, name, cols, nil))
			}
			return second(e.db.CreateTableAs(ctx, name, cols, func(context.Context, *Table) error { return nil }))
		}),
	},
	"DB.CreateIndex": {
		changes: true,
		good: func(ctx context.Context, e *env) error {
			return e.db.CreateIndex(ctx, "t", IndexDef{Name: "new index", Columns: []IndexColumn{{Name: "a"}}})
		},
		bad: badIndexes(func(ctx context.Context, e *env, table string, defs ...IndexDef) error {
			return e.db.CreateIndex(ctx, table, defs[0])
		}),
	},
	"DB.CreateIndexes": {
		changes: true,
		good: func(ctx context.Context, e *env) error {
			return e.db.CreateIndexes(ctx, "t", IndexDef{Name: "new index", Columns: []IndexColumn{{Name: "a"}}})
		},
		bad: badIndexes(func(ctx context.Context, e *env, table string, defs ...IndexDef) error {
			return e.db.CreateIndexes(ctx, table, append(defs, IndexDef{Name: "fine", Columns: []IndexColumn{{Name: "s"}}})...)
		}),
	},
	"Table.CreateIndexesWith": {
		changes: true,
		good: func(ctx context.Context, e *env) error {
			workers := 1
			o := BuildOptions{ParallelWorkers: &workers, MaintenanceWorkMem: 1 << 20, MaxParallelMaintenanceWorkers: 4}
			return e.t.CreateIndexesWith(ctx, o, IndexDef{Name: "new index", Columns: []IndexColumn{{Name: "a"}}})
		},
		bad: func() map[string]func(context.Context, *env) error {
			with := func(o BuildOptions) func(context.Context, *env) error {
				return func(ctx context.Context, e *env) error {
					return e.t.CreateIndexesWith(ctx, o, IndexDef{Name: "fine", Columns: []IndexColumn{{Name: "a"}}})
				}
			}
			minus, many := -1, 1025
			return map[string]func(context.Context, *env) error{
				"22023 too little memory": with(BuildOptions{MaintenanceWorkMem: 1<<20 - 1}),
				"22023 negative memory":   with(BuildOptions{MaintenanceWorkMem: -1}),
				"22023 absurd memory":     with(BuildOptions{MaintenanceWorkMem: 1<<40 + 1}),
				"22023 negative workers":  with(BuildOptions{ParallelWorkers: &minus}),
				"22023 absurd workers":    with(BuildOptions{ParallelWorkers: &many}),
				"22023 negative maximum":  with(BuildOptions{MaxParallelMaintenanceWorkers: -2}),
				"22023 an absurd maximum": with(BuildOptions{MaxParallelMaintenanceWorkers: 1025}),
				"42703 no such column": func(ctx context.Context, e *env) error {
					return e.t.CreateIndexesWith(ctx, BuildOptions{}, IndexDef{Name: "fine", Columns: []IndexColumn{{Name: "no"}}})
				},
			}
		}(),
	},
	"DB.IndexBuilds": {offline: true, good: noError(func(e *env) { e.db.IndexBuilds() })},
	"Table.CreateIndexes": {
		changes: true,
		good: func(ctx context.Context, e *env) error {
			return e.t.CreateIndexes(ctx, IndexDef{Name: "new index", Columns: []IndexColumn{{Name: "a"}}})
		},
		bad: badIndexes(func(ctx context.Context, e *env, table string, defs ...IndexDef) error {
			if table != "t" {
				return e.db.CreateIndexes(ctx, table, defs...)
			}
			return e.t.CreateIndexes(ctx, append([]IndexDef{{Name: "fine", Columns: []IndexColumn{{Name: "a"}}}}, defs...)...)
		}),
	},
	"DB.DropTable": {
		changes: true,
		good:    func(ctx context.Context, e *env) error { return e.db.DropTable(ctx, "u") },
		bad: map[string]func(context.Context, *env) error{
			"42P01 unknown": func(ctx context.Context, e *env) error { return e.db.DropTable(ctx, "nothing") },
			"42P01 case":    func(ctx context.Context, e *env) error { return e.db.DropTable(ctx, "T") },
			"42809 index":   func(ctx context.Context, e *env) error { return e.db.DropTable(ctx, "idx_t_1") },
		},
	},
	"DB.DropIndex": {
		changes: true,
		good:    func(ctx context.Context, e *env) error { return e.db.DropIndex(ctx, "idx_t_1") },
		bad: map[string]func(context.Context, *env) error{
			"42704 unknown": func(ctx context.Context, e *env) error { return e.db.DropIndex(ctx, "nothing") },
			"42809 table":   func(ctx context.Context, e *env) error { return e.db.DropIndex(ctx, "t") },
		},
	},
	"DB.RenameIndex": {
		changes: true,
		good:    func(ctx context.Context, e *env) error { return e.db.RenameIndex(ctx, "idx_t_1", "new name") },
		bad: map[string]func(context.Context, *env) error{
			"42P01 unknown": func(ctx context.Context, e *env) error { return e.db.RenameIndex(ctx, "nothing", "x") },
			"42809 table":   func(ctx context.Context, e *env) error { return e.db.RenameIndex(ctx, "t", "x") },
			"42P07 taken":   func(ctx context.Context, e *env) error { return e.db.RenameIndex(ctx, "idx_t_1", "t") },
			"42P07 itself":  func(ctx context.Context, e *env) error { return e.db.RenameIndex(ctx, "idx_t_1", "idx_t_1") },
			"42602 no name": func(ctx context.Context, e *env) error { return e.db.RenameIndex(ctx, "idx_t_1", "") },
			"42622 too long": func(ctx context.Context, e *env) error {
				return e.db.RenameIndex(ctx, "idx_t_1", strings.Repeat("x", 64))
			},
		},
	},
	"DB.AlterIndex": {
		changes: true,
		good: func(ctx context.Context, e *env) error {
			off := false
			return e.db.AlterIndex(ctx, "idx_t_1", IndexOptions{FastUpdate: &off})
		},
		bad: map[string]func(context.Context, *env) error{
			"42704 unknown": func(ctx context.Context, e *env) error { return e.db.AlterIndex(ctx, "nothing", IndexOptions{}) },
			"42809 table":   func(ctx context.Context, e *env) error { return e.db.AlterIndex(ctx, "t", IndexOptions{}) },
			"22023 limit": func(ctx context.Context, e *env) error {
				n := int64(-1)
				return e.db.AlterIndex(ctx, "idx_t_1", IndexOptions{PendingListLimit: &n})
			},
		},
	},
	"DB.CleanPendingList": {
		changes: true,
		good:    func(ctx context.Context, e *env) error { return second(e.db.CleanPendingList(ctx, "idx_t_1")) },
		bad: map[string]func(context.Context, *env) error{
			"42704 unknown": func(ctx context.Context, e *env) error { return second(e.db.CleanPendingList(ctx, "nothing")) },
			"42809 table":   func(ctx context.Context, e *env) error { return second(e.db.CleanPendingList(ctx, "t")) },
		},
	},
	"DB.Update": {
		changes: true,
		good: func(ctx context.Context, e *env) error {
			return e.db.Update(ctx, func(tx *Tx) error { return tx.Insert(e.t, []any{7, "x", nil}) })
		},
		bad: map[string]func(context.Context, *env) error{
			"22023 nil": func(ctx context.Context, e *env) error { return e.db.Update(ctx, nil) },
			"54000 key": func(ctx context.Context, e *env) error {
				return e.db.Update(ctx, func(tx *Tx) error {
					return errors.Join(tx.Insert(e.t, []any{7, "x", nil}), tx.Insert(e.t, []any{8, strings.Repeat("x", 2703), nil}))
				})
			},
			"23502 one bad row": func(ctx context.Context, e *env) error {
				return e.db.Update(ctx, func(tx *Tx) error {
					return errors.Join(tx.Insert(e.t, []any{7, "x", nil}), tx.Insert(e.t, []any{nil, "x", nil}))
				})
			},
		},
	},
	"Tx.Insert": {
		changes: true,
		good:    func(_ context.Context, e *env) error { return e.tx.Insert(e.t, []any{1, "x", 2}) },
		bad: map[string]func(context.Context, *env) error{
			"22023 nil table":   func(_ context.Context, e *env) error { return e.tx.Insert(nil, []any{1}) },
			"22023 zero table":  func(_ context.Context, e *env) error { return e.tx.Insert(new(Table), []any{1}) },
			"22023 other table": func(_ context.Context, e *env) error { return e.tx.Insert(e.other, []any{1}) },
			"42601 few":         func(_ context.Context, e *env) error { return e.tx.Insert(e.t, []any{1}) },
			"42601 nil":         func(_ context.Context, e *env) error { return e.tx.Insert(e.t, nil) },
			"42804 type":        func(_ context.Context, e *env) error { return e.tx.Insert(e.t, []any{"x", "y", 2}) },
		},
	},
	"Tx.InsertBatch": {
		changes: true,
		good:    func(_ context.Context, e *env) error { return e.tx.InsertBatch(e.t, e.b) },
		bad: badBatches(func(_ context.Context, e *env, t *Table, b *Batch) error {
			return e.tx.InsertBatch(t, b)
		}),
	},
	"Table.Name":    {offline: true, good: noError(func(e *env) { _ = e.t.Name() })},
	"Table.Columns": {offline: true, good: noError(func(e *env) { _ = e.t.Columns() })},
	"Table.Indexes": {offline: true, good: noError(func(e *env) { _ = e.t.Indexes() })},
	"Table.Size":    {good: func(_ context.Context, e *env) error { return second(e.t.Size()) }},
	"Table.Query":   {offline: true, good: noError(func(e *env) { _ = e.t.Query() })},
	"Table.NewBatch": {
		offline: true,
		good:    noError(func(e *env) { e.t.NewBatch("s", "a") }),
		bad: map[string]func(context.Context, *env) error{
			"42703 unknown": func(_ context.Context, e *env) error { return e.t.NewBatch("nothing").Append(1) },
			"42703 ctid":    func(_ context.Context, e *env) error { return e.t.NewBatch("ctid").Append(1) },
			"42701 twice":   func(ctx context.Context, e *env) error { return e.t.InsertBatch(ctx, e.t.NewBatch("a", "a")) },
		},
	},
	"Table.Insert": {
		changes: true,
		good:    func(ctx context.Context, e *env) error { return e.t.Insert(ctx, []any{8, "x", 2}) },
		bad: map[string]func(context.Context, *env) error{
			"42601 nil":           func(ctx context.Context, e *env) error { return e.t.Insert(ctx, nil) },
			"42601 few":           func(ctx context.Context, e *env) error { return e.t.Insert(ctx, []any{1, "x"}) },
			"42601 many":          func(ctx context.Context, e *env) error { return e.t.Insert(ctx, []any{1, "x", 2, 3}) },
			"42804 text":          func(ctx context.Context, e *env) error { return e.t.Insert(ctx, []any{1, true, 2}) },
			"42804 bool":          func(ctx context.Context, e *env) error { return e.t.Insert(ctx, []any{true, "x", 2}) },
			"42804 Go type":       func(ctx context.Context, e *env) error { return e.t.Insert(ctx, []any{1, "x", make(chan int)}) },
			"42804 other Value":   func(ctx context.Context, e *env) error { return e.t.Insert(ctx, []any{someText(), "x", 2}) },
			"22003 int4":          func(ctx context.Context, e *env) error { return e.t.Insert(ctx, []any{int64(1) << 31, "x", 2}) },
			"22003 int4 below":    func(ctx context.Context, e *env) error { return e.t.Insert(ctx, []any{-int64(1)<<31 - 1, "x", 2}) },
			"22003 uint64":        func(ctx context.Context, e *env) error { return e.t.Insert(ctx, []any{uint64(math.MaxUint64), "x", 2}) },
			"22003 inexact float": func(ctx context.Context, e *env) error { return e.t.Insert(ctx, []any{1, "x", int64(1)<<53 + 1}) },
			"23502 null":          func(ctx context.Context, e *env) error { return e.t.Insert(ctx, []any{nil, "x", 2}) },
			"23502 no default":    func(ctx context.Context, e *env) error { return e.t.Insert(ctx, []any{Default, "x", 2}) },
			"22021 UTF-8":         func(ctx context.Context, e *env) error { return e.t.Insert(ctx, []any{1, "a\xffb", 2}) },
			"22021 zero byte":     func(ctx context.Context, e *env) error { return e.t.Insert(ctx, []any{1, "a\x00b", 2}) },
			"54000 key": func(ctx context.Context, e *env) error {
				return e.t.Insert(ctx, []any{1, strings.Repeat("x", 2703), 2})
			},
			"54000 value": func(ctx context.Context, e *env) error {
				return e.t.Insert(ctx, []any{1, strings.Repeat("x", MaxValueBytes+1), 2})
			},
		},
	},
	"Table.InsertBatch": {
		changes: true,
		good:    func(ctx context.Context, e *env) error { return e.t.InsertBatch(ctx, e.b) },
		bad: badBatches(func(ctx context.Context, e *env, t *Table, b *Batch) error {
			return t.InsertBatch(ctx, b)
		}),
	},
	"Table.InsertOnConflict": {
		changes: true,
		good: func(ctx context.Context, e *env) error {
			_, _, err := e.t.InsertOnConflict(ctx, e.b, OnConflict{})
			return err
		},
		bad: badBatches(func(ctx context.Context, e *env, t *Table, b *Batch) error {
			_, _, err := t.InsertOnConflict(ctx, b, OnConflict{})
			return err
		}),
	},
	"Table.Flush": {changes: true, good: func(ctx context.Context, e *env) error { return e.t.Flush(ctx) }},
	"Table.Truncate": {
		changes: true,
		good:    func(ctx context.Context, e *env) error { return e.t.Truncate(ctx) },
	},
	"Table.Rename": {
		changes: true,
		good:    func(ctx context.Context, e *env) error { return e.t.Rename(ctx, "renamed") },
		bad: map[string]func(context.Context, *env) error{
			"42P07 itself":      func(ctx context.Context, e *env) error { return e.t.Rename(ctx, "t") },
			"42P07 other table": func(ctx context.Context, e *env) error { return e.t.Rename(ctx, "u") },
			"42P07 index":       func(ctx context.Context, e *env) error { return e.t.Rename(ctx, "idx_t_1") },
			"42602 no name":     func(ctx context.Context, e *env) error { return e.t.Rename(ctx, "") },
			"42622 too long":    func(ctx context.Context, e *env) error { return e.t.Rename(ctx, strings.Repeat("x", 64)) },
			"22021 UTF-8":       func(ctx context.Context, e *env) error { return e.t.Rename(ctx, "a\xff") },
			"22021 zero byte":   func(ctx context.Context, e *env) error { return e.t.Rename(ctx, "a\x00") },
		},
	},
	"Table.RenameColumn": {
		changes: true,
		good:    func(ctx context.Context, e *env) error { return e.t.RenameColumn(ctx, "a", "renamed") },
		bad: map[string]func(context.Context, *env) error{
			"42703 unknown":  func(ctx context.Context, e *env) error { return e.t.RenameColumn(ctx, "nothing", "x") },
			"42701 itself":   func(ctx context.Context, e *env) error { return e.t.RenameColumn(ctx, "a", "a") },
			"42701 other":    func(ctx context.Context, e *env) error { return e.t.RenameColumn(ctx, "a", "s") },
			"42701 ctid":     func(ctx context.Context, e *env) error { return e.t.RenameColumn(ctx, "a", "ctid") },
			"0A000 ctid":     func(ctx context.Context, e *env) error { return e.t.RenameColumn(ctx, "ctid", "x") },
			"42602 no name":  func(ctx context.Context, e *env) error { return e.t.RenameColumn(ctx, "a", "") },
			"42622 too long": func(ctx context.Context, e *env) error { return e.t.RenameColumn(ctx, "a", strings.Repeat("x", 64)) },
		},
	},
	"Table.AddColumns": {
		changes: true,
		good: func(ctx context.Context, e *env) error {
			return e.t.AddColumns(ctx, Column{Name: "n", Type: Text, NotNull: true, Default: "x"})
		},
		bad: map[string]func(context.Context, *env) error{
			"42701 there": func(ctx context.Context, e *env) error { return e.t.AddColumns(ctx, Column{Name: "a", Type: Int4}) },
			"42701 twice": func(ctx context.Context, e *env) error {
				return e.t.AddColumns(ctx, Column{Name: "x", Type: Int4}, Column{Name: "x", Type: Text})
			},
			"42701 ctid":    func(ctx context.Context, e *env) error { return e.t.AddColumns(ctx, Column{Name: "ctid", Type: Int4}) },
			"42602 no name": func(ctx context.Context, e *env) error { return e.t.AddColumns(ctx, Column{Type: Int4}) },
			"42704 no type": func(ctx context.Context, e *env) error { return e.t.AddColumns(ctx, Column{Name: "x"}) },
			"42704 type":    func(ctx context.Context, e *env) error { return e.t.AddColumns(ctx, Column{Name: "x", Type: 99}) },
			"42804 default": func(ctx context.Context, e *env) error {
				return e.t.AddColumns(ctx, Column{Name: "x", Type: Int4, Default: true})
			},
			"22003 default": func(ctx context.Context, e *env) error {
				return e.t.AddColumns(ctx, Column{Name: "x", Type: Int4, Default: 1 << 40})
			},
			"22021 default": func(ctx context.Context, e *env) error {
				return e.t.AddColumns(ctx, Column{Name: "x", Type: Text, Default: "\xff"})
			},
			"23502 NOT NULL": func(ctx context.Context, e *env) error {
				return e.t.AddColumns(ctx, Column{Name: "x", Type: Int4, NotNull: true})
			},
			"54011 many columns": func(ctx context.Context, e *env) error { return e.t.AddColumns(ctx, intColumns(1598)...) },
		},
	},
	"Table.DropColumns": {
		changes: true,
		good:    func(ctx context.Context, e *env) error { return e.t.DropColumns(ctx, "a") },
		bad: map[string]func(context.Context, *env) error{
			"42703 unknown": func(ctx context.Context, e *env) error { return e.t.DropColumns(ctx, "a", "nothing") },
			"42703 twice":   func(ctx context.Context, e *env) error { return e.t.DropColumns(ctx, "a", "a") },
			"0A000 ctid":    func(ctx context.Context, e *env) error { return e.t.DropColumns(ctx, "ctid") },
			"42P16 all":     func(ctx context.Context, e *env) error { return e.t.DropColumns(ctx, "a", "s", "f") },
		},
	},
	"Table.SetNotNull": {
		changes: true,
		good:    func(ctx context.Context, e *env) error { return e.t.SetNotNull(ctx, "s") },
		bad: map[string]func(context.Context, *env) error{
			"42703 unknown": func(ctx context.Context, e *env) error { return e.t.SetNotNull(ctx, "nothing") },
			"0A000 ctid":    func(ctx context.Context, e *env) error { return e.t.SetNotNull(ctx, "ctid") },
			"23502 nulls":   func(ctx context.Context, e *env) error { return e.t.SetNotNull(ctx, "f") },
		},
	},
	"Table.DropNotNull": {
		changes: true,
		good:    func(ctx context.Context, e *env) error { return e.t.DropNotNull(ctx, "a") },
		bad: map[string]func(context.Context, *env) error{
			"42703 unknown": func(ctx context.Context, e *env) error { return e.t.DropNotNull(ctx, "nothing") },
			"0A000 ctid":    func(ctx context.Context, e *env) error { return e.t.DropNotNull(ctx, "ctid") },
		},
	},
	"Table.SetDefault": {
		changes: true,
		good:    func(ctx context.Context, e *env) error { return e.t.SetDefault(ctx, "s", "default") },
		bad: map[string]func(context.Context, *env) error{
			"42703 unknown": func(ctx context.Context, e *env) error { return e.t.SetDefault(ctx, "nothing", 1) },
			"0A000 ctid":    func(ctx context.Context, e *env) error { return e.t.SetDefault(ctx, "ctid", 1) },
			"42804 type":    func(ctx context.Context, e *env) error { return e.t.SetDefault(ctx, "a", true) },
			"22003 range":   func(ctx context.Context, e *env) error { return e.t.SetDefault(ctx, "a", 1<<31) },
			"22021 UTF-8":   func(ctx context.Context, e *env) error { return e.t.SetDefault(ctx, "s", "\xff") },
			"54000 long": func(ctx context.Context, e *env) error {
				return e.t.SetDefault(ctx, "s", strings.Repeat("x", MaxValueBytes+1))
			},
		},
	},
	"Batch.Append": {
		offline: true,
		good:    noError(func(e *env) { _ = e.b.Append(1, "x", 2) }),
		bad: map[string]func(context.Context, *env) error{
			"42601 nothing": func(_ context.Context, e *env) error { return e.b.Append() },
			"42601 many":    func(_ context.Context, e *env) error { return e.b.Append(1, "x", 2, 3) },
			"42804 type":    func(_ context.Context, e *env) error { return e.b.Append("x", "x", 2) },
			"22023 zero":    func(context.Context, *env) error { return new(Batch).Append(1) },
		},
	},
	"Batch.Column": {
		offline: true,
		good:    noError(func(e *env) { e.b.Column(0) }),
		bad: map[string]func(context.Context, *env) error{
			"42703 below": func(ctx context.Context, e *env) error { e.b.Column(-1).AppendNull(); return e.t.InsertBatch(ctx, e.b) },
			"42703 above": func(ctx context.Context, e *env) error { e.b.Column(3).AppendNull(); return e.b.Append(1, "x", 2) },
		},
	},
	"Batch.Len":   {offline: true, good: noError(func(e *env) { e.b.Len() })},
	"Batch.Reset": {offline: true, good: noError(func(e *env) { e.b.Reset() })},
	"Query.Where": {good: func(ctx context.Context, e *env) error { return second(e.q.Where("a > 0").Count(ctx)) }},
	"Query.Filter": {good: func(ctx context.Context, e *env) error {
		return second(e.q.Filter(Or(Col("a").Gt(0), Not(Col("s").IsNull()), And())).Count(ctx))
	}},
	"Query.Select": {good: func(ctx context.Context, e *env) error { return rowsOf(ctx, e.q.Select("ctid", "s")) }},
	"Query.Similarity": {
		good: func(ctx context.Context, e *env) error { return second(e.q.Similarity(Jaccard, 0.3).Count(ctx)) },
		bad: map[string]func(context.Context, *env) error{
			"22023 above 1": func(ctx context.Context, e *env) error { return second(e.q.Similarity(Cosine, 1.5).Count(ctx)) },
			"22023 no number": func(ctx context.Context, e *env) error {
				return second(e.q.Similarity(Cosine, math.NaN()).Count(ctx))
			},
			"22023 no function": func(ctx context.Context, e *env) error { return second(e.q.Similarity(9, 0.5).Count(ctx)) },
		},
	},
	"Query.Limit": {
		good: func(ctx context.Context, e *env) error { return rowsOf(ctx, e.q.Limit(math.MaxInt64)) },
		bad: map[string]func(context.Context, *env) error{
			"2201W negative": func(ctx context.Context, e *env) error { return rowsOf(ctx, e.q.Limit(-1)) },
			"2201W lowest":   func(ctx context.Context, e *env) error { return rowsOf(ctx, e.q.Limit(math.MinInt64)) },
		},
	},
	"Query.Offset": {
		good: func(ctx context.Context, e *env) error {
			return rowsOf(ctx, e.q.Limit(math.MaxInt64).Offset(math.MaxInt64).OrderBy("a"))
		},
		bad: map[string]func(context.Context, *env) error{
			"2201X negative": func(ctx context.Context, e *env) error { return rowsOf(ctx, e.q.Offset(-1)) },
		},
	},
	"Query.Count": {
		good: func(ctx context.Context, e *env) error { return second(e.q.Where("a > 5 or f < 7").Count(ctx)) },
		bad:  queries(func(ctx context.Context, q *Query) error { return second(q.Count(ctx)) }),
	},
	"Query.Aggregate": {
		good: func(ctx context.Context, e *env) error { return second(e.q.Aggregate(ctx, "sum(a)", "max(s)")) },
		bad: merge(queries(func(ctx context.Context, q *Query) error { return second(q.Aggregate(ctx, "count(*)")) }),
			map[string]func(context.Context, *env) error{
				"42601 none":         func(ctx context.Context, e *env) error { return second(e.q.Aggregate(ctx)) },
				"42601 empty":        func(ctx context.Context, e *env) error { return second(e.q.Aggregate(ctx, "")) },
				"42883 unknown":      func(ctx context.Context, e *env) error { return second(e.q.Aggregate(ctx, "nothing(a)")) },
				"42883 type":         func(ctx context.Context, e *env) error { return second(e.q.Aggregate(ctx, "sum(s)")) },
				"42703 other column": func(ctx context.Context, e *env) error { return second(e.q.Aggregate(ctx, "sum(nothing)")) },
			}),
	},
	"Query.Percentiles": {
		good: func(ctx context.Context, e *env) error { return second(e.q.Percentiles(ctx, "a", 0, 0.5, 1)) },
		bad: merge(queries(func(ctx context.Context, q *Query) error { return second(q.Percentiles(ctx, "a", 0.5)) }),
			map[string]func(context.Context, *env) error{
				"42703 other column": func(ctx context.Context, e *env) error { return second(e.q.Percentiles(ctx, "nothing", 0.5)) },
				"22003 negative":     func(ctx context.Context, e *env) error { return second(e.q.Percentiles(ctx, "a", -0.1)) },
				"22003 over 1":       func(ctx context.Context, e *env) error { return second(e.q.Percentiles(ctx, "a", 1.1)) },
				"22003 NaN":          func(ctx context.Context, e *env) error { return second(e.q.Percentiles(ctx, "a", math.NaN())) },
			}),
	},
	"Query.Histogram": {
		good: func(ctx context.Context, e *env) error { return second(e.q.Histogram(ctx, "a", 10)) },
		bad: merge(queries(func(ctx context.Context, q *Query) error { return second(q.Histogram(ctx, "a", 10)) }),
			map[string]func(context.Context, *env) error{
				"42703 other column": func(ctx context.Context, e *env) error { return second(e.q.Histogram(ctx, "nothing", 10)) },
				"22023 none":         func(ctx context.Context, e *env) error { return second(e.q.Histogram(ctx, "a", 0)) },
				"22023 too many":     func(ctx context.Context, e *env) error { return second(e.q.Histogram(ctx, "a", 10001)) },
			}),
	},
	"Query.Rank": {
		good: func(ctx context.Context, e *env) error { return second(e.q.Rank(ctx, "a", 5)) },
		bad: merge(queries(func(ctx context.Context, q *Query) error { return second(q.Rank(ctx, "a", 5)) }),
			map[string]func(context.Context, *env) error{
				"42703 other column": func(ctx context.Context, e *env) error { return second(e.q.Rank(ctx, "nothing", 5)) },
				"22023 NULL":         func(ctx context.Context, e *env) error { return second(e.q.Rank(ctx, "a", nil)) },
			}),
	},
	"Query.Rows": {
		good: func(ctx context.Context, e *env) error { return rowsOf(ctx, e.q) },
		bad: merge(queries(rowsOf), map[string]func(context.Context, *env) error{
			"42703 selected": func(ctx context.Context, e *env) error { return rowsOf(ctx, e.q.Select("nothing")) },
			"42601 selected": func(ctx context.Context, e *env) error { return rowsOf(ctx, e.q.Select("")) },
			"42703 ordered":  func(ctx context.Context, e *env) error { return rowsOf(ctx, e.q.OrderBy("nothing")) },
			"42601 ordered":  func(ctx context.Context, e *env) error { return rowsOf(ctx, e.q.OrderBy("a b c")) },
		}),
	},
	"Query.Columns": {
		good: func(_ context.Context, e *env) error { return second(e.q.Columns()) },
		bad:  queries(func(_ context.Context, q *Query) error { return second(q.Columns()) }),
	},
	"Col": {offline: true, good: noError(func(*env) {
		c := Col("x")
		_ = []sql.Expr{c.Eq(nil), c.Ne(1), c.In(), c.NotIn(nil), c.Between(1, struct{}{}), c.IsNotNull()}
	})},
	"And": {offline: true, good: noError(func(*env) { And(); And(nil) })},
	"Or":  {offline: true, good: noError(func(*env) { Or(); Or(nil, nil) })},
	"Not": {offline: true, good: noError(func(*env) { Not(nil) })},
}

func someText() Value {
	v := Vector{Type: Text, N: 1, Str: []string{"text"}}
	return v.Value(0)
}

func merge(ms ...map[string]func(context.Context, *env) error) map[string]func(context.Context, *env) error {
	out := map[string]func(context.Context, *env) error{}
	for _, m := range ms {
		maps.Copy(out, m)
	}
	return out
}

// badTables are definitions of tables that must be refused.
func badTables(create func(context.Context, *env, string, ...Column) error) map[string]func(context.Context, *env) error {
	try := func(name string, cols ...Column) func(context.Context, *env) error {
		return func(ctx context.Context, e *env) error { return create(ctx, e, name, cols...) }
	}
	one := Column{Name: "a", Type: Int4}
	return map[string]func(context.Context, *env) error{
		"42P07 taken":            try("t", one),
		"42P07 taken by index":   try("idx_t_1", one),
		"42602 no name":          try("", one),
		"42622 long name":        try(strings.Repeat("x", 64), one),
		"22021 name UTF-8":       try("\xff", one),
		"22021 name zero byte":   try("a\x00", one),
		"42P16 no columns":       try("n"),
		"54011 1,601 columns":    try("n", intColumns(1601)...),
		"42701 equal columns":    try("n", one, one),
		"42701 ctid":             try("n", Column{Name: "ctid", Type: Int4}),
		"42602 no column name":   try("n", Column{Type: Int4}),
		"42622 long column name": try("n", Column{Name: strings.Repeat("x", 64), Type: Int4}),
		"42704 no type":          try("n", Column{Name: "a"}),
		"42704 result type":      try("n", Column{Name: "a", Type: 64}),
		"42804 default":          try("n", Column{Name: "a", Type: Bool, Default: 1}),
		"22003 default":          try("n", Column{Name: "a", Type: Int4, Default: 1 << 31}),
	}
}

// badIndexes are definitions of indexes that must be refused.
func badIndexes(create func(context.Context, *env, string, ...IndexDef) error) map[string]func(context.Context, *env) error {
	try := func(table, name, method string, cols ...string) func(context.Context, *env) error {
		def := IndexDef{Name: name, Method: method}
		for _, c := range cols {
			def.Columns = append(def.Columns, IndexColumn{Name: c})
		}
		return func(ctx context.Context, e *env) error { return create(ctx, e, table, def) }
	}
	attach := func(method string, ordered bool, as ...Attach) func(context.Context, *env) error {
		def := IndexDef{Name: "n", Method: method, Attach: as, OrderByAttach: ordered, Columns: []IndexColumn{{Name: "a"}, {Name: "s"}}}
		return func(ctx context.Context, e *env) error { return create(ctx, e, "t", def) }
	}
	return map[string]func(context.Context, *env) error{
		"22023 attach without to":     attach("rum", false, Attach{Column: "a"}),
		"22023 to without attach":     attach("rum", false, Attach{To: "s"}),
		"22023 neither":               attach("rum", true, Attach{}),
		"22023 ordered by nothing":    attach("rum", true),
		"22023 attached to itself":    attach("rum", false, Attach{"a", "a"}),
		"42804 text attached":         attach("rum", true, Attach{"s", "a"}),
		"42703 unknown attached":      attach("rum", false, Attach{"nothing", "s"}),
		"42703 attached to unknown":   attach("rum", false, Attach{"a", "nothing"}),
		"22023 attached, not indexed": attach("rum", false, Attach{"f", "s"}),
		"22023 to, not indexed":       attach("rum", false, Attach{"a", "f"}),
		"42710 attached twice":        attach("rum", false, Attach{"a", "s"}, Attach{"a", "s"}),
		"0A000 attached in a gin":     attach("gin", false, Attach{"a", "s"}),
		"0A000 attached in a btree":   attach("", false, Attach{"a", "s"}),
		"42P01 unknown table":         try("nothing", "n", "", "a"),
		"42P07 taken":                 try("t", "idx_t_1", "", "a"),
		"42P07 taken by table":        try("t", "u", "", "a"),
		"42602 no name":               try("t", "", "", "a"),
		"42622 long name":             try("t", strings.Repeat("x", 64), "", "a"),
		"42704 method":                try("t", "n", "nothing", "a"),
		"42601 no column":             try("t", "n", ""),
		"42703 unknown column":        try("t", "n", "", "a", "nothing"),
		"0A000 ctid":                  try("t", "n", "", "ctid"),
		"54011 33 columns":            try("t", "n", "", slices.Repeat([]string{"a"}, 33)...),
		"54000 long key":              try("u", "n", "", "s"),
	}
}

// badBatches are batches that must be refused.
func badBatches(insert func(context.Context, *env, *Table, *Batch) error) map[string]func(context.Context, *env) error {
	try := func(change func(b *Batch)) func(context.Context, *env) error {
		return func(ctx context.Context, e *env) error {
			b := e.t.NewBatch()
			for i := range 3 {
				if err := b.Append(i, "x", 1); err != nil {
					return nil
				}
			}
			change(b)
			return insert(ctx, e, e.t, b)
		}
	}
	return map[string]func(context.Context, *env) error{
		"22023 nil batch":   func(ctx context.Context, e *env) error { return insert(ctx, e, e.t, nil) },
		"22023 zero batch":  func(ctx context.Context, e *env) error { return insert(ctx, e, e.t, new(Batch)) },
		"22023 nil table":   func(ctx context.Context, e *env) error { return insert(ctx, e, nil, e.b) },
		"22023 zero table":  func(ctx context.Context, e *env) error { return insert(ctx, e, new(Table), e.b) },
		"22023 other table": func(ctx context.Context, e *env) error { return insert(ctx, e, e.t, e.other.NewBatch()) },
		"42601 uneven":      try(func(b *Batch) { b.Column(1).AppendNull() }),
		"42601 N too large": try(func(b *Batch) { b.Column(1).N++ }),
		"42601 N too small": try(func(b *Batch) { b.Column(0).N-- }),
		"42601 N negative":  try(func(b *Batch) { b.Column(0).N = -1 }),
		"42601 long nulls":  try(func(b *Batch) { b.Column(2).Nulls = make([]uint64, 9) }),
		"42804 other type":  try(func(b *Batch) { b.Column(2).Type = Text }),
		"42601 no values":   try(func(b *Batch) { *b.Column(1) = Vector{Type: Text, N: 3} }),
		"23502 null":        try(func(b *Batch) { b.Column(0).SetNull(2) }),
		"22021 UTF-8":       try(func(b *Batch) { b.Column(1).Str[1] = "\xc3" }),
	}
}

// exported lists the package's exported functions and methods.
func exported(t *testing.T) []string {
	t.Helper()
	pkgs, err := parser.ParseDir(token.NewFileSet(), ".", func(f iofs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range pkgs["wideleaf"].Files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !fn.Name.IsExported() {
				continue
			}
			name := fn.Name.Name
			if fn.Recv != nil {
				typ := fn.Recv.List[0].Type
				if p, ok := typ.(*ast.StarExpr); ok {
					typ = p.X
				}
				if recv := typ.(*ast.Ident).Name; ast.IsExported(recv) {
					name = recv + "." + name
				} else {
					continue
				}
			}
			out = append(out, name)
		}
	}
	return out
}

// newEnv makes a database with rows in a segment and in the log, and indexes.
func newEnv(t *testing.T) *env {
	t.Helper()
	return newEnvOn(t, vfs.NewMem())
}

func newEnvOn(t *testing.T, fs vfs.FS) *env {
	t.Helper()
	ctx := t.Context()
	db := mustOpen(t, "db", testOptions(fs))
	t.Cleanup(func() { _ = db.Close() })
	tb, err := db.CreateTable(ctx, "t", Column{Name: "a", Type: Int4, NotNull: true}, Column{Name: "s", Type: Text}, Column{Name: "f", Type: Float8})
	if err != nil {
		t.Fatal(err)
	}
	u, err := db.CreateTable(ctx, "u", Column{Name: "s", Type: Text})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(
		tb.CreateIndexes(ctx, indexEvery("t", tb.Columns())...),
		tb.Insert(ctx, []any{1, "one", 1.5}), tb.Insert(ctx, []any{2, "two", nil}), tb.Flush(ctx), tb.Insert(ctx, []any{3, "three", 3}),
		u.Insert(ctx, []any{strings.Repeat("x", 4000)}),
	); err != nil {
		t.Fatal(err)
	}
	other := mustOpen(t, "other", testOptions(vfs.NewMem()))
	t.Cleanup(func() { _ = other.Close() })
	ot, err := other.CreateTable(ctx, "t", intColumns(1)...)
	if err != nil {
		t.Fatal(err)
	}
	e := &env{db: db, t: tb, other: ot}
	e.renew(t)
	return e
}

// renew makes what one call uses up.
func (e *env) renew(t *testing.T) {
	t.Helper()
	e.q, e.b = e.t.Query(), e.t.NewBatch()
	e.tx = &Tx{db: e.db}
	if err := e.b.Append(5, "five", 5); err != nil {
		t.Fatal(err)
	}
}

// fingerprint says all that can be asked of a database.
func fingerprint(t *testing.T, db *DB) string {
	t.Helper()
	var b strings.Builder
	h := fnv.New64()
	for _, tb := range db.Tables() {
		fmt.Fprintf(&b, "%s %+v ", tb.Name(), tb.Columns())
		for _, ix := range tb.Indexes() {
			fmt.Fprintf(&b, "%s %s %d ", ix.Name, ix.Columns[0].Name, ix.Rows)
		}
		for r, err := range tb.Query().Select("ctid", "*").Rows(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(h, r)
		}
	}
	db.mu.RLock()
	defer db.mu.RUnlock()
	fmt.Fprint(&b, h.Sum64(), slices.Sorted(maps.Keys(db.tables)), slices.Sorted(maps.Keys(db.indexes)), len(db.loading))
	return b.String()
}

// attempt makes a call, and fails the test when it panics.
func attempt(t *testing.T, f func() error) (err error) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("panic: %v\n%s", p, debug.Stack())
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f()
}

func code(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return fmt.Sprintf("%v", err)
}

// Every exported function and method is called with bad input, on zero values, read-only, with a context that has ended,
// and after Close. A new one without an entry fails here.
func TestEveryEntryPoint(t *testing.T) {
	names := exported(t)
	for _, name := range names {
		if _, ok := entries[name]; !ok {
			t.Errorf("%s has no entry in entries: say how it is tested", name)
		}
	}
	for name := range entries {
		if !slices.Contains(names, name) {
			t.Errorf("%s is in entries, but is not exported", name)
		}
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for name, en := range entries {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			e := newEnv(t)
			before := fingerprint(t, e.db)
			for what, f := range en.bad {
				e.renew(t)
				err := attempt(t, func() error { return f(ctx, e) })
				if want, _, _ := strings.Cut(what, " "); code(err) != want {
					t.Errorf("%s: %v", what, err)
				}
				if after := fingerprint(t, e.db); after != before {
					t.Fatalf("%s: something has changed:\n%s\n%s", what, before, after)
				}
			}
			// A context that has ended.
			if !en.offline && name != "DB.Table" && name != "DB.Metrics" && name != "DB.Snapshot" && name != "Table.Size" && name != "Query.Columns" && !strings.HasPrefix(name, "Tx.") {
				e.renew(t)
				if err := attempt(t, func() error { return en.good(ended, e) }); !errors.Is(err, ErrCanceled) || code(err) != pgerr.QueryCanceled {
					t.Errorf("with a context that has ended: %v", err)
				}
				if after := fingerprint(t, e.db); after != before {
					t.Fatalf("with a context that has ended something has changed:\n%s\n%s", before, after)
				}
			}
			// What is called good is.
			e.renew(t)
			if err := attempt(t, func() error { return en.good(ctx, e) }); err != nil {
				t.Errorf("good: %v", err)
			}
			// After Close.
			e = newEnv(t)
			if err := e.db.Close(); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := attempt(t, func() error { return en.good(ctx, e) }); !en.offline && !errors.Is(err, ErrClosed) && !strings.HasPrefix(name, "Tx.") {
					t.Errorf("after Close: %v", err)
				}
			}
			for _, f := range en.bad {
				if name != "Open" {
					_ = attempt(t, func() error { return f(ctx, e) })
				}
			}
			// Read-only.
			o := testOptions(e.db.o.FS)
			o.ReadOnly = true
			ro := mustOpen(t, "db", o)
			defer func() { _ = ro.Close() }()
			rt, err := ro.Table("t")
			if err != nil {
				t.Fatal(err)
			}
			re := &env{db: ro, t: rt, other: e.other}
			re.renew(t)
			err = attempt(t, func() error { return en.good(ctx, re) })
			if strings.HasPrefix(name, "Tx.") || name == "DB.Settle" {
				return
			}
			if en.changes && (!errors.Is(err, ErrReadOnly) || code(err) != pgerr.ReadOnlySQLTransaction) || !en.changes && err != nil {
				t.Errorf("read-only: %v", err)
			}
		})
	}
	t.Run("zero values", func(t *testing.T) {
		for name, en := range entries {
			for _, e := range []*env{
				{db: new(DB), t: new(Table), other: new(Table), q: new(Query), tx: new(Tx), b: new(Batch)},
				{t: nil, q: new(Query), b: new(Batch)},
			} {
				if err := attempt(t, func() error { return en.good(context.Background(), e) }); err == nil && !en.offline {
					t.Errorf("%s: no error", name)
				}
			}
		}
		for _, v := range []any{Value{}, Type(0), Type(99), new(Error), new(Vector), Metrics{}, Options{}} {
			r := reflect.ValueOf(v)
			for i := range r.NumMethod() {
				if m := r.Method(i); m.Type().NumIn() == 0 {
					_ = attempt(t, func() error { m.Call(nil); return nil })
				}
			}
		}
	})
}
