package glcompute

import "ringmaster/megakernel/gpu"

var _ gpu.Device = (*Device)(nil)

// Names of objects on the device. The zero value names none.
type (
	Buffer  = gpu.Buffer
	Program = gpu.Program
	Query   = gpu.Query
	Fence   = gpu.Fence
)

// StorageRange is a buffer as a storage block of a frame's shader.
type StorageRange struct {
	Binding uint32
	Buffer  Buffer
	Size    int // bytes
}
