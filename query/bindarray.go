package query

import (
	"hash/maphash"

	"wideleaf/pgerr"
	"wideleaf/query/sql"
	"wideleaf/value"
)

// arrayOps are the operators between arrays.
var arrayOps = map[string]value.ArrayOp{"@>": value.Contains, "<@": value.ContainedBy, "&&": value.Overlaps, "%": value.Similar}

// ofArrays reports whether a side of an operator is seen at once to be an array; % is an operator of numbers, too.
func (b *binder) ofArrays(e *sql.Binary) bool {
	for _, side := range []sql.Expr{e.Left, e.Right} {
		switch s := side.(type) {
		case *sql.Column:
			if i, err := findColumn(s, b.table); err == nil && isArray(typeOf(b.table.Columns[i].Type)) {
				return true
			}
		case *sql.Cast:
			if t, err := parseType(s.Type); err == nil && isArray(t) {
				return true
			}
		}
	}
	return false
}

// arrayPred returns the Pred for the array in a column to be in a set.
func arrayPred(attno int, t value.Type, m *value.ArrayMatch) *Pred {
	return &Pred{Kind: Array, Attno: attno, Type: t, Match: m, sum: mix(mix(7, uint64(attno)), maphash.String(seed, m.String()))}
}

func isArray(t typ) bool { return t == int8ArrayType || t == textArrayType }

// arrays returns where an operator between two arrays is true or false.
func (b *binder) arrays(op value.ArrayOp, e *sql.Binary, want bool) (*Pred, error) {
	l, r, err := b.operands(e.Left, e.Right)
	if err != nil {
		return nil, err
	}
	switch {
	case l.typ == unknownType && isArray(r.typ):
		l, err = l.as(r.typ)
	case r.typ == unknownType && isArray(l.typ):
		r, err = r.as(l.typ)
	case l.typ != r.typ || !isArray(l.typ):
		err = noOperator(e.Op, l.typ, r.typ, e.At)
	}
	if err != nil {
		return nil, err
	}
	if l.con != nil && r.col != nil { // the column comes first
		l, r = r, l
		switch op {
		case value.Contains:
			op = value.ContainedBy
		case value.ContainedBy:
			op = value.Contains
		}
	}
	switch {
	case r.con == nil:
		return nil, pgerr.New(pgerr.ErrInvalid, pgerr.FeatureNotSupported, "comparing columns with each other is not supported").At(e.At)
	case r.con.null || l.con != nil && l.con.null:
		return constantPred(false), nil
	}
	m := value.MatchArray(op, valueTypes[r.typ], r.con.val.Str())
	if op == value.Similar {
		if m, err = b.similar(r.con); err != nil {
			return nil, err
		}
	}
	m.Not = !want
	if l.con != nil {
		return constantPred(m.Holds(l.con.val.Str())), nil
	}
	return arrayPred(l.col.Attno, l.col.Type, m), nil
}

// quantified returns where x = ANY (array) or x <> ALL (array) is true or false.
func (b *binder) quantified(e *sql.Quantified, want bool) (*Pred, error) {
	unsupported := func(what string) (*Pred, error) {
		return nil, pgerr.New(pgerr.ErrInvalid, pgerr.FeatureNotSupported, "%s is not supported", what).At(e.At)
	}
	if e.Op == "<>" && e.All { // not (x = any)
		want = !want
	} else if e.Op != "=" || e.All {
		word := "ANY"
		if e.All {
			word = "ALL"
		}
		return unsupported("operator " + e.Op + " with " + word)
	}
	l, r, err := b.operands(e.Left, e.Right)
	if err != nil {
		return nil, err
	}
	if r.typ == unknownType {
		t := textArrayType
		if l.typ.number() {
			t = int8ArrayType
		} else if l.typ != textType && l.typ != unknownType {
			return unsupported("ANY with an array of type " + l.typ.String())
		}
		if r, err = r.as(t); err != nil {
			return nil, err
		}
	}
	if !isArray(r.typ) {
		return nil, pgerr.New(pgerr.ErrInvalid, pgerr.WrongObjectType, "op ANY/ALL (array) requires array on right side").At(e.At)
	}
	item := operand{typ: typeOf(valueTypes[r.typ].Elem())}
	if l, _, err = b.unify("=", l, item, e.At); err != nil {
		return nil, err
	}
	if r.con != nil {
		return b.anyOf(l, r.con, item.typ, e.At, want)
	}
	switch {
	case l.con == nil:
		return unsupported("comparing columns with each other")
	case l.con.null && want:
		return constantPred(false), nil
	case l.con.null: // false of the array without items, else NULL
		return arrayPred(r.col.Attno, r.col.Type, &value.ArrayMatch{Op: value.ContainedBy, Type: r.col.Type}), nil
	}
	m := &value.ArrayMatch{Op: value.Overlaps, Type: r.col.Type}
	if m.Type == value.TextArray {
		m.Texts = []string{l.con.held()}
	} else if k, err := cutAt(value.Int8, l.con); err != nil {
		return nil, err
	} else if k.equal.Lo == k.equal.Hi {
		m.Codes = []uint64{k.equal.Lo}
	} else if k.equal != nothing {
		return unsupported("= ANY with a double precision number of this size")
	}
	if !want {
		m.Op, m.Not = value.OverlapsOrNull, true
	}
	return arrayPred(r.col.Attno, r.col.Type, m), nil
}

// anyOf returns where an operand is, or is not, equal to one of the items of a constant array.
func (b *binder) anyOf(l operand, array *constant, item typ, at int, want bool) (*Pred, error) {
	if array.null {
		return constantPred(false), nil
	}
	kind := Or
	if !want {
		kind = And
	}
	args := []*Pred{constantPred(!want)}
	for it := array.val.Items(); it.Next(); {
		if it.Null {
			args = append(args, constantPred(false)) // neither true nor false
			continue
		}
		c := &constant{typ: textType, s: it.Value().String(), at: at}
		r, err := operand{typ: textType, con: c}.as(item)
		if err != nil {
			return nil, err
		}
		p, err := b.compare("=", l, r, at, want)
		if err != nil {
			return nil, err
		}
		args = append(args, p)
	}
	return join(kind, args...), nil
}
