package wideleaf

import (
	"context"
	"maps"
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
}

func init() { maps.Copy(entries, mutating) }
