// Package pagetest keeps the pages of one owner in memory, for tests of what writes and reads pages.
//
// A Mem is filled by one goroutine; afterwards it may be read by many. Like the store, it verifies every page that it
// returns, so that a test can damage Pages and see what a reader makes of it.
package pagetest

import (
	"bytes"
	"fmt"

	"wideleaf/page"
)

// Mem is a page.Writer and a page.Reader over pages in memory.
type Mem struct {
	Pages [][]byte // page i is block i
	owner page.Owner
}

// New returns an empty Mem for the pages of owner o.
func New(o page.Owner) *Mem { return &Mem{owner: o} }

// WritePage appends a copy of a page.
func (m *Mem) WritePage(p []byte) error {
	m.Pages = append(m.Pages, bytes.Clone(p))
	return nil
}

// Reseal computes the checksum of a page anew after a test has changed the page's content.
func (m *Mem) Reseal(block uint32) {
	p := m.Pages[block]
	page.Seal(p, page.ParseHeader(p))
}

// Bytes is the stored size of all pages.
func (m *Mem) Bytes() int {
	n := 0
	for _, p := range m.Pages {
		n += len(p)
	}
	return n
}

// Page returns one page.
func (m *Mem) Page(block uint32) (page.Ref, error) {
	p, err := m.page(block)
	return page.NewRef(p, nil), err
}

// Scan calls f for the pages first..last.
func (m *Mem) Scan(first, last uint32, f func(block uint32, p []byte) (bool, error)) error {
	for b := uint64(first); b <= uint64(last); b++ {
		p, err := m.page(uint32(b))
		if err != nil {
			return err
		}
		if more, err := f(uint32(b), p); err != nil || !more {
			return err
		}
	}
	return nil
}

// Blocks is the number of pages.
func (m *Mem) Blocks() uint32 { return uint32(len(m.Pages)) }

// Owner is what every page says it belongs to.
func (m *Mem) Owner() page.Owner { return m.owner }

func (m *Mem) page(block uint32) ([]byte, error) {
	if uint64(block) >= uint64(len(m.Pages)) {
		return nil, &page.CorruptError{Owner: m.owner, Block: block,
			Detail: fmt.Sprintf("it is missing, there are %d blocks", len(m.Pages))}
	}
	p := m.Pages[block]
	if err := page.Verify(p, m.owner, block); err != nil {
		return nil, err
	}
	return p, nil
}
