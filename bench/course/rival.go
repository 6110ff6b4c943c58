package course

import (
	"sync"
	"time"

	"ringmaster/bench/course/decider"
	"ringmaster/megakernel/fixed"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
)

// rival puts a rule in the policy's place: it keeps what the rule remembers of each queue.
type rival struct {
	rule decider.Rule

	mu     sync.Mutex
	queues map[string]*rivalQueue
}

type rivalQueue struct {
	state decider.State
	last  decider.Launch
}

func newRival(rule decider.Rule) *rival {
	return &rival{rule: rule, queues: make(map[string]*rivalQueue)}
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

// decide is an actors.Decider.
func (r *rival) decide(queue string, req *policy.Request, before policy.State) (plan policy.Recommendation, after policy.State, hold time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.queue(queue)
	var c decider.Choice
	q.state, c = r.rule(q.state, decider.Input{Limits: req.Limits, Last: q.last})
	return fixed.Plan(req, c.Geometry), before, c.Hold, nil
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
