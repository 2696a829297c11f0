// Package engine answers requests: decode, validate, resolve, authorise, plan, render, execute, shape.
package engine

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"resq/engine/plan"
	"resq/engine/policy"
	"resq/engine/sqlgen"
	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"

	"github.com/jmoiron/sqlx"
)

// A Driver is a dialect that can also be talked to.
type Driver interface {
	sqlgen.Dialect
	// Connector opens connections for reading only, on which no statement outlives the timeout.
	Connector(c *schema.Connection, timeout time.Duration) (driver.Connector, error)
	// Decode gives what turns a value of a column, as the driver hands it over, into what is meant; nil
	// when there is nothing to do. The field is nil for anything but a plain field.
	Decode(dbType string, f *schema.Field) func(any) any
	// Key gives a sort key's value in the form in which, as an argument, it is compared just as it was sorted; it says
	// false where there is none. column says that it is a plain field's.
	Key(dbType string, column bool, v any) (any, bool)
	// Structure is how the database tells of its own tables.
	Structure() sqlgen.Structure
	// Inspect opens the database for reading its structure.
	Inspect(c *schema.Connection) (*sql.DB, error)
	// Classify names an error of the database. Nothing of its text may reach a caller.
	Classify(err error) problem.Code

	// Writer opens connections for writing, on which no statement outlives the timeout.
	Writer(c *schema.Connection, timeout time.Duration) (driver.Connector, error)
	// Admin opens the database for making tables.
	Admin(c *schema.Connection) (*sql.DB, error)
	// Operations is how the database keeps the rows of operations.
	Operations() sqlgen.Operations
	// Refusal says why the database did not take a write.
	Refusal(err error) sqlgen.Refusal
	// Effects asks what the database does by itself when rows of a resource change.
	Effects(ctx context.Context, db *sql.DB, r *schema.Resource) (sqlgen.Effects, error)
	// Derived asks which tables of the database show rows of others.
	Derived(ctx context.Context, db *sql.DB, c *schema.Connection) ([]sqlgen.Derived, error)
}

// Options settle an Engine. The zero value of each means its default.
type Options struct {
	Drivers  []Driver
	Limits   query.Limits     // query.Defaults
	MaxBytes int              // of an answer's rows; 24 KiB
	Timeout  time.Duration    // of one read; 5 s
	Now      func() time.Time // time.Now
	Secret   []byte           // seals cursors, confirm tokens and before-images; random, so that they end with the process
	Previous [][]byte         // earlier secrets, whose tokens and before-images are still good
	Writes   WriteLimits
	SQL      SQLLimits
	// Statements is how many of one key run at once on one connection, where its budget does not say: a quarter of the
	// pool, and four at most. Below zero they are not counted.
	Statements int
	Down       time.Duration // how long a database must be gone before its tools are; 5 s
	Spans      Spans         // of traces; nil is none
	Control    string        // DSN of the control store, of connections with operations: control; made when it is not there
	Audit      Auditor       // of writes; nothing
	Version    string        // of the program, for tools that tell it
	// Values opens what keeps the values of a connection with the driver redis; without it such a connection is refused.
	Values func(c *schema.Connection, timeout time.Duration) (Values, error)
	Log    *slog.Logger // nothing
}

// An Engine answers requests on one catalog. It is safe for concurrent use.
type Engine struct {
	cat  *schema.Catalog
	opts Options
	dbs  map[*schema.Connection]*database
	kvs  map[*schema.Connection]Values
	seal *sealer
	sign *signer
	// store keeps the operations of connections that have no table for them; nil when there are none.
	store *control
	// rules names all that the catalog says about which rows are whose.
	rules string
	// byRole says that which fields a principal reads may hang on its attributes, through cases of row rules.
	byRole   bool
	writable map[*schema.Resource]Verbs
	others   foreigners
	run      calls
	forms    forms
	heard    *hearing
	roles    playing
}

// A database is one connection's pool.
type database struct {
	*sqlx.DB
	driver  Driver
	timeout time.Duration
	shared  *shared
	queue   *queue

	// Of a connection that writes: its own pool, which nothing that only reads can fill.
	write   *sqlx.DB
	writes  *queue
	ops     sqlgen.Operations
	set     atomic.Bool // the table of operations is there
	control bool        // or they are kept in the control store
	effects sync.Map    // *schema.Resource → sqlgen.Effects
}

// poolSize is the most connections of a pool when neither the catalog nor the driver says.
const poolSize = 16

// engineOn is an engine with all that is known from the catalog alone.
func engineOn(cat *schema.Catalog, opts Options) *Engine {
	return &Engine{cat: cat, opts: opts, dbs: map[*schema.Connection]*database{}, kvs: map[*schema.Connection]Values{}, rules: rulesHash(cat), byRole: byRole(cat), writable: writable(cat), heard: &hearing{}}
}

// New makes an engine. It opens no connection yet; a connection whose driver or DSN is not understood is an
// error, and so is a rule or set that does not fit the catalog.
func New(cat *schema.Catalog, opts Options) (*Engine, error) {
	if opts.Limits == (query.Limits{}) {
		opts.Limits = query.Defaults()
	}
	if opts.MaxBytes == 0 {
		opts.MaxBytes = 24 << 10
	}
	if opts.Timeout == 0 {
		opts.Timeout = 5 * time.Second
	}
	if opts.Down == 0 {
		opts.Down = downTime
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Secret == nil {
		opts.Secret = make([]byte, 32)
		if _, err := rand.Read(opts.Secret); err != nil {
			return nil, err
		}
	}
	if err := Check(cat); err != nil {
		return nil, err
	}
	opts.Writes, opts.SQL = opts.Writes.filled(), opts.SQL.filled()
	e := engineOn(cat, opts)
	var err error
	if e.sign, err = newSigner(append([][]byte{opts.Secret}, opts.Previous...)); err != nil {
		return nil, err
	}
	if e.seal, err = newSealer(opts.Secret); err != nil {
		return nil, err
	}
	for _, c := range cat.Connections {
		if err := e.open(c); err != nil {
			return nil, errors.Join(err, e.Close())
		}
	}
	if err := e.openValues(); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	if err := e.prepareControl(); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

func (e *Engine) open(c *schema.Connection) error {
	for _, d := range e.opts.Drivers {
		if d.Name() != c.Driver {
			continue
		}
		timeout := c.Timeout
		if timeout == 0 {
			timeout = e.opts.Timeout
		}
		in, err := d.Connector(c, timeout)
		if err != nil {
			return err
		}
		x := &database{driver: d, timeout: timeout, shared: &shared{uses: 1}}
		failed := func() { e.suspect(c.Name, x) }
		db := sqlx.NewDb(sql.OpenDB(watched{in, failed}), d.Name())
		n := c.Pool
		if n == 0 {
			n = poolSize
			if own, ok := d.(interface{ PoolSize() int }); ok {
				n = own.PoolSize()
			}
		}
		db.SetMaxOpenConns(n)
		db.SetMaxIdleConns(n)
		db.SetConnMaxIdleTime(5 * time.Minute)
		x.DB, x.queue = db, newQueue(n, e.opts.Statements, timeout)
		if c.Write {
			if err := x.openWrite(c, n, e.opts, failed); err != nil {
				return errors.Join(err, db.Close())
			}
		}
		e.dbs[c] = x
		return nil
	}
	return fmt.Errorf("connection %s: there is no driver %q", c.Name, c.Driver)
}

// openWrite makes the pool of writes: a few connections beside those of reads, and one alone where the database
// takes one writer at a time.
func (db *database) openWrite(c *schema.Connection, pool int, opts Options, failed func()) error {
	timeout := opts.Writes.Timeout
	in, err := db.driver.Writer(c, timeout)
	if err != nil {
		return err
	}
	n := max(1, pool/2)
	if db.driver.Name() == "sqlite" {
		n = 1
	}
	db.control = c.Control
	db.write = sqlx.NewDb(sql.OpenDB(watched{in, failed}), db.driver.Name())
	db.write.SetMaxOpenConns(n)
	db.write.SetMaxIdleConns(n)
	db.write.SetConnMaxIdleTime(5 * time.Minute)
	db.writes, db.ops = newQueue(max(n, 4), opts.Statements, timeout), db.driver.Operations() // where one writes at a time the others wait their turn
	return nil
}

// Close waits for the calls that run and closes every pool that no other engine uses.
func (e *Engine) Close() error {
	e.run.finish()
	errs := []error{e.store.close()}
	for _, kv := range e.kvs {
		errs = append(errs, kv.Close())
	}
	for _, db := range e.dbs {
		if db.shared.drop() {
			db.shared.reach.stop()
			errs = append(errs, db.Close())
			if db.write != nil {
				errs = append(errs, db.write.Close())
			}
		}
	}
	return errors.Join(errs...)
}

// Catalog is what the engine answers on.
func (e *Engine) Catalog() *schema.Catalog { return e.cat }

// Ping tries every connection and gives what is wrong, by connection.
func (e *Engine) Ping(ctx context.Context) map[string]error {
	out := map[string]error{}
	for c, db := range e.dbs {
		if err := db.PingContext(ctx); err != nil {
			out[c.Name] = err
			e.suspect(c.Name, db)
		}
	}
	for c, kv := range e.kvs {
		if err := kv.Ping(ctx); err != nil {
			out[c.Name] = err
		}
	}
	return out
}

// Query answers one res-query. The error is a problem.List.
func (e *Engine) Query(ctx context.Context, who *policy.Principal, raw []byte) (*Answer, error) {
	if err := e.run.enter(); err != nil {
		return nil, err
	}
	defer e.run.leave()
	c, who, err := e.compile(ctx, who, raw)
	if err != nil {
		return nil, err
	}
	traceRules(ctx, c.view)
	db := e.dbs[c.p.Connection()]
	end := e.stage(ctx, "render")
	st, err := render(c.p, db.driver, false)
	end(err)
	if err != nil {
		return nil, err
	}
	a, err := e.execute(ctx, db, who, c, st)
	e.forms.give(c) // but not when it ended in a panic
	return a, err
}

// statements are what a plan comes to.
type statements struct{ rows, count *sqlgen.Statement }

func render(p *plan.Plan, d sqlgen.Dialect, fence bool) (st statements, err error) {
	if st.rows, err = sqlgen.Render(p, d, fence); err != nil {
		return st, err
	}
	if p.Total() {
		st.count, err = sqlgen.Count(p, d, fence)
	}
	return st, err
}

// An Explanation is a compiled request that was not run.
type Explanation struct{ Statements []Explained }

// An Explained is one statement of an explanation.
type Explained struct {
	Connection, SQL string
	Args            []any
}

// Explain compiles a res-query without running it. A set of a row rule that is on another connection is read.
func (e *Engine) Explain(ctx context.Context, who *policy.Principal, raw []byte) (*Explanation, error) {
	c, _, err := e.whole(ctx, who, raw)
	if err != nil {
		return nil, err
	}
	p := c.p
	st, err := render(p, e.dbs[p.Connection()].driver, false)
	if err != nil {
		return nil, err
	}
	x := &Explanation{}
	for _, s := range []*sqlgen.Statement{st.rows, st.count} {
		if s != nil {
			x.Statements = append(x.Statements, Explained{p.Connection().Name, s.SQL, s.Args})
		}
	}
	return x, nil
}
