package megakernel

import "time"

// hereWait bounds how long a Launch that runs its wave itself keeps the device's
// thread; after that the pump takes over.
const hereWait = 200 * time.Microsecond

// takeTurn reports whether the caller shall run a launch itself, because nothing else
// is before it. That saves the way over the engine's goroutines, which takes longer than
// a small launch. If it reports true, it holds turn. Called with mu held.
func (e *Engine) takeTurn() bool {
	return e.flying == 1 && e.pump.idle() && e.turn.TryLock()
}

// runHere runs a launch whose turn was taken: on the resident kernel, or as a wave. It
// hands the wave to the pump if it takes long or somebody else wants the device.
func (e *Engine) runHere(f *flight) {
	if !e.leased(f) {
		f.fetched = false
		f.err = e.bring(f, f.hurry)
		if f.err == nil && !f.fetched {
			e.submitted = append(e.submitted, f)
			e.turn.Unlock()
			e.pump.signal()
			return
		}
		e.unpick(f)
	}
	if f.err == nil {
		e.load(f) // before Close or Move may have the turn and free the memory
	}
	e.turn.Unlock()
	e.takeOver(f)
}

// hurryWave submits a wave and waits until it is done, hereWait is over, or there is
// something else to do. Called on the device's thread.
func (e *Engine) hurryWave(f *flight) error {
	if err := e.submitWave(f); err != nil {
		return err
	}
	// A driver that waits may sleep for longer than a small wave takes, so the
	// fence is polled, except where that takes the processor from the wave.
	slice := uint64(0)
	if e.memory.direct {
		slice = uint64(fenceWait)
	}
	for {
		done, err := e.dev.WaitFence(f.fence, slice)
		switch {
		case err != nil:
			e.abandonWave(f)
			return err
		case done:
			f.fetched = true
			return e.fetchWave(f)
		case !e.pump.idle() || time.Since(f.submitted) > hereWait:
			return nil
		}
	}
}
