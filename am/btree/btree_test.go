package btree

import (
	"testing"

	"wideleaf/am/amtest"
)

func TestConformance(t *testing.T) { amtest.Run(t, Method) }

// With slices this short, merges of the suite's small runs have many, and copy codes that fill more than one.
func TestConformanceShortSlices(t *testing.T) { amtest.Run(t, method{slice: 150}) }
