package graphs

import (
	"context"
	"sync"

	"ringmaster/cmd/runtime/decisions"
	"ringmaster/megakernel/frontier"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry/decisionlog"
)

// Memory is the device memory of a queue's graphs.
type Memory struct {
	resident uint64 // bytes that they take
	budget   uint64 // most bytes, jobs included; 0: no bound
}

// decision is what was decided of a level.
type decision struct {
	number  uint64
	request policy.Request
	before  policy.State
	plan    policy.Recommendation
}

// desk decides levels of the jobs of one queue: the queue's actors, or the policy directly.
type desk interface {
	// ask decides a level, and waits for that.
	ask(ctx context.Context, w *walker, v *frontier.View) (decision, error)
	// tell says which level a job has reached. Nobody waits.
	tell(w *walker, v *frontier.View)
	// rest says that a job has ended, and what the queue's graphs take then.
	rest(m Memory, w *walker)
	// levels is the log of what directors decide, nil for none, with the names of the worker and the queue; job is a number
	// that no other job of the process has.
	levels() (log *decisions.Log, worker, queue string, job uint64)
}

// walk runs a job. The decision on the first level sets the geometry, the room for hits and the state that the job begins
// with. With host, every level is decided like that. Otherwise the director decides the other levels on the device, by the
// same policy, and the desk is told of them.
//
// m is the memory of the queue's graphs without buffers of jobs, rest that after the job. If there is no error, the caller
// calls log once it has given the device back; log appends what the director decided to the decision log.
func walk(ctx context.Context, d desk, g *frontier.Graph, job frontier.Job, needs frontier.Needs, host bool, m Memory, rest func() Memory) (_ frontier.Result, log func(), err error) {
	if g.Nodes() == 0 {
		result, err := g.Run(ctx, job)
		return result, func() {}, err
	}
	m.resident += needs.Fixed
	w := &walker{desk: d, memory: m, needs: needs, situation: g.Situation(&job), room: job.HitCapacity, first: g.Begin(&job)}
	if w.room == 0 || w.room > needs.Nodes {
		w.room = needs.Nodes
	}
	defer func() { d.rest(rest(), w) }()
	if w.begun, err = d.ask(ctx, w, &w.first); err != nil {
		return frontier.Result{}, nil, err
	}
	w.shape(&job)
	if host && job.Ruled() {
		job.Decide = func(v frontier.View) (policy.Topology, uint32, error) { return w.decide(ctx, v) }
		job.Observe = w.count
		result, err := g.Run(ctx, job)
		for i := range result.Levels {
			result.Levels[i].Raw, result.Levels[i].Reason = w.decided[i].RawTopology, w.decided[i].Reasons[0]
		}
		return result, func() {}, err
	}
	finish := w.stream(&job)
	result, err := g.Run(ctx, job)
	finish()
	return result, func() { w.log(&job, result.Levels) }, err
}

// walker is one job that is under way.
type walker struct {
	desk
	memory    Memory // with the job's own buffers, but those for hits
	needs     frontier.Needs
	situation frontier.Situation
	room      uint32 // hits that the job could use room for
	first     frontier.View
	begun     decision                // on first
	decided   []policy.Recommendation // level by level, on the host

	mu     sync.Mutex
	newest frontier.View // level that was looked at last
	fresh  bool          // nobody was told of it yet
	hits   hits          // that nobody was told of yet
}

// hits counts the nodes that jobs reached, and those of them that had to wait for room.
type hits struct{ found, requeued uint64 }

// take returns the hits since it was called last.
func (w *walker) take() (taken hits) {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken, w.hits = w.hits, hits{}
	return taken
}

// shape applies the decision on the first level to the job.
func (w *walker) shape(job *frontier.Job) {
	plan, req := &w.begun.plan, &w.begun.request
	job.State = w.begun.before.Topology
	job.Geometry.Width = frontier.WidthWithin(plan.WorkgroupSizeX)
	job.HitCapacity = plan.HitCapacity
	job.HotOpcodes, job.HotWindows = req.HotOpcodeCount, req.HotWindowCount
	job.MemoryPressureBps = plan.MemoryPressureBps
	job.PressureKnown = plan.MemoryPressureBps != 0 || req.Present&policy.HasMemoryPressure != 0
	job.Geometry.Groups = workersOf(plan)
	w.situation.HotOpcodes, w.situation.HotWindows = job.HotOpcodes, job.HotWindows
	w.situation.MemoryPressureBps, w.situation.PressureKnown = job.MemoryPressureBps, job.PressureKnown
}

// decide has the desk decide a level and the most workgroups of its pushes.
func (w *walker) decide(ctx context.Context, v frontier.View) (policy.Topology, uint32, error) {
	d := w.begun
	if first := w.first; v.Level != 0 || v.FrontierNodes != first.FrontierNodes || v.FrontierEdges != first.FrontierEdges || v.UnexploredEdges != first.UnexploredEdges {
		var err error
		if d, err = w.ask(ctx, w, &v); err != nil {
			return policy.TopologyNone, 0, err
		}
	}
	w.decided = append(w.decided, d.plan)
	return d.plan.Topology, workersOf(&d.plan), nil
}

// workersOf bounds the workgroups of a level by a plan: where memory is constrained, those
// that shedding left; otherwise 0, which is as many as the frontier fills.
func workersOf(plan *policy.Recommendation) uint32 {
	if plan.Topology == policy.TopologyMemoryConstrained {
		return plan.WorkerGroups
	}
	return 0
}

// count adds the hits of levels.
func (w *walker) count(levels []frontier.Level) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range levels {
		w.hits.found += uint64(levels[i].Hits)
		w.hits.requeued += uint64(levels[i].Requeued)
	}
	w.newest, w.fresh = levels[len(levels)-1].View, true
}

// stream tells the newest level whenever the host looks at the device. Levels that come
// while one is being told are folded into the next.
func (w *walker) stream(job *frontier.Job) (finish func()) {
	wake, done := make(chan struct{}, 1), make(chan struct{})
	job.Observe = func(levels []frontier.Level) {
		w.count(levels)
		select {
		case wake <- struct{}{}:
		default:
		}
	}
	go func() {
		defer close(done)
		for range wake {
			w.mu.Lock()
			v, fresh := w.newest, w.fresh
			w.fresh = false
			w.mu.Unlock()
			if fresh {
				w.tell(w, &v)
			}
		}
	}()
	return func() { close(wake); <-done }
}

// log appends what a director decided to the decision log, so that it can be replayed.
func (w *walker) log(job *frontier.Job, levels []frontier.Level) {
	log, worker, queue, number := w.levels()
	if log == nil || !job.Ruled() {
		return
	}
	for i := range levels {
		l := &levels[i]
		e := decisionlog.Entry{
			Worker: worker, Queue: queue, Decision: w.begun.number, Director: true, Job: number, Level: l.Level,
			Request: w.situation.Request(&l.View),
			Before:  policy.State{Topology: policy.TopologyState{Topology: l.Previous}},
			After:   policy.State{Topology: policy.TopologyState{Topology: l.Topology}},
		}
		e.Plan = policy.Recommendation{
			RawTopology: l.Raw, Topology: l.Topology, FrontierDensityBps: e.Request.FrontierDensityBps, MemoryPressureBps: job.MemoryPressureBps, ReasonCount: 1,
		}
		e.Plan.Reasons[0] = l.Reason
		log.AddWaiting(&e)
	}
}
