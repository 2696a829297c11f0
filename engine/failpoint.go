//go:build !failpoint

package engine

// failpoint does nothing; with the tag failpoint the fault tests end the program here.
func failpoint(string) {}
