package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"ringmaster/megakernel/graph"
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
func (c *graphInput) load(std stdio) (graph.Pair, string, error) {
	p, what, err := c.read(std)
	switch {
	case err != nil || !c.Reverse:
		return p, what, err
	case !p.Directed():
		return graph.Pair{}, "", errors.New("--reverse is for directed graphs; an undirected one is its own reverse")
	}
	return graph.Pair{Out: p.In, In: p.Out}, what + ", reversed", nil
}

func (c *graphInput) read(std stdio) (graph.Pair, string, error) {
	switch {
	case (c.File == "") == (c.Generate == ""):
		return graph.Pair{}, "", errors.New("name a FILE or --generate SPEC, one of them")
	case c.Generate != "":
		return c.generate()
	case c.Weights > 0:
		return graph.Pair{}, "", errors.New("--weights is for generated graphs; a file has its own")
	}
	in := std.in
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

func (c *graphConvertCmd) Run(_ context.Context, std stdio, _ *slog.Logger) error {
	if err := replaceable(c.Out); err != nil {
		return err
	}
	p, what, err := c.load(std)
	if err != nil {
		return err
	}
	if err := replaceFile(c.Out, func(w io.Writer) error { return graph.Write(w, p) }); err != nil {
		return err
	}
	fmt.Fprintf(std.err, "%s: %s\n", what, sizeOf(p))
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
	return fmt.Sprintf("%s nodes, %s edges, %s", grouped(uint64(p.Out.Nodes())), grouped(p.Edges()), kind)
}
