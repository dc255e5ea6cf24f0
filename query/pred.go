package query

import "wideleaf/value"

// Kind says what a Pred is.
type Kind uint8

// The kinds of Preds.
const (
	False  Kind = iota // holds for no row
	True               // holds for every row
	And                // all of Args hold
	Or                 // one of Args holds
	Column             // the value of the column Attno is in Ranges
)

// Pred is a bound condition. It holds exactly for the rows for which the condition is TRUE: what SQL's third truth
// value does is settled by Bind, so there is no NOT here. An And or Or has at least two Args, none of its own kind and
// none True or False; no two Column Args of one And or Or are about the same column. The zero Pred is False.
//
// A Pred is immutable once Bind has returned it and may be shared.
type Pred struct {
	Kind   Kind
	Args   []*Pred      // And, Or
	Attno  int          // Column
	Type   value.Type   // Column: the column's type
	Ranges value.Ranges // Column: neither empty nor the whole type and NULL
}

// Columns returns the columns that the condition looks at, each once, in the order of their first use.
func (p *Pred) Columns() []int {
	var out []int
	seen := map[int]bool{}
	var walk func(*Pred)
	walk = func(p *Pred) {
		if p.Kind == Column && !seen[p.Attno] {
			seen[p.Attno] = true
			out = append(out, p.Attno)
		}
		for _, a := range p.Args {
			walk(a)
		}
	}
	walk(p)
	return out
}

// Eval reports whether the condition holds for the row whose values get returns.
func (p *Pred) Eval(get func(attno int) value.Value) bool {
	switch p.Kind {
	case True:
		return true
	case And:
		for _, a := range p.Args {
			if !a.Eval(get) {
				return false
			}
		}
		return true
	case Or:
		for _, a := range p.Args {
			if a.Eval(get) {
				return true
			}
		}
		return false
	case Column:
		return p.Ranges.Contains(get(p.Attno))
	}
	return false
}
