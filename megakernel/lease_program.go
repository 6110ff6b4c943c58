package megakernel

import (
	"errors"
	"fmt"
	"io/fs"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernelcache/disk"
)

// leaseUniforms are the shader's names of a resident kernel's parameters.
var leaseUniforms = [...]string{"lease_number", "lease_answered", "lease_turns", "lease_round", "lease_idle"}

// leaseProgram is a compiled resident kernel.
type leaseProgram struct {
	id          gpu.Program
	fingerprint [32]byte // of its source
	uniforms    [len(leaseUniforms)]int32
}

// build makes a resident kernel from the binary that an earlier start left,
// or from source. Called on the device's thread.
func (l *Resident) build(k Kernel) (p leaseProgram, err error) {
	source := l.catalog.Source(k)
	p.fingerprint = Fingerprint(source)
	stored := l.cfg.Binaries != nil && l.dev.Supports("program-binary")
	if stored {
		p.id = l.load(k, source)
	}
	if p.id.Program == 0 {
		if p.id, err = l.dev.CompileCompute(source); err != nil {
			return p, fmt.Errorf("megakernel: kernel %s: %w", k, err)
		}
		if stored {
			l.keep(k, source, p.id)
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
func (l *Resident) load(k Kernel, source string) (program gpu.Program) {
	name := l.binaryName(source)
	b, err := l.cfg.Binaries.Load(name)
	if err == nil {
		program, err = l.dev.LoadProgramBinary(b.Format, b.Data)
	}
	if err == nil && l.dev.ProgramWorkgroupSize(program) != [3]uint32{k.Width, 1, 1} {
		l.dev.DeleteProgram(program)
		program, err = gpu.Program{}, errors.New("megakernel: it is another kernel")
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) || gpu.Lost(err) {
		return program
	}
	l.cfg.Log.Warn("stored program binary cannot be used and is built again", "kernel", k.String(), "directory", l.cfg.Binaries.Path(), "err", err)
	if err := l.cfg.Binaries.Remove(name); err != nil {
		l.cfg.Log.Debug("removing a stored program binary", "err", err)
	}
	return gpu.Program{}
}

// keep stores the program for the next start. What goes wrong costs the next
// start a compilation.
func (l *Resident) keep(k Kernel, source string, program gpu.Program) {
	format, data, err := l.dev.ProgramBinary(program)
	if err == nil {
		err = l.cfg.Binaries.Store(l.binaryName(source), disk.Binary{Format: format, Data: data})
	}
	if err != nil {
		l.cfg.Log.Debug("program binary is not stored", "kernel", k.String(), "err", err)
	}
}
