package megakernel

import (
	"errors"
	"fmt"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/ring"
)

// memory is the ring on the device: one buffer for each binding point, and
// the way of the host's words into them and back. Methods are called on the
// device's thread, except for those that say otherwise.
//
// Slots and status words are written to staging memory at the same offsets
// they have on the device, and copied from there by the device; what a wave
// leaves is copied to the same offsets of readback memory. There are three
// ways: with persistently mapped buffers beside the device's; with one set of
// mapped buffers that the device works on itself, where its memory is the
// host's; and through the host's heap with buffer updates, where nothing can
// be mapped.
type memory struct {
	dev     gpu.Device
	buffers [ring.Bindings]gpu.Buffer
	sizes   [ring.Bindings]int
	waves   int // control blocks and schedules

	mapped  bool // staging and readback are mapped buffers
	direct  bool // and the device works on them
	staged  [ring.Bindings]gpu.Buffer
	slots   []ring.Slot   // staging where nothing is mapped
	returns []ring.Status // readback of status words where nothing is mapped
	results []uint32      // readback of results where nothing is mapped

	printed printLog

	cleared []bool // control blocks that are zero on the device, by wave
}

// stagedBindings are the blocks that have staging or readback memory.
var stagedBindings = [...]int{ring.BindControl, ring.BindSlots, ring.BindStatus, ring.BindResults, ring.BindSchedule}

// blockAlign is a multiple of every device's alignment of storage ranges.
const blockAlign = 256

// controlStride is the distance of two waves' control blocks in bytes.
const controlStride = (ring.ControlWords*ring.WordBytes + blockAlign - 1) / blockAlign * blockAlign

// newMemory allocates zeroed buffers for pages, a heap, a power of two of print records,
// and a number of waves at a time. It refuses a device that nothing can be dispatched on.
// On an error it leaves nothing behind.
func newMemory(dev gpu.Device, traits *gpu.Traits, pages, heapWords, prints, waves int) (*memory, error) {
	if err := kernel.LimitsOf(traits).Usable(); err != nil {
		return nil, err
	}
	m := &memory{dev: dev, waves: waves, cleared: make([]bool, waves)}
	m.sizes = [ring.Bindings]int{
		ring.BindControl:  waves * controlStride,
		ring.BindSlots:    pages * ring.PageSlots * ring.SlotBytes,
		ring.BindStatus:   pages * ring.PageSlots * ring.WordBytes,
		ring.BindResults:  pages * ring.PageSlots * ring.WordBytes,
		ring.BindSchedule: waves * m.scheduleStride(pages),
		ring.BindHeap:     heapWords * ring.WordBytes,
		ring.BindCold:     pages * ring.PageSlots * ring.WordBytes,
		ring.BindPrint:    ring.PrintLogWords(prints) * ring.WordBytes,
	}
	limit := traits.StorageBlockBytes
	for i, what := range blockNames {
		if int64(m.sizes[i]) > limit {
			return nil, fmt.Errorf("%s take %d bytes, the device's storage blocks end at %d: %w", what, m.sizes[i], limit, ErrTooLarge)
		}
	}
	if err := m.allocate(traits); err != nil {
		m.delete()
		return nil, err
	}
	return m, nil
}

// blockNames say what a buffer is, for errors.
var blockNames = [ring.Bindings]string{
	ring.BindControl: "the control blocks", ring.BindSlots: "the slots (Config.Pages)", ring.BindStatus: "the status words (Config.Pages)",
	ring.BindResults: "the results (Config.Pages)", ring.BindSchedule: "the schedules", ring.BindHeap: "the windows (Config.HeapWords)",
	ring.BindCold: "the cold list (Config.Pages)", ring.BindPrint: "the print log",
}

// scheduleStride is the distance of two waves' schedules in bytes.
func (m *memory) scheduleStride(pages int) int {
	return (pages*ring.WordBytes + blockAlign - 1) / blockAlign * blockAlign
}

func (m *memory) allocate(traits *gpu.Traits) error {
	m.mapped = traits.Mapped
	m.direct = m.mapped && traits.Software
	if m.mapped {
		for _, binding := range stagedBindings {
			buffer, err := m.dev.NewMapped(m.sizes[binding])
			if errors.Is(err, errors.ErrUnsupported) {
				m.mapped, m.direct = false, false
				break
			}
			if err != nil {
				return fmt.Errorf("%s, %d bytes of mapped memory: %w", blockNames[binding], m.sizes[binding], err)
			}
			m.staged[binding] = buffer
		}
	}
	if !m.mapped {
		if m.staged[ring.BindControl].Buffer == 0 {
			returned, err := m.dev.NewBuffer(m.sizes[ring.BindControl])
			if err != nil {
				return fmt.Errorf("%s, %d bytes to read them back by: %w", blockNames[ring.BindControl], m.sizes[ring.BindControl], err)
			}
			m.staged[ring.BindControl] = returned
		}
		m.slots = make([]ring.Slot, m.sizes[ring.BindSlots]/ring.SlotBytes)
		m.returns = make([]ring.Status, m.sizes[ring.BindStatus]/ring.WordBytes)
		m.results = make([]uint32, m.sizes[ring.BindResults]/ring.WordBytes)
	}
	for i, size := range m.sizes {
		if m.direct && m.staged[i].Buffer != 0 {
			m.buffers[i] = m.staged[i]
			continue
		}
		buffer, err := m.dev.NewBuffer(size)
		if err != nil {
			return fmt.Errorf("%s, %d bytes: %w", blockNames[i], size, err)
		}
		m.buffers[i] = buffer
	}
	return m.dev.Check()
}

// delete deletes the buffers.
func (m *memory) delete() {
	for i := range m.buffers {
		if m.staged[i].Buffer != 0 {
			m.dev.DeleteBuffer(m.staged[i])
		}
		if m.buffers[i].Buffer != 0 && m.buffers[i] != m.staged[i] {
			m.dev.DeleteBuffer(m.buffers[i])
		}
		m.buffers[i], m.staged[i] = gpu.Buffer{}, gpu.Buffer{}
	}
}

// bind binds every buffer to its binding point, for the first wave.
func (m *memory) bind() { m.bindWave(0, false) }

// bindWave binds every buffer to its binding point, with the control block and the
// schedule of one wave, and the host's memory for a wave that is near it.
func (m *memory) bindWave(wave int, near bool) {
	for i := range m.buffers {
		offset, size := m.place(i, wave)
		m.dev.BindStorage(uint32(i), m.block(i, near), offset, size)
	}
}

// nearPages is the most pages of a wave that works on the host's mapped memory
// where the device has its own.
const nearPages = 1

// near reports whether a wave of some pages works on the host's memory: the
// device reads a few slots there sooner than it copies them.
func (m *memory) near(pages int) bool { return m.mapped && !m.direct && pages <= nearPages }

// block is the buffer of a block that a wave works on. Totals are added up on
// the device in any case, because additions over the bus are slow.
func (m *memory) block(binding int, near bool) gpu.Buffer {
	if near && binding != ring.BindControl && m.staged[binding].Buffer != 0 {
		return m.staged[binding]
	}
	return m.buffers[binding]
}

// place is the range of a block that a wave uses, in bytes.
func (m *memory) place(binding, wave int) (offset, size int) {
	size = m.sizes[binding]
	if binding == ring.BindControl || binding == ring.BindSchedule {
		size /= m.waves
		offset = wave * size
	}
	return offset, size
}

// bindSchedule puts a wave's schedule, or the cold list that a dispatch left, where
// kernels read their schedule.
func (m *memory) bindSchedule(wave int, cold bool) {
	from := ring.BindSchedule
	if cold {
		from = ring.BindCold
	}
	offset, size := m.place(from, wave)
	m.dev.BindStorage(ring.BindSchedule, m.buffers[from], offset, size)
}

// write uploads words or slots to a buffer from an element offset on.
func write[T ~uint32 | ring.Slot | ring.Control](m *memory, binding, element int, src []T) {
	if len(src) > 0 {
		data := gpu.Bytes(src)
		m.put(binding, element*(len(data)/len(src)), data)
	}
}

// read downloads from a buffer from an element offset on.
func read[T ~uint32 | ring.Slot | ring.Control](m *memory, binding, element int, dst []T) {
	if len(dst) > 0 {
		data := gpu.Bytes(dst)
		m.dev.ReadBuffer(m.buffers[binding], element*(len(data)/len(dst)), data)
	}
}

// put writes bytes to a buffer at once; no wave in flight may use them.
func (m *memory) put(binding, offset int, data []byte) {
	if m.direct && m.staged[binding].Buffer != 0 {
		m.dev.StoreMapped(m.staged[binding], offset, data)
		return
	}
	m.dev.WriteBuffer(m.buffers[binding], offset, data)
}

// store writes slots to staging, from an index of the pool on. It may be
// called from any goroutine; the page of the slots is in no wave.
func (m *memory) store(index int, slots []ring.Slot) {
	if m.mapped {
		m.dev.StoreMapped(m.staged[ring.BindSlots], index*ring.SlotBytes, gpu.Bytes(slots))
		return
	}
	copy(m.slots[index:], slots)
}

// uploadSlots sends the slots of n pages from staging to the device.
func (m *memory) uploadSlots(first, n int) {
	at, size := first*ring.PageSlots, n*ring.PageSlots
	switch {
	case m.direct:
	case m.mapped:
		m.dev.CopyBuffer(m.staged[ring.BindSlots], at*ring.SlotBytes, m.buffers[ring.BindSlots], at*ring.SlotBytes, size*ring.SlotBytes)
	default:
		write(m, ring.BindSlots, at, m.slots[at:at+size])
	}
}

// uploadStatuses sends status words to where a wave works on them, from an index on.
func (m *memory) uploadStatuses(index int, statuses []ring.Status, near bool) {
	if m.mapped {
		m.dev.StoreMapped(m.staged[ring.BindStatus], index*ring.WordBytes, gpu.Bytes(statuses))
		if !m.direct && !near {
			m.copyWords(ring.BindStatus, true, index, len(statuses))
		}
		return
	}
	write(m, ring.BindStatus, index, statuses)
}

// copyWords copies words of a block from staging to the device or back.
func (m *memory) copyWords(binding int, up bool, index, n int) {
	from, to := m.buffers[binding], m.staged[binding]
	if up {
		from, to = to, from
	}
	m.dev.CopyBuffer(from, index*ring.WordBytes, to, index*ring.WordBytes, n*ring.WordBytes)
}

// uploadSchedule gives a wave its schedule and a zeroed control block.
func (m *memory) uploadSchedule(wave int, schedule []ring.Entry, zero []ring.Control, near bool) {
	offset, _ := m.place(ring.BindSchedule, wave)
	if near {
		m.dev.StoreMapped(m.staged[ring.BindSchedule], offset, gpu.Bytes(schedule))
	} else {
		m.put(ring.BindSchedule, offset, gpu.Bytes(schedule))
	}
	if !m.cleared[wave] {
		m.put(ring.BindControl, wave*controlStride, gpu.Bytes(zero))
	}
	m.cleared[wave] = false
}

// clearControl zeroes a wave's control block for the wave that has it next,
// behind the way back of what this one left there, so that no wave waits for it.
func (m *memory) clearControl(wave int, zero []ring.Control) {
	if m.mapped && !m.direct {
		m.put(ring.BindControl, wave*controlStride, gpu.Bytes(zero))
		m.cleared[wave] = true
	}
}

// returnWords starts the way back of n pages' status words, and of their
// results if asked, behind the dispatches so far.
func (m *memory) returnWords(first, n int, results bool) {
	if m.mapped && !m.direct {
		m.copyWords(ring.BindStatus, false, first*ring.PageSlots, n*ring.PageSlots)
		if results {
			m.copyWords(ring.BindResults, false, first*ring.PageSlots, n*ring.PageSlots)
		}
	}
}

// returnControl starts the way back of a wave's control block, behind the dispatches so
// far, in every way but the direct one.
// The device's own block is never read by the host: it is the source of an indirect
// dispatch (chain), and NVIDIA's driver (580.159, H200) gives the host such a buffer as it
// was before that dispatch, after a fence and after glFinish too. A copy is right.
func (m *memory) returnControl(wave int) {
	if !m.direct {
		m.copyWords(ring.BindControl, false, wave*controlStride/ring.WordBytes, ring.ControlWords)
	}
}

// fetch reads what came back where nothing is mapped, after the fence.
func (m *memory) fetch(first, n int, results bool) {
	if !m.mapped {
		at, size := first*ring.PageSlots, n*ring.PageSlots
		read(m, ring.BindStatus, at, m.returns[at:at+size])
		if results {
			read(m, ring.BindResults, at, m.results[at:at+size])
		}
	}
}

// fetchControl reads the copy of a wave's control block where nothing is mapped, after the fence.
func (m *memory) fetchControl(wave int, control []ring.Control) {
	if !m.mapped {
		m.dev.ReadBuffer(m.staged[ring.BindControl], wave*controlStride, gpu.Bytes(control))
	}
}

// loadControl reads a wave's control block from mapped memory. It may be
// called from any goroutine.
func (m *memory) loadControl(wave int, control []ring.Control) {
	if m.mapped {
		m.dev.LoadMapped(m.staged[ring.BindControl], wave*controlStride, gpu.Bytes(control))
	}
}

// loadPages takes the status words of n pages over into statuses, and their
// results into results unless it is nil. It may be called from any goroutine.
func (m *memory) loadPages(first, n int, statuses []ring.Status, results []uint32) {
	at, size := first*ring.PageSlots, n*ring.PageSlots
	if !m.mapped {
		copy(statuses, m.returns[at:at+size])
		copy(results, m.results[at:at+size])
		return
	}
	m.dev.LoadMapped(m.staged[ring.BindStatus], at*ring.WordBytes, gpu.Bytes(statuses[:size]))
	if results != nil {
		m.dev.LoadMapped(m.staged[ring.BindResults], at*ring.WordBytes, gpu.Bytes(results[:size]))
	}
}
