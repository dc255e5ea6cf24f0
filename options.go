package wideleaf

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"

	"github.com/cockroachdb/pebble/v2/vfs"

	"wideleaf/buildparallel"
)

// Options configure a database. The zero value of a field is its default. All are about resources: none changes what
// is stored.
type Options struct {
	// MemoryLimit is, in bytes, what the engine plans to use in all: tails of new rows, Pebble's memtables and block
	// cache, decoded pages, background work. Default 512 MiB, minimum 64 MiB, maximum 1 TiB. It is divided by fixed
	// shares (memoryShares); the Go heap is larger than what is in use, so a process should leave a third on top.
	MemoryLimit int64
	// Workers is how many background jobs (flush, merge) run at a time. Default: the number of processors that Go uses,
	// since ingesting at full speed keeps about one of them busy in the background for each one in the foreground.
	// Maximum 256.
	Workers int
	// MergeFanIn is how many runs of about one size are merged into one. Default 8: every entry is rewritten once for
	// each factor of 8 of the table's size, and a query looks into fewer than 8 runs for each. From 2 to 64.
	MergeFanIn int
	// PendingListLimit is PostgreSQL's gin_pending_list_limit, in bytes, of indexes that have none of their own: see
	// IndexOptions. Default 4 MiB, from 64 KiB to 2 TiB.
	PendingListLimit int64
	// MaintenanceWorkMem (maintenance_work_mem) is, in bytes, what building indexes may take for sorting: the total of all
	// that take part in one CreateIndexes, on top of MemoryLimit. What doesn't fit is spilled to temporary files. Default
	// 64 MiB, minimum 1 MiB, maximum 1 TiB.
	MaintenanceWorkMem int64
	// WorkMem (work_mem) is, in bytes, what each sort of a query may take, on top of MemoryLimit: an ORDER BY, a count(DISTINCT).
	// More goes to a temporary file in the database's folder, which is gone when the query ends. In a database that is opened
	// read-only or accepts no more writes, sorts take what they need. Default 4 MiB, minimum 64 KiB, maximum 1 TiB.
	WorkMem int64
	// MaxParallelMaintenanceWorkers (max_parallel_maintenance_workers) is how many workers may help the caller of one
	// CreateIndexes. Default 2, maximum 1024; -1: none. More than the processors that Go uses are never started.
	MaxParallelMaintenanceWorkers int
	// MinParallelTableScanSize (min_parallel_table_scan_size) is, in bytes of pages, the least size of a table whose indexes
	// are built by more than the caller. Default 8 MiB.
	MinParallelTableScanSize int64
	// TraceSort (trace_sort) has the sorts of index builds log what they do. Default false.
	TraceSort bool
	// AutovacuumOff leaves it to Table.Vacuum to remove deleted rows; merges, which are due anyway, still leave them out.
	// Default false.
	AutovacuumOff bool
	// AutovacuumVacuumThreshold and AutovacuumVacuumScaleFactor say, as PostgreSQL's settings of these names, when deleted rows
	// are removed from an index run: when there are more of them than the threshold plus the factor times the run's rows.
	// Defaults 50 and 0.2; from 1 to 2^31-1, and over 0 to 100.
	AutovacuumVacuumThreshold   int
	AutovacuumVacuumScaleFactor float64
	// ReadOnly opens an existing database without changing it. Default false.
	ReadOnly bool
	// Salvage opens a damaged database read-only, to get out what can be read: all rows and columns of which there is
	// something. It verifies all pages first. Values that cannot be read are NULL, indexes are not used, and DB.Damage tells what
	// is wrong and what was left out. Default false.
	Salvage bool
	// Logger receives what happens in the background. Default: slog.Default().
	Logger *slog.Logger
	// FS is the file system. Default: the operating system's.
	FS vfs.FS
}

const (
	defaultMemoryLimit = 512 << 20
	minMemoryLimit     = 64 << 20
	maxMemoryLimit     = 1 << 40
	maxWorkers         = 256
	defaultFanIn       = 8

	defaultMaintenanceWorkMem = 64 << 20
	defaultWorkMem            = 4 << 20
	minWorkMem                = 64 << 10
	defaultBuildWorkers       = 2
	maxBuildWorkers           = 1024
	defaultMinTableScan       = 8 << 20

	defaultPendingListLimit = 4 << 20
)

// withDefaults checks o, reporting everything that is wrong with it at once, and fills in the defaults.
func (o *Options) withDefaults() (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	var errs []error
	check := func(name string, v, lo, hi int64) {
		if v != 0 && (v < lo || v > hi) {
			errs = append(errs, fmt.Errorf("%s is %d, must be 0 (the default) or from %d to %d", name, v, lo, hi))
		}
	}
	check("MemoryLimit", out.MemoryLimit, minMemoryLimit, maxMemoryLimit)
	check("Workers", int64(out.Workers), 1, maxWorkers)
	check("MergeFanIn", int64(out.MergeFanIn), 2, 64)
	check("MaintenanceWorkMem", out.MaintenanceWorkMem, buildparallel.MinMemory, maxMemoryLimit)
	check("WorkMem", out.WorkMem, minWorkMem, maxMemoryLimit)
	check("MaxParallelMaintenanceWorkers", int64(out.MaxParallelMaintenanceWorkers), -1, maxBuildWorkers)
	check("MinParallelTableScanSize", out.MinParallelTableScanSize, 1, math.MaxInt64)
	check("PendingListLimit", out.PendingListLimit, minPendingListLimit, maxPendingListLimit)
	check("AutovacuumVacuumThreshold", int64(out.AutovacuumVacuumThreshold), 1, math.MaxInt32)
	if f := out.AutovacuumVacuumScaleFactor; !(f >= 0 && f <= 100) {
		errs = append(errs, fmt.Errorf("AutovacuumVacuumScaleFactor is %v, must be 0 (the default) or up to 100", f))
	}
	if len(errs) > 0 {
		return out, &Error{Kind: ErrInvalid, Code: codeInvalidParameter, Message: "invalid options", Object: "Options", Err: errors.Join(errs...)}
	}
	if out.MemoryLimit == 0 {
		out.MemoryLimit = defaultMemoryLimit
	}
	if out.Workers == 0 {
		out.Workers = min(runtime.GOMAXPROCS(0), maxWorkers)
	}
	if out.MergeFanIn == 0 {
		out.MergeFanIn = defaultFanIn
	}
	if out.PendingListLimit == 0 {
		out.PendingListLimit = defaultPendingListLimit
	}
	if out.MaintenanceWorkMem == 0 {
		out.MaintenanceWorkMem = defaultMaintenanceWorkMem
	}
	if out.WorkMem == 0 {
		out.WorkMem = defaultWorkMem
	}
	if out.MaxParallelMaintenanceWorkers == 0 {
		out.MaxParallelMaintenanceWorkers = defaultBuildWorkers
	}
	if out.MinParallelTableScanSize == 0 {
		out.MinParallelTableScanSize = defaultMinTableScan
	}
	if out.AutovacuumVacuumThreshold == 0 {
		out.AutovacuumVacuumThreshold = 50
	}
	if out.AutovacuumVacuumScaleFactor == 0 {
		out.AutovacuumVacuumScaleFactor = 0.2
	}
	out.ReadOnly = out.ReadOnly || out.Salvage
	if out.Logger == nil {
		out.Logger = slog.Default()
	}
	if out.FS == nil {
		out.FS = vfs.Default
	}
	return out, nil
}

// memoryShares says what MemoryLimit is spent on, in sixteenths of it.
const (
	cacheShare    = 4 // Pebble's block cache
	memtableShare = 2 // one memtable; Pebble may have another that it is flushing
	decodedShare  = 1 // decoded inner pages and directories (page.Cache)
	tailShare     = 5 // tails: those that wait to be flushed, and one that is filled
)

func (o *Options) share(sixteenths int64) int64 { return o.MemoryLimit / 16 * sixteenths }
