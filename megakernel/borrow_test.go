//go:build cgo

package megakernel

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/ring"
)

// doubler writes twice its index to each word of its buffer, which it finds where the
// ring's kernels find their first block.
const doubler = `#version 430 core
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Out { uint word[]; };
void main() { word[gl_GlobalInvocationID.x] = 2u * gl_GlobalInvocationID.x; }
`

// double runs doubler on a lent device, leaves its objects bound, and says what the
// last word is.
func double(dev gpu.Device) (last uint32, err error) {
	const words = 256
	err = dev.Do(func() error {
		program, err := dev.CompileCompute(doubler)
		if err != nil {
			return err
		}
		buffer, err := dev.NewBuffer(words * ring.WordBytes)
		if err != nil {
			return err
		}
		for binding := range uint32(ring.BindCold + 1) {
			dev.BindStorage(binding, buffer, 0, words*ring.WordBytes)
		}
		dev.Dispatch(program, words/64)
		dev.Barrier()
		var got [ring.WordBytes]byte
		dev.ReadBuffer(buffer, (words-1)*ring.WordBytes, got[:])
		last = binary.LittleEndian.Uint32(got[:])
		return dev.Check()
	})
	return last, err
}

func TestABorrowedDeviceComesBackFitForWaves(t *testing.T) {
	for name, dev := range waysOfMemory(openDevice(t)) {
		t.Run(name, func(t *testing.T) {
			for _, mode := range []LaunchMode{ModeWave, ModeLease} {
				e := newEngine(t, dev, func(c *Config) { c.Lease = mode == ModeLease })
				const rounds = 8
				for i := range uint32(rounds) {
					submit(t, e, "q", Batch{ID: "b", Slots: []ring.Slot{slot(kernel.OpAdd, 0, 1, 3), slot(kernel.OpAdd, 2, i, 4)}})
					ticket := start(t, e, Order{Queue: "q", Geometry: testGeometry, Mode: mode})
					var last uint32
					err := e.Borrow(func(dev gpu.Device) (err error) {
						if len(e.submitted) > 0 {
							t.Error("a wave is in flight while the device is lent")
						}
						last, err = double(dev)
						return err
					})
					if err != nil || last != 2*255 {
						t.Fatalf("the last word is %d, error %v", last, err)
					}
					if r := wait(t, e, ticket); r.Executed != 2 {
						t.Fatalf("report %+v", r)
					}
				}
				words := make([]uint32, 2)
				if err := e.Read("q", 3, words); err != nil || words[0] != rounds || words[1] != rounds*(rounds-1)/2 {
					t.Errorf("%s: words %v, error %v", mode, words, err)
				}
			}
		})
	}
}

func TestABorrowersFailureIsItsOwn(t *testing.T) {
	e := newEngine(t, openDevice(t), nil)
	submit(t, e, "q", Batch{ID: "b", Slots: []ring.Slot{slot(kernel.OpAdd, 0, 1, 3)}})

	mine := errors.New("mine")
	if err := e.Borrow(func(gpu.Device) error { return mine }); !errors.Is(err, mine) {
		t.Errorf("error %v", err)
	}
	err := e.Borrow(func(dev gpu.Device) error {
		return dev.Do(func() error { dev.BindStorage(1<<20, gpu.Buffer{Buffer: 1}, 0, 4); return nil }) // no such binding point
	})
	if err == nil || !strings.Contains(err.Error(), "GL") {
		t.Errorf("a GL error that the borrower left: %v", err)
	}
	func() {
		defer func() {
			if why := recover(); why != "at the borrower" {
				t.Errorf("recovered %v", why)
			}
		}()
		_ = e.Borrow(func(gpu.Device) error { panic("at the borrower") })
	}()
	if r := launch(t, e, Order{Queue: "q", Geometry: testGeometry}); r.Executed != 1 {
		t.Errorf("report %+v", r)
	}
}

func TestAClosedOrMovingEngineLendsNothing(t *testing.T) {
	e := newEngine(t, openDevice(t), nil)
	lend := func() error { return e.Borrow(func(gpu.Device) error { t.Error("lent"); return nil }) }
	e.mu.Lock()
	e.moving = true
	e.mu.Unlock()
	if err := lend(); !errors.Is(err, ErrMoving) {
		t.Errorf("moving: %v", err)
	}
	e.mu.Lock()
	e.moving = false
	e.mu.Unlock()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if err := lend(); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}
