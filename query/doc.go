// Package query answers questions about a table: it binds conditions and lists (package sql parses them) to a table's
// columns, and finds the rows, counts them, aggregates them, orders them.
//
// Words: a Pred is a bound condition that holds exactly where the SQL condition is TRUE; a Table is one immutable view
// of a table, its sources (flushed segments, then the pending list) and its indexes' runs. A condition is evaluated in
// two steps: indexes narrow the table to candidates as far as they are cheaper than the heap's columns (exec_index.go, by
// the pure functions of choose.go), then what is left is checked segment by segment on the candidates (exec.go). So nothing
// of the size of the table is built for a condition without an index, and a reader that has seen enough stops the work.
// Count, Aggregates and Rows stand on these two steps.
//
// All functions may be called concurrently, also with the same Table and Pred; a call holds its own state. They end with
// the context's error soon after it is cancelled: it is looked at for every run, segment and some pages. What must never
// break: answers are exact, each row counts once, the newest row of the Table included.
package query
