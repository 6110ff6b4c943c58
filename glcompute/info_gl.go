//go:build cgo && linux

package glcompute

import (
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"github.com/go-gl/gl/v4.3-core/gl"
)

// Names that go-gl's 4.3 package lacks, from the Khronos registry (gl.xml).
const (
	glSubgroupSizeKHR     = 0x9532 // GL_KHR_shader_subgroup
	glSubgroupStagesKHR   = 0x9533
	glSubgroupFeaturesKHR = 0x9534
	glSubgroupNeeded      = 0x1 | 0x4 | 0x8 // basic, arithmetic, ballot
	glComputeShaderBit    = 0x20
	glWarpSizeNV          = 0x9339 // GL_NV_shader_thread_group
	glWarpsPerSMNV        = 0x933A
	glSMCountNV           = 0x933B
	glNumDeviceUUIDsEXT   = 0x9596 // GL_EXT_memory_object
	glDeviceUUIDEXT       = 0x9597

	glResetStrategy      = 0x8256 // GL_RESET_NOTIFICATION_STRATEGY
	glLoseContextOnReset = 0x8252
	glRobustAccessBit    = 0x4 // of GL_CONTEXT_FLAGS
)

// readInfo asks the current context about itself.
func readInfo(c context, taken Attempt) Info {
	i := Info{
		Way:      taken.Backend,
		Detail:   taken.Detail,
		Vendor:   getString(gl.VENDOR),
		Renderer: getString(gl.RENDERER),
		Version:  getString(gl.VERSION),
		GLSL:     getString(gl.SHADING_LANGUAGE_VERSION),
		Limits:   readLimits(),
	}
	i.Software = software(i.Renderer)
	ext := glExtensions()
	i.Extensions = slices.Sorted(maps.Keys(ext))
	i.Capabilities = readCapabilities(c, ext)
	i.Units = readUnits(&i, ext)
	takeErrors() // names that a driver announces and then refuses
	return i
}

func readLimits() Limits {
	var l Limits
	for axis := range uint32(3) {
		l.WorkgroupSize[axis] = getIndexed(gl.MAX_COMPUTE_WORK_GROUP_SIZE, axis)
		l.WorkgroupCount[axis] = getIndexed(gl.MAX_COMPUTE_WORK_GROUP_COUNT, axis)
	}
	l.WorkgroupInvocations = get(gl.MAX_COMPUTE_WORK_GROUP_INVOCATIONS)
	l.SharedMemory = get(gl.MAX_COMPUTE_SHARED_MEMORY_SIZE)
	gl.GetInteger64v(gl.MAX_SHADER_STORAGE_BLOCK_SIZE, &l.StorageBlockSize)
	l.StorageBlocks = get(gl.MAX_COMPUTE_SHADER_STORAGE_BLOCKS)
	return l
}

func readCapabilities(c context, ext extensions) Capabilities {
	v45 := atLeast(4, 5)
	caps := Capabilities{
		RobustAccess:  get(gl.CONTEXT_FLAGS)&glRobustAccessBit != 0,
		ResetStatus:   v45 || ext["GL_KHR_robustness"] || ext["GL_ARB_robustness"],
		BufferStorage: atLeast(4, 4) || ext["GL_ARB_buffer_storage"],
		ProgramBinary: get(gl.NUM_PROGRAM_BINARY_FORMATS) > 0,
	}
	if caps.ResetStatus {
		caps.LoseOnReset = get(glResetStrategy) == glLoseContextOnReset
	}
	var bits int32
	gl.GetQueryiv(gl.TIMESTAMP, gl.QUERY_COUNTER_BITS, &bits)
	caps.TimestampBits = uint32(max(bits, 0))
	switch {
	case ext["GL_KHR_shader_subgroup"]:
		caps.SubgroupSize = get(glSubgroupSizeKHR)
		caps.Subgroups = get(glSubgroupStagesKHR)&glComputeShaderBit != 0 && get(glSubgroupFeaturesKHR)&glSubgroupNeeded == glSubgroupNeeded
	case ext[threadGroup]:
		caps.SubgroupSize = get(glWarpSizeNV)
	}
	if ext["GL_EXT_memory_object"] || ext["GL_EXT_semaphore"] {
		caps.DeviceUUID = readUUID(c.proc("glGetUnsignedBytei_vEXT"))
	}
	return caps
}

// readUnits asks the driver for the device's units, or looks at what a software renderer runs on.
func readUnits(i *Info, ext extensions) Units {
	switch {
	case i.Software:
		return softwareUnits(i.Renderer, threadNames())
	case ext[threadGroup]:
		return unitsOfWarps(get(glSMCountNV), get(glWarpsPerSMNV), get(glWarpSizeNV))
	}
	return Units{}
}

// readUUID reads the UUID of the first device behind the context; there is more than one
// only where a context spans GPUs.
func readUUID(get8 uintptr) string {
	var id [uuidBytes]byte
	if get(glNumDeviceUUIDsEXT) > 0 && glUnsignedBytes(get8, glDeviceUUIDEXT, 0, id[:]) {
		return hex.EncodeToString(id[:])
	}
	return ""
}

// resetStatusFunc is the query for a reset in the form that the driver has.
func resetStatusFunc(i Info) func() uint32 {
	if !i.Capabilities.ResetStatus {
		return nil
	}
	ext := glExtensions()
	switch {
	case atLeast(4, 5):
		return gl.GetGraphicsResetStatus
	case ext["GL_KHR_robustness"]:
		return gl.GetGraphicsResetStatusKHR
	}
	return gl.GetGraphicsResetStatusARB
}

func atLeast(major, minor uint32) bool {
	a, b := get(gl.MAJOR_VERSION), get(gl.MINOR_VERSION)
	return a > major || a == major && b >= minor
}

func glExtensions() extensions {
	n := get(gl.NUM_EXTENSIONS)
	set := make(extensions, n)
	for i := range n {
		set[gl.GoStr(gl.GetStringi(gl.EXTENSIONS, i))] = true
	}
	return set
}

func getString(name uint32) string {
	if s := gl.GetString(name); s != nil {
		return gl.GoStr(s)
	}
	return ""
}

// get reads a limit; GL has them signed, and a driver that means no limit may
// report -1.
func get(name uint32) uint32 {
	var v int32
	gl.GetIntegerv(name, &v)
	return uint32(v)
}

func getIndexed(name, index uint32) uint32 {
	var v int32
	gl.GetIntegeri_v(name, index, &v)
	return uint32(v)
}

// Names that go-gl's 4.3 package lacks, from the Khronos registry (gl.xml).
const (
	glDedicatedMemoryNVX        = 0x9047 // GL_GPU_MEMORY_INFO_DEDICATED_VIDMEM_NVX
	glCurrentAvailableMemoryNVX = 0x9049 // GL_GPU_MEMORY_INFO_CURRENT_AVAILABLE_VIDMEM_NVX
	glBufferFreeMemoryATI       = 0x87FB // GL_VBO_FREE_MEMORY_ATI, four numbers
)

// Memory asks the driver for the device's memory, where it has GL_NVX_gpu_memory_info or
// GL_ATI_meminfo.
func (d *Device) Memory() (m Memory, known bool) {
	err := d.own(func() {
		m, known = memoryOf(glExtensions(), func() (dedicated, available int32) {
			gl.GetIntegerv(glDedicatedMemoryNVX, &dedicated)
			gl.GetIntegerv(glCurrentAvailableMemoryNVX, &available)
			return dedicated, available
		}, func() int32 {
			var free [4]int32 // of the pool, its largest block, and the same of the auxiliary one
			gl.GetIntegerv(glBufferFreeMemoryATI, &free[0])
			return free[0]
		})
	})
	return m, known && err == nil
}

// software tells whether a GL_RENDERER string names a rasteriser on the CPU.
func software(renderer string) bool {
	r := strings.ToLower(renderer)
	for _, name := range []string{"llvmpipe", "softpipe", "swrast", "swiftshader", "software rasterizer"} {
		if strings.Contains(r, name) {
			return true
		}
	}
	return false
}
