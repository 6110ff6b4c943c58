package megakernel

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"ringmaster/megakernel/gpu"
	"ringmaster/ring"
)

// modelDevice is a device whose only kernel is a Go model of the lease's, with
// the reference for what a slot does. Of Device it has what a lease uses.
type modelDevice struct {
	gpu.Device
	mu       sync.Mutex // one Do at a time
	mailbox  []uint32
	heap     []uint32
	testHeap []uint32 // of the self-test
	bound    [ring.Bindings]gpu.Buffer
	uniform  [len(leaseUniforms)]uint32
	fence    chan struct{} // closed when the kernel dispatched last has ended

	unmapped bool        // no persistently mapped buffers
	returns  bool        // a dispatch returns at once, as with hardware
	blind    bool        // a running kernel does not see what the host writes
	late     uint32      // turns of a running kernel for which the host is busy elsewhere before each round
	stall    atomic.Bool // a kernel ends in the middle of its next round
	lost     atomic.Bool // the context is lost
	broken   atomic.Bool // two kernels at a time, or one that took too much
	running  atomic.Bool
	turned   atomic.Uint32 // turns of all kernels
}

const ()

// The model's buffers.
var (
	modelMailbox = gpu.Buffer{Buffer: 11}
	modelHeap    = gpu.Buffer{Buffer: 12}
	modelTest    = gpu.Buffer{Buffer: 13}
	modelPrint   = gpu.Buffer{Buffer: 14}
)

type modelLoss struct{ error }

func (modelLoss) Lost() bool { return true }

func newModelDevice(heapWords int) *modelDevice {
	return &modelDevice{mailbox: make([]uint32, mailBytes/ring.WordBytes), heap: make([]uint32, heapWords), testHeap: make([]uint32, 256)}
}

func (d *modelDevice) Do(fn func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return fn()
}

func (d *modelDevice) Identity() (string, string, string) { return "", "model", "" }
func (d *modelDevice) Software() bool                     { return false }
func (d *modelDevice) Supports(string) bool               { return !d.unmapped }
func (d *modelDevice) CompileCompute(string) (gpu.Program, error) {
	return gpu.Program{Program: 1}, nil
}
func (d *modelDevice) DeleteProgram(gpu.Program) {}
func (d *modelDevice) DeleteBuffer(gpu.Buffer)   {}
func (d *modelDevice) NewMapped(int) (gpu.Buffer, error) {
	return modelMailbox, nil
}
func (d *modelDevice) NewBuffer(int) (gpu.Buffer, error) { return modelTest, nil }
func (d *modelDevice) BindStorage(binding uint32, buffer gpu.Buffer, _, _ int) {
	d.bound[binding] = buffer
}
func (d *modelDevice) SetUniform(_ gpu.Program, at int32, value uint32) { d.uniform[at] = value }
func (d *modelDevice) Barrier()                                         {}
func (d *modelDevice) Flush()                                           {}
func (d *modelDevice) InsertFence() gpu.Fence                           { return gpu.Fence{Fence: 1} }
func (d *modelDevice) DeleteFence(gpu.Fence)                            {}
func (d *modelDevice) LoadWord(_ gpu.Buffer, offset int) uint32 {
	return atomic.LoadUint32(&d.mailbox[offset/4])
}
func (d *modelDevice) StoreWord(_ gpu.Buffer, offset int, value uint32) {
	if from := d.turned.Load(); offset == mailTail*ring.WordBytes {
		for d.running.Load() && d.turned.Load()-from < d.late {
			runtime.Gosched()
		}
	}
	atomic.StoreUint32(&d.mailbox[offset/4], value)
}
func (d *modelDevice) StoreMapped(_ gpu.Buffer, offset int, data []byte) {
	copy(bytesOf(d.mailbox)[offset:], data)
}
func (d *modelDevice) LoadMapped(_ gpu.Buffer, offset int, dst []byte) {
	copy(dst, bytesOf(d.mailbox)[offset:])
}

func (d *modelDevice) UniformLocation(_ gpu.Program, name string) int32 {
	for i, known := range leaseUniforms {
		if known == name {
			return int32(i)
		}
	}
	return -1
}

func (d *modelDevice) Check() error {
	if d.lost.Load() {
		return modelLoss{errors.New("model: context lost")}
	}
	return nil
}

func (d *modelDevice) WaitFence(gpu.Fence, uint64) (bool, error) {
	select {
	case <-d.fence:
		return true, d.Check()
	default:
		runtime.Gosched()
		return false, nil
	}
}

func (d *modelDevice) Dispatch(gpu.Program, uint32) {
	heap := d.heap
	if d.bound[ring.BindHeap] == modelTest {
		heap = d.testHeap
	}
	d.fence = make(chan struct{})
	kernel := func(fence chan struct{}) {
		defer close(fence)
		if d.running.Swap(true) {
			d.broken.Store(true)
		}
		d.kernel(d.uniform, heap)
		d.running.Store(false)
	}
	if d.returns {
		go kernel(d.fence)
		return
	}
	kernel(d.fence)
}

// kernel is lease.comp.
func (d *modelDevice) kernel(uniform [len(leaseUniforms)]uint32, heap []uint32) {
	number, answered, turns, most, longest := uniform[0], uniform[1], uniform[2], uniform[3], uniform[4]
	load := func(word int) uint32 { return atomic.LoadUint32(&d.mailbox[word]) }
	store := func(word int, value uint32) { atomic.StoreUint32(&d.mailbox[word], value) }
	first := load(mailTail)
	var spent, idle, rounds uint32
	for cause := causeNone; cause == causeNone; {
		runtime.Gosched()
		d.turned.Add(1)
		tail := load(mailTail)
		if d.blind {
			tail = first
		}
		switch {
		case d.lost.Load():
			return
		case load(mailStop) == number:
			cause = causeStop
		case spent+most > turns:
			cause = causeTurns
		case idle >= longest:
			cause = causeIdle
		}
		spent++
		idle++
		if cause != causeNone {
			store(mailCause, uint32(cause))
			break
		}
		if tail == answered {
			continue
		}
		store(mailBegun, tail)
		if d.stall.Load() {
			return
		}
		d.round(int(tail&tailCountMask), heap)
		if cost := d.mailbox[mailCost]; cost > most {
			d.broken.Store(true)
		} else {
			spent += cost
		}
		idle, answered = 0, tail
		rounds++
		store(mailDone, tail)
	}
	if spent > turns+1 {
		d.broken.Store(true)
	}
	store(mailSpent, spent)
	store(mailRounds, rounds)
	store(mailEnded, number)
}

// round runs the mailbox's slots by the reference.
func (d *modelDevice) round(n int, heap []uint32) {
	at := func(offset int) []uint32 { return d.mailbox[offset/4:] }
	image := &Image{
		Slots: make([]ring.Slot, LeaseSlots), Statuses: make([]ring.Status, LeaseSlots),
		Results: make([]uint32, LeaseSlots), Schedule: []ring.Entry{ring.NewEntry(0, n)},
		Heap: heap, Print: make([]uint32, ring.PrintLogWords(1)),
	}
	var records [LeaseSlots]leaseRecord
	copy(bytesOf(records[:n]), bytesOf(at(mailRecordsAt)[:n*leaseRecordWords]))
	copy(bytesOf(image.Slots), bytesOf(at(mailSlotsAt)[:LeaseSlots*ring.SlotWords]))
	for i, r := range records[:n] {
		if tail := d.mailbox[mailTail]; r.check != r.sum(tail) || d.mailbox[mailCheck] != leaseCheck(tail, d.mailbox[mailTenant:mailCheck]...) {
			d.broken.Store(true)
		}
		s := &image.Slots[i]
		if !readsSlot(r.opcode) {
			*s = ring.Slot{}
		}
		s.Opcode, s.Tenant = r.opcode, r.tenant
		copy(s.Args[:], r.args[:])
		image.Statuses[i] = r.status
	}
	head := d.mailbox
	wave := Wave{Entries: 1, Chunk: LeaseSlots, ClaimBudget: 2, StepBudget: head[mailSteps],
		Tenant: head[mailTenant], WindowBase: head[mailBase], WindowLength: head[mailLength]}
	Interpret(image, wave, Geometry{Width: leaseWidth, Groups: 1, Chunk: LeaseSlots})
	outcomes := make([]leaseOutcome, n)
	for i := range outcomes {
		outcomes[i] = leaseOutcome{image.Statuses[i], image.Results[i]}
	}
	copy(bytesOf(at(mailOutcomesAt)[:2*n]), bytesOf(outcomes))
}
