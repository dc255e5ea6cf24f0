package store

import (
	"encoding/binary"

	"wideleaf/tid"
)

// Keyspaces: the first byte of every key in Pebble (docs/format.md). Pages must stay the highest: what is ingested
// above everything else goes straight to the lowest level, and no flush or compaction spans it.
const (
	spaceRecords = 0x01 // + the caller's key: catalog and manifests
	spaceAccount = 0x02 // one key: the account of the records
	spaceRows    = 0x03 // + table (4), first TID (8): row blocks
	spaceDeletes = 0x04 // + table (4), segment (8), number (8): rows that a commit deleted
	spacePages   = 0xF0 // + page number (8): pages, written by ingestion only
)

// indexBits is the width of a page's index in its SST; the upper 40 bits of a page number are the SST's ordinal.
const (
	indexBits  = 24
	maxPages   = 1 << indexBits
	maxOrdinal = 1<<(64-indexBits) - 1
)

const (
	rowKeySize    = 1 + 4 + 8
	deleteKeySize = 1 + 4 + 8 + 8
	pageKeySize   = 1 + 8
)

var (
	accountKey = []byte{spaceAccount}
	pagesEnd   = []byte{spacePages + 1}
)

func recordKey(key []byte) []byte {
	return append(append(make([]byte, 0, 1+len(key)), spaceRecords), key...)
}

func appendRowKey(dst []byte, table uint32, first tid.TID) []byte {
	dst = append(dst, spaceRows)
	dst = binary.BigEndian.AppendUint32(dst, table)
	return binary.BigEndian.AppendUint64(dst, uint64(first))
}

func appendDeleteKey(dst []byte, table uint32, segment, number uint64) []byte {
	dst = append(dst, spaceDeletes)
	dst = binary.BigEndian.AppendUint32(dst, table)
	dst = binary.BigEndian.AppendUint64(dst, segment)
	return binary.BigEndian.AppendUint64(dst, number)
}

func appendPageKey(dst []byte, number uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, spacePages), number)
}

// pageNumber is the inverse of appendPageKey.
func pageNumber(key []byte) (uint64, bool) {
	if len(key) != pageKeySize || key[0] != spacePages {
		return 0, false
	}
	return binary.BigEndian.Uint64(key[1:]), true
}

// ordinalEnd is the exclusive upper bound of an ordinal's page keys.
func ordinalEnd(ordinal uint64) []byte {
	if ordinal >= maxOrdinal {
		return pagesEnd
	}
	return appendPageKey(nil, (ordinal+1)<<indexBits)
}
