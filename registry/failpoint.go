//go:build !failpoint

package registry

// failing is the file as it is; with the tag failpoint the fault tests make its fsync fail.
func failing(f file) file { return f }
