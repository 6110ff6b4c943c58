package actors

import (
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
)

// Publisher sends what the actors decide. Calls must not block on the
// network; the records may be reused after the call returns.
type Publisher interface {
	// Recommend publishes a decision on the queue's recommend subject, and to
	// every address in replies (reply subjects of requests it answers).
	Recommend(worker, queue string, r *telemetry.Recommendation, replies []string)
	// Report publishes a copy of a local launch report on the telemetry subject.
	Report(worker, queue string, l *telemetry.Launch)
	// Done publishes a finished batch. sent reports the outcome once the server has it.
	Done(worker, queue string, d *telemetry.Done, sent func(error))
}

// Engine runs launches on one device, in the order in which they are started.
// Submit and Launch never block on the device. The worker actor is the only caller.
type Engine interface {
	// Submit takes a batch into the queue's pending slots. An error means
	// nothing was taken: the batch is refused for good, or, if the error
	// wraps ErrBusy or ErrQuota, delivered again later. The slots and the words
	// of runs of a batch that was taken belong to the engine.
	Submit(queue string, w *telemetry.Work) error
	// Launch starts one launch of what is pending on the order's queue and
	// calls settled exactly once, from another goroutine. Other launches may be
	// under way; together they are no more than Sizing.MaxInFlight of the policy.
	// No slot is in two of them.
	Launch(o Order, settled func(Report))
	// Cancel withdraws a batch of a queue. It does not block on the device; slots
	// that a launch has begun are reported with it.
	Cancel(queue, batch string) Canceled
	// Lease is what a kernel that stays on the device offers now, for launches whose plan
	// says so; the zero value is none. It may be called from any goroutine.
	Lease() policy.Lease
	// DeviceIdentity names the kind of the device and its driver, see IdentityOf: what
	// launches teach is shared with all devices of the kind. It does not change.
	DeviceIdentity() string
	// OnEnded has tell called with the batches of a queue that ended outside of any launch,
	// at their deadline, and were not reported otherwise. It is called once, before any work
	// is submitted; tell may be called from any goroutine.
	OnEnded(tell func(queue string, done []telemetry.Done))
}

// Canceled is what an engine withdrew.
type Canceled struct {
	Found bool             // the batch was there and not withdrawn before
	Slots int              // dropped by this call
	Done  []telemetry.Done // batches of the queue that finished outside of any launch
}

// Order is one launch to run.
type Order struct {
	Launch   uint64 // launch number, from 1
	Decision uint64
	Queue    string
	Plan     policy.Recommendation
	Joined   bool // another queue's may be ordered before this one ends, although the plan has one in flight
}

// Report is what came back of a launch.
type Report struct {
	Launch  telemetry.Launch
	Done    []telemetry.Done // batches that finished in this launch
	Pending int              // slots of the queue still to run, all of them if the launch failed

	LeaseRefused bool // the plan had the launch on the lease, which did not take its slots
}

// Meter is told how long things take. Its methods must be quick and may be called concurrently.
type Meter interface {
	// Decided tells how long the first record that a decision answers had waited when the decision counted and
	// was handed to the publisher.
	Decided(time.Duration)
	// Waited tells how long the first slots that a launch may take had waited when it began.
	Waited(time.Duration)
	// Launched tells for how long a reported launch had the device, 0 if that was not measured.
	Launched(time.Duration)
}

// unmetered is the Meter of a system that has none.
type unmetered struct{}

func (unmetered) Decided(time.Duration)  {}
func (unmetered) Waited(time.Duration)   {}
func (unmetered) Launched(time.Duration) {}

// Adviser is told what an operator wants to know of. Its methods must not block and may be called concurrently.
type Adviser interface {
	// TookOver tells that a queue was decided for here after another process had decided.
	TookOver(worker, queue string, decision uint64)
	// DecisionRefused tells that the store had another decision in place of one of this process.
	DecisionRefused(worker, queue string, decision uint64)
}

// unadvised is the Adviser of a system that has none.
type unadvised struct{}

func (unadvised) TookOver(_, _ string, _ uint64)        {}
func (unadvised) DecisionRefused(_, _ string, _ uint64) {}

// Store keeps decisions where all processes that may decide see them: a stream, whose server
// compares and sets. Calls never block.
type Store interface {
	// Write stores a decision of a queue as the successor of the message with a sequence, 0 for
	// none; r.Decided has what the next decision builds on. Once it is stored, it goes to
	// subscribers and to every address in replies. r may be reused after the call returns. done
	// is called exactly once, from any goroutine, with the message's sequence if it is stored;
	// it never takes longer than a second.
	Write(worker, queue string, expect uint64, r *telemetry.Recommendation, replies []string, done func(sequence uint64, how telemetry.Written))
	// Last reads a queue's newest message from the stream's leader. done is called exactly
	// once, from any goroutine: with nil and no error if there is none.
	Last(worker, queue string, done func(m *telemetry.Stored, err error))
}
