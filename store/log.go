package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Pebble's log is a row of blocks, which hold chunks. A chunk's header, in the format of FormatNewest, is
//
//	checksum (4), length (2), encoding (1), number of the log (4), synced offset (8)
//
// where the checksum covers everything from the encoding on, and everything before the synced offset was on disk when
// the chunk was written. What Pebble cannot read it takes for the log's end, unless a chunk of a later block says that
// it was synced: damage among the last 32 KiB, or in many small commits after a crash, drops commits without a word.
// checkLog looks for such a chunk in the rest of the same block as well.
//
// The synced offset is a lower bound only: Pebble does not count the blocks that were full when they were written, most of a
// large commit. But it grows with every sync. When it has grown twice among the chunks after the damage, the second of these
// syncs began when the damaged chunk had been handed over for writing, and so covered it. So only what the last two syncs
// wrote can vanish.
const (
	logBlockSize  = 32 << 10
	logHeaderSize = 19
	logFirstType  = 9 // encodings of full, first, middle and last chunks
	logLastType   = 12
	logMinHeader  = 11 // a block's end that is smaller than this, or zero and smaller than a header, is unused
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// logChunk returns the size and the synced offset of the chunk that begins b, if there is one of that log.
func logChunk(b []byte, log uint32) (size int, synced uint64, ok bool) {
	if len(b) < logHeaderSize || b[6] < logFirstType || b[6] > logLastType || binary.LittleEndian.Uint32(b[7:]) != log {
		return 0, 0, false
	}
	size = logHeaderSize + int(binary.LittleEndian.Uint16(b[4:]))
	if size > len(b) {
		return 0, 0, false
	}
	c := crc32.Checksum(b[6:size], castagnoli)
	if c = c>>15 | c<<17; c+0xa282ead8 != binary.LittleEndian.Uint32(b) {
		return 0, 0, false
	}
	return size, binary.LittleEndian.Uint64(b[11:]), true
}

// checkLog returns the offset of the first chunk that cannot be read although a later one tells that it was synced.
func checkLog(r io.Reader, log uint32) (bad uint64, damaged bool, err error) {
	buf := make([]byte, logBlockSize)
	ended := false // at bad
	growths := -1  // of the synced offset after bad
	last := uint64(0)
	for start := uint64(0); ; start += logBlockSize {
		n, err := io.ReadFull(r, buf)
		if n == 0 || err != nil && err != io.ErrUnexpectedEOF {
			if err == io.EOF {
				err = nil
			}
			return 0, false, err
		}
		for b := buf[:n]; len(b) > 0; {
			size, synced, ok := logChunk(b, log)
			switch {
			case ok && ended:
				if growths < 0 || synced > last {
					growths++
					last = synced
				}
				if synced > bad || growths >= 2 {
					return bad, true, nil
				}
				b = b[size:]
			case ok:
				b = b[size:]
			case ended:
				b = b[1:] // chunks can begin anywhere after damage
			case len(b) < logMinHeader || len(b) < logHeaderSize && zero(b):
				b = nil
			default:
				bad, ended = start+uint64(n-len(b)), true
			}
		}
	}
}

func zero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

// checkLogs returns what is wrong with the logs in the directory.
func (db *DB) checkLogs() error {
	names, err := db.fs.List(db.dir)
	if err != nil {
		return err
	}
	var all []error
	for _, name := range names {
		number, _, _ := strings.Cut(strings.TrimSuffix(name, ".log"), "-")
		log, err := strconv.ParseUint(number, 10, 64)
		if path.Ext(name) != ".log" || err != nil {
			continue
		}
		f, err := db.fs.Open(db.fs.PathJoin(db.dir, name), vfs.SequentialReadsOption)
		if err != nil {
			return err
		}
		bad, damaged, err := checkLog(f, uint32(log))
		if damaged {
			err = corrupt("write-ahead log "+name, "what was synced at offset %d cannot be read", bad)
		} else if err != nil {
			err = fmt.Errorf("write-ahead log %s: %w", name, err)
		}
		all = append(all, err, f.Close())
	}
	return errors.Join(all...)
}
