// Package actors is the concurrent shell around the decision: it holds state
// and routes messages, and every number it sends was computed by a pure
// function of package policy or of the tuner.
//
// A record takes this way:
//
//	Ingest → the queue's cell (folded under a lock) → one wake, if none is pending
//	queue actor: topology stage → policy stage → Publisher.Recommend
//	                                           → worker actor, if the worker is local
//	tuner actor (one per queue), diffusion actor (one per worker): views, sideways
//	worker actor → Engine.Launch → report → tuner actor, and queue actor → both stages
//
// A queue has at most one decision at a time, so its stages topology and policy
// are called in order by the queue actor instead of being sent messages. Each
// keeps what it issued and what was committed.
//
// Messages carry little; the data stays in places that outlive a panic:
//
//   - The cell of a queue holds what was folded. A wake says only "look", and
//     one that finds nothing new does nothing. From the wake to the published
//     decision the cell is busy; what arrives meanwhile is folded and looked at
//     by one more wake.
//   - The inbox of a worker holds submitted batches and settled launches.
//   - The struct of an actor is its state. A restart after a panic gets the
//     same struct, and the queue decides again from its cell. News that is in
//     neither (how a launch ended, that the worker gave up) is put aside and
//     handled again.
//
// What causes a decision: a queue record, or a graph record once the queue is known;
// work for a queue whose length nobody has ever reported, so that it never waits for
// telemetry that does not come; a failed launch that took back what stages had issued
// (see package stage); a queue that is no longer alone at its worker, or is from now
// on. Priority and launch records and the tuner only update views.
//
// A queue is known from its first record or work until it has been idle for ten
// minutes; then its next record starts it cold, or with a Store where it was. It takes
// about 8 KiB, and Config.MaxQueues bounds the queues. Panics are paced, and a queue whose
// actors panic too often is stopped for a while (quarantine.go); the actors of a worker are
// not: each panic takes the batch or launch in hand with it, so the next one is about
// something else.
//
// With a Store a decision holds when that has it (storing.go, and package fence for the
// protocol); each message of it carries what the next decision builds on (remember.go), so
// that another process decides as this one would.
//
// There are no asks and no futures. Mailboxes are unbounded; admission is
// decided before anything is sent to one. Timers are the package's own.
//
// To read the package: queue.go and decision.go (the decision), cell.go, fold.go and
// request.go (what it is made from), storing.go and remember.go (how it counts), worker.go,
// admit.go and launch.go (what carries it out), share.go (what queues know of each other),
// then the rest.
package actors
