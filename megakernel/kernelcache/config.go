package kernelcache

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"ringmaster/megakernel/kernelcache/disk"
)

// Config says what a store builds and how much it keeps.
type Config[K comparable] struct {
	// Source is the kernel of a key, as it is compiled. It is called on the
	// goroutine that builds.
	Source func(K) (string, error)
	// Name is a key in the words of a log line.
	Name func(K) string

	Programs int           // programs kept
	Queue    int           // keys that wait to be built
	Retry    time.Duration // from a first failure of a key to the next try; doubles up to RetryMax
	RetryMax time.Duration

	// Disk keeps binaries; nil keeps none. The store does not close it.
	Disk *disk.Dir
	Log  *slog.Logger
}

// DefaultConfig keeps 32 programs: the widths of a tuner for two kernels. The
// caller sets Source, Name and Log.
func DefaultConfig[K comparable]() Config[K] {
	return Config[K]{Programs: 32, Queue: 64, Retry: 5 * time.Second, RetryMax: 10 * time.Minute}
}

// Validate reports every value that cannot work.
func (c *Config[K]) Validate() error {
	var errs []error
	refuse := func(broken bool, format string, args ...any) {
		if broken {
			errs = append(errs, fmt.Errorf("kernel cache: config: "+format, args...))
		}
	}
	refuse(c.Source == nil, "Source is nil")
	refuse(c.Name == nil, "Name is nil")
	refuse(c.Log == nil, "Log is nil")
	refuse(c.Programs < 1, "Programs is %d, want at least 1", c.Programs)
	refuse(c.Queue < 1, "Queue is %d, want at least 1", c.Queue)
	refuse(c.Retry <= 0, "Retry is %v, want more than 0", c.Retry)
	refuse(c.RetryMax < c.Retry, "RetryMax is %v, below Retry %v", c.RetryMax, c.Retry)
	return errors.Join(errs...)
}
