//go:build cgo && linux

package glcompute

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/go-gl/gl/v4.3-core/gl"
)

func isProgram(program Program) bool { return gl.IsProgram(program.Program) }

func TestNewBufferIsZero(t *testing.T) {
	d := openDevice(t, Config{})
	for _, size := range []int{1, 3, 4, 64, 4097, 1 << 20} {
		do(t, d, func() error {
			// Memory that was used before is what a driver gives again.
			for range 2 {
				buffer, err := d.NewBuffer(size)
				if err != nil {
					return err
				}
				got := bytes.Repeat([]byte{0xAA}, size)
				d.ReadBuffer(buffer, 0, got)
				if !bytes.Equal(got, make([]byte, size)) {
					t.Errorf("%d bytes: not zero", size)
				}
				d.WriteBuffer(buffer, 0, bytes.Repeat([]byte{0xFF}, size))
				d.Finish()
				d.DeleteBuffer(buffer)
			}
			return nil
		})
	}
}

func TestBufferKeepsWhatWasWritten(t *testing.T) {
	d := openDevice(t, Config{})
	do(t, d, func() error {
		buffer, err := d.NewBuffer(1000)
		if err != nil {
			return err
		}
		data := make([]byte, 301)
		for i := range data {
			data[i] = byte(i * 7)
		}
		d.WriteBuffer(buffer, 13, data)
		d.WriteBuffer(buffer, 0, nil)
		want := make([]byte, 1000)
		copy(want[13:], data)
		got := make([]byte, 1000)
		d.ReadBuffer(buffer, 0, got)
		if !bytes.Equal(got, want) {
			t.Error("the buffer differs from what was written")
		}
		part := make([]byte, 50)
		d.ReadBuffer(buffer, 100, part)
		d.ReadBuffer(buffer, 0, nil)
		if !bytes.Equal(part, want[100:150]) {
			t.Error("the range differs from what was written")
		}
		return nil
	})
}

func TestAccessOutsideABufferIsAnErrorOnce(t *testing.T) {
	d := openDevice(t, Config{})
	do(t, d, func() error {
		buffer, err := d.NewBuffer(64)
		if err != nil {
			return err
		}
		dst := bytes.Repeat([]byte{0xAA}, 16)
		d.ReadBuffer(buffer, 60, dst)
		if !bytes.Equal(dst, bytes.Repeat([]byte{0xAA}, 16)) {
			t.Error("a read outside the buffer changed its destination")
		}
		if err := d.Check(); err == nil || !strings.Contains(err.Error(), "GL_INVALID_VALUE") {
			t.Errorf("read outside the buffer: %v", err)
		}
		if err := d.Check(); err != nil {
			t.Errorf("the error came twice: %v", err)
		}
		d.WriteBuffer(buffer, 60, make([]byte, 5))
		// A pending error belongs to the call that made it, not to the next
		// one that looks at its own.
		if _, err := d.NewBuffer(64); err != nil {
			t.Errorf("NewBuffer was blamed for an earlier error: %v", err)
		}
		if err := d.Check(); err == nil || !strings.Contains(err.Error(), "GL_INVALID_VALUE") {
			t.Errorf("write outside the buffer: %v", err)
		}
		return nil
	})
}

func TestNewBufferRefusesWhatCannotBe(t *testing.T) {
	d := openDevice(t, Config{})
	do(t, d, func() error {
		for _, size := range []int{0, -1, math.MaxInt - 4095} {
			if buffer, err := d.NewBuffer(size); err == nil || buffer.Buffer != 0 {
				t.Errorf("%d bytes: buffer %d, %v", size, buffer, err)
			}
		}
		if buffers, _ := d.Live(); buffers != 0 {
			t.Errorf("%d buffers live after refusals", buffers)
		}
		return nil
	})
}

func TestDeletedBufferIsGone(t *testing.T) {
	d := openDevice(t, Config{})
	do(t, d, func() error {
		var made []Buffer
		for range 10 {
			buffer, err := d.NewBuffer(16)
			if err != nil {
				return err
			}
			made = append(made, buffer)
		}
		if buffers, _ := d.Live(); buffers != len(made) {
			t.Errorf("%d buffers live, want %d", buffers, len(made))
		}
		for _, buffer := range made {
			d.DeleteBuffer(buffer)
			d.DeleteBuffer(buffer)
			if gl.IsBuffer(buffer.Buffer) {
				t.Errorf("GL still has buffer %d", buffer)
			}
		}
		d.DeleteBuffer(Buffer{})
		if buffers, _ := d.Live(); buffers != 0 {
			t.Errorf("%d buffers live, want 0", buffers)
		}
		return nil
	})
}

// One driver runs a clear after a write that the program made after it, if both
// are large and nothing waits between them.
func TestAWriteAfterAClearIsNotLost(t *testing.T) {
	d := openDevice(t, Config{})
	const size = 16 << 20
	data := bytes.Repeat([]byte{0x5A}, size)
	do(t, d, func() error {
		for round := range 20 {
			made, err := d.NewBuffer(size)
			if err != nil {
				return err
			}
			copied, err := d.NewBuffer(size)
			if err != nil {
				return err
			}
			for _, step := range []string{"made", "cleared"} {
				if step == "cleared" {
					d.ClearBuffer(made, 0, size)
				}
				d.WriteBuffer(made, 0, data)
				d.CopyBuffer(made, 0, copied, 0, size)
				got := make([]byte, size)
				for name, buffer := range map[string]Buffer{"the buffer": made, "a copy": copied} {
					d.ReadBuffer(buffer, 0, got)
					if n := bytes.Count(got, []byte{0}); n != 0 {
						t.Errorf("round %d, %s: %s lost %d of %d bytes", round, step, name, n, size)
					}
				}
			}
			d.DeleteBuffer(made)
			d.DeleteBuffer(copied)
		}
		return d.Check()
	})
}

func TestWhatGLRefusedToBindIsNotTakenForBound(t *testing.T) {
	d := openDevice(t, Config{})
	alignment := 256 // what every driver takes
	do(t, d, func() error {
		buffer, err := d.NewBuffer(1024)
		if err != nil {
			return err
		}
		for round := range 2 {
			d.BindStorage(0, buffer, 1, 64)
			if err := d.Check(); err == nil && alignment > 1 {
				t.Errorf("round %d: a binding at byte 1 was taken, the alignment is %d", round, alignment)
			}
		}
		for round := range 2 {
			d.Dispatch(Program{Program: 1 << 20}, 1) // no program
			if err := d.Check(); err == nil {
				t.Errorf("round %d: a program that does not exist was dispatched", round)
			}
		}
		return nil
	})
}
