package engine

import (
	"errors"
	"reflect"
	"sync"
	"sync/atomic"

	"resq/schema"
	"resq/schema/problem"
)

// A shared counts the engines that use a pool; the last one closes it.
type shared struct {
	mu    sync.Mutex
	uses  int
	open  sync.Map // ids of operations whose commit gave no word
	clock atomic.Pointer[clock]
	reach reach
}

func (s *shared) take() {
	s.mu.Lock()
	s.uses++
	s.mu.Unlock()
}

func (s *shared) drop() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uses--
	return s.uses == 0
}

// calls counts what runs on an engine.
type calls struct {
	mu     sync.Mutex
	n      int
	closed bool
	done   chan struct{} // closed when the last call has ended after closing
}

func (c *calls) enter() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return problem.List{{Code: problem.Unavailable, Stage: problem.Database, Message: "the catalog was just replaced", Hint: "call again", RetryAfter: 1}}
	}
	c.n++
	return nil
}

func (c *calls) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n--
	if c.closed && c.n == 0 {
		close(c.done)
	}
}

// finish takes no further calls and waits for those that run.
func (c *calls) finish() {
	c.mu.Lock()
	c.closed = true
	c.done = make(chan struct{})
	if c.n == 0 {
		close(c.done)
	}
	c.mu.Unlock()
	<-c.done
}

// Renew gives an engine on another catalog with the same options. Connections that did not change keep
// their pools. The old engine goes on answering until Close.
func (e *Engine) Renew(cat *schema.Catalog) (*Engine, error) {
	if err := Check(cat); err != nil {
		return nil, err
	}
	n := engineOn(cat, e.opts)
	n.seal, n.sign, n.heard = e.seal, e.sign, e.heard
	for _, c := range cat.Connections {
		if db := e.alike(c); db != nil {
			db.shared.take()
			n.dbs[c] = db
			continue
		}
		if err := n.open(c); err != nil {
			return nil, errors.Join(err, n.Close())
		}
	}
	if err := n.openValues(); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	if n.store = e.store; n.store != nil {
		n.store.shared.take()
	}
	if err := n.prepareControl(); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// alike finds the pool of a connection that is declared just as c is.
func (e *Engine) alike(c *schema.Connection) *database {
	for old, db := range e.dbs {
		a, b := *old, *c
		a.At, b.At = schema.Pos{}, schema.Pos{}
		if reflect.DeepEqual(a, b) {
			return db
		}
	}
	return nil
}
