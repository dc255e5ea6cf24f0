// Package tuplesort has the parts of an external sort that index builds and queries share: batches of byte keys that become
// sorted runs in memory or on tape, tapes, the merge of runs, the lines of trace_sort, and memory that is used again.
//
// Words: an entry is a key and a TID; a batch is the entries that are gathered in a given memory; a run is a sorted batch; a tape
// is a temporary file of runs in packed leaf pages, each with a checksum.
//
// A batch and a merger belong to one goroutine each; runs, once they are made, may be merged by several at a time. What must
// never break: a merge gives exactly the entries that were added, in order; a tape leaves no file once it is closed.
package tuplesort
