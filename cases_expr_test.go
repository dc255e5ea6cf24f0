package wideleaf

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// The SQL expressions that cases make their rows with: 64-bit integers, texts, text arrays, NULL and truth values;
// CASE, AND, OR, NOT, IN, IS NULL, comparisons, + - * / % ||, chr, lpad, ARRAY[] and casts of integers.

// names are what an expression's names stand for.
type names map[string]int64

// expr is an expression, ready to be evaluated: nil is NULL.
type expr func(names) any

type exprParser struct {
	tokens []string
	at     int
}

// parseExpr reads an expression; it panics if it can't, which is a mistake in a case.
func parseExpr(text string) expr {
	p := &exprParser{tokens: exprTokens(text)}
	e := p.or()
	if p.at < len(p.tokens) {
		panic(fmt.Sprintf("%s: %q is left over", text, p.tokens[p.at:]))
	}
	return e
}

func exprTokens(s string) (out []string) {
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		n := 1
		word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }
		switch {
		case word(rune(s[0])):
			for n < len(s) && word(rune(s[n])) {
				n++
			}
		case s[0] == '\'':
			n = 2 + strings.IndexByte(s[1:], '\'')
		case len(s) > 1 && slices.Contains([]string{"<>", "<=", ">=", "||", "::"}, s[:2]):
			n = 2
		}
		out, s = append(out, s[:n]), s[n:]
	}
	return out
}

// take goes on behind a token if it is the next one; words are taken in any case.
func (p *exprParser) take(token string) bool {
	if p.at < len(p.tokens) && strings.EqualFold(p.tokens[p.at], token) {
		p.at++
		return true
	}
	return false
}

func (p *exprParser) must(token string) {
	if !p.take(token) {
		panic(fmt.Sprintf("%q wanted at %q", token, p.tokens[p.at:]))
	}
}

func (p *exprParser) or() expr {
	e := p.and()
	for p.take("OR") {
		l, r := e, p.and()
		e = func(v names) any { return l(v) == true || r(v) == true }
	}
	return e
}

func (p *exprParser) and() expr {
	e := p.not()
	for p.take("AND") {
		l, r := e, p.not()
		e = func(v names) any { return l(v) == true && r(v) == true }
	}
	return e
}

func (p *exprParser) not() expr {
	if p.take("NOT") {
		e := p.not()
		return func(v names) any { return e(v) == false }
	}
	return p.comparison()
}

func (p *exprParser) comparison() expr {
	l := p.sum()
	if p.take("IN") {
		list := p.list("(", ")")
		return func(v names) any {
			for _, e := range list {
				if e(v) == l(v) {
					return true
				}
			}
			return false
		}
	}
	for _, op := range []string{"=", "<>", "<=", ">=", "<", ">"} {
		if p.take(op) {
			r := p.sum()
			return func(v names) any {
				a, b := l(v).(int64), r(v).(int64)
				switch op {
				case "=":
					return a == b
				case "<>":
					return a != b
				case "<=":
					return a <= b
				case ">=":
					return a >= b
				case "<":
					return a < b
				}
				return a > b
			}
		}
	}
	return l
}

func (p *exprParser) sum() expr {
	e := p.product()
	for {
		l := e
		switch {
		case p.take("+"):
			r := p.product()
			e = func(v names) any { return l(v).(int64) + r(v).(int64) }
		case p.take("-"):
			r := p.product()
			e = func(v names) any { return l(v).(int64) - r(v).(int64) }
		case p.take("||"):
			r := p.product()
			e = func(v names) any { return fmt.Sprint(l(v)) + fmt.Sprint(r(v)) }
		default:
			return e
		}
	}
}

func (p *exprParser) product() expr {
	e := p.unary()
	for {
		l := e
		switch {
		case p.take("*"):
			r := p.unary()
			e = func(v names) any { return l(v).(int64) * r(v).(int64) }
		case p.take("/"):
			r := p.unary()
			e = func(v names) any { return l(v).(int64) / r(v).(int64) }
		case p.take("%"):
			r := p.unary()
			e = func(v names) any { return l(v).(int64) % r(v).(int64) }
		default:
			return e
		}
	}
}

func (p *exprParser) unary() expr {
	if p.take("-") {
		e := p.unary()
		return func(v names) any { return -e(v).(int64) }
	}
	e := p.primary()
	for p.take("::") {
		p.at++
		if l := e; strings.EqualFold(p.tokens[p.at-1], "text") {
			e = func(v names) any { return fmt.Sprint(l(v)) }
		}
	}
	return e
}

// list reads expressions between two brackets.
func (p *exprParser) list(open, end string) (out []expr) {
	p.must(open)
	for !p.take(end) {
		if len(out) > 0 {
			p.must(",")
		}
		out = append(out, p.or())
	}
	return out
}

func (p *exprParser) primary() expr {
	token := p.tokens[p.at]
	p.at++
	switch {
	case token == "(":
		e := p.or()
		p.must(")")
		return e
	case token[0] == '\'':
		return func(names) any { return token[1 : len(token)-1] }
	case unicode.IsDigit(rune(token[0])):
		n, err := strconv.ParseInt(token, 10, 64)
		if err != nil {
			panic(err)
		}
		return func(names) any { return n }
	}
	switch strings.ToUpper(token) {
	case "CASE":
		return p.caseWhen()
	case "NULL":
		return func(names) any { return nil }
	case "ARRAY":
		items := p.list("[", "]")
		return func(v names) any {
			out := make([]any, len(items))
			for i, e := range items {
				out[i] = e(v)
			}
			return out
		}
	case "CHR":
		arg := p.list("(", ")")[0]
		return func(v names) any { return string(rune(arg(v).(int64))) }
	case "LPAD":
		args := p.list("(", ")")
		return func(v names) any {
			s, n, fill := args[0](v).(string), args[1](v).(int64), args[2](v).(string)
			return strings.Repeat(fill, max(0, int(n)-len(s))) + s
		}
	}
	return func(v names) any {
		n, ok := v[token]
		if !ok {
			panic("no name " + token)
		}
		return n
	}
}

// caseWhen reads CASE [x] WHEN ... THEN ... ELSE ... END.
func (p *exprParser) caseWhen() expr {
	subject := func(names) any { return true }
	if !p.take("WHEN") {
		subject = p.or()
		p.must("WHEN")
	}
	var when, then []expr
	for {
		when = append(when, p.or())
		p.must("THEN")
		then = append(then, p.or())
		if !p.take("WHEN") {
			break
		}
	}
	other := func(names) any { return nil }
	if p.take("ELSE") {
		other = p.or()
	}
	p.must("END")
	return func(v names) any {
		x := subject(v)
		for i, w := range when {
			if w(v) == x {
				return then[i](v)
			}
		}
		return other(v)
	}
}
