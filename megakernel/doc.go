// Package megakernel executes submitted work on a GL 4.3 compute device: one
// kernel that interprets slots, dispatched as waves of exactly the geometry
// that was ordered.
//
// An [Engine] takes batches of slots for any number of queues. Each queue is a
// tenant with a window of the heap of its own; every operand of a slot is
// checked against that window on the device, and a slot that would leave it
// ends in a fault and writes nothing. [Engine.Launch] puts a queue's pending
// slots into pages, schedules the pages by deficit round robin over the
// priorities, uploads what the device does not have yet, dispatches one wave,
// and settles what it finished. What a wave does not reach stays published
// and is found by the next one.
//
// The kernel is assembled from the files under shaders and the constants of
// package ring ([Source]). [Interpret] is the same in plain Go, and the
// definition of what the kernel means; tests compare the two on whole buffers.
//
// # Budget
//
// A workgroup claims chunks of the schedule by ticket until none is left or
// its budget of tickets is used up. The host computes the budget for each
// wave from the longest step loop among the scheduled slots, so that no
// invocation runs more than Config.LoopBudget loop iterations; see
// [DefaultLoopBudget] for why there has to be such a bound.
//
// # Fences
//
// A fence in a batch ends a segment. The next segment is put into pages only
// when every slot of the one before is finished, so it runs in a later
// dispatch, behind a storage barrier. No workgroup ever waits for another.
//
// # Failure
//
// A launch that fails settles nothing: its slots stay pending and the next
// launch of the queue uploads and runs them again. Work is therefore executed
// at least once, and exactly once as long as no launch fails after its
// dispatch began. When the device itself is lost, [Engine.Move] goes on with
// another one.
package megakernel
