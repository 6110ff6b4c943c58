package policy

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
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
			err := shape(&cfg, &req, req.RequestedWorkerGroups, &g)
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

func TestReferenceReproducesDiagonalDiffusion(t *testing.T) {
	eachVector(t, "diffusion.jsonl.gz", func(v *vector) error {
		var in struct {
			Stalks, Restriction []flt
			Damping             flt
			Iterations          uint32
		}
		var out struct{ Values []flt }
		if err := json.Unmarshal(v.In, &in); err != nil {
			return err
		}
		if err := json.Unmarshal(v.Out, &out); err != nil {
			return err
		}
		got := DiffuseDiagonal(floats(in.Stalks), floats(in.Restriction), float64(in.Damping), in.Iterations)
		return sameFloats(got, floats(out.Values))
	})
}

func TestReferenceReproducesPicks(t *testing.T) {
	counts := map[string]int{}
	eachVector(t, "autotune_pick.jsonl.gz", func(v *vector) error {
		var in struct {
			Fn         string
			Candidates []uint32
			CostBits   []string `json:"cost_bits"`
			Fallback   uint32
		}
		var want uint32
		if err := json.Unmarshal(v.In, &in); err != nil {
			return err
		}
		if err := json.Unmarshal(v.Out, &want); err != nil {
			return err
		}
		costs := make([]float64, len(in.CostBits))
		for i, s := range in.CostBits {
			b, err := strconv.ParseUint(s, 16, 64)
			if err != nil {
				return err
			}
			costs[i] = math.Float64frombits(b)
		}
		pick := map[string]func([]uint32, []float64, uint32) uint32{
			"hit_capacity_multiplier": PickHitCapacityMultiplier,
			"workgroup_size":          PickWorkgroupSize,
		}[in.Fn]
		if pick == nil {
			return fmt.Errorf("unknown function %q", in.Fn)
		}
		counts[in.Fn]++
		if got := pick(in.Candidates, costs, in.Fallback); got != want {
			return fmt.Errorf("got %d, want %d", got, want)
		}
		return nil
	})
	t.Log(counts)
}

func TestReferenceReproducesNaturalSteps(t *testing.T) {
	eachVector(t, "natural_step.jsonl.gz", func(v *vector) error {
		var in struct {
			M    []flt `json:"m_inv_sqrt"`
			Grad []flt
			N    int
			Rate flt `json:"learning_rate"`
		}
		var out struct{ Delta []flt }
		if err := json.Unmarshal(v.In, &in); err != nil {
			return err
		}
		if err := json.Unmarshal(v.Out, &out); err != nil {
			return err
		}
		return sameFloats(NaturalStep(floats(in.M), floats(in.Grad), in.N, float64(in.Rate)), floats(out.Delta))
	})
}
