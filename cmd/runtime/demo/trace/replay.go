package trace

import (
	"cmp"
	"slices"
	"time"
)

// The constants of the mapping; the package comment says how they are used.
const (
	TokensPerPrefillSlot = 4
	KVBytesPerToken      = 2 * 80 * 8 * 128 * 2
	MemoryBudgetBytes    = 24 << 30
	DecodeTimePerToken   = 30 * time.Millisecond
	RequestsPerLevel     = 16
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
	finishes []finish // in the order of their moments
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
			r.resident -= r.finishes[0].bytes
			r.finishes = r.finishes[1:]
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
// larger than the whole budget enters alone.
func (r *Replay) admit(now time.Duration) {
	for r.admitted < r.arrived {
		request := r.requests[r.admitted]
		bytes := request.Tokens() * KVBytesPerToken
		if r.resident > 0 && r.resident+bytes > MemoryBudgetBytes {
			return
		}
		r.resident += bytes
		end := finish{now + time.Duration(request.Generated)*DecodeTimePerToken, bytes}
		at, _ := slices.BinarySearchFunc(r.finishes, end, func(a, b finish) int { return cmp.Compare(a.at, b.at) })
		r.finishes = slices.Insert(r.finishes, at, end)
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
