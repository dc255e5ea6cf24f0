package vacuum

import (
	"context"
	"slices"

	"wideleaf/tid"
)

// asked is a vacuum that was asked for.
type asked struct {
	dead  *tid.Dead // rows that no run is to have at the end
	share float64   // of a segment's rows, beyond which it is written anew
}

// Vacuum removes a table's rows that are dead now and in flushed segments: from all runs, and from segments in which they are
// more than a share of the rows. It returns when that is done. Several may be under
// way: one that ends, or is canceled, takes nothing from what the others asked for.
func (p *Pool) Vacuum(ctx context.Context, table uint32, share float64) error {
	ts, ok := p.o.Versions.AcquireTable(table)
	if !ok {
		return nil
	}
	a := &asked{deadOf(ts), share}
	ts.Release()
	if a.dead.Rows() == 0 {
		return nil
	}
	p.mu.Lock()
	p.asked[table] = append(p.asked[table], a)
	p.wake.Broadcast()
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.asked[table] = slices.DeleteFunc(p.asked[table], func(b *asked) bool { return b == a })
		if len(p.asked[table]) == 0 {
			delete(p.asked, table)
		}
	}()
	return p.Wait(ctx, func() bool { return p.vacuumed(table) })
}

// vacuumed reports whether nothing is left to be done of what was asked for.
func (p *Pool) vacuumed(table uint32) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paused > 0 {
		return false
	}
	for _, t := range p.state().Tables {
		if t.ID != table {
			continue
		}
		for _, g := range t.Groups {
			for _, r := range g.Runs {
				if r.Asked {
					return false
				}
			}
		}
		for _, s := range t.Segments {
			if s.Asked || s.Busy {
				return false
			}
		}
	}
	return true
}
