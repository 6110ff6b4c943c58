package main

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"ringmaster/bench/edgework"
	"ringmaster/megakernel/frontier"
	"ringmaster/megakernel/graph"
	"ringmaster/megakernel/kernelcache"
	"ringmaster/megakernel/policy"
)

// Graphs that a device searches. A software renderer gets a smaller grid, because it
// needs milliseconds per level.
var (
	softwareGraphs = []string{"kronecker:16", "kronecker:20", "grid:512x512"}
	hardwareGraphs = []string{"kronecker:16", "kronecker:20", "kronecker:22", "grid:2048x2048"}
)

// The most edges at which the walk that always pulls may look in one search. If it
// looks at more it is left out: on a grid it looks at every edge hundreds of times.
const (
	softwarePulls = 100_000_000
	hardwarePulls = 100_000_000_000
)

// graphTurns is how often the walks of a source take turns: graphRuns times, or until each has had graphPatience,
// but once at least.
const (
	graphSources  = 8
	graphRuns     = 15
	graphPatience = 200 * time.Millisecond
	graphWarmUp   = time.Second
)

// benchGraphDevice reports searches on a device: times with the policy's choices beside
// those with fixed choices, with decisions on the host, and within a quarter of the
// memory. Every search is compared with a plain one before and after it is timed; a
// wrong distance is an error.
func benchGraphDevice(s *session) error {
	specs, pulls := hardwareGraphs, uint64(hardwarePulls)
	if s.device.Info().Software {
		specs, pulls = softwareGraphs, softwarePulls
	}
	if len(s.flags.Graph) > 0 {
		specs = s.flags.Graph
	}
	programs := kernelcache.Open(kernelcache.DefaultConfig(), kernelcache.Target{Device: s.device})
	defer programs.Close()
	busy, err := newBusyDevice(s.device)
	if err != nil {
		return err
	}
	defer busy.close()
	for _, spec := range specs {
		g, err := newGraph(spec, min(s.flags.Sources, graphSources))
		if err != nil {
			return err
		}
		if s.flags.Dump != "" {
			if err := g.dump(s.flags.Dump); err != nil {
				return err
			}
		}
		resident, err := frontier.Load(s.device, g.pair, frontier.Options{Programs: programs})
		if err != nil {
			return err
		}
		b := graphBench{session: s, searched: g, resident: resident, pulls: pulls, busy: busy}
		if err := errors.Join(b.rows(), resident.Close()); err != nil {
			return fmt.Errorf("%s: %w", spec, err)
		}
	}
	return nil
}

// graphBench measures searches of one graph on one device.
type graphBench struct {
	*session
	*searched
	resident *frontier.Graph
	pulls    uint64 // most edges of the walk that always pulls
	busy     *busyDevice
}

// A graphWalk is a way to run the same search.
type graphWalk struct {
	name string
	job  func() frontier.Job // without sources
}

func fixedWalk(topology policy.Topology) func() frontier.Job {
	return func() frontier.Job { return frontier.Job{Topology: topology} }
}

// hostWalk has the policy decide every level on the host.
func hostWalk() frontier.Job {
	cfg := policy.Standard()
	return frontier.Job{Decide: func(v frontier.View) (policy.Topology, uint32, error) {
		situation := frontier.Situation{Nodes: v.Nodes, Edges: v.Edges}
		c, err := situation.Classify(&cfg, &v)
		return c.Topology, 0, err
	}}
}

// originalWalk decides by the share of vertices, as the original does.
func originalWalk() frontier.Job {
	cfg := policy.Reference()
	return frontier.Job{Config: &cfg}
}

func (b *graphBench) rows() error {
	budget, err := b.quarter()
	if err != nil {
		return err
	}
	walks := []graphWalk{
		{"policy", func() frontier.Job { return frontier.Job{} }},
		{"sparse", fixedWalk(policy.TopologySparse)},
		{"hybrid", fixedWalk(policy.TopologyHybrid)},
		{"fused", fixedWalk(policy.TopologyFused)},
		{"original", originalWalk},
		{"host", hostWalk},
		{"quarter", func() frontier.Job { return frontier.Job{Budget: budget} }},
		{"constrained", func() frontier.Job {
			return frontier.Job{Budget: budget, Topology: policy.TopologyMemoryConstrained}
		}},
	}
	if pulls, err := b.pullWork(); err != nil {
		return err
	} else if pulls <= b.pulls {
		walks = append(walks, graphWalk{"dense", fixedWalk(policy.TopologyDense)})
	}
	references := b.search()
	if err := b.warmUp(); err != nil {
		return err
	}
	times := make(map[string][]float64)
	var rates []float64
	for _, want := range references {
		taken, err := b.time(walks, want)
		if err != nil {
			return fmt.Errorf("from %d: %w", want.source, err)
		}
		for i, walk := range walks {
			times[walk.name] = append(times[walk.name], taken.median(i))
		}
		rates = append(rates, float64(want.edges)/(taken.median(0)/1e3))
	}
	b.print(times, rates)
	return nil
}

// graphReference is a plain search from a source.
type graphReference struct {
	source uint32
	depths []uint32
	edges  uint64 // of the nodes reached, each once
}

// search searches on the host from every source, before anything is timed: a device that
// idled between timings would lower its clocks.
func (b *graphBench) search() []graphReference {
	references := make([]graphReference, len(b.sources))
	var searches sync.WaitGroup
	for i, source := range b.sources {
		searches.Go(func() {
			depths := graph.BFS(b.pair.Out, source)
			edges := b.pair.Traversed(func(v uint32) bool { return depths[v] != graph.Unreached })
			references[i] = graphReference{source, depths, edges}
		})
	}
	searches.Wait()
	return references
}

// warmUp keeps the device busy until its clocks have risen.
func (b *graphBench) warmUp() error {
	for begin := time.Now(); time.Since(begin) < graphWarmUp; {
		if _, err := b.resident.Run(b.ctx, frontier.Job{Sources: b.sources[:1], Discard: true}); err != nil {
			return err
		}
		if err := b.busy.run(); err != nil {
			return err
		}
	}
	return nil
}

// pullWork is the number of edges at which the walk that always pulls looks from the
// first source.
func (b *graphBench) pullWork() (uint64, error) {
	rows := edgework.Rows{Offsets: b.pair.Out.Offsets, Targets: b.pair.Out.Targets}
	levels, _, err := edgework.Search(rows, rows, b.sources[0])
	if err != nil {
		return 0, err
	}
	return edgework.Work(edgework.GraphOf(rows), levels, edgework.AlwaysPull)
}

// time has the walks search from a source by turns, and returns milliseconds. It checks the distances of every walk
// before and after; the search before also builds what the walk needs.
func (b *graphBench) time(walks []graphWalk, want graphReference) (rounds, error) {
	var sides []func() (float64, error)
	check := func() error {
		for _, walk := range walks {
			if _, err := b.run(&walk, want, false); err != nil {
				return err
			}
		}
		return nil
	}
	if err := check(); err != nil {
		return nil, err
	}
	for _, walk := range walks {
		sides = append(sides, func() (float64, error) { return b.run(&walk, want, true) })
	}
	r, err := turns{least: 1, most: graphRuns, span: graphPatience * time.Duration(len(walks))}.take(b.ctx, sides...)
	if err == nil {
		err = check()
	}
	return r, err
}

// run searches once. Unless the outcome is discarded, the distances have to be those of the plain search.
func (b *graphBench) run(walk *graphWalk, want graphReference, discard bool) (float64, error) {
	job := walk.job()
	job.Sources, job.Discard = []uint32{want.source}, discard
	if err := b.busy.run(); err != nil {
		return 0, err
	}
	result, err := b.resident.Run(b.ctx, job)
	switch {
	case err != nil:
	case !discard && !slices.Equal(result.Values, want.depths):
		err = errors.New("distances differ from those of a plain search")
	case job.Budget != 0 && result.Bytes > job.Budget:
		err = fmt.Errorf("took %d bytes of a budget of %d", result.Bytes, job.Budget)
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", walk.name, err)
	}
	return milliseconds(&result), nil
}

func milliseconds(r *frontier.Result) float64 { return float64(r.Time.Nanoseconds()) / 1e6 }

// quarter is the memory that a search needs if its hit buffers are a quarter of the
// full ones.
func (b *graphBench) quarter() (uint64, error) {
	result, err := b.resident.Run(b.ctx, frontier.Job{Sources: b.sources[:1], HitCapacity: uint32(b.resident.Nodes()) / 4})
	return result.Bytes, err
}

func (b *graphBench) print(times map[string][]float64, rates []float64) {
	print := func(name string, value float64, unit, yardstick string, than float64) {
		b.row(row{Name: "graph/" + name + "/" + b.spec, Value: value, Unit: unit, Yardstick: yardstick, YardstickValue: than})
	}
	at := make(map[string]float64)
	for name, ms := range times {
		at[name] = median(ms)
	}
	ours := at["policy"]
	if dense, ok := at["dense"]; ok {
		print("bfs", ours, "ms", "the better of always sparse and always dense", min(at["sparse"], dense))
	} else {
		print("bfs", ours, "ms", "always sparse; always dense would look at too many edges to time", at["sparse"])
	}
	print("teps", median(rates), "edges/s", "none", 0)
	for _, fixed := range []string{"sparse", "hybrid", "dense", "fused"} {
		if ms, ok := at[fixed]; ok {
			print("bfs/"+fixed, ms, "ms", "the policy's choice of every level", ours)
		}
	}
	print("bfs/original", at["original"], "ms", "the policy's choice of every level, by edges", ours)
	print("bfs/host", at["host"], "ms", "decided on the device", ours)
	print("memory", at["quarter"], "ms", "without a budget", ours)
	print("memory/constrained", at["constrained"], "ms", "without a budget", ours)
}
