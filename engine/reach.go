package engine

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"resq/engine/policy"
	"resq/schema"
)

// Note [a connection that is down]
//
// Nobody asks a database whether it is there before a tool is listed or called. A pool that cannot open a connection, or
// does not answer a Ping, is under suspicion: only then it is asked twice a second, until it answers. One that has not
// answered for Options.Down is down, and tools that cannot do without it are not offered (E-10); its first answer ends
// that. So a short outage takes no tool away, and a pool that is well costs nothing.

const (
	// downTime is how long a database must be gone before its tools are.
	downTime = 5 * time.Second
	// askTime is between two questions to a database under suspicion, and askLimit is for its answer.
	askTime  = 500 * time.Millisecond
	askLimit = 2 * time.Second
)

// A reach is what is known of whether a pool reaches its database. The zero value is a pool that does.
type reach struct {
	down atomic.Bool

	mu     sync.Mutex
	asking bool
	end    context.CancelFunc
	asked  sync.WaitGroup
	over   bool
}

// A hearing is who is told that a connection went down or came back; engines on renewed catalogs share it.
type hearing struct{ f atomic.Pointer[func()] }

func (h *hearing) tell() {
	if f := h.f.Load(); f != nil {
		(*f)()
	}
}

// OnReach lets f be called when a connection went down or came back, for this engine and those renewed from it.
func (e *Engine) OnReach(f func()) { e.heard.f.Store(&f) }

// suspect begins to ask the database until it answers.
func (e *Engine) suspect(name string, db *database) {
	r := &db.shared.reach
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asking || r.over {
		return
	}
	ctx, end := context.WithCancel(context.Background())
	r.asking, r.end = true, end
	r.asked.Go(func() {
		defer end()
		e.askUntilWell(ctx, name, db)
	})
}

func (e *Engine) askUntilWell(ctx context.Context, name string, db *database) {
	r := &db.shared.reach
	since := time.Now()
	for sleep(ctx, min(askTime, e.opts.Down/2)) {
		err := db.asks(ctx)
		switch {
		case ctx.Err() != nil:
		case errors.Is(err, errBusy):
			since = time.Now()
		case err == nil:
			r.mu.Lock()
			r.asking = false
			r.mu.Unlock()
			if r.down.Swap(false) {
				e.opts.Log.Info("the connection is there again, and so are its tools", "connection", name)
				e.heard.tell()
			}
			return
		case time.Since(since) >= e.opts.Down && !r.down.Swap(true):
			e.opts.Log.Warn("the connection is down, and tools that need it are not offered", "connection", name)
			e.heard.tell()
		}
	}
}

// asks asks the database once. A pool whose connections are all taken is busy, and says nothing of the database.
func (db *database) asks(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	err := db.PingContext(ctx)
	if st := db.Stats(); errors.Is(err, context.DeadlineExceeded) && st.InUse >= st.MaxOpenConnections {
		return errBusy
	}
	return err
}

var errBusy = errors.New("engine: every connection of the pool is taken")

// stop ends the questions before the pool is closed.
func (r *reach) stop() {
	r.mu.Lock()
	r.over = true
	if r.end != nil {
		r.end()
	}
	r.mu.Unlock()
	r.asked.Wait()
}

// A watched connector tells of connections that cannot be opened.
type watched struct {
	driver.Connector
	failed func()
}

func (w watched) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := w.Connector.Connect(ctx)
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) { // whoever went away says nothing of the database
		w.failed()
	}
	return c, err
}

// Close is for connectors that hold something.
func (w watched) Close() error {
	if c, ok := w.Connector.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

func (e *Engine) up(c *schema.Connection) bool {
	db := e.dbs[c]
	return db == nil || !db.shared.reach.down.Load() // of Redis an answer can do without
}

// Reaches says whether the connections that a tool needs are there: of a business tool all that it reads, of one of SQL
// where it may choose any, and of the generic tools one that has a resource which the principal may use with one of verbs;
// 0 is reading. A tool that needs none is always there.
func (e *Engine) Reaches(who *policy.Principal, tool string, verbs Verbs) bool {
	well := true
	for _, db := range e.dbs {
		well = well && !db.shared.reach.down.Load()
	}
	if well || who == nil {
		return true
	}
	if t, ok := e.cat.Tool(tool); ok {
		return e.reached(who, t)
	}
	view, any := policy.For(e.cat, e.playing(who)), false
	for _, r := range e.cat.Resources {
		if !view.Visible(r) || verbs != 0 && e.writable[r]&verbs == 0 {
			continue
		}
		if any = true; e.up(r.Connection) {
			return true
		}
	}
	return !any
}

func (e *Engine) reached(who *policy.Principal, t *schema.Tool) bool {
	if e.cat.Owner != nil && who.User != "" && slices.ContainsFunc(e.cat.Owner.Queries, func(q schema.OwnerQuery) bool { return !e.up(q.Connection) }) {
		return false // who asks cannot be found out
	}
	if t.SQL != nil && t.SQL.Choice != nil || t.Own != nil {
		return slices.ContainsFunc(t.Connections, e.up)
	}
	return slices.ContainsFunc(t.Bindings(), func(b *schema.Tool) bool {
		return !slices.ContainsFunc(b.Connections, func(c *schema.Connection) bool { return !e.up(c) })
	})
}
