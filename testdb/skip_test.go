package testdb

import "testing"

// A heard test keeps what would have ended it.
type heard struct {
	testing.TB
	failed, skipped bool
}

func (*heard) Helper()                 {}
func (*heard) Logf(string, ...any)     {}
func (h *heard) Fatal(...any)          { h.failed = true }
func (h *heard) Errorf(string, ...any) { h.failed = true }
func (h *heard) Skip(...any)           { h.skipped = true }

// What is left out is skipped, and fails where RESQ_CI says that nothing may be.
func TestNothingLeftOut(t *testing.T) {
	t.Setenv("RESQ_WITHOUT", "mysql, postgres")
	for _, ci := range []string{"", "1"} {
		t.Setenv("RESQ_CI", ci)
		var skip, engines heard
		skip.TB, engines.TB = t, t
		Engines(&engines)
		if engines.failed != (ci == "1") {
			t.Errorf("RESQ_CI=%q: Engines failed %v", ci, engines.failed)
		}
		Skip(&skip, "why")
		if ci == "1" && !skip.failed || ci == "" && (skip.failed || !skip.skipped) {
			t.Errorf("RESQ_CI=%q: %+v", ci, skip)
		}
	}
}
