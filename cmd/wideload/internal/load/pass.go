package load

import (
	"context"
	"io"
	"runtime"
	"sync"
)

// pass does work on all chunks that next returns, on all processors, and calls done with the results in the chunks' order.
// The first error in that order ends it, so that a file with several faults always shows the first.
func pass[T any](ctx context.Context, next func() (chunk, error), work func(chunk) (T, error), done func(chunk, T) error) error {
	type task struct {
		chunk
		result T
		err    error
		ready  chan struct{}
	}
	workers := runtime.GOMAXPROCS(0)
	tasks, order := make(chan *task, workers), make(chan *task, 2*workers)
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() {
		defer close(tasks)
		defer close(order)
		for {
			c, err := next()
			if c.Block != nil && c.Len() > 0 {
				t := &task{chunk: c, ready: make(chan struct{})}
				select {
				case order <- t:
				case <-ctx.Done():
					return
				}
				tasks <- t // a worker takes it: they end when tasks is closed
			}
			if err != nil {
				if err != io.EOF {
					t := &task{err: err, ready: make(chan struct{})}
					close(t.ready)
					select {
					case order <- t:
					case <-ctx.Done():
					}
				}
				return
			}
		}
	})
	for range workers {
		running.Go(func() {
			for t := range tasks {
				if t.err = ctx.Err(); t.err == nil {
					t.result, t.err = work(t.chunk)
				}
				close(t.ready)
			}
		})
	}
	for t := range order {
		<-t.ready
		if t.err != nil {
			return t.err
		}
		if err := done(t.chunk, t.result); err != nil {
			return err
		}
	}
	return ctx.Err()
}
