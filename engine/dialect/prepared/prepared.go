// Package prepared keeps the prepared statements of a driver's connection, so that a statement seen before
// costs the database no parsing and the network one round trip.
package prepared

import (
	"context"
	"database/sql/driver"
	"reflect"
)

// Keep is how many statements one connection holds. Requests have few shapes.
const Keep = 64

// A Conn is what a driver's connection must be able to do.
type Conn interface {
	driver.Conn
	driver.ConnPrepareContext
}

// Statements are those of one connection. Like a connection they are used by one goroutine at a time.
type Statements struct {
	conn   Conn
	keep   func(text string) bool
	byText map[string]*statement
	newest *statement // the ends of a list by use
	oldest *statement
}

type statement struct {
	driver.Stmt
	text         string
	busy, gone   bool
	newer, older *statement
}

// New makes an empty store for a connection. A text that keep is false for is prepared each time.
func New(c Conn, keep func(text string) bool) *Statements {
	return &Statements{conn: c, keep: keep, byText: map[string]*statement{}}
}

// Query prepares the text, unless that was done before, and runs it. done is called once, when the rows are
// closed or when there are none.
func (s *Statements) Query(ctx context.Context, text string, args []driver.NamedValue, done func()) (driver.Rows, error) {
	st, err := s.take(ctx, text)
	if err != nil {
		done()
		return nil, err
	}
	q, ok := st.Stmt.(driver.StmtQueryContext)
	if !ok {
		s.release(st)
		done()
		return nil, driver.ErrSkip
	}
	in, err := q.QueryContext(ctx, args)
	if err != nil {
		s.drop(st) // it may be stale, such as after a change of the table
		s.release(st)
		done()
		return nil, err
	}
	return &rows{Rows: in, end: func() { s.release(st); done() }}, nil
}

// take gives a statement that is not in use.
func (s *Statements) take(ctx context.Context, text string) (*statement, error) {
	if st := s.byText[text]; st != nil && !st.busy {
		s.unlink(st)
		s.link(st)
		st.busy = true
		return st, nil
	}
	p, err := s.conn.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	st := &statement{Stmt: p, text: text, busy: true}
	if s.byText[text] != nil || !s.keep(text) {
		st.gone = true // the one that is kept is in use, or none is; this one ends with its rows
		return st, nil
	}
	if len(s.byText) == Keep {
		s.drop(s.oldest)
	}
	s.byText[text] = st
	s.link(st)
	return st, nil
}

func (s *Statements) release(st *statement) {
	st.busy = false
	if st.gone {
		_ = st.Close() // nothing depends on it any more
	}
}

// drop forgets a statement that failed or that room is needed for, and closes it when it is not in use.
func (s *Statements) drop(st *statement) {
	if s.byText[st.text] == st {
		delete(s.byText, st.text)
		s.unlink(st)
	}
	st.gone = true
	if !st.busy {
		_ = st.Close() // nothing depends on it any more
	}
}

// Close closes what is kept, before the connection is closed: SQLite keeps a closed connection's file and memory
// for as long as one of its statements is there.
func (s *Statements) Close() {
	for s.oldest != nil {
		s.drop(s.oldest)
	}
}

func (s *Statements) link(st *statement) {
	st.older, st.newer = s.newest, nil
	if s.newest != nil {
		s.newest.newer = st
	}
	s.newest = st
	if s.oldest == nil {
		s.oldest = st
	}
}

func (s *Statements) unlink(st *statement) {
	if st.newer != nil {
		st.newer.older = st.older
	} else {
		s.newest = st.older
	}
	if st.older != nil {
		st.older.newer = st.newer
	} else {
		s.oldest = st.newer
	}
	st.newer, st.older = nil, nil
}

// rows tell once that they are closed.
type rows struct {
	driver.Rows
	end func()
}

// Close ends the rows.
func (r *rows) Close() error {
	err := r.Rows.Close()
	if r.end != nil {
		r.end()
		r.end = nil
	}
	return err
}

// ColumnTypeDatabaseTypeName is the driver's.
func (r *rows) ColumnTypeDatabaseTypeName(i int) string {
	if t, ok := r.Rows.(driver.RowsColumnTypeDatabaseTypeName); ok {
		return t.ColumnTypeDatabaseTypeName(i)
	}
	return ""
}

// ColumnTypeScanType is the driver's.
func (r *rows) ColumnTypeScanType(i int) reflect.Type {
	if t, ok := r.Rows.(driver.RowsColumnTypeScanType); ok {
		return t.ColumnTypeScanType(i)
	}
	return reflect.TypeFor[any]()
}
