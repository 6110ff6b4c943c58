package course

import (
	"sync"
	"time"

	"ringmaster/bench/course/decider"
	"ringmaster/megakernel/fixed"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
)

// rival takes the policy's place.
type rival interface {
	// decide is an actors.Decider.
	decide(queue string, req *policy.Request, before policy.State) (plan policy.Recommendation, after policy.State, hold time.Duration, err error)
	// observe is told of launches.
	observe(queue string, l *telemetry.Launch)
}

// ruled is a rival that follows a rule: it keeps what the rule remembers of each queue.
type ruled struct {
	rule decider.Rule

	mu     sync.Mutex
	queues map[string]*rivalQueue
}

type rivalQueue struct {
	state decider.State
	last  decider.Launch
}

func newRuled(rule decider.Rule) *ruled {
	return &ruled{rule: rule, queues: make(map[string]*rivalQueue)}
}

// queue is what is remembered of a queue. r.mu is held.
func (r *ruled) queue(name string) *rivalQueue {
	q := r.queues[name]
	if q == nil {
		q = &rivalQueue{}
		r.queues[name] = q
	}
	return q
}

func (r *ruled) decide(queue string, req *policy.Request, before policy.State) (plan policy.Recommendation, after policy.State, hold time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.queue(queue)
	var c decider.Choice
	q.state, c = r.rule(q.state, decider.Input{Limits: req.Limits, Last: q.last})
	return fixed.Plan(req, c.Geometry), before, c.Hold, nil
}

// observe tells the rule of a launch.
func (r *ruled) observe(queue string, l *telemetry.Launch) {
	if l.Status != telemetry.LaunchOK || l.Kernel == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.queue(queue)
	q.last = decider.Launch{Number: q.last.Number + 1, Slots: uint32(l.Executed), Elapsed: time.Duration(l.ElapsedNs)}
}
