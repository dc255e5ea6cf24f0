package query

import (
	"fmt"

	"wideleaf/catalog"
	"wideleaf/pgerr"
	"wideleaf/query/sql"
)

// BindSelectList resolves the columns of a select list. It returns their attnos, 0 for ctid, and the names of the
// result's columns.
func BindSelectList(items []sql.SelectItem, t *catalog.Table) (attnos []int, names []string, err error) {
	for _, it := range items {
		if it.Star {
			for _, c := range t.Columns {
				attnos, names = append(attnos, c.Attno), append(names, c.Name)
			}
			continue
		}
		attno, name, err := bindName(it.Expr, t)
		if err != nil {
			return nil, nil, err
		}
		if it.Alias != "" {
			name = it.Alias
		}
		attnos, names = append(attnos, attno), append(names, name)
	}
	return attnos, names, nil
}

// BindOrderBy resolves the columns of an ORDER BY list, and the distances of columns from constants.
func (s Settings) BindOrderBy(keys []sql.SortKey, t *catalog.Table) ([]OrderKey, error) {
	out := make([]OrderKey, len(keys))
	for i, k := range keys {
		out[i] = OrderKey{Desc: k.Desc, NullsFirst: k.NullsFirst}
		var err error
		if e, ok := k.Expr.(*sql.Binary); ok && isDistance(e.Op) {
			out[i].Attno, out[i].Distance, err = s.bindDistance(e, t)
		} else {
			out[i].Attno, _, err = bindName(k.Expr, t)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// BindAggregates resolves aggregates of a table's columns.
func BindAggregates(aggs []sql.Aggregate, t *catalog.Table) ([]Aggregate, error) {
	out := make([]Aggregate, len(aggs))
	for i, a := range aggs {
		if a.Star {
			out[i] = Aggregate{Func: CountRows}
			continue
		}
		attno, name, err := bindName(a.Arg, t)
		if err != nil {
			return nil, err
		}
		if attno == 0 {
			return nil, unsupported(a.At, "aggregates of the system column %q are not supported", name)
		}
		for f := CountOf; f <= Percentile; f++ {
			if f.String() == a.Func || f == Percentile && a.Func == "median" {
				out[i] = Aggregate{Func: f, Attno: attno, Distinct: a.Distinct, Fraction: a.Fraction}
			}
		}
		if err := CheckFraction(a.Fraction); err != nil {
			return nil, err
		}
		if _, err := out[i].Func.Result(t.Columns[t.Column(attno)].Type); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// BindColumn resolves a column by its exact name.
func BindColumn(name string, t *catalog.Table) (attno int, err error) {
	i, err := findColumn(sql.Col(name), t)
	if err != nil {
		return 0, err
	}
	return t.Columns[i].Attno, nil
}

// bindName resolves an expression that must be a column, or ctid (attno 0).
func bindName(e sql.Expr, t *catalog.Table) (attno int, name string, err error) {
	c, ok := e.(*sql.Column)
	if !ok {
		return 0, "", unsupported(e.Pos(), "expressions other than a column are not supported here: %s", e)
	}
	i, err := findColumn(c, t)
	if err != nil {
		if c.Name == "ctid" {
			return 0, "ctid", nil
		}
		return 0, "", err
	}
	return t.Columns[i].Attno, t.Columns[i].Name, nil
}

func unsupported(at int, format string, args ...any) error {
	return &pgerr.Error{Kind: pgerr.ErrInvalid, Code: pgerr.FeatureNotSupported, Message: fmt.Sprintf(format, args...), Position: at}
}
