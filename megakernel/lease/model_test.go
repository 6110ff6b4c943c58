package lease

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/policy"
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
	uniform  [len(uniformNames)]uint32
	fence    chan struct{} // closed when the kernel dispatched last has ended

	unmapped bool        // no persistently mapped buffers
	returns  bool        // a dispatch returns at once, as with hardware
	blind    bool        // a running kernel does not see what the host writes
	fades    uint32      // rounds after which it sees no more, 0: it always does
	late     uint32      // turns of a running kernel for which the host is busy elsewhere before each round
	stall    atomic.Bool // a kernel ends in the middle of its next round
	lost     atomic.Bool // the context is lost
	broken   atomic.Bool // two kernels at a time, or one that took too much
	running  atomic.Bool
	turned   atomic.Uint32 // turns of all kernels
}

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
	return &modelDevice{mailbox: make([]uint32, kernel.MailBytes/ring.WordBytes), heap: make([]uint32, heapWords), testHeap: make([]uint32, 256)}
}

func (d *modelDevice) Do(fn func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return fn()
}

func (d *modelDevice) traits() *gpu.Traits { return &gpu.Traits{Mapped: !d.unmapped} }
func (d *modelDevice) CompileCompute(string) (gpu.Program, error) {
	return gpu.Program{Program: 1}, nil
}
func (d *modelDevice) DeleteProgram(gpu.Program) {}
func (d *modelDevice) DeleteBuffer(gpu.Buffer)   {}
func (d *modelDevice) NewMapped(int) (gpu.Buffer, error) {
	return modelMailbox, nil
}
func (d *modelDevice) NewBuffer(int) (gpu.Buffer, error) {
	clear(d.testHeap)
	return modelTest, nil
}
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
	if from := d.turned.Load(); offset == kernel.MailTail*ring.WordBytes {
		for d.running.Load() && d.turned.Load()-from < d.late {
			runtime.Gosched()
		}
	}
	atomic.StoreUint32(&d.mailbox[offset/4], value)
}
func (d *modelDevice) StoreMapped(_ gpu.Buffer, offset int, data []byte) {
	copy(gpu.Bytes(d.mailbox)[offset:], data)
}
func (d *modelDevice) LoadMapped(_ gpu.Buffer, offset int, dst []byte) {
	copy(dst, gpu.Bytes(d.mailbox)[offset:])
}

func (d *modelDevice) UniformLocation(_ gpu.Program, name string) int32 {
	for i, known := range uniformNames {
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
func (d *modelDevice) kernel(uniform [len(uniformNames)]uint32, heap []uint32) {
	number, answered, turns, most, longest := uniform[0], uniform[1], uniform[2], uniform[3], uniform[4]
	load := func(word int) uint32 { return atomic.LoadUint32(&d.mailbox[word]) }
	store := func(word int, value uint32) { atomic.StoreUint32(&d.mailbox[word], value) }
	first := load(kernel.MailTail)
	var spent, idle, rounds uint32
	for cause := kernel.CauseNone; cause == kernel.CauseNone; {
		runtime.Gosched()
		d.turned.Add(1)
		tail := load(kernel.MailTail)
		if d.blind {
			tail = first
		}
		if d.fades > 0 && rounds >= d.fades {
			tail = answered
		}
		switch {
		case d.lost.Load():
			return
		case load(kernel.MailStop) == number:
			cause = kernel.CauseStop
		case spent+most > turns:
			cause = kernel.CauseTurns
		case idle >= longest:
			cause = kernel.CauseIdle
		}
		spent++
		idle++
		if cause != kernel.CauseNone {
			store(kernel.MailCause, uint32(cause))
			break
		}
		if tail == answered {
			continue
		}
		store(kernel.MailBegun, tail)
		if d.stall.Load() {
			return
		}
		d.round(int(tail&kernel.TailCountMask), heap)
		if cost := d.mailbox[kernel.MailCost]; cost > most {
			d.broken.Store(true)
		} else {
			spent += cost
		}
		idle, answered = 0, tail
		rounds++
		store(kernel.MailDone, tail)
	}
	if spent > turns+1 {
		d.broken.Store(true)
	}
	store(kernel.MailSpent, spent)
	store(kernel.MailRounds, rounds)
	store(kernel.MailEnded, number)
}

// round runs the mailbox's slots by the reference.
func (d *modelDevice) round(n int, heap []uint32) {
	at := func(offset int) []uint32 { return d.mailbox[offset/4:] }
	image := &kernel.Image{
		Slots: make([]ring.Slot, kernel.MailSlots), Statuses: make([]ring.Status, kernel.MailSlots),
		Results: make([]uint32, kernel.MailSlots), Schedule: []ring.Entry{ring.NewEntry(0, n)},
		Heap: heap, Print: make([]uint32, ring.PrintLogWords(1)),
	}
	var records [kernel.MailSlots]kernel.MailRecord
	copy(gpu.Bytes(records[:n]), gpu.Bytes(at(kernel.MailRecordsAt)[:n*kernel.MailRecordWords]))
	copy(gpu.Bytes(image.Slots), gpu.Bytes(at(kernel.MailSlotsAt)[:kernel.MailSlots*ring.SlotWords]))
	for i, r := range records[:n] {
		if tail := d.mailbox[kernel.MailTail]; r.Check != r.Sum(tail) || d.mailbox[kernel.MailCheck] != kernel.MailSum(tail, d.mailbox[kernel.MailTenant:kernel.MailCheck]...) {
			d.broken.Store(true)
		}
		s := &image.Slots[i]
		if !kernel.WholeSlot.Has(kernel.Opcode(r.Opcode)) {
			*s = ring.Slot{}
		}
		s.Opcode, s.Tenant = r.Opcode, r.Tenant
		copy(s.Args[:], r.Args[:])
		image.Statuses[i] = r.Status
	}
	head := d.mailbox
	wave := kernel.Wave{Entries: 1, Chunk: kernel.MailSlots, ClaimBudget: 2, StepBudget: head[kernel.MailSteps],
		Tenant: head[kernel.MailTenant], WindowBase: head[kernel.MailBase], WindowLength: head[kernel.MailLength]}
	kernel.BuiltIn().Interpret(image, kernel.Kernel{}, wave, policy.Geometry{Width: kernel.LeaseWidth, Groups: 1, Chunk: kernel.MailSlots})
	outcomes := make([]kernel.MailOutcome, n)
	for i := range outcomes {
		outcomes[i] = kernel.MailOutcome{Status: image.Statuses[i], Result: image.Results[i]}
	}
	copy(gpu.Bytes(at(kernel.MailOutcomesAt)[:2*n]), gpu.Bytes(outcomes))
}
