//go:build cgo && linux

package glcompute

import "testing"

func TestMemoryIsAskedForWithoutAnError(t *testing.T) {
	d := openDevice(t, Config{})
	do(t, d, func() error {
		m, known := d.Memory()
		if ext := glExtensions(); known != (m.Available > 0) || known && !ext[m.Source] {
			t.Errorf("%v, known %v", m, known)
		}
		t.Log(m, known)
		return nil
	})
}
