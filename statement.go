package wideleaf

import (
	"context"
	"fmt"

	"wideleaf/catalog"
	"wideleaf/pgerr"
	"wideleaf/query"
	"wideleaf/query/sql"
	"wideleaf/tid"
	"wideleaf/value"
)

// statement is a DELETE or an UPDATE in the making: it reads a snapshot, and has what it found changed by the leader.
type statement struct {
	q         *Query
	tids      *tid.Set // the rows to look at; nil: all
	set       *string  // nil: DELETE
	returning bool

	rows     int64 // that it changes
	returned []Row
	placed   []placement // of the new rows
}

// attempts is how often a statement is tried beside others. Then it is done between two commits, where nobody gets ahead.
const attempts = 4

func (s *statement) run(ctx context.Context, opts []CommitOption) (err error) {
	t := s.q.t
	if err := t.writable(); err != nil {
		return err
	}
	db := t.db
	defer db.leave()
	ctx, done := db.during(ctx)
	defer done()
	defer func() {
		if err = db.cause(ctx, t.Name(), err); err != nil {
			s.rows, s.returned = 0, nil
		}
		s.tell()
	}()
	if err := s.q.changeable(ctx); err != nil {
		return err
	}
	for range attempts {
		var r request
		if err := s.plan(ctx, &r); err != nil {
			return err
		}
		if err := db.change(ctx, r.ops, r.dels, opts); err != errMoved && err != errAltered {
			return err
		}
	}
	if err := db.admit(ctx); err != nil {
		return err
	}
	return db.between(ctx, func(*commitGroup) error {
		r := &request{ctx: ctx, sync: syncs(opts)}
		if err := s.plan(ctx, r); err != nil || len(r.dels) == 0 {
			return err
		}
		defer release(r.ops)
		db.committer.commitRows([]*request{r})
		return r.err
	})
}

// changeable refuses what a DELETE or UPDATE can't do.
func (q *Query) changeable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if q.at {
		return &Error{Kind: ErrReadOnly, Code: pgerr.ReadOnlySQLTransaction, Object: q.t.Name(), Message: "a snapshot can't be changed"}
	}
	if q.orderBy != "" || q.limited || q.offset != 0 {
		return &Error{Kind: ErrInvalid, Code: pgerr.FeatureNotSupported, Object: q.t.Name(),
			Message: "DELETE and UPDATE take no ORDER BY, LIMIT or OFFSET"}
	}
	return nil
}

// plan evaluates the statement on the table as it is now and puts what it changes into r.
func (s *statement) plan(ctx context.Context, r *request) error {
	t := s.q.t
	ts, err := t.acquire()
	if err != nil {
		return err
	}
	defer ts.Release()
	def, qt := ts.Table.Def, queryTable(ts)
	p, err := s.q.pred(def)
	if err != nil {
		return err
	}
	set, err := bindSet(s.set, def)
	if err != nil {
		return err
	}
	rows, err := query.Where(ctx, qt, p, among(qt, s.tids))
	if err != nil {
		return err
	}
	defer rows.Release()
	s.rows, s.returned, s.placed = rows.Count(), nil, nil
	var columns []int
	if s.returning {
		spec, _, err := s.q.spec(def)
		if err != nil {
			return err
		}
		columns = spec.Columns
	}
	if s.rows == 0 {
		return nil
	}
	r.dels = append(r.dels, deleteOp{table: t, def: def, rows: rows.Dead()})
	if s.set == nil {
		if s.returning {
			s.returned, err = oldRows(ctx, qt, rows, columns)
		}
		return err
	}
	cols, err := updated(ctx, qt, rows, set, nil)
	if err != nil {
		return err
	}
	op, err := t.updateOp(ctx, def, cols, int(s.rows))
	if err != nil {
		return err
	}
	op.assigned = set
	if s.returning {
		s.newRows(def, cols, columns)
		op.placed = &s.placed
	}
	r.ops = append(r.ops, op)
	return nil
}

// bindSet binds a SET list; nil has no assignments.
func bindSet(text *string, def *catalog.Table) ([]query.Assignment, error) {
	if text == nil {
		return nil, nil
	}
	parsed, err := sql.ParseAssignments(*text)
	if err != nil {
		return nil, err
	}
	return query.BindAssignments(parsed, def)
}

// among returns those of some TIDs that are rows of the table; nil stays nil.
func among(qt *query.Table, tids *tid.Set) *tid.Set {
	if tids == nil {
		return nil
	}
	rows := map[uint64]int{}
	for _, src := range qt.Sources {
		rows[src.Number()] = src.Rows()
	}
	var there []tid.TID
	for t := range tids.All() {
		if int(t.Offset()) < rows[t.Segment()] && !qt.Dead.Has(t) {
			there = append(there, t)
		}
	}
	return tid.Of(there...)
}

// updated returns all columns of rows with the new values of those that are set. excluded are the columns of the rows that
// ON CONFLICT has kept out, in the same order.
func updated(ctx context.Context, qt *query.Table, rows *tid.Set, set []query.Assignment, excluded []*value.Vector) ([]*value.Vector, error) {
	def := qt.Def
	attnos := make([]int, len(def.Columns))
	width := int64(0)
	for i, c := range def.Columns {
		attnos[i] = c.Attno
		if width += 4; c.Type.Width() == value.Word64 {
			width += 4
		}
	}
	if size := width * rows.Count(); size > maxCommitBytes {
		return nil, tooLarge(def.Name, size, "Update the rows in several statements.")
	}
	old, err := query.ColumnsOf(ctx, qt, rows, attnos)
	if err != nil {
		return nil, err
	}
	return assigned(ctx, def, old, int(rows.Count()), set, excluded)
}

// assigned returns columns with the new values of those that are set.
func assigned(ctx context.Context, def *catalog.Table, old []*value.Vector, rows int, set []query.Assignment, excluded []*value.Vector) ([]*value.Vector, error) {
	cols := append([]*value.Vector(nil), old...)
	for _, a := range set {
		v, err := a.Values(ctx, rows, func(attno int) *value.Vector {
			if attno < 0 {
				return excluded[def.Column(-attno)]
			}
			return old[def.Column(attno)]
		})
		if err != nil {
			return nil, err
		}
		cols[def.Column(a.Attno)] = v
	}
	return cols, nil
}

func tooLarge(table string, size int64, hint string) error {
	return &Error{Kind: ErrInvalid, Code: pgerr.ProgramLimitExceeded, Object: table,
		Message: fmt.Sprintf("a commit of %d bytes is larger than %d", size, maxCommitBytes), Hint: hint}
}

// updateOp makes the operation that inserts new versions of rows.
func (t *Table) updateOp(ctx context.Context, def *catalog.Table, cols []*value.Vector, rows int) (insertOp, error) {
	size, err := checkRows(ctx, def, cols, rows)
	if err != nil {
		return insertOp{}, err
	}
	if size > maxCommitBytes {
		return insertOp{}, tooLarge(def.Name, size, "Update the rows in several statements.")
	}
	op := insertOp{table: t, def: def, cols: cols, rows: rows}
	op.encode(size + size/8 + 64)
	return op, nil
}

func oldRows(ctx context.Context, qt *query.Table, rows *tid.Set, columns []int) ([]Row, error) {
	found, err := query.RowsOf(ctx, qt, rows, columns)
	out := make([]Row, len(found))
	for i, row := range found {
		out[i] = row
	}
	return out, err
}

// newRows makes the rows that an update returns; their TIDs follow.
func (s *statement) newRows(def *catalog.Table, cols []*value.Vector, columns []int) {
	s.returned = make([]Row, s.rows)
	for i := range s.returned {
		row := make(Row, len(columns))
		for c, attno := range columns {
			if attno != 0 {
				row[c] = cols[def.Column(attno)].Value(i)
			}
		}
		s.returned[i] = row
	}
}

// tell puts the new rows' TIDs into what is returned.
func (s *statement) tell() {
	rows := s.returned
	for _, p := range s.placed {
		for i := range min(p.rows, len(rows)) {
			for c, v := range rows[i] {
				if v.Type() == value.Unknown { // ctid, which is never NULL
					rows[i][c] = value.OfTid(uint64(p.first) + uint64(i))
				}
			}
		}
		rows = rows[min(p.rows, len(rows)):]
	}
}
