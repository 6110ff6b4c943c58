package course

import (
	"sync"
	"time"

	"ringmaster/bench/course/decider"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
)

// rival puts a rule in the policy's place: it keeps what the rule remembers of each queue.
type rival struct {
	rule decider.Rule
	fit  uint32

	mu     sync.Mutex
	queues map[string]*rivalQueue
}

type rivalQueue struct {
	state decider.State
	last  decider.Launch
}

func newRival(rule decider.Rule, fit uint32) *rival {
	return &rival{rule: rule, fit: fit, queues: make(map[string]*rivalQueue)}
}

// queue is what is remembered of a queue. r.mu is held.
func (r *rival) queue(name string) *rivalQueue {
	q := r.queues[name]
	if q == nil {
		q = &rivalQueue{}
		r.queues[name] = q
	}
	return q
}

// decide is an actors.Decider. A rival has its kernels compiled for what they run, as who writes one has.
func (r *rival) decide(queue string, req *policy.Request, before policy.State) (plan policy.Recommendation, after policy.State, hold time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.queue(queue)
	var c decider.Choice
	q.state, c = r.rule(q.state, decider.Input{Queue: req.QueueLen, Limits: req.Limits, Fit: r.fit, Last: q.last})
	plan = policy.Recommendation{
		WorkgroupSizeX: c.Width, DispatchGrid: [3]uint32{c.Groups, 1, 1}, WorkerGroups: c.Groups, ClaimChunk: c.Chunk,
		BatchDepth: c.Depth, SlotCount: req.QueueLen, InFlight: c.InFlight, Mode: policy.ModeJIT,
	}
	return plan, before, c.Hold, nil
}

// observe tells the rule of a launch.
func (r *rival) observe(queue string, l *telemetry.Launch) {
	if l.Status != telemetry.LaunchOK || l.Kernel == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.queue(queue)
	q.last = decider.Launch{Number: q.last.Number + 1, Slots: uint32(l.Executed), Elapsed: time.Duration(l.ElapsedNs)}
}
