package main

import (
	"fmt"
	"strconv"

	"ringmaster/glcompute"
	"ringmaster/megakernel/frontier"
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/graph"
)

// memoryShare is the share of the free device memory, in percent, that a worker takes as
// its budget by default. The rest is for heaps of other workers on the device, for
// kernels, and for what the driver adds to each buffer.
const memoryShare = 80

// memoryFlag bounds device memory: auto, none or a number of bytes. Its zero value is none.
type memoryFlag struct {
	auto  bool
	bytes uint64
}

// UnmarshalText reads a flag.
func (f *memoryFlag) UnmarshalText(text []byte) (err error) {
	*f = memoryFlag{}
	switch string(text) {
	case "auto":
		f.auto = true
	case "none":
	default:
		if f.bytes, err = strconv.ParseUint(string(text), 10, 64); err != nil {
			return fmt.Errorf("%q: want auto, none or a number of bytes", text)
		}
	}
	return nil
}

// budget is the bound in bytes, 0 for none. known says whether the driver reports its memory, m.
func (f memoryFlag) budget(m glcompute.Memory, known bool) uint64 {
	const mib = 1 << 20
	if !f.auto || !known {
		return f.bytes
	}
	return max(m.Available/mib*memoryShare/100, 1) * mib
}

// memoryOf asks the driver of a device for its memory.
func memoryOf(dev gpu.Device) (m glcompute.Memory, known bool) {
	teller, ok := dev.(interface {
		Memory() (glcompute.Memory, bool)
	})
	if !ok {
		return m, false
	}
	err := dev.Do(func() error {
		m, known = teller.Memory()
		return nil
	})
	return m, known && err == nil
}

// fitsMemory returns an error if fewer bytes are free on the device. Where the driver does
// not report its memory, everything fits.
func fitsMemory(bytes uint64, m glcompute.Memory, known bool) error {
	if !known || bytes <= m.Available {
		return nil
	}
	return fmt.Errorf("%s bytes of device memory are needed and %s are free: %v", grouped(bytes), grouped(m.Available), m)
}

// room is the memory of a graph and of the jobs beside it. It fails, before anything is
// uploaded, if the device cannot hold them.
func (c *graphRunCmd) room(dev gpu.Device, p graph.Pair, passes []graphPass) (graphMemory, error) {
	memory := graphMemory{resident: p.Bytes()}
	m, known := memoryOf(dev)
	if !known || len(passes) == 0 {
		return memory, nil
	}
	needs, err := frontier.NeedsOn(dev, p, c.passJob(&passes[0]))
	if err != nil {
		return memory, err
	}
	if err := fitsMemory(memory.resident+needs.Fixed, m, known); err != nil {
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
	return fmt.Sprintf("memory: %v; the --memory-budget of run is %d %% of what is free, now %d MiB", m, memoryShare, memoryFlag{auto: true}.budget(m, known)>>20)
}
