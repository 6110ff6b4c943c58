//go:build cgo && linux

package glcompute

import (
	"bytes"
	"errors"
	"slices"
	"testing"
)

func TestProgramBinaryRunsLikeTheProgram(t *testing.T) {
	d := openDevice(t, Config{})
	if !d.Supports("program-binary") {
		missing(t, "no program binaries")
	}
	program, buffer := counter(t, d)
	do(t, d, func() error {
		format, data, err := d.ProgramBinary(program)
		if err != nil {
			return err
		}
		t.Logf("%s: format %#x, %d bytes", d.Info().Renderer, format, len(data))
		d.DeleteProgram(program)
		loaded, err := d.LoadProgramBinary(format, data)
		if err != nil {
			return err
		}
		d.BindStorage(0, buffer, 0, 8)
		d.SetUniform(loaded, d.UniformLocation(loaded, "step"), 5)
		d.Dispatch(loaded, 3)
		d.Barrier()
		got := make([]byte, 8)
		d.ReadBuffer(buffer, 0, got)
		if w := words(got); w[0] != 3*128 || w[1] != 5*3*128 {
			t.Errorf("count %d, sum %d; want %d, %d", w[0], w[1], 3*128, 5*3*128)
		}
		if size := d.ProgramWorkgroupSize(loaded); size != [3]uint32{128, 1, 1} {
			t.Errorf("workgroup size %v", size)
		}
		if _, programs := d.Live(); programs != 1 {
			t.Errorf("%d programs live, want 1", programs)
		}
		return nil
	})
}

func TestForeignProgramBinaryIsRefused(t *testing.T) {
	d := openDevice(t, Config{})
	if !d.Supports("program-binary") {
		missing(t, "no program binaries")
	}
	program, _ := counter(t, d)
	do(t, d, func() error {
		format, data, err := d.ProgramBinary(program)
		if err != nil {
			return err
		}
		for name, bad := range map[string][]byte{
			"empty":   nil,
			"zeros":   make([]byte, len(data)),
			"garbage": bytes.Repeat([]byte{0xA5}, 100),
			"short":   slices.Clone(data[:8]),
		} {
			if p, err := d.LoadProgramBinary(format, bad); err == nil || p.Program != 0 {
				t.Errorf("%s: program %d, %v", name, p, err)
			}
		}
		if p, err := d.LoadProgramBinary(0xDEAD, data); err == nil || p.Program != 0 {
			t.Errorf("unknown format: program %d, %v", p, err)
		}
		if _, _, err := d.ProgramBinary(Program{Program: 999_999}); err == nil {
			t.Error("the binary of no program: no error")
		}
		if _, programs := d.Live(); programs != 1 {
			t.Errorf("%d programs live, want 1", programs)
		}
		return d.Check()
	})
}

func TestWithoutTheCapabilityBinariesAndMappingsAreUnsupported(t *testing.T) {
	d := openDevice(t, Config{})
	do(t, d, func() error {
		caps := &d.info.Capabilities
		caps.ProgramBinary, caps.BufferStorage = false, false
		for _, name := range []string{"program-binary", "buffer-storage", "", "levitation"} {
			if d.Supports(name) {
				t.Errorf("supports %q", name)
			}
		}
		if _, _, err := d.ProgramBinary(Program{Program: 1}); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("binary: %v", err)
		}
		if _, err := d.LoadProgramBinary(1, []byte{1}); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("load: %v", err)
		}
		if _, err := d.NewMapped(64); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("mapped: %v", err)
		}
		return nil
	})
}
