//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package registry

import (
	"errors"
	"io"
)

// tryLock fails: without a lock that ends with its process, two could write one chain.
func tryLock(string) (io.Closer, bool, error) { return nil, false, errors.ErrUnsupported }
