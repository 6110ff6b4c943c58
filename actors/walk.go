package actors

import (
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
)

// Walk is what a worker of this process says about the graphs of one of its queues and
// about the job that walks one of them. It is folded like a graph record and replaces
// the walk before it. Where a walk and publishers' graph records disagree, the walk
// counts.
type Walk struct {
	// Header is the header of the graph record that tells others the same. The decision
	// that answers it names its sequence number.
	Header telemetry.Header
	// Graph is all that is known: fields that only the walk before had are forgotten.
	Graph telemetry.Graph
	// Nodes is the number of frontier nodes, which count as work of the queue like its
	// slots; 0 if no job runs.
	Nodes uint32
	// HitCapacity is the room for hits that the job could use, in nodes; MaxWidth is the
	// widest workgroup of its kernels. 0 leaves either open.
	HitCapacity, MaxWidth uint32
	// Requeued is how many frontier nodes had to wait for room since the walk before.
	Requeued uint64
	// Answered, if not nil, is called with each decision that has seen this
	// walk and none after it, by the actor that made it: it must be quick.
	Answered func(DecisionInput)
}

// Walk folds a walk into its queue and asks for a decision without waiting for it.
// ErrUnstable says that none will come soon.
func (s *System) Walk(worker, queue string, w Walk) error {
	return s.with(worker, queue, func(f *family) error {
		f.dispatch(f.cell.foldWalk(&w, s.tick.Load()))
		if f.stopped.Load() != nil {
			return ErrUnstable
		}
		return nil
	})
}

// foldWalk takes over a walk. A queue whose graph was walked is known from then on.
func (c *cell) foldWalk(w *Walk, tick uint64) wakes {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.walked = c.walked || w.Nodes > 0
	c.walk = w
	c.requeues = addSaturating(c.requeues, w.Requeued)
	c.note(&w.Header)
	c.accepted++
	c.touched = tick
	return c.trigger()
}

// resident reports whether graphs of the queue are on a device here: decisions need to know
// for as long as they are.
func (c *cell) resident() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.walk != nil && c.walk.Graph.ResidentDeviceBytes > 0
}

// graphs is what is known of the queue's graphs.
func (v *view) graphs() telemetry.Graph {
	g := v.graph
	if v.walk != nil {
		g.Merge(&v.walk.Graph)
	}
	return g
}

// join adds to a request what a walk asks for beside its graph.
func (w *Walk) join(r *policy.Request) {
	if w == nil || w.Nodes == 0 {
		return
	}
	r.QueueLen = max(r.QueueLen, w.Nodes)
	if r.RequestedHitCapacity == 0 {
		r.RequestedHitCapacity = w.HitCapacity
	}
	r.Limits = r.Limits.Lower(policy.Limits{MaxWorkgroupSizeX: w.MaxWidth, MaxInvocationsPerWorkgroup: w.MaxWidth})
}

// answer tells the job of a decision.
func (w *Walk) answer(d DecisionInput) {
	if w != nil && w.Answered != nil {
		w.Answered(d)
	}
}
