package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"ringmaster/cmd/runtime/worker"
	"ringmaster/megakernel/frontier"
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/graph"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// Answer implements natsio.Graphs.
func (s *graphStore) Answer(ctx context.Context, queue string, r *telemetry.Resident) error {
	key := graphKey{queue, r.Name}
	switch r.Ask {
	case telemetry.ResidentLoad:
		return s.take(ctx, key, r)
	case telemetry.ResidentList:
		return s.list(queue, r)
	case telemetry.ResidentDrop:
		return s.drop(ctx, key)
	case telemetry.ResidentFacts:
		return s.takeFacts(ctx, key, r)
	case telemetry.ResidentRun:
		return s.run(ctx, key, r)
	case telemetry.ResidentRead:
		return s.read(key, r)
	}
	return fmt.Errorf("%w: %v is asked of nobody", natsio.ErrGraphRequest, r.Ask)
}

func (s *graphStore) list(queue string, r *telemetry.Resident) error {
	data, err := json.Marshal(s.listed(queue))
	r.Data = append(r.Data[:0], data...)
	return err
}

// read answers a part of the last run's result.
func (s *graphStore) read(key graphKey, r *telemetry.Resident) error {
	g, err := s.find(key)
	if err != nil {
		return err
	}
	s.mu.Lock()
	number, result := g.number, g.result
	s.mu.Unlock()
	if number != r.Result || r.Result == 0 || r.Offset > uint64(len(result)) {
		return fmt.Errorf("%w: graph %s has no result %d at %d; a graph keeps that of its last run", natsio.ErrNoGraph, key.name, r.Result, r.Offset)
	}
	end := min(r.Offset+telemetry.MaxGraphPart, uint64(len(result)))
	r.Data = append(r.Data[:0], result[r.Offset:end]...)
	return nil
}

// graphRunning is a run that is under way or waits for its turn.
type graphRunning struct {
	key    graphKey
	stop   context.CancelCauseFunc
	graph  *storedGraph // nil: it waits
	room   uint64       // bytes of the device that it may take
	untold bool         // the queue's graphs changed meanwhile
}

// run runs an algorithm and keeps the result for the requests that read it.
func (s *graphStore) run(ctx context.Context, key graphKey, r *telemetry.Resident) error {
	if r.Algorithm == "join" && !s.joins {
		return fmt.Errorf("%w: the worker runs no joins that come over NATS; its operator allows them with ringmaster run --accept-joins", natsio.ErrGraphRequest)
	}
	c, err := graphRunOf(r)
	if err != nil {
		return fmt.Errorf("%w: %w", natsio.ErrGraphRequest, err)
	}
	if _, err := s.sources(key, c); err != nil {
		return err // before it waits
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	me := &graphRunning{key: key, stop: stop}
	if err := s.enter(me); err != nil {
		return err // its facts stay for when it comes again
	}
	defer s.leave(me)
	if c.Algorithm == "flow" {
		if c.rows, err = s.factsOf(key, r.Facts); err != nil {
			return err
		}
	}
	if err := s.await(ctx, me); err != nil {
		return err
	}
	if s.longest > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.longest, fmt.Errorf("%w: it took longer than the %v that a run may take", natsio.ErrGraphRequest, s.longest))
		defer cancel()
	}
	sources, err := s.sources(key, c) // of the graph that is there now
	if err != nil {
		return err
	}
	pass := graphPass{sources: sources}
	if c.Algorithm == "flow" {
		if pass.facts, err = graph.PassOf(me.graph.pair.Out, c.rows); err != nil {
			return fmt.Errorf("%w: %w", natsio.ErrGraphRequest, err)
		}
	}
	outcome, err := s.execute(ctx, me, c, &pass)
	if err != nil {
		return refusedRun(ctx, err)
	}
	report, err := json.Marshal(newGraphReport(c.Algorithm, c.nothing(), me.graph.pair, outcome))
	if err != nil {
		return err
	}
	s.keep(me.graph, report, outcome.Values, r)
	return nil
}

// keep makes a result the graph's last one and answers a request to run with it. It is the
// report, then the nodes' values, then their ids in the file if it has any.
func (s *graphStore) keep(g *storedGraph, report []byte, values []uint32, r *telemetry.Resident) {
	result := slices.Clone(report)
	for _, value := range values {
		result = binary.LittleEndian.AppendUint32(result, value)
	}
	for _, id := range g.pair.Out.IDs {
		result = binary.LittleEndian.AppendUint64(result, id)
	}
	s.update(func() {
		s.results++
		g.number, g.result = s.results, result
		r.Result = s.results
	})
	r.Offset, r.Total, r.Data, r.Join = uint64(len(report)), uint64(len(result)), r.Data[:0], nil
}

// sources are the nodes at which a run on a graph starts.
func (s *graphStore) sources(key graphKey, c *graphRunCmd) ([]uint32, error) {
	g, err := s.find(key)
	if err != nil {
		return nil, err
	}
	if c.Algorithm == "cc" && g.pair.Directed() {
		return nil, fmt.Errorf("%w: components are of undirected graphs; load the graph without --directed", natsio.ErrGraphRequest)
	}
	sources, err := sourceNodes(g.pair.Out, c.Source)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", natsio.ErrGraphRequest, err)
	}
	return sources, nil
}

// enter puts a run at the end of those that wait for their turn, if there is a place; leave
// gives the place back.
func (s *graphStore) enter(me *graphRunning) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := 0
	for _, r := range s.runs {
		if r.key.queue == me.key.queue {
			own++
		}
	}
	if own >= maxQueueRuns || len(s.runs) >= maxGraphRuns {
		return fmt.Errorf("%w: %d runs are under way or wait, %d of them of queue %s; a worker takes %d, of one queue %d; try again when some are done",
			natsio.ErrGraphBusy, len(s.runs), own, me.key.queue, maxGraphRuns, maxQueueRuns)
	}
	s.runs = append(s.runs, me)
	s.change()
	return nil
}

// await waits for the turn of a run that has a place, and then holds its graph.
func (s *graphStore) await(ctx context.Context, me *graphRunning) error {
	err := s.when(ctx, func() bool {
		g := s.graphs[me.key]
		if s.runs[0] != me || g != nil && g.held {
			return false
		}
		if g != nil && !g.leaving {
			me.graph, g.held = g, true
		}
		return true
	})
	if err == nil && me.graph == nil {
		err = errGraphDropped
	}
	return err
}

// leave gives the turn of a run to the next one.
func (s *graphStore) leave(me *graphRunning) {
	s.update(func() {
		s.runs = slices.DeleteFunc(s.runs, func(r *graphRunning) bool { return r == me })
		if me.graph != nil {
			me.graph.held = false
		}
		if me.untold {
			s.inform(me.key.queue)
		}
	})
}

// execute runs a job on the graph that a run holds.
func (s *graphStore) execute(ctx context.Context, me *graphRunning, c *graphRunCmd, pass *graphPass) (outcome graphOutcome, err error) {
	g, queue := me.graph, me.key.queue
	err = s.on(func(dev gpu.Device) error {
		if dev != g.device {
			return errGraphLost
		}
		_, outcome.engine, _ = dev.Identity()
		return s.release()
	})
	if err != nil {
		return outcome, err
	}
	job := c.passJob(pass)
	needs, err := g.resident.Needs(job)
	if err != nil {
		return outcome, err
	}
	var memory graphMemory
	s.update(func() {
		if left := s.left(); left > 0 && (job.Budget == 0 || job.Budget > left) {
			job.Budget = left
		}
		if me.room = needs.Full; job.Budget > 0 {
			me.room = min(me.room, job.Budget)
		}
		memory = s.memory(queue, s.left())
	})
	c.within(&job, needs)
	job.MaxLevels, job.Turn = maxGraphLevels, func(use func() error) error { return s.turn(g, use) }
	var logLevels func()
	outcome.Result, logLevels, err = s.advisor.run(ctx, queue, g.resident, job, c.Decide == "host", memory, func() (m graphMemory) {
		kept := g.resident.Kept()
		s.update(func() {
			g.kept = kept
			m = s.rest(queue)
		})
		return m
	})
	if err == nil {
		logLevels()
	}
	if c.Budget > 0 && job.Budget == c.Budget { // no other bound is in the way
		if own := c.overBudget(err); own != nil {
			err = fmt.Errorf("%w: %w", natsio.ErrGraphRequest, own)
		}
	}
	return outcome, err
}

// Reasons why a graph is gone.
var (
	errGraphLost    = fmt.Errorf("%w: it was lost with its device; load it again", natsio.ErrNoGraph)
	errGraphDropped = fmt.Errorf("%w: it was dropped or replaced meanwhile", natsio.ErrNoGraph)
)

// refusedRun turns the error of a run into what its requester is told.
func refusedRun(ctx context.Context, err error) error {
	var over *policy.OutOfMemoryError
	switch cause := context.Cause(ctx); {
	case cause != nil:
		return fmt.Errorf("%w: %w", cause, err)
	case errors.Is(err, natsio.ErrGraphRequest):
		return err
	case errors.As(err, &over):
		return fmt.Errorf("%w: drop others, or give the worker a larger --memory-budget: %w", natsio.ErrGraphTooLarge, err)
	case errors.Is(err, frontier.ErrLevels):
		return fmt.Errorf("%w: a worker runs at most %d: %w", natsio.ErrGraphRequest, maxGraphLevels, err)
	case errors.Is(err, frontier.ErrJob), errors.Is(err, frontier.ErrJoin), errors.Is(err, frontier.ErrBudget):
		return fmt.Errorf("%w: %w", natsio.ErrGraphRequest, err)
	}
	return err
}

// graphRunOf is the command that a request stands for.
func graphRunOf(r *telemetry.Resident) (*graphRunCmd, error) {
	c := &graphRunCmd{Algorithm: r.Algorithm, Topology: r.Topology, Policy: "standard", Budget: r.Budget, HitCapacity: r.HitCapacity}
	if c.Topology == "" {
		c.Topology = "auto"
	}
	if r.DecideHost {
		c.Decide = "host"
	}
	if _, ok := graphSemirings[c.Algorithm]; !ok {
		return nil, fmt.Errorf("algorithm %q; want bfs, sssp, cc, reach, flow or join", c.Algorithm)
	}
	if c.Algorithm != "flow" && r.Facts != 0 {
		return nil, fmt.Errorf("facts are for the algorithm flow, not %s", c.Algorithm)
	}
	if err := c.takeJoin(r.Join); err != nil {
		return nil, err
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

// graphService says what serves graphs on a node.
type graphService struct {
	worker string
	policy policy.Config
	joins  bool // that come over NATS are run
	budget uint64
	log    *slog.Logger
}

// servedGraphs is the service and what it serves.
type servedGraphs struct {
	*natsio.GraphService
	store *graphStore
}

func (g servedGraphs) Close() error { return g.store.close() }

// serveGraphs keeps graphs on the node's device and answers requests about them.
func serveGraphs(n *worker.Node, cfg graphService) (worker.Graphs, error) {
	store := newGraphStore(&graphStore{
		borrow: n.Engine().Borrow, joins: cfg.joins, budget: cfg.budget, repair: n.Engine().Repair, longest: maxGraphRun, log: cfg.log,
		advisor: &graphAdvisor{system: n.System(), policy: &cfg.policy, worker: cfg.worker, log: n.Decisions(), patience: decisionPatience,
			publish: func(queue string, g *telemetry.Graph) telemetry.Header {
				return n.Outlet().Graph(cfg.worker, queue, g)
			}},
	})
	service, err := n.Conn().ServeGraphs(cfg.worker, store)
	if err != nil {
		return nil, errors.Join(err, store.close())
	}
	return servedGraphs{service, store}, nil
}
