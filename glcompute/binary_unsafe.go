//go:build cgo && linux

package glcompute

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/go-gl/gl/v4.3-core/gl"
)

// ProgramBinary is a compiled program in the driver's own form, for
// LoadProgramBinary of the same driver on the same device. Where the driver has
// no such form (see Supports) the error wraps errors.ErrUnsupported.
func (d *Device) ProgramBinary(program Program) (format uint32, data []byte, err error) {
	if !d.info.Capabilities.ProgramBinary {
		return 0, nil, fmt.Errorf("OpenGL: program binary: the driver has no format for it%s: %w", d.binaryHint(), errors.ErrUnsupported)
	}
	var size, length int32
	err = d.own(func() {
		if gl.GetProgramiv(program.Program, gl.PROGRAM_BINARY_LENGTH, &size); size <= 0 {
			return
		}
		data = make([]byte, size)
		gl.GetProgramBinary(program.Program, size, &length, &format, unsafe.Pointer(&data[0]))
	})
	if err == nil && length <= 0 {
		err = errors.New("the driver gave none")
	}
	if err != nil {
		return 0, nil, fmt.Errorf("OpenGL: program binary: %w", err)
	}
	return format, data[:length], nil
}

// binaryHint is what helps with Mesa, which has binaries only with its cache.
func (d *Device) binaryHint() string {
	if d.info.Software {
		return " (Mesa has one if MESA_SHADER_CACHE_DIR is a directory it can write to)"
	}
	return ""
}

// LoadProgramBinary makes a program from a result of ProgramBinary. A driver refuses one
// that comes from another version or another device, or is damaged; compile again then.
func (d *Device) LoadProgramBinary(format uint32, data []byte) (Program, error) {
	if !d.info.Capabilities.ProgramBinary {
		return Program{}, fmt.Errorf("OpenGL: load program binary: the driver has no format for it%s: %w", d.binaryHint(), errors.ErrUnsupported)
	}
	if len(data) == 0 {
		return Program{}, errors.New("OpenGL: load program binary: it is empty")
	}
	program := Program{Program: gl.CreateProgram()}
	var ok int32
	err := d.own(func() {
		gl.ProgramBinary(program.Program, format, unsafe.Pointer(&data[0]), int32(len(data)))
		gl.GetProgramiv(program.Program, gl.LINK_STATUS, &ok)
	})
	if err == nil && ok == 0 {
		err = errors.New("the driver refuses it")
	}
	if err != nil {
		gl.DeleteProgram(program.Program)
		return Program{}, fmt.Errorf("OpenGL: load program binary of format %#x, %d bytes: %w", format, len(data), err)
	}
	add(d.objects, d.objects.programs, program)
	return program, nil
}
