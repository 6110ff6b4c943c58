//go:build cgo && linux

package glcompute

import (
	"testing"
)

// counter is a device with the program of counter.comp and its buffer.
func counter(t testing.TB, d *Device) (program Program, buffer Buffer) {
	t.Helper()
	source := readSource(t, "counter.comp")
	do(t, d, func() (err error) {
		if program, err = d.CompileCompute(source); err != nil {
			return err
		}
		buffer, err = d.NewBuffer(512)
		return err
	})
	return program, buffer
}

func TestDispatchRunsEveryInvocationOnce(t *testing.T) {
	d := openDevice(t, Config{})
	program, buffer := counter(t, d)
	const groups, width, step = 37, 128, 3
	do(t, d, func() error {
		// The storage block starts at an offset, which a write and a read
		// must not disturb.
		const offset = 256
		d.BindStorage(0, buffer, offset, 8)
		d.SetUniform(program, d.UniformLocation(program, "step"), step)
		d.SetUniform(program, -1, 99)
		d.WriteBuffer(buffer, 0, []byte{1, 0, 0, 0})
		for range 2 {
			d.Dispatch(program, groups)
			d.Barrier()
		}
		got := make([]byte, 8)
		d.ReadBuffer(buffer, offset, got)
		if w := words(got); w[0] != 2*groups*width || w[1] != 2*groups*width*step {
			t.Errorf("count %d, sum %d; want %d, %d", w[0], w[1], 2*groups*width, 2*groups*width*step)
		}
		return nil
	})
}

// BenchmarkDispatchAndWait is one small dispatch from another goroutine, waited for.
func BenchmarkDispatchAndWait(b *testing.B) {
	d := openDevice(b, Config{})
	program, buffer := counter(b, d)
	dispatch := func() error {
		d.BindStorage(0, buffer, 0, 8)
		d.Dispatch(program, 1)
		d.Finish()
		return nil
	}
	if err := d.Do(dispatch); err != nil {
		b.Fatal(err)
	}
	b.Logf("%s", d.Info())
	b.ReportAllocs()
	for b.Loop() {
		d.Do(dispatch)
	}
}

// TestABindingIsNotTakenForThatOfABufferBefore deletes by another device of the
// share group, whose driver may give the buffer's name to the next one.
func TestABindingIsNotTakenForThatOfABufferBefore(t *testing.T) {
	o := newObjects()
	d := &Device{objects: o}
	add(o, o.buffers, Buffer{Buffer: 7})
	r := storageRange{Buffer{Buffer: 7}, 0, 512}
	if !d.rebind(3, r) || d.rebind(3, r) || !d.rebind(2, r) {
		t.Error("a binding is made once")
	}
	if !d.rebind(3, storageRange{Buffer{Buffer: 7}, 256, 256}) || !d.rebind(storageBindings, r) || !d.rebind(storageBindings, r) {
		t.Error("another range, or a binding point that is not remembered, is bound")
	}
	o.takeBuffer(Buffer{Buffer: 9}) // none of the group's
	if d.rebind(2, r) {
		t.Error("nothing was deleted")
	}
	o.takeBuffer(Buffer{Buffer: 7})
	if !d.rebind(2, r) || d.rebind(2, r) {
		t.Error("after a deletion nothing is known")
	}
}
