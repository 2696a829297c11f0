//go:build failpoint

package registry

import (
	"os"
	"syscall"
)

// A failingFile is a file whose fsync fails while there is a file at the path of RESQ_FAIL_FSYNC.
type failingFile struct{ file }

func failing(f file) file { return failingFile{f} }

func (f failingFile) Sync() error {
	if path := os.Getenv("RESQ_FAIL_FSYNC"); path != "" {
		if _, err := os.Stat(path); err == nil {
			return syscall.EIO
		}
	}
	return f.file.Sync()
}
