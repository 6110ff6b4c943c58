package policy

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
)

type gridOut struct {
	WorkerGroups   uint32    `json:"worker_groups"`
	WorkgroupSizeX uint32    `json:"workgroup_size_x"`
	SlotCount      uint32    `json:"slot_count"`
	DispatchGrid   [3]uint32 `json:"dispatch_grid"`
	Covering       uint32    `json:"covering_worker_groups"`
}

func TestReferenceReproducesGrids(t *testing.T) {
	counts := map[string]int{}
	eachVector(t, "grid.jsonl.gz", func(v *vector) error {
		var in struct {
			Fn          string
			WorkerCount uint32 `json:"worker_count"`
			SlotCount   uint32 `json:"slot_count"`
			WidthX      uint32 `json:"workgroup_size_x"`
			Sched       *schedIn
			requestIn
		}
		if err := json.Unmarshal(v.In, &in); err != nil {
			return err
		}
		counts[in.Fn]++
		cfg, req := Reference(), in.request()
		in.Sched.apply(&cfg.Sizing)
		var got, want any
		switch in.Fn {
		case "calculate_optimal_grid":
			var g Recommendation
			err := shape(&cfg, &req, req.QueueLen, math.MaxUint32, req.RequestedWorkerGroups, &g)
			if v.Err != "" {
				return wantError(v, err)
			}
			if err != nil {
				return err
			}
			got = gridOut{g.WorkerGroups, g.WorkgroupSizeX, g.SlotCount, g.DispatchGrid, g.SlotCount / g.WorkgroupSizeX}
			want = new(gridOut)
		case "worker_workgroup_size":
			got, want = workerWidth(in.WorkerCount, req.Limits.MaxWorkgroupSizeX), new(uint32)
		case "padded_slot_count":
			got, want = paddedSlots(in.SlotCount, in.WidthX), new(uint32)
		case "dispatch_grid_for":
			groups := gridGroups(&cfg.Sizing, in.WorkerCount, req.QueueLen, req.Limits.MaxWorkgroupSizeX)
			got, want = [3]uint32{groups, 1, 1}, new([3]uint32)
		case "default_worker_groups_from_limits":
			l := &req.Limits
			got, want = defaultGroups(&cfg.Sizing, l.MaxWorkgroupsPerDimension, l.MaxInvocationsPerWorkgroup), new(uint32)
		default:
			return fmt.Errorf("unknown function %q", in.Fn)
		}
		if err := json.Unmarshal(v.Out, want); err != nil {
			return err
		}
		if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", deref(want)); g != w {
			return fmt.Errorf("got %s, want %s", g, w)
		}
		return nil
	})
	t.Log(counts)
}

func deref(p any) any {
	switch p := p.(type) {
	case *uint32:
		return *p
	case *[3]uint32:
		return *p
	case *gridOut:
		return *p
	}
	return p
}
