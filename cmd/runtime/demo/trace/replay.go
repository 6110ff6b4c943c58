package trace

import (
	"container/heap"
	"time"
)

// The constants of the mapping; the package comment says how they are used.
const (
	TokensPerPrefillSlot = 4
	KVBytesPerToken      = 2 * 80 * 8 * 128 * 2
	MemoryBudgetBytes    = 24 << 30
	// AdmissionLimitBytes leaves 64 MiB of the budget to hit buffers.
	AdmissionLimitBytes = MemoryBudgetBytes - 64<<20
	DecodeTimePerToken  = 30 * time.Millisecond
	RequestsPerLevel    = 16
)

// Step is what happened in the trace since the step before.
type Step struct {
	Admitted       []Request // become work now; valid until the next Advance
	Levels         int       // breadth-first levels to expand now
	WaitingPrefill int       // slots of requests that wait for admission
	WaitingDecode  int
	ResidentBytes  uint64 // key-value cache of what is admitted and not finished
	Ended          bool   // the trace has no further arrival and nothing waits
}

// Replay walks through the trace in its own time. It is a simulation of the
// service's admission, driven only by Advance: the same steps give the same result.
type Replay struct {
	requests []Request
	arrived  int // requests[:arrived] have arrived
	admitted int // requests[:admitted] were admitted
	resident uint64
	finishes finishHeap
	step     Step
}

// NewReplay starts before the first arrival.
func NewReplay(requests []Request) *Replay { return &Replay{requests: requests} }

// Advance moves the trace to a moment, which must not lie before the last one.
func (r *Replay) Advance(to time.Duration) *Step {
	before := r.admitted
	r.step.Admitted = r.step.Admitted[:0]
	for {
		next, isFinish := r.nextEvent()
		if next > to {
			break
		}
		if isFinish {
			r.resident -= heap.Pop(&r.finishes).(finish).bytes
		} else {
			r.arrived++
			r.step.WaitingPrefill += r.requests[r.arrived-1].PrefillSlots()
			r.step.WaitingDecode += r.requests[r.arrived-1].DecodeSlots()
		}
		r.admit(next)
	}
	r.step.Levels = r.admitted/RequestsPerLevel - before/RequestsPerLevel
	r.step.ResidentBytes = r.resident
	r.step.Ended = r.admitted == len(r.requests)
	return &r.step
}

const never = time.Duration(1<<63 - 1)

func (r *Replay) nextEvent() (at time.Duration, isFinish bool) {
	at = never
	if r.arrived < len(r.requests) {
		at = r.requests[r.arrived].At
	}
	if len(r.finishes) > 0 && r.finishes[0].at <= at {
		return r.finishes[0].at, true
	}
	return at, false
}

// admit lets waiting requests in, in order, while their cache fits. A request
// larger than the whole limit enters alone.
func (r *Replay) admit(now time.Duration) {
	for r.admitted < r.arrived {
		request := r.requests[r.admitted]
		bytes := request.Tokens() * KVBytesPerToken
		if r.resident > 0 && r.resident+bytes > AdmissionLimitBytes {
			return
		}
		r.resident += bytes
		heap.Push(&r.finishes, finish{now + time.Duration(request.Generated)*DecodeTimePerToken, bytes})
		r.step.Admitted = append(r.step.Admitted, request)
		r.step.WaitingPrefill -= request.PrefillSlots()
		r.step.WaitingDecode -= request.DecodeSlots()
		r.admitted++
	}
}

// finish is the moment at which a request's cache is freed.
type finish struct {
	at    time.Duration
	bytes uint64
}

type finishHeap []finish

func (h finishHeap) Len() int           { return len(h) }
func (h finishHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h finishHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *finishHeap) Push(x any)        { *h = append(*h, x.(finish)) }
func (h *finishHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
