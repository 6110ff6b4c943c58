package worker

import (
	"errors"
	"fmt"

	"ringmaster/megakernel"
	"ringmaster/megakernel/gpu"
	"ringmaster/telemetry/natsio"
)

// heapPort is a ring's heap as the bus sees it.
type heapPort struct{ engine *Engine }

// Read implements natsio.Heap.
func (h heapPort) Read(queue string, offset uint32, words []uint32) (epoch uint64, err error) {
	defer h.engine.watchdog.use("a download from queue " + queue)()
	epoch, err = h.engine.ring.Download(queue, offset, words)
	return epoch, h.outcome(err)
}

// Write implements natsio.Heap.
func (h heapPort) Write(queue string, offset uint32, words []uint32) (epoch uint64, err error) {
	defer h.engine.watchdog.use("an upload to queue " + queue)()
	epoch, err = h.engine.ring.Upload(queue, offset, words)
	return epoch, h.outcome(err)
}

// outcome has a lost device repaired, for the sake of the next transfer. This one
// fails, so that its sender learns that the content of the window is gone.
func (h heapPort) outcome(err error) error {
	if gpu.Lost(err) {
		h.engine.Repair()
	}
	return heapError(err)
}

// heapError names the errors of a transfer in the bus's terms.
func heapError(err error) error {
	switch {
	case errors.Is(err, megakernel.ErrQueue):
		return fmt.Errorf("%w: %w", natsio.ErrNoWindow, err)
	case errors.Is(err, megakernel.ErrWindow):
		return fmt.Errorf("%w: %w", natsio.ErrOutsideWindow, err)
	case gpu.Lost(err):
		return fmt.Errorf("%w; what was uploaded is gone, upload it again: %w", megakernel.ErrHeapLost, err)
	}
	return err
}
