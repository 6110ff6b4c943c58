package kernelcache

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"ringmaster/megakernel/kernelcache/disk"
)

// Config says what a store builds and how much it keeps.
type Config struct {
	Programs int           // programs kept
	Queue    int           // keys that wait to be built
	Retry    time.Duration // from a first failure of a key to the next try; doubles up to RetryMax
	RetryMax time.Duration

	// Disk keeps binaries; nil keeps none. The store does not close it.
	Disk *disk.Dir
	Log  *slog.Logger // nil: nothing is logged
}

// DefaultConfig keeps 96 programs: the widths of a tuner for two kernels of the ring, and
// those of a dozen different graph jobs.
func DefaultConfig() Config {
	return Config{Programs: 96, Queue: 64, Retry: 5 * time.Second, RetryMax: 10 * time.Minute}
}

// Validate reports every value that cannot work.
func (c *Config) Validate() error {
	var errs []error
	refuse := func(broken bool, format string, args ...any) {
		if broken {
			errs = append(errs, fmt.Errorf("kernel cache: config: "+format, args...))
		}
	}
	refuse(c.Programs < 1, "Programs is %d, want at least 1", c.Programs)
	refuse(c.Queue < 1, "Queue is %d, want at least 1", c.Queue)
	refuse(c.Retry <= 0, "Retry is %v, want more than 0", c.Retry)
	refuse(c.RetryMax < c.Retry, "RetryMax is %v, below Retry %v", c.RetryMax, c.Retry)
	return errors.Join(errs...)
}
