package registry

import (
	"os"
	"runtime"
)

// A disk is where files are made. Tests put one in its place that fails.
type disk interface {
	create(path string) (file, error) // fails when there is such a file
	remove(path string) error
	sync(path string) error // of a file, or of a directory, so that its names outlast a loss of power
}

// A file is written at its end.
type file interface {
	Write([]byte) (int, error)
	Truncate(size int64) error
	Sync() error
	Close() error
}

// osDisk is that of the operating system.
type osDisk struct{}

func (osDisk) create(path string) (file, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err // a nil *os.File would be no nil file
	}
	return failing(f), nil
}

func (osDisk) remove(path string) error { return os.Remove(path) }

func (osDisk) sync(path string) error {
	if runtime.GOOS == "windows" { // where only a file that is open for writing can be synced
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
