//go:build !cgo

package bench

// Without C all memory is Go's.
const sixteenthsOutside = 0
