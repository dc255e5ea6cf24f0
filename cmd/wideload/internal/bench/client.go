package bench

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"wideleaf"
	"wideleaf/value"
)

// domain is the number of values of every column: [0, domain), as in the article.
const domain = 2_000_000_000

// client inserts. What others read of it while it runs is atomic.
type client struct {
	rows    atomic.Int64 // committed
	worst   atomic.Int64 // longest commit, in ns, since the sampler took it last
	latency *Latency
	random  *rand.PCG
	_       [64]byte // keeps clients out of each other's cache lines
}

func newClient(seed uint64, number int) *client {
	return &client{latency: NewLatency(), random: rand.NewPCG(seed, uint64(number))}
}

// run inserts batches of the sizes that next returns until that is 0.
func (c *client) run(ctx context.Context, t *wideleaf.Table, next func() int, opt wideleaf.CommitOption) error {
	b := t.NewBatch()
	vectors := make([]*wideleaf.Vector, len(t.Columns()))
	for i := range vectors {
		vectors[i] = b.Column(i)
	}
	for n := next(); n > 0; n = next() {
		b.Reset()
		for _, v := range vectors {
			c.fill(v, n)
		}
		start := time.Now()
		if err := t.InsertBatch(ctx, b, opt); err != nil {
			return err
		}
		took := time.Since(start)
		c.latency.Record(took)
		c.rows.Add(int64(n))
		if int64(took) > c.worst.Load() {
			c.worst.Store(int64(took))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// fill appends n random values to an empty vector of int4.
func (c *client) fill(v *wideleaf.Vector, n int) {
	codes := v.U32
	for n >= 2 {
		r := c.random.Uint64()
		codes = append(codes, randomCode(uint32(r)), randomCode(uint32(r>>32)))
		n -= 2
	}
	if n > 0 {
		codes = append(codes, randomCode(uint32(c.random.Uint64()>>32)))
	}
	v.U32, v.N = codes, len(codes)
}

// randomCode maps 32 random bits to the code of a value of the domain. Values are drawn twice or three times in 2^32, in
// turn: uniform for every range that a query could ask for.
func randomCode(bits uint32) uint32 {
	return value.Int4Code(int32(uint64(bits) * domain >> 32))
}
