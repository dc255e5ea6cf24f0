package buildparallel

import "testing"

func TestWorkers(t *testing.T) {
	const mb = 1 << 20
	p := func(n int) *int { return &n }
	for _, c := range []struct {
		name string
		r    WorkerRule
		want int
	}{
		{"below the least size", WorkerRule{8*mb - 1, nil, 9, 8 * mb, 1 << 40, 64}, 0},
		{"at the least size", WorkerRule{8 * mb, nil, 9, 8 * mb, 1 << 40, 64}, 1},
		{"below three times", WorkerRule{24*mb - 1, nil, 9, 8 * mb, 1 << 40, 64}, 1},
		{"24 MB", WorkerRule{24 * mb, nil, 9, 8 * mb, 1 << 40, 64}, 2},
		{"72 MB", WorkerRule{72 * mb, nil, 9, 8 * mb, 1 << 40, 64}, 3},
		{"216 MB", WorkerRule{216 * mb, nil, 9, 8 * mb, 1 << 40, 64}, 4},
		{"648 MB", WorkerRule{648 * mb, nil, 9, 8 * mb, 1 << 40, 64}, 5},
		{"1944 MB", WorkerRule{1944 * mb, nil, 9, 8 * mb, 1 << 40, 64}, 6},
		{"5832 MB", WorkerRule{5832 * mb, nil, 9, 8 * mb, 1 << 40, 64}, 7},
		{"17496 MB", WorkerRule{17496 * mb, nil, 9, 8 * mb, 1 << 40, 64}, 8},
		{"a huge table", WorkerRule{1 << 62, nil, 1024, 8 * mb, 1 << 60, 4096}, 25},
		{"max_parallel_maintenance_workers", WorkerRule{648 * mb, nil, 2, 8 * mb, 1 << 40, 64}, 2},
		{"none allowed", WorkerRule{648 * mb, nil, 0, 8 * mb, 1 << 40, 64}, 0},
		{"no least size", WorkerRule{1, nil, 9, 0, 1 << 40, 64}, 1},
		{"an empty table without a least size", WorkerRule{0, nil, 9, 0, 1 << 40, 64}, 1},
		{"63 MB of memory", WorkerRule{648 * mb, nil, 9, 8 * mb, 64*mb - 1, 64}, 0},
		{"64 MB of memory", WorkerRule{648 * mb, nil, 9, 8 * mb, 64 * mb, 64}, 1},
		{"96 MB of memory", WorkerRule{648 * mb, nil, 9, 8 * mb, 96 * mb, 64}, 2},
		{"128 MB of memory", WorkerRule{648 * mb, nil, 9, 8 * mb, 128 * mb, 64}, 3},
		{"160 MB of memory", WorkerRule{648 * mb, nil, 9, 8 * mb, 160 * mb, 64}, 4},
		{"256 MB of memory", WorkerRule{1 << 50, nil, 9, 8 * mb, 256 * mb, 64}, 7},
		{"parallel_workers of a small table with little memory", WorkerRule{1, p(4), 9, 8 * mb, mb, 64}, 4},
		{"parallel_workers over the limit", WorkerRule{1, p(4), 2, 8 * mb, mb, 64}, 2},
		{"parallel_workers 0", WorkerRule{648 * mb, p(0), 9, 8 * mb, 1 << 40, 64}, 0},
		{"two cores", WorkerRule{648 * mb, nil, 9, 8 * mb, 1 << 40, 2}, 1},
		{"parallel_workers on two cores", WorkerRule{1, p(8), 8, 8 * mb, mb, 2}, 1},
		{"one core", WorkerRule{648 * mb, nil, 9, 8 * mb, 1 << 40, 1}, 0},
	} {
		if got := c.r.Workers(); got != c.want {
			t.Errorf("%s: %d workers, expected %d", c.name, got, c.want)
		}
	}
}
