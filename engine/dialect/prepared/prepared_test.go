package prepared

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"testing"
)

// A fake connection counts what is prepared and closed.
type fake struct {
	prepared, closed int
	fail             bool
}

func (f *fake) Prepare(text string) (driver.Stmt, error) {
	return f.PrepareContext(context.Background(), text)
}
func (f *fake) PrepareContext(context.Context, string) (driver.Stmt, error) {
	f.prepared++
	return &fakeStmt{f}, nil
}
func (f *fake) Close() error              { return nil }
func (f *fake) Begin() (driver.Tx, error) { return nil, errors.New("no") }

type fakeStmt struct{ f *fake }

func (s *fakeStmt) Close() error                               { s.f.closed++; return nil }
func (s *fakeStmt) NumInput() int                              { return -1 }
func (s *fakeStmt) Exec([]driver.Value) (driver.Result, error) { return nil, errors.New("no") }
func (s *fakeStmt) Query([]driver.Value) (driver.Rows, error)  { return nil, errors.New("no") }
func (s *fakeStmt) QueryContext(context.Context, []driver.NamedValue) (driver.Rows, error) {
	if s.f.fail {
		return nil, errors.New("stale")
	}
	return fakeRows{}, nil
}

type fakeRows struct{}

func (fakeRows) Columns() []string         { return nil }
func (fakeRows) Close() error              { return nil }
func (fakeRows) Next([]driver.Value) error { return io.EOF }

func run(t *testing.T, s *Statements, text string) driver.Rows {
	t.Helper()
	r, err := s.Query(context.Background(), text, nil, func() {})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A text is prepared once; one that is running is prepared again and forgotten afterwards; the one used
// longest ago goes first; nothing stays open.
func TestStatements(t *testing.T) {
	f := &fake{}
	s := New(f, func(text string) bool { return text != "once" })
	for range 3 {
		run(t, s, "a").Close()
	}
	if f.prepared != 1 || f.closed != 0 {
		t.Fatalf("%d prepared, %d closed", f.prepared, f.closed)
	}
	for range 2 {
		run(t, s, "once").Close()
	}
	if f.prepared != 3 || f.closed != 2 {
		t.Fatalf("not kept: %d prepared, %d closed", f.prepared, f.closed)
	}
	f.prepared, f.closed = 1, 0
	one, two := run(t, s, "a"), run(t, s, "a")
	one.Close()
	two.Close()
	two.Close()
	if f.prepared != 2 || f.closed != 1 {
		t.Fatalf("in use twice: %d prepared, %d closed", f.prepared, f.closed)
	}
	for i := range Keep {
		run(t, s, fmt.Sprint("b", i)).Close()
		run(t, s, "a").Close()
	}
	if f.prepared != 2+Keep || f.closed != 2 || s.byText["a"] == nil || s.byText["b0"] != nil {
		t.Fatalf("beyond the bound: %d prepared, %d closed", f.prepared, f.closed)
	}
	busy := run(t, s, "b1")
	for i := range Keep {
		run(t, s, fmt.Sprint("c", i)).Close()
	}
	closed := f.closed
	busy.Close()
	if f.closed != closed+1 {
		t.Fatal("a statement that was dropped while it ran stayed open")
	}
	f.fail = true
	if _, err := s.Query(context.Background(), "c5", nil, func() {}); err == nil || s.byText["c5"] != nil {
		t.Fatal("a statement that failed was kept")
	}
	if len(s.byText) != Keep-1 {
		t.Fatalf("%d are kept", len(s.byText))
	}
}
