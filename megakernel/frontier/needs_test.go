//go:build cgo

package frontier

import (
	"context"
	"slices"
	"testing"

	"ringmaster/megakernel/policy"
)

func TestTheHostOrdersWorkgroupsLevelByLevel(t *testing.T) {
	r := load(t, newKernels(t), "kronecker:10")
	want, err := r.Run(context.Background(), Job{Sources: []uint32{3}})
	if err != nil {
		t.Fatal(err)
	}
	asked := uint32(0)
	job := Job{Sources: []uint32{3}, Decide: func(View) (policy.Topology, uint32, error) {
		asked++
		return policy.TopologyMemoryConstrained, asked % 3, nil // 0: as the geometry says
	}}
	got, err := r.Run(context.Background(), job)
	if err != nil || !slices.Equal(got.Values, want.Values) || int(asked) != len(got.Levels) {
		t.Errorf("%d levels, asked %d times, %v", len(got.Levels), asked, err)
	}
}

func TestNeedsAreWhatAJobTakes(t *testing.T) {
	r := load(t, newKernels(t), "kronecker:10")
	job := Job{Sources: []uint32{3, 3, 5}}
	needs, err := r.Needs(job)
	if err != nil || r.Kept() != 0 {
		t.Fatal(err, r.Kept())
	}
	if before, err := NeedsOn(r.dev, r.pair, job); err != nil || before != needs {
		t.Errorf("before the graph is there: %+v, %v; with it %+v", before, err, needs)
	}
	if full := needs.Fixed + 8*uint64(r.shape.nodes); needs.Full < full {
		t.Errorf("%d bytes with room for %d hits, %d without", needs.Full, r.shape.nodes, needs.Fixed)
	}
	got, err := r.Run(context.Background(), job)
	if err != nil {
		t.Fatal(err)
	}
	if want := needs.Fixed + 8*uint64(needs.Nodes); got.Bytes != want || r.Kept() != got.Bytes || needs.Nodes != r.Nodes() || needs.Width != got.Geometry.Width {
		t.Errorf("the job takes %d, keeps %d; it was to take %d: %+v", got.Bytes, r.Kept(), want, needs)
	}
	if begin, first := r.Begin(&job), got.Levels[0].View; begin != first {
		t.Errorf("begins with %+v, expected %+v", first, begin)
	}
	if err := r.Release(); err != nil || r.Kept() != 0 {
		t.Errorf("%v, %d bytes kept after the release", err, r.Kept())
	}
	if again, err := r.Run(context.Background(), job); err != nil || !slices.Equal(again.Values, got.Values) {
		t.Errorf("after the release: %v", err)
	}
	if _, err := r.Needs(Job{Sources: []uint32{1 << 20}}); err == nil {
		t.Error("a source beyond the graph needs nothing")
	}
}

func TestWidthsAreThoseThatKernelsHave(t *testing.T) {
	for asked, want := range map[uint32]uint32{0: 32, 1: 32, 33: 32, 64: 64, 255: 128, 256: 256, 5000: 1024} {
		if got := WidthWithin(asked); got != want {
			t.Errorf("width %d becomes %d, want %d", asked, got, want)
		}
	}
}
