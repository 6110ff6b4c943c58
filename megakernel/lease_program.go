package megakernel

import (
	"errors"
	"fmt"
	"io/fs"

	"ringmaster/megakernel/kernelcache/disk"
)

// leaseUniforms are the shader's names of a resident kernel's parameters.
var leaseUniforms = [...]string{"lease_number", "lease_answered", "lease_turns", "lease_round", "lease_idle"}

// leaseProgram is the compiled resident kernel.
type leaseProgram struct {
	id       uint32
	uniforms [len(leaseUniforms)]int32
}

// build makes the resident kernel from the binary that an earlier start left,
// or from source. Called on the device's thread.
func (l *Resident) build(source string) (p leaseProgram, err error) {
	stored := l.cfg.Binaries != nil && l.dev.Supports("program-binary")
	if stored {
		p.id = l.load(source)
	}
	if p.id == 0 {
		if p.id, err = l.dev.CompileCompute(source); err != nil {
			return p, fmt.Errorf("megakernel: kernel %s: %w", l.shape, err)
		}
		if stored {
			l.keep(source, p.id)
		}
	}
	for i, name := range leaseUniforms {
		p.uniforms[i] = l.dev.UniformLocation(p.id, name)
	}
	return p, nil
}

// binaryName is the name of the kernel's binary.
func (l *Resident) binaryName(source string) disk.Name {
	vendor, renderer, version := l.dev.Identity()
	return disk.NameOf(vendor, renderer, version, source)
}

// load is the program of the stored binary, 0 if there is none of use. What
// cannot be used is reported and removed.
func (l *Resident) load(source string) (program uint32) {
	name := l.binaryName(source)
	b, err := l.cfg.Binaries.Load(name)
	if err == nil {
		program, err = l.dev.LoadProgramBinary(b.Format, b.Data)
	}
	if err == nil && l.dev.ProgramWorkgroupSize(program) != [3]uint32{l.shape.Width, 1, 1} {
		l.dev.DeleteProgram(program)
		program, err = 0, errors.New("megakernel: it is another kernel")
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) || Lost(err) {
		return program
	}
	l.cfg.Log.Warn("stored program binary cannot be used and is built again", "kernel", l.shape.String(), "directory", l.cfg.Binaries.Path(), "err", err)
	if err := l.cfg.Binaries.Remove(name); err != nil {
		l.cfg.Log.Debug("removing a stored program binary", "err", err)
	}
	return 0
}

// keep stores the program for the next start. What goes wrong costs the next
// start a compilation.
func (l *Resident) keep(source string, program uint32) {
	format, data, err := l.dev.ProgramBinary(program)
	if err == nil {
		err = l.cfg.Binaries.Store(l.binaryName(source), disk.Binary{Format: format, Data: data})
	}
	if err != nil {
		l.cfg.Log.Debug("program binary is not stored", "kernel", l.shape.String(), "err", err)
	}
}
