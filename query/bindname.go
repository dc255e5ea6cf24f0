package query

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"wideleaf/catalog"
	"wideleaf/pgerr"
	"wideleaf/query/sql"
)

// findColumn returns the position of the column of t that a name means: the one with exactly this name or, for a name
// without quotes, the only one that differs from it in case.
func findColumn(c *sql.Column, t *catalog.Table) (int, error) {
	if c.Table != "" && c.Table != t.Name && !strings.EqualFold(c.Table, t.Name) {
		return -1, &pgerr.Error{Kind: pgerr.ErrNotFound, Code: pgerr.UndefinedTable, Object: c.Table, Position: c.At,
			Message: fmt.Sprintf(`missing FROM-clause entry for table "%s"`, c.Table)}
	}
	found, ambiguous := -1, false
	for i, col := range t.Columns {
		if col.Name == c.Name {
			return i, nil
		}
		if !c.Quoted && strings.EqualFold(col.Name, c.Name) {
			ambiguous = found >= 0
			found = i
		}
	}
	if ambiguous {
		return -1, &pgerr.Error{Kind: pgerr.ErrInvalid, Code: pgerr.AmbiguousColumn, Object: c.Name, Position: c.At,
			Message: fmt.Sprintf(`column reference "%s" is ambiguous`, c.Name),
			Hint:    "Columns differ only in case. Put the name in quotes as it is written in the table."}
	}
	if found >= 0 {
		return found, nil
	}
	if strings.EqualFold(c.Name, "ctid") {
		return -1, pgerr.New(pgerr.ErrInvalid, pgerr.FeatureNotSupported, "ctid is not supported here").At(c.At)
	}
	e := &pgerr.Error{Kind: pgerr.ErrNotFound, Code: pgerr.UndefinedColumn, Object: c.Name, Position: c.At,
		Message: fmt.Sprintf(`column "%s" does not exist`, c.Name)}
	if c.Table != "" {
		e.Message = fmt.Sprintf("column %s.%s does not exist", c.Table, c.Name)
	}
	if name := nearest(c.Name, t); name != "" {
		e.Hint = fmt.Sprintf(`Perhaps you meant to reference the column "%s.%s".`, t.Name, name)
	}
	return -1, e
}

// nearest returns the column whose name is most like name, or "" if none is like it: PostgreSQL suggests what is at
// most 3 edits, and at most half of the name's length, away.
func nearest(name string, t *catalog.Table) string {
	best, least := "", 4
	for _, c := range t.Columns {
		if strings.EqualFold(c.Name, name) {
			return c.Name
		}
		d := distance(name, c.Name, least)
		if d < least && 2*d <= utf8.RuneCountInString(name) {
			best, least = c.Name, d
		}
	}
	return best
}

// distance returns the Levenshtein distance of two names, or at least limit if it is not below.
func distance(a, b string, limit int) int {
	if d := len(a) - len(b); d > 4*limit || d < -4*limit { // a character takes at most 4 bytes
		return limit
	}
	x, y := []rune(a), []rune(b)
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			d := diagonal
			if x[i] != y[j] {
				d = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], d
		}
	}
	return row[len(y)]
}
