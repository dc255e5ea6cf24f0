// Package gin is the GIN access method: one index over any number of columns, each of which a condition may be on (package inverted).
//
// Method may be used by any number of goroutines.
package gin

import (
	"wideleaf/am"
	"wideleaf/am/inverted"
	"wideleaf/page"
)

// Method is the access method.
var Method am.Method = inverted.New("gin", inverted.Kinds{
	Leaf: page.KindGinEntryLeaf, Inner: page.KindGinEntryInner, Columns: page.KindGinColumns,
}, false)
