package sql

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/participle/v2/lexer"

	"wideleaf/pgerr"
)

// The kinds of tokens. Keywords are identifiers: only the place they stand in makes them keywords.
const (
	tokIdent  lexer.TokenType = iota + 1 // abc, unquoted
	tokQuoted                            // "a""b"
	tokNumber                            // 12, 1.5, .5, 1e10
	tokString                            // 'it''s', E'\n'
	tokParam                             // $1
	tokOp                                // a run of operator characters
	tokPunct                             // ( ) [ ] , ; . : ::
)

// definition is PostgreSQL's lexer for participle. It is written by hand because what PostgreSQL does, the longest
// operator that does not end in a sign, comments within comments, takes more than regular expressions. A token's Value
// is the text as written; its position counts characters in Column, from 1 and across lines, as PostgreSQL's errors do.
type definition struct{}

// Symbols names the tokens for grammars.
func (definition) Symbols() map[string]lexer.TokenType {
	return map[string]lexer.TokenType{
		"EOF": lexer.EOF, "Ident": tokIdent, "Quoted": tokQuoted, "Number": tokNumber, "String": tokString,
		"Param": tokParam, "Op": tokOp, "Punct": tokPunct,
	}
}

// Lex returns a lexer of all that r holds.
func (d definition) Lex(name string, r io.Reader) (lexer.Lexer, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return d.LexString(name, string(b))
}

// LexString returns a lexer of a text.
func (definition) LexString(_ string, text string) (lexer.Lexer, error) {
	return &scanner{text: text, char: 1}, nil
}

// tokens cuts a text into tokens.
func tokens(text string) (*lexer.PeekingLexer, error) {
	if err := checkText(text); err != nil {
		return nil, err
	}
	return lexer.Upgrade(&scanner{text: text, char: 1})
}

// checkText refuses what PostgreSQL refuses before it looks at a text: what is not UTF-8, and the zero byte.
func checkText(text string) error {
	for i, r := range text {
		if r == 0 {
			return pgerr.New(pgerr.ErrInvalid, pgerr.CharacterNotInRepertoire,
				`invalid byte sequence for encoding "UTF8": 0x00`)
		}
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(text[i:]); n == 1 {
				return pgerr.New(pgerr.ErrInvalid, pgerr.CharacterNotInRepertoire,
					`invalid byte sequence for encoding "UTF8": 0x%02x`, text[i])
			}
		}
	}
	return nil
}

type scanner struct {
	text string
	at   int // byte
	char int // character of at, from 1

	signs int // up to here there are only signs, each an operator
}

// Next returns the next token; spaces and comments are passed over.
func (s *scanner) Next() (lexer.Token, error) {
	if err := s.skip(); err != nil {
		return lexer.Token{}, err
	}
	rest := s.text[s.at:]
	if rest == "" {
		return lexer.EOFToken(s.position()), nil
	}
	switch c := rest[0]; {
	case (c == 'e' || c == 'E') && len(rest) > 1 && rest[1] == '\'':
		n, ok := stringEnd(rest, 1, true)
		if !ok {
			return lexer.Token{}, s.error(rest, "unterminated quoted string")
		}
		return s.token(tokString, n), nil
	case isIdentStart(c):
		return s.token(tokIdent, identEnd(rest, 1)), nil
	case c >= '0' && c <= '9', c == '.' && len(rest) > 1 && isDigit(rest[1]):
		n := numberEnd(rest)
		if n < len(rest) && isIdentStart(rest[n]) {
			return lexer.Token{}, s.error(rest[:identEnd(rest, n)], "trailing junk after numeric literal")
		}
		return s.token(tokNumber, n), nil
	case c == '\'':
		n, ok := stringEnd(rest, 0, false)
		if !ok {
			return lexer.Token{}, s.error(rest, "unterminated quoted string")
		}
		return s.token(tokString, n), nil
	case c == '"':
		n, ok := quotedEnd(rest, '"')
		if !ok {
			return lexer.Token{}, s.error(rest, "unterminated quoted identifier")
		}
		if n == 2 {
			return lexer.Token{}, s.error(rest[:n], "zero-length delimited identifier")
		}
		return s.token(tokQuoted, n), nil
	case c == '$' && len(rest) > 1 && isDigit(rest[1]):
		n := 1
		for n < len(rest) && isDigit(rest[n]) {
			n++
		}
		if n < len(rest) && isIdentStart(rest[n]) {
			return lexer.Token{}, s.error(rest[:identEnd(rest, n)], "trailing junk after parameter")
		}
		return s.token(tokParam, n), nil
	case strings.HasPrefix(rest, "::"):
		return s.token(tokPunct, 2), nil
	case strings.IndexByte("()[],;.:", c) >= 0:
		return s.token(tokPunct, 1), nil
	case isOpChar(c):
		if s.at < s.signs {
			return s.token(tokOp, 1), nil
		}
		n, run := opEnd(rest)
		s.signs = s.at + run
		return s.token(tokOp, n), nil
	}
	_, n := utf8.DecodeRuneInString(rest)
	return lexer.Token{}, s.error(rest[:n], "syntax error")
}

// skip passes over spaces and comments.
func (s *scanner) skip() error {
	for s.at < len(s.text) {
		rest := s.text[s.at:]
		switch {
		case strings.IndexByte(" \t\n\r\f\v", rest[0]) >= 0:
			s.advance(1)
		case strings.HasPrefix(rest, "--"):
			n := strings.IndexAny(rest, "\r\n")
			if n < 0 {
				n = len(rest)
			}
			s.advance(n)
		case strings.HasPrefix(rest, "/*"):
			n, ok := commentEnd(rest)
			if !ok {
				return s.error(rest, "unterminated /* comment")
			}
			s.advance(n)
		default:
			return nil
		}
	}
	return nil
}

func (s *scanner) position() lexer.Position {
	return lexer.Position{Offset: s.at, Line: 1, Column: s.char}
}

func (s *scanner) advance(n int) {
	s.char += utf8.RuneCountInString(s.text[s.at : s.at+n])
	s.at += n
}

func (s *scanner) token(t lexer.TokenType, n int) lexer.Token {
	tok := lexer.Token{Type: t, Value: s.text[s.at : s.at+n], Pos: s.position()}
	s.advance(n)
	return tok
}

func (s *scanner) error(near, message string) error {
	return pgerr.New(pgerr.ErrInvalid, pgerr.SyntaxError, `%s at or near "%s"`, message, near).At(s.char)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isIdentStart(c byte) bool {
	return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
}

func isOpChar(c byte) bool { return strings.IndexByte("~!@#^&|`?+-*/%<>=", c) >= 0 }

// identEnd returns the end of an identifier in s, of which s[:from] is known to be part.
func identEnd(s string, from int) int {
	for from < len(s) && (isIdentStart(s[from]) || isDigit(s[from]) || s[from] == '$') {
		from++
	}
	return from
}

// numberEnd returns the end of the number at the start of s. An exponent without digits is left to the caller, to whom
// it is junk.
func numberEnd(s string) int {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	if n < len(s) && s[n] == '.' && !strings.HasPrefix(s[n:], "..") {
		for n++; n < len(s) && isDigit(s[n]); {
			n++
		}
	}
	if n < len(s) && s[n]|0x20 == 'e' {
		e := n + 1
		if e < len(s) && (s[e] == '+' || s[e] == '-') {
			e++
		}
		if e < len(s) && isDigit(s[e]) {
			for n = e; n < len(s) && isDigit(s[n]); {
				n++
			}
		}
	}
	return n
}

// quotedEnd returns the end of the text in doubled quotes at the start of s.
func quotedEnd(s string, quote byte) (int, bool) {
	for n := 1; n < len(s); n++ {
		if s[n] != quote {
			continue
		}
		if n+1 < len(s) && s[n+1] == quote {
			n++
			continue
		}
		return n + 1, true
	}
	return 0, false
}

// stringEnd returns the end of the string whose quote is s[open].
func stringEnd(s string, open int, escapes bool) (int, bool) {
	if !escapes {
		n, ok := quotedEnd(s[open:], '\'')
		return open + n, ok
	}
	for n := open + 1; n < len(s); n++ {
		switch {
		case s[n] == '\\':
			n++
		case s[n] == '\'' && n+1 < len(s) && s[n+1] == '\'':
			n++
		case s[n] == '\'':
			return n + 1, true
		}
	}
	return 0, false
}

// commentEnd returns the end of the comment at the start of s; comments nest.
func commentEnd(s string) (int, bool) {
	depth := 0
	for n := 0; n+1 < len(s); n++ {
		switch s[n : n+2] {
		case "/*":
			depth++
			n++
		case "*/":
			depth--
			n++
			if depth == 0 {
				return n + 1, true
			}
		}
	}
	return 0, false
}

// opEnd returns the end of the operator at the start of s: the longest run of operator characters before a comment
// that, so that a=-1 works, does not end in a sign unless it has a character that SQL's own operators lack. run is the
// end of the signs that it does not end in.
func opEnd(s string) (n, run int) {
	unsigned := 1
	for run < len(s) && isOpChar(s[run]) && !strings.HasPrefix(s[run:], "--") && !strings.HasPrefix(s[run:], "/*") {
		if s[run] != '+' && s[run] != '-' {
			unsigned = run + 1
		}
		run++
	}
	if strings.ContainsAny(s[:run], "~!@#%^&|`?") {
		return run, run
	}
	return unsigned, run
}

// unquote returns the name that a quoted identifier stands for.
func unquote(raw string) string {
	return strings.ReplaceAll(raw[1:len(raw)-1], `""`, `"`)
}

// stringValue returns the string that a literal stands for.
func stringValue(tok *lexer.Token) (string, error) {
	raw := tok.Value
	if raw[0] == '\'' {
		return strings.ReplaceAll(raw[1:len(raw)-1], "''", "'"), nil
	}
	s, err := unescape(raw[2 : len(raw)-1])
	if err == nil {
		err = checkText(s)
	}
	if e, ok := err.(*pgerr.Error); ok {
		err = e.At(tok.Pos.Column)
	}
	return s, err
}

// unescape resolves the escapes of an E” string.
func unescape(raw string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c == '\'' { // doubled
			i++
		}
		if c != '\\' {
			b.WriteByte(c)
			continue
		}
		i++ // the lexer has seen that a character follows
		switch c = raw[i]; c {
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case 'v':
			b.WriteByte('\v')
		case '0', '1', '2', '3', '4', '5', '6', '7':
			v, n := digits(raw[i:], 3, 8)
			b.WriteByte(byte(v))
			i += n - 1
		case 'x':
			v, n := digits(raw[i+1:], 2, 16)
			if n == 0 {
				b.WriteByte('x')
				continue
			}
			b.WriteByte(byte(v))
			i += n
		case 'u', 'U':
			want := 4
			if c == 'U' {
				want = 8
			}
			v, n := digits(raw[i+1:], want, 16)
			if n < want {
				return "", &pgerr.Error{Kind: pgerr.ErrInvalid, Code: "22025", Message: "invalid Unicode escape",
					Hint: `Unicode escapes must be \uXXXX or \UXXXXXXXX.`}
			}
			i += n
			if v >= 0xD800 && v < 0xDC00 && strings.HasPrefix(raw[i+1:], `\u`) {
				if low, n := digits(raw[i+3:], 4, 16); n == 4 && low >= 0xDC00 && low < 0xE000 {
					v = 0x10000 + (v-0xD800)<<10 + low - 0xDC00
					i += 6
				}
			}
			if v == 0 || !utf8.ValidRune(rune(v)) || v > utf8.MaxRune {
				return "", pgerr.New(pgerr.ErrInvalid, pgerr.SyntaxError, "invalid Unicode escape value")
			}
			b.WriteRune(rune(v))
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), nil
}

// digits reads up to limit digits of a base and returns their value and number.
func digits(s string, limit int, base uint32) (v uint32, n int) {
	for n < limit && n < len(s) {
		d := uint32(255)
		switch c := s[n]; {
		case isDigit(c):
			d = uint32(c - '0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			d = uint32(c|0x20-'a') + 10
		}
		if d >= base {
			break
		}
		v = v*base + d
		n++
	}
	return v, n
}

// syntaxError says that a token cannot stand where it stands.
func syntaxError(tok *lexer.Token) error {
	if tok.EOF() {
		return pgerr.New(pgerr.ErrInvalid, pgerr.SyntaxError, "syntax error at end of input").At(tok.Pos.Column)
	}
	return pgerr.New(pgerr.ErrInvalid, pgerr.SyntaxError, `syntax error at or near "%s"`, tok.Value).At(tok.Pos.Column)
}

// tooDeep is the error for nesting beyond MaxDepth.
func tooDeep(at int) error {
	return &pgerr.Error{Kind: pgerr.ErrInvalid, Code: pgerr.StatementTooComplex, Message: "stack depth limit exceeded",
		Detail: fmt.Sprintf("Expressions may be nested %d deep.", MaxDepth), Position: at}
}
