package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"ringmaster/cmd/runtime/decisions"
	"ringmaster/cmd/runtime/graphs"
	"ringmaster/cmd/runtime/option"
	"ringmaster/cmd/runtime/terminal"
	"ringmaster/cmd/runtime/text"
	"ringmaster/megakernel/graph"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/userop"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// graphRunCmd runs an algorithm over a graph.
type graphRunCmd struct {
	option.GL
	option.NATS
	Algorithm string `arg:"" enum:"bfs,sssp,cc,reach,flow,join" help:"bfs: levels from a source. sssp: shortest paths by weights. cc: connected components, whichever way edges lead. reach: which of several sources reach a node. flow: which facts of --facts arrive at a node. join: what the file of --join says."`
	graphInput
	option.Programs
	Join        string        `placeholder:"FILE" help:"GLSL file: what travels along an edge, and how a node combines it; see docs/opcodes.md."`
	Facts       string        `placeholder:"FILE" help:"Facts that each node generates and kills, in lines NODE [entry a,b] [gen c] [kill d]; see docs/graphs.md."`
	Source      []uint64      `placeholder:"N" help:"Node to start from, as the file calls it; reach takes up to 32."`
	Worker      string        `placeholder:"WORKER" help:"Run on this worker, over NATS; FILE is then the name given to graph load."`
	Queue       string        `placeholder:"QUEUE" help:"Queue that the worker's graph belongs to."`
	Timeout     time.Duration `default:"5m" help:"Longest wait for a worker."`
	Engine      string        `enum:"device,reference" default:"device" help:"device: run on the GPU. reference: run the plain Go algorithm."`
	Topology    string        `enum:"auto,sparse,hybrid,dense,fused,memory-constrained" default:"auto" help:"Topology of every level: sparse, hybrid, dense, fused or memory-constrained; auto: as the policy decides."`
	Policy      string        `enum:"standard,reference" default:"standard" help:"Policy that decides: standard or reference."`
	Decide      string        `enum:"device,host" default:"device" help:"Where levels are decided: on the device by its director, or on the host between levels."`
	Budget      uint64        `placeholder:"BYTES" help:"Most device memory that the job takes beside the graph. The room for hits shrinks to fit; nodes that find none wait for a later pass."`
	HitCapacity uint32        `placeholder:"NODES" help:"Room for hits of a pass (default: all nodes)."`
	Decisions   string        `placeholder:"FILE" help:"Append every decision to FILE, those of the director included, for ringmaster replay."`
	Timed       bool          `help:"Time each level, if the device has timestamps, at a cost of some microseconds each."`
	Verify      bool          `help:"Compare all values with those of the plain Go algorithm; for a join, check that they solve its equations."`
	Out         string        `placeholder:"FILE" help:"Write a line per node: its name and its value, or -1 if it is unreached."`
	JSON        bool          `name:"json" help:"Print one JSON object instead of the table; docs/graphs.md lists its fields."`
}

func (c *graphRunCmd) Run(ctx context.Context, std terminal.Stdio, log *slog.Logger) error {
	ctx, stop := terminal.UntilSignal(ctx)
	defer stop()
	std.In = terminal.Interruptible(ctx, std.In)
	spec, err := c.spec()
	if err != nil {
		return err
	}
	if err := terminal.Replaceable("--out", c.Out); err != nil {
		return err
	}
	if c.Worker == "" && c.Queue != "" {
		return fmt.Errorf("--queue %s is of a worker: name it with --worker, or leave both out to run on this machine", c.Queue)
	}
	if c.Worker != "" {
		return c.runRemote(ctx, spec, std, log)
	}
	return c.runHere(ctx, spec, std, log)
}

// spec is what the flags ask for.
func (c *graphRunCmd) spec() (*graphs.Spec, error) {
	s := &graphs.Spec{
		Algorithm: c.Algorithm, Sources: c.Source, Topology: c.Topology, DecideHost: c.Decide == "host", Budget: c.Budget,
		HitCapacity: c.HitCapacity, Timed: c.Timed, Verify: c.Verify, Policy: policy.Standard(),
	}
	if c.Policy == "reference" {
		s.Policy = policy.Reference()
	}
	if err := s.Check(); err != nil {
		return nil, err
	}
	return s, errors.Join(c.readJoin(s), c.readFacts(s))
}

// readJoin reads the file of a join, and refuses flags that contradict it.
func (c *graphRunCmd) readJoin(s *graphs.Spec) error {
	switch {
	case c.Algorithm != "join" && c.Join != "":
		return fmt.Errorf("--join is for the algorithm join, not %s", c.Algorithm)
	case c.Algorithm != "join":
		return nil
	case c.Join == "":
		return fmt.Errorf("join takes --join FILE, which says what travels and how it is joined; see docs/opcodes.md")
	case c.Engine != "device":
		return fmt.Errorf("a join is GLSL and runs on a device only: without --engine")
	}
	text, err := os.ReadFile(c.Join)
	if err != nil {
		return err
	}
	join, err := userop.ParseJoin(filepath.Base(c.Join), text)
	s.Join = &join
	return err
}

// maxFactsText is the most bytes of a file of facts, unpacked.
const maxFactsText = 1 << 30

// readFacts reads the facts of a dataflow problem, and refuses flags that contradict them.
func (c *graphRunCmd) readFacts(s *graphs.Spec) error {
	switch {
	case c.Algorithm != "flow" && c.Facts != "":
		return fmt.Errorf("--facts is for the algorithm flow, not %s", c.Algorithm)
	case c.Algorithm != "flow":
		return nil
	case c.Facts == "":
		return fmt.Errorf("flow takes --facts FILE, which says what begins and ends at each node; see docs/graphs.md")
	}
	f, err := os.Open(c.Facts)
	if err != nil {
		return err
	}
	defer f.Close()
	if s.Facts, err = graph.ReadFacts(f, maxFactsText); err != nil {
		return fmt.Errorf("%s: %w", c.Facts, err)
	}
	return nil
}

// runHere runs the algorithm on this machine.
func (c *graphRunCmd) runHere(ctx context.Context, spec *graphs.Spec, std terminal.Stdio, log *slog.Logger) error {
	c.Loops = c.Loops || spec.Facts != nil // what begins at a node arrives there along its loop
	p, what, err := c.load(std)
	if err != nil {
		return err
	}
	if c.Algorithm == "cc" {
		if p, err = graph.Undirected(p); err != nil {
			return err
		}
	}
	passes, err := spec.Passes(p.Out)
	switch {
	case err != nil && c.Facts != "":
		return fmt.Errorf("%s: %w", c.Facts, err)
	case err != nil:
		return err
	}
	outcomes, err := c.execute(ctx, p, spec, passes, log)
	if err != nil {
		return err
	}
	report := spec.Report(p, outcomes)
	values := make([][]uint32, len(passes))
	for i := range passes {
		values[i] = outcomes[i].Values
		if c.Verify && spec.Join == nil {
			if err := spec.VerifyValues(p, &passes[i], values[i]); err != nil {
				return err
			}
		}
	}
	if c.Verify {
		report.Verified, report.VerifiedBy = true, spec.VerifiedBy()
	}
	if err := c.write(spec, p.Out, passes, values); err != nil {
		return err
	}
	return c.print(report, what+": "+sizeOf(p), std.Out)
}

// execute runs the passes, one after the other.
func (c *graphRunCmd) execute(ctx context.Context, p graph.Pair, spec *graphs.Spec, passes []graphs.Pass, log *slog.Logger) ([]graphs.Outcome, error) {
	if c.Engine == "reference" {
		return graphs.Reference(p, spec, passes), nil
	}
	device, err := c.Open(log)
	if err != nil {
		return nil, fmt.Errorf("%w; 'ringmaster doctor' says what is missing, --engine reference runs without a GPU", err)
	}
	defer device.Close()
	decided, err := decisions.Open(decisions.Config{File: c.Decisions, MaxBytes: 1 << 28, Software: version}, telemetry.NewIncarnation(), spec.Policy, log)
	if err != nil {
		return nil, err
	}
	binaries := c.Binaries(log)
	if binaries != nil {
		defer binaries.Close()
	}
	outcomes, err := graphs.Run(ctx, device, p, spec, passes, binaries, decided)
	if decided != nil {
		err = errors.Join(err, decided.Close(ctx))
	}
	return outcomes, err
}

// write writes the values of all passes to --out, if it is given.
func (c *graphRunCmd) write(spec *graphs.Spec, g *graph.Graph, passes []graphs.Pass, values [][]uint32) error {
	if c.Out == "" {
		return nil
	}
	return terminal.ReplaceFlagged("--out", c.Out, func(w io.Writer) error { return spec.WriteValues(w, g, passes, values) })
}

func (c *graphRunCmd) print(report *graphs.Report, what string, out io.Writer) error {
	if c.JSON {
		return text.JSON(out, report)
	}
	return report.Table(out, what)
}

// runRemote has a worker run the algorithm over a graph on its device.
func (c *graphRunCmd) runRemote(ctx context.Context, spec *graphs.Spec, std terminal.Stdio, log *slog.Logger) error {
	switch {
	case c.File == "" || c.Queue == "":
		return fmt.Errorf("--worker needs --queue, and the graph's name in the place of FILE")
	case c.Algorithm == "flow" || c.Algorithm == "join":
		return fmt.Errorf("%s runs on this machine only: without --worker", c.Algorithm)
	case c.Verify || c.Timed || c.Generate != "" || c.Weights > 0 || c.Directed || c.Reverse || c.Loops || c.Engine != "device" || c.Policy != "standard" || c.Decisions != "":
		return fmt.Errorf("--worker runs what graph load put there: without --verify, --timed, --generate, --weights, --directed, --reverse, --loops, --engine, --policy and --decisions; the worker has --decision-log")
	}
	q := option.Target{NATS: c.NATS, Worker: c.Worker, Queue: c.Queue, Timeout: c.Timeout}
	return q.With(ctx, "ringmaster graph run", log, func(ctx context.Context, conn *natsio.Conn) error {
		report, g, values, err := runOnWorker(ctx, conn, &q, c.File, spec, c.Out != "")
		if err != nil {
			return err
		}
		if err := c.write(spec, g, nil, [][]uint32{values}); err != nil {
			return err
		}
		return c.print(report, fmt.Sprintf("%s of %s.%s: %s nodes, %s edges", c.File, c.Worker, c.Queue, text.Grouped(report.Nodes), text.Grouped(report.Edges)), std.Out)
	})
}
