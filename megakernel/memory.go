package megakernel

import (
	"fmt"
	"time"

	"ringmaster/ring"
)

// memory is the ring on the device: one buffer for each binding point. Its
// methods are called on the device's thread.
type memory struct {
	dev     Device
	buffers [ring.Bindings]uint32
	sizes   [ring.Bindings]int
}

// newMemory allocates zeroed buffers for pages, a heap and a power of two of
// print records. On an error it
// leaves nothing behind.
func newMemory(dev Device, pages, heapWords, prints int) (*memory, error) {
	m := &memory{dev: dev}
	m.sizes = [ring.Bindings]int{
		ring.BindControl:  ring.ControlWords * ring.WordBytes,
		ring.BindSlots:    pages * ring.PageSlots * ring.SlotBytes,
		ring.BindStatus:   pages * ring.PageSlots * ring.WordBytes,
		ring.BindResults:  pages * ring.PageSlots * ring.WordBytes,
		ring.BindSchedule: pages * ring.WordBytes,
		ring.BindHeap:     heapWords * ring.WordBytes,
		ring.BindCold:     pages * ring.PageSlots * ring.WordBytes,
		ring.BindPrint:    ring.PrintLogWords(prints) * ring.WordBytes,
	}
	for i, size := range m.sizes {
		if limit := dev.StorageBlockLimit(); int64(size) > limit {
			m.delete()
			return nil, fmt.Errorf("megakernel: a buffer of %d bytes, the device's storage blocks end at %d", size, limit)
		}
		buffer, err := dev.NewBuffer(size)
		if err != nil {
			m.delete()
			return nil, fmt.Errorf("megakernel: buffer of %d bytes: %w", size, err)
		}
		m.buffers[i] = buffer
	}
	return m, dev.Check()
}

// delete deletes the buffers.
func (m *memory) delete() {
	for i, buffer := range m.buffers {
		if buffer != 0 {
			m.dev.DeleteBuffer(buffer)
			m.buffers[i] = 0
		}
	}
}

// bytes is the size of all buffers.
func (m *memory) bytes() uint64 {
	total := uint64(0)
	for _, size := range m.sizes {
		total += uint64(size)
	}
	return total
}

// bind binds every buffer to its binding point.
func (m *memory) bind() {
	for i, buffer := range m.buffers {
		m.dev.BindStorage(uint32(i), buffer, 0, m.sizes[i])
	}
}

// bindSchedule puts the schedule, or the cold list of the dispatch before, where
// kernels read their schedule.
func (m *memory) bindSchedule(cold bool) {
	from := ring.BindSchedule
	if cold {
		from = ring.BindCold
	}
	m.dev.BindStorage(ring.BindSchedule, m.buffers[from], 0, m.sizes[from])
}

// write uploads words or slots to a buffer from an element offset on.
func write[T ~uint32 | ring.Slot | ring.Control](m *memory, binding, element int, src []T) {
	if len(src) > 0 {
		data := bytesOf(src)
		m.dev.WriteBuffer(m.buffers[binding], element*(len(data)/len(src)), data)
	}
}

// read downloads from a buffer from an element offset on.
func read[T ~uint32 | ring.Slot | ring.Control](m *memory, binding, element int, dst []T) {
	if len(dst) > 0 {
		data := bytesOf(dst)
		m.dev.ReadBuffer(m.buffers[binding], element*(len(data)/len(dst)), data)
	}
}

// timing is how long a dispatch took.
type timing struct {
	begin     time.Time
	end       time.Time
	elapsedNs uint64
	source    TimeSource
}

// dispatch runs one wave with a zeroed control block, waits for it, and
// leaves the control block it filled in control, a slice of one.
func (m *memory) dispatch(p *program, groups uint32, w *Wave, control []ring.Control) (timing, error) {
	clear(control)
	write(m, ring.BindControl, 0, control)
	p.set(m.dev, w)
	t := timing{begin: time.Now()}
	m.dev.BeginTimer()
	m.dev.Dispatch(p.id, groups)
	m.dev.StorageBarrier()
	device := m.dev.EndTimer()
	m.dev.Finish()
	t.end = time.Now()
	t.elapsedNs, t.source = elapsed(device, uint64(t.end.Sub(t.begin)))
	if err := m.dev.Check(); err != nil {
		return t, fmt.Errorf("megakernel: dispatch: %w", err)
	}
	read(m, ring.BindControl, 0, control)
	return t, m.dev.Check()
}
