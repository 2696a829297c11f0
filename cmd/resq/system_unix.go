//go:build unix

package main

import (
	"os"
	"syscall"
)

// statusSignals ask a server for a line about itself.
var statusSignals = []os.Signal{syscall.SIGUSR1}

// hasTerminal says whether this process belongs to a terminal that is still there.
func hasTerminal() bool {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	f.Close()
	return true
}
