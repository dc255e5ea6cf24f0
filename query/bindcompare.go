package query

import (
	"math"
	"sort"

	"wideleaf/catalog"
	"wideleaf/pgerr"
	"wideleaf/query/sql"
	"wideleaf/value"
)

func isComparison(op string) bool {
	switch op {
	case "=", "<>", "<", "<=", ">", ">=":
		return true
	}
	return false
}

// opposite maps an operator to the one that is true where it is false, mirrored to the one for swapped sides. All
// types are totally ordered, NaN above all numbers, so there always is one.
var (
	opposite = map[string]string{"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
	mirrored = map[string]string{"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
)

// holds reports whether an operator is true of two values that compare as c.
func holds(op string, c int) bool {
	switch op {
	case "=":
		return c == 0
	case "<>":
		return c != 0
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	}
	return c >= 0
}

func (b *binder) operands(left, right sql.Expr) (l, r operand, err error) {
	if l, err = b.operand(left); err != nil {
		return
	}
	r, err = b.operand(right)
	return
}

func (b *binder) comparison(op string, left, right sql.Expr, at int, want bool) (*Pred, error) {
	l, r, err := b.operands(left, right)
	if err != nil {
		return nil, err
	}
	return b.compare(op, l, r, at, want)
}

// compare returns where l op r is true or false.
func (b *binder) compare(op string, l, r operand, at int, want bool) (*Pred, error) {
	l, r, err := b.unify(op, l, r, at)
	if err != nil {
		return nil, err
	}
	if !want {
		op = opposite[op]
	}
	switch {
	case l.con != nil && r.con != nil:
		if l.con.null || r.con.null {
			return constantPred(false), nil
		}
		c, err := compareConstants(l.con, r.con)
		return constantPred(holds(op, c)), b.later(err)
	case l.col != nil && r.con != nil:
		return b.compareColumn(op, l.col, r.con)
	case l.con != nil && r.col != nil:
		return b.compareColumn(mirrored[op], r.col, l.con)
	case l.typ != boolType:
		return nil, pgerr.New(pgerr.ErrInvalid, pgerr.FeatureNotSupported, "comparing columns with each other is not supported").At(at)
	}
	// Two conditions or boolean columns: some of the four pairs of truth values, NULL being neither.
	var pairs []*Pred
	for i := range 4 {
		x, y := i>>1, i&1
		if !holds(op, x-y) {
			continue
		}
		p, err := b.truth(l, x == 1)
		if err != nil {
			return nil, err
		}
		q, err := b.truth(r, y == 1)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, join(And, p, q))
	}
	return join(Or, pairs...), nil
}

// unify gives a literal without a type the type of the other side and checks that the two sides can be compared.
func (b *binder) unify(op string, l, r operand, at int) (operand, operand, error) {
	var err error
	switch {
	case l.typ == unknownType && r.typ == unknownType:
		if l, err = l.as(textType); err == nil {
			r, err = r.as(textType)
		}
	case l.typ == unknownType:
		l, err = l.as(r.typ)
	case r.typ == unknownType:
		r, err = r.as(l.typ)
	case l.typ.family() != r.typ.family():
		err = noOperator(op, l.typ, r.typ, at)
	}
	return l, r, err
}

// as returns a literal without a type as one of type t.
func (o operand) as(t typ) (operand, error) {
	c, err := o.con.cast(t, o.con.at)
	return operand{typ: t, con: c}, err
}

func (b *binder) compareColumn(op string, col *catalog.Column, c *constant) (*Pred, error) {
	if c.null {
		return constantPred(false), nil
	}
	if col.Type.Width() == value.Var {
		return column(col, value.OfStringIntervals(stringsWhere(op, c.held())...)), nil
	}
	k, err := cutAt(col.Type, c)
	if err != nil {
		return constantPred(false), b.later(err)
	}
	return column(col, value.OfIntervals(k.where(op)...)), nil
}

// cut divides the codes of a type by a constant. Empty parts have Lo > Hi.
type cut struct{ below, equal, above value.Interval }

var nothing = value.Interval{Lo: 1, Hi: 0}

// where returns the codes for which value op constant is true.
func (k cut) where(op string) []value.Interval {
	switch op {
	case "=":
		return []value.Interval{k.equal}
	case "<>":
		return []value.Interval{k.below, k.above}
	case "<":
		return []value.Interval{k.below}
	case "<=":
		return []value.Interval{k.below, k.equal}
	case ">":
		return []value.Interval{k.above}
	}
	return []value.Interval{k.equal, k.above}
}

func stringsWhere(op, s string) []value.StringInterval {
	below := value.StringInterval{Hi: s, HiOpen: true}
	equal := value.StringInterval{Lo: s, Hi: s}
	above := value.StringInterval{Lo: s, LoOpen: true, HiInf: true}
	switch op {
	case "=":
		return []value.StringInterval{equal}
	case "<>":
		return []value.StringInterval{below, above}
	case "<":
		return []value.StringInterval{below}
	case "<=":
		return []value.StringInterval{below, equal}
	case ">":
		return []value.StringInterval{above}
	}
	return []value.StringInterval{equal, above}
}

// cutCodes returns the cut whose equal part is the codes [lo, hi].
func cutCodes(t value.Type, lo, hi uint64) cut {
	k := cut{below: nothing, equal: value.Interval{Lo: lo, Hi: hi}, above: nothing}
	if lo > 0 {
		k.below = value.Interval{Lo: 0, Hi: lo - 1}
	}
	if hi < t.MaxCode() {
		k.above = value.Interval{Lo: hi + 1, Hi: t.MaxCode()}
	}
	return k
}

// cutAfter returns the cut between a code and the next.
func cutAfter(t value.Type, code uint64) cut {
	k := cutCodes(t, code, code)
	k.below.Lo, k.below.Hi, k.equal = 0, code, nothing
	return k
}

// cutBeyond returns the cut by a constant above (side > 0) or below (side < 0) all values.
func cutBeyond(t value.Type, side int) cut {
	all := value.Interval{Lo: 0, Hi: t.MaxCode()}
	if side > 0 {
		return cut{below: all, equal: nothing, above: nothing}
	}
	return cut{below: nothing, equal: nothing, above: all}
}

// cutAt divides the codes of a fixed-width type by a constant that is not NULL and of the same family.
func cutAt(t value.Type, c *constant) (cut, error) {
	switch {
	case t == value.Bool:
		code := value.OfBool(c.b).Code()
		return cutCodes(t, code, code), nil
	case t == value.Date || t == value.Timestamptz:
		return cutTime(t, c), nil
	case t == value.Float8:
		f, err := c.float()
		return cutFloat(f), err
	case c.typ == float8Type:
		return cutIntByFloat(t, c.f), nil
	}
	return cutInt(t, c.num), nil
}

func cutFloat(f float64) cut {
	if f == 0 { // the two zeros are one value
		return cutCodes(value.Float8, value.NegZeroCode, value.PosZeroCode)
	}
	code := value.Float8Code(f)
	return cutCodes(value.Float8, code, code)
}

// cutInt compares integers with a decimal, exactly.
func cutInt(t value.Type, d decimal) cut {
	floor, fraction, side := d.floor()
	if side == 0 && t == value.Int4 {
		if floor > math.MaxInt32 {
			side = 1
		} else if floor < math.MinInt32 {
			side = -1
		}
	}
	if side != 0 {
		return cutBeyond(t, side)
	}
	code := intCode(t, floor)
	if fraction {
		return cutAfter(t, code)
	}
	return cutCodes(t, code, code)
}

func intCode(t value.Type, v int64) uint64 {
	if t == value.Int4 {
		return uint64(value.Int4Code(int32(v)))
	}
	return value.Int8Code(v)
}

// cutIntByFloat compares integers with a float8 as PostgreSQL does: as float8, so that a bigint beyond 2^53 equals the
// float8 nearest to it. The conversion keeps the order, so the cut can be searched for.
func cutIntByFloat(t value.Type, f float64) cut {
	if f != f {
		return cutBeyond(t, 1)
	}
	float := func(code uint64) float64 {
		if t == value.Int4 {
			return float64(value.CodeInt4(uint32(code)))
		}
		return float64(value.CodeInt8(code))
	}
	first := func(ok func(float64) bool) (code uint64, found bool) {
		if !ok(float(t.MaxCode())) {
			return 0, false
		}
		// sort.Search works on int; two halves of the codes fit.
		half := t.MaxCode()>>1 + 1
		base := uint64(0)
		if !ok(float(half - 1)) {
			base = half
		}
		return base + uint64(sort.Search(int(half-1), func(i int) bool { return ok(float(base + uint64(i))) })), true
	}
	lo, reached := first(func(x float64) bool { return x >= f })
	if !reached {
		return cutBeyond(t, 1)
	}
	hi, passed := first(func(x float64) bool { return x > f })
	switch {
	case !passed:
		return cutCodes(t, lo, t.MaxCode())
	case lo < hi:
		return cutCodes(t, lo, hi-1)
	case lo == 0:
		return cutBeyond(t, -1)
	}
	return cutAfter(t, lo-1)
}

func (b *binder) between(e *sql.Between, want bool) (*Pred, error) {
	want = want != e.Not
	arg, err := b.operand(e.Arg)
	if err != nil {
		return nil, err
	}
	low, high, err := b.operands(e.Low, e.High)
	if err != nil {
		return nil, err
	}
	within, either := And, Or
	if !want {
		within, either = Or, And
	}
	one := func(low, high operand) (*Pred, error) {
		p, err := b.compare(">=", arg, low, e.At, want)
		if err != nil {
			return nil, err
		}
		q, err := b.compare("<=", arg, high, e.At, want)
		if err != nil {
			return nil, err
		}
		return join(within, p, q), nil
	}
	p, err := one(low, high)
	if err != nil || !e.Symmetric {
		return p, err
	}
	q, err := one(high, low)
	if err != nil {
		return nil, err
	}
	return join(either, p, q), nil
}

// in binds IN. As in PostgreSQL all constants of the list are brought to one type first.
func (b *binder) in(e *sql.In, want bool) (*Pred, error) {
	want = want != e.Not
	arg, err := b.operand(e.Arg)
	if err != nil {
		return nil, err
	}
	items := make([]operand, len(e.List))
	common, constants := arg.typ, arg.expr == nil
	for i, item := range e.List {
		if items[i], err = b.operand(item); err != nil {
			return nil, err
		}
		constants = constants && items[i].con != nil
		switch t := items[i].typ; {
		case t == unknownType:
		case common == unknownType:
			common = t
		case common.family() != t.family():
			return nil, noOperator("=", arg.typ, t, e.At)
		default:
			common = max(common, t)
		}
	}
	if common == unknownType {
		common = textType
	}
	for i, o := range items {
		if o.con != nil && (o.typ == unknownType || common == float8Type) {
			if items[i], err = o.as(common); err != nil {
				return nil, err
			}
		}
	}
	if constants && arg.col != nil {
		return inColumn(arg.col, items, want)
	}
	preds := make([]*Pred, len(items))
	for i, o := range items {
		if preds[i], err = b.compare("=", arg, o, e.At, want); err != nil {
			return nil, err
		}
	}
	if want {
		return join(Or, preds...), nil
	}
	return join(And, preds...), nil
}

// inColumn returns where a column is in a list of constants, or not in it.
func inColumn(col *catalog.Column, items []operand, want bool) (*Pred, error) {
	if len(items) == 0 { // built in Go
		return constantPred(!want), nil
	}
	var words []value.Interval
	var texts []value.StringInterval
	for _, o := range items {
		switch {
		case o.con.null:
			if !want { // unlike the others it may be equal
				return constantPred(false), nil
			}
		case col.Type.Width() == value.Var:
			s := o.con.held()
			texts = append(texts, value.StringInterval{Lo: s, Hi: s})
		default:
			k, err := cutAt(col.Type, o.con)
			if err != nil {
				return nil, err
			}
			words = append(words, k.equal)
		}
	}
	r := value.OfIntervals(words...)
	if col.Type.Width() == value.Var {
		r = value.OfStringIntervals(texts...)
	}
	if !want {
		r = r.Complement(col.Type)
	}
	return column(col, r), nil
}

// compareConstants orders two constants of one family, neither NULL.
func compareConstants(l, r *constant) (int, error) {
	switch {
	case l.typ == textType:
		return value.Compare(value.OfText(l.s), value.OfText(r.s)), nil
	case l.typ == boolType:
		return value.Compare(value.OfBool(l.b), value.OfBool(r.b)), nil
	case l.typ.family() == dateType:
		return compareTimes(l, r), nil
	case !l.typ.number():
		return value.Compare(l.val, r.val), nil
	case l.typ == float8Type || r.typ == float8Type:
		x, err := l.float()
		if err != nil {
			return 0, err
		}
		y, err := r.float()
		return value.Compare(value.OfFloat8(x), value.OfFloat8(y)), err
	}
	return l.num.compare(r.num), nil
}
