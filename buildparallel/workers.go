package buildparallel

import "wideleaf/page"

// WorkerRule is what the number of workers of an index build follows from. The names are those of PostgreSQL's settings.
type WorkerRule struct {
	TableBytes            int64 // size of the table's pages
	ParallelWorkers       *int  // the table's parallel_workers; nil: not set
	MaxMaintenanceWorkers int   // max_parallel_maintenance_workers
	MinTableScanSize      int64 // min_parallel_table_scan_size
	MaintenanceWorkMem    int64 // maintenance_work_mem, a total of all participants
	Cores                 int   // processors, a limit of this engine's own: PostgreSQL has none
}

// minShare is the memory that each participant must get for the rule to add another.
const minShare = 32 << 20

// Workers returns how many workers a build gets beside the leader, who takes part. A table's parallel_workers replaces the
// rules about its size and about memory, as in PostgreSQL.
func (r WorkerRule) Workers() int {
	limit := max(min(r.MaxMaintenanceWorkers, r.Cores-1), 0)
	if r.ParallelWorkers != nil {
		return max(min(*r.ParallelWorkers, limit), 0)
	}
	if limit == 0 || r.TableBytes < r.MinTableScanSize {
		return 0
	}
	// One, and one more for each time that the table is three times as large again.
	n := 1
	for size := max(r.MinTableScanSize, page.Size); n < limit && r.TableBytes/3 >= size; n++ {
		size *= 3
	}
	n = min(n, limit)
	for n > 0 && r.MaintenanceWorkMem/int64(n+1) < minShare {
		n--
	}
	return n
}
