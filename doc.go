// Package wideleaf is an embedded storage engine for wide tables, of 128 columns and more, that are written in real
// time and queried by any combination of columns.
//
// A DB holds tables; a Table has columns and indexes. Rows are inserted in batches (Batch is columnar, and the fast
// path; Insert takes plain values), and every row is visible to every query, in full, once its commit has returned.
// Indexes of every column cost little, because an index entry is never written by itself: rows wait in memory and in a
// log, are sorted by the ten thousand, and land in packed pages that are written once (docs/architecture.md).
//
//	db, err := wideleaf.Open("dir", nil)
//	t, err := db.CreateTable(ctx, "a", wideleaf.Column{Name: "c1", Type: wideleaf.Int4}, ...)
//	err = db.CreateIndexes(ctx, "a", wideleaf.IndexDef{Name: "idx_a_1", Method: "btree", Columns: ...})
//	err = t.Insert(ctx, []any{42, ...})
//	n, err := t.Query().Where("c1 < 100000 and c2 < 10000000").Count(ctx)
//
// All methods of DB and Table may be called concurrently; a Batch, a Query and a Tx belong to one goroutine at a time.
// Contexts cancel within a tenth of a second, but for a commit that is being written: it is brought to its end, which takes half a
// second for a million rows, and the call says what became of it. Errors are *Error values with a kind and PostgreSQL's SQLSTATE.
//
// Caveats that bite:
//   - Commits are durable when they return (Sync). The latest NoSync commits may be lost in a crash, in order: what is
//     left is always the first commits, whole.
//   - A directory belongs to one process at a time.
//   - Close waits up to five seconds for queries under way, which it cancels.
package wideleaf
