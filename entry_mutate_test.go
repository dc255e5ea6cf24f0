package wideleaf

import (
	"context"
	"maps"
	"strings"
)

// mutating are the entry points that delete, update and vacuum.
var mutating = map[string]entry{
	"Table.DeleteWhere": {
		changes: true,
		good:    func(ctx context.Context, e *env) error { return second(e.t.DeleteWhere(ctx, "a > 1")) },
		bad: map[string]func(ctx context.Context, e *env) error{
			"42703 unknown column": func(ctx context.Context, e *env) error { return second(e.t.DeleteWhere(ctx, "nothing = 1")) },
			"42601 empty":          func(ctx context.Context, e *env) error { return second(e.t.DeleteWhere(ctx, "")) },
		},
	},
	"Table.Delete": {
		changes: true,
		good:    func(ctx context.Context, e *env) error { return second(e.t.Delete(ctx, []TID{0, 1})) },
	},
	"Query.Delete": {
		changes: true,
		good:    func(ctx context.Context, e *env) error { return second(e.q.Where("s = 'two'").Delete(ctx)) },
		bad: merge(queries(func(ctx context.Context, q *Query) error { return second(q.Delete(ctx)) }), map[string]func(context.Context, *env) error{
			"0A000 order":  func(ctx context.Context, e *env) error { return second(e.q.OrderBy("a").Delete(ctx)) },
			"0A000 limit":  func(ctx context.Context, e *env) error { return second(e.q.Limit(1).Delete(ctx)) },
			"0A000 offset": func(ctx context.Context, e *env) error { return second(e.q.Offset(1).Delete(ctx)) },
		}),
	},
	"Query.DeleteReturning": {
		changes: true,
		good:    func(ctx context.Context, e *env) error { return second(e.q.Select("ctid", "s").DeleteReturning(ctx)) },
		bad: map[string]func(ctx context.Context, e *env) error{
			"42703 selected": func(ctx context.Context, e *env) error { return second(e.q.Select("nothing").DeleteReturning(ctx)) },
		},
	},
	"Table.UpdateWhere": {
		changes: true,
		good:    func(ctx context.Context, e *env) error { return second(e.t.UpdateWhere(ctx, "a > 1", "a = a + 10")) },
		bad: map[string]func(ctx context.Context, e *env) error{
			"42703 unknown column": func(ctx context.Context, e *env) error { return second(e.t.UpdateWhere(ctx, "nothing = 1", "a = 1")) },
		},
	},
	"Table.Update": {
		changes: true,
		good:    func(ctx context.Context, e *env) error { return second(e.t.Update(ctx, []TID{0, 1}, "a = 5")) },
	},
	"Query.Update": {
		changes: true,
		good:    func(ctx context.Context, e *env) error { return second(e.q.Update(ctx, "a = -a, s = default")) },
		bad: merge(queries(func(ctx context.Context, q *Query) error { return second(q.Update(ctx, "a = 1")) }), assignments(map[string]string{
			"42601 empty":              "",
			"42601 no value":           "a =",
			"42601 no operator":        "a",
			"42601 more":               "a = 1 b = 2",
			"42601 comma":              "a = 1,",
			"42601 reserved":           "select = 1",
			"42601 twice":              "a = 1, A = 2",
			"42703 unknown":            "nothing = 1",
			"42703 unknown in value":   "a = nothing",
			"42804 text":               "a = s",
			"42804 boolean":            "a = true",
			"22P02 literal":            "a = 'x'",
			"22003 constant":           "a = 3000000000",
			"22003 sum":                "a = a + 2147483647",
			"22003 product":            "a = a * 2000000000",
			"22003 float":              "a = 1e10",
			"22003 of float8":          "f = f * 1e308::float8 * 1e308::float8",
			"22003 float8 to integer":  "a = f * 1e10::float8",
			"22012 division":           "a = 1 / (a - 1)",
			"22012 remainder":          "a = a % (a - 2)",
			"22012 constant":           "a = 1 / 0",
			"42883 remainder":          "f = f % f",
			"42883 of text":            "s = s + s",
			"42883 sign":               "s = -s",
			"42883 concatenation":      "s = a || a",
			"42883 function":           "a = abs(a)",
			"42846 cast":               "f = true::float8",
			"22P02 cast":               "a = s::int4",
			"23502 NULL":               "a = null",
			"23502 default":            "a = default",
			"0A000 condition":          "a = (a > 1)",
			"0A000 numeric":            "f = a * 1.5",
			"54001 deep":               "a = " + strings.Repeat("(", 100_000) + "1" + strings.Repeat(")", 100_000),
			"54000 index key too long": "s = '" + strings.Repeat("x", 4000) + "'",
		})),
	},
	"Query.UpdateReturning": {
		changes: true,
		good: func(ctx context.Context, e *env) error {
			return second(e.q.Select("ctid", "s").UpdateReturning(ctx, "s = 'x'"))
		},
		bad: map[string]func(ctx context.Context, e *env) error{
			"42703 selected": func(ctx context.Context, e *env) error {
				return second(e.q.Select("nothing").UpdateReturning(ctx, "a = 1"))
			},
		},
	},
	"Tx.DeleteWhere": {good: func(ctx context.Context, e *env) error { return second(e.tx.DeleteWhere(ctx, e.t, "a = 1")) },
		bad: map[string]func(ctx context.Context, e *env) error{
			"42703 unknown column": func(ctx context.Context, e *env) error { return second(e.tx.DeleteWhere(ctx, e.t, "nothing = 1")) },
			"22023 other database": func(ctx context.Context, e *env) error { return second(e.tx.DeleteWhere(ctx, e.other, "c1 = 1")) },
			"22023 no table":       func(ctx context.Context, e *env) error { return second(e.tx.DeleteWhere(ctx, nil, "a = 1")) },
		}},
	"Tx.UpdateWhere": {good: func(ctx context.Context, e *env) error { return second(e.tx.UpdateWhere(ctx, e.t, "a = 1", "a = 2")) },
		bad: map[string]func(ctx context.Context, e *env) error{
			"22012 division": func(ctx context.Context, e *env) error {
				return second(e.tx.UpdateWhere(ctx, e.t, "true", "a = a / 0"))
			},
			"23502 NULL": func(ctx context.Context, e *env) error { return second(e.tx.UpdateWhere(ctx, e.t, "true", "a = null")) },
		}},
	"DB.Snapshot": {offline: false, good: func(_ context.Context, e *env) error {
		s, err := e.db.Snapshot()
		s.Release()
		s.Release()
		return err
	}},
	"Snapshot.Release": {offline: true, good: noError(func(*env) { new(Snapshot).Release() })},
	"Snapshot.Query": {
		good: func(ctx context.Context, e *env) error {
			s, err := e.db.Snapshot()
			if err != nil {
				return err
			}
			defer s.Release()
			return second(s.Query(e.t).Count(ctx))
		},
		bad: map[string]func(ctx context.Context, e *env) error{
			"22023 zero":     func(ctx context.Context, e *env) error { return second(new(Snapshot).Query(e.t).Count(ctx)) },
			"22023 no table": func(ctx context.Context, e *env) error { return second(new(Snapshot).Query(nil).Count(ctx)) },
			"55000 released": func(ctx context.Context, e *env) error {
				s, _ := e.db.Snapshot()
				if s == nil {
					return nil // closed
				}
				s.Release()
				return second(s.Query(e.t).Count(ctx))
			},
			"25006 delete": func(ctx context.Context, e *env) error {
				s, _ := e.db.Snapshot()
				defer s.Release()
				return second(s.Query(e.t).Delete(ctx))
			},
		},
	},
	"Table.Vacuum": {changes: true, good: func(ctx context.Context, e *env) error { return second(e.t.Vacuum(ctx, VacuumOptions{Full: true})) }},
	"VacuumReport.String": {
		offline: true,
		good:    noError(func(*env) { _ = new(VacuumReport).String() }),
	},
}

// assignments makes the bad calls of an update of SET lists.
func assignments(sets map[string]string) map[string]func(context.Context, *env) error {
	calls := map[string]func(context.Context, *env) error{}
	for what, set := range sets {
		calls[what] = func(ctx context.Context, e *env) error { return second(e.q.Update(ctx, set)) }
	}
	return calls
}

func init() { maps.Copy(entries, mutating) }
