package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"

	"ringmaster/cmd/runtime/graphs"
	"ringmaster/megakernel/graph"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/client"
)

// graphLoadCmd puts a graph on the device of a running worker.
type graphLoadCmd struct {
	queueFlags `set:"timeout=5m"`
	Name       string `arg:"" help:"Name of the graph on the worker. It replaces a graph of that name."`
	File       string `arg:"" type:"existingfile" help:"Graph file: edge list, Matrix Market or binary, with gzip or without; up to 256 MiB."`
	Directed   bool   `help:"Each line is an edge from its first node to its second only (default: both ways)."`
	Loops      bool   `help:"Keep edges from a node to itself."`
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
	if size := info.Size(); size > natsio.MaxGraphFile {
		return fmt.Errorf("%s has %d bytes, %d may go to a worker; convert it, or pack it with gzip", c.File, size, natsio.MaxGraphFile)
	}
	return c.with(ctx, "ringmaster graph load", log, func(ctx context.Context, conn *natsio.Conn) error {
		if err := client.LoadGraph(ctx, conn, c.Worker, c.Queue, c.Name, f, client.GraphOptions{Directed: c.Directed, Loops: c.Loops}); err != nil {
			return err
		}
		fmt.Fprintf(std.err, "graph %s of queue %s is on the device of %s\n", c.Name, c.Queue, c.Worker)
		return nil
	})
}

// graphListCmd lists the graphs of a queue.
type graphListCmd struct {
	queueFlags `set:"timeout=5m"`
	JSON       bool `name:"json" help:"Print the list as JSON."`
}

func (c *graphListCmd) Run(ctx context.Context, std stdio, log *slog.Logger) error {
	return c.with(ctx, "ringmaster graph list", log, func(ctx context.Context, conn *natsio.Conn) error {
		answer, err := client.AskGraphs(ctx, conn, c.Worker, c.Queue, &telemetry.GraphRequest{Ask: telemetry.GraphList})
		if err != nil {
			return err
		}
		rows := []graphs.Listed{}
		if err := json.Unmarshal(answer.Data, &rows); err != nil {
			return fmt.Errorf("the worker's list: %w", err)
		}
		if c.JSON {
			return json.NewEncoder(std.out).Encode(rows)
		}
		cells := make([][]string, len(rows))
		for i, g := range rows {
			cells[i] = []string{plain(g.Name), grouped(g.Nodes), grouped(g.Edges), yesNo(g.Directed), yesNo(g.Weighted), grouped(g.Bytes)}
		}
		_, err = fmt.Fprint(std.out, table([]string{"NAME", "NODES", "EDGES", "DIRECTED", "WEIGHTED", "BYTES"}, cells))
		return err
	})
}

// graphDropCmd frees a graph on a worker.
type graphDropCmd struct {
	queueFlags `set:"timeout=5m"`
	Name       string `arg:"" help:"Name of the graph."`
}

func (c *graphDropCmd) Run(ctx context.Context, std stdio, log *slog.Logger) error {
	return c.with(ctx, "ringmaster graph drop", log, func(ctx context.Context, conn *natsio.Conn) error {
		if _, err := client.AskGraphs(ctx, conn, c.Worker, c.Queue, &telemetry.GraphRequest{Ask: telemetry.GraphDrop, Name: c.Name}); err != nil {
			return err
		}
		fmt.Fprintf(std.err, "graph %s of queue %s is dropped\n", c.Name, c.Queue)
		return nil
	})
}

// runOnWorker runs an algorithm over a graph that is on a worker's device, and returns the
// worker's report. If values are wanted, it also returns those and a graph with the nodes' names.
func runOnWorker(ctx context.Context, conn *natsio.Conn, q *queueFlags, name string, spec *graphs.Spec, wanted bool) (*graphs.Report, *graph.Graph, []uint32, error) {
	fail := func(err error) (*graphs.Report, *graph.Graph, []uint32, error) { return nil, nil, nil, err }
	request := telemetry.GraphRequest{
		Name: name, Algorithm: spec.Algorithm, Topology: spec.Topology, DecideHost: spec.DecideHost, Budget: spec.Budget, HitCapacity: spec.HitCapacity,
	}
	for _, id := range spec.Sources {
		request.Data = binary.LittleEndian.AppendUint64(request.Data, id)
	}
	answer, err := client.RunGraph(ctx, conn, q.Worker, q.Queue, &request)
	if err != nil {
		return fail(err)
	}
	data, err := client.GraphResult(ctx, conn, q.Worker, q.Queue, name, answer.Result, 0, answer.Offset)
	if err != nil {
		return fail(err)
	}
	var report graphs.Report
	if err := json.Unmarshal(data, &report); err != nil {
		return fail(fmt.Errorf("the worker's report: %w", err))
	}
	report.Plain()
	if !wanted {
		return &report, nil, nil, nil
	}
	if data, err = client.GraphResult(ctx, conn, q.Worker, q.Queue, name, answer.Result, answer.Offset, answer.Total); err != nil {
		return fail(err)
	}
	g, values, err := graphValues(data, report.Nodes)
	if spec.Algorithm == "cc" && err == nil && slices.ContainsFunc(values, func(v uint32) bool { return int64(v) >= int64(len(values)) }) {
		err = fmt.Errorf("the worker's result: a component is called by a node that the graph does not have")
	}
	return &report, g, values, err
}

// graphValues reads the values of a result, and the names behind them if there are any. The
// graph that it returns has nodes only.
func graphValues(data []byte, nodes int) (*graph.Graph, []uint32, error) {
	if nodes < 0 || len(data) != 4*nodes && len(data) != 12*nodes {
		return nil, nil, fmt.Errorf("the worker's result: %d bytes for %d nodes", len(data), nodes)
	}
	values, g := make([]uint32, nodes), &graph.Graph{Offsets: make([]uint32, nodes+1)}
	for v := range values {
		values[v] = binary.LittleEndian.Uint32(data[4*v:])
	}
	for names := data[4*nodes:]; len(names) > 0; names = names[8:] {
		g.IDs = append(g.IDs, binary.LittleEndian.Uint64(names))
	}
	return g, values, nil
}
