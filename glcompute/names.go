package glcompute

// Names of objects on the device. The zero value names none. They are aliases of types
// without a name, so that other packages can name the same types without this one.
type (
	Buffer  = struct{ Buffer uint32 }
	Program = struct{ Program uint32 }
	Query   = struct{ Query uint32 }
	Fence   = struct{ Fence uintptr }
)

// The answers of Device.GraphicsReset.
const (
	ResetNone     uint32 = iota // no reset
	ResetGuilty                 // caused by this context
	ResetInnocent               // caused by another context
	ResetUnknown                // cause unknown
)

// StorageRange is a buffer as a storage block of a frame's shader.
type StorageRange struct {
	Binding uint32
	Buffer  Buffer
	Size    int // bytes
}
