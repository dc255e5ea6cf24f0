// Package rum is the RUM access method: an index over any number of columns, each of which a condition may be on (package
// inverted), whose entries carry more than TIDs. Keys of a column come with the values of the columns that are attached to
// it, so that the rows of a key are found in the order of these; and arrays with the number of their items, so that their
// similarity to others is known from the index alone.
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
}, true)
