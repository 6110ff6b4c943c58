package memory

import (
	"errors"
	"fmt"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/ring"
)

// Ring is the ring on the device: one buffer for each binding point, and
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
type Ring struct {
	dev     gpu.Device
	Buffers [ring.Bindings]gpu.Buffer // by binding point
	Sizes   [ring.Bindings]int        // of them, in bytes
	waves   int                       // control blocks and schedules

	mapped  bool // staging and readback are mapped buffers
	Direct  bool // and the device works on them
	staged  [ring.Bindings]gpu.Buffer
	slots   []ring.Slot   // staging where nothing is mapped
	returns []ring.Status // readback of status words where nothing is mapped
	results []uint32      // readback of results where nothing is mapped

	printed printLog

	cleared []bool // control blocks that are zero on the device, by wave
}

// ErrTooLarge says that a buffer does not fit the device's storage blocks.
var ErrTooLarge = errors.New("too large for the device")

// stagedBindings are the blocks that have staging or readback memory.
var stagedBindings = [...]int{ring.BindControl, ring.BindSlots, ring.BindStatus, ring.BindResults, ring.BindSchedule}

// blockAlign is a multiple of every device's alignment of storage ranges.
const blockAlign = 256

// ControlStride is the distance of two waves' control blocks in bytes.
const ControlStride = (ring.ControlWords*ring.WordBytes + blockAlign - 1) / blockAlign * blockAlign

// New allocates zeroed buffers for pages, a heap, a power of two of print records,
// and a number of waves at a time. It refuses a device that nothing can be dispatched on.
// On an error it leaves nothing behind.
func New(dev gpu.Device, traits *gpu.Traits, pages, heapWords, prints, waves int) (*Ring, error) {
	if err := kernel.LimitsOf(traits).Usable(); err != nil {
		return nil, err
	}
	m := &Ring{dev: dev, waves: waves, cleared: make([]bool, waves)}
	m.Sizes = [ring.Bindings]int{
		ring.BindControl:  waves * ControlStride,
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
		if int64(m.Sizes[i]) > limit {
			return nil, fmt.Errorf("%s take %d bytes, the device's storage blocks end at %d: %w", what, m.Sizes[i], limit, ErrTooLarge)
		}
	}
	if err := m.allocate(traits); err != nil {
		m.Delete()
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
func (m *Ring) scheduleStride(pages int) int {
	return (pages*ring.WordBytes + blockAlign - 1) / blockAlign * blockAlign
}

func (m *Ring) allocate(traits *gpu.Traits) error {
	m.mapped = traits.Mapped
	m.Direct = m.mapped && traits.Software
	if m.mapped {
		for _, binding := range stagedBindings {
			buffer, err := m.dev.NewMapped(m.Sizes[binding])
			if errors.Is(err, errors.ErrUnsupported) {
				m.mapped, m.Direct = false, false
				break
			}
			if err != nil {
				return fmt.Errorf("%s, %d bytes of mapped memory: %w", blockNames[binding], m.Sizes[binding], err)
			}
			m.staged[binding] = buffer
		}
	}
	if !m.mapped {
		if m.staged[ring.BindControl].Buffer == 0 {
			returned, err := m.dev.NewBuffer(m.Sizes[ring.BindControl])
			if err != nil {
				return fmt.Errorf("%s, %d bytes to read them back by: %w", blockNames[ring.BindControl], m.Sizes[ring.BindControl], err)
			}
			m.staged[ring.BindControl] = returned
		}
		m.slots = make([]ring.Slot, m.Sizes[ring.BindSlots]/ring.SlotBytes)
		m.returns = make([]ring.Status, m.Sizes[ring.BindStatus]/ring.WordBytes)
		m.results = make([]uint32, m.Sizes[ring.BindResults]/ring.WordBytes)
	}
	for i, size := range m.Sizes {
		if m.Direct && m.staged[i].Buffer != 0 {
			m.Buffers[i] = m.staged[i]
			continue
		}
		buffer, err := m.dev.NewBuffer(size)
		if err != nil {
			return fmt.Errorf("%s, %d bytes: %w", blockNames[i], size, err)
		}
		m.Buffers[i] = buffer
	}
	return m.dev.Check()
}

// Delete deletes the buffers.
func (m *Ring) Delete() {
	for i := range m.Buffers {
		if m.staged[i].Buffer != 0 {
			m.dev.DeleteBuffer(m.staged[i])
		}
		if m.Buffers[i].Buffer != 0 && m.Buffers[i] != m.staged[i] {
			m.dev.DeleteBuffer(m.Buffers[i])
		}
		m.Buffers[i], m.staged[i] = gpu.Buffer{}, gpu.Buffer{}
	}
}

// Bind binds every buffer to its binding point, for the first wave.
func (m *Ring) Bind() { m.BindWave(0, false) }

// BindWave binds every buffer to its binding point, with the control block and the
// schedule of one wave, and the host's memory for a wave that is near it.
func (m *Ring) BindWave(wave int, near bool) {
	for i := range m.Buffers {
		offset, size := m.Place(i, wave)
		m.dev.BindStorage(uint32(i), m.block(i, near), offset, size)
	}
}

// nearPages is the most pages of a wave that works on the host's mapped memory
// where the device has its own.
const nearPages = 1

// Near reports whether a wave of some pages works on the host's memory: the
// device reads a few slots there sooner than it copies them.
func (m *Ring) Near(pages int) bool { return m.mapped && !m.Direct && pages <= nearPages }

// block is the buffer of a block that a wave works on. Totals are added up on
// the device in any case, because additions over the bus are slow.
func (m *Ring) block(binding int, near bool) gpu.Buffer {
	if near && binding != ring.BindControl && m.staged[binding].Buffer != 0 {
		return m.staged[binding]
	}
	return m.Buffers[binding]
}

// Place is the range of a block that a wave uses, in bytes.
func (m *Ring) Place(binding, wave int) (offset, size int) {
	size = m.Sizes[binding]
	if binding == ring.BindControl || binding == ring.BindSchedule {
		size /= m.waves
		offset = wave * size
	}
	return offset, size
}

// BindSchedule puts a wave's schedule, or the cold list that a dispatch left, where
// kernels read their schedule.
func (m *Ring) BindSchedule(wave int, cold bool) {
	from := ring.BindSchedule
	if cold {
		from = ring.BindCold
	}
	offset, size := m.Place(from, wave)
	m.dev.BindStorage(ring.BindSchedule, m.Buffers[from], offset, size)
}

// Write uploads words or slots to a buffer from an element offset on.
func Write[T ~uint32 | ring.Slot | ring.Control](m *Ring, binding, element int, src []T) {
	if len(src) > 0 {
		data := gpu.Bytes(src)
		m.put(binding, element*(len(data)/len(src)), data)
	}
}

// Read downloads from a buffer from an element offset on.
func Read[T ~uint32 | ring.Slot | ring.Control](m *Ring, binding, element int, dst []T) {
	if len(dst) > 0 {
		data := gpu.Bytes(dst)
		m.dev.ReadBuffer(m.Buffers[binding], element*(len(data)/len(dst)), data)
	}
}

// put writes bytes to a buffer at once; no wave in flight may use them.
func (m *Ring) put(binding, offset int, data []byte) {
	if m.Direct && m.staged[binding].Buffer != 0 {
		m.dev.StoreMapped(m.staged[binding], offset, data)
		return
	}
	m.dev.WriteBuffer(m.Buffers[binding], offset, data)
}

// Store writes slots to staging, from an index of the pool on. It may be
// called from any goroutine; the page of the slots is in no wave.
func (m *Ring) Store(index int, slots []ring.Slot) {
	if m.mapped {
		m.dev.StoreMapped(m.staged[ring.BindSlots], index*ring.SlotBytes, gpu.Bytes(slots))
		return
	}
	copy(m.slots[index:], slots)
}

// UploadSlots sends the slots of n pages from staging to the device.
func (m *Ring) UploadSlots(first, n int) {
	at, size := first*ring.PageSlots, n*ring.PageSlots
	switch {
	case m.Direct:
	case m.mapped:
		m.dev.CopyBuffer(m.staged[ring.BindSlots], at*ring.SlotBytes, m.Buffers[ring.BindSlots], at*ring.SlotBytes, size*ring.SlotBytes)
	default:
		Write(m, ring.BindSlots, at, m.slots[at:at+size])
	}
}

// UploadStatuses sends status words to where a wave works on them, from an index on.
func (m *Ring) UploadStatuses(index int, statuses []ring.Status, near bool) {
	if m.mapped {
		m.dev.StoreMapped(m.staged[ring.BindStatus], index*ring.WordBytes, gpu.Bytes(statuses))
		if !m.Direct && !near {
			m.copyWords(ring.BindStatus, true, index, len(statuses))
		}
		return
	}
	Write(m, ring.BindStatus, index, statuses)
}

// copyWords copies words of a block from staging to the device or back.
func (m *Ring) copyWords(binding int, up bool, index, n int) {
	from, to := m.Buffers[binding], m.staged[binding]
	if up {
		from, to = to, from
	}
	m.dev.CopyBuffer(from, index*ring.WordBytes, to, index*ring.WordBytes, n*ring.WordBytes)
}

// UploadSchedule gives a wave its schedule and a zeroed control block.
func (m *Ring) UploadSchedule(wave int, schedule []ring.Entry, zero []ring.Control, near bool) {
	offset, _ := m.Place(ring.BindSchedule, wave)
	if near {
		m.dev.StoreMapped(m.staged[ring.BindSchedule], offset, gpu.Bytes(schedule))
	} else {
		m.put(ring.BindSchedule, offset, gpu.Bytes(schedule))
	}
	if !m.cleared[wave] {
		m.put(ring.BindControl, wave*ControlStride, gpu.Bytes(zero))
	}
	m.cleared[wave] = false
}

// ClearControl zeroes a wave's control block for the wave that has it next,
// behind the way back of what this one left there, so that no wave waits for it.
func (m *Ring) ClearControl(wave int, zero []ring.Control) {
	if m.mapped && !m.Direct {
		m.put(ring.BindControl, wave*ControlStride, gpu.Bytes(zero))
		m.cleared[wave] = true
	}
}

// Forget says that a wave whose dispatch failed may have written to its control block.
func (m *Ring) Forget(wave int) { m.cleared[wave] = false }

// ReturnWords starts the way back of n pages' status words, and of their
// results if asked, behind the dispatches so far.
func (m *Ring) ReturnWords(first, n int, results bool) {
	if m.mapped && !m.Direct {
		m.copyWords(ring.BindStatus, false, first*ring.PageSlots, n*ring.PageSlots)
		if results {
			m.copyWords(ring.BindResults, false, first*ring.PageSlots, n*ring.PageSlots)
		}
	}
}

// ReturnControl starts the way back of a wave's control block, behind the dispatches so
// far, in every way but the direct one.
// The device's own block is never read by the host: it is the source of an indirect
// dispatch (chain), and NVIDIA's driver (580.159, H200) gives the host such a buffer as it
// was before that dispatch, after a fence and after glFinish too. A copy is right.
func (m *Ring) ReturnControl(wave int) {
	if !m.Direct {
		m.copyWords(ring.BindControl, false, wave*ControlStride/ring.WordBytes, ring.ControlWords)
	}
}

// Fetch reads what came back where nothing is mapped, after the fence.
func (m *Ring) Fetch(first, n int, results bool) {
	if !m.mapped {
		at, size := first*ring.PageSlots, n*ring.PageSlots
		Read(m, ring.BindStatus, at, m.returns[at:at+size])
		if results {
			Read(m, ring.BindResults, at, m.results[at:at+size])
		}
	}
}

// FetchControl reads the copy of a wave's control block where nothing is mapped, after the fence.
func (m *Ring) FetchControl(wave int, control []ring.Control) {
	if !m.mapped {
		m.dev.ReadBuffer(m.staged[ring.BindControl], wave*ControlStride, gpu.Bytes(control))
	}
}

// LoadControl reads a wave's control block from mapped memory. It may be
// called from any goroutine.
func (m *Ring) LoadControl(wave int, control []ring.Control) {
	if m.mapped {
		m.dev.LoadMapped(m.staged[ring.BindControl], wave*ControlStride, gpu.Bytes(control))
	}
}

// LoadPages takes the status words of n pages over into statuses, and their
// results into results unless it is nil. It may be called from any goroutine.
func (m *Ring) LoadPages(first, n int, statuses []ring.Status, results []uint32) {
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
