package main

import (
	"fmt"
	"strconv"

	"ringmaster/cmd/runtime/worker"
	"ringmaster/glcompute"
	"ringmaster/megakernel/frontier"
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/graph"
)

// memoryFlag bounds device memory: auto, none or a number of bytes. Its zero value is none.
type memoryFlag struct{ worker.MemoryBudget }

// UnmarshalText reads a flag.
func (f *memoryFlag) UnmarshalText(text []byte) (err error) {
	*f = memoryFlag{}
	switch string(text) {
	case "auto":
		f.Auto = true
	case "none":
	default:
		if f.Fixed, err = strconv.ParseUint(string(text), 10, 64); err != nil {
			return fmt.Errorf("%q: want auto, none or a number of bytes", text)
		}
	}
	return nil
}

// room is the memory of a graph and of the jobs beside it. It fails, before anything is
// uploaded, if the device cannot hold them.
func (c *graphRunCmd) room(dev gpu.Device, p graph.Pair, passes []graphPass) (graphMemory, error) {
	memory := graphMemory{resident: p.Bytes()}
	m, known := worker.DeviceMemory(dev)
	if !known || len(passes) == 0 {
		return memory, nil
	}
	needs, err := frontier.NeedsOn(dev, p, c.passJob(&passes[0]))
	if err != nil {
		return memory, err
	}
	if err := worker.FitsDevice(memory.resident+needs.Fixed, m, known); err != nil {
		return memory, fmt.Errorf("the graph takes %s bytes and the job at least %s: %w", grouped(memory.resident), grouped(needs.Fixed), err)
	}
	memory.budget = m.Available
	return memory, nil
}

// memoryState is doctor's line about device memory.
func memoryState(m glcompute.Memory, known bool) string {
	if !known {
		return "memory: not reported by the driver; a --memory-budget in bytes bounds graphs, and so does the host's free memory"
	}
	return fmt.Sprintf("memory: %v; the --memory-budget of run is %d %% of what is free, now %d MiB", m, worker.MemoryShare, worker.MemoryBudget{Auto: true}.Bytes(m, known)>>20)
}
