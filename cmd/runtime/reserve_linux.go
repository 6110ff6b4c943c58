package main

import (
	"errors"
	"os"
	"syscall"
)

// reserve takes the place of a file's first bytes on the disk and leaves what they say. A file
// system that cannot do that is no error.
func reserve(f *os.File, bytes int64) error {
	if err := syscall.Fallocate(int(f.Fd()), 0, 0, bytes); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return &os.PathError{Op: "fallocate", Path: f.Name(), Err: err}
	}
	return nil
}
