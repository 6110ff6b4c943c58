package glcompute

// Names of objects on the device. The zero value names none. They are aliases of types
// without a name, so that other packages can name the same types without this one.
type (
	Buffer  = struct{ Buffer uint32 }
	Program = struct{ Program uint32 }
	Query   = struct{ Query uint32 }
	Fence   = struct{ Fence uintptr }
)
