//go:build cgo

package bench

// Pebble takes its block cache and memtables, up to six sixteenths of the engine's limit, from C where there is C: Go's
// collector neither sees nor limits them.
const sixteenthsOutside = 6
