//go:build cgo && linux

package glcompute

import "github.com/go-gl/gl/v4.3-core/gl"

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
