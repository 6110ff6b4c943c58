package kernelcache

import (
	"log/slog"

	"ringmaster/megakernel/kernelcache/disk"
)

// Config says what a store builds and how much it keeps.
type Config struct {
	Programs int // programs kept, 1 at least
	Queue    int // keys that wait to be built, 1 at least

	// Disk keeps binaries; nil keeps none. The store does not close it.
	Disk *disk.Dir
	Log  *slog.Logger // nil: nothing is logged
}

// DefaultConfig keeps 96 programs: the widths of a tuner for two kernels of the ring, and
// those of a dozen different graph jobs.
func DefaultConfig() Config {
	return Config{Programs: 96, Queue: 64}
}
