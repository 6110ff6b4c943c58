//go:build cgo

package frontier

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"ringmaster/glcompute"
	"ringmaster/megakernel"
	"ringmaster/megakernel/graph"
	"ringmaster/megakernel/policy"
)

// openDevice opens a GL device for a test. Without one the test is skipped,
// or fails if RINGMASTER_REQUIRE lists gl.
func openDevice(t testing.TB) megakernel.Device {
	t.Helper()
	dev, _, err := glcompute.Open(glcompute.Config{})
	if err != nil {
		if slices.Contains(strings.Split(os.Getenv("RINGMASTER_REQUIRE"), ","), "gl") {
			t.Fatalf("RINGMASTER_REQUIRE lists gl: %v", err)
		}
		t.Skipf("no GL device: %v", err)
	}
	t.Cleanup(func() {
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	})
	return dev
}

func load(t testing.TB, k *Kernels, spec string) *Resident {
	t.Helper()
	edges, err := graph.Generate(spec)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := graph.Build(edges, graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return loadPair(t, k, pair)
}

func loadPair(t testing.TB, k *Kernels, pair graph.Pair) *Resident {
	t.Helper()
	r, err := Load(k.dev, pair, Options{Kernels: k})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func newKernels(t testing.TB) *Kernels {
	t.Helper()
	k := NewKernels(openDevice(t))
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	return k
}

var topologies = []policy.Topology{policy.TopologyNone, policy.TopologySparse, policy.TopologyHybrid, policy.TopologyDense,
	policy.TopologyFused, policy.TopologyMemoryConstrained}

func TestLevelsOfGeneratedGraphsAreThoseOfPlainSearch(t *testing.T) {
	k := newKernels(t)
	for _, spec := range []string{"path:100", "grid:40x30", "kronecker:12", "uniform:11"} {
		r := load(t, k, spec)
		want := graph.BFS(r.pair.Out, 1)
		for _, topology := range topologies {
			got, err := r.Run(context.Background(), Job{Sources: []uint32{1}, Topology: topology})
			if err != nil {
				t.Errorf("%s, %v: %v", spec, topology, err)
				continue
			}
			if !slices.Equal(got.Values, want) {
				t.Errorf("%s, %v: wrong levels", spec, topology)
			}
			checkLevels(t, spec, &got)
		}
	}
}
