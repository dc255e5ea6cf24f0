package gin

import (
	"testing"

	"wideleaf/am/amtest"
)

func TestConformance(t *testing.T) { amtest.Run(t, Method) }

// With slices and prefixes this short, merges have many slices, and conditions on strings are rechecked.
func TestConformanceShort(t *testing.T) { amtest.Run(t, method{form(150, 3)}) }
