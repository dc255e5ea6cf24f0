package store

import (
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// logger passes Pebble's messages on. What Pebble takes for the end of the process freezes the database instead.
type logger struct {
	l  *slog.Logger
	fs *freezeFS
}

func (l *logger) Infof(format string, args ...any) { l.l.Debug(fmt.Sprintf(format, args...)) }

func (l *logger) Errorf(format string, args ...any) { l.l.Error(fmt.Sprintf(format, args...)) }

func (l *logger) Fatalf(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	l.fs.freeze(err)
	l.l.Error("Pebble cannot go on", "error", err)
}

// events counts what Pebble reports.
type events struct {
	compactedBytes  atomic.Uint64
	rewrittenPages  atomic.Uint64 // bytes of SSTs with pages that a flush or compaction wrote
	misplacedTables atomic.Uint64 // page SSTs ingested above the lowest level
	corruptions     atomic.Uint64
	failed          atomic.Int64 // see scheduler
}

// scheduler is Pebble's, with one compaction at a time, and lets it rest when there is no sense in compacting: Pebble
// itself tries a compaction that failed again at once, for ever. It is the variant that grants when a compaction ends
// or is asked for, not periodically, which only a varying limit needs.
type scheduler struct {
	*pebble.ConcurrencyLimitScheduler
	fs     *freezeFS
	failed *atomic.Int64 // when the last compaction failed, in Unix nanoseconds
}

func newScheduler(fs *freezeFS, e *events) *scheduler {
	return &scheduler{pebble.NewConcurrencyLimitSchedulerWithNoPeriodicGrantingForTest(), fs, &e.failed}
}

// restAfterFailure is how long no compaction starts after one that failed. The next flush after it asks again.
const restAfterFailure = 10 * time.Second

// Register is called by Pebble.
func (s *scheduler) Register(goroutines int, db pebble.DBForCompaction) {
	s.ConcurrencyLimitScheduler.Register(goroutines, restingDB{db, s})
}

// restingDB allows no compaction while it rests.
type restingDB struct {
	pebble.DBForCompaction
	s *scheduler
}

func (db restingDB) GetAllowedWithoutPermission() int {
	if db.s.fs.frozen() || time.Since(time.Unix(0, db.s.failed.Load())) < restAfterFailure {
		return 0
	}
	return db.DBForCompaction.GetAllowedWithoutPermission()
}

// lowestLevel is where SSTs of pages belong.
const lowestLevel = 6

func (e *events) listener(l *slog.Logger) *pebble.EventListener {
	return &pebble.EventListener{
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			e.corruptions.Add(1)
			l.Error("database file is damaged", "info", info.String())
		},
		BackgroundError: func(err error) { l.Error("Pebble background error", "error", err) },
		CompactionEnd: func(info pebble.CompactionInfo) {
			if info.Err != nil && !errors.Is(info.Err, pebble.ErrCancelledCompaction) {
				e.failed.Store(time.Now().UnixNano())
			}
			if info.Err != nil || info.Reason == "move" {
				return
			}
			e.compactedBytes.Add(e.written(info.Output.Tables))
		},
		FlushEnd: func(info pebble.FlushInfo) {
			if info.Err == nil {
				e.written(info.Output)
			}
		},
		TableIngested: func(info pebble.TableIngestInfo) {
			for _, t := range info.Tables {
				if t.Level != lowestLevel {
					e.misplacedTables.Add(1)
				}
			}
		},
	}
}

// written sums up SSTs that a flush or compaction wrote.
func (e *events) written(tables []pebble.TableInfo) (bytes uint64) {
	for _, t := range tables {
		bytes += t.Size
		if k := t.Largest.UserKey; len(k) > 0 && k[0] >= spacePages {
			e.rewrittenPages.Add(t.Size)
		}
	}
	return bytes
}

// Metrics says what the store did and holds.
type Metrics struct {
	CompactedBytes  uint64 // written by compactions
	RewrittenPages  uint64 // bytes of SSTs with pages written by flushes and compactions: always 0
	MisplacedTables uint64 // SSTs of pages not ingested into the lowest level: always 0
	FlushedBytes    uint64 // written by flushes
	Flushes         int64
	FlushIngests    uint64    // ingestions that waited for a flush or were one: always 0
	IngestedTables  [7]uint64 // by level
	IngestedBytes   uint64
	MemTableBytes   uint64 // memory of unflushed row blocks
	LogBytes        uint64 // of the write-ahead log on disk
	PageBytes       uint64 // of the lowest level: pages, and some row blocks
	DiskBytes       uint64
	CacheBytes      int64
	CacheHits       int64
	CacheMisses     int64
	Corruptions     uint64 // reports of damaged files
}

// Metrics returns the current numbers.
func (db *DB) Metrics() (out Metrics) {
	_ = db.read(func() error { // all 0 once closed
		m := db.p.Metrics()
		out = Metrics{
			CompactedBytes:  db.events.compactedBytes.Load(),
			RewrittenPages:  db.events.rewrittenPages.Load(),
			MisplacedTables: db.events.misplacedTables.Load(),
			Flushes:         m.Flush.Count,
			FlushIngests:    m.Flush.AsIngestCount,
			MemTableBytes:   m.MemTable.Size,
			LogBytes:        m.WAL.PhysicalSize,
			PageBytes:       uint64(m.Levels[lowestLevel].TablesSize),
			DiskBytes:       m.DiskSpaceUsage(),
			CacheBytes:      m.BlockCache.Size,
			CacheHits:       m.BlockCache.Hits,
			CacheMisses:     m.BlockCache.Misses,
			Corruptions:     db.events.corruptions.Load(),
		}
		for i := range m.Levels {
			out.FlushedBytes += m.Levels[i].TableBytesFlushed
			out.IngestedTables[i] = m.Levels[i].TablesIngested
			out.IngestedBytes += m.Levels[i].TableBytesIngested
		}
		return nil
	})
	return out
}
