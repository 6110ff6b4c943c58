package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"ringmaster/bench/edgework"
	"ringmaster/megakernel/graph"
	"ringmaster/megakernel/policy"
)

// graphFlags choose what the benchmark of graphs searches.
type graphFlags struct {
	Scale   int      `default:"18" help:"Largest scale of the random graphs in the graph benchmark's rows of edge work, 16 to 20; a graph of scale N has 2^N nodes."`
	Sources int      `default:"16" help:"Sources that a graph is searched from in the graph benchmark."`
	Graph   []string `sep:"none" help:"A graph that the device searches in the graph benchmark, such as kronecker:20, uniform:18 or grid:512x512; repeat for more."`
	Dump    string   `type:"path" placeholder:"DIR" help:"Directory to which the graph benchmark writes its graphs and sources, for bench/cuda/bfs.cu."`
}

func (f *graphFlags) check() error {
	switch {
	case f.Scale < 16 || f.Scale > 20:
		return fmt.Errorf("--scale %d: it is 16 to 20", f.Scale)
	case f.Sources < 1:
		return fmt.Errorf("--sources %d: at least 1 is needed", f.Sources)
	}
	for _, spec := range f.Graph {
		edges, err := graph.Generate(spec)
		if err == nil {
			err = searchable(&edges)
		}
		if err != nil {
			return fmt.Errorf("--graph %s: %w", spec, err)
		}
	}
	return nil
}

// searchable refuses a graph in which there is nowhere to go.
func searchable(e *graph.Edges) error {
	for i := range e.From {
		if e.From[i] != e.To[i] {
			return nil
		}
	}
	return errors.New("it has no edges to search")
}

// benchGraph reports the edge work of the topology rules, which needs no device, and searches on the device if there
// is one.
func benchGraph(s *session) error {
	for _, spec := range edgeWorkGraphs(s.flags.Scale) {
		if s.ctx.Err() != nil {
			return s.ctx.Err()
		}
		g, err := newGraph(spec, s.flags.Sources)
		if err != nil {
			return err
		}
		if err := edgeWorkRows(g, s.report); err != nil {
			return err
		}
	}
	if s.deviceErr != nil {
		s.log.Warn("without searches on a device", "error", s.deviceErr)
		return nil
	}
	return benchGraphDevice(s)
}

// edgeWorkGraphs are power-law graphs, graphs without hubs, and graphs of many
// narrow levels.
func edgeWorkGraphs(scale int) []string {
	var specs []string
	for s := 16; s <= scale; s++ {
		specs = append(specs, fmt.Sprintf("kronecker:%d", s), fmt.Sprintf("uniform:%d", s))
	}
	return append(specs, "grid:96x96", "grid:256x256", "grid:512x512")
}

// sourceSeed makes the sources of a graph the same in every run.
const sourceSeed = 27491095 // the seed of the GAP benchmark suite

// searched is a generated graph with the sources from which it is searched.
type searched struct {
	spec    string
	pair    graph.Pair
	sources []uint32 // nodes with edges
}

func newGraph(spec string, sources int) (*searched, error) {
	edges, err := graph.Generate(spec)
	if err == nil {
		err = searchable(&edges)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", spec, err)
	}
	pair, err := graph.Build(edges, graph.Options{})
	if err != nil {
		return nil, err
	}
	g := &searched{spec: spec, pair: pair}
	rng := rand.New(rand.NewPCG(sourceSeed, 0))
	for len(g.sources) < sources {
		if v := rng.Uint32N(uint32(pair.Out.Nodes())); pair.Out.Degree(v) > 0 {
			g.sources = append(g.sources, v)
		}
	}
	return g, nil
}

// edgeWorkRows reports, for each rule, the edges at which it looks over those of the
// oracle, as the mean of this ratio over the sources.
func edgeWorkRows(g *searched, to *report) error {
	standard, original := policy.Standard(), policy.Reference()
	rules := []struct {
		name string
		rule edgework.Rule
	}{
		{"standard", edgework.Policy(&standard)},
		{"original", edgework.Policy(&original)},
		{"gap", edgework.GAP},
		{"push", edgework.AlwaysPush},
		{"pull", edgework.AlwaysPull},
	}
	rows := edgework.Rows{Offsets: g.pair.Out.Offsets, Targets: g.pair.Out.Targets}
	means := make([]float64, len(rules))
	for _, source := range g.sources {
		levels, _, err := edgework.Search(rows, rows, source)
		if err != nil {
			return err
		}
		least, err := edgework.Work(edgework.GraphOf(rows), levels, edgework.Oracle)
		if err != nil {
			return err
		}
		for i, r := range rules {
			work, err := edgework.Work(edgework.GraphOf(rows), levels, r.rule)
			if err != nil {
				return err
			}
			means[i] += float64(work) / float64(least) / float64(len(g.sources))
		}
	}
	for i, r := range rules {
		to.row(row{
			Name: "graph/edges/" + g.spec + "/" + r.name, Value: means[i], Unit: "oracle",
			Yardstick: "the cheaper walk of every level", YardstickValue: 1,
		})
	}
	return nil
}

// dump writes a graph with its sources to a folder, for bench/cuda/bfs.cu:
// little-endian 32-bit words, namely nodes, edges, the number of sources, the
// sources, the offsets of the rows and the targets.
func (g *searched) dump(folder string) (err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(folder, g.fileName()))
	if err != nil {
		return err
	}
	defer func() {
		if closed := f.Close(); err == nil {
			err = closed
		}
	}()
	out := g.pair.Out
	w := bufio.NewWriterSize(f, 1<<20)
	head := []uint32{uint32(out.Nodes()), uint32(out.Edges()), uint32(len(g.sources))}
	var word [4]byte
	for _, words := range [][]uint32{head, g.sources, out.Offsets, out.Targets} {
		for _, v := range words {
			binary.LittleEndian.PutUint32(word[:], v)
			if _, err := w.Write(word[:]); err != nil {
				return err
			}
		}
	}
	return w.Flush()
}

// fileName is the name of the file for a specification, such as kronecker-20.graph.
func (g *searched) fileName() string {
	return strings.ReplaceAll(g.spec, ":", "-") + ".graph"
}
