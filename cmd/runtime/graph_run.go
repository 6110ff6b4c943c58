package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"ringmaster/megakernel/frontier"
	"ringmaster/megakernel/graph"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/userop"
)

// graphRunCmd runs an algorithm over a graph.
type graphRunCmd struct {
	glFlags
	natsFlags
	Algorithm string `arg:"" enum:"bfs,sssp,cc,reach,flow,join" help:"bfs: levels from a source. sssp: shortest paths by weights. cc: connected components, whichever way edges lead. reach: which of several sources reach a node. flow: which facts of --facts arrive at a node. join: what the file of --join says."`
	graphInput
	JoinFile    string `name:"join" placeholder:"FILE" help:"GLSL file: what travels along an edge, and how a node combines it; see docs/opcodes.md."`
	join        *userop.Join
	joinText    []byte
	FactsFile   string `name:"facts" placeholder:"FILE" help:"Facts that each node generates and kills, in lines NODE [entry a,b] [gen c] [kill d]; see docs/graphs.md."`
	facts       *graph.Facts
	rows        []graph.FactRow // on a worker, what came of the facts
	Source      []uint64        `placeholder:"N" help:"Node to start from, as the file calls it; reach takes up to 32."`
	Worker      string          `placeholder:"WORKER" help:"Run on this worker, over NATS; FILE is then the name given to graph load."`
	Queue       string          `placeholder:"QUEUE" help:"Queue that the worker's graph belongs to."`
	Timeout     time.Duration   `default:"5m" help:"Longest wait for a worker."`
	Engine      string          `enum:"device,reference" default:"device" help:"device: run on the GPU. reference: run the plain Go algorithm."`
	Topology    string          `enum:"auto,sparse,hybrid,dense,fused,memory-constrained" default:"auto" help:"Topology of every level: sparse, hybrid, dense, fused or memory-constrained; auto: as the policy decides."`
	Policy      string          `enum:"standard,reference" default:"standard" help:"Policy that decides: standard or reference."`
	Decide      string          `enum:"device,host" default:"device" help:"Where levels are decided: on the device by its director, or on the host between levels."`
	Budget      uint64          `placeholder:"BYTES" help:"Most device memory that the job takes beside the graph. The room for hits shrinks to fit; nodes that find none wait for a later pass."`
	HitCapacity uint32          `placeholder:"NODES" help:"Room for hits of a pass (default: all nodes)."`
	Decisions   string          `placeholder:"FILE" help:"Append every decision to FILE, those of the director included, for ringmaster replay."`
	Timed       bool            `help:"Time each level, if the device has timestamps, at a cost of some microseconds each."`
	Verify      bool            `help:"Compare all values with those of the plain Go algorithm; for a join, check that they solve its equations."`
	Out         string          `placeholder:"FILE" help:"Write a line per node: its name and its value, or -1 if it is unreached."`
	JSON        bool            `name:"json" help:"Print one JSON object instead of the table; docs/graphs.md lists its fields."`
}

var graphTopologies = map[string]policy.Topology{
	"auto": policy.TopologyNone, "sparse": policy.TopologySparse, "hybrid": policy.TopologyHybrid, "dense": policy.TopologyDense,
	"fused": policy.TopologyFused, "memory-constrained": policy.TopologyMemoryConstrained,
}

var graphSemirings = map[string]frontier.Semiring{
	"bfs": frontier.BFS, "sssp": frontier.ShortestPath, "cc": frontier.Components, "reach": frontier.Reach,
	"flow": frontier.Flow, "join": frontier.User,
}

// graphOutcome is the result of one pass.
type graphOutcome struct {
	engine string
	frontier.Result
}

func (c *graphRunCmd) Run(ctx context.Context, std stdio, log *slog.Logger) error {
	ctx, stop := untilSignal(ctx)
	defer stop()
	std.in = interruptible(ctx, std.in)
	if err := errors.Join(c.checkSources(), c.readJoin(), c.readFacts()); err != nil {
		return err
	}
	if err := replaceable(c.Out); err != nil {
		return err
	}
	if c.Worker == "" && c.Queue != "" {
		return fmt.Errorf("--queue %s is of a worker: name it with --worker, or leave both out to run on this machine", c.Queue)
	}
	if c.Worker != "" {
		return c.runRemote(ctx, std, log)
	}
	return c.runHere(ctx, std, log)
}

// runHere runs the algorithm on this machine.
func (c *graphRunCmd) runHere(ctx context.Context, std stdio, log *slog.Logger) error {
	c.Loops = c.Loops || c.facts != nil // what begins at a node arrives there along its loop
	p, what, err := c.load(std)
	if err != nil {
		return err
	}
	sources, err := sourceNodes(p.Out, c.Source)
	if err != nil {
		return err
	}
	if c.Algorithm == "cc" {
		if p, err = graph.Undirected(p); err != nil {
			return err
		}
	}
	passes, err := c.passes(p.Out, sources)
	if err != nil {
		return err
	}
	outcomes, err := c.execute(ctx, p, passes, log)
	if err != nil {
		return err
	}
	report := c.report(p, outcomes)
	values := make([][]uint32, len(passes))
	for i := range passes {
		values[i] = outcomes[i].Values
		if c.Verify && c.join == nil {
			if err := c.verify(p, &passes[i], values[i]); err != nil {
				return err
			}
		}
	}
	if c.Verify {
		report.Verified, report.VerifiedBy = true, c.verifiedBy()
	}
	if c.Out != "" {
		if err := c.write(p.Out, passes, values); err != nil {
			return err
		}
	}
	if c.JSON {
		return report.json(std.out)
	}
	return report.table(std.out, what+": "+sizeOf(p))
}

// runRemote has a worker run the algorithm over a graph on its device.
func (c *graphRunCmd) runRemote(ctx context.Context, std stdio, log *slog.Logger) error {
	switch {
	case c.File == "" || c.Queue == "":
		return fmt.Errorf("--worker needs --queue, and the graph's name in the place of FILE")
	case c.Verify || c.Timed || c.Generate != "" || c.Weights > 0 || c.Directed || c.Reverse || c.Loops || c.Engine != "device" || c.Policy != "standard" || c.Decisions != "":
		return fmt.Errorf("--worker runs what graph load put there: without --verify, --timed, --generate, --weights, --directed, --reverse, --loops, --engine, --policy and --decisions; the worker has --decision-log")
	}
	q := graphQuery{graphWorkerFlags{c.natsFlags, c.Worker, c.Queue, c.Timeout}, c}
	report, g, values, err := q.run(ctx, log)
	if err != nil {
		return err
	}
	if c.Out != "" {
		passes, err := c.passes(g, nil)
		if err == nil {
			err = c.write(g, passes, values)
		}
		if err != nil {
			return err
		}
	}
	if c.JSON {
		return report.json(std.out)
	}
	return report.table(std.out, fmt.Sprintf("%s of %s.%s: %s nodes, %s edges", c.File, c.Worker, c.Queue, grouped(report.Nodes), grouped(report.Edges)))
}

// checkSources refuses more or fewer sources than the algorithm takes.
func (c *graphRunCmd) checkSources() error {
	switch n := len(c.Source); {
	case c.Algorithm == "cc" && n > 0:
		return fmt.Errorf("cc labels all nodes and takes no --source")
	case c.Algorithm == "reach" && (n == 0 || n > 32):
		return fmt.Errorf("reach takes 1 to 32 --source, one bit each; got %d", n)
	case c.Algorithm == "flow" && n > 0:
		return fmt.Errorf("flow takes no --source; entry in the file of --facts says what arrives from outside")
	case c.Algorithm == "join" && n == 0:
		return fmt.Errorf("join takes at least one --source")
	case (c.Algorithm == "bfs" || c.Algorithm == "sssp") && n != 1:
		return fmt.Errorf("%s takes one --source; got %d", c.Algorithm, n)
	}
	return nil
}

// sourceNodes finds the nodes that a file calls by these names.
func sourceNodes(g *graph.Graph, names []uint64) ([]uint32, error) {
	var sources []uint32
	for _, id := range names {
		v, ok := g.Node(id)
		switch {
		case !ok && g.Nodes() == 0:
			return nil, fmt.Errorf("--source %d: the graph is empty", id)
		case !ok:
			return nil, fmt.Errorf("--source %d is no node of the graph: its %d nodes are called %d to %d", id, g.Nodes(), g.ID(0), g.ID(uint32(g.Nodes()-1)))
		}
		sources = append(sources, v)
	}
	return sources, nil
}

// execute runs the passes, one after the other.
func (c *graphRunCmd) execute(ctx context.Context, p graph.Pair, passes []graphPass, log *slog.Logger) ([]graphOutcome, error) {
	if c.Engine == "reference" {
		var outcomes []graphOutcome
		for i := range passes {
			begin := time.Now()
			values := c.reference(p, &passes[i])
			outcomes = append(outcomes, graphOutcome{"reference", frontier.Result{Values: values, Time: time.Since(begin)}})
		}
		return outcomes, nil
	}
	device, err := c.open(log)
	if err != nil {
		return nil, fmt.Errorf("%w; 'ringmaster doctor' says what is missing, --engine reference runs without a GPU", err)
	}
	defer device.Close()
	memory, err := c.room(device, p, passes)
	if err != nil {
		return nil, err
	}
	resident, err := frontier.Load(device, p, frontier.Options{})
	if err != nil {
		return nil, err
	}
	defer resident.Close()
	advisor, closed, err := newLocalAdvisor(device, *c.policy(), c.Decisions, log)
	if err != nil {
		return nil, err
	}
	var outcomes []graphOutcome
	for i := range passes {
		var result frontier.Result
		if result, err = c.executePass(ctx, advisor, resident, p.Out, &passes[i], memory); err != nil {
			break
		}
		outcomes = append(outcomes, graphOutcome{device.Info().Renderer, result})
	}
	return outcomes, errors.Join(err, closed(ctx))
}

// executePass runs one pass by the decisions of the advisor.
func (c *graphRunCmd) executePass(ctx context.Context, advisor *graphAdvisor, resident *frontier.Graph, g *graph.Graph, pass *graphPass, memory graphMemory) (frontier.Result, error) {
	job := c.passJob(pass)
	needs, err := resident.Needs(job)
	if err != nil {
		return frontier.Result{}, err
	}
	c.within(&job, needs)
	result, logLevels, err := advisor.run(ctx, localQueue, resident, job, c.Decide == "host", memory, func() graphMemory {
		return graphMemory{memory.resident + resident.Kept(), memory.budget}
	})
	if err == nil {
		logLevels()
	}
	if own := c.overBudget(err); own != nil {
		err = own
	}
	if err == nil && c.Verify && c.join != nil {
		err = c.verifyJoin(ctx, resident, g, pass, result.Values)
	}
	return result, err
}

// within makes room for as many hits as --budget leaves. The budget is the run's own: other than that of a worker's
// memory it says nothing of what is free, so levels run as without it. One that leaves no room is for the job to refuse.
func (c *graphRunCmd) within(job *frontier.Job, needs frontier.Needs) {
	if c.Budget <= needs.Fixed || c.Budget >= needs.Full {
		return
	}
	each := (needs.Full - needs.Fixed) / uint64(needs.Nodes)
	room := uint32((c.Budget - needs.Fixed) / each)
	if room < min(needs.Nodes, uint32(c.policy().MinHitCapacity)) {
		return
	}
	if job.HitCapacity == 0 || room < job.HitCapacity {
		job.HitCapacity = room
	}
}

// overBudget says of a job without room that --budget is why, or nil.
func (c *graphRunCmd) overBudget(err error) error {
	if c.Budget > 0 && errors.Is(err, frontier.ErrBudget) {
		return fmt.Errorf("--budget %d is too small: %w", c.Budget, err)
	}
	return nil
}

// job is the device's job as the flags describe it.
func (c *graphRunCmd) job(sources []uint32) frontier.Job {
	return frontier.Job{
		Semiring: graphSemirings[c.Algorithm], Join: c.join, Sources: sources, Topology: graphTopologies[c.Topology],
		HitCapacity: c.HitCapacity, Budget: c.Budget, Timed: c.Timed,
	}
}

// policy is the configuration that the flags ask for.
func (c *graphRunCmd) policy() *policy.Config {
	cfg := policy.Standard()
	if c.Policy == "reference" {
		cfg = policy.Reference()
	}
	return &cfg
}
