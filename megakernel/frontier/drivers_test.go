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
	"ringmaster/megakernel/kernelcache"
	"ringmaster/megakernel/policy"
)

// driver is the device with another driver's limits.
type driver struct {
	gpu.Device
	blocks   uint32
	vendor   string
	hardware bool
	sources  []string
}

func (d *driver) StorageBlocks() uint32                  { return d.blocks }
func (d *driver) Identity() (vendor, renderer, v string) { return d.vendor, "", "" }
func (d *driver) Software() bool                         { return !d.hardware }
func (d *driver) Supports(name string) bool              { return name != "subgroups" && d.Device.Supports(name) }
func (d *driver) CompileCompute(s string) (gpu.Program, error) {
	d.sources = append(d.sources, s)
	return d.Device.CompileCompute(s)
}

func TestADriverOfEightStorageBlocksIsRefusedWithAReason(t *testing.T) {
	dev := &driver{Device: newKernels(t).dev, blocks: 8}
	pair := generated(t, "path:5")
	_, loaded := Load(dev, pair, Options{})
	_, needs := NeedsOn(dev, pair, Job{Sources: []uint32{0}})
	for what, err := range map[string]error{"loading": loaded, "asking for needs": needs} {
		if !errors.Is(err, ErrDevice) || !strings.Contains(err.Error(), "this driver offers 8 storage blocks to a compute shader, graph jobs need 16") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if len(dev.sources) > 0 {
		t.Errorf("%d kernels were compiled", len(dev.sources))
	}
}

// The extension says whether subgroups are there, not the vendor's name.
func TestADriverWithoutSubgroupsRunsKernelsWithoutThem(t *testing.T) {
	dev := &driver{Device: newKernels(t).dev, blocks: 16, vendor: "NVIDIA Corporation", hardware: true}
	store := kernelcache.Open(kernelcache.DefaultConfig(), kernelcache.Target{Device: dev})
	defer store.Close()
	g, err := Load(dev, generated(t, "grid:12x12"), Options{Programs: store})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	got, err := g.Run(context.Background(), Job{Sources: []uint32{7}, Topology: policy.TopologySparse, Timed: true})
	if err != nil || !slices.Equal(got.Values, graph.BFS(g.pair.Out, 7)) {
		t.Errorf("wrong levels, %v", err)
	}
	if len(dev.sources) == 0 || slices.ContainsFunc(dev.sources, func(s string) bool { return strings.Contains(s, "GL_KHR_shader_subgroup") }) {
		t.Errorf("%d kernels, and one of them asks for subgroups", len(dev.sources))
	}
}
