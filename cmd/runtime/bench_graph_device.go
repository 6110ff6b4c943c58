package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"ringmaster/glcompute"
	"ringmaster/megakernel/frontier"
	"ringmaster/megakernel/frontier/edgework"
	"ringmaster/megakernel/graph"
	"ringmaster/megakernel/policy"
)

// Graphs that a device searches. A software renderer gets a smaller grid, for
// it needs milliseconds a level.
var (
	softwareGraphs = []string{"kronecker:16", "kronecker:20", "grid:512x512"}
	hardwareGraphs = []string{"kronecker:16", "kronecker:20", "kronecker:22", "grid:2048x2048"}
)

// Edges that always pulling may look at in one search, else that walk is left
// out: on a grid it looks at every edge hundreds of times.
const (
	softwarePulls = 100_000_000
	hardwarePulls = 100_000_000_000
)

// How often a search is timed: until graphRuns times, or until graphPatience has
// passed, but once at least.
const (
	graphSources  = 8
	graphRuns     = 7
	graphPatience = 200 * time.Millisecond
)

// benchGraphDevice reports searches on a device: times of the policy's choices
// beside those of fixed ones, of decisions on the host, and within a quarter of
// the memory. Every search that is timed is also compared with a plain one; a
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
		b := graphBench{benchGraphData: g, resident: resident, report: report, pulls: pulls}
		err = b.rows(ctx)
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
	pulls    uint64 // most edges of always pulling
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
		c := situation.Classify(&cfg, &v)
		return c.Topology, c.Err
	}}
}

// originalWalk decides by the share of vertices, as the original does.
func originalWalk() frontier.Job {
	cfg := policy.Reference()
	return frontier.Job{Config: &cfg}
}

func (b *graphBench) rows(ctx context.Context) error {
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
		{"timed", func() frontier.Job { return frontier.Job{Timed: true} }},
	}
	if pulls, err := b.pullWork(); err != nil {
		return err
	} else if pulls <= b.pulls {
		walks = append(walks, graphWalk{"dense", fixedWalk(policy.TopologyDense)})
	}
	times := make(map[string][]float64)
	var rates, shares []float64
	for _, source := range b.sources {
		want := graph.BFS(b.pair.Out, source)
		edges := b.pair.Traversed(func(v uint32) bool { return want[v] != graph.Unreached })
		for _, walk := range walks {
			ms, last, err := b.time(ctx, walk, source, want)
			if err != nil {
				return fmt.Errorf("%s from %d: %w", walk.name, source, err)
			}
			times[walk.name] = append(times[walk.name], ms)
			switch walk.name {
			case "policy":
				rates = append(rates, float64(edges)/(ms/1e3))
			case "timed":
				shares = append(shares, directorShare(last))
			}
		}
	}
	b.print(times, rates, shares)
	return nil
}

// pullWork is how many edges always pulling looks at from the first source.
func (b *graphBench) pullWork() (uint64, error) {
	rows := edgework.Rows{Offsets: b.pair.Out.Offsets, Targets: b.pair.Out.Targets}
	levels, _, err := edgework.Search(rows, rows, b.sources[0])
	if err != nil {
		return 0, err
	}
	return edgework.Work(edgework.GraphOf(rows), levels, edgework.AlwaysPull)
}

// time runs a search several times, checks the distances of each, and returns
// the median in milliseconds and the last result.
func (b *graphBench) time(ctx context.Context, walk graphWalk, source uint32, want []uint32) (float64, *frontier.Result, error) {
	var ms []float64
	var result frontier.Result
	for begin, run := time.Now(), 0; run == 0 || run <= graphRuns && time.Since(begin) < graphPatience; run++ {
		job := walk.job()
		job.Sources = []uint32{source}
		var err error
		if result, err = b.resident.Run(ctx, job); err != nil {
			return 0, nil, err
		}
		if !slices.Equal(result.Values, want) {
			return 0, nil, fmt.Errorf("distances differ from those of a plain search")
		}
		if job.Budget != 0 && result.Bytes > job.Budget {
			return 0, nil, fmt.Errorf("took %d bytes of a budget of %d", result.Bytes, job.Budget)
		}
		if run == 1 {
			ms = ms[:0] // the first one warmed up
		}
		ms = append(ms, float64(result.Time.Nanoseconds())/1e6)
	}
	return median(ms), &result, nil
}

// quarter is the memory that a search needs whose hit buffers are a quarter of
// the full ones.
func (b *graphBench) quarter(ctx context.Context) (uint64, error) {
	result, err := b.resident.Run(ctx, frontier.Job{Sources: b.sources[:1], HitCapacity: uint32(b.resident.Nodes()) / 4})
	return result.Bytes, err
}

// directorShare is the director's part of the device's time in a timed run.
func directorShare(r *frontier.Result) float64 {
	total := r.Director
	for _, l := range r.Levels {
		total += l.Time
	}
	return float64(r.Director) / float64(max(total, 1))
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
	row("director", median(shares), "of run", "the device's time in a run that is timed level by level", 1)
	row("memory", at["quarter"], "ms", "without a budget", ours)
	row("memory/constrained", at["constrained"], "ms", "without a budget", ours)
}
