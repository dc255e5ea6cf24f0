package query

import (
	"math"

	"wideleaf/pgerr"
	"wideleaf/query/sql"
	"wideleaf/value"
)

func isLike(op string) bool { return op == "~~" || op == "!~~" || op == "~~*" || op == "!~~*" }

// like binds LIKE for patterns that are a plain string or the beginning of one.
func (b *binder) like(e *sql.Binary, want bool) (*Pred, error) {
	l, r, err := b.operands(e.Left, e.Right)
	if err != nil {
		return nil, err
	}
	if l.typ != textType && l.typ != unknownType || r.typ != textType && r.typ != unknownType {
		return nil, noOperator(e.Op, l.typ, r.typ, e.At)
	}
	unsupported := func() (*Pred, error) {
		return nil, &pgerr.Error{Kind: pgerr.ErrInvalid, Code: pgerr.FeatureNotSupported, Position: e.At,
			Message: "this use of LIKE is not supported",
			Hint:    "Supported is a text column LIKE a string in which the only wildcard is a % at its end."}
	}
	if l.col == nil || r.con == nil || e.Op == "~~*" || e.Op == "!~~*" {
		return unsupported()
	}
	if r.con.null {
		return constantPred(false), nil
	}
	start, open, err := likePattern(r.con)
	if err != nil {
		return constantPred(false), b.later(err)
	}
	set := value.StringInterval{Lo: start, Hi: start}
	switch {
	case open == likeAny:
		set = startingWith(start)
	case open == likeOther:
		return unsupported()
	}
	ranges := value.OfStringIntervals(set)
	if (e.Op == "!~~") == want {
		ranges = ranges.Complement(value.Text)
	}
	return column(l.col, ranges), nil
}

// The kinds of LIKE patterns: a plain string, one followed by anything, all others.
const (
	likePlain = iota
	likeAny
	likeOther
)

// likePattern returns what a pattern's matches begin with and its kind.
func likePattern(c *constant) (start string, kind int, err error) {
	var plain []byte
	for i := 0; i < len(c.s); i++ {
		switch ch := c.s[i]; {
		case ch == '_' || kind == likeAny && ch != '%':
			return "", likeOther, nil
		case ch == '%':
			kind = likeAny
			continue
		case ch == '\\':
			if i++; i == len(c.s) {
				return "", 0, pgerr.New(pgerr.ErrInvalid, "22025", "LIKE pattern must not end with escape character")
			}
		}
		plain = append(plain, c.s[i])
	}
	return string(plain), kind, nil
}

// startingWith returns the strings that begin with a prefix.
func startingWith(prefix string) value.StringInterval {
	iv := value.StringInterval{Lo: prefix, HiInf: true}
	for n := len(prefix); n > 0; n-- {
		if last := prefix[n-1]; last < math.MaxUint8 {
			iv.Hi, iv.HiOpen, iv.HiInf = prefix[:n-1]+string([]byte{last + 1}), true, false
			break
		}
	}
	return iv
}
