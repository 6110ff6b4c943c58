//go:build cgo

package frontier

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	"ringmaster/glcompute"
	"ringmaster/glcompute/gltest"
	"ringmaster/megakernel/graph"
	"ringmaster/megakernel/kernelcache"
	"ringmaster/megakernel/policy"
)

// The device and its programs are shared by all tests, because making them takes longest.
var (
	shared  *testKernels
	openDev func() error // closes it
)

func TestMain(m *testing.M) {
	code := m.Run()
	if openDev != nil {
		shared.Close()
		if err := openDev(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// testKernels are programs and their device.
type testKernels struct {
	*kernelcache.Store
	dev *glcompute.Device
}

// openKernels has programs built on a device, or on one beside it.
func openKernels(t testing.TB, dev *glcompute.Device, change func(*kernelcache.Config, *kernelcache.Target)) *testKernels {
	t.Helper()
	cfg, target := kernelcache.DefaultConfig(), kernelcache.Target{Device: dev}
	if change != nil {
		change(&cfg, &target)
	}
	store := kernelcache.Open(cfg, target)
	return &testKernels{store, dev}
}

// newKernels returns programs that suit the GL device. Without a device the test ends by gltest.Missing.
func newKernels(t testing.TB) *testKernels {
	t.Helper()
	if shared == nil {
		dev := gltest.OpenUnclosed(t)
		openDev, shared = dev.Close, openKernels(t, dev, nil)
	}
	return shared
}

// generated is a graph as --generate makes it.
func generated(t testing.TB, spec string) graph.Pair {
	t.Helper()
	edges, err := graph.Generate(spec)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := graph.Build(edges, graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func load(t testing.TB, k *testKernels, spec string) *Graph {
	t.Helper()
	return loadPair(t, k, generated(t, spec))
}

func loadPair(t testing.TB, k *testKernels, pair graph.Pair) *Graph {
	t.Helper()
	r, err := Load(k.dev, pair, Options{Programs: k.Store})
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
