package bench

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strings"
	"time"

	"wideleaf"
	"wideleaf/cmd/wideload/internal/report"
	"wideleaf/value"
)

// BuildConfig is an index build on a filled table, one of the shapes of Munro's tests of the parallel tuplesort.
type BuildConfig struct {
	Rows    int64
	Type    string // int4, int8, text (words of a few letters) or md5 (32 hexadecimal digits)
	Wide    bool   // rows have another 128 bytes
	Columns int    // over 0: this many int4 columns, all of them indexed
	Order   string // rand, asc or desc
	Dups    int    // how many rows have the same value
	Memory  int64  // maintenance_work_mem
	Workers int    // the table's parallel_workers
	Method  string
	Unique  bool
	// Progress may be nil.
	Progress *report.Progress
}

// Check returns all that is wrong with the configuration.
func (c *BuildConfig) Check() error {
	var errs []error
	complain := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	complain(c.Rows < 1 || c.Rows > 1<<32, "rows is %d, must be from 1 to 4294967296", c.Rows)
	complain(!slices.Contains([]string{"int4", "int8", "text", "md5"}, c.Type), "type is %q, must be int4, int8, text or md5", c.Type)
	complain(!slices.Contains([]string{"rand", "asc", "desc"}, c.Order), "order is %q, must be rand, asc or desc", c.Order)
	complain(c.Dups != 1 && c.Dups != 10, "dups is %d, must be 1 or 10", c.Dups)
	complain(c.Columns < 0 || c.Columns > 1600, "columns is %d, must be from 1 to 1600", c.Columns)
	complain(c.Memory < 1<<20, "mem is %d bytes, must be at least 1 MiB", c.Memory)
	complain(c.Workers < 0 || c.Workers > 1024, "workers is %d, must be from 0 to 1024", c.Workers)
	complain(c.Columns > 0 && (c.Wide || c.Dups != 1 || c.Order != "rand" || c.Type != "int4"),
		"columns are random int4, without duplicates: they go with no other type, order or shape")
	complain(c.Unique && (c.Dups != 1 || c.Columns > 0 || c.Method != "btree"), "a unique index is a btree of one column without duplicates")
	return errors.Join(errs...)
}

// Name is the build's name among the figures.
func (c *BuildConfig) Name() string {
	if c.Columns > 0 {
		return fmt.Sprintf("%s-%dxint4-rows%d-workers%d", c.Method, c.Columns, c.Rows, c.Workers)
	}
	name := c.Method + "-" + c.Type + "-" + strings.Replace(c.Order, "rand", "random", 1)
	if c.Wide {
		name += "-wide"
	}
	if c.Dups > 1 {
		name += fmt.Sprintf("-dups%d", c.Dups)
	}
	if c.Unique {
		name += "-unique"
	}
	return fmt.Sprintf("%s-rows%d-workers%d", name, c.Rows, c.Workers)
}

// Figure is the time of a build.
func (c *BuildConfig) Figure(d time.Duration) report.Figure {
	return report.Figure{Suite: "build", Name: c.Name(), Value: float64(d) / float64(time.Millisecond), Unit: "ms"}
}

// Build fills a table and measures how long building its indexes takes.
func Build(ctx context.Context, db *wideleaf.DB, c BuildConfig) (time.Duration, error) {
	if err := c.Check(); err != nil {
		return 0, err
	}
	t, err := fillBuild(ctx, db, c)
	if err != nil {
		return 0, err
	}
	return measureBuild(ctx, db, t, c)
}

// measureBuild builds the indexes of a table and shows the progress meanwhile.
func measureBuild(ctx context.Context, db *wideleaf.DB, t *wideleaf.Table, c BuildConfig) (time.Duration, error) {
	var defs []wideleaf.IndexDef
	switch {
	case c.Columns == 0:
		defs = []wideleaf.IndexDef{{Name: "idx_t", Method: c.Method, Unique: c.Unique, Columns: []wideleaf.IndexColumn{{Name: "c1"}}}}
	case c.Method == "btree":
		defs = Mode{Table: "t", Method: c.Method, PerColumn: true}.indexes(c.Columns)
	default:
		defs = Mode{Table: "t", Method: c.Method}.indexes(c.Columns)
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	if c.Progress != nil {
		go showBuild(watching, db, c.Progress)
	}
	start := time.Now()
	err := t.CreateIndexesWith(ctx, wideleaf.BuildOptions{
		ParallelWorkers: &c.Workers, MaintenanceWorkMem: c.Memory, MaxParallelMaintenanceWorkers: max(c.Workers, 2),
	}, defs...)
	return time.Since(start), err
}

// showBuild draws the progress of index builds until ctx ends.
func showBuild(ctx context.Context, db *wideleaf.DB, p *report.Progress) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, b := range db.IndexBuilds() {
			p.Rename(fmt.Sprintf("%s (%d of %d): %s", b.Index, b.Built+1, b.Indexes, strings.TrimPrefix(b.Phase, "building index: ")))
			p.Show(float64(b.TuplesDone)/float64(max(b.TuplesTotal, 1)), b.TuplesDone)
		}
	}
}

// fillBuild makes the table t with the build's rows.
func fillBuild(ctx context.Context, db *wideleaf.DB, c BuildConfig) (*wideleaf.Table, error) {
	types := map[string]wideleaf.Type{"int4": wideleaf.Int4, "int8": wideleaf.Int8, "text": wideleaf.Text, "md5": wideleaf.Text}
	cols := columns(c.Columns)
	if c.Columns == 0 {
		cols = []wideleaf.Column{{Name: "c1", Type: types[c.Type]}}
		if c.Wide {
			cols = append(cols, wideleaf.Column{Name: "filler", Type: wideleaf.Text})
		}
	}
	t, err := db.CreateTable(ctx, "t", cols...)
	if err != nil {
		return nil, err
	}
	filler := strings.Repeat("x", 128)
	b := t.NewBatch()
	each := int64(max(8192/len(cols), 64))
	for from := int64(0); from < c.Rows; from += each {
		b.Reset()
		for i := from; i < min(from+each, c.Rows); i++ {
			if c.Columns > 0 {
				for j := range cols {
					b.Column(j).AppendCode(uint64(value.Int4Code(int32(scatter(uint64(i)*uint64(len(cols))+uint64(j), 31)))))
				}
				continue
			}
			c.value(b.Column(0), i)
			if c.Wide {
				b.Column(1).Append(value.OfText(filler))
			}
		}
		if err := t.InsertBatch(ctx, b, wideleaf.NoSync); err != nil {
			return nil, err
		}
		c.Progress.Show(float64(from)/float64(c.Rows), from)
	}
	if err := t.Flush(ctx); err != nil {
		return nil, err
	}
	return t, db.Settle(ctx)
}

// value appends the value of row i.
func (c *BuildConfig) value(v *wideleaf.Vector, i int64) {
	// The number of the value among all of them, in order.
	distinct := max(c.Rows/int64(c.Dups), 1)
	n := uint64(min(i/int64(c.Dups), distinct-1))
	switch c.Order {
	case "rand":
		n = uint64(i % distinct)
	case "desc":
		n = uint64(distinct-1) - n
	}
	random := c.Order == "rand"
	switch c.Type {
	case "int4":
		if random {
			n = scatter(n, 31)
		}
		v.AppendCode(uint64(value.Int4Code(int32(n))))
	case "int8":
		if random {
			n = scatter(n, 40) // up to 1.1e12
		}
		v.AppendCode(value.Int8Code(int64(n)))
	case "text":
		w := uint(bits.Len64(uint64(distinct - 1)))
		if random {
			n = scatter(n, w)
		}
		v.Append(value.OfText(word(n, w)))
	case "md5":
		var digest [md5.Size]byte
		if random {
			digest = md5.Sum(fmt.Append(nil, n))
		} else {
			copy(digest[:], fmt.Sprintf("%016d", n)) // digits of digits: in order
		}
		v.Append(value.OfText(hex.EncodeToString(digest[:])))
	}
}

// scatter maps the numbers of w bits onto themselves, without an order that shows.
func scatter(n uint64, w uint) uint64 {
	m := uint64(1)<<w - 1
	for range 3 {
		n = (n*0x9E3779B97F4A7C15 + 1) & m
		n ^= n >> (w/2 + 1)
	}
	return n & m
}

// syllables are in order, so that words are in the order of their numbers.
var syllables = [...]string{"ba", "co", "de", "fu", "ga", "hi", "jo", "ke", "la", "mo", "ne", "pi", "ru", "sa", "te", "vo"}

// word returns the word of a number of w bits.
func word(n uint64, w uint) string {
	var b strings.Builder
	for at := int(w+3) / 4 * 4; at > 0; at -= 4 {
		b.WriteString(syllables[n>>(at-4)&15])
	}
	return b.String()
}

// MatrixConfig is Munro's matrix: all shapes, with several sizes of memory and numbers of workers.
type MatrixConfig struct {
	Rows    int64
	Memory  []int64
	Workers []int
	// Open opens an empty database and returns what closes and removes it.
	Open func() (db *wideleaf.DB, done func() error, err error)
}

// Matrix measures the builds of the matrix and prints it in Munro's form: a line a size of memory, the seconds without
// workers, then how many times as fast it is with each number of workers.
func Matrix(ctx context.Context, w io.Writer, c MatrixConfig) error {
	fmt.Fprintf(w, "%d rows, btree; s without workers, then the speed-up with workers\n", c.Rows)
	for _, typ := range []string{"int4", "text"} {
		for _, wide := range []bool{false, true} {
			for _, dups := range []int{1, 10} {
				for _, order := range []string{"rand", "asc", "desc"} {
					b := BuildConfig{Rows: c.Rows, Type: typ, Wide: wide, Order: order, Dups: dups, Method: "btree"}
					if err := matrixShape(ctx, w, c, b); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

func matrixShape(ctx context.Context, w io.Writer, c MatrixConfig, b BuildConfig) (err error) {
	db, done, err := c.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	t, err := fillBuild(ctx, db, b)
	if err != nil {
		return err
	}
	name := strings.TrimSuffix(strings.TrimSuffix(b.Type, "4")+map[bool]string{true: "wide"}[b.Wide], "-")
	fmt.Fprintf(w, "%s %s %s\n", name, map[int]string{1: "u", 10: "d"}[b.Dups], b.Order)
	for _, m := range c.Memory {
		b.Memory = m
		fmt.Fprintf(w, "%5d MB", m>>20)
		var alone time.Duration
		for _, n := range c.Workers {
			b.Workers = n
			d, err := measureBuild(ctx, db, t, b)
			if err != nil {
				return err
			}
			if err := db.DropIndex(ctx, "idx_t"); err != nil {
				return err
			}
			if alone == 0 {
				alone = d
				fmt.Fprintf(w, "  w=%d %8.3f s", n, d.Seconds())
			} else {
				fmt.Fprintf(w, "  w=%d %5.2f", n, alone.Seconds()/d.Seconds())
			}
		}
		fmt.Fprintln(w)
	}
	return nil
}
