package page

import (
	"github.com/maypok86/otter/v2"
)

// Cache keeps decoded inner pages of all runs within a bound of bytes. It may be used concurrently.
type Cache struct {
	c     *otter.Cache[cacheKey, cached]
	apart uint64
}

type cacheKey struct {
	Owner
	block uint32
	apart uint64
}

type cached struct {
	bytes int
	value any
}

// NewCache returns a cache for up to maxBytes of decoded pages.
func NewCache(maxBytes int64) *Cache {
	return &Cache{c: otter.Must(&otter.Options[cacheKey, cached]{
		MaximumWeight: uint64(max(maxBytes, 1<<20)),
		Weigher: func(_ cacheKey, v cached) uint32 {
			return uint32(v.bytes + 96) // 96: the entry's own bookkeeping
		},
	})}
}

// Apart returns the cache for pages that were written in place of others of the same owner and block. It shares the bound;
// number, which is not 0, tells the pages from those others.
func (c *Cache) Apart(number uint64) *Cache {
	if c == nil {
		return nil
	}
	return &Cache{c.c, number}
}

// Get returns what was kept for a page.
func (c *Cache) Get(o Owner, block uint32) (any, bool) {
	v, ok := c.c.GetIfPresent(cacheKey{o, block, c.apart})
	return v.value, ok
}

// Put keeps a decoded page that takes about the given bytes of memory.
func (c *Cache) Put(o Owner, block uint32, v any, bytes int) {
	c.c.Set(cacheKey{o, block, c.apart}, cached{bytes, v})
}

// Page returns a page of r and keeps a copy of it. Searches use it for the leaves at the ends of what they look for:
// asking Pebble's block cache for one and verifying it took most of the time of a count. Scans don't. A nil Cache keeps
// nothing.
func (c *Cache) Page(r Reader, block uint32) (Ref, error) {
	if c == nil {
		return r.Page(block)
	}
	if v, ok := c.Get(r.Owner(), block); ok {
		if p, ok := v.([]byte); ok {
			return Ref{Data: p}, nil
		}
	}
	ref, err := r.Page(block)
	if err != nil {
		return Ref{}, err
	}
	p := append([]byte(nil), ref.Data...)
	ref.Release()
	c.Put(r.Owner(), block, p, len(p))
	return Ref{Data: p}, nil
}
