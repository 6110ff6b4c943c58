package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"ringmaster/megakernel"
	"ringmaster/megakernel/frontier"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

func (s *graphStore) list(queue string, r *telemetry.Resident) error {
	data, err := json.Marshal(s.listed(queue))
	r.Data = append(r.Data[:0], data...)
	return err
}

// run runs what a request asks for and keeps the result for the requests that read it.
func (s *graphStore) run(ctx context.Context, key graphKey, g *storedGraph, r *telemetry.Resident) error {
	c, err := graphRunOf(r)
	if err != nil {
		return fmt.Errorf("%w: %w", natsio.ErrGraphRequest, err)
	}
	if c.Algorithm == "cc" && g.pair.Directed() {
		return fmt.Errorf("%w: components are of undirected graphs; load the graph without --directed", natsio.ErrGraphRequest)
	}
	sources, err := sourceNodes(g.pair.Out, c.Source)
	if err != nil {
		return fmt.Errorf("%w: %w", natsio.ErrGraphRequest, err)
	}
	if left := s.left(); left > 0 && (c.Budget == 0 || c.Budget > left) {
		c.Budget = left
	}
	if s.longest > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.longest, fmt.Errorf("%w: it took longer than the %v that a run may take", natsio.ErrGraphRequest, s.longest))
		defer cancel()
	}
	var outcome graphOutcome
	err = s.on(func(dev megakernel.Device) error {
		_, outcome.engine, _ = dev.Identity()
		if !s.holds(g) {
			return errGraphLost
		}
		return s.release(g)
	})
	if err != nil {
		return err
	}
	job := c.job(sources)
	job.MaxLevels, job.Turn = maxGraphLevels, s.turn
	var logLevels func()
	outcome.Result, logLevels, err = s.advisor.run(ctx, key.queue, g.resident, job, c.Decide == "host", s.memory(key.queue, c.Budget),
		func() graphMemory { return s.rest(key.queue) })
	if err != nil {
		return refusedRun(ctx, err)
	}
	logLevels()
	report, err := json.Marshal(newGraphReport(c.Algorithm, c.nothing(), g.pair, outcome))
	if err != nil {
		return err
	}
	s.results++
	g.number, g.result = s.results, report
	for _, value := range outcome.Values {
		g.result = binary.LittleEndian.AppendUint32(g.result, value)
	}
	for _, id := range g.pair.Out.IDs {
		g.result = binary.LittleEndian.AppendUint64(g.result, id)
	}
	r.Result, r.Offset, r.Total, r.Data = g.number, uint64(len(report)), uint64(len(g.result)), r.Data[:0]
	return nil
}

var errGraphLost = fmt.Errorf("%w: it was lost with its device; load it again", natsio.ErrNoGraph)

// turn borrows the device for one turn of a job, so that launches go between its turns.
func (s *graphStore) turn(use func() error) error {
	return s.borrow(func(dev megakernel.Device) error {
		if dev != s.device {
			return errGraphLost
		}
		return use()
	})
}

// refusedRun is why a run did not end, as its requester should know it.
func refusedRun(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case cause != nil:
		return fmt.Errorf("%w: %w", cause, err)
	case errors.Is(err, frontier.ErrLevels):
		return fmt.Errorf("%w: a worker runs at most %d: %w", natsio.ErrGraphRequest, maxGraphLevels, err)
	case errors.Is(err, frontier.ErrJob), errors.Is(err, frontier.ErrBudget):
		return fmt.Errorf("%w: %w", natsio.ErrGraphRequest, err)
	}
	return err
}

func (s *graphStore) holds(g *storedGraph) bool {
	for _, other := range s.graphs {
		if other == g {
			return true
		}
	}
	return false
}

// graphRunOf is the command line that a request stands for.
func graphRunOf(r *telemetry.Resident) (*graphRunCmd, error) {
	c := &graphRunCmd{Algorithm: r.Algorithm, Topology: r.Topology, Policy: "standard", Budget: r.Budget, HitCapacity: r.HitCapacity}
	if c.Topology == "" {
		c.Topology = "auto"
	}
	if r.DecideHost {
		c.Decide = "host"
	}
	if _, ok := graphSemirings[c.Algorithm]; !ok || c.Algorithm == "join" {
		return nil, fmt.Errorf("algorithm %q; want bfs, sssp, cc or reach", c.Algorithm)
	}
	if _, ok := graphTopologies[c.Topology]; !ok {
		return nil, fmt.Errorf("topology %q; want auto, sparse, hybrid, dense, fused or memory-constrained", c.Topology)
	}
	if len(r.Data)%8 != 0 || len(r.Data) > 8*telemetry.MaxGraphSources {
		return nil, fmt.Errorf("%d bytes of sources; want up to %d of 8 bytes", len(r.Data), telemetry.MaxGraphSources)
	}
	for b := r.Data; len(b) > 0; b = b[8:] {
		c.Source = append(c.Source, binary.LittleEndian.Uint64(b))
	}
	return c, c.checkSources()
}

// serveGraphs keeps graphs on the node's device and answers requests about them.
func (n *node) serveGraphs(cfg *nodeConfig, budget uint64) (err error) {
	n.store = &graphStore{
		borrow: n.engine.ring.Borrow, budget: budget, repair: n.engine.repair, longest: maxGraphRun, log: cfg.log, graphs: make(map[graphKey]*storedGraph),
		advisor: &graphAdvisor{system: n.system, policy: &cfg.policy, worker: cfg.worker, log: n.decisions, patience: decisionPatience,
			publish: func(queue string, g *telemetry.Graph) telemetry.Header {
				return n.publisher.Graph(cfg.worker, queue, g)
			}},
	}
	n.graphs, err = n.conn.ServeGraphs(cfg.worker, n.store)
	return err
}
