//go:build cgo && linux

package glcompute

import (
	_ "embed"
	"encoding/binary"
	"fmt"
)

//go:embed shaders/selftest.comp
var selfTestSource string

const (
	selfTestWidth  = 64 // local_size_x in the shader
	selfTestGroups = 16
)

// SelfTest compiles and runs a small kernel and compares every number it wrote
// with the one computed here. Unlike the other methods that touch GL it calls
// Do itself. It leaves nothing on the device.
func (d *Device) SelfTest() error {
	return d.Do(func() error {
		got, err := d.runSelfTest()
		if err != nil {
			return fmt.Errorf("glcompute: self-test: %w", err)
		}
		return checkSelfTest(got)
	})
}

func (d *Device) runSelfTest() ([]byte, error) {
	program, err := d.CompileCompute(selfTestSource)
	if err != nil {
		return nil, err
	}
	defer d.DeleteProgram(program)
	out := make([]byte, 4*(1+selfTestWidth*selfTestGroups))
	buffer, err := d.NewBuffer(len(out))
	if err != nil {
		return nil, err
	}
	defer d.DeleteBuffer(buffer)
	d.BindStorage(0, buffer, 0, len(out))
	d.Dispatch(program, selfTestGroups)
	d.Barrier()
	d.ReadBuffer(buffer, 0, out)
	return out, d.Check()
}

// checkSelfTest repeats the shader's arithmetic.
func checkSelfTest(got []byte) error {
	const n = selfTestWidth * selfTestGroups
	if count := binary.LittleEndian.Uint32(got); count != n {
		return fmt.Errorf("glcompute: self-test: %d of %d invocations counted", count, n)
	}
	for i := range uint32(n) {
		first := i / selfTestWidth * selfTestWidth
		sum := first*selfTestWidth + selfTestWidth*(selfTestWidth-1)/2
		want := i*2654435761 ^ sum
		if v := binary.LittleEndian.Uint32(got[4+4*i:]); v != want {
			return fmt.Errorf("glcompute: self-test: invocation %d wrote %#x, want %#x", i, v, want)
		}
	}
	return nil
}
