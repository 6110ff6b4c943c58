//go:build cgo

package frontier

import (
	"context"
	"errors"
	"testing"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/policy"
)

func TestWorkgroupsThatComeLateTakeNoPart(t *testing.T) {
	g := load(t, newKernels(t), "path:100")
	job := Job{Sources: []uint32{0}, Topology: policy.TopologyFused}
	p, err := g.plan(&job)
	if err != nil {
		t.Fatal(err)
	}
	x := &run{Graph: g, plan: p, m: machineOf(g.traits)}
	if err := x.build(context.Background()); err != nil {
		t.Fatal(err)
	}
	// levels is how many levels are done after a dispatch of so many workgroups, if joined were on the list before.
	levels := func(joined, groups uint32) (uint32, error) {
		put := x.scratch.stage.put(x.scratch.buffers[bindTotals].id, 0, gpu.Bytes([]uint32{joined, 0}))
		x.dev.Barrier()
		x.dev.Dispatch(x.tell(kindPersistent, true), groups)
		x.dev.Barrier()
		x.result.Rounds++
		get := x.scratch.stage.look(span{x.scratch.buffers[bindControl].id, x.roundAt(), gpu.BytesAt(&x.now)})
		x.result.Rounds--
		return x.now.logged, errors.Join(put, get)
	}
	var late, alone uint32
	err = x.dev.Do(func() error {
		if err := x.start(); err != nil {
			return err
		}
		x.dev.Dispatch(x.tell(kindLevel, true), 3)
		x.dev.Barrier()
		var errs [2]error
		late, errs[0] = levels(1<<31|1, 3)
		alone, errs[1] = levels(0, 1)
		return errors.Join(errs[:]...)
	})
	if err != nil {
		t.Fatal(err)
	}
	if late != 0 || alone != 100 {
		t.Errorf("%d levels by workgroups that came when the list was closed, and %d by a team of one, want 0 and 100", late, alone)
	}
}
