// Package buildparallel builds indexes of filled tables: a parallel external sort, and the writing of what it sorts.
//
// Words: the leader is the goroutine that builds, workers help it, all of them are participants; a batch is the entries
// that a participant gathers in its share of the memory; a run is a sorted batch, in memory or on tape; a tape is a
// participant's temporary file; a slice is an interval of the order of all entries. An entry is a key and a TID, so that no
// two are equal.
//
// How an index comes about:
//
//  1. The leader decides how entries are held: code and TID in one word if they fit, as the pages' summaries tell in
//     advance, else as pairs; byte keys as pairs of a prefix and a place.
//  2. Participants take chunks of segments from a common counter until none is left. Each gathers entries in its share of
//     maintenance_work_mem, half of which is for sorting.
//  3. A full batch is sorted (by radix, input in order or in reverse order being noticed) and written to the tape as a run of
//     packed leaf pages. The last batch stays in memory, so that a participant whose share of the rows fits writes nothing.
//  4. When all are done, splitters are chosen from samples of all runs: the first entries of the pages on tape, every so many
//     entries of the runs in memory. They cut the order of the entries into slices of about one size. Any number of equal
//     keys can be cut, since TIDs are part of the order.
//  5. Participants take slices in order. Each slice is read from all runs, merged (words and pairs pairwise, byte keys through
//     a loser tree), checked for duplicates if the index is unique, and packed into leaf pages in memory.
//  6. Participants write their pages in the order of the slices, which gives them their block numbers: sealing and
//     writing is all that is done one at a time.
//  7. The leader adds NULLs where they are filed apart, and the inner pages.
//
// PostgreSQL has each worker leave one run, and its leader merge and load alone. Here no run is merged twice: reading all
// entries again to have fewer runs costs more than short reads of many.
//
// The methods, by PostgreSQL's names: quicksort is a sort in memory (though by radix), external merge one with tapes.
//
// Memory: maintenance_work_mem is for batches and what they are sorted and merged with. On top come, for each participant,
// a column of one segment (512 KiB), a slice's pages (up to 1 MB); 24 bytes for a page on tape and 48 for a leaf page of the
// index; a bit for each row of segments with NULLs. A batch has at least 4,096 entries.
//
// A build belongs to one call; its participants run concurrently. What must never break: an index has the entries of exactly
// the rows that are alive; after an error, a cancellation or a panic nothing is left: neither SSTs nor tapes nor goroutines;
// a full disk fails the build and not the database.
package buildparallel
