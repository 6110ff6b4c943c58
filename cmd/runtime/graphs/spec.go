package graphs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ringmaster/megakernel/frontier"
	"ringmaster/megakernel/graph"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/userop"
)

// Spec says what to run over a graph. Commands make it of flags, workers of requests.
type Spec struct {
	Algorithm   string   // bfs, sssp, cc, reach, flow or join
	Sources     []uint64 // nodes to start from, as the graph's file calls them
	Topology    string   // of every level; "" or auto: as the policy decides
	DecideHost  bool     // levels are decided on the host
	Budget      uint64   // most bytes of device memory beside the graph; 0: no bound
	HitCapacity uint32   // nodes; 0: all
	Timed       bool     // each level is timed
	Verify      bool     // values and decisions are compared with those of plain Go

	Join   *userop.Join  // of join
	Facts  *graph.Facts  // of flow
	Policy policy.Config // that decides
}

var topologies = map[string]policy.Topology{
	"": policy.TopologyNone, "auto": policy.TopologyNone, "sparse": policy.TopologySparse, "hybrid": policy.TopologyHybrid, "dense": policy.TopologyDense,
	"fused": policy.TopologyFused, "memory-constrained": policy.TopologyMemoryConstrained,
}

var semirings = map[string]frontier.Semiring{
	"bfs": frontier.BFS, "sssp": frontier.ShortestPath, "cc": frontier.Components, "reach": frontier.Reach,
	"flow": frontier.Flow, "join": frontier.User,
}

// Check refuses what is no run, whatever the graph.
func (s *Spec) Check() error {
	if _, ok := semirings[s.Algorithm]; !ok {
		return fmt.Errorf("algorithm %q; want one of %s", s.Algorithm, strings.Join(slices.Sorted(maps.Keys(semirings)), ", "))
	}
	if _, ok := topologies[s.Topology]; !ok {
		return fmt.Errorf("topology %q; want auto, sparse, hybrid, dense, fused or memory-constrained", s.Topology)
	}
	switch n := len(s.Sources); {
	case s.Algorithm == "cc" && n > 0:
		return fmt.Errorf("cc labels all nodes and takes no --source")
	case s.Algorithm == "reach" && (n == 0 || n > 32):
		return fmt.Errorf("reach takes 1 to 32 --source, one bit each; got %d", n)
	case s.Algorithm == "flow" && n > 0:
		return fmt.Errorf("flow takes no --source; entry in the file of --facts says what arrives from outside")
	case s.Algorithm == "join" && n == 0:
		return fmt.Errorf("join takes at least one --source")
	case (s.Algorithm == "bfs" || s.Algorithm == "sssp") && n != 1:
		return fmt.Errorf("%s takes one --source; got %d", s.Algorithm, n)
	}
	return nil
}

// Nothing is the value of a node at which nothing arrived.
func (s *Spec) Nothing() uint32 {
	switch {
	case s.Join != nil:
		return s.Join.Kind.Identity()
	case s.Algorithm == "reach", s.Algorithm == "flow":
		return 0
	}
	return graph.Unreached
}

// Pass is one propagation over the graph. A run is one pass; a dataflow problem has a
// pass for each 32 facts, which is what fits a word.
type Pass struct {
	Sources []uint32
	Facts   graph.FactPass // of flow
}

// Passes are the passes of a run over a graph.
func (s *Spec) Passes(g *graph.Graph) ([]Pass, error) {
	sources, err := s.nodes(g)
	if err != nil {
		return nil, err
	}
	if s.Facts == nil {
		return []Pass{{Sources: sources}}, nil
	}
	passes := make([]Pass, s.Facts.Passes())
	for i := range passes {
		if passes[i].Facts, err = s.Facts.Pass(g, i); err != nil {
			return nil, err
		}
	}
	return passes, nil
}

// nodes finds the sources in a graph.
func (s *Spec) nodes(g *graph.Graph) ([]uint32, error) {
	var sources []uint32
	for _, id := range s.Sources {
		v, ok := g.Node(id)
		switch {
		case !ok && g.Nodes() == 0:
			return nil, fmt.Errorf("--source %d: the graph is empty", id)
		case !ok:
			return nil, fmt.Errorf("--source %d is no node of the graph: its %d nodes are called %d to %d", id, g.Nodes(), g.ID(0), g.ID(uint32(g.Nodes()-1)))
		}
		sources = append(sources, v)
	}
	return sources, nil
}

// job is the device's job of one pass.
func (s *Spec) job(pass *Pass) frontier.Job {
	job := frontier.Job{
		Semiring: semirings[s.Algorithm], Join: s.Join, Sources: pass.Sources, Topology: topologies[s.Topology], Config: &s.Policy,
		HitCapacity: s.HitCapacity, Budget: s.Budget, Timed: s.Timed,
	}
	if s.Algorithm != "flow" {
		return job
	}
	job.Gen, job.Kill = pass.Facts.Gen, pass.Facts.Kill
	job.Seeds = []uint32{}
	for v, arrives := range pass.Facts.Entry {
		if arrives != 0 {
			job.Sources, job.Seeds = append(job.Sources, uint32(v)), append(job.Seeds, arrives)
		}
	}
	return job
}

// fit makes room for as many hits as the spec's budget leaves. The budget is the run's own: other than that of a worker's
// memory it says nothing of what is free, so levels run as without it. One that leaves no room is for the job to refuse.
func (s *Spec) fit(job *frontier.Job, needs frontier.Needs) {
	if s.Budget <= needs.Fixed || s.Budget >= needs.Full {
		return
	}
	each := (needs.Full - needs.Fixed) / uint64(needs.Nodes)
	room := uint32((s.Budget - needs.Fixed) / each)
	if room < min(needs.Nodes, uint32(s.Policy.MinHitCapacity)) {
		return
	}
	if job.HitCapacity == 0 || room < job.HitCapacity {
		job.HitCapacity = room
	}
}

// Outcome is the result of one pass.
type Outcome struct {
	Engine string
	frontier.Result
}
