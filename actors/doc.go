// Package actors is the concurrent shell around the decision: it holds state
// and routes messages, and every number it sends was computed by a pure
// function of package policy or tuner.
//
// The way of a record:
//
//	Ingest → the queue's cell (folded under a lock) → one wake, if none is pending
//	queue actor → topology actor → policy actor → Publisher.Recommend
//	                                            → worker actor, if the worker is local
//	tuner actor (one per queue), diffusion actor (one per worker): views, sideways
//	worker actor → Engine.Launch → report → tuner, and queue → topology → policy
//
// Messages carry little; the data stays in places that outlive a panic:
//
//   - The cell of a queue holds what was folded. A wake says only "look".
//     From the wake to the published decision the cell is busy, so a queue
//     has at most one decision on its way; what arrives meanwhile is folded
//     and looked at by one more wake.
//   - The inbox of a worker holds submitted batches and settled launches.
//   - The struct of an actor is its state. A restart after a panic gets the
//     same struct, and the queue decides again from its cell.
//
// A queue record (or a graph record once the queue is known) triggers a
// decision. Priority and launch records update views. Work submitted for a
// queue whose length nobody has ever reported triggers one as well: its
// pending slots then stand in for the queue length, so submitted work never
// waits for telemetry that does not come.
//
// Hysteresis: stages decide from issued state. When a launch settles, the
// outcome travels the same line queue → topology → policy as decisions do, so
// that all stages see launches and decisions in one order: success commits the
// state the launched decision left behind, failure returns issued to what was
// committed. A worker in another process commits on its launch reports; until
// it has ever reported one, decisions commit on publication and say so.
//
// There are no asks and no futures, mailboxes are unbounded and admission is
// outside of them, and timers are the package's own.
package actors
