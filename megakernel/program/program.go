package program

import (
	"fmt"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
)

// Program is a kernel of the ring on a device.
type Program struct {
	ID       gpu.Program
	Width    uint32
	uniforms [len(kernel.UniformNames)]int32

	// What the uniforms are, once SetUniforms has said so.
	values [len(kernel.UniformNames)]uint32
	known  bool
}

// Compile builds a program of a width from source. Called on the device's thread.
func Compile(dev gpu.Device, width uint32, source string) (*Program, error) {
	id, err := dev.CompileCompute(source)
	if err != nil {
		return nil, fmt.Errorf("kernel of width %d: %w", width, err)
	}
	p, err := check(dev, width, id)
	if err != nil {
		dev.DeleteProgram(id)
		return nil, err
	}
	return p, nil
}

// check refuses a linked program of another width, and finds the uniforms. Called on the
// device's thread.
func check(dev gpu.Device, width uint32, id gpu.Program) (*Program, error) {
	if size := dev.ProgramWorkgroupSize(id); size != [3]uint32{width, 1, 1} {
		return nil, fmt.Errorf("kernel of width %d: the driver built %v", width, size)
	}
	p := &Program{ID: id, Width: width}
	for i, name := range kernel.UniformNames {
		p.uniforms[i] = dev.UniformLocation(id, name)
	}
	return p, nil
}

// SetUniforms gives the program the parameters of a wave that differ from those of the
// wave it ran last: setting all of them would take as long as a small wave. Called on the
// device's thread.
func (p *Program) SetUniforms(dev gpu.Device, w *kernel.Wave) {
	values := w.Values()
	for i, value := range values {
		if p.uniforms[i] >= 0 && (!p.known || value != p.values[i]) {
			dev.SetUniform(p.ID, p.uniforms[i], value)
		}
	}
	p.values, p.known = values, true
}
