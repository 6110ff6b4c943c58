package actors

import (
	"ringmaster/megakernel/policy"
	"sync/atomic"
)

// message is what actors send each other. Types outside this file are not
// messages, so a value sent by mistake does not compile.
type message interface{ isMessage() }

type (
	// wake tells the queue actor to take its cell and decide.
	wake struct{}
	// tuned tells the queue actor that the tuner suggests another width.
	tuned struct{}
	// settled tells the stages how a launch of a decision ended.
	settled struct {
		launch   uint64
		decision uint64
		ok       bool
		state    policy.State // what the decision left behind
		drawn    uint64       // number of the last decision that the queue actor sent ahead of this
		reverted bool         // a stage took back what it had issued
	}
	// reverted tells the queue actor that a failed launch took back issued state.
	reverted struct{ drawn uint64 } // of the settled message
	// reported tells tuner or policy actor that the cell has launch reports.
	reported struct{}
	// halted tells the policy actor that the worker gave up on the queue.
	halted struct {
		edition uint64 // the plan that failed
		reason  string
	}
	// beat asks the policy actor for a heartbeat.
	beat struct{}
	// prioritized tells the diffusion actor that a cell has a new priority.
	prioritized struct{ family *family }
	// spread tells the diffusion actor that priorities have changed.
	spread struct{}
	// parked tells the worker actor that a queue has nothing to do.
	parked struct{ family *family }
	// forgotten tells diffusion and worker actor that a queue is no longer known.
	forgotten struct{ family *family }
	// diffused carries the priorities of all queues of a worker to its actor.
	diffused struct{ byQueue map[string]float64 }
	// planned tells the worker actor that a queue has decided.
	planned struct{}
	// arrived tells the worker actor that its inbox has items.
	arrived struct{}
)

func (wake) isMessage()        {}
func (tuned) isMessage()       {}
func (*settled) isMessage()    {}
func (reported) isMessage()    {}
func (reverted) isMessage()    {}
func (*halted) isMessage()     {}
func (beat) isMessage()        {}
func (prioritized) isMessage() {}
func (spread) isMessage()      {}
func (parked) isMessage()      {}
func (forgotten) isMessage()   {}
func (diffused) isMessage()    {}
func (planned) isMessage()     {}
func (arrived) isMessage()     {}
func (*decision) isMessage()   {}

// decision is one decision on its way from the queue actor to the policy
// actor. Only the stage that holds it writes to it; published, it is constant.
type decision struct {
	number          uint64 // drawn by the queue actor, from 1
	view            view
	commitOnPublish bool        // the worker has never reported a launch
	published       atomic.Bool // and so nothing is lost with it; who panicked after passing it on asks too
	err             error       // why there is no plan

	request policy.Request
	class   policy.Classification
	plan    policy.Recommendation
	before  policy.State
	after   policy.State
}

// DecisionInput is what one decision depended on: policy.Decide on Request and
// Before gives the same plan and After again, without any of the timing.
type DecisionInput struct {
	Worker, Queue string
	Decision      uint64
	Records       SequenceRange // records folded since the decision before
	Request       policy.Request
	Before, After policy.State
	Plan          policy.Recommendation // zero if there was none
	Err           error                 // why there was no plan, nil if there was one; ErrNoLimits: the policy was not asked
}

// SequenceRange names consecutive records of one publisher.
type SequenceRange struct {
	Incarnation uint64
	First, Last uint64
	SentNs      int64 // of the last one
}
