//go:build cgo

package frontier

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"ringmaster/glcompute"
	"ringmaster/glcompute/gltest"
	"ringmaster/megakernel/graph"
	"ringmaster/megakernel/kernelcache"
	"ringmaster/megakernel/kernelcache/disk"
)

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
	dir, err := disk.Open(filepath.Join(t.TempDir(), "programs"))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for name, builder := range map[string]*glcompute.Device{"beside the device": gltest.Beside(t, dev), "on the device": nil} {
		where := func(cfg *kernelcache.Config, target *kernelcache.Target) {
			if cfg.Disk = dir; builder != nil {
				*target = kernelcache.Target{Device: builder, Background: true}
			}
		}
		k := openKernels(t, dev, where)
		search(t, k)
		first := k.Stats()
		k.Close()
		k = openKernels(t, dev, where)
		search(t, k)
		if st := k.Stats(); first.Ready != kinds || st.Loaded != kinds || st.Built != 0 || st.Held != 0 {
			t.Errorf("%s: first %v, then %v", name, first, st)
		}
		k.Close()
	}
}

func TestProgramsComeBackOnTheNextDeviceBeforeAJobAsks(t *testing.T) {
	first := newKernels(t).dev
	next := gltest.Open(t)
	beside := gltest.Beside(t, first)
	k := openKernels(t, first, func(_ *kernelcache.Config, target *kernelcache.Target) {
		*target = kernelcache.Target{Device: beside, Background: true}
	})
	search(t, k)
	k.Move(kernelcache.Target{Device: gltest.Beside(t, next), Background: true})
	k.dev = next
	if st := k.Stats(); st.Ready+st.Waiting+st.Building != kinds {
		t.Errorf("%v, want the %d programs that were ready before", st, kinds)
	}
	search(t, k)
	k.Close()
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
