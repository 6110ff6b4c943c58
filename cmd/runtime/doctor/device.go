package doctor

import (
	"fmt"

	"ringmaster/cmd/runtime/worker"
	"ringmaster/glcompute"
)

// Units is the line about what a device is.
func Units(u glcompute.Units) string {
	if u.Count == 0 || u.Lanes == 0 {
		return "units: not reported by the driver; the limits of the API shape launches"
	}
	return fmt.Sprintf("units: %d, each of which holds %d invocations at once (%s)", u.Count, u.Lanes, u.Source)
}

// Memory is the line about a device's memory.
func Memory(m glcompute.Memory, known bool) string {
	if !known {
		return "memory: not reported by the driver; a --memory-budget in bytes bounds graphs, and so does the host's free memory"
	}
	return fmt.Sprintf("memory: %v; the --memory-budget of run is %d %% of what is free, now %d MiB", m, worker.MemoryShare, worker.MemoryBudget{Auto: true}.Bytes(m, known)>>20)
}
