package cache

import (
	"fmt"
	"os"
	"syscall"
)

// locked runs fn while this process alone holds the lock file at path, waiting
// for others. The lock ends with the process, whatever becomes of the file.
func locked(path string, fn func() error) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	defer f.Close()
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if err != syscall.EINTR {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", path, err)
	}
	return fn()
}
