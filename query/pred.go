package query

import (
	"math"
	"strconv"
	"strings"

	"wideleaf/value"
)

// Kind says what a Pred is.
type Kind uint8

// The kinds of Preds.
const (
	False  Kind = iota // holds for no row
	True               // holds for every row
	And                // all of Args hold
	Or                 // one of Args holds
	Column             // the value of the column Attno is in Ranges
	Array              // the array in the column Attno is in Match
)

// Pred is a bound condition. It holds exactly for the rows for which the condition is TRUE: what SQL's third truth
// value does is settled by Bind, so there is no NOT here. An And or Or has at least two Args, none of its own kind and
// none True or False; no two Column Args of one And or Or are about the same column. The zero Pred is False.
//
// A Pred is immutable once Bind has returned it and may be shared.
type Pred struct {
	Kind   Kind
	Args   []*Pred      // And, Or
	Attno  int          // Column, Array
	Type   value.Type   // Column, Array: the column's type
	Ranges value.Ranges // Column: neither empty nor the whole type and NULL
	Match  *value.ArrayMatch

	sum uint64 // hash of all the above, by which Bind finds equal terms
}

// Columns returns the columns that the condition looks at, each once, in the order of their first use.
func (p *Pred) Columns() []int {
	var out []int
	seen := map[int]bool{}
	var walk func(*Pred)
	walk = func(p *Pred) {
		if (p.Kind == Column || p.Kind == Array) && !seen[p.Attno] {
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
	case Array:
		v := get(p.Attno)
		return !v.IsNull() && p.Match.Holds(v.Str())
	}
	return false
}

// String returns the condition as text, with columns as $attno: "$1 in [3, 7] and ($2 in ["a", "b") or $3 is null)".
func (p *Pred) String() string {
	var b strings.Builder
	p.write(&b, false)
	return b.String()
}

func (p *Pred) write(b *strings.Builder, nested bool) {
	switch p.Kind {
	case True:
		b.WriteString("true")
	case False:
		b.WriteString("false")
	case Column:
		b.WriteString("$" + strconv.Itoa(p.Attno))
		p.writeRanges(b)
	case Array:
		b.WriteString("$" + strconv.Itoa(p.Attno) + " " + p.Match.String())
	default:
		word := " and "
		if p.Kind == Or {
			word = " or "
		}
		if nested {
			b.WriteByte('(')
		}
		for i, a := range p.Args {
			if i > 0 {
				b.WriteString(word)
			}
			a.write(b, true)
		}
		if nested {
			b.WriteByte(')')
		}
	}
}

func (p *Pred) writeRanges(b *strings.Builder) {
	word := " in "
	for _, iv := range p.Ranges.Words {
		b.WriteString(word)
		word = ", "
		if p.Type == value.Float8 {
			iv.Lo = max(iv.Lo, value.Float8Code(math.Inf(-1))) // no value has a smaller code
		}
		b.WriteString("[" + value.OfCode(p.Type, iv.Lo).String() + ", " + value.OfCode(p.Type, iv.Hi).String() + "]")
	}
	for _, iv := range p.Ranges.Strings {
		b.WriteString(word)
		word = ", "
		open, end, shut := "[", "", ")"
		if iv.LoOpen {
			open = "("
		}
		if !iv.HiInf {
			end = strconv.Quote(iv.Hi)
			if !iv.HiOpen {
				shut = "]"
			}
		}
		b.WriteString(open + strconv.Quote(iv.Lo) + ", " + end + shut)
	}
	switch {
	case !p.Ranges.Nulls:
	case word == " in ":
		b.WriteString(" is null")
	default:
		b.WriteString(", null")
	}
}
