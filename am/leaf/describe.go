package leaf

import (
	"encoding/binary"

	"wideleaf/page"
)

// Describe adds what a verified leaf page of either form holds to d, by block; key says what a key means.
func Describe(d *page.Description, p []byte, code func(uint64) string, key func([]byte) string) error {
	if page.ParseHeader(p).Flags == FlagBytes {
		return describeBytes(d, p, key)
	}
	var l Page
	if err := l.Open(p, page.ParseHeader(p).Kind); err != nil {
		return err
	}
	for i := range l.n {
		b, at := l.Block(i), int(l.off[i])
		if b.Posting {
			d.Add(at, 2, "block %d: posting list of %d bytes", i, len(b.tids))
			d.Add(at+2, len(b.tids), "block %d: %d TIDs of %s, %s", i, b.N, keyOf(&b, code), b.enc)
			continue
		}
		if n := packedBytes(b.N, b.kw); n > 0 {
			d.Add(at, n, "block %d: %d keys of %d bits from %s to %s", i, b.N, b.kw, code(b.Base), code(b.Last()))
			at += n
		}
		if n := packedBytes(b.N, b.tw); n > 0 {
			d.Add(at, n, "block %d: %d TIDs of %d bits", i, b.N, b.tw)
		}
	}
	for i := range l.n {
		b, at := l.Block(i), l.dir+i*dirSize
		if b.Null {
			d.Add(at, 8, "directory, block %d: NULLs", i)
		} else {
			d.Add(at, 8, "directory, block %d: first key %s", i, code(b.Base))
		}
		d.Add(at+8, 4, "directory, block %d: lowest TID +%d", i, b.TID)
		if b.Posting {
			d.Add(at+12, 4, "directory, block %d: posting list of %d TIDs, encoding %d, flags %d", i, b.N, b.enc, p[at+15])
			continue
		}
		d.Add(at+12, 4, "directory, block %d: %d entries, keys of %d bits, TIDs of %d, flags %d", i, b.N, b.kw, b.tw, p[at+15])
	}
	return nil
}

func keyOf(b *Block, code func(uint64) string) string {
	if b.Null {
		return "NULL"
	}
	return code(b.Base)
}

func describeBytes(d *page.Description, p []byte, key func([]byte) string) error {
	var l BytesPage
	if err := l.Open(p, page.ParseHeader(p).Kind); err != nil {
		return err
	}
	for i := range l.n {
		b, at := l.Block(i), int(l.off[i])
		if b.Posting {
			d.Add(at, b.prefix, "block %d: key %s", i, key(b.Prefix()))
			d.Add(at+b.prefix, b.list, "block %d: posting list of %d TIDs, %s", i, b.N, b.enc)
			continue
		}
		if b.prefix > 0 {
			d.Add(at, b.prefix, "block %d: common prefix of %d keys", i, b.N)
			at += b.prefix
		}
		if b.size > 0 {
			d.Add(at, b.size, "block %d: rests of keys from %s to %s", i, key(b.Key(nil, 0)), key(b.Key(nil, b.N-1)))
			at += b.size
		}
		if n := packedBytes(b.N, b.ew); n > 0 {
			d.Add(at, n, "block %d: %d ends of %d bits", i, b.N, b.ew)
			at += n
		}
		if n := packedBytes(b.N, b.tw); n > 0 {
			d.Add(at, n, "block %d: %d TIDs of %d bits", i, b.N, b.tw)
		}
	}
	for i := range l.n {
		b, at := l.Block(i), l.dir+i*bytesDirSize
		d.Add(at, 4, "directory, block %d: lowest TID +%d", i, b.TID)
		if b.Posting {
			d.Add(at+4, 4, "directory, block %d: posting list of %d bytes, key of %d", i, b.list, b.prefix)
			d.Add(at+8, 4, "directory, block %d: %d TIDs, encoding %d, flags %d", i, b.N, b.enc, p[at+11])
			continue
		}
		d.Add(at+4, 4, "directory, block %d: %d bytes of rests, %d of prefix", i, b.size, b.prefix)
		d.Add(at+8, 4, "directory, block %d: %d entries, TIDs of %d bits, ends of %d, reserved %d", i, b.N, b.tw, b.ew, binary.LittleEndian.Uint32(p[at+8:])>>24)
	}
	return nil
}
