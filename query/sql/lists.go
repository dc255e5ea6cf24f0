package sql

import (
	"errors"
	"strconv"
	"strings"
	"sync"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"

	"wideleaf/pgerr"
)

// The grammars of the lists, around the expressions that parseExpr parses.
type (
	sortList struct {
		Keys []*sortItem `parser:"@@ (',' @@)*"`
	}
	sortItem struct {
		Expr  Expr   `parser:"@@"`
		Order string `parser:"@('asc' | 'desc')?"`
		Nulls string `parser:"('nulls' @('first' | 'last'))?"`
	}
	selectList struct {
		Items []*selectItem `parser:"@@ (',' @@)*"`
	}
	selectItem struct {
		Pos   lexer.Position
		Star  bool  `parser:"( @'*'"`
		Expr  Expr  `parser:"| @@"`
		Alias alias `parser:"  @@? )"`
	}
	alias struct{ name string }
)

var (
	sortParser   = sync.OnceValue(build[sortList])
	selectParser = sync.OnceValue(build[selectList])
)

func build[G any]() *participle.Parser[G] {
	return participle.MustBuild[G](participle.Lexer(definition{}), participle.CaseInsensitive("Ident"),
		participle.ParseTypeWith(parseExpr))
}

// Parse parses AS and any name, or only a name that is not reserved.
func (a *alias) Parse(lex *lexer.PeekingLexer) error {
	t := lex.Peek()
	switch {
	case t.Type == tokIdent && strings.EqualFold(t.Value, "as"):
		lex.Next()
		if t = lex.Peek(); t.Type != tokIdent && t.Type != tokQuoted {
			return syntaxError(t)
		}
	case t.Type != tokQuoted && (t.Type != tokIdent || reserved[strings.ToLower(t.Value)]):
		return participle.NextMatch
	}
	lex.Next()
	a.name = column(t).Name
	return nil
}

// parseList parses a text by a grammar and returns PostgreSQL's errors.
func parseList[G any](p *participle.Parser[G], text string) (*G, error) {
	lex, err := tokens(text)
	if err != nil {
		return nil, err
	}
	g, err := p.ParseFromLexer(lex)
	if err == nil {
		return g, nil
	}
	var known *pgerr.Error
	if errors.As(err, &known) {
		return nil, known
	}
	var unexpected *participle.UnexpectedTokenError
	if errors.As(err, &unexpected) {
		return nil, syntaxError(&unexpected.Unexpected)
	}
	return nil, &pgerr.Error{Kind: pgerr.ErrInvalid, Code: pgerr.SyntaxError, Message: "syntax error", Err: err}
}

// ParseOrderBy parses what follows ORDER BY, such as "c5 desc nulls first, c1".
func ParseOrderBy(text string) ([]SortKey, error) {
	list, err := parseList(sortParser(), text)
	if err != nil {
		return nil, err
	}
	keys := make([]SortKey, len(list.Keys))
	for i, k := range list.Keys {
		desc := strings.EqualFold(k.Order, "desc")
		first := desc
		if k.Nulls != "" {
			first = strings.EqualFold(k.Nulls, "first")
		}
		keys[i] = SortKey{Expr: k.Expr, Desc: desc, NullsFirst: first}
	}
	return keys, nil
}

// ParseSelectList parses what follows SELECT, such as `c1, "Unit price" AS price, count(*)`.
func ParseSelectList(text string) ([]SelectItem, error) {
	list, err := parseList(selectParser(), text)
	if err != nil {
		return nil, err
	}
	items := make([]SelectItem, len(list.Items))
	for i, it := range list.Items {
		items[i] = SelectItem{Star: it.Star, Expr: it.Expr, Alias: it.Alias.name, At: it.Pos.Column}
	}
	return items, nil
}

// ParseAggregates parses a list of calls of aggregate functions, such as "sum(c3), count(distinct c1)".
func ParseAggregates(text string) ([]Aggregate, error) {
	items, err := ParseSelectList(text)
	if err != nil {
		return nil, err
	}
	aggs := make([]Aggregate, len(items))
	for i, it := range items {
		call, ok := it.Expr.(*Call)
		if !ok {
			return nil, pgerr.New(pgerr.ErrInvalid, pgerr.GroupingError, "%s is not an aggregate function",
				itemText(it)).At(it.At)
		}
		args, fraction := call.Args, 0.0
		if call.Name == "percentile" && len(args) == 2 {
			if fraction, ok = number(args[1]); ok {
				args = args[:1]
			}
		}
		if call.Name == "median" {
			fraction = 0.5
		}
		if !IsAggregate(call.Name) || call.Star != (len(args) == 0) || len(args) > 1 || call.Name == "percentile" && len(call.Args) != 2 ||
			call.Star && call.Name != "count" {
			return nil, &pgerr.Error{Kind: pgerr.ErrInvalid, Code: pgerr.UndefinedFunction, Position: call.At,
				Message: "aggregate function " + call.String() + " does not exist", Object: call.Name,
				Hint: "The aggregate functions are count(*), count, sum, avg, min, max and median, of one column, and percentile(column, fraction)."}
		}
		aggs[i] = Aggregate{Func: call.Name, Star: call.Star, Distinct: call.Distinct, Fraction: fraction, Alias: it.Alias, At: call.At}
		if !call.Star {
			aggs[i].Arg = args[0]
		}
	}
	return aggs, nil
}

// number returns the value of a number that is written in a query.
func number(e Expr) (float64, bool) {
	l, ok := e.(*Literal)
	if !ok || l.Kind != Number {
		return 0, false
	}
	f, err := strconv.ParseFloat(l.Text, 64)
	return f, err == nil
}

// IsAggregate reports whether a function is an aggregate.
func IsAggregate(name string) bool {
	switch name {
	case "count", "sum", "avg", "min", "max", "median", "percentile":
		return true
	}
	return false
}

func itemText(it SelectItem) string {
	if it.Star {
		return "*"
	}
	return it.Expr.String()
}
