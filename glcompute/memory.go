package glcompute

import "fmt"

// Memory is what a driver tells of the device's memory, in bytes. It counts what other
// processes have taken, and goes on changing.
type Memory struct {
	Total     uint64 // dedicated to the device; 0 where the driver does not tell
	Available uint64 // free now
	Source    string // the GL extension that told
}

// String says it in one line.
func (m Memory) String() string {
	if m.Total == 0 {
		return fmt.Sprintf("%d MiB free (%s)", m.Available>>20, m.Source)
	}
	return fmt.Sprintf("%d of %d MiB free (%s)", m.Available>>20, m.Total>>20, m.Source)
}

// memoryOf makes bytes of what the extensions count in KiB. Drivers that have an extension
// and nothing to say with it answer zeros.
func memoryOf(ext map[string]bool, nvx func() (dedicated, available int32), ati func() (free int32)) (Memory, bool) {
	const kib = 1 << 10
	if ext[nvxMemory] {
		if total, free := nvx(); total > 0 && free >= 0 && free <= total {
			return Memory{Total: uint64(total) * kib, Available: uint64(free) * kib, Source: nvxMemory}, true
		}
	}
	if ext[atiMemory] {
		if free := ati(); free > 0 {
			return Memory{Available: uint64(free) * kib, Source: atiMemory}, true
		}
	}
	return Memory{}, false
}

// The extensions that tell of memory.
const (
	nvxMemory = "GL_NVX_gpu_memory_info"
	atiMemory = "GL_ATI_meminfo"
)
