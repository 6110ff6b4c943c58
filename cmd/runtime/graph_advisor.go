package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"ringmaster/actors"
	"ringmaster/cmd/runtime/decisions"
	"ringmaster/megakernel/frontier"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
)

// decisionPatience is how long a job waits for a decision. A decision takes some 20 µs, or
// 10 ms while the queue is flooded with records; it never comes while the queue's actors
// are stopped after panics.
const decisionPatience = 5 * time.Second

// graphAdvisor runs graph jobs by the decisions of their queues, and reports the progress
// of the jobs to the queues and on the bus.
type graphAdvisor struct {
	system   *actors.System
	policy   *policy.Config
	worker   string
	publish  func(queue string, g *telemetry.Graph) telemetry.Header // to everybody else; numbers the record
	log      *decisions.Log                                          // nil: not logged
	patience time.Duration

	mu   sync.Mutex           // over post: records are folded in the order of their numbers
	jobs uint64               // begun so far
	hits map[string]graphHits // of all jobs, by queue
}

// graphMemory is the device memory of a queue's graphs.
type graphMemory struct {
	resident uint64 // bytes that they take
	budget   uint64 // most bytes, jobs included; 0: no bound
}

// record is what is known of a queue's graphs while no job walks one.
func (m graphMemory) record() telemetry.Graph {
	g := telemetry.Graph{Has: telemetry.HasResidentDeviceBytes, ResidentDeviceBytes: m.resident}
	if m.budget > 0 {
		g.Has |= telemetry.HasDeviceMemoryBudgetBytes
		g.DeviceMemoryBudgetBytes = m.budget
	}
	return g
}

// maxCountedQueues bounds the queues whose hits are counted.
const maxCountedQueues = 1024

// graphHits counts the nodes that jobs reached, and those of them that had to wait for room.
type graphHits struct{ found, requeued uint64 }

// post reports a level to the queue and on the bus. The hits are those since the previous
// post.
func (a *graphAdvisor) post(queue string, w actors.Walk, hits graphHits) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	sum, known := a.hits[queue]
	sum.found, sum.requeued = sum.found+hits.found, sum.requeued+hits.requeued
	if a.hits == nil || !known && len(a.hits) >= maxCountedQueues {
		a.hits = make(map[string]graphHits) // a count that begins anew is understood
	}
	a.hits[queue] = sum
	w.Requeued = hits.requeued
	w.Graph.HitCount, w.Graph.RequeuedHitCount = sum.found, sum.requeued
	w.Graph.Has |= telemetry.HasHitCount | telemetry.HasRequeuedHitCount
	w.Header = a.publish(queue, &w.Graph)
	return a.system.Walk(a.worker, queue, w)
}

// rest reports the memory of the queue's graphs while no job runs.
func (a *graphAdvisor) rest(queue string, m graphMemory) {
	_ = a.post(queue, actors.Walk{Graph: m.record()}, graphHits{}) // a queue that cannot be taken in has no decisions either
}

// run runs a job. The queue's decision on the first level sets the geometry, the room for
// hits and the state that the job begins with. With host, the queue decides every level.
// Otherwise the director decides the other levels on the device, by the same policy, and
// the queue is told of them without being waited for.
//
// m is the memory of the queue's graphs without buffers of jobs, rest that after the job.
// If there is no error, the caller calls log once it has given the device back; log
// appends what the director decided to the decision log.
func (a *graphAdvisor) run(ctx context.Context, queue string, r *frontier.Graph, job frontier.Job, host bool, m graphMemory, rest func() graphMemory) (_ frontier.Result, log func(), _ error) {
	job.Config = a.policy
	if r.Nodes() == 0 {
		result, err := r.Run(ctx, job)
		return result, func() {}, err
	}
	needs, err := r.Needs(job)
	if err != nil {
		return frontier.Result{}, nil, err
	}
	m.resident += needs.Fixed
	w := &graphWalker{graphAdvisor: a, queue: queue, memory: m, needs: needs, situation: r.Situation(&job), room: job.HitCapacity}
	if w.room == 0 || w.room > needs.Nodes {
		w.room = needs.Nodes
	}
	a.mu.Lock()
	a.jobs++
	w.job = a.jobs
	a.mu.Unlock()
	defer func() { _ = a.post(queue, actors.Walk{Graph: rest().record()}, w.take()) }()
	w.first = r.Begin(&job)
	if w.begun, err = w.ask(ctx, &w.first); err != nil {
		return frontier.Result{}, nil, err
	}
	w.shape(&job)
	if host && job.Ruled() {
		job.Decide = func(v frontier.View) (policy.Topology, error) { return w.decide(ctx, v) }
		job.Groups = w.groups
		job.Observe = w.count
		result, err := r.Run(ctx, job)
		for i := range result.Levels {
			result.Levels[i].Raw, result.Levels[i].Reason = w.decided[i].RawTopology, w.decided[i].Reasons[0]
		}
		return result, func() {}, err
	}
	finish := w.stream(&job)
	result, err := r.Run(ctx, job)
	finish()
	if err == nil && job.Ruled() {
		err = w.situation.Explain(a.policy, result.Levels)
	}
	return result, func() { w.logLevels(&job, result.Levels) }, err
}

// graphWalker is one job that is under way.
type graphWalker struct {
	*graphAdvisor
	queue     string
	job       uint64
	memory    graphMemory // with the job's own buffers, but those for hits
	needs     frontier.Needs
	situation frontier.Situation
	room      uint32 // hits that the job could use room for
	first     frontier.View
	begun     actors.DecisionInput    // the decision on first
	decided   []policy.Recommendation // level by level, on the host

	mu     sync.Mutex
	newest frontier.View // level that was looked at last
	fresh  bool          // newest was not posted yet
	hits   graphHits     // since the post before
}

// walk is the record of a level.
func (w *graphWalker) walk(v *frontier.View, answered func(actors.DecisionInput)) actors.Walk {
	req := w.situation.Request(v)
	g := w.memory.record()
	g.NodeCount, g.EdgeCount, g.FrontierDensityBps = req.GraphNodeCount, req.GraphEdgeCount, req.FrontierDensityBps
	g.FrontierOutDegreeSum, g.FrontierNodes, g.UnexploredEdges = req.FrontierOutDegreeSum, req.FrontierNodes, req.UnexploredEdges
	g.Has |= telemetry.HasNodeCount | telemetry.HasEdgeCount | telemetry.HasFrontierDensityBps |
		telemetry.HasFrontierOutDegreeSum | telemetry.HasFrontierNodes | telemetry.HasUnexploredEdges
	return actors.Walk{Graph: g, Nodes: v.FrontierNodes, HitCapacity: w.room, MaxWidth: w.needs.Width, Answered: answered}
}

// take returns the hits since it was called last.
func (w *graphWalker) take() graphHits {
	w.mu.Lock()
	defer w.mu.Unlock()
	hits := w.hits
	w.hits = graphHits{}
	return hits
}

// ask posts a level and waits for the decision that has seen it.
func (w *graphWalker) ask(ctx context.Context, v *frontier.View) (actors.DecisionInput, error) {
	answers := make(chan actors.DecisionInput, 1)
	err := w.post(w.queue, w.walk(v, func(d actors.DecisionInput) {
		select {
		case answers <- d:
		default: // decided again meanwhile
		}
	}), w.take())
	if err != nil {
		return actors.DecisionInput{}, fmt.Errorf("level %d: %w", v.Level, err)
	}
	late := time.NewTimer(w.patience)
	defer late.Stop()
	select {
	case d := <-answers:
		if d.Err != nil {
			return d, fmt.Errorf("level %d: decision %d of queue %s has no plan: %w", v.Level, d.Decision, w.queue, d.Err)
		}
		return d, nil
	case <-ctx.Done():
		return actors.DecisionInput{}, fmt.Errorf("level %d: waiting for the decision of queue %s: %w", v.Level, w.queue, ctx.Err())
	case <-late.C:
		return actors.DecisionInput{}, fmt.Errorf("level %d: queue %s has not decided within %v; its recommendation says whether it was stopped", v.Level, w.queue, w.patience)
	}
}

// shape applies the decision on the first level to the job.
func (w *graphWalker) shape(job *frontier.Job) {
	plan, req := &w.begun.Plan, &w.begun.Request
	job.State = w.begun.Before.Topology
	job.Geometry.Width = frontier.WidthWithin(plan.WorkgroupSizeX)
	job.HitCapacity = plan.HitCapacity
	job.HotOpcodes, job.HotWindows = req.HotOpcodeCount, req.HotWindowCount
	job.MemoryPressureBps = plan.MemoryPressureBps
	job.PressureKnown = plan.MemoryPressureBps != 0 || req.Present&policy.HasMemoryPressure != 0
	job.Geometry.Groups = workersOf(plan)
	w.situation.HotOpcodes, w.situation.HotWindows = job.HotOpcodes, job.HotWindows
	w.situation.MemoryPressureBps, w.situation.PressureKnown = job.MemoryPressureBps, job.PressureKnown
}

// decide has the queue decide a level.
func (w *graphWalker) decide(ctx context.Context, v frontier.View) (policy.Topology, error) {
	d := w.begun
	if first := w.first; v.Level != 0 || v.FrontierNodes != first.FrontierNodes || v.FrontierEdges != first.FrontierEdges || v.UnexploredEdges != first.UnexploredEdges {
		var err error
		if d, err = w.ask(ctx, &v); err != nil {
			return policy.TopologyNone, err
		}
	}
	w.decided = append(w.decided, d.Plan)
	return d.Plan.Topology, nil
}

// groups bounds the workgroups of the level that was decided last; 0 is no bound.
func (w *graphWalker) groups() uint32 { return workersOf(&w.decided[len(w.decided)-1]) }

// workersOf bounds the workgroups of a level by a plan: where memory is constrained, those
// that shedding left; otherwise 0, which is as many as the frontier fills.
func workersOf(plan *policy.Recommendation) uint32 {
	if plan.Topology == policy.TopologyMemoryConstrained {
		return plan.WorkerGroups
	}
	return 0
}

// count adds the hits of levels.
func (w *graphWalker) count(levels []frontier.Level) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range levels {
		w.hits.found += uint64(levels[i].Hits)
		w.hits.requeued += uint64(levels[i].Requeued)
	}
	w.newest, w.fresh = levels[len(levels)-1].View, true
}

// stream posts the newest level whenever the host looks at the device. Levels that come
// while one is being posted are folded into the next.
func (w *graphWalker) stream(job *frontier.Job) (finish func()) {
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
				_ = w.post(w.queue, w.walk(&v, nil), w.take()) // the job goes on without
			}
		}
	}()
	return func() { close(wake); <-done }
}
