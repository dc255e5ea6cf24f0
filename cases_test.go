package wideleaf

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wideleaf/pgerr"
)

// testdata/cases holds faults that people reported of other engines, one JSON file each, as data, statements and
// queries with the right answers, which are PostgreSQL's. The answers are the same whatever index there is, however the
// rows came in and wherever they are; so each case runs in many cells of that matrix.

// testCase is a file of testdata/cases.
type testCase struct {
	ID, Title, Category, Notes string

	Table     caseTable
	Index     []caseIndex
	Unique    []caseIndex
	NeedsRUM  bool   `json:"needs_rum"`
	RUMIndex  string `json:"rum_index"`
	Steps     []caseStep
	caseCheck             // what must hold at the end, and at each step "check"
	More      []caseCheck // likewise
	Plan      map[string]string
}

type caseTable struct {
	Name      string
	Columns   []caseColumn
	Rows      [][]any
	Generator *struct {
		I       [2]int64          // from, to
		Columns map[string]string // expressions over i
	}
	ColumnsGenerator *columnsGenerator   `json:"columns_generator"`
	RowsByColumn     []map[string]string `json:"rows_by_column"` // a row each: expressions over j, by j or "else"
}

type caseColumn struct{ Name, Type string }

// columnsGenerator stands for Count columns; {j} in the name is the number, from 1.
type columnsGenerator struct {
	Name, Type string
	Count      int
}

func (g *columnsGenerator) columns() (out []caseColumn) {
	for j := range g.Count {
		out = append(out, caseColumn{strings.ReplaceAll(g.Name, "{j}", fmt.Sprint(j+1)), g.Type})
	}
	return out
}

type caseIndex struct {
	Columns          []string
	NullsNotDistinct bool `json:"nulls_not_distinct"`
}

// caseCheck is a query and what it must answer.
type caseCheck struct {
	Query  *caseQuery
	Expect caseExpect
}

type caseQuery struct {
	Where string
	List  *caseList // the items of $list
	Chain *struct {
		caseList
		Term, Join string
	}
	Nest *struct {
		Open, Inner, Close string
		Depth              int
	}
	Select        []string
	OrderBy       string `json:"order_by"`
	GroupBy       string `json:"group_by"`
	Limit, Offset *int64
}

// caseList is the values of a formula for n from the first number to the last, and what is appended.
type caseList struct {
	N       [2]int64
	Formula string
	Append  []string
}

func (l *caseList) items() (out []string) {
	formula := parseExpr(l.Formula)
	for n := l.N[0]; n <= l.N[1]; n++ {
		out = append(out, fmt.Sprint(formula(names{"n": n})))
	}
	return append(out, l.Append...)
}

// condition returns the text of the condition.
func (q *caseQuery) condition() string {
	switch {
	case q.List != nil:
		return strings.ReplaceAll(q.Where, "$list", strings.Join(q.List.items(), ", "))
	case q.Chain != nil:
		terms := q.Chain.items()
		for i, x := range terms {
			terms[i] = strings.ReplaceAll(q.Chain.Term, "$x", x)
		}
		return strings.Join(terms, " "+q.Chain.Join+" ")
	case q.Nest != nil:
		return strings.Repeat(q.Nest.Open, q.Nest.Depth) + q.Nest.Inner + strings.Repeat(q.Nest.Close, q.Nest.Depth)
	}
	return q.Where
}

// caseExpect is the right answer: one of its fields is set.
type caseExpect struct {
	IDs    []any
	Rows   [][]any
	Count  *int64
	Value  any
	Approx json.Number
	Tol    float64
	Error  string
	AnyOf  []caseExpect `json:"any_of"`
}

// caseStep is something to do after the rows are in.
type caseStep struct {
	Op string
	caseCheck
	Rows             [][]any
	Where, Set       string
	ExpectCount      *int64 `json:"expect_count"`
	ExpectError      string `json:"expect_error"`
	Steps            []caseStep
	Name             string
	Columns          []string
	Unique           bool
	ColumnsGenerator *columnsGenerator `json:"columns_generator"`
	Text             string
	Header           bool
	Null             string
}

// cell says how a case is run.
type cell struct {
	method     string // of the indexes: none, or an access method
	whole      bool   // one index over all columns instead of one for each of the case's entries
	attach     string // that index has columns attached to others: "", attached, or ordered by them
	fastupdate bool
	filled     bool   // the indexes are made when the rows are in
	single     bool   // one row a commit
	state      string // where the rows are when the queries run
}

// The states. Rows of large cases leave the tail by themselves.
const (
	inTail   = "tail"
	sealed   = "sealed"
	flushed  = "flushed"
	merged   = "merged"
	reopened = "reopened"
	crashed  = "crashed" // opened again after a crash, in which nothing was closed
)

func (c cell) String() string {
	s := c.method + c.attach
	for _, flag := range []struct {
		on   bool
		name string
	}{{c.whole, "whole"}, {!c.fastupdate, "nofastupdate"}, {c.filled, "filled"}, {c.single, "single"}} {
		if flag.on {
			s += "-" + flag.name
		}
	}
	return s + "-" + c.state
}

// facets are what must be seen of a cell at least once in a sample.
func (c cell) facets() []string {
	return []string{fmt.Sprint(c.method, c.whole, c.attach), fmt.Sprint(c.method, "filled", c.filled), c.state,
		fmt.Sprint(c.method, "fastupdate", c.fastupdate), fmt.Sprint("single", c.single)}
}

// maxSingle is how many rows are committed one by one.
const maxSingle = 20_000

// cells returns the matrix for a case of so many rows.
func cells(rows int) (out []cell) {
	both := []bool{true, false}
	for _, method := range []string{"none", "btree", "gin", "rum"} {
		for _, whole := range both {
			if whole && method != "gin" && method != "rum" {
				continue
			}
			for _, attach := range []string{"", "attached", "ordered"} {
				if attach != "" && (method != "rum" || !whole) {
					continue
				}
				for _, fastupdate := range both {
					for _, filled := range both {
						if method == "none" && (filled || !fastupdate) {
							continue
						}
						for _, single := range both {
							if single && rows > maxSingle {
								continue
							}
							for _, state := range []string{inTail, sealed, flushed, merged, reopened, crashed} {
								out = append(out, cell{method, whole, attach, fastupdate, filled, single, state})
							}
						}
					}
				}
			}
		}
	}
	return out
}

// pairs attaches columns to others, up to some number: of every type to texts and arrays, and to others.
func (c cell) pairs(columns []caseColumn) (as []Attach) {
	const most = 8
	for _, strings := range []bool{true, false} {
		for _, to := range columns {
			for _, from := range columns {
				fixed := !slices.Contains([]string{"text", "bytea", "text[]", "int8[]"}, from.Type)
				stringy := slices.Contains([]string{"text", "bytea", "text[]", "int8[]"}, to.Type)
				if fixed && from != to && stringy == strings && len(as) < most {
					as = append(as, Attach{from.Name, to.Name})
				}
			}
		}
	}
	return as
}

// sample returns some of the cells that show every facet; small cases also every pair of facets.
func sample(all []cell, pairs bool, rnd *rand.Rand) (out []cell) {
	seen := map[[2]string]bool{}
	rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, c := range all {
		fresh := false
		facets := c.facets()
		for i, a := range facets {
			others := facets[i : i+1]
			if pairs {
				others = facets[i:]
			}
			for _, b := range others {
				fresh = fresh || !seen[[2]string{a, b}]
				seen[[2]string{a, b}] = true
			}
		}
		if fresh {
			out = append(out, c)
		}
	}
	return out
}

// nightly tells tests to do the long forms of their work.
var nightly = os.Getenv("WIDELEAF_NIGHTLY") != ""

// missing is the error for what a case needs and the engine can't do yet.
type missing struct{ what string }

func (m missing) Error() string { return "not there yet: " + m.what }

// ability turns the engine's own word that it lacks something into a missing.
func ability(err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	unknown := e.Code == pgerr.UndefinedFunction && slices.ContainsFunc([]string{" @> ", " <@ ", " && ", " <=> ", " <=| ", " |=> "},
		func(op string) bool { return strings.Contains(e.Message, op) })
	if unknown || e.Code == pgerr.FeatureNotSupported || e.Code == pgerr.UndefinedObject {
		return missing{e.Message}
	}
	return err
}

func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases: ", err)
	}
	for _, file := range files {
		c := readCase(t, file)
		rows := c.rows()
		chosen := cells(len(rows))
		if !nightly {
			chosen = sample(chosen, len(rows) < 1000, rand.New(rand.NewPCG(1, uint64(len(c.Title)))))
		}
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			lacks := map[string]int{}
			for _, cell := range chosen {
				t.Run(cell.String(), func(t *testing.T) {
					r := &caseRun{t: t, c: c, cell: cell, rows: rows, lacks: lacks}
					defer r.end()
					if err := r.run(); errors.As(err, new(missing)) {
						lacks[err.Error()]++
						t.Skip(err)
					} else if err != nil {
						t.Fatal(err)
					}
				})
			}
			for what, n := range lacks {
				t.Logf("%d times %s", n, what)
			}
		})
	}
}

func readCase(t *testing.T, file string) *testCase {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	d := json.NewDecoder(f)
	d.UseNumber()
	d.DisallowUnknownFields()
	c := new(testCase)
	if err := d.Decode(c); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if g := c.Table.ColumnsGenerator; g != nil {
		c.Table.Columns = g.columns()
	}
	return c
}

// rows returns the rows that the table begins with.
func (c *testCase) rows() [][]any {
	rows := slices.Clone(c.Table.Rows)
	if g := c.Table.Generator; g != nil {
		columns := make([]expr, len(c.Table.Columns))
		for i, col := range c.Table.Columns {
			columns[i] = parseExpr(g.Columns[col.Name])
		}
		v := names{}
		for i := g.I[0]; i <= g.I[1]; i++ {
			v["i"] = i
			row := make([]any, len(columns))
			for k, e := range columns {
				row[k] = e(v)
			}
			rows = append(rows, row)
		}
	}
	for _, by := range c.Table.RowsByColumn {
		row := make([]any, len(c.Table.Columns))
		for k := range row {
			text, ok := by[fmt.Sprint(k+1)]
			if !ok {
				text = by["else"]
			}
			row[k] = parseExpr(text)(names{"j": int64(k + 1)})
		}
		rows = append(rows, row)
	}
	return rows
}
