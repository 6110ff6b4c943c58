package worker

import (
	"errors"
	"fmt"
	"sync/atomic"

	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/advisory"
	"ringmaster/telemetry/natsio/ownership"
	"ringmaster/telemetry/natsio/poison"
)

// adviser tells operators what happens to a node and its queues.
type adviser struct {
	*advisory.Teller
	worker  string // the node's
	process string // in words

	unstored atomic.Bool // it was told that the stream of decisions is lost
}

func newAdviser(conn *natsio.Conn, cfg *Config) *adviser {
	return &adviser{Teller: advisory.New(conn), worker: cfg.Name, process: processName(cfg.Name, cfg.role())}
}

// node tells of the process itself.
func (a *adviser) node(kind advisory.Kind) {
	a.Tell(kind, advisory.Event{Worker: a.worker, Process: a.process})
}

func (a *adviser) TookOver(worker, queue string, decision uint64) {
	a.Tell(advisory.TookOver, advisory.Event{Worker: worker, Queue: queue, Decision: decision, Process: a.process})
}

func (a *adviser) DecisionRefused(worker, queue string, decision uint64) {
	a.Tell(advisory.DecisionRefused, advisory.Event{Worker: worker, Queue: queue, Decision: decision, Why: "the stream of decisions has another one in its place"})
}

// lost tells that another process is gone.
func (a *adviser) lost(c ownership.Claim, why string) {
	a.Tell(advisory.NodeLost, advisory.Event{Worker: a.worker, Process: c.Process, Why: why})
}

// storing tells that the stream of decisions is lost, with why, or found.
func (a *adviser) storing(problem error) {
	switch {
	case problem == nil && a.unstored.Swap(false):
		a.Tell(advisory.DecisionsFound, advisory.Event{Worker: a.worker})
	case problem != nil && !errors.Is(problem, natsio.ErrDisconnected): // of which nobody could be told
		a.unstored.Store(true)
		a.Tell(advisory.DecisionsLost, advisory.Event{Worker: a.worker, Why: problem.Error()})
	}
}

// crowded tells of a batch that was refused, sent to the node's worker or to a pool.
func (a *adviser) crowded(sentTo, queue, batch string, why error) {
	a.Tell(advisory.QueueCrowded, advisory.Event{Worker: a.worker, Queue: queue, Batch: batch, Why: a.of(sentTo) + why.Error()})
}

// setAside keeps batches as a keeper does, and tells of those that it has.
func (a *adviser) setAside(keep *poison.Keeper) func(b *natsio.GivenUp, kept func(error)) {
	return func(b *natsio.GivenUp, kept func(error)) {
		e := advisory.Event{
			Worker: a.worker, Queue: b.Queue, Batch: b.Batch,
			Why: a.of(b.Worker) + fmt.Sprintf("delivered %d times without an outcome", b.Deliveries),
		}
		keep.SetAside(b, func(err error) {
			if err == nil {
				a.Tell(advisory.BatchSetAside, e)
			}
			kept(err)
		})
	}
}

// of says which pool work was sent to, if that was not the worker.
func (a *adviser) of(sentTo string) string {
	if sentTo == a.worker {
		return ""
	}
	return "sent to " + sentTo + ": "
}
