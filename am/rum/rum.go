// Package rum is the RUM access method: an index over any number of columns, each of which a condition may be on (package
// inverted). Its postings carry nothing yet: it answers what GIN does, and orders by no distance.
//
// Method may be used by any number of goroutines.
package rum

import (
	"wideleaf/am"
	"wideleaf/am/inverted"
	"wideleaf/page"
)

// Method is the access method.
var Method am.Method = inverted.New("rum", inverted.Kinds{
	Leaf: page.KindRumEntryLeaf, Inner: page.KindRumEntryInner, Columns: page.KindRumColumns,
})
