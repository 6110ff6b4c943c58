package graphs

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"ringmaster/megakernel/frontier"
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// Answer implements natsio.Graphs.
func (s *Store) Answer(ctx context.Context, queue string, r *telemetry.GraphRequest) error {
	key := graphKey{queue, r.Name}
	switch r.Ask {
	case telemetry.GraphLoad:
		return s.load(ctx, key, r)
	case telemetry.GraphList:
		return s.list(queue, r)
	case telemetry.GraphDrop:
		return s.drop(key, true)
	case telemetry.GraphRun:
		return s.answerRun(ctx, key, r)
	case telemetry.GraphRead:
		return s.result(key, r)
	}
	return fmt.Errorf("%w: %v is asked of nobody", natsio.ErrGraphRequest, r.Ask)
}

// remote are the algorithms that run over NATS: joins and dataflow problems bring text of their own, and stay local.
var remote = []string{"bfs", "sssp", "cc", "reach"}

// specOf is what a request asks for.
func specOf(r *telemetry.GraphRequest, cfg *policy.Config) (*Spec, error) {
	spec := &Spec{Algorithm: r.Algorithm, Topology: r.Topology, DecideHost: r.DecideHost, Budget: r.Budget, HitCapacity: r.HitCapacity, Policy: *cfg}
	if !slices.Contains(remote, r.Algorithm) {
		return nil, fmt.Errorf("algorithm %q; a worker runs bfs, sssp, cc and reach", r.Algorithm)
	}
	if len(r.Data)%8 != 0 || len(r.Data) > 8*telemetry.MaxGraphSources {
		return nil, fmt.Errorf("%d bytes of sources; want up to %d of 8 bytes", len(r.Data), telemetry.MaxGraphSources)
	}
	for b := r.Data; len(b) > 0; b = b[8:] {
		spec.Sources = append(spec.Sources, binary.LittleEndian.Uint64(b))
	}
	return spec, spec.Check()
}

func (s *Store) list(queue string, r *telemetry.GraphRequest) error {
	data, err := json.Marshal(s.listed(queue))
	r.Data = append(r.Data[:0], data...)
	return err
}

// result answers a part of the last run's result.
func (s *Store) result(key graphKey, r *telemetry.GraphRequest) error {
	g, err := s.find(key)
	if err != nil {
		return err
	}
	s.mu.Lock()
	number, data := g.number, g.result
	s.mu.Unlock()
	if number != r.Result || r.Result == 0 || r.Offset > uint64(len(data)) {
		return fmt.Errorf("%w: graph %s has no result %d at %d; a graph keeps that of its last run", natsio.ErrNoGraph, key.name, r.Result, r.Offset)
	}
	end := min(r.Offset+telemetry.MaxGraphPart, uint64(len(data)))
	r.Data = append(r.Data[:0], data[r.Offset:end]...)
	return nil
}

// answerRun runs an algorithm and keeps the result for the requests that read it.
func (s *Store) answerRun(ctx context.Context, key graphKey, r *telemetry.GraphRequest) error {
	spec, err := specOf(r, s.Policy)
	if err != nil {
		return fmt.Errorf("%w: %w", natsio.ErrGraphRequest, err)
	}
	room, err := s.roomOf(key, spec) // refuses what cannot run before it waits
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	w, err := s.enter(key, room, stop)
	if err != nil {
		return err
	}
	if err := s.begin(ctx, w); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxGraphRun, fmt.Errorf("%w: it took longer than the %v that a run may take", natsio.ErrGraphRequest, maxGraphRun))
	defer cancel()
	me := &w.running
	if me.graph == nil {
		return errors.Join(noGraph(key), s.end(me))
	}
	passes, err := passesOn(me.graph, spec) // of the graph that is there now
	if err == nil {
		var outcome Outcome
		if outcome, err = s.execute(ctx, me, spec, &passes[0]); err == nil {
			err = s.keep(me.graph, spec, outcome, r)
		} else {
			err = refusedRun(ctx, err)
		}
	}
	return errors.Join(err, s.end(me))
}

// roomOf is the device memory that a run may take beside its graph, as the graph of the name is now.
func (s *Store) roomOf(key graphKey, spec *Spec) (uint64, error) {
	g, err := s.find(key)
	if err != nil {
		return 0, err
	}
	passes, err := passesOn(g, spec)
	if err != nil {
		return 0, err
	}
	job := spec.job(&passes[0])
	needs, err := g.graph.Needs(job)
	if err != nil {
		return 0, refusedRun(context.Background(), err)
	}
	return roomFor(job.Budget, needs), nil
}

// roomFor is what a job takes of what it may.
func roomFor(budget uint64, needs frontier.Needs) uint64 {
	if budget > 0 {
		return min(budget, needs.Full)
	}
	return needs.Full
}

// keep makes a result the graph's last one and answers a request to run with it. It is the
// report, then the nodes' values, then their ids in the file if it has any.
func (s *Store) keep(g *storedGraph, spec *Spec, outcome Outcome, r *telemetry.GraphRequest) error {
	result, err := json.Marshal(spec.Report(g.pair, []Outcome{outcome}))
	if err != nil {
		return err
	}
	r.Offset = uint64(len(result))
	for _, value := range outcome.Values {
		result = binary.LittleEndian.AppendUint32(result, value)
	}
	for _, id := range g.pair.Out.IDs {
		result = binary.LittleEndian.AppendUint64(result, id)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.results++
	g.number, g.result = s.results, result
	r.Result, r.Total, r.Data = s.results, uint64(len(result)), r.Data[:0]
	return nil
}

// passesOn are the passes of a run on a graph.
func passesOn(g *storedGraph, spec *Spec) ([]Pass, error) {
	if spec.Algorithm == "cc" && g.pair.Directed() {
		return nil, fmt.Errorf("%w: components are of undirected graphs; load the graph without --directed", natsio.ErrGraphRequest)
	}
	passes, err := spec.Passes(g.pair.Out)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", natsio.ErrGraphRequest, err)
	}
	return passes, nil
}

// execute runs a job on the graph that a run holds.
func (s *Store) execute(ctx context.Context, me *running, spec *Spec, pass *Pass) (outcome Outcome, err error) {
	g, queue := me.graph, me.key.queue
	err = s.on(func(dev gpu.Device) error {
		if dev != g.device {
			return errGraphLost
		}
		_, outcome.Engine, _ = dev.Identity()
		return s.release()
	})
	if err != nil {
		return outcome, err
	}
	job := spec.job(pass)
	needs, err := g.graph.Needs(job)
	if err != nil {
		return outcome, err
	}
	s.mu.Lock()
	left := s.leftBeside(me)
	if left > 0 && (job.Budget == 0 || job.Budget > left) {
		job.Budget = left
	}
	me.room = roomFor(job.Budget, needs)
	memory := s.memory(queue, left)
	s.mu.Unlock()
	spec.fit(&job, needs)
	job.MaxLevels, job.Turn = maxGraphLevels, func(use func() error) error { return s.turnOfRun(g, use) }
	var log func()
	outcome.Result, log, err = walk(ctx, s.advisor.desk(queue), g.graph, job, needs, spec.DecideHost, memory, func() Memory {
		kept := g.graph.Kept()
		s.mu.Lock()
		defer s.mu.Unlock()
		g.kept = kept
		return s.rest(queue)
	})
	if err == nil {
		log()
	}
	if errors.Is(err, frontier.ErrKernels) {
		err = s.unbuilt(g, err)
	}
	if spec.Budget > 0 && job.Budget == spec.Budget && errors.Is(err, frontier.ErrBudget) { // no other bound is in the way
		err = fmt.Errorf("%w: --budget %d is too small: %w", natsio.ErrGraphRequest, spec.Budget, err)
	}
	return outcome, err
}

// unbuilt is why a run has no kernels: what built them says, unless the device was lost
// meanwhile, which whoever waits without the device does not notice.
func (s *Store) unbuilt(g *storedGraph, err error) error {
	if gpu.Lost(err) {
		s.lose(g.device)
	} else if gone := s.turn(g, func() error { return nil }); errors.Is(gone, errGraphLost) {
		return gone
	}
	return err
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

// Service answers requests about graphs until Stop; then Close frees the graphs.
type Service struct {
	*natsio.GraphService
	store *Store
}

// Close frees the graphs; see Store.Close.
func (s Service) Close() error { return s.store.Close() }

// Serve answers requests about a worker's graphs from a new store.
func Serve(conn *natsio.Conn, cfg Config) (Service, error) {
	store := newStore(cfg)
	service, err := conn.ServeGraphs(cfg.Worker, store)
	return Service{service, store}, err
}
