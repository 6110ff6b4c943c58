// Package megakernel executes submitted work on a GL 4.3 compute device: a
// kernel that interprets slots, dispatched as waves of exactly the geometry
// that was ordered.
//
// An [Engine] takes batches of slots for any number of queues. Each queue is a
// tenant with a window of the heap of its own; every operand of a slot is
// checked against that window on the device, and a slot that would leave it
// ends in a fault and writes nothing. Submitters write their slots into pages
// of the device's staging memory themselves. [Engine.Launch] schedules a
// queue's pages by deficit round robin over the priorities, has the device copy
// what it does not have yet, dispatches one wave, and settles what it finished.
// What a wave does not reach stays published and is found by the next one.
//
// A [Catalog] is the opcodes that slots may have, built-in and an operator's. It
// assembles kernels from the files under shaders, the constants of package ring
// and the operator's bodies ([Catalog.Source]). [Catalog.Interpret] is the same in
// plain Go, and the definition of what the kernels mean; tests compare them on
// whole buffers.
//
// # Kernels
//
// The interpreter has the bodies of all opcodes. A fused kernel has only those of a
// queue's hot opcodes, which package hotset finds in what the queue's launches
// executed. It is used for orders with Fuse set; the interpreter, dispatched
// indirectly behind it, drains the slots that it left. A wave whose opcodes are all
// hot gets an exact kernel, which leaves none and has no cold list. [Programs] builds
// kernels on a second context of the device's share group ([Config].Beside). A launch
// whose kernel is not ready runs on another of the same meaning, and the report says
// so.
//
// # Lease
//
// With Config.Lease, small launches whose Order.Mode allows it go to a kernel that
// stays on the device ([Resident]) and takes rounds of slots from mapped memory. A
// software renderer has two such kernels, one of them for a few opcodes only. A
// resident kernel ends by itself after a bounded number of turns, and before anything
// else uses the device's thread.
//
// # Waves in flight
//
// [Engine.Start] begins a launch without waiting, [Engine.Poll] and
// [Engine.Wait] hand its report out. Each wave in flight has a control block and
// a schedule of its own, and its pages are in no other. The device runs waves in
// the order of their starts with a barrier between them, so that a wave sees
// what those before it wrote. One goroutine, the pump, brings everything to the
// device's thread and asks for fences; another, the settler, takes over what
// waves left while the next one runs.
//
// # Tenants
//
// A queue's tenant id is its window's number and how often that was given out, so
// that an id never meets a window that [Engine.Release] gave to somebody else.
// It is written by the engine, never taken from a slot. [Engine.Configure]
// bounds what a queue may have pending, may run per second, and which opcodes it
// may use; over its quota it waits and is counted, and nobody else does.
//
// # Priorities
//
// See [ring.Queue]: shares by quanta, critical work ahead of its turn within a
// quantum, and no priority left out for longer than Config.AgeThreshold waves of
// its queue and a few more.
//
// # Budget
//
// A workgroup claims chunks of the schedule by ticket until none is left or
// its budget of tickets is used up. The host computes the budget for each
// wave from the opcodes and the longest step loop among the scheduled slots, so
// that no invocation runs more than Config.LoopBudget loop iterations; see
// [DefaultLoopBudget] for why there has to be such a bound. Operators' opcodes
// that together exceed it are kept out of each other's waves, and a batch that
// cannot be split so is refused.
//
// # Fences
//
// A fence in a batch ends a segment. The next segment is put into pages only
// when every slot of the one before is finished, so it runs in a later
// dispatch, behind a storage barrier. No workgroup ever waits for another.
//
// # Failure
//
// A launch that fails settles nothing, whatever else is in flight: its slots
// stay pending and the next launch of the queue uploads and runs them again. Work
// is therefore executed at least once, and exactly once as long as no launch
// fails after its dispatch began, or its round of the lease. When the device itself is lost, [Engine.Move] goes on with
// another one: batches that depend on nothing in their window run again, once,
// and the others fail with [ErrHeapLost].
package megakernel
