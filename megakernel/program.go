package megakernel

import (
	"fmt"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
)

// program is a compiled interpreter of one width.
type program struct {
	id          gpu.Program
	width       uint32
	uniforms    [len(kernel.UniformNames)]int32
	fingerprint [32]byte

	// What the uniforms are, once set has said so.
	values [len(kernel.UniformNames)]uint32
	known  bool
}

// compile builds a program from source. Called on the device's thread.
func compile(dev gpu.Device, width uint32, source string) (*program, error) {
	id, err := dev.CompileCompute(source)
	if err != nil {
		return nil, fmt.Errorf("kernel of width %d: %w", width, err)
	}
	p, err := newProgram(dev, width, id)
	if err != nil {
		dev.DeleteProgram(id)
		return nil, err
	}
	p.fingerprint = kernel.Fingerprint(source)
	return p, nil
}

// newProgram checks a linked program and finds its uniforms. Called on the device's thread.
func newProgram(dev gpu.Device, width uint32, id gpu.Program) (*program, error) {
	if size := dev.ProgramWorkgroupSize(id); size != [3]uint32{width, 1, 1} {
		return nil, fmt.Errorf("kernel of width %d: the driver built %v", width, size)
	}
	p := &program{id: id, width: width}
	for i, name := range kernel.UniformNames {
		p.uniforms[i] = dev.UniformLocation(id, name)
	}
	return p, nil
}

// set gives the program the parameters of a wave that differ from those of the wave
// before: setting all of them would take as long as a small wave.
func (p *program) set(dev gpu.Device, w *kernel.Wave) {
	values := w.Values()
	for i, value := range values {
		if p.uniforms[i] >= 0 && (!p.known || value != p.values[i]) {
			dev.SetUniform(p.id, p.uniforms[i], value)
		}
	}
	p.values, p.known = values, true
}
