//go:build linux || darwin || freebsd

package main

import "syscall"

// freeBytes is how much this process may still write to the disk that holds dir.
func freeBytes(dir string) (int64, bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}
