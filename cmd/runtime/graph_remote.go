package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"ringmaster/megakernel/graph"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// graphWorkerFlags say on which worker, and of which queue, graphs are.
type graphWorkerFlags struct {
	natsFlags
	Worker  string        `default:"${hostname}" help:"Worker that owns the device."`
	Queue   string        `required:"" placeholder:"QUEUE" help:"Queue that the graph belongs to."`
	Timeout time.Duration `default:"5m" help:"Longest wait for all of it."`
}

// Validate is called by the command line's parser.
func (f *graphWorkerFlags) Validate() error { return validNames(f.Worker, f.Queue) }

func (f *graphWorkerFlags) connect(ctx context.Context, name string, log *slog.Logger) (context.Context, *natsio.Conn, func(), error) {
	h := heapFlags{natsFlags: f.natsFlags, Worker: f.Worker, Queue: f.Queue, Timeout: f.Timeout}
	return h.connect(ctx, name, log)
}

// graphLoadCmd puts a graph on the device of a running worker.
type graphLoadCmd struct {
	graphWorkerFlags
	Name     string `arg:"" help:"Name of the graph on the worker. It replaces a graph of that name."`
	File     string `arg:"" type:"existingfile" help:"Graph file: edge list, Matrix Market or binary, with gzip or without; up to 256 MiB."`
	Directed bool   `help:"Each line is an edge from its first node to its second only (default: both ways)."`
	Loops    bool   `help:"Keep edges from a node to itself; flow needs them, and some joins depend on them."`
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
	if err := conn.LoadGraph(ctx, c.Worker, c.Queue, c.Name, f, uint64(info.Size()), natsio.GraphOptions{Directed: c.Directed, Loops: c.Loops}); err != nil {
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
	rows := []listedGraph{}
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

// graphQuery runs an algorithm over a graph that is on a worker's device.
type graphQuery struct {
	graphWorkerFlags
	flags *graphRunCmd
}

// run returns the worker's report. For dataflow, or if values are to be written, it also
// returns the values of each pass and a graph with the nodes' names.
func (q *graphQuery) run(ctx context.Context, log *slog.Logger) (*graphReport, *graph.Graph, [][]uint32, error) {
	ctx, conn, done, err := q.connect(ctx, "ringmaster graph run", log)
	if err != nil {
		return nil, nil, nil, err
	}
	defer done()
	c := q.flags
	if c.facts == nil {
		report, g, values, err := q.pass(ctx, conn, 0, c.Out != "")
		return report, g, [][]uint32{values}, err
	}
	var (
		first   *graph.Graph
		reports []*graphReport
		values  [][]uint32
	)
	for pass := range c.facts.Passes() {
		report, g, arrived, err := q.sendFacts(ctx, conn, pass)
		switch {
		case err != nil:
			return nil, nil, nil, err
		case pass == 0:
			first = g
		case g.Nodes() != first.Nodes() || !slices.Equal(g.IDs, first.IDs):
			return nil, nil, nil, fmt.Errorf("graph %s was replaced between two passes of facts; run again", c.File)
		}
		reports, values = append(reports, report), append(values, arrived)
	}
	return flowReport(len(c.facts.Names), reports, values), first, values, nil
}

// sendFacts sends the facts of a pass and runs it.
func (q *graphQuery) sendFacts(ctx context.Context, conn *natsio.Conn, pass int) (*graphReport, *graph.Graph, []uint32, error) {
	c := q.flags
	number, err := conn.SendFacts(ctx, q.Worker, q.Queue, c.File, graph.AppendFactRows(nil, c.facts.Rows(pass)))
	if err != nil {
		return nil, nil, nil, err
	}
	return q.pass(ctx, conn, number, true)
}

// pass runs a pass and fetches its result. facts is the number of the facts of a dataflow
// problem, otherwise 0.
func (q *graphQuery) pass(ctx context.Context, conn *natsio.Conn, facts uint64, withValues bool) (*graphReport, *graph.Graph, []uint32, error) {
	fail := func(err error) (*graphReport, *graph.Graph, []uint32, error) { return nil, nil, nil, err }
	c := q.flags
	request := telemetry.Resident{
		Name: c.File, Algorithm: c.Algorithm, Topology: c.Topology, DecideHost: c.Decide == "host",
		Budget: c.Budget, HitCapacity: c.HitCapacity, Join: c.joinText, Facts: facts,
	}
	for _, id := range c.Source {
		request.Data = binary.LittleEndian.AppendUint64(request.Data, id)
	}
	answer, err := conn.RunGraph(ctx, q.Worker, q.Queue, &request)
	if err != nil {
		return fail(err)
	}
	data, err := conn.GraphResult(ctx, q.Worker, q.Queue, c.File, answer.Result, 0, answer.Offset)
	if err != nil {
		return fail(err)
	}
	var report graphReport
	if err := json.Unmarshal(data, &report); err != nil {
		return fail(fmt.Errorf("the worker's report: %w", err))
	}
	report.plain()
	if !withValues {
		return &report, nil, nil, nil
	}
	if data, err = conn.GraphResult(ctx, q.Worker, q.Queue, c.File, answer.Result, answer.Offset, answer.Total); err != nil {
		return fail(err)
	}
	g, values, err := graphValues(data, report.Nodes)
	if c.Algorithm == "cc" && err == nil && slices.ContainsFunc(values, func(v uint32) bool { return int64(v) >= int64(len(values)) }) {
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
