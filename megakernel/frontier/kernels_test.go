//go:build cgo

package frontier

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"ringmaster/glcompute"
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/graph"
	"ringmaster/megakernel/kernelcache/disk"
)

// openBuilder opens a second context of a device's share group.
func openBuilder(t *testing.T, dev *glcompute.Device) *glcompute.Device {
	t.Helper()
	builder, err := dev.OpenShared()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { builder.Close() })
	return builder
}

// search checks a job of a graph with programs of its own.
func search(t *testing.T, k *testKernels) {
	t.Helper()
	r := load(t, k, "grid:20x20")
	got, err := r.Run(t.Context(), Job{Sources: []uint32{7}})
	if err != nil || !slices.Equal(got.Values, graph.BFS(r.pair.Out, 7)) {
		t.Fatalf("wrong levels, %v", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestASecondStartBuildsNothing(t *testing.T) {
	dev := newKernels(t).dev
	if !dev.Supports("program-binary") {
		t.Fatal("the driver has no program binaries; on Mesa, its shader cache has to be writable")
	}
	dir, err := disk.Open(disk.DefaultConfig(filepath.Join(t.TempDir(), "programs")))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for name, builder := range map[string]gpu.Device{"beside the device": openBuilder(t, dev), "on the device": nil} {
		k := &testKernels{NewKernels(dev, KernelsConfig{Builder: builder, Disk: dir}), dev}
		search(t, k)
		first := k.Stats()
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
		k = &testKernels{NewKernels(dev, KernelsConfig{Builder: builder, Disk: dir}), dev}
		search(t, k)
		if st := k.Stats(); first.Ready != kinds || st.Loaded != kinds || st.Built != 0 || st.Held != 0 {
			t.Errorf("%s: first %v, then %v", name, first, st)
		}
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestProgramsComeBackOnTheNextDeviceBeforeAJobAsks(t *testing.T) {
	first := newKernels(t).dev
	next, _, err := glcompute.Open(glcompute.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	k := &testKernels{NewKernels(first, KernelsConfig{Builder: openBuilder(t, first)}), first}
	search(t, k)
	beside := openBuilder(t, next)
	k.Move(next, beside)
	k.dev = next
	if st := k.Stats(); st.Ready+st.Waiting+st.Building != kinds {
		t.Errorf("%v, want the %d programs that were ready before", st, kinds)
	}
	search(t, k)
	if err := k.Close(); err != nil {
		t.Error(err)
	}
	if buffers, programs := next.Live(); buffers != 0 || programs != 0 {
		t.Errorf("%d buffers and %d programs are left", buffers, programs)
	}
}

func TestAJobThatEndsWhileItsKernelsAreBuiltTakesNoTurn(t *testing.T) {
	k := newKernels(t)
	r := load(t, k, "path:50")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := r.Run(ctx, Job{Sources: []uint32{0}, Turn: func(func() error) error { t.Error("the device was used"); return nil }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
