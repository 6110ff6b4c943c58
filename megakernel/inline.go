package megakernel

import "time"

// inlineWait bounds how long a Launch that runs its wave itself keeps the device's thread;
// after that the pump takes over.
const inlineWait = 200 * time.Microsecond

// runInline runs a launch whose caller holds deviceMu: on the resident kernel, or as a
// wave. It hands the wave to the pump if it takes long or somebody else wants the device.
func (e *Engine) runInline(f *flight) {
	if !e.exec.leased(f) {
		f.fetched = false
		f.err = e.exec.bring(f, f.submitAndSpin)
		if f.err == nil && !f.fetched {
			e.submitted = append(e.submitted, f)
			e.deviceMu.Unlock()
			e.pump.signal()
			return
		}
		e.exec.releasePrograms(f)
	}
	if f.err == nil {
		e.exec.load(f) // before Close or Move may have the device and free the memory
	}
	e.deviceMu.Unlock()
	e.settle(f)
}

// submitAndSpin submits a wave and waits until it is done, inlineWait is over, or there is
// something else to do. Called on the device's thread.
func (x *executor) submitAndSpin(f *flight) error {
	if err := x.submitWave(f); err != nil {
		return err
	}
	// A driver that waits may sleep for longer than a small wave takes, so the
	// fence is polled, except where that takes the processor from the wave.
	slice := uint64(0)
	if x.memory.direct {
		slice = uint64(fenceWait)
	}
	for {
		done, err := x.dev.WaitFence(f.fence, slice)
		switch {
		case err != nil:
			x.abandonWave(f)
			return err
		case done:
			f.fetched = true
			return x.fetchWave(f)
		case !x.jobs.idle() || time.Since(f.submitted) > inlineWait:
			return nil
		}
	}
}
