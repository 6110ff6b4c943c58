//go:build cgo && linux

package glcompute

import (
	"bytes"
	"sync"
	"testing"
)

// openShared opens a device beside d that is closed when the test ends.
func openShared(t testing.TB, d *Device) *Device {
	t.Helper()
	s, err := d.OpenShared()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the second device: %v", err)
		}
	})
	return s
}

func TestSharedDeviceHasProgramsBuffersAndFences(t *testing.T) {
	first := openDevice(t, Config{})
	second := openShared(t, first)
	program, buffer := counter(t, second)
	var fence Fence
	do(t, second, func() error {
		second.WriteBuffer(buffer, 0, []byte{7, 0, 0, 0})
		fence = second.InsertFence()
		second.Flush()
		return nil
	})
	do(t, first, func() error {
		if done, err := first.WaitFence(fence, 10e9); !done || err != nil {
			t.Errorf("the fence of the other device: %v, %v", done, err)
		}
		first.DeleteFence(fence)
		first.BindStorage(0, buffer, 0, 8)
		first.Dispatch(program, 2)
		first.Barrier()
		got := make([]byte, 4)
		first.ReadBuffer(buffer, 0, got)
		if n := words(got)[0]; n != 7+2*128 {
			t.Errorf("count %d, want %d", n, 7+2*128)
		}
		// What the other made is this one's to delete, once.
		first.DeleteBuffer(buffer)
		first.DeleteProgram(program)
		return nil
	})
	do(t, second, func() error { second.DeleteBuffer(buffer); second.DeleteProgram(program); return nil })
	for _, d := range []*Device{first, second} {
		if buffers, programs := d.Live(); buffers != 0 || programs != 0 {
			t.Errorf("%d buffers, %d programs live", buffers, programs)
		}
	}
}

func TestSharedDevicesWorkAtTheSameTime(t *testing.T) {
	first := openDevice(t, Config{})
	second := openShared(t, first)
	buffer := newMapped(t, first, 64)
	var wg sync.WaitGroup
	for _, d := range []*Device{first, second} {
		wg.Go(func() {
			for range 5 {
				if err := d.SelfTest(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	second.StoreMapped(buffer, 0, []byte("both"))
	wg.Wait()
	got := make([]byte, 4)
	if first.LoadMapped(buffer, 0, got); !bytes.Equal(got, []byte("both")) {
		t.Errorf("%q", got)
	}
}

func TestSharedDeviceOutlivesTheFirst(t *testing.T) {
	before := displayUsers()
	first, _, err := Open(Config{})
	if err != nil {
		missing(t, err)
	}
	second, err := first.OpenShared()
	if err != nil {
		t.Fatal(err)
	}
	third, err := second.OpenShared()
	if err != nil {
		t.Fatal(err)
	}
	program, buffer := counter(t, first)
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if err := third.Close(); err != nil {
		t.Error(err)
	}
	do(t, second, func() error {
		second.BindStorage(0, buffer, 0, 8)
		second.Dispatch(program, 1)
		second.Barrier()
		got := make([]byte, 4)
		if second.ReadBuffer(buffer, 0, got); words(got)[0] != 128 {
			t.Errorf("count %d, want 128", words(got)[0])
		}
		return nil
	})
	if buffers, programs := second.Live(); buffers != 1 || programs != 1 {
		t.Errorf("%d buffers, %d programs live, want one of each", buffers, programs)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if buffers, programs := second.Live(); buffers != 0 || programs != 0 {
		t.Errorf("%d buffers, %d programs live after the last Close", buffers, programs)
	}
	if after := displayUsers(); after != before {
		t.Errorf("%d EGL displays in use, %d before", after, before)
	}
	if _, err := first.OpenShared(); err == nil {
		t.Error("opened a device beside a closed one")
	}
}
