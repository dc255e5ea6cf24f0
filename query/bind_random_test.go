package query

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wideleaf/catalog"
	"wideleaf/value"
)

// The model: SQL's three-valued logic, spelled out, over rows of plain Go values with exact rational arithmetic. It
// knows nothing of codes, ranges and predicates.
type truth3 int8

const (
	isNo truth3 = iota
	isYes
	isMaybe // NULL
)

func truth3Of(b bool) truth3 {
	if b {
		return isYes
	}
	return isNo
}

func (t truth3) not() truth3 { return [...]truth3{isNo: isYes, isYes: isNo, isMaybe: isMaybe}[t] }

func (t truth3) and(o truth3) truth3 {
	switch {
	case t == isNo || o == isNo:
		return isNo
	case t == isMaybe || o == isMaybe:
		return isMaybe
	}
	return isYes
}

func (t truth3) or(o truth3) truth3 { return t.not().and(o.not()).not() }

// plainRow is a row: nil, int32, int64, float64, string or bool for each column.
type plainRow map[string]any

// orderPlain compares two plain values: numbers by value with NaN on top, strings by bytes, false before true.
func orderPlain(x, y any) int {
	switch x := x.(type) {
	case string:
		return strings.Compare(x, y.(string))
	case bool:
		return int(truth3Of(x)) - int(truth3Of(y.(bool)))
	case float64:
		y := y.(float64)
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		case x == y:
			return 0
		}
		return int(truth3Of(math.IsNaN(x))) - int(truth3Of(math.IsNaN(y)))
	}
	return x.(*big.Rat).Cmp(y.(*big.Rat))
}

func compareModel(op string, x, y any) truth3 {
	if x == nil || y == nil {
		return isMaybe
	}
	c := orderPlain(x, y)
	return truth3Of(map[string]bool{"=": c == 0, "<>": c != 0, "!=": c != 0, "<": c < 0, "<=": c <= 0, ">": c > 0, ">=": c >= 0}[op])
}

// meaning is a condition as text together with what it means.
type meaning struct {
	text string
	eval func(plainRow) truth3
}

// plainScalar is an operand as text together with its value.
type plainScalar struct {
	text string
	eval func(plainRow) any
}

var modelColumns = []catalog.Column{
	{Attno: 1, Name: "i", Type: value.Int4}, {Attno: 2, Name: "l", Type: value.Int8}, {Attno: 3, Name: "f", Type: value.Float8},
	{Attno: 4, Name: "s", Type: value.Text}, {Attno: 5, Name: "b", Type: value.Bool}, {Attno: 6, Name: "j", Type: value.Int4}}

var (
	modelInts    = []int64{0, 1, 2, 3, -1, -2, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64, 1 << 53, 1<<53 + 1}
	modelNumbers = []string{"0", "1", "2", "3", "-1", "-2", "0.5", "-0.5", "1.5", "2.0", "20e-1", "2147483647", "2147483648",
		"-2147483648", "-2147483649", "2147483647.5", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
		"-9223372036854775808.5", "1e30", "-1e30", "9007199254740993", "1e-20", "9999999999999999999", "10000000000000000000"}
	modelFloats = []float64{0, math.Copysign(0, -1), 1, 2, 0.5, -1.5, math.NaN(), math.Inf(1), math.Inf(-1), 1e300, 5e-324, 1 << 53}
	modelTexts  = []string{"", "a", "ab", "b", "B", "é", "a'b", "z", "\U0010ffff"}
)

// column returns a column with constants that can be compared with it, or NULL.
func modelColumn(t *rapid.T) (plainScalar, func() plainScalar) {
	c := rapid.SampledFrom(modelColumns).Draw(t, "column")
	col := plainScalar{c.Name, func(r plainRow) any {
		switch x := r[c.Name].(type) {
		case int32:
			return big.NewRat(int64(x), 1)
		case int64:
			return new(big.Rat).SetInt64(x)
		default:
			return x
		}
	}}
	return col, func() plainScalar {
		if rapid.IntRange(0, 9).Draw(t, "null") == 0 {
			return plainScalar{"NULL", func(plainRow) any { return nil }}
		}
		var text string
		var v any
		switch c.Type {
		case value.Text:
			s := rapid.SampledFrom(modelTexts).Draw(t, "text")
			text, v = "'"+strings.ReplaceAll(s, "'", "''")+"'", s
		case value.Bool:
			b := rapid.Bool().Draw(t, "bool")
			text, v = strconv.FormatBool(b), b
		case value.Float8:
			if rapid.Bool().Draw(t, "quoted") {
				f := rapid.SampledFrom(modelFloats).Draw(t, "float")
				text, v = "'"+strconv.FormatFloat(f, 'g', -1, 64)+"'", f
				break
			}
			text = rapid.SampledFrom(modelNumbers).Draw(t, "number")
			f, _ := strconv.ParseFloat(text, 64)
			v = f
		default:
			text = rapid.SampledFrom(modelNumbers).Draw(t, "number")
			v, _ = new(big.Rat).SetString(text)
		}
		return plainScalar{text, func(plainRow) any { return v }}
	}
}

func modelCondition(t *rapid.T, depth int) meaning {
	kind := rapid.IntRange(0, 12).Draw(t, "kind")
	if depth == 0 {
		kind %= 6
	}
	switch kind {
	default: // comparison
		col, constant := modelColumn(t)
		x, y := col, constant()
		if rapid.Bool().Draw(t, "swap") {
			x, y = y, x
		}
		op := rapid.SampledFrom([]string{"=", "<>", "!=", "<", "<=", ">", ">="}).Draw(t, "op")
		return meaning{x.text + " " + op + " " + y.text, func(r plainRow) truth3 { return compareModel(op, x.eval(r), y.eval(r)) }}
	case 2:
		col, constant := modelColumn(t)
		not := rapid.Bool().Draw(t, "not")
		text := map[bool]string{false: " IN (", true: " NOT IN ("}[not]
		var items []plainScalar
		for i := range rapid.IntRange(1, 5).Draw(t, "items") {
			items = append(items, constant())
			if i > 0 {
				text += ", "
			}
			text += items[i].text
		}
		return meaning{col.text + text + ")", func(r plainRow) truth3 {
			in := isNo
			for _, it := range items {
				in = in.or(compareModel("=", col.eval(r), it.eval(r)))
			}
			if not {
				return in.not()
			}
			return in
		}}
	case 3:
		col, constant := modelColumn(t)
		low, high := constant(), constant()
		not := rapid.Bool().Draw(t, "not")
		text := map[bool]string{false: " BETWEEN ", true: " NOT BETWEEN "}[not]
		return meaning{col.text + text + low.text + " AND " + high.text, func(r plainRow) truth3 {
			in := compareModel(">=", col.eval(r), low.eval(r)).and(compareModel("<=", col.eval(r), high.eval(r)))
			if not {
				return in.not()
			}
			return in
		}}
	case 4:
		col, constant := modelColumn(t)
		not := rapid.Bool().Draw(t, "not")
		word := map[bool]string{false: "", true: "NOT "}[not]
		if rapid.Bool().Draw(t, "distinct") {
			c := constant()
			return meaning{col.text + " IS " + word + "DISTINCT FROM " + c.text, func(r plainRow) truth3 {
				x, y := col.eval(r), c.eval(r)
				same := x == nil && y == nil || compareModel("=", x, y) == isYes
				return truth3Of(same == not)
			}}
		}
		return meaning{col.text + " IS " + word + "NULL", func(r plainRow) truth3 { return truth3Of((col.eval(r) == nil) != not) }}
	case 5:
		return meaning{"b", func(r plainRow) truth3 {
			if r["b"] == nil {
				return isMaybe
			}
			return truth3Of(r["b"].(bool))
		}}
	case 6, 7:
		x, y := modelCondition(t, depth-1), modelCondition(t, depth-1)
		return meaning{"(" + x.text + " AND " + y.text + ")", func(r plainRow) truth3 { return x.eval(r).and(y.eval(r)) }}
	case 8, 9:
		x, y := modelCondition(t, depth-1), modelCondition(t, depth-1)
		return meaning{"(" + x.text + " OR " + y.text + ")", func(r plainRow) truth3 { return x.eval(r).or(y.eval(r)) }}
	case 10:
		x := modelCondition(t, depth-1)
		return meaning{"NOT (" + x.text + ")", func(r plainRow) truth3 { return x.eval(r).not() }}
	case 11:
		x := modelCondition(t, depth-1)
		not := rapid.Bool().Draw(t, "not")
		test := rapid.SampledFrom([]string{"TRUE", "FALSE", "UNKNOWN", "NULL"}).Draw(t, "test")
		word := map[bool]string{false: "", true: "NOT "}[not]
		is := map[string]truth3{"TRUE": isYes, "FALSE": isNo, "UNKNOWN": isMaybe, "NULL": isMaybe}[test]
		return meaning{"(" + x.text + ") IS " + word + test, func(r plainRow) truth3 { return truth3Of((x.eval(r) == is) != not) }}
	case 12:
		x, y := modelCondition(t, depth-1), modelCondition(t, depth-1)
		op := rapid.SampledFrom([]string{"=", "<>", "<", "<=", ">", ">="}).Draw(t, "op")
		boolean := func(x truth3) any {
			if x == isMaybe {
				return nil
			}
			return x == isYes
		}
		return meaning{"(" + x.text + ") " + op + " (" + y.text + ")", func(r plainRow) truth3 {
			return compareModel(op, boolean(x.eval(r)), boolean(y.eval(r)))
		}}
	}
}

func modelRows(t *rapid.T) plainRow {
	r := plainRow{}
	null := func(v any) any {
		if rapid.IntRange(0, 4).Draw(t, "null") == 0 {
			return nil
		}
		return v
	}
	r["i"] = null(int32(rapid.SampledFrom(modelInts).Draw(t, "i")))
	r["j"] = null(int32(rapid.SampledFrom(modelInts).Draw(t, "j")))
	r["l"] = null(rapid.SampledFrom(modelInts).Draw(t, "l"))
	r["f"] = null(rapid.SampledFrom(modelFloats).Draw(t, "f"))
	r["s"] = null(rapid.SampledFrom(modelTexts).Draw(t, "s"))
	r["b"] = null(rapid.Bool().Draw(t, "b"))
	return r
}

func (r plainRow) get(attno int) value.Value {
	c := modelColumns[attno-1]
	switch x := r[c.Name].(type) {
	case int32:
		return value.OfInt4(x)
	case int64:
		return value.OfInt8(x)
	case float64:
		return value.OfFloat8(x)
	case string:
		return value.OfText(x)
	case bool:
		return value.OfBool(x)
	}
	return value.Null(c.Type)
}

func TestBindModel(t *testing.T) {
	table := &catalog.Table{Name: "t", Columns: modelColumns}
	rapid.Check(t, func(t *rapid.T) {
		m := modelCondition(t, 4)
		p, err := bindText(m.text, table)
		if err != nil {
			t.Fatalf("%s: %v", m.text, err)
		}
		checkShape(t, p)
		opposite, err := bindText("NOT ("+m.text+")", table)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			r := modelRows(t)
			want := m.eval(r)
			if got := p.Eval(r.get); got != (want == isYes) {
				t.Fatalf("%s\nis %s\nof %v: %v, want %v", m.text, p, fmt.Sprint(r), got, want == isYes)
			}
			if got := opposite.Eval(r.get); got != (want == isNo) {
				t.Fatalf("NOT %s\nis %s\nof %v: %v, want %v", m.text, opposite, fmt.Sprint(r), got, want == isNo)
			}
			if got := negate(p).Eval(r.get); got != (want != isYes) {
				t.Fatalf("complement of %s\nof %v: %v", m.text, fmt.Sprint(r), got)
			}
		}
	})
}
