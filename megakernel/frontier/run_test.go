//go:build cgo

package frontier

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/graph"
	"ringmaster/megakernel/policy"
)

func TestHostDecidesEveryLevelAsTheDeviceWould(t *testing.T) {
	r := load(t, newKernels(t), "kronecker:10")
	job := Job{Sources: []uint32{3}}
	device, err := r.Run(context.Background(), job)
	if err != nil {
		t.Fatal(err)
	}
	cfg := policy.Standard()
	s := Situation{Nodes: r.Nodes(), Edges: r.shape.edges}
	job.Decide = func(v View) (policy.Topology, uint32, error) {
		c, err := s.Classify(&cfg, &v)
		return c.Topology, 0, err
	}
	host, err := r.Run(context.Background(), job)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(host.Values, device.Values) || len(host.Levels) != len(device.Levels) {
		t.Fatalf("host: %d levels, device: %d", len(host.Levels), len(device.Levels))
	}
	for i, l := range host.Levels {
		if d := device.Levels[i]; l.View != d.View || l.Topology != d.Topology {
			t.Errorf("level %d: %+v on the host, %+v on the device", i, l, d)
		}
	}
}

func TestAHostDecisionThatCannotRunEndsTheJob(t *testing.T) {
	r := load(t, newKernels(t), "path:5")
	failed := errors.New("no answer")
	for _, c := range []struct {
		topology policy.Topology
		err      error
		want     error
	}{{policy.TopologyEmpty, nil, ErrJob}, {policy.TopologySparse, failed, failed}} {
		_, err := r.Run(context.Background(), Job{Sources: []uint32{0}, Decide: func(View) (policy.Topology, uint32, error) { return c.topology, 0, c.err }})
		if !errors.Is(err, c.want) {
			t.Errorf("got %v, want %v", err, c.want)
		}
	}
}

func TestAQuarterOfTheHitBuffersGivesTheSameResultWithinTheBudget(t *testing.T) {
	r := load(t, newKernels(t), "kronecker:12")
	for _, s := range []Semiring{BFS, Components} {
		job := Job{Semiring: s, Sources: []uint32{1}, Topology: policy.TopologyMemoryConstrained}
		full, err := r.Run(context.Background(), job)
		if err != nil {
			t.Fatal(err)
		}
		job.Budget = full.Bytes - 6*uint64(full.HitCapacity) // of eight bytes for a node, two stay
		got, err := r.Run(context.Background(), job)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Values, full.Values) {
			t.Errorf("%v: another result", s)
		}
		if got.Bytes > job.Budget || got.HitCapacity != full.HitCapacity/4 {
			t.Errorf("%v: %d bytes of %d, hit capacity %d of %d", s, got.Bytes, job.Budget, got.HitCapacity, full.HitCapacity)
		}
		requeued := uint32(0)
		for _, l := range got.Levels {
			requeued += l.Requeued
			if (l.Requeued > 0) != (l.Passes > 1) {
				t.Errorf("%v: level %d: %d requeued in %d passes", s, l.Level, l.Requeued, l.Passes)
			}
		}
		if requeued == 0 {
			t.Errorf("%v: nothing was requeued", s)
		}
	}
}

func TestJobsThatCannotBeRunAreRefused(t *testing.T) {
	r := load(t, newKernels(t), "path:5")
	bad := policy.Standard()
	bad.SparseNodeDivisor = 0
	for name, c := range map[string]struct {
		job  Job
		want error
	}{
		"a source out of range":         {Job{Sources: []uint32{5}}, ErrJob},
		"seeds of other number":         {Job{Semiring: Reach, Sources: []uint32{1}, Seeds: []uint32{1, 2}}, ErrJob},
		"levels with seeds":             {Job{Sources: []uint32{1}, Seeds: []uint32{1}}, ErrJob},
		"an unknown semiring":           {Job{Semiring: semirings}, ErrJob},
		"an unknown topology":           {Job{Topology: 99}, ErrJob},
		"a width that is no power":      {Job{Geometry: policy.Geometry{Width: 48}}, ErrJob},
		"a share above the whole":       {Job{MemoryPressureBps: 10_001}, ErrJob},
		"a budget below the least":      {Job{Budget: 100}, ErrBudget},
		"more levels than allowed":      {Job{Sources: []uint32{0}, MaxLevels: 2}, ErrLevels},
		"a configuration of no meaning": {Job{Config: &bad}, nil},
	} {
		_, err := r.Run(context.Background(), c.job)
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := r.Run(ctx, Job{Sources: []uint32{0}}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	// The graph still runs.
	if got, err := r.Run(context.Background(), Job{Sources: []uint32{4}}); err != nil || !slices.Equal(got.Values, []uint32{4, 3, 2, 1, 0}) {
		t.Errorf("after refusals: %v, %v", got.Values, err)
	}
}

func TestAnEmptyGraphAndNoSourcesGiveNoLevels(t *testing.T) {
	k := newKernels(t)
	empty := loadPair(t, k, graph.Pair{Out: &graph.Graph{}, In: &graph.Graph{}})
	if got, err := empty.Run(context.Background(), Job{}); err != nil || len(got.Values)+len(got.Levels) != 0 {
		t.Errorf("empty graph: %+v, %v", got, err)
	}
	if _, err := empty.Run(context.Background(), Job{Sources: []uint32{0}}); !errors.Is(err, ErrJob) {
		t.Errorf("source of an empty graph: %v", err)
	}
	got, err := load(t, k, "path:3").Run(context.Background(), Job{})
	if err != nil || len(got.Levels) != 0 || !slices.Equal(got.Values, []uint32{Unreached, Unreached, Unreached}) {
		t.Errorf("no sources: %+v, %v", got, err)
	}
}

// untouched is a device with a small limit; anything that is done on it fails the test.
type untouched struct{ gpu.Device }

func (untouched) StorageBlockLimit() int64                   { return 40 }
func (untouched) StorageBlocks() uint32                      { return 16 }
func (untouched) Software() bool                             { return false }
func (untouched) WorkgroupLimits() (width, groups, n uint32) { return 64, 64, 64 }
func (untouched) Identity() (vendor, r, version string)      { return "", "", "" }
func (untouched) Supports(string) bool                       { return false }

func TestAGraphThatDoesNotFitIsRefusedBeforeTheDeviceIsTouched(t *testing.T) {
	edges, err := graph.Generate("star:9")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := graph.Build(edges, graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Load(untouched{}, pair, Options{}); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "targets") {
		t.Errorf("too many edges: %v", err)
	}
	broken := graph.Pair{Out: &graph.Graph{Offsets: []uint32{0, 2, 1}, Targets: []uint32{0}}, In: &graph.Graph{}}
	if _, err := Load(untouched{}, broken, Options{}); !errors.Is(err, graph.ErrMalformed) {
		t.Errorf("broken rows: %v", err)
	}
	if err := Fits(untouched{}, 11, 0); !errors.Is(err, ErrTooLarge) {
		t.Errorf("too many nodes: %v", err)
	}
}

func TestAVisitOnASoftwareRendererLooksAtABoundedNumberOfEdges(t *testing.T) {
	for _, c := range []struct {
		software          bool
		edges             uint32
		first, then, most int
	}{
		{false, 1 << 30, 8, 4, 64},
		{true, 0, 8, 4, 64},
		{true, 2 << 20, 8, 4, 64},
		{true, 4 << 20, 8, 4, 32},
		{true, 20 << 20, 6, 4, 6},
		{true, 60 << 20, 2, 2, 2},
		{true, 1 << 30, 1, 1, 1},
	} {
		x := &run{Graph: &Graph{shape: shape{edges: c.edges}}, m: machine{software: c.software}}
		if got := min(firstRounds, x.mostRounds()); got != c.first {
			t.Errorf("%+v: %d rounds at first", c, got)
		}
		x.result.Visits = 1
		rounds := x.moreRounds(c.first)
		if rounds != c.then {
			t.Errorf("%+v: then %d rounds", c, rounds)
		}
		for x.result.Visits < 10 {
			x.result.Visits++
			rounds = x.moreRounds(rounds)
		}
		if rounds != c.most {
			t.Errorf("%+v: %d rounds in the end", c, rounds)
		}
	}
}
