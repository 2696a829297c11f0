//go:build failpoint

package engine

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// failpoint ends the program as kill -9 does, or stops it for a while, at a point that RESQ_FAILPOINT names:
// NAME, NAME:percent, or NAME:percent:sleep. More than one stand with commas between them.
func failpoint(name string) {
	for _, s := range strings.Split(os.Getenv("RESQ_FAILPOINT"), ",") {
		point, rest, _ := strings.Cut(s, ":")
		if point != name && point != "any" {
			continue
		}
		percent, action, _ := strings.Cut(rest, ":")
		if n, err := strconv.Atoi(percent); err == nil && rand.IntN(100) >= n {
			continue
		}
		if action == "sleep" {
			time.Sleep(2 * time.Second)
			continue
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}
