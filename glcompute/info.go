package glcompute

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Info describes an open device, for people and for cache keys.
type Info struct {
	// Way is the backend of the attempt that opened the device, such as
	// egl-device; Detail is that attempt's detail.
	Way, Detail string

	// The driver's own strings.
	Vendor, Renderer, Version, GLSL string

	// Software tells that the renderer runs on the CPU.
	Software bool

	// Extensions are the driver's GL extensions, in alphabetical order.
	Extensions []string

	Limits       Limits
	Units        Units
	Capabilities Capabilities
}

// Limits are the driver's limits for compute. Sizes are bytes.
type Limits struct {
	WorkgroupSize        [3]uint32 // invocations along each axis
	WorkgroupCount       [3]uint32 // groups of a dispatch along each axis
	WorkgroupInvocations uint32    // invocations in one group
	SharedMemory         uint32    // shared variables of one group
	StorageBlockSize     int64     // one storage block
	StorageBlocks        uint32    // storage blocks of one compute shader
}

// usable returns an error if a limit is missing without which nothing can be dispatched.
// OpenGL guarantees at least 1,024 invocations and 65,535 groups, and code that computes
// geometries divides by what is reported.
func (l *Limits) usable() error {
	if l.WorkgroupSize[0] == 0 || l.WorkgroupCount[0] == 0 || l.WorkgroupInvocations == 0 || l.StorageBlockSize <= 0 {
		return fmt.Errorf("OpenGL: the driver reports no usable limits for compute: workgroups of %v and %d invocations, %v of them, storage blocks of %d bytes",
			l.WorkgroupSize, l.WorkgroupInvocations, l.WorkgroupCount, l.StorageBlockSize)
	}
	return nil
}

// Capabilities are what a driver may or may not have beyond OpenGL 4.3 core.
type Capabilities struct {
	RobustAccess  bool   // accesses out of bounds stay harmless
	LoseOnReset   bool   // a GPU reset is reported, not hidden
	ResetStatus   bool   // Check can ask about resets
	BufferStorage bool   // persistently mapped buffers
	TimestampBits uint32 // width of the timestamp counter, 0 for none
	Subgroups     bool   // GL_KHR_shader_subgroup_ballot and _arithmetic work in compute shaders
	SubgroupSize  uint32 // invocations in a subgroup (warp), 0 if unknown
	ProgramBinary bool   // compiled programs can be saved
	DeviceUUID    string // 32 hexadecimal digits, empty if unknown
}

// Supports tells whether the device has a capability by its name: buffer-storage
// (NewMapped), program-binary, timestamp, subgroups (ballot and arithmetic operations in
// compute shaders), or robustness (a reset is reported and
// accesses out of bounds stay harmless). It does not know other names.
func (c Capabilities) Supports(name string) bool {
	switch name {
	case "buffer-storage":
		return c.BufferStorage
	case "program-binary":
		return c.ProgramBinary
	case "timestamp":
		return c.TimestampBits > 0
	case "subgroups":
		return c.Subgroups
	case "robustness":
		return c.RobustAccess && c.LoseOnReset && c.ResetStatus
	}
	return false
}

// List gives the capabilities one a line, as "name: value", in a fixed order.
func (c Capabilities) List() []string {
	yes := map[bool]string{true: "yes", false: "no"}
	number := func(n uint32, empty string) string {
		if n == 0 {
			return empty
		}
		return fmt.Sprint(n)
	}
	return []string{
		"robust access: " + yes[c.RobustAccess],
		"lose context on reset: " + yes[c.LoseOnReset],
		"reset status: " + yes[c.ResetStatus],
		"buffer storage: " + yes[c.BufferStorage],
		"timestamp counter bits: " + number(c.TimestampBits, "none"),
		"subgroup size: " + number(c.SubgroupSize, "unknown"),
		"subgroup operations: " + yes[c.Subgroups],
		"program binaries: " + yes[c.ProgramBinary],
		"device UUID: " + cmp.Or(c.DeviceUUID, "unknown"),
	}
}

// String names the device in one line.
func (i Info) String() string {
	parts := []string{i.Renderer, "OpenGL " + i.Version, "GLSL " + i.GLSL, i.Way}
	return strings.Join(parts, ", ")
}

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

// Units are what runs workgroups independently of each other: the multiprocessors of a
// GPU, the threads of a software renderer. The zero value is "not known".
type Units struct {
	Count  uint32
	Lanes  uint32 // invocations that each of them holds at once
	Source string // who says so
}

// threadGroup is the extension that tells of an NVIDIA GPU's multiprocessors.
const threadGroup = "GL_NV_shader_thread_group"

// unitsOfWarps are the units of a GPU that tells of multiprocessors, of the warps that each
// of them holds, and of the invocations of a warp. One that is 0, or more than any device
// has, is no answer.
func unitsOfWarps(count, warps, warp uint32) Units {
	const mostUnits, mostWarps, mostLanes = 1 << 16, 1 << 10, 1 << 7
	if count == 0 || warps == 0 || warp == 0 || count > mostUnits || warps > mostWarps || warp > mostLanes {
		return Units{}
	}
	return Units{Count: count, Lanes: warps * warp, Source: threadGroup}
}

// renderThread is the name of a thread of Mesa's llvmpipe. A screen has as many threads for
// compute, which have no name of their own, and none of either where LP_NUM_THREADS is 0.
var renderThread = regexp.MustCompile(`^llvmpipe-(\d+)$`)

// vectorBits is how llvmpipe names the size of its vectors in GL_RENDERER.
var vectorBits = regexp.MustCompile(`, (\d+) bits\)`)

// softwareUnits are the threads on which a software renderer runs workgroups, of the threads
// of this process. A thread runs one workgroup at a time, one vector of 32-bit lanes of it.
// A renderer without threads runs workgroups on the caller's.
func softwareUnits(renderer string, threads []string) Units {
	u := Units{Count: 1, Lanes: 4, Source: "a software renderer without threads of its own"}
	for _, name := range threads {
		m := renderThread.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		if n, err := strconv.ParseUint(m[1], 10, 8); err == nil {
			u.Count, u.Source = max(u.Count, uint32(n)+1), "the threads of llvmpipe in this process"
		}
	}
	if m := vectorBits.FindStringSubmatch(renderer); m != nil {
		if bits, err := strconv.ParseUint(m[1], 10, 16); err == nil && bits >= 32 {
			u.Lanes = uint32(bits / 32)
		}
	}
	return u
}

// threadNames are the names of the threads of this process. Without a /proc there are none.
func threadNames() (names []string) {
	files, _ := filepath.Glob("/proc/self/task/*/comm")
	for _, f := range files {
		if name, err := os.ReadFile(f); err == nil { // a thread may end meanwhile
			names = append(names, strings.TrimSpace(string(name)))
		}
	}
	return names
}
