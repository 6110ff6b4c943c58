//go:build cgo

package frontier

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"ringmaster/megakernel/graph"
	"ringmaster/megakernel/policy"
)

// The list of the persistent kernel has one workgroup more than run, as if the device had stopped one of them
// for good while the others wait for it.
func TestAWorkgroupThatWaitsTooLongEndsTheJob(t *testing.T) {
	r := load(t, newKernels(t), "path:100")
	p, err := r.plan(&Job{Sources: []uint32{0}, Topology: policy.TopologyFused})
	if err != nil {
		t.Fatal(err)
	}
	x := &run{Graph: r, plan: p, m: machineOf(r.traits)}
	if err := x.build(context.Background()); err != nil {
		t.Fatal(err)
	}
	stuck := *x.programs[kindPersistent]
	err = x.dev.Do(func() error {
		source := x.kernel(kindPersistent).plain().Source()
		replace := func(old, by string) {
			if strings.Count(source, old) != 1 {
				t.Fatalf("the kernel has %q %d times", old, strings.Count(source, old))
			}
			source = strings.Replace(source, old, by, 1)
		}
		replace("size = atomicOr(", "size = 1u + atomicOr(")
		if x.m.software { // a driver may end long loops, and the team is one workgroup, which waits for nobody
			replace("MEET_POLLS = 1u << 21", "MEET_POLLS = 30000u")
		}
		stuck.id, err = x.dev.CompileCompute(source)
		x.programs[kindPersistent] = &stuck
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := x.dev.Do(func() error { x.dev.DeleteProgram(stuck.id); return nil }); err != nil {
			t.Error(err)
		}
	}()
	if err := x.loop(context.Background()); !errors.Is(err, ErrStuck) || !strings.Contains(err.Error(), "level 1:") {
		t.Errorf("got %v, want ErrStuck at level 1", err)
	}
	// The graph and its own programs still serve.
	got, err := r.Run(context.Background(), Job{Sources: []uint32{0}, Topology: policy.TopologyFused})
	if err != nil || !slices.Equal(got.Values, graph.BFS(r.pair.Out, 0)) {
		t.Errorf("a job behind it: %v", err)
	}
}
