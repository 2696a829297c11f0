//go:build !unix

package main

import "os"

// statusSignals ask a server for a line about itself; there is no such signal here.
var statusSignals []os.Signal

// hasTerminal is only asked where terminals hang up.
func hasTerminal() bool { return false }
