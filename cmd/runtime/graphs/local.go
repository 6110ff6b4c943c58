package graphs

import (
	"context"
	"fmt"

	"ringmaster/cmd/runtime/decisions"
	"ringmaster/megakernel/frontier"
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry/decisionlog"
)

// Names of the worker and the queue of a graph job without NATS, in decision logs.
const (
	localWorker = "local"
	localQueue  = "graph"
)

// localDesk decides by the policy directly, for jobs one after the other.
type localDesk struct {
	policy  *policy.Config
	limits  policy.Limits
	log     *decisions.Log // nil: not logged
	state   policy.State
	decided uint64
	jobs    uint64 // begun
}

func newLocalDesk(dev gpu.Device, cfg *policy.Config, log *decisions.Log) *localDesk {
	return &localDesk{policy: cfg, limits: limits(dev), log: log}
}

func (d *localDesk) ask(_ context.Context, w *walker, v *frontier.View) (decision, error) {
	req := w.situation.Request(v)
	req.Limits = d.limits.Lower(policy.Limits{MaxWorkgroupSizeX: w.needs.Width, MaxInvocationsPerWorkgroup: w.needs.Width})
	req.RequestedHitCapacity = w.room
	req.ResidentDeviceBytes, req.MemoryBudgetBytes = w.memory.resident, w.memory.budget
	made, err := d.decide(&req)
	if err != nil {
		err = fmt.Errorf("level %d: no plan: %w", v.Level, err)
	}
	return made, err
}

// decide makes a decision and logs it.
func (d *localDesk) decide(req *policy.Request) (decision, error) {
	plan, next, err := policy.Decide(d.policy, req, d.state)
	d.decided++
	made := decision{d.decided, *req, d.state, plan}
	d.state = next
	if d.log != nil {
		e := decisionlog.Entry{Worker: localWorker, Queue: localQueue, Decision: d.decided, Request: *req, Before: made.before, Plan: plan, After: next}
		if err != nil {
			e.Error = err.Error()
		}
		d.log.AddWaiting(&e)
	}
	return made, err
}

func (d *localDesk) tell(*walker, *frontier.View) {}

// rest decides on the queue without a frontier: the next job begins in the state that this leaves.
func (d *localDesk) rest(m Memory, _ *walker) {
	_, _ = d.decide(&policy.Request{Limits: d.limits, ResidentDeviceBytes: m.resident, MemoryBudgetBytes: m.budget}) // an error is logged
}

func (d *localDesk) levels() (*decisions.Log, string, string, uint64) {
	return d.log, localWorker, localQueue, d.jobs
}
