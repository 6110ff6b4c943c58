package worker

import (
	"fmt"

	"ringmaster/cmd/runtime/text"
	"ringmaster/glcompute"
	"ringmaster/megakernel/gpu"
)

// MemoryShare is the share of the free device memory, in percent, that a worker takes as
// its budget by default. The rest is for heaps of other workers on the device, for
// kernels, and for what the driver adds to each buffer.
const MemoryShare = 80

// MemoryBudget bounds device memory. Its zero value is no bound.
type MemoryBudget struct {
	Auto  bool   // MemoryShare of what is free, where the driver says; else Fixed
	Fixed uint64 // bytes
}

// Bytes is the bound in bytes, 0 for none. known says whether the driver reports its memory, m.
func (f MemoryBudget) Bytes(m glcompute.Memory, known bool) uint64 {
	const mib = 1 << 20
	if !f.Auto || !known {
		return f.Fixed
	}
	return max(m.Available/mib*MemoryShare/100, 1) * mib
}

// DeviceMemory asks the driver of a device for its memory.
func DeviceMemory(dev gpu.Device) (m glcompute.Memory, known bool) {
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

// FitsDevice returns an error if fewer bytes are free on the device. Where the driver does
// not report its memory, everything fits.
func FitsDevice(bytes uint64, m glcompute.Memory, known bool) error {
	if !known || bytes <= m.Available {
		return nil
	}
	return fmt.Errorf("%s bytes of device memory are needed and %s are free: %v", text.Grouped(bytes), text.Grouped(m.Available), m)
}
