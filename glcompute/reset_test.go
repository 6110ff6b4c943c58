//go:build cgo && linux

package glcompute

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-gl/gl/v4.3-core/gl"
)

// answer makes the device's reset query return status until the test ends.
func answer(d *Device, status uint32) (restore func()) {
	real := d.resetStatus
	d.resetStatus = func() uint32 { return status }
	return func() { d.lost, d.resetStatus = nil, real }
}

func TestLossIsReportedForGood(t *testing.T) {
	d := openDevice(t, Config{})
	for status, want := range map[uint32]string{
		gl.GUILTY_CONTEXT_RESET:   "caused by this context",
		gl.INNOCENT_CONTEXT_RESET: "caused by another context",
		gl.UNKNOWN_CONTEXT_RESET:  "cause unknown",
	} {
		do(t, d, func() error {
			defer answer(d, status)()
			for range 2 {
				err := d.Check()
				if !errors.Is(err, ErrContextLost) || !strings.Contains(err.Error(), want) {
					t.Errorf("after a reset: %v", err)
				}
				var lost interface{ Lost() bool }
				if !errors.As(err, &lost) || !lost.Lost() {
					t.Errorf("%v does not say by a method that the context is lost", err)
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
		if err := d.Check(); err != nil {
			t.Error(err)
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
