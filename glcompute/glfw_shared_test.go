//go:build cgo && linux && !noglfw

package glcompute

import "testing"

func TestGLFWDeviceOpensASharedOne(t *testing.T) {
	first := openDevice(t, Config{Backend: GLFW, Display: startXvfb(t)})
	second := openShared(t, first)
	program, buffer := counter(t, second)
	do(t, first, func() error {
		first.BindStorage(0, buffer, 0, 8)
		first.Dispatch(program, 1)
		first.Barrier()
		got := make([]byte, 4)
		if first.ReadBuffer(buffer, 0, got); words(got)[0] != 128 {
			t.Errorf("count %d, want 128", words(got)[0])
		}
		return nil
	})
}
