//go:build cgo && linux

package glcompute

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-gl/gl/v4.3-core/gl"

	"ringmaster/megakernel/gpu"
)

// answer makes the device's reset query return status until the test ends.
func answer(d *Device, status uint32) (restore func()) {
	real := d.resetStatus
	d.resetStatus = func() uint32 { return status }
	return func() { d.lost, d.lostBy, d.resetStatus = nil, gpu.ResetNone, real }
}

func TestLossIsReportedForGood(t *testing.T) {
	d := openDevice(t, Config{})
	for status, want := range map[uint32]struct {
		by   uint32
		text string
	}{
		gl.GUILTY_CONTEXT_RESET:   {gpu.ResetGuilty, "caused by this context"},
		gl.INNOCENT_CONTEXT_RESET: {gpu.ResetInnocent, "caused by another context"},
		gl.UNKNOWN_CONTEXT_RESET:  {gpu.ResetUnknown, "cause unknown"},
	} {
		do(t, d, func() error {
			defer answer(d, status)()
			for range 2 {
				err := d.Check()
				if !errors.Is(err, ErrContextLost) || !strings.Contains(err.Error(), want.text) {
					t.Errorf("after a reset: %v", err)
				}
				var lost interface{ Lost() bool }
				if !errors.As(err, &lost) || !lost.Lost() {
					t.Errorf("%v does not say by a method that the context is lost", err)
				}
				if got := d.GraphicsReset(); got != want.by {
					t.Errorf("status %d, want %d", got, want.by)
				}
				// As a driver reports when its reset is over.
				d.resetStatus = func() uint32 { return gl.NO_ERROR }
			}
			return nil
		})
	}
}

func TestAnswerThatIsNoResetStatusIsIgnored(t *testing.T) {
	d := openDevice(t, Config{})
	do(t, d, func() error {
		defer answer(d, 0xDEAD)()
		if err := d.Check(); err != nil || d.GraphicsReset() != gpu.ResetNone {
			t.Errorf("%v, status %d", err, d.GraphicsReset())
		}
		return nil
	})
}

func TestFenceOfALostContextIsNotDone(t *testing.T) {
	d := openDevice(t, Config{})
	do(t, d, func() error {
		fence := d.InsertFence()
		defer d.DeleteFence(fence)
		defer answer(d, gl.GUILTY_CONTEXT_RESET)()
		if done, err := d.WaitFence(fence, 1e9); done || !errors.Is(err, ErrContextLost) {
			t.Errorf("done %v, %v", done, err)
		}
		return nil
	})
}

func TestAShaderRefusedByALostContextIsALoss(t *testing.T) {
	d := openDevice(t, Config{})
	do(t, d, func() error {
		defer answer(d, gl.INNOCENT_CONTEXT_RESET)()
		var refused *CompileError
		if _, err := d.CompileCompute("no shader"); !errors.Is(err, ErrContextLost) || errors.As(err, &refused) {
			t.Errorf("%v", err)
		}
		return nil
	})
}
