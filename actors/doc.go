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
// Life of a queue: it is known, and its two actors run, from its first record or
// work until idleAfter without any; then it is forgotten, and its next
// record starts it cold. It takes about 6 KiB. Config.MaxQueues bounds the queues;
// a record or work for one more is refused with ErrQueueLimit until one is
// forgotten. A queue whose records outrun its decisions pauses between decisions.
//
// Panics: every actor restarts with its state, and what it lost is done again
// after a pause that doubles from retryMin to retryMax while it
// keeps panicking. stopPanics panics of one queue's actors within stopWindow
// stop that queue: no decisions, no launches, new work is asked to come again
// later (ErrUnstable), and its recommendation says so in Error, at once and in
// each heartbeat, around the plan it had last. Records are still folded. After
// stopPause it decides on the newest values, with the state it had, and
// may be stopped again. Other queues go on. The actors of a worker are paced the
// same way and are not stopped: each panic takes the batch or launch in hand with
// it, so the next one is about something else.
//
// A queue record (or a graph record once the queue is known) triggers a
// decision. Priority and launch records update views. Work submitted for a
// queue whose length nobody has ever reported triggers one as well: its
// pending slots then stand in for the queue length, so submitted work never
// waits for telemetry that does not come.
//
// Queues share a worker's device by time. The worker actor charges each for what its launches
// took there, and policy.PickQueue chooses by that. What launches cost is estimated from the
// reports in the cell; it is part of the request, and so is how many other queues have work or
// had some within a second. When a queue is no longer alone, or is from now on, it decides again.
//
// Hysteresis: stages decide from issued state. When a launch settles, both
// stages learn it, in one order with the decisions: success commits the
// state the launched decision left behind, failure returns issued to what was
// committed. If that took anything back, the queue decides once more, because
// the last recommendation no longer matches the state of any stage, and its
// subscribers cannot wait for telemetry that may never come. That is the only
// decision that a launch report causes. It starts no launch: as always, that
// takes pending work and a free device. The tuner's view causes no decision: it
// refines plans that are valid without it, and a queue with work gets its next
// decision from whoever reports its length, or from the next batch submitted.
//
// A worker in another process commits on its launch reports; until
// it has ever reported one, decisions commit on publication and say so.
//
// There are no asks and no futures. Mailboxes are unbounded; admission is
// decided before anything is sent to one. Timers are the package's own.
//
// To read the package: queue.go (the decision), cell.go and fold.go (what it is
// made from), worker.go and launch.go (what carries it out), then the rest.
package actors
