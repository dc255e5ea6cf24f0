package inverted

import (
	"testing"

	"wideleaf/am/amtest"
	"wideleaf/page"
)

var kindsOfGin = Kinds{Leaf: page.KindGinEntryLeaf, Inner: page.KindGinEntryInner, Columns: page.KindGinColumns}

var gin = New("gin", kindsOfGin, false)

// With slices and prefixes this short, merges have many slices, and conditions on strings are rechecked. The methods
// themselves are held against the suite by their own tests.
func TestConformanceShort(t *testing.T) { amtest.Run(t, newMethod("gin", kindsOfGin, false, 150, 3)) }

// Values attached to cut strings, and lengths of arrays of such.
func TestConformanceShortPayloads(t *testing.T) {
	amtest.Run(t, newMethod("rum", kindsOfGin, true, 150, 3))
}
