package decider

import (
	"time"

	"ringmaster/megakernel/policy"
)

// Width is that of the workgroups of all rules but Fixed: 256, the usual first choice of who writes a kernel.
const Width = 256

// State is what a rule remembers of a queue. Its zero value is a queue that was never launched.
type State struct {
	Depth uint32 // most slots of a launch, of AIMD; 0: the first
	Seen  uint64 // launches of the queue that it has taken account of
}

// Input is what a rule knows.
type Input struct {
	Queue  uint32        // slots that wait
	Limits policy.Limits // of the device
	Fit    uint32        // workgroups of Width that the device runs at a time
	Last   Launch        // the newest launch of the queue; zero: none
}

// Launch is what came of one.
type Launch struct {
	Number  uint64        // of the queue's launches, from 1
	Slots   uint32        // that it ran
	Elapsed time.Duration // on the device
}

// Choice is what a rule says.
type Choice struct {
	policy.Geometry
	InFlight uint32        // most launches of the queue under way at a time
	Hold     time.Duration // how long a launch that is not full waits for more slots
}

// Rule chooses. It is a function of its arguments.
type Rule func(State, Input) (State, Choice)

// MostDepth is the most slots of a launch where a rule sets no bound: the policy's largest.
const MostDepth = 1 << 20

// Fixed launches everything at one geometry.
func Fixed(g policy.Geometry) Rule {
	return func(s State, in Input) (State, Choice) { return s, in.choose(g) }
}

// Fill is what CUDA's guides teach for a loop over any number of elements: groups of 256, as many as the device
// runs at a time, each of which goes on until nothing is left. It does not ask how much waits: a plan is made
// before the work for it has come, and a group that finds nothing costs only its start.
func Fill() Rule {
	return func(s State, in Input) (State, Choice) { return s, in.choose(in.fill(MostDepth)) }
}

// Batching is a dynamic batcher as in NVIDIA's Triton (max_batch_size and max_queue_delay_microseconds): a
// launch begins when it is full or its first slot has waited for the delay.
func Batching(most uint32, delay time.Duration) Rule {
	return func(s State, in Input) (State, Choice) {
		c := in.choose(in.fill(most))
		c.Hold = delay
		return s, c
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
				s.Depth = min(s.Depth+add, MostDepth)
			}
		}
		return s, in.choose(in.fill(s.Depth))
	}
}

// fill is as many groups as the device runs at a time, for a launch of at most depth slots.
func (in *Input) fill(depth uint32) policy.Geometry {
	return policy.Geometry{Width: Width, Groups: max(in.Fit, 1), Chunk: Width, Depth: depth}
}

// mostInFlight is two streams' worth: one launch runs while the next is made ready.
const mostInFlight = 2

// choose is a geometry cut to what the device can launch. A queue that fills two launches has two under way.
func (in *Input) choose(g policy.Geometry) Choice {
	l := &in.Limits
	g.Width = min(g.Width, max(l.MaxWidth(), 1))
	g.Groups = min(g.Groups, max(l.MaxWorkgroupsPerDimension, 1))
	g.Depth = max(g.Depth, g.Width)
	g.Chunk = min(max(g.Chunk, 1), g.Depth)
	return Choice{Geometry: g, InFlight: max(min(in.Queue/g.Depth, mostInFlight), 1)}
}
