package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"ringmaster/glcompute"
	"ringmaster/megakernel/frontier"
	"ringmaster/megakernel/frontier/edgework"
	"ringmaster/megakernel/graph"
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

// How often a search is timed: until graphRuns times, or until graphPatience has
// passed, but once at least.
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
func benchGraphDevice(ctx context.Context, device *glcompute.Device, flags *graphBenchFlags, report *benchReport) error {
	specs, pulls := hardwareGraphs, uint64(hardwarePulls)
	if device.Info().Software {
		specs, pulls = softwareGraphs, softwarePulls
	}
	if len(flags.Graph) > 0 {
		specs = flags.Graph
	}
	kernels := frontier.NewKernels(device)
	defer kernels.Close()
	busy, err := newBusyDevice(device)
	if err != nil {
		return err
	}
	defer busy.close()
	for _, spec := range specs {
		g, err := newBenchGraph(spec, min(flags.Sources, graphSources))
		if err != nil {
			return err
		}
		if flags.Dump != "" {
			if err := g.dump(flags.Dump); err != nil {
				return err
			}
		}
		resident, err := frontier.Load(device, g.pair, frontier.Options{Kernels: kernels})
		if err != nil {
			return err
		}
		b := graphBench{benchGraphData: g, resident: resident, report: report, pulls: pulls, busy: busy}
		err = b.rows(ctx, device)
		if closed := resident.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return fmt.Errorf("bench: %s: %w", spec, err)
		}
	}
	return nil
}

// graphBench measures searches of one graph on one device.
type graphBench struct {
	*benchGraphData
	resident *frontier.Resident
	report   *benchReport
	pulls    uint64 // most edges of the walk that always pulls
	actors   map[string]graphRunner
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
	return frontier.Job{Decide: func(v frontier.View) (policy.Topology, error) {
		situation := frontier.Situation{Nodes: v.Nodes, Edges: v.Edges}
		c, err := situation.Classify(&cfg, &v)
		return c.Topology, err
	}}
}

// originalWalk decides by the share of vertices, as the original does.
func originalWalk() frontier.Job {
	cfg := policy.Reference()
	return frontier.Job{Config: &cfg}
}

func (b *graphBench) rows(ctx context.Context, device *glcompute.Device) error {
	budget, err := b.quarter(ctx)
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
	end, err := b.beginActors(device)
	if err != nil {
		return err
	}
	defer end()
	for _, name := range slices.Sorted(maps.Keys(b.actors)) {
		walks = append(walks, graphWalk{name, func() frontier.Job { return frontier.Job{} }})
	}
	if pulls, err := b.pullWork(); err != nil {
		return err
	} else if pulls <= b.pulls {
		walks = append(walks, graphWalk{"dense", fixedWalk(policy.TopologyDense)})
	}
	references := b.search()
	if err := b.warmUp(ctx); err != nil {
		return err
	}
	times := make(map[string][]float64)
	var rates, shares []float64
	for _, want := range references {
		for _, walk := range walks {
			ms, err := b.time(ctx, walk, want)
			if err != nil {
				return fmt.Errorf("%s from %d: %w", walk.name, want.source, err)
			}
			times[walk.name] = append(times[walk.name], ms)
			if walk.name == "policy" {
				rates = append(rates, float64(want.edges)/(ms/1e3))
			}
		}
		pairs, err := b.director(ctx, want)
		if err != nil {
			return fmt.Errorf("recorded decisions from %d: %w", want.source, err)
		}
		times["decided"], times["recorded"] = append(times["decided"], median(slices.Clone(pairs.decided))), append(times["recorded"], median(slices.Clone(pairs.recorded)))
		shares = append(shares, pairs.shares()...)
	}
	b.print(times, rates, shares)
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
func (b *graphBench) warmUp(ctx context.Context) error {
	for begin := time.Now(); time.Since(begin) < graphWarmUp; {
		if _, err := b.resident.Run(ctx, frontier.Job{Sources: b.sources[:1], Discard: true}); err != nil {
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

// time runs a search several times, checks the distances of the first and of the last
// run, and returns the median in milliseconds. The first run also builds what the walk
// needs, and is timed only if it is the only one.
func (b *graphBench) time(ctx context.Context, walk graphWalk, want graphReference) (float64, error) {
	run := func(discard bool) (*frontier.Result, error) {
		job := walk.job()
		job.Sources, job.Discard = []uint32{want.source}, discard
		through := b.resident.Run
		if actors := b.actors[walk.name]; actors != nil {
			through = actors
		}
		if err := b.busy.run(); err != nil {
			return nil, err
		}
		result, err := through(ctx, job)
		switch {
		case err != nil:
		case !discard && !slices.Equal(result.Values, want.depths):
			err = errors.New("distances differ from those of a plain search")
		case job.Budget != 0 && result.Bytes > job.Budget:
			err = fmt.Errorf("took %d bytes of a budget of %d", result.Bytes, job.Budget)
		}
		return &result, err
	}
	begin := time.Now()
	last, err := run(false)
	if err != nil || time.Since(begin) > graphPatience {
		return milliseconds(last), err
	}
	if _, err := run(true); err != nil { // untimed, after the transfer
		return 0, err
	}
	var ms []float64
	for begin := time.Now(); len(ms) == 0 || len(ms) < graphRuns && time.Since(begin) < graphPatience; {
		if last, err = run(true); err != nil {
			return 0, err
		}
		ms = append(ms, milliseconds(last))
	}
	_, err = run(false)
	return median(ms), err
}

func milliseconds(r *frontier.Result) float64 { return float64(r.Time.Nanoseconds()) / 1e6 }

// quarter is the memory that a search needs if its hit buffers are a quarter of the
// full ones.
func (b *graphBench) quarter(ctx context.Context) (uint64, error) {
	result, err := b.resident.Run(ctx, frontier.Job{Sources: b.sources[:1], HitCapacity: uint32(b.resident.Nodes()) / 4})
	return result.Bytes, err
}

func (b *graphBench) print(times map[string][]float64, rates, shares []float64) {
	row := func(name string, value float64, unit, yardstick string, than float64) {
		b.report.row(benchRow{Name: "graph/" + name + "/" + b.spec, Value: value, Unit: unit, Yardstick: yardstick, YardstickValue: than})
	}
	at := make(map[string]float64)
	for name, ms := range times {
		at[name] = median(slices.Clone(ms))
	}
	ours := at["policy"]
	if dense, ok := at["dense"]; ok {
		row("bfs", ours, "ms", "the better of always sparse and always dense", min(at["sparse"], dense))
	} else {
		row("bfs", ours, "ms", "always sparse; always dense would look at too many edges to time", at["sparse"])
	}
	row("teps", median(rates), "edges/s", "none", 0)
	for _, fixed := range []string{"sparse", "hybrid", "dense", "fused"} {
		if ms, ok := at[fixed]; ok {
			row("bfs/"+fixed, ms, "ms", "the policy's choice of every level", ours)
		}
	}
	row("bfs/original", at["original"], "ms", "the policy's choice of every level, by edges", ours)
	row("bfs/host", at["host"], "ms", "decided on the device", ours)
	row("bfs/actors", at["actors"], "ms", "without the actors' decision on how to begin", ours)
	row("bfs/host/actors", at["host/actors"], "ms", "decided on the device; each level waits for its queue's actors", at["actors"])
	row("bfs/recorded", at["recorded"], "ms", "decided on the device, by turns, with the same work on the host", at["decided"])
	b.directorRow(shares)
	row("memory", at["quarter"], "ms", "without a budget", ours)
	row("memory/constrained", at["constrained"], "ms", "without a budget", ours)
}
