package page

import (
	"bytes"
	"fmt"
)

// Memory is pages that live in memory only: a Writer and then a Reader. One goroutine fills it; afterwards it may be read
// concurrently. It doesn't verify what it returns, which nobody else can have changed.
type Memory struct {
	Pages [][]byte // page i is block i
	owner Owner
}

// NewMemory returns an empty Memory for the pages of owner o.
func NewMemory(o Owner) *Memory { return &Memory{owner: o} }

// WritePage appends a copy of a page.
func (m *Memory) WritePage(p []byte) error {
	m.Pages = append(m.Pages, bytes.Clone(p))
	return nil
}

// Bytes is the size of all pages.
func (m *Memory) Bytes() int64 {
	n := int64(0)
	for _, p := range m.Pages {
		n += int64(len(p))
	}
	return n
}

// Page returns one page.
func (m *Memory) Page(block uint32) (Ref, error) {
	if uint64(block) >= uint64(len(m.Pages)) {
		return Ref{}, &CorruptError{Owner: m.owner, Block: block,
			Detail: fmt.Sprintf("it is missing, there are %d blocks", len(m.Pages))}
	}
	return Ref{Data: m.Pages[block]}, nil
}

// Scan calls f for the pages first..last.
func (m *Memory) Scan(first, last uint32, f func(block uint32, p []byte) (bool, error)) error {
	for b := uint64(first); b <= uint64(last); b++ {
		p, err := m.Page(uint32(b))
		if err != nil {
			return err
		}
		if more, err := f(uint32(b), p.Data); err != nil || !more {
			return err
		}
	}
	return nil
}

// Blocks is the number of pages.
func (m *Memory) Blocks() uint32 { return uint32(len(m.Pages)) }

// Owner is what every page says it belongs to.
func (m *Memory) Owner() Owner { return m.owner }
