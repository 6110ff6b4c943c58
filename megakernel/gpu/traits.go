package gpu

// Traits are what the engine's parts need to know about a device, derived in one place.
// The zero value describes a device on which nothing can run.
type Traits struct {
	Vendor, Renderer, Version string

	// Software says that kernels run on the host's processors: buffers are host memory,
	// lanes are those of a vector unit, and the device's clock says little.
	Software bool
	// Mapped says that buffers can stay mapped while shaders use them.
	Mapped bool
	// Binaries says that programs can be saved and loaded.
	Binaries bool
	// Timestamps says that the device's time can be recorded between commands.
	Timestamps bool
	// Subgroups says that compute shaders have the ballot and arithmetic operations of
	// GL_KHR_shader_subgroup, and that these pay: a software renderer's do not.
	Subgroups bool

	StorageBlocks     uint32 // storage blocks of one compute shader
	StorageBlockBytes int64  // largest storage block

	MaxWidth       uint32 // invocations of a workgroup along x
	MaxGroups      uint32 // workgroups of a dispatch along x
	MaxInvocations uint32 // invocations of a workgroup
}

// TraitsOf derives a device's traits. Any goroutine may call it.
func TraitsOf(dev Caller) Traits {
	t := Traits{
		Software:          dev.Software(),
		Mapped:            dev.Supports("buffer-storage"),
		Binaries:          dev.Supports("program-binary"),
		Timestamps:        dev.Supports("timestamp"),
		StorageBlocks:     dev.StorageBlocks(),
		StorageBlockBytes: dev.StorageBlockLimit(),
	}
	t.Vendor, t.Renderer, t.Version = dev.Identity()
	t.MaxWidth, t.MaxGroups, t.MaxInvocations = dev.WorkgroupLimits()
	t.Subgroups = !t.Software && dev.Supports("subgroups")
	return t
}
