package entrytree

import (
	"bytes"

	"wideleaf/am/posting"
)

// listFrom is from how many TIDs of one key on they are a posting list. Below, an entry each takes less: the list's own
// place in the directory counts.
const listFrom = 48

// Lists are cut where windows end, so that each may be a bitmap; windows with fewer TIDs than denseWindow, whose bitmap
// would be the larger form, are put together to lists of about sparseList.
const (
	denseWindow = 256
	sparseList  = 1024
)

// tidList collects the TIDs of one key.
type tidList struct {
	tids []uint32
	buf  []byte
}

// cut calls add for one list after the other of the TIDs collected, all of them when the key ends.
func (l *tidList) cut(ends bool, add func(*posting.List) error) error {
	tids := l.tids
	for len(tids) > 0 {
		n := windowEnd(tids, 0)
		for n < len(tids) && n < sparseList {
			next := windowEnd(tids, n)
			if n >= denseWindow && n == windowEnd(tids, 0) || next-n >= denseWindow {
				break
			}
			n = min(next, max(sparseList, n+1))
		}
		if n == len(tids) && !ends {
			break
		}
		var list posting.List
		l.buf, list.Encoding = posting.Encode(l.buf[:0], tids[:n])
		list.First, list.N, list.Data = tids[0], n, l.buf
		if err := add(&list); err != nil {
			return err
		}
		tids = tids[n:]
	}
	l.tids = l.tids[:copy(l.tids, tids)]
	return nil
}

// windowEnd returns where the window of TID from ends.
func windowEnd(tids []uint32, from int) int {
	w := tids[from] >> posting.WindowBits
	lo, hi := from+1, min(len(tids), from+posting.MaxTIDs)
	for lo < hi {
		if m := int(uint(lo+hi) >> 1); tids[m]>>posting.WindowBits == w {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}

// full reports whether so many TIDs have been collected that lists should be cut before the key ends.
func (l *tidList) full() bool { return len(l.tids) >= 2*posting.MaxTIDs }

// repeat returns the first stretch of at least listFrom equal keys among n ascending ones; n, n if there is none.
func repeat(n int, key func(i int) uint64) (from, to int) {
	const step = listFrom / 2
	for p := 0; p+step < n; {
		k := key(p)
		if key(p+step) != k {
			p += step
			continue
		}
		from, to = p, p+step+1
		for from > 0 && key(from-1) == k {
			from--
		}
		for to < n && key(to) == k {
			to++
		}
		if to-from >= listFrom {
			return from, to
		}
		p += step
	}
	return n, n
}

// packedLists is packed for a form with posting lists.
func (f *fixedWriter) packedLists(a []uint64, base uint64, shift uint) error {
	for len(a) > 0 {
		if len(f.list.tids) > 0 {
			n := 0
			for n < len(a) && base+a[n]>>(shift&63) == f.listKey {
				f.list.tids = append(f.list.tids, uint32(a[n])&uint32(1<<shift-1))
				n++
			}
			if err := f.cutList(n < len(a)); err != nil {
				return err
			}
			a = a[n:]
			continue
		}
		from, _ := repeat(len(a), func(i int) uint64 { return a[i] >> (shift & 63) })
		if err := f.plain(a[:from], base, shift); err != nil || from == len(a) {
			return err
		}
		if err := f.blocks(1); err != nil {
			return err
		}
		f.listKey = base + a[from]>>(shift&63)
		f.list.tids = append(f.list.tids[:0], uint32(a[from])&uint32(1<<shift-1))
		a = a[from+1:]
	}
	return nil
}

// stagedLists takes the posting lists at the front of the staged entries from one on. It returns where the entries begin
// that come before the next list, and where that begins.
func (f *fixedWriter) stagedLists(at int) (begin, end int, err error) {
	for at < f.n {
		if len(f.list.tids) > 0 {
			n := at
			for n < f.n && f.keys[n] == f.listKey {
				n++
			}
			f.list.tids = append(f.list.tids, f.tids[at:n]...)
			at = n
			if err := f.cutList(at < f.n); err != nil {
				return at, at, err
			}
			continue
		}
		from, _ := repeat(f.n-at, func(i int) uint64 { return f.keys[at+i] })
		if from > 0 {
			return at, at + from, nil
		}
		f.listKey = f.keys[at]
		f.list.tids = append(f.list.tids[:0], f.tids[at])
		at++
	}
	return at, at, nil
}

// cutList writes the lists of the TIDs collected: all when the key ends, else what is whole if there are many.
func (f *fixedWriter) cutList(ends bool) error {
	if !ends && !f.list.full() {
		return nil
	}
	return f.list.cut(ends, func(l *posting.List) error {
		if !f.page.AddPosting(f.listKey, f.nulls, l) {
			if err := f.endPage(); err != nil {
				return err
			}
			f.page.AddPosting(f.listKey, f.nulls, l)
		}
		if f.page.Entries() == l.N {
			f.first = child{code: f.listKey, null: f.nulls}
		}
		return f.yield()
	})
}

// addListed is add for a form with posting lists: it waits for what comes after the key's entries.
func (f *bytesWriter) addListed(key []byte, t uint32) error {
	if len(f.list.tids) > 0 && !bytes.Equal(key, f.listKey) {
		if err := f.endKey(); err != nil {
			return err
		}
	}
	if len(f.list.tids) == 0 {
		f.listKey = append(f.listKey[:0], key...)
	}
	f.list.tids = append(f.list.tids, t)
	if f.list.full() {
		return f.cutList(false)
	}
	return nil
}

// endKey writes the entries of the key that addListed has collected.
func (f *bytesWriter) endKey() error {
	if len(f.list.tids) >= listFrom || f.listed {
		return f.cutList(true)
	}
	for _, t := range f.list.tids {
		if err := f.addPlain(f.listKey, t); err != nil {
			return err
		}
	}
	f.list.tids = f.list.tids[:0]
	return nil
}

func (f *bytesWriter) cutList(ends bool) error {
	if err := f.block(); err != nil {
		return err
	}
	f.listed = !ends
	return f.list.cut(ends, func(l *posting.List) error {
		if !f.page.AddPosting(f.listKey, l) {
			if err := f.endPage(); err != nil {
				return err
			}
			f.page.AddPosting(f.listKey, l)
		}
		if f.page.Entries() == l.N {
			if f.tree.total == 0 {
				f.head = append(f.head[:0], f.listKey...)
			}
			f.first = child{sep: separator(f.last, f.listKey)}
		}
		f.last = append(f.last[:0], f.listKey...)
		return f.yield()
	})
}
