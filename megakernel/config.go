package megakernel

import (
	"errors"
	"fmt"

	"ringmaster/ring"
)

// Config sizes an engine. Nothing in it changes after New.
type Config struct {
	Pages         int    // pages of ring.PageSlots slots on the device
	HeapWords     uint32 // words of the heap all windows are cut from
	WindowWords   uint32 // words of one queue's window
	MaxQueues     int    // queues; each owns a window for the engine's life
	MaxPending    int    // slots submitted and not finished, over all queues
	MaxBatchSlots int    // slots of one batch
	LoopBudget    uint32 // loop iterations of one invocation in one dispatch, see DefaultLoopBudget
	Programs      int    // compiled programs kept, one for each width
}

// DefaultConfig is 262,144 slots on the device and 64 windows of 256 KiB:
// about 35 MB of device memory.
func DefaultConfig() Config {
	return Config{
		Pages:         1024,
		HeapWords:     64 << 16,
		WindowWords:   1 << 16,
		MaxQueues:     64,
		MaxPending:    4 << 20,
		MaxBatchSlots: 1 << 16,
		LoopBudget:    DefaultLoopBudget,
		Programs:      8,
	}
}

// Validate reports every value that cannot work.
func (c *Config) Validate() error {
	var problems []error
	refuse := func(broken bool, format string, args ...any) {
		if broken {
			problems = append(problems, fmt.Errorf("megakernel: config: "+format, args...))
		}
	}
	refuse(c.MaxQueues < 1, "MaxQueues is %d, want at least 1", c.MaxQueues)
	refuse(c.Pages < ring.Priorities*max(c.MaxQueues, 1) || c.Pages > ring.MaxPages,
		"Pages is %d, want %d (a page for each priority of each queue) to %d", c.Pages, ring.Priorities*max(c.MaxQueues, 1), ring.MaxPages)
	refuse(c.WindowWords < 1, "WindowWords is 0")
	refuse(uint64(c.WindowWords)*uint64(max(c.MaxQueues, 1)) > uint64(c.HeapWords),
		"HeapWords is %d, too few for %d windows of %d", c.HeapWords, c.MaxQueues, c.WindowWords)
	refuse(c.MaxBatchSlots < 1, "MaxBatchSlots is %d, want at least 1", c.MaxBatchSlots)
	refuse(c.MaxPending < c.MaxBatchSlots, "MaxPending is %d, below MaxBatchSlots %d", c.MaxPending, c.MaxBatchSlots)
	refuse(c.LoopBudget < minLoopBudget, "LoopBudget is %d, want at least %d for one slot of any kind", c.LoopBudget, minLoopBudget)
	refuse(c.Programs < 1, "Programs is %d, want at least 1", c.Programs)
	return errors.Join(problems...)
}

// minLoopBudget lets a workgroup claim one row of the longest copies.
const minLoopBudget = 1 + rowIterations + CopyCap
