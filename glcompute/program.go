//go:build cgo && linux

package glcompute

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-gl/gl/v4.3-core/gl"
)

// CompileCompute builds a program from one compute shader. A refusal is a
// *CompileError with the driver's log. On a lost
// context, which refuses every shader, the error wraps ErrContextLost instead.
func (d *Device) CompileCompute(source string) (Program, error) {
	program, err := d.compileCompute(source)
	if err != nil && d.reset() != nil {
		return Program{}, d.lost
	}
	return program, err
}

func (d *Device) compileCompute(source string) (Program, error) {
	shader, err := compileStage(gl.COMPUTE_SHADER, source)
	if err != nil {
		return Program{}, err
	}
	defer gl.DeleteShader(shader)
	return d.link(shader)
}

// compileStage compiles one shader of a program.
func compileStage(stage uint32, source string) (uint32, error) {
	shader := gl.CreateShader(stage)
	if shader == 0 {
		return 0, errors.Join(errors.New("OpenGL: glCreateShader failed"), takeErrors())
	}
	text, free := gl.Strs(source + "\x00")
	length := int32(len(source))
	gl.ShaderSource(shader, 1, text, &length)
	free()
	gl.CompileShader(shader)
	var ok int32
	if gl.GetShaderiv(shader, gl.COMPILE_STATUS, &ok); ok == 0 {
		log := infoLog(shader, gl.GetShaderiv, gl.GetShaderInfoLog)
		gl.DeleteShader(shader)
		return 0, &CompileError{Stage: "compile", Log: log}
	}
	return shader, nil
}

// link makes a program of shaders.
func (d *Device) link(shaders ...uint32) (Program, error) {
	program := gl.CreateProgram()
	if d.info.Capabilities.ProgramBinary {
		gl.ProgramParameteri(program, gl.PROGRAM_BINARY_RETRIEVABLE_HINT, gl.TRUE)
	}
	for _, shader := range shaders {
		gl.AttachShader(program, shader)
	}
	gl.LinkProgram(program)
	for _, shader := range shaders {
		gl.DetachShader(program, shader)
	}
	var ok int32
	if gl.GetProgramiv(program, gl.LINK_STATUS, &ok); ok == 0 {
		log := infoLog(program, gl.GetProgramiv, gl.GetProgramInfoLog)
		gl.DeleteProgram(program)
		return Program{}, &CompileError{Stage: "link", Log: log}
	}
	named := Program{Program: program}
	add(d.objects, d.objects.programs, named)
	return named, nil
}

// infoLog reads the log of a shader or a program.
func infoLog(
	object uint32,
	get func(object, name uint32, value *int32),
	read func(object uint32, size int32, length *int32, text *uint8),
) string {
	var size int32
	get(object, gl.INFO_LOG_LENGTH, &size)
	if size <= 0 {
		return ""
	}
	text := make([]byte, size)
	var length int32
	read(object, size, &length, &text[0])
	return string(text[:length])
}

// DeleteProgram deletes a program; 0 and programs already deleted are ignored.
func (d *Device) DeleteProgram(program Program) {
	if !take(d.objects, d.objects.programs, program) {
		return
	}
	if d.current == program {
		gl.UseProgram(0) // a program in use would only be marked
		d.current = Program{}
	}
	gl.DeleteProgram(program.Program)
}

// ProgramWorkgroupSize is the local size the driver reports for a program.
func (d *Device) ProgramWorkgroupSize(program Program) [3]uint32 {
	var size [3]int32
	gl.GetProgramiv(program.Program, gl.COMPUTE_WORK_GROUP_SIZE, &size[0])
	return [3]uint32{uint32(size[0]), uint32(size[1]), uint32(size[2])}
}

// StorageOffset asks the driver where a variable of a storage block lies. The
// name is the one of the program interface: for `buffer B { S slots[]; }` it is
// "slots[0].opcode", with an instance name "B.slots[0].opcode". Both results are in bytes;
// stride is that of the variable if it is an array, else that of the block's
// top-level array around it, else 0.
func (d *Device) StorageOffset(program Program, name string) (offset, stride int, err error) {
	if strings.IndexByte(name, 0) >= 0 {
		return 0, 0, fmt.Errorf("OpenGL: storage variable %q: zero byte in the name", name)
	}
	cname := append([]byte(name), 0)
	index := gl.GetProgramResourceIndex(program.Program, gl.BUFFER_VARIABLE, &cname[0])
	if index == gl.INVALID_INDEX {
		return 0, 0, fmt.Errorf("OpenGL: storage variable %q: not active in the program", name)
	}
	properties := [...]uint32{gl.OFFSET, gl.ARRAY_STRIDE, gl.TOP_LEVEL_ARRAY_STRIDE}
	var values [len(properties)]int32
	var written int32
	err = d.own(func() {
		gl.GetProgramResourceiv(program.Program, gl.BUFFER_VARIABLE, index, int32(len(properties)), &properties[0],
			int32(len(values)), &written, &values[0])
	})
	if err == nil && int(written) != len(values) {
		err = fmt.Errorf("glGetProgramResourceiv gave %d of %d values", written, len(values))
	}
	if err != nil {
		return 0, 0, fmt.Errorf("OpenGL: storage variable %q: %w", name, err)
	}
	stride = int(values[1])
	if stride == 0 {
		stride = int(values[2])
	}
	return int(values[0]), stride, nil
}

// UniformLocation is -1 if the program has no such active uniform.
func (d *Device) UniformLocation(program Program, name string) int32 {
	if strings.IndexByte(name, 0) >= 0 {
		return -1
	}
	cname := append([]byte(name), 0)
	return gl.GetUniformLocation(program.Program, &cname[0])
}

// SetUniform sets a uint uniform; location -1 is ignored.
func (d *Device) SetUniform(program Program, location int32, value uint32) {
	gl.ProgramUniform1ui(program.Program, location, value)
}
