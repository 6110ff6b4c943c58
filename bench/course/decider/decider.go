package decider

import (
	"time"

	"ringmaster/megakernel/fixed"
	"ringmaster/megakernel/policy"
)

// State is what a rule remembers of a queue. Its zero value is a queue that was never launched.
type State struct {
	Depth uint32 // most slots of a launch, of AIMD; 0: the first
	Seen  uint64 // launches of the queue that it has taken account of
}

// Input is what a rule knows.
type Input struct {
	Limits policy.Limits // of the device
	Last   Launch        // the newest launch of the queue; zero: none
}

// Launch is what came of one.
type Launch struct {
	Number  uint64        // of the queue's launches, from 1
	Slots   uint32        // that it ran
	Elapsed time.Duration // on the device
}

// Choice is what a rule says. fixed.Plan makes a plan of the geometry.
type Choice struct {
	policy.Geometry
	Hold time.Duration // how long a launch that is not full waits for more slots
}

// Rule chooses. It is a function of its arguments.
type Rule func(State, Input) (State, Choice)

// Fixed launches everything at one geometry.
func Fixed(g policy.Geometry) Rule {
	return func(s State, _ Input) (State, Choice) { return s, Choice{Geometry: g} }
}

// Fill is fixed.Fill, which `make run` compares with too.
func Fill() Rule {
	return func(s State, in Input) (State, Choice) { return s, Choice{Geometry: fixed.Fill(&in.Limits)} }
}

// Batching is a dynamic batcher as in NVIDIA's Triton (max_batch_size and max_queue_delay_microseconds): a
// launch begins when it is full or its first slot has waited for the delay.
func Batching(most uint32, delay time.Duration) Rule {
	return func(s State, in Input) (State, Choice) {
		return s, Choice{Geometry: in.fill(most), Hold: delay}
	}
}

// AIMD adapts the batch size as Clipper does (Crankshaw et al., NSDI 2017, section 4.3.1): after a full launch
// within the target it grows by a constant, after one beyond the target it shrinks by a tenth.
func AIMD(target time.Duration, add uint32) Rule {
	return func(s State, in Input) (State, Choice) {
		s.Depth = max(s.Depth, add)
		if in.Last.Number > s.Seen {
			s.Seen = in.Last.Number
			switch {
			case in.Last.Elapsed > target:
				s.Depth = max(min(s.Depth, in.Last.Slots)/10*9, add)
			case in.Last.Slots >= s.Depth:
				s.Depth = min(s.Depth+add, fixed.MostDepth)
			}
		}
		return s, Choice{Geometry: in.fill(s.Depth)}
	}
}

// fill is fixed.Fill for a launch of at most depth slots.
func (in *Input) fill(depth uint32) policy.Geometry {
	g := fixed.Fill(&in.Limits)
	g.Depth = depth
	return g
}
