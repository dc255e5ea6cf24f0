// Package pagetest keeps the pages of one owner in memory, for tests of what writes and reads pages.
//
// A Mem is filled by one goroutine; afterwards it may be read by many. Like the store, it verifies every page that it
// returns, so that a test can damage Pages and see what a reader makes of it.
package pagetest

import (
	"wideleaf/page"
)

// Mem is a page.Memory that verifies what it returns.
type Mem struct{ *page.Memory }

// New returns an empty Mem for the pages of owner o.
func New(o page.Owner) *Mem { return &Mem{page.NewMemory(o)} }

// Reseal computes the checksum of a page anew after a test has changed the page's content.
func (m *Mem) Reseal(block uint32) {
	p := m.Pages[block]
	page.Seal(p, page.ParseHeader(p))
}

// Page returns one page.
func (m *Mem) Page(block uint32) (page.Ref, error) {
	ref, err := m.Memory.Page(block)
	if err != nil {
		return ref, err
	}
	return ref, page.Verify(ref.Data, m.Owner(), block)
}

// Scan calls f for the pages first..last.
func (m *Mem) Scan(first, last uint32, f func(block uint32, p []byte) (bool, error)) error {
	return m.Memory.Scan(first, last, func(block uint32, p []byte) (bool, error) {
		if err := page.Verify(p, m.Owner(), block); err != nil {
			return false, err
		}
		return f(block, p)
	})
}
