//go:build !unix

package tuplesort

import "time"

// cpuTime is not known here.
func cpuTime() (user, system time.Duration) { return 0, 0 }
