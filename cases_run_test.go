package wideleaf

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"wideleaf/value"
)

// caseRun is one case in one cell.
type caseRun struct {
	t     *testing.T
	c     *testCase
	cell  cell
	rows  [][]any
	lacks map[string]int // what queries of the case need and the engine lacks

	fs     vfs.FS // of memory that can crash, or the disk's for steps that other processes do
	dir    string
	db     *DB
	tb     *Table
	paused bool
}

func (r *caseRun) run() error {
	ctx := r.t.Context()
	r.fs, r.dir = vfs.NewCrashableMem(), "db"
	if slices.ContainsFunc(r.c.Steps, func(s caseStep) bool { return s.Op == "load_csv" }) {
		r.fs, r.dir = vfs.Default, filepath.Join(r.t.TempDir(), "db")
	}
	if err := r.open(); err != nil {
		return err
	}
	columns, err := caseColumns(r.c.Table.Columns)
	if err != nil {
		return err
	}
	if r.tb, err = r.db.CreateTable(ctx, "t", columns...); err != nil {
		return ability(err)
	}
	if r.cell.state == sealed {
		r.pause()
	}
	setup := []func() error{r.createIndexes, r.load}
	if r.cell.filled {
		slices.Reverse(setup)
	}
	for _, do := range setup {
		if err := do(); err != nil {
			return err
		}
	}
	for _, u := range r.c.Unique {
		if err := r.createIndex("t_u_"+strings.Join(u.Columns, "_"), "btree", u, true); err != nil {
			return err
		}
	}
	if err := r.steps(r.c.Steps); err != nil {
		return err
	}
	if err := r.checkAll(); err != nil {
		return err
	}
	return r.db.Check(ctx)
}

func (r *caseRun) open() (err error) {
	o := testOptions(r.fs)
	o.MemoryLimit = defaultMemoryLimit // sealed rows stay in memory
	if r.cell.state == merged {
		o.MergeFanIn = 2
	}
	r.db, err = Open(r.dir, o)
	return err
}

func (r *caseRun) end() {
	if r.db != nil {
		r.resume()
		if err := r.db.Close(); err != nil {
			r.t.Error(err)
		}
	}
}

func (r *caseRun) pause() {
	if !r.paused {
		r.db.pool.Pause()
	}
	r.paused = true
}

func (r *caseRun) resume() {
	if r.paused {
		r.db.pool.Resume()
	}
	r.paused = false
}

func caseColumns(cols []caseColumn) ([]Column, error) {
	out := make([]Column, len(cols))
	for i, c := range cols {
		typ, ok := value.ParseType(c.Type)
		if !ok {
			return nil, missing{"type " + c.Type}
		}
		out[i] = Column{Name: c.Name, Type: typ}
	}
	return out, nil
}

func (r *caseRun) createIndexes() error {
	entries := r.c.Index
	switch {
	case r.cell.method == "none":
		return nil
	case r.cell.whole:
		var all caseIndex
		for _, c := range r.c.Table.Columns {
			all.Columns = append(all.Columns, c.Name)
		}
		entries = []caseIndex{all}
	}
	for i, e := range entries {
		if err := r.createIndex(fmt.Sprint("t_", i), r.cell.method, e, false); err != nil {
			return err
		}
	}
	return nil
}

func (r *caseRun) createIndex(name, method string, e caseIndex, unique bool) error {
	def := IndexDef{Name: name, Method: method}
	for _, c := range e.Columns {
		words := strings.Fields(c)
		col := IndexColumn{Name: words[0]}
		if method == "btree" { // the others have no order
			order := strings.ToUpper(strings.Join(words[1:], " "))
			col.Desc = strings.Contains(order, "DESC")
			if strings.Contains(order, "NULLS") {
				first := strings.Contains(order, "FIRST")
				col.NullsFirst = &first
			}
		}
		def.Columns = append(def.Columns, col)
	}
	if r.cell.attach != "" && !unique && len(e.Columns) == len(r.c.Table.Columns) {
		def.Attach = r.cell.pairs(r.c.Table.Columns)
		def.OrderByAttach = r.cell.attach == "ordered" && len(def.Attach) > 0
	}
	if unique {
		f := reflect.ValueOf(&def).Elem().FieldByName("Unique")
		if !f.IsValid() {
			return missing{"unique indexes"}
		}
		f.SetBool(true)
	}
	if !r.cell.fastupdate {
		def.FastUpdate = new(bool)
	}
	return ability(r.db.CreateIndexes(r.t.Context(), "t", def))
}

// load puts the case's rows into the table, in four parts that are flushed if the state asks for it.
func (r *caseRun) load() error {
	parts := 1
	if r.cell.state == flushed || r.cell.state == merged {
		parts = 4
	}
	for p := range parts {
		rows := r.rows[len(r.rows)*p/parts : len(r.rows)*(p+1)/parts]
		each := max(len(rows), 1)
		if r.cell.single {
			each = 1
		}
		for part := range slices.Chunk(rows, each) {
			if err := r.insert(part); err != nil {
				return err
			}
		}
		if parts > 1 {
			if err := r.tb.Flush(r.t.Context()); err != nil {
				return err
			}
		}
	}
	return nil
}

// insert commits rows together.
func (r *caseRun) insert(rows [][]any) error {
	b, err := r.batch(rows)
	if err != nil {
		return err
	}
	return r.tb.InsertBatch(r.t.Context(), b)
}

func (r *caseRun) batch(rows [][]any) (*Batch, error) {
	b := r.tb.NewBatch()
	cols := r.tb.Columns()
	vals := make([]any, len(cols))
	for _, row := range rows {
		for i, x := range row {
			v, err := caseValue(cols[i].Type, x)
			if err != nil {
				return nil, err
			}
			vals[i] = v
		}
		if err := b.Append(vals...); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// caseValue returns what Batch.Append takes for a case's value.
func caseValue(typ Type, x any) (any, error) {
	switch x := x.(type) {
	case json.Number:
		if typ == Float8 {
			return x.Float64()
		}
		return x.Int64()
	case map[string]any:
		if s, ok := x["hex"].(string); ok {
			b, err := hex.DecodeString(s)
			return string(b), err
		}
		list := x["repeat"].([]any)
		n, err := list[1].(json.Number).Int64()
		then, _ := x["then"].(string)
		return strings.Repeat(list[0].(string), int(n)) + then, err
	case []any:
		items := make([]Value, len(x))
		for i, item := range x {
			switch item := item.(type) {
			case nil:
				items[i] = value.Null(typ.Elem())
			case string:
				items[i] = value.OfText(item)
			case json.Number:
				n, err := item.Int64()
				if err != nil {
					return nil, err
				}
				items[i] = value.OfInt8(n)
			}
		}
		return value.OfArray(typ, items), nil
	case string:
		if typ != Text {
			return value.Parse(typ, x)
		}
	}
	return x, nil
}

func (r *caseRun) steps(steps []caseStep) error {
	for i, s := range steps {
		err := r.step(s)
		var m missing
		switch {
		case errors.As(err, &m):
			return err
		case s.ExpectError != "" && sqlState(err) != s.ExpectError:
			return fmt.Errorf("step %d, %s: got %v, want SQLSTATE %s", i, s.Op, err, s.ExpectError)
		case s.ExpectError == "" && err != nil:
			return fmt.Errorf("step %d, %s: %w", i, s.Op, err)
		}
	}
	return nil
}

func sqlState(err error) string {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func (r *caseRun) step(s caseStep) error {
	ctx := r.t.Context()
	held := r.cell.state == inTail || r.cell.state == sealed // rows stay where they are
	switch s.Op {
	case "note": // says what else a person may try
		return nil
	case "insert":
		return r.insert(s.Rows)
	case "query":
		return r.check(s.caseCheck)
	case "check":
		return r.checkAll()
	case "flush":
		if held {
			return nil
		}
		return r.tb.Flush(ctx)
	case "merge":
		if held {
			return nil
		}
		return r.db.Settle(ctx)
	case "reopen":
		return r.reopen()
	case "create_index":
		return r.createIndex(s.Name, "btree", caseIndex{Columns: s.Columns}, s.Unique)
	case "create_table":
		columns, err := caseColumns(s.ColumnsGenerator.columns())
		if err != nil {
			return err
		}
		_, err = r.db.CreateTable(ctx, "t2", columns...)
		return err
	case "load_csv":
		return r.loadCSV(s)
	case "delete":
		n, err := r.tb.DeleteWhere(ctx, s.Where)
		return s.counted(n, err)
	case "update":
		n, err := r.tb.UpdateWhere(ctx, s.Where, s.Set)
		return s.counted(n, err)
	case "vacuum":
		if held {
			return nil
		}
		_, err := r.tb.Vacuum(ctx, VacuumOptions{Full: true})
		return errors.Join(err, r.db.Check(ctx))
	case "drop_index":
		return r.db.DropIndex(ctx, s.Name)
	case "transaction":
		return r.db.Update(ctx, func(tx *Tx) error { return r.inTransaction(tx, s.Steps) })
	}
	return missing{s.Op}
}

func (r *caseRun) inTransaction(tx *Tx, steps []caseStep) error {
	ctx := r.t.Context()
	for _, s := range steps {
		var n int64
		var err error
		switch s.Op {
		case "insert":
			var b *Batch
			if b, err = r.batch(s.Rows); err == nil {
				err = tx.InsertBatch(r.tb, b)
			}
		case "delete":
			n, err = tx.DeleteWhere(ctx, r.tb, s.Where)
		case "update":
			n, err = tx.UpdateWhere(ctx, r.tb, s.Where, s.Set)
		default:
			return missing{s.Op + " in a transaction"}
		}
		if err = s.counted(n, err); err != nil {
			return err
		}
	}
	return nil
}

// counted compares the number of rows that a step changed.
func (s *caseStep) counted(n int64, err error) error {
	if err == nil && s.ExpectCount != nil && n != *s.ExpectCount {
		return fmt.Errorf("%d rows, want %d", n, *s.ExpectCount)
	}
	return err
}

// reopen closes and opens the database.
func (r *caseRun) reopen() error {
	pause := r.paused
	r.resume()
	if err := r.db.Close(); err != nil {
		return err
	}
	if err := r.open(); err != nil {
		r.db = nil
		return err
	}
	if pause {
		r.pause()
	}
	return r.find()
}

func (r *caseRun) find() (err error) {
	r.tb, err = r.db.Table("t")
	return err
}

// crash goes on with what a crash at this moment leaves of the files. The background is idle meanwhile, since a file
// system in memory can't be copied beside the removal of files.
func (r *caseRun) crash() (err error) {
	if err := r.db.Settle(r.t.Context()); err != nil {
		return err
	}
	old := r.db
	if mem, ok := r.fs.(*vfs.MemFS); ok {
		rng := rand.New(rand.NewPCG(1, 2))
		r.fs = mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rng})
	} else {
		for range 10 { // Pebble may be removing files that it needs no more
			dir := filepath.Join(r.t.TempDir(), "crashed")
			if err = os.CopyFS(dir, os.DirFS(r.dir)); err == nil {
				r.dir = dir
				break
			}
		}
		if err != nil {
			return err
		}
	}
	if err := r.open(); err != nil {
		r.db = old
		return err
	}
	return errors.Join(old.Close(), r.find())
}

// settle brings the rows to where the cell wants them.
func (r *caseRun) settle() error {
	ctx := r.t.Context()
	switch r.cell.state {
	case sealed:
		r.pause()
		_, err := r.tb.seal(context.Background())
		return err
	case flushed:
		return r.tb.Flush(ctx)
	case merged:
		return errors.Join(r.tb.Flush(ctx), r.db.Settle(ctx))
	case reopened:
		return r.reopen()
	case crashed:
		return r.crash()
	}
	return nil
}

// wideload is the command, built once.
var wideload = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "wideload")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "wideload")
	out, err := exec.Command("go", "build", "-o", file, "./cmd/wideload").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("go build: %w: %s", err, out)
	}
	return file, err
})

var stateInText = regexp.MustCompile(`\(SQLSTATE (.....)\)`)

// loadCSV loads a file by the command.
func (r *caseRun) loadCSV(s caseStep) error {
	command, err := wideload()
	if err != nil {
		return err
	}
	file := filepath.Join(r.t.TempDir(), "t.csv")
	if err := os.WriteFile(file, []byte(s.Text), 0o600); err != nil {
		return err
	}
	r.resume()
	if err := r.db.Close(); err != nil {
		return err
	}
	args := []string{"load", file, "--db", r.dir, "--table", "t", "--append", "--null", s.Null}
	if s.Header {
		args = append(args, "--header")
	}
	out, failed := exec.CommandContext(r.t.Context(), command, args...).CombinedOutput()
	if err := errors.Join(r.open(), r.find()); err != nil {
		return err
	}
	if m := stateInText.FindSubmatch(out); failed != nil && m != nil {
		return &Error{Code: string(m[1]), Message: string(out)}
	} else if failed != nil {
		return fmt.Errorf("%w: %s", failed, out)
	}
	return nil
}

// checkAll runs the case's queries where the cell wants the rows to be.
func (r *caseRun) checkAll() error {
	if err := r.settle(); err != nil {
		return err
	}
	for _, c := range append([]caseCheck{r.c.caseCheck}, r.c.More...) {
		err := r.check(c)
		if errors.As(err, new(missing)) {
			r.lacks[err.Error()]++
		} else if err != nil {
			return err
		}
	}
	return nil
}

// maxQueryTime is far more than any query of a case takes, and less than a mistake in its planning would.
const maxQueryTime = 10 * time.Second

// check runs a query and compares.
func (r *caseRun) check(c caseCheck) error {
	ctx, cancel := context.WithTimeout(r.t.Context(), maxQueryTime)
	defer cancel()
	got, err := r.ask(ctx, c.Query, c.Expect)
	if code := sqlState(err); code == "" || code != c.Expect.Error {
		if err := ability(err); errors.As(err, new(missing)) {
			return err
		}
	}
	if err := c.Expect.compare(got, err, c.Query.OrderBy != ""); err != nil {
		text, _ := json.Marshal(c.Query)
		return fmt.Errorf("%s: %w", text, err)
	}
	return nil
}

// ask runs a query.
func (r *caseRun) ask(ctx context.Context, cq *caseQuery, expect caseExpect) ([]Row, error) {
	q := r.tb.Query()
	if where := cq.condition(); where != "" {
		q.Where(where)
	}
	if cq.OrderBy != "" {
		q.OrderBy(cq.OrderBy)
	}
	if cq.Limit != nil {
		q.Limit(*cq.Limit)
	}
	if cq.Offset != nil {
		q.Offset(*cq.Offset)
	}
	if cq.GroupBy != "" {
		return nil, missing{"GROUP BY"}
	}
	selects := cq.Select
	if len(selects) == 0 && expect.Count == nil {
		selects = []string{"id"}
	}
	if len(selects) > 0 && strings.Contains(selects[0], "(") {
		row, err := q.Aggregate(ctx, selects...)
		return []Row{row}, err
	}
	var rows []Row
	for row, err := range q.Select(selects...).Rows(ctx) {
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	if cq.Limit == nil && cq.Offset == nil {
		if n, err := q.Count(ctx); err != nil || n != int64(len(rows)) {
			return nil, fmt.Errorf("count(*) is %d, %v; there are %d rows", n, err, len(rows))
		}
	}
	return rows, nil
}

// compare compares the rows or the error of a query with what is right.
func (e *caseExpect) compare(got []Row, err error, ordered bool) error {
	if len(e.AnyOf) > 0 {
		var errs []error
		for _, one := range e.AnyOf {
			err := one.compare(got, err, ordered)
			if err == nil {
				return nil
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	}
	if e.Error != "" {
		if sqlState(err) != e.Error {
			return fmt.Errorf("got %v, %v, want SQLSTATE %s", got, err, e.Error)
		}
		return nil
	}
	if err != nil {
		return err
	}
	var want [][]any
	switch {
	case e.Count != nil:
		if int64(len(got)) != *e.Count {
			return fmt.Errorf("got %d rows, want %d", len(got), *e.Count)
		}
		return nil
	case e.Approx != "":
		x, err1 := strconv.ParseFloat(got[0][0].String(), 64)
		y, err2 := e.Approx.Float64()
		if err1 != nil || err2 != nil || x < y-e.Tol || x > y+e.Tol {
			return fmt.Errorf("got %v, want about %s", got, e.Approx)
		}
		return nil
	case e.Value != nil:
		want = [][]any{{e.Value}}
	case e.Rows != nil:
		want = e.Rows
	default:
		for _, id := range e.IDs {
			want = append(want, []any{id})
		}
	}
	var g, w []string
	for _, row := range got {
		line := ""
		for _, v := range row {
			line += " " + plainValue(v)
		}
		g = append(g, line)
	}
	for _, row := range want {
		line := ""
		for _, x := range row {
			line += " " + plainJSON(x)
		}
		w = append(w, line)
	}
	if !ordered {
		slices.Sort(g)
		slices.Sort(w)
	}
	if !slices.Equal(g, w) {
		return fmt.Errorf("got %.2000q, want %.2000q", g, w)
	}
	return nil
}

// plainValue and plainJSON write values so that equal ones are written alike.
func plainValue(v Value) string {
	switch {
	case v.IsNull():
		return "NULL"
	case v.Type() == Text:
		return strconv.Quote(v.String())
	}
	return plainNumber(v.String())
}

func plainJSON(x any) string {
	switch x := x.(type) {
	case nil:
		return "NULL"
	case json.Number:
		return plainNumber(x.String())
	}
	return strconv.Quote(fmt.Sprint(x))
}

func plainNumber(s string) string {
	if x, ok := new(big.Rat).SetString(s); ok {
		return x.RatString()
	}
	return strconv.Quote(s)
}
