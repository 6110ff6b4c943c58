package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"

	"ringmaster/cmd/runtime/graphs"
	"ringmaster/cmd/runtime/option"
	"ringmaster/cmd/runtime/terminal"
	"ringmaster/cmd/runtime/text"
	"ringmaster/megakernel/graph"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/client"
)

// graphCmd has the commands about graphs.
type graphCmd struct {
	Run     graphRunCmd     `cmd:"" help:"Run an algorithm over a graph, on this machine's GPU or a worker's."`
	Load    graphLoadCmd    `cmd:"" help:"Put a graph on the device of a running worker."`
	List    graphListCmd    `cmd:"" help:"List the graphs that a queue has on its worker's device."`
	Drop    graphDropCmd    `cmd:"" help:"Free a graph on a worker's device."`
	Convert graphConvertCmd `cmd:"" help:"Write a graph in the binary format, which is read without parsing."`
}

// graphInput says where a graph comes from.
type graphInput struct {
	File     string `arg:"" optional:"" placeholder:"FILE" help:"Graph file: edge list, Matrix Market or binary, with gzip or without; - is standard input."`
	Generate string `placeholder:"SPEC" help:"Generate the graph instead: ${generators}."`
	Directed bool   `help:"Each line is an edge from its first node to its second only (default: both ways)."`
	Reverse  bool   `help:"Reverse every edge of a directed graph, for dataflow problems that run backward."`
	Loops    bool   `help:"Keep edges from a node to itself, which matter to some joins; flow always keeps them."`
	Weights  uint32 `placeholder:"MOST" help:"Give the edges of a generated graph random weights from 1 to MOST."`
	MaxEdges uint64 `placeholder:"N" default:"${max_edges}" help:"Refuse files that list more edges."`
}

// load reads or generates the graph, and says what it is.
func (c *graphInput) load(std terminal.Stdio) (graph.Pair, string, error) {
	p, what, err := c.read(std)
	switch {
	case err != nil || !c.Reverse:
		return p, what, err
	case !p.Directed():
		return graph.Pair{}, "", errors.New("--reverse is for directed graphs; an undirected one is its own reverse")
	}
	return graph.Pair{Out: p.In, In: p.Out}, what + ", reversed", nil
}

func (c *graphInput) read(std terminal.Stdio) (graph.Pair, string, error) {
	switch {
	case (c.File == "") == (c.Generate == ""):
		return graph.Pair{}, "", errors.New("name a FILE or --generate SPEC, one of them")
	case c.Generate != "":
		return c.generate()
	case c.Weights > 0:
		return graph.Pair{}, "", errors.New("--weights is for generated graphs; a file has its own")
	}
	in := std.In
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return graph.Pair{}, "", err
		}
		defer f.Close()
		in = f
	}
	p, format, err := graph.Read(in, c.options(), graph.Limits{Edges: c.MaxEdges})
	if err == nil && format == graph.Binary && c.Directed && !p.Directed() {
		err = errors.New("the binary file holds an undirected graph; convert the original with --directed")
	}
	if err != nil {
		return graph.Pair{}, "", fmt.Errorf("%s: %w", c.File, err)
	}
	return p, fmt.Sprintf("%s, %s", c.File, format), nil
}

func (c *graphInput) options() graph.Options {
	return graph.Options{Directed: c.Directed, Loops: c.Loops}
}

func (c *graphInput) generate() (graph.Pair, string, error) {
	edges, err := graph.Generate(c.Generate)
	if err != nil {
		return graph.Pair{}, "", err
	}
	if c.Weights > 0 {
		edges.Weigh(min(c.Weights, graph.Unreached-1), 1)
	}
	p, err := graph.Build(edges, c.options())
	return p, c.Generate, err
}

// graphConvertCmd writes the binary format.
type graphConvertCmd struct {
	graphInput
	Out string `required:"" placeholder:"FILE" help:"File to write."`
}

func (c *graphConvertCmd) Run(_ context.Context, std terminal.Stdio, _ *slog.Logger) error {
	if err := terminal.Replaceable("--out", c.Out); err != nil {
		return err
	}
	p, what, err := c.load(std)
	if err != nil {
		return err
	}
	if err := terminal.ReplaceFlagged("--out", c.Out, func(w io.Writer) error { return graph.Write(w, p) }); err != nil {
		return err
	}
	fmt.Fprintf(std.Err, "%s: %s\n", what, sizeOf(p))
	return nil
}

// sizeOf says how large a graph is.
func sizeOf(p graph.Pair) string {
	kind := "undirected"
	if p.Directed() {
		kind = "directed"
	}
	if p.Out.Weights != nil {
		kind += ", weighted"
	}
	return fmt.Sprintf("%s nodes, %s edges, %s", text.Grouped(uint64(p.Out.Nodes())), text.Grouped(p.Edges()), kind)
}

// graphLoadCmd puts a graph on the device of a running worker.
type graphLoadCmd struct {
	option.Target `set:"timeout=5m"`
	Name          string `arg:"" help:"Name of the graph on the worker. It replaces a graph of that name."`
	File          string `arg:"" type:"existingfile" help:"Graph file: edge list, Matrix Market or binary, with gzip or without; up to 256 MiB."`
	Directed      bool   `help:"Each line is an edge from its first node to its second only (default: both ways)."`
	Loops         bool   `help:"Keep edges from a node to itself."`
}

func (c *graphLoadCmd) Run(ctx context.Context, std terminal.Stdio, log *slog.Logger) error {
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
	return c.With(ctx, "ringmaster graph load", log, func(ctx context.Context, conn *natsio.Conn) error {
		if err := client.LoadGraph(ctx, conn, c.Worker, c.Queue, c.Name, f, client.GraphOptions{Directed: c.Directed, Loops: c.Loops}); err != nil {
			return err
		}
		fmt.Fprintf(std.Err, "graph %s of queue %s is on the device of %s\n", c.Name, c.Queue, c.Worker)
		return nil
	})
}

// graphListCmd lists the graphs of a queue.
type graphListCmd struct {
	option.Target `set:"timeout=5m"`
	JSON          bool `name:"json" help:"Print the list as JSON."`
}

func (c *graphListCmd) Run(ctx context.Context, std terminal.Stdio, log *slog.Logger) error {
	return c.With(ctx, "ringmaster graph list", log, func(ctx context.Context, conn *natsio.Conn) error {
		answer, err := client.AskGraphs(ctx, conn, c.Worker, c.Queue, &telemetry.GraphRequest{Ask: telemetry.GraphList})
		if err != nil {
			return err
		}
		rows := []graphs.Listed{}
		if err := json.Unmarshal(answer.Data, &rows); err != nil {
			return fmt.Errorf("the worker's list: %w", err)
		}
		if c.JSON {
			return text.JSON(std.Out, rows)
		}
		cells := make([][]string, len(rows))
		for i, g := range rows {
			cells[i] = []string{text.Plain(g.Name), text.Grouped(g.Nodes), text.Grouped(g.Edges), text.YesNo(g.Directed), text.YesNo(g.Weighted), text.Grouped(g.Bytes)}
		}
		_, err = fmt.Fprint(std.Out, text.Table([]string{"NAME", "NODES", "EDGES", "DIRECTED", "WEIGHTED", "BYTES"}, cells))
		return err
	})
}

// graphDropCmd frees a graph on a worker.
type graphDropCmd struct {
	option.Target `set:"timeout=5m"`
	Name          string `arg:"" help:"Name of the graph."`
}

func (c *graphDropCmd) Run(ctx context.Context, std terminal.Stdio, log *slog.Logger) error {
	return c.With(ctx, "ringmaster graph drop", log, func(ctx context.Context, conn *natsio.Conn) error {
		if _, err := client.AskGraphs(ctx, conn, c.Worker, c.Queue, &telemetry.GraphRequest{Ask: telemetry.GraphDrop, Name: c.Name}); err != nil {
			return err
		}
		fmt.Fprintf(std.Err, "graph %s of queue %s is dropped\n", c.Name, c.Queue)
		return nil
	})
}

// runOnWorker runs an algorithm over a graph that is on a worker's device, and returns the
// worker's report. If values are wanted, it also returns those and a graph with the nodes' names.
func runOnWorker(ctx context.Context, conn *natsio.Conn, q *option.Target, name string, spec *graphs.Spec, wanted bool) (*graphs.Report, *graph.Graph, []uint32, error) {
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
