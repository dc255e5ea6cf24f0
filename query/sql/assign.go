package sql

import "strings"

// Assignment is column = expression in the SET list of an UPDATE.
type Assignment struct {
	Column *Column
	Expr   Expr // nil: DEFAULT
	At     int  // of the expression
}

// ParseAssignments parses what follows SET, such as "c2 = c2 / 2, name = default".
func ParseAssignments(text string) ([]Assignment, error) {
	lex, err := tokens(text)
	if err != nil {
		return nil, err
	}
	var list []Assignment
	for {
		name := lex.Next()
		if name.Type != tokQuoted && (name.Type != tokIdent || reserved[strings.ToLower(name.Value)]) {
			return nil, syntaxError(name)
		}
		if t := lex.Next(); t.Type != tokOp || t.Value != "=" {
			return nil, syntaxError(t)
		}
		a := Assignment{Column: column(name), At: lex.Peek().Pos.Column}
		if t := lex.Peek(); t.Type == tokIdent && strings.EqualFold(t.Value, "default") {
			lex.Next()
		} else if a.Expr, err = parseExpr(lex); err != nil {
			return nil, err
		}
		list = append(list, a)
		t := lex.Next()
		if t.EOF() {
			return list, nil
		}
		if t.Value != "," || t.Type != tokPunct {
			return nil, syntaxError(t)
		}
	}
}
