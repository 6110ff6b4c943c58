package megakernel

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/kernelcache"
	"ringmaster/megakernel/kernelcache/disk"
	"ringmaster/megakernel/lease"
	"ringmaster/megakernel/ledger"
	"ringmaster/megakernel/policy"
	"ringmaster/ring"
)

// LimitsOf is what a device allows a plan, and what it is, as far as its driver tells.
func LimitsOf(dev gpu.Caller) (l policy.Limits) {
	l.MaxWorkgroupSizeX, l.MaxWorkgroupsPerDimension, l.MaxInvocationsPerWorkgroup = dev.WorkgroupLimits()
	l.Units, l.UnitLanes, l.SubgroupSize = dev.Units()
	return l
}

// Config sizes an engine. Nothing in it changes after New.
type Config struct {
	Pages         int           // pages of ring.PageSlots slots on the device
	HeapWords     uint32        // words of the heap all windows are cut from
	WindowWords   uint32        // words of one queue's window
	MaxQueues     int           // windows, and so queues that have work or data at a time
	MaxPending    int           // slots submitted and not finished, over all queues
	MaxBatchSlots int           // slots of one batch
	WindowHold    time.Duration // how long a window that is written to is not given to another queue
	InFlight      int           // waves started and not settled, 1..MaxInFlight
	AgeThreshold  uint32        // waves of a queue after which a page that was in none of them is aged
	LoopBudget    uint32        // loop iterations of one invocation in one dispatch, see DefaultLoopBudget
	Programs      int           // compiled programs kept, those of borrowers of the device too

	// Beside opens a second context of a device's share group, on which kernels
	// are built while launches run. If it is nil or fails, launches wait for the
	// kernels they want. New and Move call it, and the engine closes the result if
	// it has a method Close() error.
	Beside func(gpu.Device) (gpu.Device, error)
	// Lease says that launches whose Order.Mode allows it run on a kernel that
	// stays resident, if the device passes the self-test of it.
	Lease bool
	// LeaseDuration bounds a resident kernel; 0 means lease.DefaultDuration, and
	// lease.MaxDuration is the most.
	LeaseDuration time.Duration
	// Binaries keeps built programs for the next start; nil keeps none. The
	// engine does not close it.
	Binaries *disk.Dir
	// Log is told which kernels cannot be built or loaded, and why; may be nil.
	Log *slog.Logger

	// Queue has the bounds of queues that were not configured by Engine.Configure.
	Queue QueueOptions

	// Ended, if not nil, is told of queues whose batches ended outside of any launch, by
	// their deadline or canceled; Finished hands them out. It runs on a goroutine of the
	// engine: it may call every method but Close, and holds up further deadlines.
	Ended func(queue string)

	// Catalog is the opcodes that slots may have; nil means the built-in ones.
	Catalog *kernel.Catalog

	// Now is the clock of deadlines and rates; nil means time.Now.
	Now func() time.Time
}

// MaxInFlight is the most waves that may be in flight.
const MaxInFlight = 16

// DefaultConfig is 262,144 slots on the device and 64 windows of 256 KiB:
// about 35 MB of device memory. Three waves may be in flight: one that runs,
// one behind it, and one whose results the host takes over.
func DefaultConfig() Config {
	return Config{
		Pages:         1024,
		HeapWords:     64 << 16,
		WindowWords:   1 << 16,
		MaxQueues:     64,
		MaxPending:    4 << 20,
		MaxBatchSlots: 1 << 16,
		WindowHold:    10 * time.Second,
		InFlight:      3,
		AgeThreshold:  policy.Standard().PriorityAgeThreshold,
		LoopBudget:    kernel.DefaultLoopBudget,
		Programs:      kernelcache.DefaultConfig().Programs,
	}
}

// Validate reports every value that cannot work.
func (c *Config) Validate() error {
	var problems []error
	refuse := func(broken bool, format string, args ...any) {
		if broken {
			problems = append(problems, fmt.Errorf("config: "+format, args...))
		}
	}
	refuse(c.MaxQueues < 1 || c.MaxQueues > ledger.MaxWindows, "MaxQueues is %d, want 1 to %d", c.MaxQueues, ledger.MaxWindows)
	refuse(c.Pages < ring.Priorities*max(c.MaxQueues, 1) || c.Pages > ring.MaxPages,
		"Pages is %d, want %d (a page for each priority of each queue) to %d", c.Pages, ring.Priorities*max(c.MaxQueues, 1), ring.MaxPages)
	refuse(c.WindowWords < 1, "WindowWords is 0")
	refuse(uint64(c.WindowWords)*uint64(max(c.MaxQueues, 1)) > uint64(c.HeapWords),
		"HeapWords is %d, too few for %d windows of %d", c.HeapWords, c.MaxQueues, c.WindowWords)
	refuse(c.MaxBatchSlots < 1, "MaxBatchSlots is %d, want at least 1", c.MaxBatchSlots)
	refuse(c.MaxPending < c.MaxBatchSlots, "MaxPending is %d, below MaxBatchSlots %d", c.MaxPending, c.MaxBatchSlots)
	refuse(c.WindowHold < 0, "WindowHold is %v, want 0 or more", c.WindowHold)
	refuse(c.InFlight < 1 || c.InFlight > MaxInFlight, "InFlight is %d, want 1 to %d", c.InFlight, MaxInFlight)
	refuse(c.AgeThreshold < 1, "AgeThreshold is 0, want at least 1")
	refuse(c.LoopBudget < kernel.MinLoopBudget, "LoopBudget is %d, want at least %d for one slot of any kind", c.LoopBudget, kernel.MinLoopBudget)
	refuse(c.LeaseDuration < 0 || c.LeaseDuration > lease.MaxDuration, "LeaseDuration is %v, want at most %v", c.LeaseDuration, lease.MaxDuration)
	refuse(c.Programs < 1, "Programs is %d, want at least 1", c.Programs)
	if err := c.Queue.Validate(); err != nil {
		refuse(true, "Queue: %w", err)
	}
	return errors.Join(problems...)
}
