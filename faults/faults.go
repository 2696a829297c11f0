// Package faults holds tests that break things under the program: databases, networks, disks, clocks, and the
// program itself. They need the build tag failpoint, with which the program can be ended at named points; make
// faults runs them.
//
// Each test is named for its row in security.md section 6. What must hold is always the same: a write that was
// confirmed once has happened once or not at all, the operation row and the audit say which, and whoever asks
// again learns it.
package faults
