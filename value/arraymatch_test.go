package value

import "testing"

// What PostgreSQL 15 says of select '{...}'::int8[] OP '{...}'.
func TestArrayMatch(t *testing.T) {
	for _, c := range []struct {
		left  string
		op    ArrayOp
		right string
		want  bool
	}{
		{"{1,2,3}", Contains, "{3,1}", true},
		{"{1,2,3}", Contains, "{3,4}", false},
		{"{1,2,3}", Contains, "{1,1,1}", true},
		{"{1}", Contains, "{}", true},
		{"{}", Contains, "{}", true},
		{"{1,NULL}", Contains, "{1}", true},
		{"{1,NULL}", Contains, "{NULL}", false},
		{"{1,NULL}", Contains, "{1,NULL}", false},
		{"{1,1}", ContainedBy, "{1,2}", true},
		{"{1,3}", ContainedBy, "{1,2}", false},
		{"{}", ContainedBy, "{1}", true},
		{"{}", ContainedBy, "{}", true},
		{"{1}", ContainedBy, "{}", false},
		{"{1,NULL}", ContainedBy, "{1,NULL}", false},
		{"{1,2}", Overlaps, "{2,3}", true},
		{"{1,2}", Overlaps, "{3}", false},
		{"{}", Overlaps, "{}", false},
		{"{NULL}", Overlaps, "{NULL}", false},
		{"{NULL,2}", Overlaps, "{NULL,2}", true},
		{"{NULL,2}", OverlapsOrNull, "{3}", true}, // not (3 = any ('{NULL,2}')) is null
		{"{2}", OverlapsOrNull, "{3}", false},
	} {
		for _, typ := range []Type{Int8Array, TextArray} {
			l, err := Parse(typ, c.left)
			if err != nil {
				t.Fatal(err)
			}
			r, err := Parse(typ, c.right)
			if err != nil {
				t.Fatal(err)
			}
			m := MatchArray(c.op, typ, r.Str())
			if m.Holds(l.Str()) != c.want || m.Complement().Holds(l.Str()) == c.want {
				t.Errorf("%s %s %s: expected %v", typ, c.left, m, c.want)
			}
		}
	}
}
