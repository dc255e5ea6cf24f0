package wideleaf

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"wideleaf/am"
	"wideleaf/am/btree"
	"wideleaf/am/gin"
	"wideleaf/am/rum"
	"wideleaf/page"
	"wideleaf/pgerr"
	"wideleaf/query"
	"wideleaf/store"
	"wideleaf/tid"
	"wideleaf/vacuum"
	"wideleaf/version"
)

// methods are the access methods that an index can have, by name.
var methods = map[string]am.Method{
	"btree": btree.Method,
	"gin":   gin.Method,
	"rum":   rum.Method,
}

// DB is an open database. Its methods may be called concurrently.
//
// Locks, in the order in which they may be taken: the lead (committer), the pool's publish lock, mu, the version set's
// lock. mu guards the names of tables and indexes.
type DB struct {
	dir       string
	o         Options
	store     *store.DB
	cache     *page.Cache
	versions  *version.Set
	pool      *vacuum.Pool
	committer committer
	snapshots sync.Map     // those that are held, as keys
	deletes   uint64       // number of the last delete in the log; the leader's
	pressure  atomic.Int64 // see measurePressure
	queries   query.Counters

	ctx    context.Context // ends when Close begins
	cancel context.CancelCauseFunc

	building sync.Mutex // guards builds
	builds   []*indexBuild
	damage   []error // see Damage

	mu       sync.RWMutex
	tables   map[string]*Table
	loading  map[string]*Table // see CreateTableAs
	indexes  map[string]uint32 // ID by name, those being built included
	sequence uint32            // last relation or group number given out

	users    sync.Mutex // guards active and closed
	active   int
	closed   bool
	inactive chan struct{} // closed when active is 0 and closed is set
}

// Open opens the database in a directory, and creates it when the directory is absent or empty. A nil o stands for the
// defaults. What a crash left is put in order: rows committed and not flushed are read back from the log; indexes whose
// building was cut short, and tables whose filling was (CreateTableAs), are removed.
//
// It fails with ErrNotFound when the directory holds something else, ErrInvalid when it is in use (55006) or of a newer
// format (0A000), ErrReadOnly when it may not be written (42501), ErrFull when the disk is full, and ErrCorrupt when
// anything that must be there is missing or damaged (see Options.Salvage).
func Open(dir string, o *Options) (*DB, error) {
	opts, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	st, err := store.Open(dir, store.Options{
		FS:            opts.FS,
		ReadOnly:      opts.ReadOnly,
		Salvage:       opts.Salvage,
		CacheBytes:    opts.share(cacheShare),
		MemTableBytes: opts.share(memtableShare),
		Logger:        opts.Logger,
	})
	if err != nil {
		return nil, wrap(dir, err)
	}
	db := &DB{
		dir:      dir,
		o:        opts,
		store:    st,
		cache:    page.NewCache(opts.share(decodedShare)),
		tables:   map[string]*Table{},
		loading:  map[string]*Table{},
		indexes:  map[string]uint32{},
		inactive: make(chan struct{}),
	}
	db.committer.db = db
	db.committer.group.db = db
	db.ctx, db.cancel = context.WithCancelCause(context.Background())
	if err := db.recover(); err != nil {
		_ = st.Close(nil) // the first error tells more
		return nil, wrap(dir, err)
	}
	if !opts.ReadOnly {
		db.pool.Start()
		if err := db.dropLoading(); err != nil {
			return nil, errors.Join(wrap(dir, err), db.Close())
		}
	}
	return db, nil
}

// Damage tells what was wrong with a database that was opened with Options.Salvage, and what of it was left out, in the
// order in which it was found. For others it is empty.
func (db *DB) Damage() []error {
	if db == nil {
		return nil
	}
	return slices.Clone(db.damage)
}

// lastClose is what Close leaves for the next Open to compare with what it finds.
type lastClose struct {
	Next map[uint32]tid.TID // by table: the TID after its last row
	Dead map[uint32]int64   `json:",omitempty"` // by table: how many of its rows are deleted, if any
}

// Close stops the background work, waits for calls under way, cancelling queries, and closes the database. Rows in
// tails stay in the log; nothing needs to be flushed first. It returns within about five seconds even if a query does
// not end (its loop is stuck): then the error says so, the database takes no more calls, and Close may be called again.
func (db *DB) Close() error {
	if db == nil || db.versions == nil {
		return errClosed()
	}
	db.users.Lock()
	first := !db.closed
	db.closed = true
	idle := db.active == 0
	if first && idle {
		close(db.inactive)
	}
	db.users.Unlock()
	db.cancel(errClosed())
	if first {
		db.pool.Close()
	}
	select {
	case <-db.inactive:
	case <-time.After(closeTimeout):
		return &Error{Kind: ErrInvalid, Code: pgerr.ObjectInUse, Message: "queries of the database are still running", Object: db.dir}
	}
	db.users.Lock()
	defer db.users.Unlock()
	if db.store == nil {
		return errClosed()
	}
	last := lastClose{Next: map[uint32]tid.TID{}, Dead: map[uint32]int64{}}
	for _, t := range db.tables { // what is loading is not missed
		if ts, ok := db.versions.AcquireTable(t.id); ok {
			last.Next[t.id] = ts.LastTID()
			if n := ts.Dead().Rows(); n > 0 {
				last.Dead[t.id] = n
			}
			ts.Release()
		}
	}
	final, err := json.Marshal(last)
	if err == nil {
		err = db.store.Close(final)
	}
	db.store = nil
	return wrap(db.dir, err)
}

const closeTimeout = 5 * time.Second

// enter registers a call; leave must follow. It fails when the database is closed.
func (db *DB) enter() error {
	if db == nil || db.versions == nil {
		return &Error{Kind: ErrInvalid, Code: codeInvalidParameter, Message: "the database has not been opened"}
	}
	db.users.Lock()
	defer db.users.Unlock()
	if db.closed {
		return errClosed()
	}
	db.active++
	return nil
}

func (db *DB) leave() {
	db.users.Lock()
	db.active--
	if db.active == 0 && db.closed {
		close(db.inactive)
	}
	db.users.Unlock()
}

// writable is enter for calls that change the database.
func (db *DB) writable() error {
	if err := db.enter(); err != nil {
		return err
	}
	if db.o.ReadOnly {
		db.leave()
		return &Error{Kind: ErrReadOnly, Code: pgerr.ReadOnlySQLTransaction, Message: "the database is open read-only", Object: db.dir}
	}
	return nil
}

func errClosed() error {
	return &Error{Kind: ErrClosed, Code: pgerr.AdminShutdown, Message: "the database is closed"}
}

// during returns a context that also ends when the database is closed.
func (db *DB) during(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(db.ctx, func() { cancel(errClosed()) })
	return ctx, func() { stop(); cancel(nil) }
}

// cause turns the error of a call under a context of during into what its caller should see.
func (db *DB) cause(ctx context.Context, object string, err error) error {
	if err != nil && errors.Is(err, context.Canceled) && ctx.Err() != nil {
		var e *Error
		if errors.As(context.Cause(ctx), &e) {
			return e
		}
	}
	var damaged *page.CorruptError
	if errors.As(err, &damaged) {
		object = db.relation(damaged.Relation, object)
	}
	return wrap(object, err)
}

// relation returns the name of a table or index, or other when there is none of that number.
func (db *DB) relation(id uint32, other string) string {
	sn := db.versions.Acquire()
	defer sn.Release()
	for _, t := range sn.Version().Tables() {
		if t.Def.ID == id {
			return t.Def.Name
		}
		for _, g := range t.Groups {
			for _, ix := range g.Indexes {
				if ix.Def.ID == id {
					return ix.Def.Name
				}
			}
		}
	}
	return other
}

// Table returns the table of a name: the exact one, or the only one that differs in case alone.
func (db *DB) Table(name string) (*Table, error) {
	if err := db.enter(); err != nil {
		return nil, err
	}
	defer db.leave()
	db.mu.RLock()
	defer db.mu.RUnlock()
	if t := db.tables[name]; t != nil {
		return t, nil
	}
	var found *Table
	for n, t := range db.tables {
		if strings.EqualFold(n, name) {
			if found != nil {
				return nil, notFoundTable(name)
			}
			found = t
		}
	}
	if found == nil {
		return nil, notFoundTable(name)
	}
	return found, nil
}

// Tables returns all tables by name.
func (db *DB) Tables() []*Table {
	if db == nil {
		return nil
	}
	db.mu.RLock()
	defer db.mu.RUnlock()
	ts := slices.Collect(maps.Values(db.tables))
	slices.SortFunc(ts, func(a, b *Table) int { return strings.Compare(a.Name(), b.Name()) })
	return ts
}

func notFoundTable(name string) error {
	return &Error{Kind: ErrNotFound, Code: pgerr.UndefinedTable, Object: name, Message: fmt.Sprintf("relation %q does not exist", name)}
}

// Settle returns when no background work runs or is due, with the error of a job that fails meanwhile.
func (db *DB) Settle(ctx context.Context) error {
	if err := db.writable(); err != nil {
		return err
	}
	defer db.leave()
	ctx, done := db.during(ctx)
	defer done()
	if err := ctx.Err(); err != nil {
		return db.cause(ctx, "", err)
	}
	return db.cause(ctx, "", db.pool.Settle(ctx))
}
