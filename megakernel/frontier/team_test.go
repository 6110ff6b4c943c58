//go:build cgo

package frontier

import (
	"errors"
	"testing"

	"ringmaster/megakernel/policy"
)

func TestWorkgroupsThatComeLateTakeNoPart(t *testing.T) {
	r := load(t, kernelsFor(t, false), "path:100")
	job := Job{Sources: []uint32{0}, Topology: policy.TopologyFused}
	p, err := r.plan(&job)
	if err != nil {
		t.Fatal(err)
	}
	x := &run{Resident: r, plan: p, m: r.machine()}
	// levels is how many levels are done after a dispatch of so many workgroups.
	levels := func(joined, groups uint32) (uint32, error) {
		put := x.scratch.stage.put(x.scratch.buffers[bindTotals].id, 4*(totTeam+teamJoined), []uint32{joined, 0})
		x.dev.Barrier()
		x.dev.Dispatch(x.programs[kindResident], groups)
		x.dev.Barrier()
		get := x.scratch.stage.look(x.slot())
		return x.control[ctlLogged], errors.Join(put, get)
	}
	var late, alone uint32
	err = x.dev.Do(func() error {
		if err := x.prepare(); err != nil {
			return err
		}
		if err := x.start(); err != nil {
			return err
		}
		x.offer(kindLevel, true)
		x.dev.Dispatch(x.programs[kindLevel], sets)
		x.dev.Barrier()
		x.result.Rounds++
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
