//go:build cgo

package frontier

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"ringmaster/megakernel/graph"
	"ringmaster/megakernel/policy"
)

// Every algorithm gives what plain Go gives on every bundled graph, whatever the topology, the
// shape of the dispatches and the room for hits.
func TestEveryAlgorithmIsThatOfPlainGoOnRealGraphs(t *testing.T) {
	k := newKernels(t)
	shapes := []Job{{}, {Geometry: policy.Geometry{Width: 32, Groups: 3}}, {Geometry: policy.Geometry{Groups: 5}, HitCapacity: 200}}
	for _, c := range []struct {
		file     string
		directed bool
		sources  []uint32
	}{
		{"ego-facebook.el.gz", false, []uint32{107, 0, 4038}},
		{"ego-facebook.el.gz", true, []uint32{0, 107}},
		{"as-caida.el.gz", false, []uint32{26474, 0}},
		{"as-caida.el.gz", true, []uint32{5, 26000, 5}},
	} {
		r := loadPair(t, k, weigh(realGraph(t, c.file, c.directed)))
		out := r.pair.Out
		seeds := make([]uint32, len(c.sources))
		for i := range seeds {
			seeds[i] = 1 << (i + 7)
		}
		flow := sparseFacts(newRand(uint64(len(c.file))), r.Nodes())
		flow.Sources, flow.Seeds = c.sources, seeds
		reached := make([]uint32, r.Nodes())
		for i, s := range c.sources {
			reached[s] |= seeds[i]
		}
		for i, a := range []struct {
			job  Job
			want []uint32
		}{
			{Job{Semiring: BFS, Sources: c.sources[:1]}, graph.BFS(out, c.sources[0])},
			{Job{Semiring: ShortestPath, Sources: c.sources[:1]}, graph.SSSP(out, c.sources[0])},
			{Job{Semiring: Components}, fixpoint(out, &Job{Semiring: Components})},
			{Job{Semiring: Reach, Sources: c.sources, Seeds: seeds}, graph.Flow(out, reached, nil, nil)},
			{flow, graph.Flow(out, reached, flow.Gen, flow.Kill)},
		} {
			for j, topology := range topologies {
				if (i+j)%2 == 0 == c.directed {
					continue // on each file every algorithm runs in every topology, in one of its two directions
				}
				job := a.job
				job.Topology = topology
				shape := shapes[(i+j)%len(shapes)]
				job.Geometry, job.HitCapacity = shape.Geometry, shape.HitCapacity
				name := fmt.Sprintf("%s, directed %v, %v, %v, %+v, room for %d", c.file, c.directed, job.Semiring, topology, job.Geometry, job.HitCapacity)
				got, err := r.Run(context.Background(), job)
				if err != nil || !slices.Equal(got.Values, a.want) {
					t.Errorf("%s: wrong values, %v", name, err)
					continue
				}
				checkLevels(t, name, &got)
			}
		}
		if !c.directed && !slices.Equal(graph.Components(r.pair), fixpoint(out, &Job{Semiring: Components})) {
			t.Errorf("%s: the least node that reaches one does not name its component", c.file)
		}
	}
}
