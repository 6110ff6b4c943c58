package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"text/tabwriter"
	"time"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// graphWorkerFlags say on whose device graphs are.
type graphWorkerFlags struct {
	natsFlags
	Worker  string        `default:"${hostname}" help:"Worker that owns the device."`
	Queue   string        `required:"" placeholder:"QUEUE" help:"Queue that the graph belongs to."`
	Timeout time.Duration `default:"5m" help:"Longest wait for all of it."`
}

func (f *graphWorkerFlags) connect(ctx context.Context, name string, log *slog.Logger) (context.Context, *natsio.Conn, func(), error) {
	h := heapFlags{natsFlags: f.natsFlags, Worker: f.Worker, Queue: f.Queue, Timeout: f.Timeout}
	return h.connect(ctx, name, log)
}

// graphLoadCmd puts a graph on the device of a running worker.
type graphLoadCmd struct {
	graphWorkerFlags
	Name     string `arg:"" help:"Name of the graph on the worker; one of that name is replaced."`
	File     string `arg:"" type:"existingfile" help:"Graph: an edge list, Matrix Market or binary, with gzip or without; up to 256 MiB."`
	Directed bool   `help:"Each line is an edge from its first node to its second; otherwise both ways."`
}

func (c *graphLoadCmd) Run(ctx context.Context, std stdio, log *slog.Logger) error {
	f, err := os.Open(c.File)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if size := info.Size(); size > maxGraphFile {
		return fmt.Errorf("%s has %d bytes, %d may come over NATS; convert it, or pack it with gzip", c.File, size, maxGraphFile)
	}
	ctx, conn, done, err := c.connect(ctx, "ringmaster graph load", log)
	if err != nil {
		return err
	}
	defer done()
	if err := conn.LoadGraph(ctx, c.Worker, c.Queue, c.Name, f, uint64(info.Size()), c.Directed); err != nil {
		return err
	}
	fmt.Fprintf(std.err, "graph %s of queue %s is on the device of %s\n", c.Name, c.Queue, c.Worker)
	return nil
}

// graphListCmd lists the graphs of a queue.
type graphListCmd struct {
	graphWorkerFlags
	JSON bool `name:"json" help:"Print the list as JSON."`
}

func (c *graphListCmd) Run(ctx context.Context, std stdio, log *slog.Logger) error {
	ctx, conn, done, err := c.connect(ctx, "ringmaster graph list", log)
	if err != nil {
		return err
	}
	defer done()
	answer, err := conn.AskGraphs(ctx, c.Worker, c.Queue, &telemetry.Resident{Ask: telemetry.ResidentList})
	if err != nil {
		return err
	}
	if c.JSON {
		_, err := fmt.Fprintf(std.out, "%s\n", answer.Data)
		return err
	}
	var rows []listedGraph
	if err := json.Unmarshal(answer.Data, &rows); err != nil {
		return fmt.Errorf("the worker's list: %w", err)
	}
	w := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tNODES\tEDGES\tDIRECTED\tWEIGHTED\tBYTES")
	for _, g := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%t\t%t\t%s\n", g.Name, grouped(g.Nodes), grouped(g.Edges), g.Directed, g.Weighted, grouped(g.Bytes))
	}
	return w.Flush()
}

// graphDropCmd frees a graph on a worker.
type graphDropCmd struct {
	graphWorkerFlags
	Name string `arg:"" help:"Name of the graph."`
}

func (c *graphDropCmd) Run(ctx context.Context, std stdio, log *slog.Logger) error {
	ctx, conn, done, err := c.connect(ctx, "ringmaster graph drop", log)
	if err != nil {
		return err
	}
	defer done()
	if _, err := conn.AskGraphs(ctx, c.Worker, c.Queue, &telemetry.Resident{Ask: telemetry.ResidentDrop, Name: c.Name}); err != nil {
		return err
	}
	fmt.Fprintf(std.err, "graph %s of queue %s is dropped\n", c.Name, c.Queue)
	return nil
}

// graphQueryCmd runs an algorithm over a graph that is on a worker's device.
type graphQueryCmd struct {
	graphWorkerFlags
	Algorithm   string   `arg:"" enum:"bfs,sssp,cc,reach" help:"bfs, sssp, cc or reach, as of graph run."`
	Name        string   `arg:"" help:"Name of the graph."`
	Source      []uint64 `placeholder:"N" help:"Node to start from, as the file calls it. reach takes up to 32 of them."`
	Topology    string   `enum:"auto,sparse,hybrid,dense,fused,memory-constrained" default:"auto" help:"Run every level this way; auto: as the policy decides."`
	Decide      string   `enum:"device,host" default:"device" help:"Where levels are decided."`
	Budget      uint64   `placeholder:"BYTES" help:"Most device memory beside the graphs."`
	HitCapacity uint32   `placeholder:"NODES" help:"Room for hits of a pass (default: all nodes)."`
	Values      string   `placeholder:"FILE" help:"Write the values too: u32 little-endian, in the ascending order of the nodes' names; 4294967295 is unreached."`
}

func (c *graphQueryCmd) Run(ctx context.Context, std stdio, log *slog.Logger) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	check := graphRunCmd{Algorithm: c.Algorithm, Source: c.Source}
	if err := check.checkSources(); err != nil {
		return err
	}
	ctx, conn, done, err := c.connect(ctx, "ringmaster graph query", log)
	if err != nil {
		return err
	}
	defer done()
	request := telemetry.Resident{
		Ask: telemetry.ResidentRun, Name: c.Name, Algorithm: c.Algorithm, Topology: c.Topology, DecideHost: c.Decide == "host",
		Budget: c.Budget, HitCapacity: c.HitCapacity,
	}
	for _, id := range c.Source {
		request.Data = binary.LittleEndian.AppendUint64(request.Data, id)
	}
	answer, err := conn.AskGraphs(ctx, c.Worker, c.Queue, &request)
	if err != nil {
		return err
	}
	report, err := conn.GraphResult(ctx, c.Worker, c.Queue, c.Name, answer.Result, 0, answer.Offset)
	if err != nil {
		return err
	}
	if c.Values != "" {
		values, err := conn.GraphResult(ctx, c.Worker, c.Queue, c.Name, answer.Result, answer.Offset, answer.Total)
		if err != nil {
			return err
		}
		if err := os.WriteFile(c.Values, values, 0o644); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(std.out, "%s\n", report)
	return err
}
