package graphs

import (
	"context"
	"fmt"
	"sync"
	"time"

	"ringmaster/actors"
	"ringmaster/cmd/runtime/decisions"
	"ringmaster/megakernel/frontier"
	"ringmaster/telemetry"
)

// decisionPatience is how long a job waits for a decision. A decision takes some 20 µs, or
// 10 ms while the queue is flooded with records; it never comes while the queue's actors
// are stopped after panics.
const decisionPatience = 5 * time.Second

// advisor has the actors of a worker's queues decide for graph jobs, and reports the progress
// of the jobs to the queues and on the bus.
type advisor struct {
	system   *actors.System
	worker   string
	publish  func(queue string, g *telemetry.Graph) telemetry.Header // to everybody else; numbers the record
	log      *decisions.Log                                          // nil: not logged
	patience time.Duration

	mu   sync.Mutex      // over post: records are folded in the order of their numbers
	jobs uint64          // begun so far
	hits map[string]hits // of all jobs, by queue
}

// record is what is known of a queue's graphs while no job walks one.
func (m Memory) record() telemetry.Graph {
	g := telemetry.Graph{Has: telemetry.HasResidentDeviceBytes, ResidentDeviceBytes: m.resident}
	if m.budget > 0 {
		g.Has |= telemetry.HasDeviceMemoryBudgetBytes
		g.DeviceMemoryBudgetBytes = m.budget
	}
	return g
}

// maxCountedQueues bounds the queues whose hits are counted.
const maxCountedQueues = 1024

// post reports a level to the queue and on the bus. The hits are those since the previous
// post.
func (a *advisor) post(queue string, w actors.Walk, new hits) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	sum, known := a.hits[queue]
	sum.found, sum.requeued = sum.found+new.found, sum.requeued+new.requeued
	if a.hits == nil || !known && len(a.hits) >= maxCountedQueues {
		a.hits = make(map[string]hits) // a count that begins anew is understood
	}
	a.hits[queue] = sum
	w.Requeued = new.requeued
	w.Graph.HitCount, w.Graph.RequeuedHitCount = sum.found, sum.requeued
	w.Graph.Has |= telemetry.HasHitCount | telemetry.HasRequeuedHitCount
	w.Header = a.publish(queue, &w.Graph)
	return a.system.Walk(a.worker, queue, w)
}

// rest reports the memory of the queue's graphs while no job runs.
func (a *advisor) rest(queue string, m Memory) {
	_ = a.post(queue, actors.Walk{Graph: m.record()}, hits{}) // a queue that cannot be taken in has no decisions either
}

// desk decides for one job of a queue.
func (a *advisor) desk(queue string) *queueDesk {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.jobs++
	return &queueDesk{a, queue, a.jobs}
}

// queueDesk has a queue's actors decide for a job.
type queueDesk struct {
	*advisor
	queue string
	job   uint64
}

func (d *queueDesk) levels() (*decisions.Log, string, string, uint64) {
	return d.log, d.worker, d.queue, d.job
}

func (d *queueDesk) rest(m Memory, w *walker) {
	_ = d.post(d.queue, actors.Walk{Graph: m.record()}, w.take())
}

// tell posts a level. The job goes on without it if it cannot be posted.
func (d *queueDesk) tell(w *walker, v *frontier.View) {
	_ = d.post(d.queue, w.record(v, nil), w.take())
}

// record is the record of a level.
func (w *walker) record(v *frontier.View, answered func(actors.DecisionInput)) actors.Walk {
	req := w.situation.Request(v)
	g := w.memory.record()
	g.NodeCount, g.EdgeCount, g.FrontierDensityBps = req.GraphNodeCount, req.GraphEdgeCount, req.FrontierDensityBps
	g.FrontierOutDegreeSum, g.FrontierNodes, g.UnexploredEdges = req.FrontierOutDegreeSum, req.FrontierNodes, req.UnexploredEdges
	g.Has |= telemetry.HasNodeCount | telemetry.HasEdgeCount | telemetry.HasFrontierDensityBps |
		telemetry.HasFrontierOutDegreeSum | telemetry.HasFrontierNodes | telemetry.HasUnexploredEdges
	return actors.Walk{Graph: g, Nodes: v.FrontierNodes, HitCapacity: w.room, MaxWidth: w.needs.Width, Answered: answered}
}

// ask posts a level and waits for the decision that has seen it.
func (d *queueDesk) ask(ctx context.Context, w *walker, v *frontier.View) (decision, error) {
	answers := make(chan actors.DecisionInput, 1)
	err := d.post(d.queue, w.record(v, func(in actors.DecisionInput) {
		select {
		case answers <- in:
		default: // decided again meanwhile
		}
	}), w.take())
	if err != nil {
		return decision{}, fmt.Errorf("level %d: %w", v.Level, err)
	}
	late := time.NewTimer(d.patience)
	defer late.Stop()
	select {
	case in := <-answers:
		if in.Err != nil {
			return decision{}, fmt.Errorf("level %d: decision %d of queue %s has no plan: %w", v.Level, in.Decision, d.queue, in.Err)
		}
		return decision{in.Decision, in.Request, in.Before, in.Plan}, nil
	case <-ctx.Done():
		return decision{}, fmt.Errorf("level %d: waiting for the decision of queue %s: %w", v.Level, d.queue, ctx.Err())
	case <-late.C:
		return decision{}, fmt.Errorf("level %d: queue %s has not decided within %v; its recommendation says whether it was stopped", v.Level, d.queue, d.patience)
	}
}
