package wideleaf

import (
	"context"
	"fmt"
	"maps"
)

func init() { maps.Copy(entries, inspecting) }

// inspecting are the entries of what package pageinspect reads.
var inspecting = map[string]entry{
	"DB.Relations": {
		offline: true, // it looks at what is in memory
		good:    func(_ context.Context, e *env) error { return second(e.db.Relations()) },
	},
	"DB.Stored": {
		offline: true,
		good: func(_ context.Context, e *env) error {
			s, err := e.db.Stored("t")
			if err == nil {
				s.Close()
			}
			return err
		},
		bad: map[string]func(context.Context, *env) error{
			"42P01 unknown": func(_ context.Context, e *env) error { return second(e.db.Stored("nothing")) },
			"42P01 empty":   func(_ context.Context, e *env) error { return second(e.db.Stored("")) },
		},
	},
	"DB.RelationName": {
		offline: true,
		good: func(_ context.Context, e *env) error {
			if s := e.db.RelationName(1 << 31); s != "" {
				return fmt.Errorf("a relation nobody made is named %q", s)
			}
			return nil
		},
	},
	"Stored.Close": {offline: true, good: stored((*Stored).Close)},
	"Stored.Name": {offline: true, good: stored(func(s *Stored) {
		if s.Name() != "t" {
			panic(s.Name())
		}
	})},
	"Stored.Method": {offline: true, good: stored(func(s *Stored) {
		if s.Method() != "heap" {
			panic(s.Method())
		}
	})},
}

// stored holds the heap of table t for f.
func stored(f func(*Stored)) func(context.Context, *env) error {
	return func(_ context.Context, e *env) error {
		s, err := e.db.Stored("t")
		if err != nil {
			return err
		}
		defer s.Close()
		f(s)
		return nil
	}
}
