package registry

import (
	"errors"
	"io"
	"os"
	"syscall"
)

const errorSharingViolation = syscall.Errno(32)

// tryLock takes the lock that a file stands for; false is that another process has it. It ends with the
// process, however that ends: a file that is opened to be shared with nobody cannot be opened twice.
func tryLock(path string) (io.Closer, bool, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, false, err
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, errorSharingViolation) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return os.NewFile(uintptr(h), path), true, nil
}
