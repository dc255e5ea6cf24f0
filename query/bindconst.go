package query

import (
	"math"
	"strconv"
	"strings"

	"wideleaf/pgerr"
	"wideleaf/query/sql"
	"wideleaf/value"
)

// constant is a constant of a condition.
type constant struct {
	typ  typ
	null bool
	b    bool
	num  decimal // integer, bigint, numeric
	f    float64
	s    string      // text, unknown; of others as written
	val  value.Value // bytea, date, timestamptz, arrays
	at   int
}

// constant evaluates literals, casts and signs.
func (b *binder) constant(e sql.Expr) (*constant, error) {
	if err := b.enter(e); err != nil {
		return nil, err
	}
	defer b.leave()
	switch e := e.(type) {
	case *sql.Literal:
		return literal(e)
	case *sql.Cast:
		t, err := parseType(e.Type)
		if err != nil {
			return nil, atPosition(err, e.TypeAt)
		}
		o, err := b.operand(e.Arg)
		if err != nil {
			return nil, err
		}
		if o.con == nil {
			return nil, pgerr.New(pgerr.ErrInvalid, pgerr.FeatureNotSupported,
				"casts of columns and conditions are not supported").At(e.At)
		}
		c, err := o.con.cast(t, e.At)
		if err != nil && o.typ != unknownType {
			return &constant{typ: t, null: true, at: e.At}, b.later(err)
		}
		return c, err
	case *sql.Unary:
		o, err := b.operand(e.Arg)
		if err != nil {
			return nil, err
		}
		if o.con != nil && o.typ == unknownType && !o.con.null {
			return nil, &pgerr.Error{Kind: pgerr.ErrInvalid, Code: pgerr.AmbiguousFunction, Position: e.At,
				Message: "operator is not unique: " + e.Op + " unknown",
				Hint:    "Could not choose a best candidate operator. You might need to add explicit type casts."}
		}
		if e.Op != "-" && e.Op != "+" || !o.typ.number() {
			return nil, &pgerr.Error{Kind: pgerr.ErrInvalid, Code: pgerr.UndefinedFunction, Position: e.At,
				Message: "operator does not exist: " + e.Op + " " + o.typ.String(),
				Hint:    "No operator matches the given name and argument type. You might need to add an explicit type cast."}
		}
		if o.con == nil {
			return nil, pgerr.New(pgerr.ErrInvalid, pgerr.FeatureNotSupported, "operator %s is not supported in conditions",
				e.Op).At(e.At)
		}
		c := *o.con
		if e.Op == "-" {
			c.num, c.f = c.num.negated(), -c.f
			if c.typ == int4Type || c.typ == int8Type { // the negative of the smallest is out of range
				n, err := c.toInt(c.typ)
				if err != nil {
					return &constant{typ: c.typ, null: true, at: c.at}, b.later(err)
				}
				return n, nil
			}
		}
		return &c, nil
	case *sql.Param:
		return nil, pgerr.New(pgerr.ErrInvalid, pgerr.UndefinedParameter, "there is no parameter $%d", e.N).At(e.At)
	case *sql.GoValue:
		return nil, pgerr.New(pgerr.ErrInvalid, pgerr.DatatypeMismatch, "cannot use a Go value of type %s in a condition", e.Type)
	case nil:
		return nil, pgerr.New(pgerr.ErrInvalid, pgerr.SyntaxError, "a condition lacks an expression")
	}
	return nil, pgerr.New(pgerr.ErrInvalid, pgerr.FeatureNotSupported, "%s is not supported in conditions", e).At(e.Pos())
}

// literal gives a literal its type: an integer's is the first of integer, bigint and numeric that has it.
func literal(e *sql.Literal) (*constant, error) {
	c := &constant{at: e.At, s: e.Text}
	switch e.Kind {
	case sql.Null:
		c.null = true
	case sql.Bool:
		c.typ, c.b = boolType, e.Text == "true"
	case sql.Number:
		d, ok := parseDecimal(e.Text)
		if !ok {
			return nil, c.invalid(numericType)
		}
		if !d.fits() {
			return nil, c.overflow("value overflows numeric format")
		}
		c.num, c.typ = d, numericType
		if strings.ContainsAny(e.Text, ".eE") {
			break
		}
		if v, fraction, side := d.floor(); side == 0 && !fraction {
			c.typ = int8Type
			if v == int64(int32(v)) {
				c.typ = int4Type
			}
		}
	}
	return c, nil
}

func atPosition(err error, at int) error {
	if e, ok := err.(*pgerr.Error); ok {
		return e.At(at)
	}
	return err
}

func (c *constant) invalid(t typ) error {
	return pgerr.New(pgerr.ErrInvalid, pgerr.InvalidTextRepresentation, `invalid input syntax for type %s: "%s"`, t, c.s).At(c.at)
}

func (c *constant) overflow(format string, args ...any) error {
	return pgerr.New(pgerr.ErrInvalid, pgerr.NumericValueOutOfRange, format, args...).At(c.at)
}

// cast converts a constant as PostgreSQL's explicit casts do. at is where the cast stands.
func (c *constant) cast(t typ, at int) (*constant, error) {
	out := &constant{typ: t, null: c.null, at: c.at, s: c.s}
	switch {
	case c.null:
		return out, nil
	case c.typ == t:
		return c, nil
	case c.typ == unknownType || c.typ == textType:
		return out, out.read()
	}
	switch t {
	case boolType:
		if c.typ == int4Type {
			out.b = !c.num.zero()
			return out, nil
		}
	case textType:
		switch c.typ {
		case boolType:
			out.s = strconv.FormatBool(c.b)
			return out, nil
		case int4Type, int8Type:
			v, _, _ := c.num.floor()
			out.s = strconv.FormatInt(v, 10)
			return out, nil
		case float8Type:
			out.s = value.FormatFloat8(c.f)
			return out, nil
		case byteaType, dateType, timestamptzType, int8ArrayType, textArrayType:
			out.s = c.val.String()
			return out, nil
		}
		return nil, pgerr.New(pgerr.ErrInvalid, pgerr.FeatureNotSupported, "cast of type %s to text is not supported", c.typ).At(at)
	case int4Type, int8Type:
		if c.typ == boolType {
			if t == int4Type {
				if c.b {
					out.num = decimal{digits: "1", exp: 1}
				}
				return out, nil
			}
			break
		}
		if c.typ.number() {
			return c.toInt(t)
		}
	case numericType:
		switch c.typ {
		case int4Type, int8Type:
			out.num = c.num
			return out, nil
		case float8Type: // 15 digits, as PostgreSQL
			out.s = strconv.FormatFloat(c.f, 'g', 15, 64)
			return out, out.read()
		}
	case float8Type:
		if c.typ.number() {
			var err error
			out.f, err = c.float()
			return out, err
		}
	case int8ArrayType, textArrayType:
		if c.typ == int8ArrayType || c.typ == textArrayType {
			out.s = c.val.String()
			return out, out.read()
		}
	case dateType:
		if c.typ == timestamptzType {
			out.val = dateOf(c.val)
			return out, nil
		}
	case timestamptzType:
		if c.typ == dateType {
			var ok bool
			if out.val, ok = timestamptzOf(c.val); !ok {
				return nil, pgerr.New(pgerr.ErrInvalid, pgerr.DatetimeFieldOverflow, "date out of range for timestamp").At(c.at)
			}
			return out, nil
		}
	}
	return nil, pgerr.New(pgerr.ErrInvalid, pgerr.CannotCoerce, "cannot cast type %s to %s", c.typ, t).At(at)
}

// toInt rounds a number: decimals half away from zero, float8 half to even.
func (c *constant) toInt(t typ) (*constant, error) {
	d := c.num
	if c.typ == float8Type {
		f := math.RoundToEven(c.f)
		if f != f || math.Abs(f) > 1<<63 {
			return nil, c.overflow("%s out of range", t)
		}
		d, _ = parseDecimal(strconv.FormatFloat(f, 'f', 0, 64))
	}
	v, ok := d.round()
	if !ok || t == int4Type && v != int64(int32(v)) {
		return nil, c.overflow("%s out of range", t)
	}
	text := strconv.FormatInt(v, 10)
	d, _ = parseDecimal(text)
	return &constant{typ: t, num: d, s: text, at: c.at}, nil
}

// float returns a number as float8: the nearest there is.
func (c *constant) float() (float64, error) {
	if c.typ == float8Type {
		return c.f, nil
	}
	f := c.num.float()
	if math.IsInf(f, 0) && c.num.special == 0 || f == 0 && !c.num.zero() {
		return 0, c.overflow(`"%s" is out of range for type double precision`, c.s)
	}
	return f, nil
}

// read sets the value from the text c.s, as the input function of c's type does.
func (c *constant) read() error {
	if c.typ == numericType {
		return c.readNumeric()
	}
	v, err := value.Parse(valueTypes[c.typ], c.s)
	if err != nil {
		return atPosition(err, c.at)
	}
	switch c.typ {
	case boolType:
		c.b = v.Bool()
	case int4Type, int8Type:
		c.num, _ = parseDecimal(v.String())
	case float8Type:
		c.f = v.Float()
	default:
		c.val = v
	}
	return nil
}

func (c *constant) readNumeric() error {
	s := strings.Trim(c.s, " \t\n\v\f\r")
	switch strings.ToLower(s) {
	case "nan":
		c.num.special = isNaN
		return nil
	case "inf", "+inf", "infinity", "+infinity":
		c.num.special = isInf
		return nil
	case "-inf", "-infinity":
		c.num.special = isNegInf
		return nil
	}
	d, ok := parseDecimal(s)
	if !ok {
		return c.invalid(c.typ)
	}
	if !d.fits() {
		return c.overflow("value overflows numeric format")
	}
	c.num = d
	return nil
}

// held returns a string that a column of the constant's type would hold for it.
func (c *constant) held() string {
	if c.typ == textType {
		return c.s
	}
	return c.val.Str()
}
