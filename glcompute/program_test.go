//go:build cgo && linux

package glcompute

import (
	"errors"
	"strings"
	"testing"
)

func TestCompileErrorHasTheDriversLog(t *testing.T) {
	d := openDevice(t, Config{})
	source := readSource(t, "broken.comp")
	do(t, d, func() error {
		_, err := d.CompileCompute(source)
		var refused *CompileError
		if !errors.As(err, &refused) || refused.Stage != "compile" {
			t.Fatalf("got %v, want a CompileError", err)
		}
		if !strings.Contains(err.Error(), "undeclared_name") || !strings.Contains(err.Error(), "0:7") && !strings.Contains(err.Error(), "0(7)") {
			t.Errorf("the driver's log is not in it: %v", err)
		}
		if _, programs := d.Live(); programs != 0 {
			t.Errorf("%d programs live after a refusal", programs)
		}
		return nil
	})
}

func TestLinkErrorIsReported(t *testing.T) {
	d := openDevice(t, Config{})
	do(t, d, func() error {
		_, err := d.CompileCompute("#version 430 core\nlayout(local_size_x = 1) in;\nvoid missing();\nvoid main() { missing(); }\n")
		var refused *CompileError
		if !errors.As(err, &refused) {
			t.Errorf("got %v, want a CompileError", err)
		}
		return nil
	})
}

func TestStorageOffsetIsTheLayoutOfStd430(t *testing.T) {
	d := openDevice(t, Config{})
	do(t, d, func() error {
		program, err := d.CompileCompute(readSource(t, "layout.comp"))
		if err != nil {
			return err
		}
		for _, want := range []struct {
			name           string
			offset, stride int
		}{
			{"head", 0, 0},
			{"tail", 4, 0},
			{"wide", 16, 0},
			{"slots[0].opcode", 32, 64},
			{"slots[0].sequence", 32 + 12, 64},
			{"slots[0].args[0]", 32 + 16, 4},
			{"Status.words[0]", 0, 4},
		} {
			offset, stride, err := d.StorageOffset(program, want.name)
			if err != nil || offset != want.offset || stride != want.stride {
				t.Errorf("%s: offset %d, stride %d, %v; want %d, %d", want.name, offset, stride, err, want.offset, want.stride)
			}
		}
		for _, none := range []string{"absent", "", "head\x00"} {
			if _, _, err := d.StorageOffset(program, none); err == nil {
				t.Errorf("%q: no error", none)
			}
		}
		if size := d.ProgramWorkgroupSize(program); size != [3]uint32{32, 2, 1} {
			t.Errorf("workgroup size %v", size)
		}
		if at := d.UniformLocation(program, "limit"); at < 0 {
			t.Errorf("uniform limit at %d", at)
		}
		for _, none := range []string{"absent", "limit\x00"} {
			if at := d.UniformLocation(program, none); at != -1 {
				t.Errorf("uniform %q at %d, want -1", none, at)
			}
		}
		return nil
	})
}

func TestDeletedProgramIsGone(t *testing.T) {
	d := openDevice(t, Config{})
	do(t, d, func() error {
		program, err := d.CompileCompute(selfTestSource)
		if err != nil {
			return err
		}
		buffer, err := d.NewBuffer(4 * (1 + selfTestWidth))
		if err != nil {
			return err
		}
		d.BindStorage(0, buffer, 0, 4*(1+selfTestWidth))
		d.Dispatch(program, 1)
		if _, programs := d.Live(); programs != 1 {
			t.Errorf("%d programs live, want 1", programs)
		}
		d.DeleteProgram(program)
		d.DeleteProgram(program)
		d.DeleteProgram(Program{})
		if _, programs := d.Live(); programs != 0 || isProgram(program) {
			t.Errorf("%d programs live, GL has it: %v", programs, isProgram(program))
		}
		return nil
	})
}
