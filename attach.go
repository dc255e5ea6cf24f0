package wideleaf

import (
	"fmt"
	"slices"

	"wideleaf/catalog"
	"wideleaf/pgerr"
	"wideleaf/value"
)

// Attach lets the entries of an index's column To carry the value that the row has in Column, RUM's options attach and to.
// Rows that have some value in To, or some items if it is an array, are then found in the order of Column without a look
// at others: "the newest ten with tag X and tag Y" reads about ten entries of X and the entries of Y near them.
//
// Both are columns of the index. Column is of type bool, int4, int8, float8, date or timestamptz; To of any type.
type Attach struct{ Column, To string }

// attach checks what is to be attached and sets it in a definition, which has its columns already.
func (d *IndexDef) attach(def *catalog.Table, ix *catalog.Index, most int) error {
	bad := func(code, object, detail, hint, format string, args ...any) error {
		return &Error{Kind: ErrInvalid, Code: code, Object: object, Message: fmt.Sprintf(format, args...), Detail: detail, Hint: hint}
	}
	switch {
	case len(d.Attach) == 0 && d.OrderByAttach:
		return bad(pgerr.InvalidParameterValue, d.Name, "", `Name a column of the index as "attach" and another as "to".`,
			`index %q: "order_by_attach" needs an attached column`, d.Name)
	case len(d.Attach) > 0 && most == 0:
		return bad(pgerr.FeatureNotSupported, d.Name, "", `Create the index with access method "rum".`,
			"access method %q does not support attached columns", d.Method)
	}
	column := func(name, option string) (catalog.IndexColumn, error) {
		i := def.Named(name)
		if i < 0 {
			return catalog.IndexColumn{}, &Error{Kind: ErrNotFound, Code: pgerr.UndefinedColumn, Object: name, Message: fmt.Sprintf("column %q does not exist", name)}
		}
		at := ix.Place(def.Columns[i].Attno)
		if at < 0 {
			return catalog.IndexColumn{}, bad(pgerr.InvalidParameterValue, name, fmt.Sprintf("%q names a column of the index.", option),
				fmt.Sprintf("Add %q to the columns of the index.", name), "column %q is not in index %q", name, d.Name)
		}
		return ix.Columns[at], nil
	}
	for _, a := range d.Attach {
		switch {
		case a.Column == "" && a.To == "":
			return bad(pgerr.InvalidParameterValue, d.Name, "", "", `index %q: "attach" and "to" are empty`, d.Name)
		case a.To == "":
			return bad(pgerr.InvalidParameterValue, d.Name, "", `Name the column whose entries are to carry it as "to".`,
				`index %q: "attach" of column %q needs "to"`, d.Name, a.Column)
		case a.Column == "":
			return bad(pgerr.InvalidParameterValue, d.Name, "", `Name the column whose value its entries are to carry as "attach".`,
				`index %q: "to" of column %q needs "attach"`, d.Name, a.To)
		}
		from, err := column(a.Column, "attach")
		if err != nil {
			return err
		}
		to, err := column(a.To, "to")
		if err != nil {
			return err
		}
		pair := catalog.Attach{Attno: from.Attno, To: to.Attno}
		switch {
		case from.Attno == to.Attno:
			return bad(pgerr.InvalidParameterValue, a.Column, "", `Name another column as "attach" or as "to".`,
				"column %q and attached column cannot be the same", a.To)
		case from.Type.Width() == value.Var:
			return bad(pgerr.DatatypeMismatch, a.Column, "A value of type bool, int4, int8, float8, date or timestamptz can be attached.",
				"Attach a column of one of these types, for instance one that numbers the values in their order.",
				"column %q of type %s cannot be attached", a.Column, from.Type)
		case slices.Contains(ix.Attach, pair):
			return bad(pgerr.DuplicateObject, a.Column, "", "", "column %q is attached to column %q more than once", a.Column, a.To)
		}
		if ix.Attach = append(ix.Attach, pair); len(ix.Attached(ix.Place(to.Attno))) > most {
			return bad(pgerr.TooManyColumns, a.To, "", "", "cannot attach more than %d columns to one", most)
		}
	}
	ix.OrderByAttach = d.OrderByAttach
	return nil
}

// attachOf is what a definition has attached.
func attachOf(def *catalog.Table, ix *catalog.Index) (as []Attach) {
	for _, a := range ix.Attach {
		as = append(as, Attach{def.Columns[def.Column(a.Attno)].Name, def.Columns[def.Column(a.To)].Name})
	}
	return as
}
