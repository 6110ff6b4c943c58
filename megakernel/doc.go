// Package megakernel executes submitted work on a GL 4.3 compute device: it dispatches
// kernels over batches of slots, as waves of exactly the geometry that was ordered.
//
// An [Engine] takes batches for any number of queues ([Engine.Submit]), runs them when it
// is told to ([Engine.Launch], or [Engine.Start] and [Engine.Wait]), and reports what
// became of them. What is pending, where it lies and what the next wave runs is decided by
// package ledger, the engine's books; what a slot means, by package kernel. The engine
// moves bytes, dispatches, and waits for fences.
//
// # What it promises
//
// Once. Every batch that Submit took is reported exactly once, with every slot executed,
// faulted or dropped: by the [Report] of the launch that finished it or, if it ended
// outside of any launch, by [Engine.Finished]; [Config].Ended tells when to ask. Slots run
// at least once, and exactly once as long as no launch fails after its dispatch began. A
// launch that fails says so and settles nothing, whatever else is in flight: its slots stay
// pending and run again with the next launch of the queue. So does one whose round on the
// lease has an unknown outcome.
//
// Isolation. Each queue is a tenant with a window of the heap of its own. Every operand of
// a slot is checked against that window on the device; a slot that would leave it ends in a
// fault and writes nothing. The tenant's id is written by the engine, never taken from a
// slot, and never meets a window that went to somebody else. A queue over its quota
// ([Engine.Configure]) waits and is counted, and nobody else does. A queue's backlog never
// takes the pages that other queues need to run at all.
//
// Order. The device runs waves in the order of their starts with a barrier between them, so
// that a wave sees what earlier ones wrote. What stands behind a fence in a batch runs in a
// later dispatch than everything before it. No workgroup ever waits for another.
//
// Fairness. Priorities share a queue's waves by quanta, critical work ahead of its turn
// within a quantum, and no priority is left out for longer than Config.AgeThreshold waves
// of its queue and a few more; see [ring.Queue]. A stream of transfers does not keep waves
// from being settled.
//
// Bounds. No invocation runs more than Config.LoopBudget loop iterations in one dispatch:
// the host computes for each wave how many chunks a workgroup may claim. What a wave does
// not reach stays published and is found by the next one.
//
// # Kernels
//
// The interpreter has the bodies of all opcodes. A fused kernel has only those of a
// queue's hot opcodes, which package hotset finds in what the queue's launches executed.
// It is used for orders with Fuse set; the interpreter, dispatched indirectly behind it,
// drains the slots that it left. A wave whose opcodes are all hot gets an exact kernel,
// which leaves none and has no cold list. Kernels are built on a second context of the
// device's share group ([Config].Beside). A launch whose kernel is not ready runs on
// another of the same meaning, and the report says so.
//
// With Config.Lease, small launches whose Order.Mode allows it go to a kernel that stays on
// the device and takes rounds of slots from mapped memory. It ends by itself after a
// bounded number of turns, and before anything else uses the device's thread.
//
// # Loss
//
// When the device itself is lost, [Engine.Move] goes on with another one: batches that
// depend on nothing in their window run again, once, and the others fail with
// [ErrHeapLost], as do those that name the epoch of a window whose contents are gone.
//
// # Errors
//
// Errors wrap one of the package's sentinels, an error of the driver for which gpu.Lost may
// hold, or the cause of a context that ended. Each method says which to expect.
package megakernel
