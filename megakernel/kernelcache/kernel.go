package kernelcache

import (
	"fmt"

	"ringmaster/megakernel/gpu"
)

// Kernel is what a program is built from, and the key of the program in a store. Its type
// is comparable, and equal kernels have equal sources.
type Kernel interface {
	// String names the kernel in errors and logs.
	String() string
	// Source is the kernel as it is compiled. It is called on the goroutine that builds.
	Source() string
	// Adopt checks a linked program, finds what its users need, which becomes
	// Program.Value, and dispatches it once with nothing to do, on buffers of idle.
	// Called inside the device's Do, where nothing that was bound before is bound any
	// more. After an error the program is deleted and the kernel fails.
	Adopt(dev gpu.Device, program gpu.Program, idle *Idle) (any, error)
}

// Target is where a store builds.
type Target struct {
	Device gpu.Device
	// Background says that Device is a context of its own, beside the one
	// that launches run on and in its share group. The store then builds on
	// a goroutine, else in BuildOne and Wait.
	Background bool
}

// Idle has the buffers on which new programs are dispatched for the first time.
type Idle struct {
	dev     gpu.Device
	buffers []gpu.Buffer
	size    int // of each
}

// Bind binds buffers of at least some bytes, all zeros, to the first n binding points of
// storage blocks, and returns them. They are the same for every program. Called inside Do.
func (d *Idle) Bind(n, size int) ([]gpu.Buffer, error) {
	if size > d.size {
		d.delete()
		d.size = size
	}
	for len(d.buffers) < n {
		buffer, err := d.dev.NewBuffer(d.size)
		if err != nil {
			return nil, fmt.Errorf("buffer of %d bytes: %w", d.size, err)
		}
		d.buffers = append(d.buffers, buffer)
	}
	for i, buffer := range d.buffers[:n] {
		d.dev.ClearBuffer(buffer, 0, d.size)
		d.dev.BindStorage(uint32(i), buffer, 0, d.size)
	}
	d.dev.Barrier()
	return d.buffers[:n], nil
}

func (d *Idle) delete() {
	for _, buffer := range d.buffers {
		d.dev.DeleteBuffer(buffer)
	}
	d.buffers = nil
}
