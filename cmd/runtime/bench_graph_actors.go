package main

import (
	"context"
	"log/slog"

	"ringmaster/megakernel/frontier"
	"ringmaster/megakernel/policy"
)

// graphRunner runs a job on the graph of a benchmark.
type graphRunner func(context.Context, frontier.Job) (frontier.Result, error)

// beginActors prepares the searches as graph run does them: a decision of a queue's actors
// shapes the search. The decisions on its levels are made on the device, or on the host,
// where every level waits for the actors. end ends the actors.
func (b *graphBench) beginActors(device glDevice) (end func(), err error) {
	advisor, closed, err := newLocalAdvisor(device, policy.Standard(), "", slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	memory := graphMemory{resident: b.resident.Bytes()}
	through := func(host bool) graphRunner {
		return func(ctx context.Context, job frontier.Job) (frontier.Result, error) {
			result, _, err := advisor.run(ctx, localQueue, b.resident, job, host, memory, func() graphMemory { return memory })
			return result, err
		}
	}
	b.actors = map[string]graphRunner{"actors": through(false), "host/actors": through(true)}
	return func() { _ = closed(context.Background()) }, nil
}
