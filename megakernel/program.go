package megakernel

import (
	"fmt"
	"slices"
)

// program is a compiled interpreter of one width.
type program struct {
	id          uint32
	width       uint32
	uniforms    [len(uniformNames)]int32
	fingerprint [32]byte
}

// compile builds a program from source. Called on the device's thread.
func compile(dev Device, width uint32, source string) (*program, error) {
	id, err := dev.CompileCompute(source)
	if err != nil {
		return nil, fmt.Errorf("megakernel: kernel of width %d: %w", width, err)
	}
	p, err := newProgram(dev, width, id)
	if err != nil {
		dev.DeleteProgram(id)
		return nil, err
	}
	p.fingerprint = Fingerprint(source)
	return p, nil
}

// newProgram checks a linked program and finds its uniforms. Called on the device's thread.
func newProgram(dev Device, width, id uint32) (*program, error) {
	if size := dev.ProgramWorkgroupSize(id); size != [3]uint32{width, 1, 1} {
		return nil, fmt.Errorf("megakernel: kernel of width %d: the driver built %v", width, size)
	}
	p := &program{id: id, width: width}
	for i, name := range uniformNames {
		p.uniforms[i] = dev.UniformLocation(id, name)
	}
	return p, nil
}

// programs keeps the programs used last, one for each width, the most recent first.
type programs struct {
	limit int
	kept  []*program
}

// get is the program of a width, compiled if it is not kept. A new program
// has been dispatched once with nothing to do, because drivers translate a
// kernel at its first dispatch and that is no part of a launch's time. Called
// on the device's thread, with the ring's buffers bound.
func (c *programs) get(dev Device, width uint32) (*program, error) {
	for i, p := range c.kept {
		if p.width == width {
			copy(c.kept[1:i+1], c.kept[:i])
			c.kept[0] = p
			return p, nil
		}
	}
	p, err := compile(dev, width, Source(width))
	if err != nil {
		return nil, err
	}
	p.set(dev, &Wave{Chunk: width, ClaimBudget: 1})
	dev.Dispatch(p.id, 1)
	dev.Finish()
	if len(c.kept) == c.limit {
		dev.DeleteProgram(c.kept[c.limit-1].id)
		c.kept = c.kept[:c.limit-1]
	}
	c.kept = slices.Insert(c.kept, 0, p)
	return p, nil
}

// deleteAll deletes every program. Called on the device's thread.
func (c *programs) deleteAll(dev Device) {
	for _, p := range c.kept {
		dev.DeleteProgram(p.id)
	}
	c.kept = c.kept[:0]
}

// set gives the program a wave's parameters.
func (p *program) set(dev Device, w *Wave) {
	for i, value := range w.values() {
		if p.uniforms[i] >= 0 {
			dev.SetUniform(p.id, p.uniforms[i], value)
		}
	}
}
