//go:build cgo

package frontier

import (
	"testing"

	"ringmaster/megakernel/policy"
)

func TestWorkgroupsThatComeLateTakeNoPart(t *testing.T) {
	r := load(t, newKernels(t), "path:100")
	job := Job{Sources: []uint32{0}, Topology: policy.TopologyFused}
	p, err := r.plan(&job)
	if err != nil {
		t.Fatal(err)
	}
	x := &run{Resident: r, plan: p, m: r.machine()}
	// levels is how many are done after a dispatch of so many workgroups.
	levels := func(joined, groups uint32) uint32 {
		if err := x.scratch.stage.put(x.scratch.buffers[bindTotals].id, 4*(totalWords+teamJoined), []uint32{joined, 0}); err != nil {
			t.Fatal(err)
		}
		x.dev.Dispatch(x.programs[kindResident], groups)
		x.dev.CommandBarrier()
		if err := x.scratch.stage.get(x.scratch.buffers[bindControl].id, 0, x.control); err != nil {
			t.Fatal(err)
		}
		return x.control[ctlLogged]
	}
	err = x.dev.Do(func() error {
		if err := x.prepare(); err != nil {
			return err
		}
		if err := x.start(); err != nil {
			return err
		}
		x.dev.SetUniform(x.programs[kindDirector], x.offers, 1)
		x.dev.Dispatch(x.programs[kindDirector], 1)
		x.dev.CommandBarrier()
		if late := levels(1<<31|1, 3); late != 0 {
			t.Errorf("%d levels by workgroups that came when the list was closed", late)
		}
		if alone := levels(0, 1); alone != 100 {
			t.Errorf("%d levels by a team of one, want 100", alone)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
