package wideleaf

import (
	"context"
	"maps"
	"math"
)

func init() { maps.Copy(entries, ordering) }

// ordering are the entries of what orders rows.
var ordering = map[string]entry{
	"Query.OrderBy": {
		good: func(ctx context.Context, e *env) error { return rowsOf(ctx, e.q.OrderBy("a <=> 5, s desc, ctid")) },
		bad: map[string]func(context.Context, *env) error{
			"42883 no distance": func(ctx context.Context, e *env) error { return rowsOf(ctx, e.q.OrderBy("s <=> 'x'")) },
			"42703 no column":   func(ctx context.Context, e *env) error { return rowsOf(ctx, e.q.OrderBy("nosuch <=> 5")) },
			"22P02 no number":   func(ctx context.Context, e *env) error { return rowsOf(ctx, e.q.OrderBy("a <=| 'x'")) },
		},
	},
	"Query.Similarity": {
		good: func(ctx context.Context, e *env) error { return rowsOf(ctx, e.q.Similarity(Overlap, 1)) },
		bad: map[string]func(context.Context, *env) error{
			"22023 threshold": func(ctx context.Context, e *env) error { return rowsOf(ctx, e.q.Similarity(Cosine, math.NaN())) },
			"22023 function":  func(ctx context.Context, e *env) error { return rowsOf(ctx, e.q.Similarity(7, 0.5)) },
		},
	},
}
